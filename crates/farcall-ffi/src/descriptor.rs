//! The description of a whole library: what its one exported symbol returns.
//!
//! A library that is built with [`library!`](crate::library) exports the C function [`SYMBOL`], which
//! returns a [`LibraryDescriptor`]: a table of ops, each with its name, platform, functions by stage,
//! parameters, documentation and place in the source, and what its author declared about it: its
//! signature, the targets that are its derivatives, its [`rules`](crate::rules) that are functions, and the blocks that it
//! is called for ([`lowering`](crate::lowering)). A host calls the function and reads the result
//! through [`Library`].
//!
//! # Compatibility
//!
//! The format has a number, [`VERSION`], that changes only when a reader of the old format would misread the new one;
//! the symbol's name changes with it. Everything else is added at the end of a struct. Each struct starts with its
//! size as its *writer* knows it, and [`Library`] reads no further: members that the writer did not know read as
//! empty (zero, null), which always means "not given". Parameters have had all of their members since the first
//! version, so a shorter stride is an error.
//!
//! **Invariants.** All-zero bytes are a valid value of every struct here. Descriptors are constants:
//! they live as long as the library is loaded, and contain no pointer to anything else.
//! Safe code cannot make or change an [`OpDescriptor`]: safe functions of hosts read its pointers and call its
//! functions. [`RawOpDescriptor`] and the other structs are plain data, which only unsafe functions read.

use std::borrow::Cow;
use std::marker::PhantomData;

use farcall_sig::namespace::{is_namespace, qualified};
use farcall_sig::text::{Text, same};

use crate::abi::{self, ByteSpan, HandlerBundle};
use crate::decode::{Role, Spec};
use crate::lowering::abi::LowerFn;
use crate::rules::abi::RuleFn;
use crate::samples::abi::SamplesFn;

/// Name of the exported function, of type [`LibraryFn`].
pub const SYMBOL: &str = "farcall_library_v1";

/// Number of the format that this module writes and reads.
pub const VERSION: u32 = 1;

/// Type of the exported function.
pub type LibraryFn = unsafe extern "C" fn() -> *const LibraryDescriptor;

/// What a host that reads descriptors puts into its function table's list of extensions, as
/// [`HOST_MARK`]. Libraries do not register themselves with such a host, which knows more of them than
/// that.
pub const HOST_EXTENSION: abi::ExtensionType = abi::ExtensionType(0x4643_0001);

/// The extension of type [`HOST_EXTENSION`].
pub static HOST_MARK: HostMark = HostMark(abi::ExtensionBase {
    struct_size: abi::ExtensionBase::STRUCT_SIZE,
    r#type: HOST_EXTENSION,
    next: std::ptr::null_mut(),
});

/// See [`HOST_MARK`].
#[repr(transparent)]
#[derive(Debug)]
pub struct HostMark(abi::ExtensionBase);

// SAFETY: a constant.
unsafe impl Sync for HostMark {}

impl HostMark {
    /// The value of [`abi::Api::extension_start`] in the table of a host that has no other extension.
    pub const fn list(&'static self) -> *mut abi::ExtensionBase {
        (&raw const self.0).cast_mut()
    }
}

/// A library.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct LibraryDescriptor {
    /// Size of this struct as the writer knows it.
    pub struct_size: usize,
    /// [`VERSION`].
    pub version: u32,
    /// None defined; 0.
    pub flags: u32,
    /// Name of the library, as it was given to [`library!`](crate::library).
    pub name: ByteSpan,
    /// Version of the crate that exports it.
    pub library_version: ByteSpan,
    /// Version of `farcall-ffi` that it was built with.
    pub sdk_version: ByteSpan,
    /// `op_count` pointers, none null.
    pub ops: *const *const OpDescriptor,
    /// Number of ops.
    pub op_count: usize,
    /// Namespace of its targets, or empty.
    pub namespace: ByteSpan,
}

/// An op: a target for one platform. Laid out as its [`RawOpDescriptor`].
///
/// [`ops!`](crate::ops) and [`library!`](crate::library) list the descriptors that `#[handler]` makes. Each
/// pointer is to a constant, and each function has the kind that its field names, so a host reads and calls
/// them without further checks: safe code cannot change them.
///
/// ```compile_fail,E0609
/// # use farcall_ffi::prelude::*;
/// #[handler(name = "copy")]
/// fn copy(x: &Buffer<f32>, y: &mut Buffer<f32>) { y.copy_from_slice(x); }
///
/// let mut op = *ops![copy][0];
/// op.name.len = 40; // no such field
/// ```
#[repr(transparent)]
#[derive(Clone, Copy, Debug)]
pub struct OpDescriptor(RawOpDescriptor);

