//! Exports a library's targets as Python capsules. Building the library needs no Python, because the
//! interpreter's functions are looked up in the process at run time.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::ptr::{null, null_mut};

use farcall_sig::platform::is_same;

use crate::abi;
use crate::descriptor::{Library, LibraryDescriptor, LibraryOp};

/// An owned reference to a Python object.
type Object = *mut c_void;

/// Functions of the interpreter.
struct Interpreter {
    new_capsule: unsafe extern "C" fn(*mut c_void, *const c_char, *const c_void) -> Object,
    new_dict: unsafe extern "C" fn() -> Object,
    set_item: unsafe extern "C" fn(Object, *const c_char, Object) -> c_int,
    release: unsafe extern "C" fn(Object),
}

/// Returns `{target: {stage: capsule}}` for the library's targets of a platform, as expected by
/// `jax.ffi.register_ffi_target`. Returns null if the process has no Python interpreter.
///
/// Platforms are compared without regard to case. `cpu` and null mean `Host`, and `gpu` means `CUDA`.
///
/// # Safety
/// `platform` is null or a null-terminated string. If the process has a Python interpreter, the caller holds
/// its lock (`ctypes.PyDLL` does, `ctypes.CDLL` does not).
pub unsafe fn registrations(library: &'static LibraryDescriptor, platform: *const c_char) -> Object {
    // SAFETY: the caller guarantees a null pointer or a null-terminated string (`# Safety` above).
    let platform = unsafe { if platform.is_null() { c"Host" } else { CStr::from_ptr(platform) } };
    let platform = platform.to_string_lossy();
    // SAFETY: the descriptor of this library, made by `library!`.
    let Ok(library) = (unsafe { Library::read(library) }) else { return null_mut() };
    let Some(python) = Interpreter::find() else { return null_mut() };
    // SAFETY: the caller holds the interpreter's lock (`# Safety` above).
    unsafe {
        python.dict(library.ops().filter(|op| is_same(op.platform(), &platform)), |op| {
            Some((library.target_name(op), python.stages(op)?))
        })
    }
    .unwrap_or(null_mut())
}

impl Interpreter {
    /// Finds the interpreter of this process.
    fn find() -> Option<Interpreter> {
        let find = |name: &CStr| {
            // SAFETY: a null-terminated name.
            let address = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
            (!address.is_null()).then_some(address)
        };
        let (new_capsule, new_dict) = (find(c"PyCapsule_New")?, find(c"PyDict_New")?);
        let (set_item, release) = (find(c"PyDict_SetItemString")?, find(c"Py_DecRef")?);
        // SAFETY: functions of Python's stable interface; their names imply their types.
        unsafe {
            Some(Interpreter {
                new_capsule: std::mem::transmute::<
                    *mut c_void,
                    unsafe extern "C" fn(*mut c_void, *const c_char, *const c_void) -> Object,
                >(new_capsule),
                new_dict: std::mem::transmute::<*mut c_void, unsafe extern "C" fn() -> Object>(new_dict),
                set_item: std::mem::transmute::<
                    *mut c_void,
                    unsafe extern "C" fn(Object, *const c_char, Object) -> c_int,
                >(set_item),
                release: std::mem::transmute::<*mut c_void, unsafe extern "C" fn(Object)>(release),
            })
        }
    }

    /// Makes a dictionary with an entry for each item; `None` if Python raised an exception.
    ///
    /// # Safety
    /// The interpreter's lock is held.
    unsafe fn dict<T, N: AsRef<str>>(
        &self,
        items: impl Iterator<Item = T>,
        entry: impl Fn(&T) -> Option<(N, Object)>,
    ) -> Option<Object> {
        // SAFETY: the caller holds the interpreter's lock (`# Safety` above).
        let dict = unsafe { (self.new_dict)() };
        if dict.is_null() {
            return None;
        }
        for item in items {
            let added = entry(&item).is_some_and(|(name, value)| {
                // A name cannot contain a null byte.
                let Ok(name) = CString::new(name.as_ref()) else { return false };
                // SAFETY: the lock is held. The dictionary takes an additional reference to the value.
                unsafe {
                    let failed = (self.set_item)(dict, name.as_ptr(), value);
                    (self.release)(value);
                    failed == 0
                }
            });
            if !added {
                // SAFETY: the lock is held.
                unsafe { (self.release)(dict) };
                return None;
            }
        }
        Some(dict)
    }

    /// Makes the dictionary `{stage: capsule}` of a target.
    ///
    /// # Safety
    /// The interpreter's lock is held.
    unsafe fn stages(&self, op: &LibraryOp<'_>) -> Option<Object> {
        let abi::HandlerBundle { instantiate, prepare, initialize, execute, record } = op.bundle();
        let stages = [
            ("instantiate", instantiate),
            ("prepare", prepare),
            ("initialize", initialize),
            ("execute", execute),
            ("record", record),
        ];
        let there = stages.into_iter().filter_map(|(name, handler)| Some((name, handler?)));
        // SAFETY: the lock is held. Capsules have no name, as in `jax.ffi.pycapsule`.
        unsafe {
            self.dict(there, |(name, handler)| {
                let capsule = (self.new_capsule)(*handler as *mut c_void, null(), null());
                (!capsule.is_null()).then_some((*name, capsule))
            })
        }
    }
}
