//! Finds and opens a library, and looks up the addresses of its routines.

use std::ffi::{OsStr, OsString, c_void};
use std::fmt;
use std::mem::ManuallyDrop;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

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

/// The library of the process; `None` until one is chosen. A library is never closed.
static CHOSEN: Mutex<Option<Option<&'static Library>>> = Mutex::new(None);

/// Error: a library cannot be opened, or lacks a routine.
#[derive(Clone, Debug)]
pub struct OpenError {
    message: String,
}

impl OpenError {
    /// Names what requested the library.
    fn of(self, request: &str) -> OpenError {
        OpenError { message: format!("{request}: {}", self.message) }
    }
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for OpenError {}

/// Opens a LAPACK library, which this process uses from now on: the library at `path`, or the first one that the
/// system's dynamic linker finds. Returns the library's path, or its name if the linker found it.
///
/// # Errors
/// If no library is found, if it lacks a routine, or if its integers have 64 bits. The process then uses the same
/// routines as before.
///
/// # Safety
/// The library's initializers must be sound. Its functions with the names of LAPACK and BLAS routines must
/// implement these routines.
pub unsafe fn open(path: Option<&Path>) -> Result<&'static Path, OpenError> {
    // SAFETY: the caller guarantees that the library is sound (`# Safety` above).
    let library = unsafe { find(path) }?;
    *chosen() = Some(Some(library));
    Ok(&library.path)
}

/// Makes this process use no library from now on, whatever the environment variable says.
pub fn use_built_in() {
    *chosen() = Some(None);
}

fn chosen() -> MutexGuard<'static, Option<Option<&'static Library>>> {
    CHOSEN.lock().unwrap_or_else(PoisonError::into_inner)
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
    let mut chosen = chosen();
    if let Some(library) = *chosen {
        return Ok(library);
    }
    let library = match std::env::var_os(VARIABLE) {
        None => None,
        Some(value) if value.is_empty() => None,
        Some(value) => match LapackSource::parse(&value).map_err(|error| error.of(VARIABLE))? {
            LapackSource::BuiltIn => None,
            LapackSource::System(path) => {
                // SAFETY: the user who sets the variable trusts the library, as with `LD_PRELOAD`.
                let found = unsafe { find(path.as_deref()) };
                Some(found.map_err(|error| error.of(VARIABLE))?)
            }
        },
    };
    *chosen = Some(library);
    Ok(library)
}

/// Whose LAPACK computes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LapackSource {
    /// farcall's own.
    BuiltIn,
    /// The library at this path, or one of the system.
    System(Option<PathBuf>),
}

impl LapackSource {
    /// Parses `built-in`, `system` or `system=PATH`.
    ///
    /// # Errors
    /// For any other text.
    pub fn parse(text: &OsStr) -> Result<LapackSource, OpenError> {
        let bytes = text.as_encoded_bytes();
        match bytes {
            b"built-in" => Ok(LapackSource::BuiltIn),
            b"system" => Ok(LapackSource::System(None)),
            _ => match text.to_str().and_then(|text| text.strip_prefix("system=")) {
                Some(path) if !path.is_empty() => Ok(LapackSource::System(Some(path.into()))),
                _ => Err(OpenError {
                    message: format!("it must be built-in, system or system=PATH, but is {}", text.display()),
                }),
            },
        }
    }
}