/// The fields of an [`OpDescriptor`], for hosts and for writers in other languages.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct RawOpDescriptor {
    /// Size of this struct as the writer knows it.
    pub struct_size: usize,
    /// Name of the target.
    pub name: ByteSpan,
    /// Platform, as the author wrote it; `Host` unless given.
    pub platform: ByteSpan,
    /// Functions by stage, ready to be registered.
    pub bundle: HandlerBundle,
    /// Bits of [`abi::handler_traits`].
    pub traits: abi::HandlerTraits,
    /// Bits of [`op_flags`].
    pub flags: u32,
    /// Documentation: the handler's doc comment.
    pub doc: ByteSpan,
    /// Source file of the handler.
    pub file: ByteSpan,
    /// Line of the handler, from 1.
    pub line: u32,
    /// Bytes from one element of `params` to the next.
    pub param_stride: u32,
    /// Parameters, in the order of the function's.
    pub params: *const ParamDescriptor,
    /// Number of parameters.
    pub param_count: usize,
    /// Signature, as [`farcall_sig::Signature`] prints it; empty if the op has none.
    pub signature: ByteSpan,
    /// Name of the target that also gives residuals, or empty.
    pub vjp_forward: ByteSpan,
    /// Name of the target that takes cotangents, or empty.
    pub vjp_backward: ByteSpan,
    /// Name of the target that takes tangents, or empty.
    pub jvp_tangent: ByteSpan,
    /// Names of operands that are not differentiable, separated by commas.
    pub non_differentiable: ByteSpan,
    /// Shape function, or null.
    pub shape: Option<RuleFn>,
    /// Batching function, or null.
    pub batch: Option<RuleFn>,
    /// Tag of the blocks that the op is called for, or empty.
    pub lowers: ByteSpan,
    /// Says how; null if the op's signature does. See [`lowering`](crate::lowering).
    pub lower: Option<LowerFn>,
    /// Name of the target that is the op's transpose, or empty.
    pub transpose: ByteSpan,
    /// What the parameters of the targets of `vjp_backward`, `jvp_tangent` and `transpose` are where names do not tell,
    /// as [`farcall_sig::signature::Bindings`] prints it, or empty.
    pub vjp_bindings: ByteSpan,
    /// See `vjp_bindings`.
    pub jvp_bindings: ByteSpan,
    /// See `vjp_bindings`.
    pub transpose_bindings: ByteSpan,
    /// Names of operands in `non_differentiable` whose derivatives are zero, separated by commas. Older hosts report an error
    /// where a program differentiates in them.
    pub zero_derivative: ByteSpan,
    /// Returns sample calls, or null. See [`samples`](mod@crate::samples).
    pub samples: Option<SamplesFn>,
}

/// Bits of [`RawOpDescriptor::flags`].
pub mod op_flags {
    /// Calls are never vmapped. Hosts that do not know of this vmap them as the signature says.
    pub const NEVER_BATCHED: u32 = 1 << 0;
}

/// A parameter of an op.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ParamDescriptor {
    /// Name.
    pub name: ByteSpan,
    /// Number of a [`Role`].
    pub role: u32,
    /// Bits of [`param_flags`].
    pub flags: u32,
    /// Element type of a buffer; 0 for any.
    pub dtype: abi::DataType,
    /// Reserved; 0.
    pub reserved: u32,
    /// Number of dimensions of a buffer; -1 for any.
    pub rank: i64,
    /// What an attribute is expected to be, as in messages: `f32`, `[s64]`, `string`.
    pub attribute: ByteSpan,
}

/// Bits of [`ParamDescriptor::flags`].
pub mod param_flags {
    /// The parameter may be missing.
    pub const OPTIONAL: u32 = 1 << 0;
}

// SAFETY: descriptors are constants, and point to constants.
unsafe impl Sync for LibraryDescriptor {}
// SAFETY: as above.
unsafe impl Sync for RawOpDescriptor {}
// SAFETY: as above.
unsafe impl Sync for ParamDescriptor {}

// ---- Writing -------------------------------------------------------------------------------

