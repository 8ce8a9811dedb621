//! Finds and opens a library, and looks its routines up.

use std::ffi::{OsStr, OsString, c_void};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::names::Routine;

/// Environment variable that chooses the library.
const VARIABLE: &str = "FARCALL_LINALG";

/// Names under which the system's dynamic linker may find a library, in the order in which they are tried.
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

/// Forms of the routines' names: Fortran's, that of the libraries in SciPy's packages, and C's.
const FORMS: [fn(&str) -> String; 3] =
    [|name| format!("{name}_"), |name| format!("scipy_{name}_"), |name| name.to_owned()];

/// An open library.
#[derive(Debug)]
pub(crate) struct Library {
    path: PathBuf,
    /// Addresses of each routine for the element types s, d, c, z.
    routines: [[Address; 4]; Routine::COUNT],
}

/// Address of a routine.
#[derive(Clone, Copy, Debug)]
struct Address(*mut c_void);

// SAFETY: the address of a function of a library that stays open.
unsafe impl Send for Address {}
// SAFETY: the address of a function of a library that stays open.
unsafe impl Sync for Address {}

/// The library of the process, or the error of the attempt that the environment variable requested.
static LIBRARY: OnceLock<Result<Option<Library>, OpenError>> = OnceLock::new();

/// A library cannot be opened, or lacks a routine.
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

/// Opens the LAPACK library of this process: the one at `path`, or the first that the system has. Returns its
/// path, or its name if the system's dynamic linker found it.
///
/// # Errors
/// If there is no library, if it lacks a routine, or if this process uses another library already, or has
/// called [`routines`](crate::routines) before.
///
/// # Safety
/// The code that runs when the library is opened is sound, and its functions with names of LAPACK's and the
/// BLAS's routines are these routines, with integers of 32 bits.
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
            message: "this process has called routines of linear algebra already: choose the library before"
                .to_owned(),
        }),
        Err(error) => Err(error.clone()),
    }
}

/// Makes this process use no library, whatever the environment variable says.
///
/// # Errors
/// If the process uses a library already.
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
            // SAFETY: whoever sets the variable trusts the library, as with `LD_PRELOAD`.
            Request::System(path) => unsafe { find(path.as_deref()) }.map(Some),
        },
    });
    match library {
        Ok(library) => Ok(library.as_ref()),
        Err(error) => Err(error.clone()),
    }
}

/// Value of the environment variable.
#[derive(Debug, PartialEq, Eq)]
enum Request {
    BuiltIn,
    System(Option<PathBuf>),
}

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
            "the system has no LAPACK library that can be used; name one with system=PATH. Tried:\n  {}",
            errors.join("\n  ")
        ),
    })
}

impl Library {
    /// # Safety
    /// Same requirements as [`open`].
    unsafe fn open(path: &OsStr) -> Result<Library, OpenError> {
        // SAFETY: the caller guarantees that the library's initializers are sound (`# Safety` above).
        let library = unsafe { libloading::Library::new(path) };
        let library = library.map_err(|error| OpenError { message: chain(&error) })?;
        let address = |name: &str| {
            // SAFETY: the symbol is only used as an address here, and the library stays open.
            let address = unsafe { library.get::<*mut c_void>(name.as_bytes()).ok()?.try_as_raw_ptr()? };
            (!address.is_null()).then_some(Address(address))
        };
        let missing = |name: &str| OpenError {
            message: format!("{} has no routine {name}", Path::new(path).display()),
        };
        let form = FORMS.iter().find(|form| address(&form("dpotrf")).is_some());
        let form = form.ok_or_else(|| missing("dpotrf_, with integers of 32 bits"))?;
        let mut routines = [[Address(std::ptr::null_mut()); 4]; Routine::COUNT];
        for (routine, addresses) in Routine::ALL.iter().zip(&mut routines) {
            for (name, slot) in routine.names().iter().zip(addresses) {
                *slot = address(&form(name)).ok_or_else(|| missing(&form(name)))?;
            }
        }
        // The library stays open: its threads may run until the process ends.
        std::mem::forget(library);
        Ok(Library { path: OsString::from(path).into(), routines })
    }

    /// Returns the address of a routine for the element type with this index in `sdcz`.
    pub(crate) fn address(&self, routine: Routine, element: usize) -> *mut c_void {
        self.routines[routine as usize][element].0
    }
}

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
        // SAFETY: nothing is opened.
        let error = unsafe { Library::open(OsStr::new("/nonexistent/liblapack.so")) }.unwrap_err();
        assert!(error.to_string().contains("/nonexistent/liblapack.so"), "{error}");
    }
}
