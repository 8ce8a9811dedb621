//! The C interface of PJRT plugins: `xla/pjrt/c/pjrt_c_api.h` and the extensions for FFI and layouts.
//!
//! A PJRT plugin is a shared library with the function `GetPjrtApi`, which returns an [`Api`]: a version, a
//! list of extensions, and a table of functions. Each [`ApiFunction`] takes one pointer to its arguments, and
//! returns null or an error. A Rust name is the C name without `PJRT_` and underscores, and the struct of a
//! function's arguments lacks the suffix `Args`: [`ClientCompile`] has the arguments of
//! `PJRT_Client_Compile`.
//!
//! `tests/layouts.txt` has the offsets of version 0.114, computed by libclang from the C header (as in PyPI's
//! pypjrt 0.1.1). No struct that is mirrored here differs from 0.112 to 0.116. Every struct begins with its size, so that members can be added at its
//! end: a reader only accesses a member that lies within the size that the writer gave.
//!
//! # Invariants
//! - Enumerations are newtypes over `u32`, and booleans are `u8`: an unknown value must not be undefined
//!   behavior.
//! - The crate has no logic and no dependencies. Plugin and client share it.

mod functions;
mod types;

pub use functions::*;
pub use types::*;

/// Number of functions in the table.
pub const FUNCTIONS: usize = ApiSlot::NAMES.len();

/// A function of the table, before its arguments' type is known.
pub type AnyFunction = unsafe extern "C" fn();

/// Name of the function that a plugin exports. It takes no arguments, and returns an [`Api`].
pub const GET_API: &str = "GetPjrtApi";

/// `PJRT_Api`: the functions of a plugin.
#[repr(C)]
#[derive(Debug)]
pub struct Api {
    /// Size of the table that the plugin provides.
    pub struct_size: usize,
    /// First extension, or null.
    pub extension_start: *mut ExtensionBase,
    /// Version of the interface that the plugin implements.
    pub version: ApiVersion,
    /// The functions, by [`ApiFunction::SLOT`]. Only those within `struct_size` exist.
    pub functions: [Option<AnyFunction>; FUNCTIONS],
}

/// Returns the function of a table that takes the arguments `A`: an [`ApiEntry`], except for
/// `PJRT_Error_Destroy` and `PJRT_Error_Message`, which return nothing.
///
/// # Safety
/// `api` points to the table of a plugin, whose `struct_size` bytes are valid.
pub unsafe fn function<A: ApiFunction>(api: *const Api) -> Option<ApiEntry<A>> {
    let end = std::mem::offset_of!(Api, functions) + (A::SLOT + 1) * size_of::<AnyFunction>();
    // SAFETY: every plugin's table has at least the first member (`# Safety` above).
    if unsafe { (*api).struct_size } < end {
        return None;
    }
    // SAFETY: the entry lies within the table's size. Entries are pointers to functions, or null.
    let function = unsafe { *(&raw const (*api).functions).cast::<Option<AnyFunction>>().add(A::SLOT) };
    // SAFETY: the entry at this position takes these arguments; function pointers have one size.
    function.map(|f| unsafe { std::mem::transmute::<AnyFunction, ApiEntry<A>>(f) })
}

// SAFETY: the table is constant after its creation, and its functions may be called on any thread.
unsafe impl Sync for Api {}
// SAFETY: see above.
unsafe impl Send for Api {}
