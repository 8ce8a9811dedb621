//! Opens the stand-ins, and controls them.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::path::{Path, PathBuf};

use farcall_ffi::testing::Call;
use farcall_testing::library::{plain_cc, scratch_folder};
use libloading::Library;

/// Address of the stream in tests, as stand-ins print it.
pub(crate) const STREAM: *mut c_void = std::ptr::without_provenance_mut(0x5000);

/// Calls of handlers on [`STREAM`].
pub(crate) trait OnStandin {
    /// Makes the call on this device of the stand-in for the driver.
    fn on_standin(self, device_ordinal: i32) -> Self;
}

impl OnStandin for Call<'_> {
    fn on_standin(self, device_ordinal: i32) -> Self {
        // SAFETY: the stand-ins access neither streams nor memory of devices.
        unsafe { self.on_stream(STREAM, device_ordinal) }
    }
}

/// The stand-in for the driver, in the driver's place.
pub(crate) struct Standin {
    driver: Library,
    _others: Vec<Library>,
}

impl Standin {
    /// Opens the stand-in for the driver. Returns `None` if there is no C++ compiler.
    pub(crate) fn open() -> Option<Standin> {
        Standin::open_with(&[])
    }

    /// Opens the stand-in for a driver that lacks the functions of newer versions.
    pub(crate) fn open_old() -> Option<Standin> {
        let driver = load("driver", "old_driver", &["-Wl,-soname,libcuda.so.1", "-DOLD_DRIVER"])?;
        Some(Standin { driver, _others: Vec::new() })
    }

    /// Opens the stand-ins for the driver and for other libraries: their sources and the names that the
    /// dynamic linker finds them by.
    pub(crate) fn open_with(others: &[(&str, &str)]) -> Option<Standin> {
        // The stand-ins of other libraries use functions of the driver's.
        let driver = load("driver", "driver", &["-Wl,-soname,libcuda.so.1"])?;
        let others = others
            .iter()
            .map(|(source, soname)| load(source, source, &[&format!("-Wl,-soname,{soname}")]))
            .collect::<Option<_>>()?;
        Some(Standin { driver, _others: others })
    }

    /// Returns the calls that were logged since the last call of this function.
    pub(crate) fn log(&self) -> String {
        // SAFETY: the stand-in declares this type; the text is valid until the next call.
        let text = unsafe {
            let log = self.driver.get::<unsafe extern "C" fn() -> *const c_char>(b"standin_log\0").unwrap();
            CStr::from_ptr(log())
        };
        text.to_str().unwrap().to_owned()
    }

    /// Makes the next call of a function return this status.
    pub(crate) fn fail(&self, function: &str, status: c_int) {
        let function = CString::new(function).unwrap();
        // SAFETY: the stand-in declares this type, and copies the text.
        unsafe {
            let fail =
                self.driver.get::<unsafe extern "C" fn(*const c_char, c_int)>(b"standin_fail\0").unwrap();
            fail(function.as_ptr(), status);
        }
    }

    /// Sets the status of all streams: 0 if they run their work, 1 if they are recorded, 2 if an error has
    /// invalidated the recording.
    pub(crate) fn capture(&self, status: c_int) {
        // SAFETY: the stand-in declares this type.
        unsafe {
            let capture = self.driver.get::<unsafe extern "C" fn(c_int)>(b"standin_capture\0").unwrap();
            capture(status);
        }
    }

    /// Sets the context that is current.
    pub(crate) fn context(&self, context: usize) {
        // SAFETY: the stand-in declares this type.
        unsafe {
            let set = self.driver.get::<unsafe extern "C" fn(*mut c_void)>(b"standin_context\0").unwrap();
            set(std::ptr::without_provenance_mut(context));
        }
    }
}

/// Builds a stand-in, unless it is newer than its source, and loads it. The dynamic linker then finds the
/// stand-in under the name in `flags` (`soname`).
fn load(source: &str, name: &str, flags: &[&str]) -> Option<Library> {
    let name = format!("standin_{name}");
    let built = scratch_folder().join(format!("lib{name}.so"));
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/cc/{source}.cc"));
    let age = |path: &PathBuf| std::fs::metadata(path).and_then(|data| data.modified()).ok();
    let path = if age(&built) > age(&file) { built } else { plain_cc("farcall-cuda", source, &name, flags)? };
    // SAFETY: stand-ins have no initializers with requirements. Its functions are found by other stand-ins.
    let library = unsafe {
        libloading::os::unix::Library::open(
            Some(path),
            libloading::os::unix::RTLD_NOW | libloading::os::unix::RTLD_GLOBAL,
        )
    };
    Some(library.unwrap().into())
}