impl LibraryDescriptor {
    /// Describes a library of these ops.
    pub const fn new(
        name: &'static str,
        library_version: &'static str,
        ops: &'static [&'static OpDescriptor],
    ) -> LibraryDescriptor {
        LibraryDescriptor {
            struct_size: size_of::<LibraryDescriptor>(),
            version: VERSION,
            flags: 0,
            name: ByteSpan::new(name.as_bytes()),
            library_version: ByteSpan::new(library_version.as_bytes()),
            sdk_version: ByteSpan::new(env!("CARGO_PKG_VERSION").as_bytes()),
            ops: ops.as_ptr().cast(),
            op_count: ops.len(),
            namespace: ByteSpan::new(b""),
        }
    }

    /// Puts the library's targets in a namespace: the op `f` is the target `NAMESPACE.f`.
    pub const fn in_namespace(self, namespace: &'static str) -> LibraryDescriptor {
        LibraryDescriptor { namespace: ByteSpan::new(namespace.as_bytes()), ..self }
    }
}

/// What the macro knows of an op.
#[doc(hidden)]
#[derive(Debug)]
pub struct OpParts {
    pub name: &'static str,
    pub platform: &'static str,
    pub bundle: HandlerBundle,
    pub traits: abi::HandlerTraits,
    pub doc: &'static str,
    pub file: &'static str,
    pub line: u32,
    pub params: &'static [ParamDescriptor],
    pub declaration: Declaration,
}

/// What an op's author says about it beside the function. Empty where nothing is said.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct Declaration {
    pub signature: &'static str,
    pub vjp_forward: &'static str,
    pub vjp_backward: &'static str,
    pub jvp_tangent: &'static str,
    pub non_differentiable: &'static str,
    pub shape: Option<RuleFn>,
    pub batch: Option<RuleFn>,
    pub never_batched: bool,
    pub lowers: &'static str,
    pub lower: Option<LowerFn>,
    pub transpose: &'static str,
    pub vjp_bindings: &'static str,
    pub jvp_bindings: &'static str,
    pub transpose_bindings: &'static str,
    pub zero_derivative: &'static str,
    pub samples: Option<SamplesFn>,
}

impl Declaration {
    pub const NONE: Declaration = Declaration {
        signature: "",
        vjp_forward: "",
        vjp_backward: "",
        jvp_tangent: "",
        non_differentiable: "",
        shape: None,
        batch: None,
        never_batched: false,
        lowers: "",
        lower: None,
        transpose: "",
        vjp_bindings: "",
        jvp_bindings: "",
        transpose_bindings: "",
        zero_derivative: "",
        samples: None,
    };
}

impl OpDescriptor {
    /// Vouches for fields that were written by hand.
    ///
    /// # Safety
    /// Each pointer is null or to as many elements as its length says, and they stay there, unchanged, until the process
    /// ends. The functions of `bundle` are handlers of the stages that they are listed for; `shape`, `batch` and `lower`
    /// are functions of these kinds ([`rules`](crate::rules), [`lowering`](crate::lowering)). All may be called from any
    /// thread until the process ends.
    pub const unsafe fn from_raw(raw: RawOpDescriptor) -> OpDescriptor {
        OpDescriptor(raw)
    }

    /// Returns the fields.
    pub const fn raw(&self) -> &RawOpDescriptor {
        &self.0
    }

    /// Describes an op, for the macros.
    ///
    /// # Safety
    /// As for the functions of [`from_raw`](Self::from_raw).
    #[doc(hidden)]
    pub const unsafe fn new(parts: OpParts) -> OpDescriptor {
        OpDescriptor(RawOpDescriptor {
            struct_size: size_of::<RawOpDescriptor>(),
            name: ByteSpan::new(parts.name.as_bytes()),
            platform: ByteSpan::new(parts.platform.as_bytes()),
            bundle: parts.bundle,
            traits: parts.traits,
            flags: if parts.declaration.never_batched { op_flags::NEVER_BATCHED } else { 0 },
            doc: ByteSpan::new(parts.doc.as_bytes()),
            file: ByteSpan::new(parts.file.as_bytes()),
            line: parts.line,
            param_stride: size_of::<ParamDescriptor>() as u32,
            params: parts.params.as_ptr(),
            param_count: parts.params.len(),
            signature: ByteSpan::new(parts.declaration.signature.as_bytes()),
            vjp_forward: ByteSpan::new(parts.declaration.vjp_forward.as_bytes()),
            vjp_backward: ByteSpan::new(parts.declaration.vjp_backward.as_bytes()),
            jvp_tangent: ByteSpan::new(parts.declaration.jvp_tangent.as_bytes()),
            non_differentiable: ByteSpan::new(parts.declaration.non_differentiable.as_bytes()),
            shape: parts.declaration.shape,
            batch: parts.declaration.batch,
            lowers: ByteSpan::new(parts.declaration.lowers.as_bytes()),
            lower: parts.declaration.lower,
            transpose: ByteSpan::new(parts.declaration.transpose.as_bytes()),
            vjp_bindings: ByteSpan::new(parts.declaration.vjp_bindings.as_bytes()),
            jvp_bindings: ByteSpan::new(parts.declaration.jvp_bindings.as_bytes()),
            transpose_bindings: ByteSpan::new(parts.declaration.transpose_bindings.as_bytes()),
            zero_derivative: ByteSpan::new(parts.declaration.zero_derivative.as_bytes()),
            samples: parts.declaration.samples,
        })
    }
}

