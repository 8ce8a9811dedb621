//! Reads the descriptor of a library, as a host does.

use std::borrow::Cow;
use std::marker::PhantomData;

use farcall_sig::namespace::{is_namespace, qualified};

use super::{
    LibraryDescriptor, OpDescriptor, ParamDescriptor, RawOpDescriptor, SYMBOL, VERSION, op_flags,
    param_flags, text,
};
use crate::abi::{self, ByteSpan, HandlerBundle};
use crate::decode::Role;
use crate::lowering::abi::LowerFn;
use crate::rules::abi::RuleFn;
use crate::samples::abi::SamplesFn;

/// A library's descriptor, of which only the members within its `struct_size` were read.
#[derive(Clone, Copy, Debug)]
pub struct Library<'a> {
    descriptor: LibraryDescriptor,
    lifetime: PhantomData<&'a LibraryDescriptor>,
}

/// Reason why a library's descriptor cannot be read.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ReadError {
    /// The function returned null.
    Null,
    /// The descriptor has another format.
    Version {
        /// Number of the descriptor's format.
        found: u32,
    },
    /// A size or pointer is invalid.
    Malformed {
        /// The problem, as in the message.
        what: &'static str,
    },
}

impl std::fmt::Display for ReadError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ReadError::Null => write!(f, "{SYMBOL} returned null"),
            ReadError::Version { found } => {
                write!(f, "the library's descriptor has format {found}; this host reads format {VERSION}")
            }
            ReadError::Malformed { what } => write!(f, "the library's descriptor is malformed: {what}"),
        }
    }
}

impl std::error::Error for ReadError {}

impl<'a> Library<'a> {
    /// Reads a descriptor that a library's function returned.
    ///
    /// # Errors
    /// If the descriptor is null, has another format, or is inconsistent.
    ///
    /// # Safety
    /// `descriptor` is null or was returned by the [`SYMBOL`] of a library that stays loaded during `'a`.
    pub unsafe fn read(descriptor: *const LibraryDescriptor) -> Result<Library<'a>, ReadError> {
        if descriptor.is_null() {
            return Err(ReadError::Null);
        }
        if !descriptor.is_aligned() {
            return Err(ReadError::Malformed { what: "the pointer to it is misaligned" });
        }
        // SAFETY: a descriptor of any format starts with its size, and is a constant of the library.
        let descriptor = unsafe { read_prefix(descriptor) };
        if descriptor.version != VERSION {
            return Err(ReadError::Version { found: descriptor.version });
        }
        if descriptor.op_count > 0 && descriptor.ops.is_null() {
            return Err(ReadError::Malformed { what: "its table of ops is null" });
        }
        if descriptor.op_count > 0 && !descriptor.ops.is_aligned() {
            return Err(ReadError::Malformed { what: "the pointer to its table of ops is misaligned" });
        }
        if given(descriptor.namespace).is_some_and(|namespace| !is_namespace(namespace)) {
            return Err(ReadError::Malformed {
                what: "its namespace is not letters, digits and `_` joined by dots",
            });
        }
        let library = Library { descriptor, lifetime: PhantomData };
        for i in 0..descriptor.op_count {
            // SAFETY: the table has `op_count` members.
            let op = unsafe { *descriptor.ops.add(i) };
            if op.is_null() {
                return Err(ReadError::Malformed { what: "an op is null" });
            }
            if !op.is_aligned() {
                return Err(ReadError::Malformed { what: "the pointer to an op is misaligned" });
            }
            let op = library.op(i);
            if op.name().is_empty() {
                return Err(ReadError::Malformed { what: "an op has no name" });
            }
            if let Err(what) = check_params(&op.descriptor) {
                return Err(ReadError::Malformed { what });
            }
        }
        Ok(library)
    }

    /// Name of the library.
    pub fn name(&self) -> &'a str {
        text(self.descriptor.name)
    }

    /// Version of the crate that exports the library.
    pub fn version(&self) -> &'a str {
        text(self.descriptor.library_version)
    }

    /// Version of `farcall-ffi` that the library was built with.
    pub fn sdk_version(&self) -> &'a str {
        text(self.descriptor.sdk_version)
    }

    /// Iterates over the library's ops, in the order in which they were listed.
    pub fn ops(&self) -> impl ExactSizeIterator<Item = LibraryOp<'a>> + use<'a> {
        let library = *self;
        (0..self.descriptor.op_count).map(move |i| library.op(i))
    }

    fn op(&self, i: usize) -> LibraryOp<'a> {
        // SAFETY: `i < op_count`, and `read` checked that no op is null.
        let descriptor = unsafe { read_prefix((*self.descriptor.ops.add(i)).cast()) };
        LibraryOp { descriptor, lifetime: PhantomData }
    }

    /// Namespace of the library's targets.
    pub fn namespace(&self) -> Option<&'a str> {
        given(self.descriptor.namespace)
    }

    /// Returns the name under which a host registers an op: the op's name, qualified with the library's
    /// namespace.
    pub fn target_name(&self, op: &LibraryOp<'a>) -> Cow<'a, str> {
        match self.namespace() {
            Some(namespace) => Cow::Owned(qualified(namespace, op.name())),
            None => Cow::Borrowed(op.name()),
        }
    }
}

