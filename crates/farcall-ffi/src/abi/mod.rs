//! Mirror of XLA's FFI C interface, `xla/ffi/api/c_api.h`, versions 0.1 to 0.5.
//!
//! Both sides use it: handlers (the rest of this crate) read the call frame that a host built, and the engine
//! builds call frames for handlers from any compiler. The code here only reads members that a struct's own
//! size covers.
//!
//! A Rust name is the C name without `XLA_FFI_` and underscores: [`CallFrame`] is `XLA_FFI_CallFrame`,
//! [`HandlerRegisterArgs`] is `XLA_FFI_Handler_Register_Args`. Where two versions disagree about a layout,
//! the newest has the plain name and the older one a suffix: [`HandlerBundleV4`] is the bundle up to 0.4,
//! [`StateSetArgsV2`] the arguments up to 0.2.
//!
//! # Versions
//!
//! Every struct of the interface starts with its size. A reader only accesses a member that lies within the
//! size that the *writer* gave (see [`Api::offers`]). That size is the type's `STRUCT_SIZE`, not `size_of`:
//! it ends at the member that the C header names as the last one, which for [`CallFrame`] and [`Metadata`] is
//! not the actual last one.
//!
//! Changes of the layout:
//!
//! | version | change |
//! | --- | --- |
//! | 0.3 | `stage` in [`StateSetArgs`] and [`StateGetArgs`], before `type_id` |
//! | 0.5 | `record` in [`HandlerBundle`], so `traits` moves in [`HandlerRegisterArgs`]; `errc` in [`ErrorGetDetailsArgs`] (before: `Error_GetMessage`); [`Stage::RECORD`]; the last two functions of [`Api`]; `ExecutionContext` is called `InvokeContext` |
//!
//! # Invariants
//!
//! - An enumeration that the other side of the interface writes is an open newtype over `u32` ([`DataType`],
//!   [`AttrType`], …), never a Rust `enum`: an unknown value must not be undefined behavior.
//! - No struct implements `Default`: a zero `struct_size` is never right.
//! - [`LAYOUTS`] lists every struct; a test compares it with the C headers.

use std::ffi::{c_char, c_int, c_void};

mod api;
mod enums;
mod layout;

pub use api::*;
pub use enums::*;
pub use layout::{FieldLayout, LAYOUTS, StructLayout};

use layout::{abi_struct, api_struct};

/// Major version of the interface that this module mirrors.
pub const API_MAJOR: i32 = 0;
/// Newest minor version that this module mirrors.
pub const API_MINOR: i32 = 5;

/// Opaque `XLA_FFI_Error`, owned by its receiver and freed with [`Api::error_destroy`].
#[repr(C)]
#[derive(Debug)]
pub struct Error {
    _opaque: [u8; 0],
    _marker: Opaque,
}

/// Opaque `XLA_FFI_InvokeContext` (up to 0.4 `XLA_FFI_ExecutionContext`): the host's data about one call.
#[repr(C)]
#[derive(Debug)]
pub struct InvokeContext {
    _opaque: [u8; 0],
    _marker: Opaque,
}

/// Opaque `XLA_FFI_Future`: completion of a call that outlives its handler's return.
#[repr(C)]
#[derive(Debug)]
pub struct Future {
    _opaque: [u8; 0],
    _marker: Opaque,
}

/// Opaque `XLA_FFI_InternalApi`: private to a host.
#[repr(C)]
#[derive(Debug)]
pub struct InternalApi {
    _opaque: [u8; 0],
    _marker: Opaque,
}

/// Keeps opaque types from being `Send`, `Sync` or `Unpin`.
type Opaque = std::marker::PhantomData<(*mut u8, std::marker::PhantomPinned)>;

/// `XLA_FFI_Handler`: entry point of a handler. Returns null on success, and otherwise an error that the
/// caller owns.
pub type HandlerFn = unsafe extern "C" fn(call_frame: *mut CallFrame) -> *mut Error;

/// `XLA_FFI_Task`: work for a thread pool. Must not unwind.
pub type Task = unsafe extern "C" fn(data: *mut c_void);

/// `XLA_FFI_Handler_Traits`: bits of [`handler_traits`].
pub type HandlerTraits = u32;

/// `XLA_FFI_Handler_TraitsBits`.
pub mod handler_traits {
    /// Calls may be traced into a command buffer (a CUDA graph).
    pub const COMMAND_BUFFER_COMPATIBLE: u32 = 1 << 0;
}