/// Describes the parameters that the macro found.
#[doc(hidden)]
pub const fn params<const N: usize>(specs: &[Spec; N], names: &[&'static str; N]) -> [ParamDescriptor; N] {
    let mut params = [ParamDescriptor {
        name: ByteSpan::new(b""),
        role: 0,
        flags: 0,
        dtype: abi::DataType::INVALID,
        reserved: 0,
        rank: -1,
        attribute: ByteSpan::new(b""),
    }; N];
    let mut i = 0;
    while i < N {
        params[i].name = ByteSpan::new(names[i].as_bytes());
        params[i].role = specs[i].role as u32;
        params[i].flags = if specs[i].optional { param_flags::OPTIONAL } else { 0 };
        params[i].dtype = specs[i].dtype;
        params[i].rank = if specs[i].rank == crate::ANY_RANK { -1 } else { specs[i].rank as i64 };
        params[i].attribute = ByteSpan::new(specs[i].attribute.as_bytes());
        i += 1;
    }
    params
}

/// One table of several.
#[doc(hidden)]
pub const fn concat<const N: usize>(
    tables: &[&'static [&'static OpDescriptor]],
) -> [&'static OpDescriptor; N] {
    let mut first = 0;
    while tables[first].is_empty() {
        first += 1;
    }
    let mut all = [tables[first][0]; N];
    let mut n = 0;
    let mut t = 0;
    while t < tables.len() {
        let mut i = 0;
        while i < tables[t].len() {
            all[n] = tables[t][i];
            n += 1;
            i += 1;
        }
        t += 1;
    }
    all
}

/// Why a library cannot have these ops, and in which table the one is that it cannot have: two ops have the same name
/// and platform, or a derivative is missing.
#[doc(hidden)]
pub const fn conflict(tables: &[&'static [&'static OpDescriptor]]) -> Option<(usize, Text)> {
    let mut t = 0;
    while t < tables.len() {
        let mut i = 0;
        while i < tables[t].len() {
            let op = tables[t][i].raw();
            if is_listed_before(tables, t, i) {
                let mut why = Text::new();
                why.add("two ops of this library have the name ").quote(text(op.name));
                why.add(", for the same platform");
                return Some((t, why));
            }
            let mut d = 0;
            while d < 4 {
                let (what, name) = match d {
                    0 => ("forward op", op.vjp_forward),
                    1 => ("backward op", op.vjp_backward),
                    2 => ("tangent op", op.jvp_tangent),
                    _ => ("transpose", op.transpose),
                };
                if name.len > 0 && !is_listed(tables, text(name)) {
                    let mut why = Text::new();
                    why.quote(text(name)).add(", the ").add(what).add(" of ").quote(text(op.name));
                    why.add(", is not listed by the library");
                    return Some((t, why));
                }
                d += 1;
            }
            i += 1;
        }
        t += 1;
    }
    None
}

/// True if the op has the name and platform of one that comes before it.
const fn is_listed_before(tables: &[&[&OpDescriptor]], table: usize, op: usize) -> bool {
    let mut t = 0;
    while t <= table {
        let end = if t == table { op } else { tables[t].len() };
        let mut i = 0;
        while i < end {
            if same_target(tables[t][i], tables[table][op]) {
                return true;
            }
            i += 1;
        }
        t += 1;
    }
    false
}

const fn is_listed(tables: &[&[&OpDescriptor]], name: &str) -> bool {
    let mut t = 0;
    while t < tables.len() {
        let mut i = 0;
        while i < tables[t].len() {
            if same(text(tables[t][i].raw().name), name) {
                return true;
            }
            i += 1;
        }
        t += 1;
    }
    false
}

