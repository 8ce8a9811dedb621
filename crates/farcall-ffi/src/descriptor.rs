//! The description of a whole library, which its one exported symbol returns.
//!
//! A library that is built with [`library!`](crate::library) exports the C function [`SYMBOL`], which returns
//! a [`LibraryDescriptor`]: a table of ops. Each op has its name, platform, functions by stage, parameters,
//! documentation and source location. It also has its author's declarations: its signature, the targets that
//! are its derivatives, its [`rules`](crate::rules) that are functions, and the blocks that it implements
//! ([`lowering`](crate::lowering)). A host calls the function and reads the result through [`Library`].
//!
//! # Compatibility
//!
//! The format has a number, [`VERSION`], that changes only when a reader of the old format would misread the
//! new one; the symbol's name changes with it. Everything else is added at the end of a struct. Each struct
//! except [`ParamDescriptor`] starts with its size as its *writer* knows it, and [`Library`] reads no
//! further: members that the writer did not know read as empty (zero, null), which always means "not given".
//! Parameters have had all of their members since the first version, so a shorter stride is an error.
//!
//! **Invariants.** All-zero bytes are a valid value of every struct here. Descriptors are constants: they
//! live as long as the library is loaded, and only point to other constants. Safe code cannot make or change
//! an [`OpDescriptor`], because safe functions of hosts read its pointers and call its functions.
//! [`RawOpDescriptor`] and the other structs are plain data, which only unsafe functions read.

use crate::abi::{self, ByteSpan, HandlerBundle};
use crate::decode::Spec;
use crate::lowering::abi::LowerFn;
use crate::rules::abi::RuleFn;
use crate::samples::abi::SamplesFn;

mod conflict;
mod read;

#[doc(hidden)]
pub use conflict::conflict;
pub use read::{Library, LibraryOp, Parameter, ReadError};

/// Name of the exported function, of type [`LibraryFn`].
pub const SYMBOL: &str = "farcall_library_v1";

/// Number of the format that this module writes and reads.
pub const VERSION: u32 = 1;

/// Type of the exported function.
pub type LibraryFn = unsafe extern "C" fn() -> *const LibraryDescriptor;

/// Extension type of [`HOST_MARK`], with which a host that reads descriptors marks its function table.
/// Libraries do not register themselves with such a host, since their descriptors tell it more than a
/// registration would.
pub const HOST_EXTENSION: abi::ExtensionType = abi::ExtensionType(0x4643_0001);

/// An extension of type [`HOST_EXTENSION`], for the list of extensions of a host's function table.
pub static HOST_MARK: HostMark = HostMark(abi::ExtensionBase {
    struct_size: abi::ExtensionBase::STRUCT_SIZE,
    r#type: HOST_EXTENSION,
    next: std::ptr::null_mut(),
});

/// Type of [`HOST_MARK`].
#[repr(transparent)]
#[derive(Debug)]
pub struct HostMark(abi::ExtensionBase);

// SAFETY: the extension is a constant.
unsafe impl Sync for HostMark {}

impl HostMark {
    /// Returns the value of [`abi::Api::extension_start`] for a host that has no other extension.
    pub const fn list(&'static self) -> *mut abi::ExtensionBase {
        (&raw const self.0).cast_mut()
    }
}

/// Description of a library.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct LibraryDescriptor {
    /// Size of this struct as the writer knows it.
    pub struct_size: usize,
    /// [`VERSION`] of the format.
    pub version: u32,
    /// Reserved; 0.
    pub flags: u32,
    /// Name of the library, as passed to [`library!`](crate::library).
    pub name: ByteSpan,
    /// Version of the crate that exports the library.
    pub library_version: ByteSpan,
    /// Version of `farcall-ffi` that the library was built with.
    pub sdk_version: ByteSpan,
    /// `op_count` pointers, all non-null.
    pub ops: *const *const OpDescriptor,
    /// Number of ops.
    pub op_count: usize,
    /// Namespace of the library's targets, or empty.
    pub namespace: ByteSpan,
}

