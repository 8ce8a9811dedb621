//! Finds and opens a library, and looks up the addresses of its routines.

use std::ffi::{OsStr, OsString, c_void};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::names::Routine;

/// Environment variable that chooses the library.
const VARIABLE: &str = "FARCALL_LINALG";

/// File names and paths of libraries, in the order in which they are tried. The system's dynamic linker finds
/// the file names.
const NAMES: &[&str] = if cfg!(target_os = "macos") {
    &[
        "/System/Library/Frameworks/Accelerate.framework/Accelerate",
        "libopenblas.dylib",
        "/opt/homebrew/opt/openblas/lib/libopenblas.dylib",
    ]
} else {
    &[
        "libopenblas.so.0",
        "libopenblas.so",
        "libmkl_rt.so.2",
        "libmkl_rt.so",
        "libflexiblas.so.3",
        "liblapack.so.3",
        "liblapack.so",
    ]
};

/// Symbol names of a routine: Fortran's, the one in the libraries of SciPy's packages, and the plain name.
const FORMS: [fn(&str) -> String; 3] =
    [|name| format!("{name}_"), |name| format!("scipy_{name}_"), |name| name.to_owned()];

/// An open library.
#[derive(Debug)]
pub(crate) struct Library {
    path: PathBuf,
    /// Addresses of each routine for LAPACK's element types s, d, c and z.
    routines: [[Address; 4]; Routine::COUNT],
}

/// Address of a routine.
#[derive(Clone, Copy, Debug)]
struct Address(*mut c_void);

// SAFETY: the value is the address of a function, in a library that stays open (`Library::open`).
unsafe impl Send for Address {}
// SAFETY: the value is the address of a function, in a library that stays open (`Library::open`).
unsafe impl Sync for Address {}

/// The library of the process, or the error of the attempt that the environment variable requested.
static LIBRARY: OnceLock<Result<Option<Library>, OpenError>> = OnceLock::new();

/// Error: a library cannot be opened, or lacks a routine.
#[derive(Clone, Debug)]
pub struct OpenError {
    message: String,
}

impl OpenError {
    fn in_use(library: &Library) -> OpenError {
        OpenError { message: format!("this process uses {} already", library.path.display()) }
    }
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for OpenError {}

/// Opens the LAPACK library of this process: the library at `path`, or the first one that the system's
/// dynamic linker finds. Returns the library's path, or its name if the linker found it.
///
/// # Errors
/// If no library is found, the library lacks a routine, this process already uses another library, or
/// [`routines`](crate::routines) was called before any library was open.
///
/// # Safety
/// The library's initializers must be sound. Its functions with the names of LAPACK and BLAS routines must
/// implement these routines, with 32-bit integers.
pub unsafe fn open(path: Option<&Path>) -> Result<&'static Path, OpenError> {
    let mut is_new = false;
    let library = LIBRARY.get_or_init(|| {
        is_new = true;
        // SAFETY: the caller guarantees that the library is sound (`# Safety` above).
        unsafe { find(path) }.map(Some)
    });
    match library {
        Ok(Some(library)) if is_new || path.is_none_or(|path| path == library.path) => Ok(&library.path),
        Ok(Some(library)) => Err(OpenError::in_use(library)),
        Ok(None) => Err(OpenError {
            message: "this process has already run linear algebra: choose the LAPACK library earlier"
                .to_owned(),
        }),
        Err(error) => Err(error.clone()),
    }
}

/// Makes this process use no library, and ignore the environment variable.
///
/// # Errors
/// If the process already uses a library.
pub fn use_built_in() -> Result<(), OpenError> {
    match LIBRARY.get_or_init(|| Ok(None)) {
        Ok(Some(library)) => Err(OpenError::in_use(library)),
        _ => Ok(()),
    }
}

/// Returns the path of the library that this process uses; `None` if it uses none. The first call opens the
/// library that the environment variable names.
///
/// # Errors
/// The errors of [`routines`](crate::routines).
pub fn path() -> Result<Option<&'static Path>, OpenError> {
    Ok(current()?.map(|library| library.path.as_path()))
}

/// Returns the library that this process uses. The first call opens the library that the environment variable
/// names, unless another one is open.
pub(crate) fn current() -> Result<Option<&'static Library>, OpenError> {
    let library = LIBRARY.get_or_init(|| match std::env::var_os(VARIABLE) {
        None => Ok(None),
        Some(value) => match requested(&value)? {
            Request::BuiltIn => Ok(None),
            // SAFETY: the user who sets the variable trusts the library, as with `LD_PRELOAD`.
            Request::System(path) => unsafe { find(path.as_deref()) }.map(Some),
        },
    });
    match library {
        Ok(library) => Ok(library.as_ref()),
        Err(error) => Err(error.clone()),
    }
}