#[doc(hidden)]
pub const fn count(tables: &[&'static [&'static OpDescriptor]]) -> usize {
    let mut n = 0;
    let mut t = 0;
    while t < tables.len() {
        n += tables[t].len();
        t += 1;
    }
    n
}

const fn same_target(a: &OpDescriptor, b: &OpDescriptor) -> bool {
    let (a, b) = (a.raw(), b.raw());
    same(text(a.name), text(b.name)) && same(text(a.platform), text(b.platform))
}

// ---- Reading -------------------------------------------------------------------------------

/// A library's descriptor, read with regard to its sizes.
#[derive(Clone, Copy, Debug)]
pub struct Library<'a> {
    descriptor: LibraryDescriptor,
    lifetime: PhantomData<&'a LibraryDescriptor>,
}

/// Why a library's descriptor cannot be read.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ReadError {
    /// The function returned null.
    Null,
    /// The descriptor is in another format.
    Version {
        /// Its number.
        found: u32,
    },
    /// A size or pointer cannot be right.
    Malformed {
        /// Which.
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
    /// Reads what a library's function returned.
    ///
    /// # Errors
    /// If it is null, of another format, or inconsistent.
    ///
    /// # Safety
    /// `descriptor` is null or came from a library's [`SYMBOL`], which stays loaded during `'a`.
    pub unsafe fn read(descriptor: *const LibraryDescriptor) -> Result<Library<'a>, ReadError> {
        if descriptor.is_null() {
            return Err(ReadError::Null);
        }
        if !descriptor.is_aligned() {
            return Err(ReadError::Malformed { what: "the pointer to it is misaligned" });
        }
        // SAFETY: every format starts with its size, and is a constant of the library.
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

    /// Version of the crate that exports it.
    pub fn version(&self) -> &'a str {
        text(self.descriptor.library_version)
    }

    /// Version of `farcall-ffi` that it was built with.
    pub fn sdk_version(&self) -> &'a str {
        text(self.descriptor.sdk_version)
    }

    /// Its ops, in the order in which they were listed.
    pub fn ops(&self) -> impl ExactSizeIterator<Item = Op<'a>> + use<'a> {
        let library = *self;
        (0..self.descriptor.op_count).map(move |i| library.op(i))
    }

    fn op(&self, i: usize) -> Op<'a> {
        // SAFETY: `i < op_count`; `read` saw that no op is null.
        let descriptor = unsafe { read_prefix((*self.descriptor.ops.add(i)).cast()) };
        Op { descriptor, lifetime: PhantomData }
    }

    /// Namespace of its targets.
    pub fn namespace(&self) -> Option<&'a str> {
        given(self.descriptor.namespace)
    }

    /// The name under which a host registers an op: the op's own, in the library's namespace.
    pub fn target_name(&self, op: &Op<'a>) -> Cow<'a, str> {
        match self.namespace() {
            Some(namespace) => Cow::Owned(qualified(namespace, op.name())),
            None => Cow::Borrowed(op.name()),
        }
    }
}

/// An op of a [`Library`].
#[derive(Clone, Copy, Debug)]
pub struct Op<'a> {
    descriptor: RawOpDescriptor,
    lifetime: PhantomData<&'a OpDescriptor>,
}

impl<'a> Op<'a> {
    /// An op of this process, as [`ops!`](crate::ops) lists them.
    pub fn of(descriptor: &'static OpDescriptor) -> Op<'static> {
        Op { descriptor: descriptor.0, lifetime: PhantomData }
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

    /// Its signature, in the language of [`farcall_sig::signature`]. A writer of a later version may
    /// have one that this version does not understand.
    pub fn signature(&self) -> Option<&'a str> {
        given(self.descriptor.signature)
    }

    /// Name of the target that gives residuals beside the op's results.
    pub fn vjp_forward(&self) -> Option<&'a str> {
        given(self.descriptor.vjp_forward)
    }

