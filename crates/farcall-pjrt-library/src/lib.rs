//! The PJRT plugin of the crate `farcall-pjrt` as a shared library, for JAX and other hosts of plugins.
//!
//! `PJRT_NAMES_AND_LIBRARY_PATHS=farcall:libfarcall_pjrt.so` passes it to JAX. The library has a registry of
//! its own: hosts register the targets of custom calls through the plugin's FFI extension.

// The library uses the system's allocator, like its hosts, which may load it on any thread.

/// Returns the function table of the plugin.
#[unsafe(no_mangle)]
pub extern "C" fn GetPjrtApi() -> *const plugin::Api {
    plugin::api()
}