// ---- Extensions, version -------------------------------------------------------------------

abi_struct! {
    /// Header of each extension in a struct's list of extensions (called `XLA_FFI_InternalExtension` since
    /// 0.5).
    ExtensionBase = "XLA_FFI_Extension_Base" {
        /// Size of the whole extension, not only of this header.
        struct_size: usize,
        /// Kind of extension, which determines the struct that this header belongs to.
        r#type: ExtensionType,
        /// Next extension, or null.
        next: *mut ExtensionBase,
    } ends at next: *mut ExtensionBase;
}

abi_struct! {
    /// Identifies an extension of the invoke context (since 0.5).
    ExtensionId = "XLA_FFI_ExtensionId" since 5 {
        /// Unique number of the extension.
        extension_type: i64,
        /// Major version of the extension itself.
        major_version: i32,
        /// Minor version of the extension itself.
        minor_version: i32,
    } ends at minor_version: i32;
}

abi_struct! {
    /// Header of an extension of the invoke context (since 0.5).
    Extension = "XLA_FFI_Extension" since 5 {
        /// Size of the whole extension.
        struct_size: usize,
        /// Kind and version of the extension.
        id: ExtensionId,
        /// Next extension, or null.
        next: *const Extension,
    } ends at next: *const Extension;
}

api_struct! {
    /// A version of the interface.
    ApiVersion = "XLA_FFI_Api_Version" {
        /// Changes with incompatible changes of the interface.
        major_version: c_int,
        /// Changes with additions, which are compatible in theory.
        minor_version: c_int,
    } ends at minor_version: c_int;
}

impl ApiVersion {
    /// Returns version `major.minor`, with the right `struct_size` and no extension.
    pub const fn new(major: i32, minor: i32) -> ApiVersion {
        ApiVersion {
            struct_size: ApiVersion::STRUCT_SIZE,
            extension_start: std::ptr::null_mut(),
            major_version: major,
            minor_version: minor,
        }
    }

    /// Returns true if this version is `major.minor` or a later one.
    pub const fn at_least(&self, major: i32, minor: i32) -> bool {
        self.major_version > major || (self.major_version == major && self.minor_version >= minor)
    }
}

// ---- Values --------------------------------------------------------------------------------

abi_struct! {
    /// A string that is not null-terminated. `ptr` may be null if `len` is 0.
    #[derive(Clone, Copy)]
    ByteSpan = "XLA_FFI_ByteSpan" {
        /// First byte.
        ptr: *const c_char,
        /// Number of bytes.
        len: usize,
    } ends at len: usize;
}

impl ByteSpan {
    /// Returns a span over `bytes`, which must outlive every use of the span.
    pub const fn new(bytes: &[u8]) -> ByteSpan {
        ByteSpan { ptr: bytes.as_ptr().cast(), len: bytes.len() }
    }

    /// Returns the bytes; empty if `ptr` is null, whatever `len` is, or if `len` exceeds `isize::MAX`.
    ///
    /// # Safety
    /// Unless null, `ptr` points to `len` bytes that stay valid and unchanged during `'a`.
    pub const unsafe fn as_bytes<'a>(&self) -> &'a [u8] {
        if self.ptr.is_null() || self.len > isize::MAX as usize {
            return &[];
        }
        // SAFETY: `ptr` is not null, and the caller guarantees `len` valid bytes (`# Safety` above).
        unsafe { std::slice::from_raw_parts(self.ptr.cast(), self.len) }
    }
}

api_struct! {
    /// A dense array of elements, row-major. An operand or a result of a call.
    Buffer = "XLA_FFI_Buffer" {
        /// Element type.
        dtype: DataType,
        /// First element; may be null if the buffer has no elements.
        data: *mut c_void,
        /// Number of dimensions.
        rank: i64,
        /// `rank` sizes, major to minor; may be null if `rank` is 0.
        dims: *mut i64,
    } ends at dims: *mut i64;
}

abi_struct! {
    /// A scalar attribute.
    Scalar = "XLA_FFI_Scalar" {
        /// Type of the value.
        dtype: DataType,
        /// Pointer to the value. Nothing guarantees that it is aligned.
        value: *mut c_void,
    } ends at value: *mut c_void;
}

