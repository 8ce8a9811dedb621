//! Symbols that libraries look up in the process, and the host's table of functions, through which libraries
//! register themselves.

use crate::CodedError;
use farcall_ffi::abi::{Api, Error, HandlerRegisterArgs, HandlerRegisterArgsV4};

use super::{Platform, open_libraries};
use crate::interface::api;
use crate::interface::error::Failure;
use crate::interface::status;

/// Symbols that libraries may expect from the process that loads them.
///
/// An executable exports them only if its linker was told to; see
/// [`LoadError::HostSymbols`](super::LoadError::HostSymbols).
pub const HOST_SYMBOLS: [&str; 4] = [
    "XLA_FFI_GetApi",
    "_ZN3xla3ffi12GetXlaFfiApiEv",
    "XlaCustomCallStatusSetFailure",
    "XlaCustomCallStatusSetSuccess",
];

/// Returns the host's table of functions.
pub fn host_api() -> *const Api {
    &raw const TABLE.0
}

/// Symbol by which libraries find the host's table of functions, in order to register themselves.
#[unsafe(no_mangle)]
pub extern "C" fn XLA_FFI_GetApi() -> *const Api {
    host_api()
}

/// C++ counterpart of [`XLA_FFI_GetApi`]: `const XLA_FFI_Api* xla::ffi::GetXlaFfiApi()`.
#[unsafe(export_name = "_ZN3xla3ffi12GetXlaFfiApiEv")]
pub extern "C" fn get_xla_ffi_api() -> *const Api {
    host_api()
}

/// Returns the addresses of [`HOST_SYMBOLS`]. Taking the addresses also keeps the linker from dropping the
/// functions.
pub fn host_symbol_addresses() -> [(&'static str, usize); 4] {
    let [get_api, get_api_cxx, set_failure, set_success] = HOST_SYMBOLS;
    [
        (get_api, XLA_FFI_GetApi as *const () as usize),
        (get_api_cxx, get_xla_ffi_api as *const () as usize),
        (set_failure, status::XlaCustomCallStatusSetFailure as *const () as usize),
        (set_success, status::XlaCustomCallStatusSetSuccess as *const () as usize),
    ]
}

struct Table(Api);

// SAFETY: the table is never written to, and its functions may be called from any thread.
unsafe impl Sync for Table {}

static TABLE: Table = Table(api::table(handler_register));

unsafe extern "C" fn handler_register(args: *mut HandlerRegisterArgs) -> *mut Error {
    // SAFETY: the interface requires the caller to pass valid arguments.
    unsafe {
        api::enter(args, HandlerRegisterArgsV4::STRUCT_SIZE, |_| {
            let Some(args) = HandlerRegisterArgs::read(args) else {
                return Err(Failure::invalid("a registration of an unknown version"));
            };
            let name = api::text(args.name, "name of the target")?;
            let platform = Platform::from(api::text(args.platform, "name of the platform")?.as_str());
            open_libraries::register_from_library(&name, platform, args.bundle, args.traits)
                .map_err(|e| Failure::new(e.code().status().into(), e.to_string()))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exported_symbol_gives_the_table() {
        assert_eq!((XLA_FFI_GetApi(), get_xla_ffi_api()), (host_api(), host_api()));
        // SAFETY: the table is static.
        let api = unsafe { &*host_api() };
        assert_eq!((api.api_version.major_version, api.api_version.minor_version), api::API_VERSION);
    }
}