    /// Name of the target that takes the cotangents of its results and gives those of its operands.
    pub fn vjp_backward(&self) -> Option<&'a str> {
        given(self.descriptor.vjp_backward)
    }

    /// Name of the target that takes the tangents of its operands and gives those of its results.
    pub fn jvp_tangent(&self) -> Option<&'a str> {
        given(self.descriptor.jvp_tangent)
    }

    /// Name of the target that is its transpose: it is linear in the operands that this one returns.
    pub fn transpose(&self) -> Option<&'a str> {
        given(self.descriptor.transpose)
    }

    /// What the parameters of its backward op are, where names do not tell; empty if they do.
    pub fn vjp_bindings(&self) -> &'a str {
        text(self.descriptor.vjp_bindings)
    }

    /// The same for its tangent op.
    pub fn jvp_bindings(&self) -> &'a str {
        text(self.descriptor.jvp_bindings)
    }

    /// The same for its transpose.
    pub fn transpose_bindings(&self) -> &'a str {
        text(self.descriptor.transpose_bindings)
    }

    /// Names of its operands that derivative ops do not know.
    pub fn non_differentiable(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        given(self.descriptor.non_differentiable).into_iter().flat_map(|names| names.split(','))
    }

    /// Names of the non-differentiable operands in which the derivative is zero.
    pub fn zero_derivative(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        given(self.descriptor.zero_derivative).into_iter().flat_map(|names| names.split(','))
    }

    /// Says the dimensions of results that are written `[..]`.
    pub fn shape(&self) -> Option<RuleFn> {
        self.descriptor.shape
    }

    /// Says how calls are vmapped.
    pub fn batch(&self) -> Option<RuleFn> {
        self.descriptor.batch
    }

    /// True if calls are never vmapped.
    pub fn never_batched(&self) -> bool {
        self.descriptor.flags & op_flags::NEVER_BATCHED != 0
    }

    /// Tag of the blocks that it is called for.
    pub fn lowers(&self) -> Option<&'a str> {
        given(self.descriptor.lowers)
    }

    /// Says what becomes of these blocks, if its signature does not.
    pub fn lower(&self) -> Option<LowerFn> {
        self.descriptor.lower
    }

    /// Returns sample calls.
    pub fn samples(&self) -> Option<SamplesFn> {
        self.descriptor.samples
    }

    /// Its parameters, in the order of the function's.
    pub fn params(&self) -> impl ExactSizeIterator<Item = Param<'a>> + use<'a> {
        let RawOpDescriptor { params, param_count, param_stride, .. } = self.descriptor;
        (0..param_count).map(move |i| {
            // SAFETY: `params` has `param_count` members, `param_stride` bytes apart.
            let descriptor =
                unsafe { read_bytes(params.byte_add(i * param_stride as usize), param_stride as usize) };
            Param { descriptor, lifetime: PhantomData }
        })
    }
}

/// A parameter of an [`Op`].
#[derive(Clone, Copy, Debug)]
pub struct Param<'a> {
    descriptor: ParamDescriptor,
    lifetime: PhantomData<&'a ParamDescriptor>,
}

impl<'a> Param<'a> {
    /// Its name.
    pub fn name(&self) -> &'a str {
        text(self.descriptor.name)
    }

    /// What it is; `None` for a role that this version does not know.
    pub fn role(&self) -> Option<Role> {
        use Role::{AllAttributes, Attribute, Context, InOut, Operand, RestOperands, RestResults, Result};
        [Operand, Result, InOut, RestOperands, RestResults, Attribute, AllAttributes, Context]
            .into_iter()
            .find(|role| *role as u32 == self.descriptor.role)
    }

    /// True if it may be missing.
    pub fn is_optional(&self) -> bool {
        self.descriptor.flags & param_flags::OPTIONAL != 0
    }

    /// Element type of a buffer; `None` for any, and for what is not a buffer.
    pub fn dtype(&self) -> Option<farcall_sig::DType> {
        self.descriptor.dtype.dtype()
    }

    /// Number of dimensions of a buffer; `None` for any, and for what is not a buffer.
    pub fn rank(&self) -> Option<usize> {
        usize::try_from(self.descriptor.rank).ok()
    }

    /// What an attribute is expected to be: `f32`, `[s64]`, `string`, `dictionary`.
    pub fn attribute(&self) -> &'a str {
        text(self.descriptor.attribute)
    }
}

/// Bytes of a parameter that every writer knows.
const LEAST_PARAM: usize = std::mem::offset_of!(ParamDescriptor, attribute) + size_of::<ByteSpan>();

fn check_params(op: &RawOpDescriptor) -> Result<(), &'static str> {
    let stride = op.param_stride as usize;
    match op.param_count {
        0 => Ok(()),
        _ if op.params.is_null() => Err("the parameters of an op are null"),
        _ if !op.params.is_aligned() => Err("the pointer to the parameters of an op is misaligned"),
        _ if stride < LEAST_PARAM => Err("the param_stride of an op is too small"),
        _ if !stride.is_multiple_of(align_of::<ParamDescriptor>()) => {
            Err("the param_stride of an op is not a multiple of 8")
        }
        count if count.checked_mul(stride).is_none_or(|size| size > isize::MAX as usize) => {
            Err("an op has more parameters than there is memory")
        }
        _ => Ok(()),
    }
}