abi_struct! {
    /// An array attribute.
    Array = "XLA_FFI_Array" {
        /// Type of the elements.
        dtype: DataType,
        /// Number of elements.
        size: usize,
        /// First element; may be null if there are no elements.
        data: *mut c_void,
    } ends at data: *mut c_void;
}

// ---- Call frame ----------------------------------------------------------------------------

api_struct! {
    /// Operands of a call.
    Args = "XLA_FFI_Args" {
        /// Number of operands.
        size: i64,
        /// Kinds of the operands: an array of `size` entries.
        types: *mut ArgType,
        /// `size` pointers, to values of these kinds: an [`ArgType::BUFFER`] is a [`Buffer`].
        args: *mut *mut c_void,
    } ends at args: *mut *mut c_void;
}

api_struct! {
    /// Results of a call: memory that the handler writes.
    Rets = "XLA_FFI_Rets" {
        /// Number of results.
        size: i64,
        /// Kinds of the results: an array of `size` entries.
        types: *mut RetType,
        /// `size` pointers, to values of these kinds: a [`RetType::BUFFER`] is a [`Buffer`].
        rets: *mut *mut c_void,
    } ends at rets: *mut *mut c_void;
}

api_struct! {
    /// Attributes of a call, or entries of a dictionary attribute, sorted by the bytes of their names.
    Attrs = "XLA_FFI_Attrs" {
        /// Number of attributes.
        size: i64,
        /// Kinds of the attributes: an array of `size` entries.
        types: *mut AttrType,
        /// `size` names, in ascending order.
        names: *mut *mut ByteSpan,
        /// `size` pointers, to values of these kinds: [`Scalar`], [`Array`], [`Attrs`] or [`ByteSpan`].
        attrs: *mut *mut c_void,
    } ends at attrs: *mut *mut c_void;
}

api_struct! {
    /// Argument of a handler: everything about one call.
    ///
    /// `STRUCT_SIZE` ends at `attrs` in every version so far, and handlers compiled from XLA's C++ headers
    /// require exactly that number, although `future` follows. A host writes `CallFrame::STRUCT_SIZE` and
    /// allocates the whole struct.
    CallFrame = "XLA_FFI_CallFrame" {
        /// The host's functions.
        api: *const Api,
        /// First argument of the host's functions.
        ctx: *mut InvokeContext,
        /// Stage of the call.
        stage: Stage,
        /// Operands.
        args: Args,
        /// Results.
        rets: Rets,
        /// Attributes.
        attrs: Attrs,
        /// Set by a handler that completes later.
        future: *mut Future,
    } ends at attrs: Attrs;
}

// ---- Registration --------------------------------------------------------------------------

abi_struct! {
    /// A target's functions by stage (since 0.5).
    #[derive(Clone, Copy)]
    HandlerBundle = "XLA_FFI_Handler_Bundle" since 5 {
        /// Called once per call site, when the program is compiled; may create state.
        instantiate: Option<HandlerFn>,
        /// Called before each run, to request resources.
        prepare: Option<HandlerFn>,
        /// Called before each run, when the resources are available.
        initialize: Option<HandlerFn>,
        /// Called for the call itself. Required.
        execute: Option<HandlerFn>,
        /// Called to record the call into a command buffer.
        record: Option<HandlerFn>,
    } ends at record: Option<HandlerFn>;
}

abi_struct! {
    /// A target's functions by stage, up to 0.4.
    #[derive(Clone, Copy)]
    HandlerBundleV4 = "XLA_FFI_Handler_Bundle" until 4 {
        /// See [`HandlerBundle::instantiate`].
        instantiate: Option<HandlerFn>,
        /// See [`HandlerBundle::prepare`].
        prepare: Option<HandlerFn>,
        /// See [`HandlerBundle::initialize`].
        initialize: Option<HandlerFn>,
        /// See [`HandlerBundle::execute`].
        execute: Option<HandlerFn>,
    } ends at execute: Option<HandlerFn>;
}

impl From<HandlerBundleV4> for HandlerBundle {
    fn from(old: HandlerBundleV4) -> HandlerBundle {
        let HandlerBundleV4 { instantiate, prepare, initialize, execute } = old;
        HandlerBundle { instantiate, prepare, initialize, execute, record: None }
    }
}