/// An op: a target for one platform. Has the layout of a [`RawOpDescriptor`].
///
/// [`ops!`](crate::ops) and [`library!`](crate::library) list the descriptors that `#[handler]` makes. Each
/// pointer in a descriptor points to a constant, and each function has the type that its field says. Hosts
/// therefore read and call them without further checks, and safe code cannot change them.
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
    /// Name of the platform. The macros write the canonical name: `Host`, `CUDA`.
    pub platform: ByteSpan,
    /// Functions by stage, ready to be registered.
    pub bundle: HandlerBundle,
    /// Bits of [`abi::handler_traits`].
    pub traits: abi::HandlerTraits,
    /// Bits of [`op_flags`].
    pub flags: u32,
    /// The handler's doc comment.
    pub doc: ByteSpan,
    /// Source file of the handler.
    pub file: ByteSpan,
    /// Line of the handler, from 1.
    pub line: u32,
    /// Distance between elements of `params`, in bytes.
    pub param_stride: u32,
    /// Parameters, in the function's order.
    pub params: *const ParamDescriptor,
    /// Number of parameters.
    pub param_count: usize,
    /// Signature, as [`farcall_sig::Signature`] prints it; empty if the op has none.
    pub signature: ByteSpan,
    /// Name of the target that also returns residuals, or empty.
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
    /// Tag of the blocks that the op implements, or empty.
    pub lowers: ByteSpan,
    /// Lowering function, or null if the op's signature determines the call. See
    /// [`lowering`](crate::lowering).
    pub lower: Option<LowerFn>,
    /// Name of the target that is the op's transpose, or empty.
    pub transpose: ByteSpan,
    /// Bindings of the parameters of the target `vjp_backward`, as printed by
    /// [`farcall_sig::signature::Bindings`]. Empty if their names determine them.
    pub vjp_bindings: ByteSpan,
    /// Bindings of the parameters of the target `jvp_tangent`; see `vjp_bindings`.
    pub jvp_bindings: ByteSpan,
    /// Bindings of the parameters of the target `transpose`; see `vjp_bindings`.
    pub transpose_bindings: ByteSpan,
    /// Names of operands in `non_differentiable` whose derivatives are zero, separated by commas. Older hosts
    /// report an error where a program differentiates with respect to them.
    pub zero_derivative: ByteSpan,
    /// Function that returns sample calls, or null. See [`samples`](mod@crate::samples).
    pub samples: Option<SamplesFn>,
}

/// Bits of [`RawOpDescriptor::flags`].
pub mod op_flags {
    /// Calls are never vmapped. Older hosts ignore this bit and vmap them according to the signature.
    pub const NEVER_BATCHED: u32 = 1 << 0;
    /// The op is the forward op of another one, generated from a function that returns residuals.
    pub const GENERATED: u32 = 1 << 1;
}

/// A parameter of an op.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ParamDescriptor {
    /// Name.
    pub name: ByteSpan,
    /// Role, as the number of a [`Role`](crate::__private::Role).
    pub role: u32,
    /// Bits of [`param_flags`].
    pub flags: u32,
    /// Element type of a buffer; 0 for any.
    pub dtype: abi::DataType,
    /// Reserved; 0.
    pub reserved: u32,
    /// Number of dimensions of a buffer; -1 for any.
    pub rank: i64,
    /// Expected type of an attribute, for messages: `f32`, `[s64]`, `string`.
    pub attribute: ByteSpan,
}

/// Bits of [`ParamDescriptor::flags`].
pub mod param_flags {
    /// The parameter may be missing.
    pub const OPTIONAL: u32 = 1 << 0;
}

// SAFETY: descriptors are constants, and point to constants.
unsafe impl Sync for LibraryDescriptor {}
// SAFETY: descriptors are constants, and point to constants.
unsafe impl Sync for RawOpDescriptor {}
// SAFETY: descriptors are constants, and point to constants.
unsafe impl Sync for ParamDescriptor {}

// ---- Writing -------------------------------------------------------------------------------

impl LibraryDescriptor {
    /// Makes the descriptor of a library with these ops.
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

    /// Puts the library's targets in a namespace: the target of the op `f` is `NAMESPACE.f`.
    pub const fn in_namespace(self, namespace: &'static str) -> LibraryDescriptor {
        LibraryDescriptor { namespace: ByteSpan::new(namespace.as_bytes()), ..self }
    }
}

/// Arguments of [`OpDescriptor::new`], filled in by the macros.
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
    pub declaration: OpDeclarations,
}

/// Declarations that an op's author makes besides the function. Members that were not declared are empty.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct OpDeclarations {
    pub signature: &'static str,
    pub vjp_forward: &'static str,
    pub vjp_backward: &'static str,
    pub jvp_tangent: &'static str,
    pub non_differentiable: &'static str,
    pub shape: Option<RuleFn>,
    pub batch: Option<RuleFn>,
    pub never_batched: bool,
    pub generated: bool,
    pub lowers: &'static str,
    pub lower: Option<LowerFn>,
    pub transpose: &'static str,
    pub vjp_bindings: &'static str,
    pub jvp_bindings: &'static str,
    pub transpose_bindings: &'static str,
    pub zero_derivative: &'static str,
    pub samples: Option<SamplesFn>,
}