/// An op of a [`Library`].
#[derive(Clone, Copy, Debug)]
pub struct LibraryOp<'a> {
    descriptor: RawOpDescriptor,
    lifetime: PhantomData<&'a OpDescriptor>,
}

impl<'a> LibraryOp<'a> {
    /// Returns an op of this process, as listed by [`ops!`](crate::ops).
    pub fn of(descriptor: &'static OpDescriptor) -> LibraryOp<'static> {
        LibraryOp { descriptor: descriptor.0, lifetime: PhantomData }
    }

    /// Name of the target.
    pub fn name(&self) -> &'a str {
        text(self.descriptor.name)
    }

    /// Platform, as the author wrote it.
    pub fn platform(&self) -> &'a str {
        text(self.descriptor.platform)
    }

    /// Functions by stage.
    pub fn bundle(&self) -> HandlerBundle {
        self.descriptor.bundle
    }

    /// Bits of [`abi::handler_traits`].
    pub fn traits(&self) -> abi::HandlerTraits {
        self.descriptor.traits
    }

    /// Documentation; may be empty.
    pub fn doc(&self) -> &'a str {
        text(self.descriptor.doc)
    }

    /// Source file and line of the handler.
    pub fn location(&self) -> (&'a str, u32) {
        (text(self.descriptor.file), self.descriptor.line)
    }

    /// Signature, in the language of [`farcall_sig::signature`]. A newer writer's signature may be one that
    /// this version does not understand.
    pub fn signature(&self) -> Option<&'a str> {
        given(self.descriptor.signature)
    }

    /// Name of the target that returns residuals besides the op's results.
    pub fn vjp_forward(&self) -> Option<&'a str> {
        given(self.descriptor.vjp_forward)
    }

    /// Name of the target that takes cotangents of the op's results and returns cotangents of its operands.
    pub fn vjp_backward(&self) -> Option<&'a str> {
        given(self.descriptor.vjp_backward)
    }

    /// Name of the target that takes tangents of the op's operands and returns tangents of its results.
    pub fn jvp_tangent(&self) -> Option<&'a str> {
        given(self.descriptor.jvp_tangent)
    }

    /// Name of the target that is the op's transpose. The op is linear in the operands whose cotangents the
    /// transpose returns.
    pub fn transpose(&self) -> Option<&'a str> {
        given(self.descriptor.transpose)
    }

    /// Bindings of the backward op's parameters; empty if their names determine them.
    pub fn vjp_bindings(&self) -> &'a str {
        text(self.descriptor.vjp_bindings)
    }

    /// Bindings of the tangent op's parameters; empty if their names determine them.
    pub fn jvp_bindings(&self) -> &'a str {
        text(self.descriptor.jvp_bindings)
    }

    /// Bindings of the transpose's parameters; empty if their names determine them.
    pub fn transpose_bindings(&self) -> &'a str {
        text(self.descriptor.transpose_bindings)
    }

    /// Names of operands that the op is not differentiable in.
    pub fn non_differentiable(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        given(self.descriptor.non_differentiable).into_iter().flat_map(|names| names.split(','))
    }

    /// Names of the non-differentiable operands whose derivative is zero.
    pub fn zero_derivative(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        given(self.descriptor.zero_derivative).into_iter().flat_map(|names| names.split(','))
    }

    /// Shape function, which computes the dimensions of results that are declared as `[..]`.
    pub fn shape(&self) -> Option<RuleFn> {
        self.descriptor.shape
    }

    /// Batching function, which says how calls are vmapped.
    pub fn batch(&self) -> Option<RuleFn> {
        self.descriptor.batch
    }

    /// Returns true if calls are never vmapped.
    pub fn never_batched(&self) -> bool {
        self.descriptor.flags & op_flags::NEVER_BATCHED != 0
    }

    /// Returns true if the op was generated as the forward op of another one.
    pub fn is_generated(&self) -> bool {
        self.descriptor.flags & op_flags::GENERATED != 0
    }

    /// Tag of the blocks that the op implements.
    pub fn lowers(&self) -> Option<&'a str> {
        given(self.descriptor.lowers)
    }

    /// Lowering function of these blocks; `None` if the op's signature determines the call.
    pub fn lower(&self) -> Option<LowerFn> {
        self.descriptor.lower
    }

    /// Function that returns sample calls.
    pub fn samples(&self) -> Option<SamplesFn> {
        self.descriptor.samples
    }

    /// Iterates over the parameters, in the function's order.
    pub fn params(&self) -> impl ExactSizeIterator<Item = Parameter<'a>> + use<'a> {
        let RawOpDescriptor { params, param_count, param_stride, .. } = self.descriptor;
        (0..param_count).map(move |i| {
            // SAFETY: `params` has `param_count` members, `param_stride` bytes apart.
            let descriptor =
                unsafe { read_bytes(params.byte_add(i * param_stride as usize), param_stride as usize) };
            Parameter { descriptor, lifetime: PhantomData }
        })
    }
}