api_struct! {
    /// Arguments of [`Api::handler_register`] (since 0.5).
    HandlerRegisterArgs = "XLA_FFI_Handler_Register_Args" since 5 {
        /// Target name.
        name: ByteSpan,
        /// Platform name, in any of its spellings.
        platform: ByteSpan,
        /// Functions by stage.
        bundle: HandlerBundle,
        /// Traits that the registration adds to the traits in the metadata.
        traits: HandlerTraits,
    } ends at traits: HandlerTraits;
}

api_struct! {
    /// Arguments of [`Api::handler_register`], up to 0.4.
    HandlerRegisterArgsV4 = "XLA_FFI_Handler_Register_Args" until 4 {
        /// See [`HandlerRegisterArgs::name`].
        name: ByteSpan,
        /// See [`HandlerRegisterArgs::platform`].
        platform: ByteSpan,
        /// See [`HandlerRegisterArgs::bundle`].
        bundle: HandlerBundleV4,
        /// See [`HandlerRegisterArgs::traits`].
        traits: HandlerTraits,
    } ends at traits: HandlerTraits;
}

impl HandlerRegisterArgs {
    /// Reads the arguments of a caller of any version, which `struct_size` determines. Returns `None` if the
    /// pointer is null or no version has this size. `extension_start` is not copied.
    ///
    /// # Safety
    /// `args` is null, or points to as many bytes as its first member, `struct_size`, says.
    pub unsafe fn read(args: *const HandlerRegisterArgs) -> Option<HandlerRegisterArgs> {
        if args.is_null() {
            return None;
        }
        // SAFETY: the pointer is not null, so it is valid for `struct_size` at least.
        let struct_size = unsafe { (&raw const (*args).struct_size).read() };
        let (name, platform, bundle, traits) = if struct_size >= HandlerRegisterArgs::STRUCT_SIZE {
            // SAFETY: the size covers all four members.
            unsafe { ((*args).name, (*args).platform, (*args).bundle, (*args).traits) }
        } else if struct_size >= HandlerRegisterArgsV4::STRUCT_SIZE {
            let args = args.cast::<HandlerRegisterArgsV4>();
            // SAFETY: the size covers all four members of the older layout.
            unsafe { ((*args).name, (*args).platform, (*args).bundle.into(), (*args).traits) }
        } else {
            return None;
        };
        let struct_size = HandlerRegisterArgs::STRUCT_SIZE;
        let extension_start = std::ptr::null_mut();
        Some(HandlerRegisterArgs { struct_size, extension_start, name, platform, bundle, traits })
    }
}

abi_struct! {
    /// Number of a user type within one host; 0 is [`TypeId::UNKNOWN`].
    #[derive(Clone, Copy, PartialEq, Eq, Hash)]
    TypeId = "XLA_FFI_TypeId" {
        /// The number.
        type_id: i64,
    } ends at type_id: i64;
}

impl TypeId {
    /// `XLA_FFI_UNKNOWN_TYPE_ID`: not registered, or no state.
    pub const UNKNOWN: TypeId = TypeId { type_id: 0 };
}

api_struct! {
    /// Description of a user type for a host.
    TypeInfo = "XLA_FFI_TypeInfo" {
        /// Destroys an object of the type.
        deleter: Option<unsafe extern "C" fn(object: *mut c_void)>,
    } ends at deleter: Option<unsafe extern "C" fn(object: *mut c_void)>;
}

// ---- Metadata ------------------------------------------------------------------------------

abi_struct! {
    /// Description of a handler, which the handler writes.
    ///
    /// `STRUCT_SIZE` ends at `traits`, but handlers compiled from XLA's C++ headers write `state_type_id`
    /// nevertheless: allocate the whole struct.
    Metadata = "XLA_FFI_Metadata" {
        /// Set by the host to `Metadata::STRUCT_SIZE`.
        struct_size: usize,
        /// Version of the interface that the handler uses.
        api_version: ApiVersion,
        /// Bits of [`handler_traits`].
        traits: HandlerTraits,
        /// Type of the state that this handler makes, or [`TypeId::UNKNOWN`].
        state_type_id: TypeId,
    } ends at traits: HandlerTraits;
}

abi_struct! {
    /// Extension of a call frame that requests a handler's [`Metadata`] instead of a call.
    MetadataExtension = "XLA_FFI_Metadata_Extension" {
        /// Header, of type [`ExtensionType::METADATA`].
        extension_base: ExtensionBase,
        /// Struct that the handler fills in.
        metadata: *mut Metadata,
    } ends at metadata: *mut Metadata;
}