impl OpDeclarations {
    pub const EMPTY: OpDeclarations = OpDeclarations {
        signature: "",
        vjp_forward: "",
        vjp_backward: "",
        jvp_tangent: "",
        non_differentiable: "",
        shape: None,
        batch: None,
        never_batched: false,
        generated: false,
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
    /// Makes a descriptor of fields that were written by hand.
    ///
    /// # Safety
    /// Each pointer is null or points to as many elements as its length says. The elements stay valid and
    /// unchanged until the process ends. The functions of `bundle` are handlers of the stages for which they
    /// are listed; `shape` is a shape function, `batch` a batching function ([`rules`](crate::rules)), and
    /// `lower` a lowering function ([`lowering`](crate::lowering)). All functions may be called from any
    /// thread until the process ends.
    pub const unsafe fn from_raw(raw: RawOpDescriptor) -> OpDescriptor {
        OpDescriptor(raw)
    }

    /// Returns the fields.
    pub const fn raw(&self) -> &RawOpDescriptor {
        &self.0
    }

    /// Makes a descriptor, for the macros.
    ///
    /// # Safety
    /// The functions of `parts` satisfy the requirements of [`from_raw`](Self::from_raw).
    #[doc(hidden)]
    pub const unsafe fn new(parts: OpParts) -> OpDescriptor {
        OpDescriptor(RawOpDescriptor {
            struct_size: size_of::<RawOpDescriptor>(),
            name: ByteSpan::new(parts.name.as_bytes()),
            platform: ByteSpan::new(parts.platform.as_bytes()),
            bundle: parts.bundle,
            traits: parts.traits,
            flags: if parts.declaration.never_batched { op_flags::NEVER_BATCHED } else { 0 }
                | if parts.declaration.generated { op_flags::GENERATED } else { 0 },
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

/// Makes the descriptors of a handler's parameters.
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

/// Concatenates several tables.
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

/// Returns text of a library; empty if it is not UTF-8.
const fn text<'a>(span: ByteSpan) -> &'a str {
    // SAFETY: spans in descriptors are over constants of the library, which stays loaded.
    match std::str::from_utf8(unsafe { span.as_bytes() }) {
        Ok(text) => text,
        Err(_) => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // SAFETY: the descriptor has no functions.
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
            declaration: OpDeclarations {
                signature: "(x: f32[*], at: f32[]) -> (y: f32[*])",
                vjp_backward: "an_op_bwd",
                vjp_bindings: "cotangent(y) = g",
                transpose: "an_op_t",
                non_differentiable: "at,x",
                zero_derivative: "x",
                ..OpDeclarations::EMPTY
            },
        })
    };
    const OPS: &[&OpDescriptor] = &[&OP];

    #[test]
    fn reads_what_it_wrote() {
        let descriptor = LibraryDescriptor::new("lib", "1.2.3", OPS);
        // SAFETY: a valid descriptor.
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
            // SAFETY: a valid descriptor.
            let library = unsafe { Library::read(&descriptor) }.unwrap();
            library.ops().map(|op| library.target_name(&op).into_owned()).collect::<Vec<_>>()
        };
        let mut descriptor = LibraryDescriptor::new("lib", "1.2.3", OPS);
        assert_eq!(names(descriptor), ["an_op"]);
        descriptor = descriptor.in_namespace("acme");
        assert_eq!(names(descriptor), ["acme.an_op"]);
        descriptor.struct_size = std::mem::offset_of!(LibraryDescriptor, namespace);
        assert_eq!(names(descriptor), ["an_op"], "descriptors of older writers have no namespace");
    }

    #[test]
    fn an_older_writer_gave_less() {
        let mut op = *OP.raw();
        op.struct_size = std::mem::offset_of!(RawOpDescriptor, doc);
        let ops: [*const OpDescriptor; 1] = [(&raw const op).cast()];
        let mut descriptor = LibraryDescriptor::new("lib", "1.2.3", OPS);
        descriptor.ops = ops.as_ptr();
        // SAFETY: a valid descriptor, with a shorter op.
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
            // SAFETY: a descriptor that is readable for its size.
            unsafe { Library::read(&descriptor) }.err().map(|e| e.to_string()).unwrap_or_default()
        };
        // SAFETY: `read` accepts a null pointer.
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
        // SAFETY: the misaligned pointer is rejected before it is read.
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
            // SAFETY: a descriptor that is readable for its size.
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
