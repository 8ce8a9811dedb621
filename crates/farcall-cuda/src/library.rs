//! Opens NVIDIA's libraries at run time, so that an op library builds and loads without CUDA.
//!
//! A table of functions is filled once, when it is first needed. The declarations repeat `cudarc`'s: the
//! compiler compares the type of each function. The tables exist beside `cudarc`'s own functions for three
//! reasons:
//!
//! - A newer library may return a status that `cudarc` does not know, and that would be an invalid value of
//!   `cudarc`'s enumeration. A table's functions return numbers.
//! - A missing library or function is an error here, and a panic in `cudarc`.
//! - The names include the ones under which JAX loads the libraries (`libnccl.so.2`). The dynamic linker
//!   finds a library by such a name if the process has already loaded it, from whatever folder.

use std::ffi::CStr;

use farcall_ffi::{Error, Result};
use libloading::Library;

/// A library: its name for messages, and the names of its file, in the order in which they are tried.
#[derive(Debug)]
pub(crate) struct LibraryFiles {
    pub(crate) title: &'static str,
    pub(crate) files: &'static [&'static str],
}

impl LibraryFiles {
    /// Opens the first file that the dynamic linker finds.
    ///
    /// # Errors
    /// `NOT_FOUND` with all names, and the linker's message for the first.
    #[cold]
    pub(crate) fn open(&self) -> Result<Library> {
        let mut first = None;
        for file in self.files {
            // SAFETY: the initializers of NVIDIA's libraries have no requirements.
            match unsafe { Library::new(*file) } {
                Ok(library) => return Ok(library),
                Err(error) => first = first.or(Some(error)),
            }
        }
        let reason = first.map_or_else(String::new, |error| format!(": {}", with_sources(&error)));
        let message =
            format!("{} is not installed: looked for {}{reason}", self.title, self.files.join(", "));
        Err(Error::not_found(message))
    }
}

/// Returns a function of a library.
///
/// # Errors
/// `UNIMPLEMENTED` if the library has no such function.
///
/// # Safety
/// `F` is the type of the function pointer.
pub(crate) unsafe fn symbol<F: Copy>(library: &Library, title: &str, name: &CStr) -> Result<F> {
    // SAFETY: the caller guarantees the type (`# Safety` above).
    match unsafe { library.get::<F>(name.to_bytes_with_nul()) } {
        Ok(function) => Ok(*function),
        Err(_) => {
            let name = name.to_string_lossy();
            Err(Error::unimplemented(format!("{title} has no function {name}: its version is too old")))
        }
    }
}

fn with_sources(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(source) => source.to_string(),
        None => error.to_string(),
    }
}

/// Declares the table of a library's functions, and `get`, which fills the table once.
///
/// A function without a return type returns a status: a number in the table, `$status` in `cudarc`. The
/// functions of the list `unchecked` are not compared with `cudarc`'s, because they pass enumerations. The
/// functions of the list `optional` are `None` in libraries that do not have them.
macro_rules! function_table {
    (
        $(#[$meta:meta])*
        struct $table:ident of $files:expr, $status:ty;
        $(fn $name:ident($($ty:ty),* $(,)?);)*
        unchecked { $(fn $loose:ident($($loose_ty:ty),* $(,)?) -> $loose_return:ty;)* }
        optional { $(fn $optional:ident($($optional_ty:ty),* $(,)?);)* }
    ) => {
        $(#[$meta])*
        #[expect(non_snake_case, reason = "the names in the library")]
        pub(crate) struct $table {
            $(pub(crate) $name: unsafe extern "C" fn($($ty),*) -> u32,)*
            $(pub(crate) $loose: unsafe extern "C" fn($($loose_ty),*) -> $loose_return,)*
            $(pub(crate) $optional: Option<unsafe extern "C" fn($($optional_ty),*) -> u32>,)*
        }

        // The types agree with `cudarc`'s.
        $(const _: unsafe fn($($ty),*) -> $status = sys::$name;)*
        $(const _: unsafe fn($($optional_ty),*) -> $status = sys::$optional;)*

        impl $table {
            /// Returns the table; opens the library if this is the first call.
            #[inline]
            pub(crate) fn get() -> farcall_ffi::Result<&'static $table> {
                match TABLE.get() {
                    Some(table) => Ok(table),
                    None => $table::open(),
                }
            }

            #[cold]
            fn open() -> farcall_ffi::Result<&'static $table> {
                let files: &$crate::library::LibraryFiles = &$files;
                let library = files.open()?;
                let title = files.title;
                // SAFETY: NVIDIA's headers declare these types, and `cudarc` repeats them. A status is an
                // enumeration of 32 bits in the headers.
                let table = unsafe {
                    $table {
                        $($name: $crate::library::symbol(&library, title, $crate::library::c_name!($name))?,)*
                        $($loose: $crate::library::symbol(
                            &library, title, $crate::library::c_name!($loose)
                        )?,)*
                        $($optional: $crate::library::symbol(
                            &library, title, $crate::library::c_name!($optional)
                        ).ok(),)*
                    }
                };
                // The table's functions are used until the process ends.
                std::mem::forget(library);
                Ok(TABLE.get_or_init(|| table))
            }
        }

        static TABLE: std::sync::OnceLock<$table> = std::sync::OnceLock::new();
    };
}

/// Converts an identifier to a C string.
macro_rules! c_name {
    ($name:ident) => {
        const {
            match std::ffi::CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                Ok(name) => name,
                Err(_) => panic!("an identifier contains no null byte"),
            }
        }
    };
}

pub(crate) use {c_name, function_table};