/// A parameter of a [`LibraryOp`].
#[derive(Clone, Copy, Debug)]
pub struct Parameter<'a> {
    descriptor: ParamDescriptor,
    lifetime: PhantomData<&'a ParamDescriptor>,
}

impl<'a> Parameter<'a> {
    /// Name of the parameter.
    pub fn name(&self) -> &'a str {
        text(self.descriptor.name)
    }

    /// Role of the parameter; `None` if this version does not know its number.
    pub fn role(&self) -> Option<Role> {
        use Role::{AllAttributes, Attribute, Context, InOut, Operand, RestOperands, RestResults, Result};
        [Operand, Result, InOut, RestOperands, RestResults, Attribute, AllAttributes, Context]
            .into_iter()
            .find(|role| *role as u32 == self.descriptor.role)
    }

    /// Returns true if the parameter may be missing.
    pub fn is_optional(&self) -> bool {
        self.descriptor.flags & param_flags::OPTIONAL != 0
    }

    /// Element type of a buffer; `None` for any, and for parameters that are not buffers.
    pub fn dtype(&self) -> Option<farcall_sig::DType> {
        self.descriptor.dtype.dtype()
    }

    /// Number of dimensions of a buffer; `None` for any, and for parameters that are not buffers.
    pub fn rank(&self) -> Option<usize> {
        usize::try_from(self.descriptor.rank).ok()
    }

    /// Expected type of an attribute: `f32`, `[s64]`, `string`, `dictionary`.
    pub fn attribute(&self) -> &'a str {
        text(self.descriptor.attribute)
    }
}

/// Minimum size of a parameter in bytes: the members of the first version.
const MIN_PARAM_BYTES: usize = std::mem::offset_of!(ParamDescriptor, attribute) + size_of::<ByteSpan>();

fn check_params(op: &RawOpDescriptor) -> Result<(), &'static str> {
    let stride = op.param_stride as usize;
    match op.param_count {
        0 => Ok(()),
        _ if op.params.is_null() => Err("the parameters of an op are null"),
        _ if !op.params.is_aligned() => Err("the pointer to the parameters of an op is misaligned"),
        _ if stride < MIN_PARAM_BYTES => Err("the param_stride of an op is too small"),
        _ if !stride.is_multiple_of(align_of::<ParamDescriptor>()) => {
            Err("the param_stride of an op is not a multiple of 8")
        }
        count if count.checked_mul(stride).is_none_or(|size| size > isize::MAX as usize) => {
            Err("an op has more parameters than there is memory")
        }
        _ => Ok(()),
    }
}

/// A struct of this format, of which all-zero bytes are a valid value.
trait Zeroable: Copy {}
impl Zeroable for LibraryDescriptor {}
impl Zeroable for RawOpDescriptor {}
impl Zeroable for ParamDescriptor {}

/// Reads as many bytes of a struct as its first member, the size, says; the rest is zero.
///
/// # Safety
/// `source` points to a struct of this format that starts with its size, from a writer of any version.
unsafe fn read_prefix<T: Zeroable>(source: *const T) -> T {
    // SAFETY: the size is the first member.
    let size = unsafe { source.cast::<usize>().read() };
    // SAFETY: the struct has this size.
    unsafe { read_bytes(source, size) }
}

/// Reads the first `size` bytes of a struct; the rest is zero.
///
/// # Safety
/// `source` points to `size` bytes of a struct of this format.
unsafe fn read_bytes<T: Zeroable>(source: *const T, size: usize) -> T {
    let mut value = std::mem::MaybeUninit::<T>::zeroed();
    // A partial pointer stays zero: half of an address is not an address.
    let size = size - size % align_of::<T>();
    // SAFETY: the length is at most the size of the source and of the destination.
    unsafe {
        std::ptr::copy_nonoverlapping(
            source.cast::<u8>(),
            value.as_mut_ptr().cast::<u8>(),
            size.min(size_of::<T>()),
        );
    }
    // SAFETY: all-zero bytes are a valid value of every member, and so are the writer's values.
    unsafe { value.assume_init() }
}

fn given<'a>(span: ByteSpan) -> Option<&'a str> {
    Some(text(span)).filter(|text| !text.is_empty())
}