/// A struct of this format: it starts with its size, and zero bytes are a value of it.
trait Sized0: Copy {}
impl Sized0 for LibraryDescriptor {}
impl Sized0 for RawOpDescriptor {}
impl Sized0 for ParamDescriptor {}

/// Reads as much of a struct as its own first member says there is; the rest is zero.
///
/// # Safety
/// `source` points to a struct of this format, of a writer of any age.
unsafe fn read_prefix<T: Sized0>(source: *const T) -> T {
    // SAFETY: the size comes first.
    let size = unsafe { source.cast::<usize>().read() };
    // SAFETY: the struct has this size.
    unsafe { read_bytes(source, size) }
}

/// Reads a struct of which `size` bytes are there; the rest is zero.
///
/// # Safety
/// `source` points to `size` bytes of a struct of this format.
unsafe fn read_bytes<T: Sized0>(source: *const T, size: usize) -> T {
    let mut value = std::mem::MaybeUninit::<T>::zeroed();
    // A partial pointer is left zero: half of an address is not an address.
    let size = size - size % align_of::<T>();
    // SAFETY: no more bytes than either side has.
    unsafe {
        std::ptr::copy_nonoverlapping(
            source.cast::<u8>(),
            value.as_mut_ptr().cast::<u8>(),
            size.min(size_of::<T>()),
        );
    }
    // SAFETY: zero bytes are a value of every member, and so is what the writer wrote.
    unsafe { value.assume_init() }
}

/// Text of a library; empty if it is not UTF-8.
const fn text<'a>(span: ByteSpan) -> &'a str {
    // SAFETY: spans of descriptors are over constants of the library, which stays loaded.
    match std::str::from_utf8(unsafe { span.as_bytes() }) {
        Ok(text) => text,
        Err(_) => "",
    }
}

