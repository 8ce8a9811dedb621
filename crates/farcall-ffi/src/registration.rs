//! Registers a library with every host in the process when the library is loaded.
//!
//! `library!` places a call of [`register`] among the library's initializers. A host is a shared object or a
//! program that exports one of two functions ([`SYMBOLS`]). Every loaded object is searched for these
//! functions, since a host that is itself a plugin may have been loaded with local scope. Without a host,
//! nothing happens. A host that reads descriptors (farcall) is skipped.
//!
//! **Invariants.** This code runs inside `dlopen`: panics do not leave it, and it closes whatever it opens. A
//! library that a host has pointers into stays loaded until the process ends, even if it is closed
//! ([`stay_loaded`]).

use std::ffi::{CStr, CString, c_int, c_void};
use std::ptr::null_mut;

use crate::abi::{self, Api};
use crate::descriptor::{self, Library, LibraryDescriptor, LibraryOp};
use crate::error::Result;
use crate::host::{Host, function};
use crate::object::stay_loaded;
use crate::unwind::catch;

/// Symbols that hosts export: a C function, and `xla::ffi::GetXlaFfiApi()`.
const SYMBOLS: [&CStr; 2] = [c"XLA_FFI_GetApi", c"_ZN3xla3ffi12GetXlaFfiApiEv"];

/// Maximum number of a table's extensions that are searched.
const MAX_EXTENSIONS: usize = 64;

/// Registers the library's targets with every host of the process, and returns how many registrations
/// succeeded. A host's error goes to standard error, since there is no caller to return it to.
///
/// # Safety
/// The descriptor is made by `library!`.
pub unsafe fn register(library: &'static LibraryDescriptor) -> usize {
    catch(|| {
        // SAFETY: the caller guarantees that `library!` made the descriptor.
        let Ok(library) = (unsafe { Library::read(library) }) else { return 0 };
        let mut registered = 0;
        for api in hosts() {
            // SAFETY: a host's table starts with its size.
            let Some(host) = (unsafe { Host::new(api, null_mut()) }) else { continue };
            for op in library.ops() {
                let name = library.target_name(&op);
                match register_op(&host, &op, &name) {
                    Ok(()) => {
                        stay_loaded();
                        registered += 1;
                    }
                    Err(error) => eprintln!("{}: {name}: {error}", library.name()),
                }
            }
        }
        registered
    })
    .unwrap_or(0)
}

fn register_op(host: &Host, op: &LibraryOp<'_>, name: &str) -> Result<()> {
    let register = function!(host, handler_register)?;
    // The host copies the name.
    let name = abi::ByteSpan::new(name.as_bytes());
    let platform = abi::ByteSpan::new(op.platform().as_bytes());
    let bundle = op.bundle();
    let error = if host.at_least(5) {
        let mut args = abi::HandlerRegisterArgs {
            struct_size: abi::HandlerRegisterArgs::STRUCT_SIZE,
            extension_start: null_mut(),
            name,
            platform,
            bundle,
            traits: op.traits(),
        };
        // SAFETY: a function of the host, with the arguments it expects.
        unsafe { register(&mut args) }
    } else {
        let abi::HandlerBundle { instantiate, prepare, initialize, execute, record: _ } = bundle;
        let mut args = abi::HandlerRegisterArgsV4 {
            struct_size: abi::HandlerRegisterArgsV4::STRUCT_SIZE,
            extension_start: null_mut(),
            name,
            platform,
            bundle: abi::HandlerBundleV4 { instantiate, prepare, initialize, execute },
            traits: op.traits(),
        };
        // SAFETY: a function of the host, which expects the older arguments up to 0.4.
        unsafe { register((&raw mut args).cast()) }
    };
    host.check(error)
}

/// Returns the function tables of the hosts in this process, without duplicates.
fn hosts() -> Vec<*const Api> {
    let mut tables = Vec::new();
    for name in loaded_objects() {
        let name = if name.is_empty() { std::ptr::null() } else { name.as_ptr() };
        // SAFETY: `RTLD_NOLOAD` only finds a loaded object; the handle is closed below.
        let object = unsafe { libc::dlopen(name, libc::RTLD_LAZY | libc::RTLD_NOLOAD) };
        if object.is_null() {
            continue;
        }
        for symbol in SYMBOLS {
            // SAFETY: a handle and a null-terminated name.
            let address = unsafe { libc::dlsym(object, symbol.as_ptr()) };
            if address.is_null() {
                continue;
            }
            // SAFETY: a symbol of this name has this type.
            let get_api =
                unsafe { std::mem::transmute::<*mut c_void, unsafe extern "C" fn() -> *const Api>(address) };
            // SAFETY: the function takes no arguments, and its object is loaded.
            let table = unsafe { get_api() };
            // SAFETY: a host's table is valid for its size.
            if !table.is_null() && !tables.contains(&table) && !unsafe { reads_descriptors(table) } {
                tables.push(table);
            }
        }
        // SAFETY: the handle was opened above. The object stays loaded, because the code that loaded it still
        // has a handle.
        unsafe { libc::dlclose(object) };
    }
    tables
}

/// Returns true if the table belongs to a host that reads descriptors.
///
/// # Safety
/// `table` points to as many bytes as its first member, `struct_size`, says.
unsafe fn reads_descriptors(table: *const Api) -> bool {
    // SAFETY: the caller guarantees a valid table (`# Safety` above), and every extension starts with the
    // same header.
    unsafe {
        if !table.is_aligned() || (*table).struct_size < std::mem::offset_of!(Api, api_version) {
            return false;
        }
        let mut extension = (*table).extension_start;
        for _ in 0..MAX_EXTENSIONS {
            if !extension.is_aligned() {
                return false;
            }
            let Some(head) = extension.as_ref() else { return false };
            if head.struct_size < abi::ExtensionBase::STRUCT_SIZE {
                return false;
            }
            if head.r#type == descriptor::HOST_EXTENSION {
                return true;
            }
            extension = head.next;
        }
    }
    false
}

/// Returns the names of all loaded objects, starting with the program, whose name is empty.
///
/// All names are collected before any object is opened, because the list of objects is locked while it is
/// walked.
fn loaded_objects() -> Vec<CString> {
    unsafe extern "C" fn collect(
        info: *mut libc::dl_phdr_info,
        _: libc::size_t,
        names: *mut c_void,
    ) -> c_int {
        // SAFETY: the walk passes an object with a null-terminated name, and the pointer that was passed to
        // it.
        unsafe {
            let name = (*info).dlpi_name;
            let name = if name.is_null() { c"" } else { CStr::from_ptr(name) };
            (*names.cast::<Vec<CString>>()).push(name.to_owned());
        }
        0
    }
    let mut names: Vec<CString> = Vec::new();
    // SAFETY: the callback gets a pointer of the type that it expects, which is valid during the walk.
    unsafe { libc::dl_iterate_phdr(Some(collect), (&raw mut names).cast()) };
    names
}