/// # Safety
/// Same requirements as [`open`].
unsafe fn find(path: Option<&Path>) -> Result<&'static Library, OpenError> {
    if let Some(path) = path {
        // The dynamic loader looks for a name without a folder in the system's folders only.
        let in_folder = (path.components().count() == 1 && path.exists()).then(|| Path::new(".").join(path));
        // SAFETY: the caller guarantees that the library is sound (`# Safety` above).
        return unsafe { Library::open(in_folder.as_deref().unwrap_or(path).as_os_str()) };
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
    unsafe fn open(path: &OsStr) -> Result<&'static Library, OpenError> {
        // SAFETY: the caller guarantees that the library's initializers are sound (`# Safety` above).
        let library = unsafe { libloading::Library::new(path) };
        // A library is never closed, because its threads may run until the process ends.
        let library = ManuallyDrop::new(library.map_err(|error| OpenError { message: chain(&error) })?);
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
        // SAFETY: the routine returns the version of LAPACK.
        if address(&form("ilaver")).is_some_and(|address| unsafe { stores_64_bits(address) }) {
            let message =
                format!("{} has 64-bit integers, but 32-bit ones are needed", Path::new(path).display());
            return Err(OpenError { message });
        }
        Ok(Box::leak(Box::new(Library { path: OsString::from(path).into(), routines })))
    }

    /// Returns a library with one routine, for the element type with this index in `sdcz`.
    #[cfg(test)]
    pub(crate) fn with_routine(routine: Routine, element: usize, address: *mut c_void) -> &'static Library {
        let mut routines = [[Address(std::ptr::null_mut()); 4]; Routine::COUNT];
        routines[routine as usize][element] = Address(address);
        Box::leak(Box::new(Library { path: PathBuf::new(), routines }))
    }

    /// Returns the address of a routine for the element type with this index in `sdcz`.
    pub(crate) fn address(&self, routine: Routine, element: usize) -> *mut c_void {
        self.routines[routine as usize][element].0
    }
}

/// Returns true if the integers of a library have 64 bits.
///
/// # Safety
/// The address must belong to LAPACK's `ilaver`, which stores three integers.
unsafe fn stores_64_bits(ilaver: Address) -> bool {
    type Ilaver = unsafe extern "C" fn(*mut i64, *mut i64, *mut i64);
    // SAFETY: the caller guarantees that the routine has these parameters (`# Safety` above), apart from the
    // width of the integers.
    let ilaver = unsafe { std::mem::transmute::<*mut c_void, Ilaver>(ilaver.0) };
    let [mut major, mut minor, mut patch] = [-1i64; 3];
    // SAFETY: each pointer has room for an integer of either width.
    unsafe { ilaver(&mut major, &mut minor, &mut patch) };
    // Integers of 32 bits leave the upper half as it is. Versions are not negative.
    cfg!(target_endian = "little") && [major, minor, patch].iter().all(|number| *number >= 0)
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
    fn sources_are_parsed() {
        let source = |text: &str| LapackSource::parse(OsStr::new(text)).map_err(|error| error.to_string());
        assert_eq!(source("built-in"), Ok(LapackSource::BuiltIn));
        assert_eq!(source("system"), Ok(LapackSource::System(None)));
        assert_eq!(source("system=/a=b/lib.so"), Ok(LapackSource::System(Some("/a=b/lib.so".into()))));
        for text in ["", "openblas", "built-in=", "system=", "systems"] {
            let error = source(text).unwrap_err();
            assert_eq!(error, format!("it must be built-in, system or system=PATH, but is {text}"));
        }
    }

    #[test]
    fn integers_of_64_bits_are_recognized() {
        unsafe extern "C" fn wide(major: *mut i64, minor: *mut i64, patch: *mut i64) {
            // SAFETY: `stores_64_bits` passes pointers to three numbers.
            unsafe { (*major, *minor, *patch) = (3, 12, 0) };
        }
        unsafe extern "C" fn narrow(major: *mut i32, minor: *mut i32, patch: *mut i32) {
            // SAFETY: `stores_64_bits` passes pointers to three numbers.
            unsafe { (*major, *minor, *patch) = (3, 12, 0) };
        }
        // SAFETY: both functions store three integers.
        unsafe {
            assert!(stores_64_bits(Address(wide as *mut c_void)));
            assert!(!stores_64_bits(Address(narrow as *mut c_void)));
        }
    }

    #[test]
    fn a_missing_library_is_an_error() {
        // SAFETY: the file does not exist, so no code runs.
        let error = unsafe { Library::open(OsStr::new("/nonexistent/liblapack.so")) }.unwrap_err();
        assert!(error.to_string().contains("/nonexistent/liblapack.so"), "{error}");
    }
}