fn given<'a>(span: ByteSpan) -> Option<&'a str> {
    Some(text(span)).filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    // SAFETY: it has no functions.
    const OP: OpDescriptor = unsafe {
        OpDescriptor::new(OpParts {
            name: "an_op",
            platform: "Host",
            bundle: HandlerBundle {
                instantiate: None,
                prepare: None,
                initialize: None,
                execute: None,
                record: None,
            },
            traits: 0,
            doc: "Does it.",
            file: "src/lib.rs",
            line: 7,
            params: &[],
            declaration: Declaration {
                signature: "(x: f32[*], at: f32[]) -> (y: f32[*])",
                vjp_backward: "an_op_bwd",
                vjp_bindings: "cotangent(y) = g",
                transpose: "an_op_t",
                non_differentiable: "at,x",
                zero_derivative: "x",
                ..Declaration::NONE
            },
        })
    };
    const OPS: &[&OpDescriptor] = &[&OP];

    #[test]
    fn reads_what_it_wrote() {
        let descriptor = LibraryDescriptor::new("lib", "1.2.3", OPS);
        // SAFETY: a descriptor.
        let library = unsafe { Library::read(&descriptor) }.unwrap();
        assert_eq!((library.name(), library.version()), ("lib", "1.2.3"));
        let ops: Vec<_> = library.ops().map(|op| (op.name(), op.doc(), op.location())).collect();
        assert_eq!(ops, [("an_op", "Does it.", ("src/lib.rs", 7))]);
        let op = library.ops().next().unwrap();
        assert_eq!(op.signature(), Some("(x: f32[*], at: f32[]) -> (y: f32[*])"));
        assert_eq!((op.vjp_forward(), op.vjp_backward(), op.jvp_tangent()), (None, Some("an_op_bwd"), None));
        assert_eq!((op.transpose(), op.vjp_bindings()), (Some("an_op_t"), "cotangent(y) = g"));
        assert_eq!((op.jvp_bindings(), op.transpose_bindings()), ("", ""));
        assert_eq!(op.non_differentiable().collect::<Vec<_>>(), ["at", "x"]);
        assert_eq!(op.zero_derivative().collect::<Vec<_>>(), ["x"]);
    }

    #[test]
    fn targets_are_in_the_namespace() {
        let names = |descriptor: LibraryDescriptor| {
            // SAFETY: a descriptor.
            let library = unsafe { Library::read(&descriptor) }.unwrap();
            library.ops().map(|op| library.target_name(&op).into_owned()).collect::<Vec<_>>()
        };
        let mut descriptor = LibraryDescriptor::new("lib", "1.2.3", OPS);
        assert_eq!(names(descriptor), ["an_op"]);
        descriptor = descriptor.in_namespace("acme");
        assert_eq!(names(descriptor), ["acme.an_op"]);
        descriptor.struct_size = std::mem::offset_of!(LibraryDescriptor, namespace);
        assert_eq!(names(descriptor), ["an_op"], "an older writer has none");
    }

    #[test]
    fn an_older_writer_gave_less() {
        let mut op = *OP.raw();
        op.struct_size = std::mem::offset_of!(RawOpDescriptor, doc);
        let ops: [*const OpDescriptor; 1] = [(&raw const op).cast()];
        let mut descriptor = LibraryDescriptor::new("lib", "1.2.3", OPS);
        descriptor.ops = ops.as_ptr();
        // SAFETY: a descriptor, whose op is shorter.
        let library = unsafe { Library::read(&descriptor) }.unwrap();
        let op = library.ops().next().unwrap();
        assert_eq!((op.name(), op.doc(), op.params().len()), ("an_op", "", 0));
        assert_eq!((op.signature(), op.non_differentiable().count()), (None, 0));
    }

    #[test]
    fn malformed_descriptors_are_refused() {
        let read = |change: fn(&mut LibraryDescriptor)| {
            let mut descriptor = LibraryDescriptor::new("lib", "1.2.3", OPS);
            change(&mut descriptor);
            // SAFETY: a descriptor.
            unsafe { Library::read(&descriptor) }.err().map(|e| e.to_string()).unwrap_or_default()
        };
        // SAFETY: null is allowed.
        assert_eq!(unsafe { Library::read(std::ptr::null()) }.err(), Some(ReadError::Null));
        assert!(read(|d| d.version = 2).contains("format 2"));
        assert!(read(|d| d.ops = std::ptr::null()).contains("table of ops is null"));
        assert!(read(|d| d.struct_size = 0).contains("format 0"));
        assert!(read(|d| *d = d.in_namespace("a b")).contains("its namespace is not letters"));
        static NULL: [usize; 1] = [0];
        assert!(read(|d| d.ops = NULL.as_ptr().cast()).contains("an op is null"));
        assert!(read(|d| d.ops = d.ops.wrapping_byte_add(1)).contains("table of ops is misaligned"));
        static ODD: [usize; 1] = [12];
        assert!(read(|d| d.ops = ODD.as_ptr().cast()).contains("an op is misaligned"));
        let odd = (&raw const ODD).wrapping_byte_add(4).cast();
        // SAFETY: refused for its address.
        let refused = unsafe { Library::read(odd) }.err().map(|e| e.to_string());
        assert!(refused.unwrap_or_default().contains("the pointer to it is misaligned"));
    }

    #[test]
    fn malformed_parameters_are_refused() {
        const PARAM: ParamDescriptor = params(&[<&crate::Context as crate::decode::Param>::SPEC], &["x"])[0];
        let read = |change: fn(&mut RawOpDescriptor)| {
            let params = [PARAM, PARAM];
            let mut op = RawOpDescriptor { params: params.as_ptr(), param_count: params.len(), ..*OP.raw() };
            op.param_stride = size_of::<ParamDescriptor>() as u32;
            change(&mut op);
            let ops: [*const OpDescriptor; 1] = [(&raw const op).cast()];
            let mut descriptor = LibraryDescriptor::new("lib", "1.2.3", OPS);
            descriptor.ops = ops.as_ptr();
            // SAFETY: a descriptor.
            unsafe { Library::read(&descriptor) }.err().map(|e| e.to_string()).unwrap_or_default()
        };
        assert_eq!(read(|_| {}), "");
        assert!(read(|op| op.params = std::ptr::null()).contains("are null"));
        assert!(
            read(|op| op.params = op.params.wrapping_byte_add(4))
                .contains("parameters of an op is misaligned")
        );
        assert!(read(|op| op.param_stride -= 8).contains("param_stride of an op is too small"));
        assert!(read(|op| op.param_stride += 4).contains("not a multiple of 8"));
        assert!(read(|op| op.param_count = usize::MAX / 8).contains("more parameters"));
    }
}