/// A value of the environment variable.
#[derive(Debug, PartialEq, Eq)]
enum Request {
    BuiltIn,
    System(Option<PathBuf>),
}

/// Parses a value of the environment variable.
fn requested(value: &OsStr) -> Result<Request, OpenError> {
    let bytes = value.as_encoded_bytes();
    if bytes.is_empty() || bytes == b"built-in" {
        return Ok(Request::BuiltIn);
    }
    match value.to_str().map(|text| text.split_once('=').unwrap_or((text, ""))) {
        Some(("system", "")) => Ok(Request::System(None)),
        Some(("system", path)) => Ok(Request::System(Some(path.into()))),
        _ => Err(OpenError {
            message: format!(
                "{VARIABLE} is {value:?}, but must be \"built-in\", \"system\" or \"system=PATH\""
            ),
        }),
    }
}

/// Opens the library at `path`, or the first of [`NAMES`] that can be opened and has all routines.
///
/// # Safety
/// Same requirements as [`open`].
unsafe fn find(path: Option<&Path>) -> Result<Library, OpenError> {
    if let Some(path) = path {
        // SAFETY: the caller guarantees that the library is sound (`# Safety` above).
        return unsafe { Library::open(path.as_os_str()) };
    }
    let mut errors = Vec::new();
    for name in NAMES {
        // SAFETY: the caller guarantees that the system's library is sound (`# Safety` above).
        match unsafe { Library::open(OsStr::new(name)) } {
            Ok(library) => return Ok(library),
            Err(error) => errors.push(error.message),
        }
    }
    Err(OpenError {
        message: format!(
            "the system has no usable LAPACK library; specify the path of one. Tried:\n  {}",
            errors.join("\n  ")
        ),
    })
}

impl Library {
    /// Opens a library, and looks up all routines.
    ///
    /// # Safety
    /// Same requirements as [`open`].
    unsafe fn open(path: &OsStr) -> Result<Library, OpenError> {
        // SAFETY: the caller guarantees that the library's initializers are sound (`# Safety` above).
        let library = unsafe { libloading::Library::new(path) };
        let library = library.map_err(|error| OpenError { message: chain(&error) })?;
        let address = |name: &str| {
            // SAFETY: this code only stores the symbol's address, and the library stays open.
            let address = unsafe { library.get::<*mut c_void>(name.as_bytes()).ok()?.try_as_raw_ptr()? };
            (!address.is_null()).then_some(Address(address))
        };
        let missing = |name: &str| OpenError {
            message: format!("{} has no routine {name}", Path::new(path).display()),
        };
        let form = FORMS.iter().find(|form| address(&form("dpotrf")).is_some());
        let form = form.ok_or_else(|| missing("dpotrf_ with 32-bit integers"))?;
        let mut routines = [[Address(std::ptr::null_mut()); 4]; Routine::COUNT];
        for (routine, addresses) in Routine::ALL.iter().zip(&mut routines) {
            for (name, slot) in routine.names().iter().zip(addresses) {
                *slot = address(&form(name)).ok_or_else(|| missing(&form(name)))?;
            }
        }
        // The library must stay open: its threads may run until the process ends.
        std::mem::forget(library);
        Ok(Library { path: OsString::from(path).into(), routines })
    }

    /// Returns the address of a routine for the element type with this index in `sdcz`.
    pub(crate) fn address(&self, routine: Routine, element: usize) -> *mut c_void {
        self.routines[routine as usize][element].0
    }
}

/// Returns the message of an error and of its source.
fn chain(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variable_is_read() {
        let request = |text: &str| requested(OsStr::new(text)).map_err(|error| error.to_string());
        assert_eq!(request(""), Ok(Request::BuiltIn));
        assert_eq!(request("built-in"), Ok(Request::BuiltIn));
        assert_eq!(request("system"), Ok(Request::System(None)));
        assert_eq!(request("system=/a=b/lib.so"), Ok(Request::System(Some("/a=b/lib.so".into()))));
        assert_eq!(
            request("openblas"),
            Err("FARCALL_LINALG is \"openblas\", but must be \"built-in\", \"system\" or \"system=PATH\""
                .to_owned())
        );
    }

    #[test]
    fn what_is_no_library_is_an_error() {
        // SAFETY: the file does not exist, so no code runs.
        let error = unsafe { Library::open(OsStr::new("/nonexistent/liblapack.so")) }.unwrap_err();
        assert!(error.to_string().contains("/nonexistent/liblapack.so"), "{error}");
    }
}
