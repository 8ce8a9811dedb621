//! Extensions of the interface (0.5) that XLA's GPU backend attaches to a call: recording of CUDA graphs
//! (128), and XLA's own communicators (129).
//!
//! A handler looks for an extension when it is called: [`Recorder::of`], [`Collectives::of`]. A host without
//! the extension, such as XLA with an older interface, returns `None`. The extensions promise no
//! compatibility between their versions, so a version other than 0.2 is an error.
//!
//! **Status: layout tested, never run.** The mirrors in [`abi`] agree with the headers in jaxlib 0.12, and a
//! stand-in tests what this module does with them. No version of XLA with these extensions was available with
//! a GPU.

use farcall_ffi::{Context, Error, Result};

pub mod abi;
mod collectives;
mod record;

pub use collectives::{Clique, CliqueMode, Collectives};
pub use record::{RecordedCommand, Recorder};

/// Returns the extension of this type, if the host has attached one.
///
/// # Errors
/// `UNIMPLEMENTED` if it has another version, `INTERNAL` if it is too small, or the host's error.
///
/// # Safety
/// `T` is the `repr(C)` struct that XLA's header defines for the extension of this type and version.
unsafe fn find<'a, T>(
    context: &'a Context,
    name: &str,
    extension_type: i64,
    version: (i32, i32),
) -> Result<Option<&'a T>> {
    let Some(header) = context.extension(extension_type)? else { return Ok(None) };
    let (major, minor) = (header.id.major_version, header.id.minor_version);
    if (major, minor) != version {
        let message = format!(
            "the host's extension for {name} has version {major}.{minor}, but farcall-cuda was made for {}.{}",
            version.0, version.1
        );
        return Err(Error::unimplemented(message));
    }
    if header.struct_size < size_of::<T>() {
        let message = format!("the host's extension for {name} has {} bytes", header.struct_size);
        return Err(Error::internal(message));
    }
    // SAFETY: the caller guarantees the type (`# Safety` above). The host's pointer is aligned, as
    // `Context::extension` checks, and `T` starts with the header.
    Ok(Some(unsafe { &*std::ptr::from_ref(header).cast() }))
}

/// Returns a function of an extension.
fn offered<F>(function: Option<F>, name: &str) -> Result<F> {
    function.ok_or_else(|| Error::unimplemented(format!("the host's extension does not offer {name}")))
}
