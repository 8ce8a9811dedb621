//! Entry points into foreign code: handlers, tasks, deleters, rules, functions of the untyped API, and the
//! opening of libraries.
//!
//! With the feature `cxx-exceptions`, foreign functions are called through a C++ shim (`cc/shim.cc`) that
//! catches exceptions. An exception becomes an error of code `INTERNAL` with the exception's type and
//! message. The functions of this module return that error, or else the result of the foreign function (null
//! if it returns nothing). The shim costs a nanosecond or two per call, and the program links the system's
//! C++ runtime.
//!
//! Without the feature, an exception that leaves foreign code ends the process with the message "Rust cannot
//! catch foreign exceptions".
//!
//! Either way, no exception crosses a Rust frame. An exception that a static constructor throws while its
//! library is opened ends the process, since the dynamic linker stays locked. With the feature, the exception
//! is reported first ([`open`]).
//!
//! Two functions of a library are called directly, without the shim: those that return the id and the
//! description of a state type (`registry/load.rs`).

use std::ffi::{c_char, c_void};

use farcall_ffi::abi::{self, Error};

use super::error::{Failure, take_error};
use super::status::CallStatus;
use super::types::Deleter;

/// A function of the untyped API that takes operands and results only.
pub(crate) type Original = unsafe extern "C" fn(*mut c_void, *const *const c_void);
/// A function of the untyped API that also takes a status.
pub(crate) type WithStatus = unsafe extern "C" fn(*mut c_void, *const *const c_void, *mut CallStatus);
/// A function of the untyped API that also takes an opaque string and a status.
pub(crate) type Unified =
    unsafe extern "C" fn(*mut c_void, *const *const c_void, *const c_char, usize, *mut CallStatus);

pub(crate) use imp::open;
pub(crate) use imp::{handler, original, unified, with_status};

/// A function that is either a handler, which has one parameter, or a function of the untyped API, which also
/// takes operands.
type Probed = unsafe extern "C" fn(*mut c_void, *const *const c_void) -> *mut Error;

/// Calls a function that should be a handler. If it is a function of the untyped API by mistake, it takes its
/// operands from `ins` and writes its result over the frame; its return value is then meaningless.
///
/// # Safety
/// Same requirements as for a call of the handler. In addition, `ins` and `frame` point to memory that a
/// function of the untyped API may take for operands and a result.
pub(crate) unsafe fn probe(
    handler: abi::HandlerFn,
    frame: *mut abi::CallFrame,
    ins: *const *const c_void,
) -> *mut Error {
    // SAFETY: the same function with one more parameter. In the C calling conventions, excess arguments are
    // ignored.
    let function = unsafe { std::mem::transmute::<abi::HandlerFn, Probed>(handler) };
    // SAFETY: the caller guarantees that `function` may be called with these arguments (`# Safety` above).
    unsafe { imp::probe(function, frame.cast(), ins) }
}

/// Runs a task that a handler scheduled.
///
/// # Safety
/// Same requirements as for a call of the task.
pub(crate) unsafe fn task(task: abi::Task, data: *mut c_void) -> *mut Error {
    // SAFETY: the caller guarantees that the task may be called with `data` (`# Safety` above).
    unsafe { imp::task(task, data) }
}

/// Destroys an object.
///
/// # Safety
/// Same requirements as for a call of the deleter.
pub(crate) unsafe fn deleter(deleter: Deleter, object: *mut c_void) -> *mut Error {
    // SAFETY: the caller guarantees that the deleter may be called with `object` (`# Safety` above).
    unsafe { imp::task(deleter, object) }
}

/// A function by which a library describes itself: its ops, its lowerings, or a type.
type Describe = unsafe extern "C" fn() -> *const c_void;

/// Asks a library for a description of itself.
///
/// # Errors
/// The exception that the function throws.
///
/// # Safety
/// The function may be called, and returns a pointer to a `T`.
pub(crate) unsafe fn describe<T>(function: unsafe extern "C" fn() -> *const T) -> Result<*const T, Failure> {
    // SAFETY: the same signature, except for the type behind the pointer.
    let function = unsafe { std::mem::transmute::<unsafe extern "C" fn() -> *const T, Describe>(function) };
    let mut description = std::ptr::null();
    // SAFETY: the caller guarantees that the function may be called (`# Safety` above), and `description` is
    // writable.
    let error = unsafe { imp::description(function, &raw mut description) };
    take_error(error).map_or(Ok(description.cast()), Err)
}

#[cfg(feature = "cxx-exceptions")]
mod imp {
    use std::ffi::{CStr, c_char, c_int, c_void};

    use farcall_ffi::abi::{self, Error, ErrorCode, HandlerFn, Task};
    use farcall_ffi::unwind::catch;

    use super::super::error::{Failure, new_error, take_error};
    use super::super::exit;
    use super::{CallStatus, Describe, Original, Probed, Unified, WithStatus};

    type Thrown = unsafe extern "C" fn(*const c_char, *const c_char) -> *mut Error;

    unsafe extern "C" {
        fn farcall_shim_open(
            path: *const c_char,
            flags: c_int,
            handle: *mut *mut c_void,
            thrown: Thrown,
        ) -> *mut Error;
        fn farcall_shim_describe(
            function: Describe,
            description: *mut *const c_void,
            thrown: Thrown,
        ) -> *mut Error;
        fn farcall_shim_handler(handler: HandlerFn, frame: *mut abi::CallFrame, thrown: Thrown)
        -> *mut Error;
        fn farcall_shim_probe(
            function: Probed,
            frame: *mut c_void,
            ins: *const *const c_void,
            thrown: Thrown,
        ) -> *mut Error;
        fn farcall_shim_task(task: Task, data: *mut c_void, thrown: Thrown) -> *mut Error;
        fn farcall_shim_untyped(
            function: Original,
            out: *mut c_void,
            ins: *const *const c_void,
            thrown: Thrown,
        ) -> *mut Error;
        fn farcall_shim_untyped_status(
            function: WithStatus,
            out: *mut c_void,
            ins: *const *const c_void,
            status: *mut c_void,
            thrown: Thrown,
        ) -> *mut Error;
        fn farcall_shim_untyped_opaque(
            function: Unified,
            out: *mut c_void,
            ins: *const *const c_void,
            opaque: *const c_char,
            opaque_len: usize,
            status: *mut c_void,
            thrown: Thrown,
        ) -> *mut Error;
    }

    /// Converts an exception to an error.
    ///
    /// # Safety
    /// Each text is null or ends with a null byte.
    unsafe extern "C" fn thrown(kind: *const c_char, words: *const c_char) -> *mut Error {
        let make = || {
            // SAFETY: the caller guarantees valid texts (`# Safety` above).
            let message = unsafe { describe(kind, words) };
            new_error(Failure::new(ErrorCode::INTERNAL, message))
        };
        // An invalid pointer stands for an error without message, because null would mean success.
        catch(make).unwrap_or_else(|_| std::ptr::without_provenance_mut(1))
    }

    /// Describes an exception.
    ///
    /// # Safety
    /// Same requirements as [`thrown`].
    unsafe fn describe(kind: *const c_char, words: *const c_char) -> String {
        let text = |text: *const c_char| {
            // SAFETY: the text is not null, so it ends with a null byte (`# Safety` above).
            (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) }.to_string_lossy())
        };
        match (text(kind), text(words)) {
            (Some(kind), Some(words)) => format!("C++ exception {kind}: {words}"),
            (Some(kind), None) => format!("C++ exception of type {kind}"),
            (None, _) => "an exception of another language or C++ runtime".into(),
        }
    }

    /// Opens a library. An exception of a static constructor is reported and ends the process, because the
    /// dynamic linker would block all other threads forever.
    ///
    /// # Safety
    /// The library's code is trusted: `dlopen` runs its static constructors.
    pub(crate) unsafe fn open(path: &CStr, flags: c_int) -> *mut c_void {
        let mut handle = std::ptr::null_mut();
        // SAFETY: the caller trusts the library's code (`# Safety` above).
        let error = unsafe { farcall_shim_open(path.as_ptr(), flags, &raw mut handle, thrown) };
        if let Some(failure) = take_error(error) {
            exit::ended(&failure.message);
        }
        handle
    }

    /// # Safety
    /// Same requirements as for a call of the handler.
    #[inline]
    pub(crate) unsafe fn handler(handler: HandlerFn, frame: *mut abi::CallFrame) -> *mut Error {
        // SAFETY: the caller guarantees the handler's contract (`# Safety` above).
        unsafe { farcall_shim_handler(handler, frame, thrown) }
    }

    /// # Safety
    /// The function may be called; `description` receives its result.
    pub(crate) unsafe fn description(function: Describe, description: *mut *const c_void) -> *mut Error {
        // SAFETY: the caller guarantees that the function may be called and that `description` is writable
        // (`# Safety` above).
        unsafe { farcall_shim_describe(function, description, thrown) }
    }

    /// # Safety
    /// Same requirements as [`super::probe`].
    pub(crate) unsafe fn probe(
        function: Probed,
        frame: *mut c_void,
        ins: *const *const c_void,
    ) -> *mut Error {
        // SAFETY: the caller guarantees the contract of [`super::probe`] (`# Safety` above).
        unsafe { farcall_shim_probe(function, frame, ins, thrown) }
    }

    /// # Safety
    /// Same requirements as for a call of the task.
    pub(crate) unsafe fn task(task: Task, data: *mut c_void) -> *mut Error {
        // SAFETY: the caller guarantees the task's contract (`# Safety` above).
        unsafe { farcall_shim_task(task, data, thrown) }
    }

    /// # Safety
    /// Same requirements as for a call of the function.
    pub(crate) unsafe fn original(
        function: Original,
        out: *mut c_void,
        ins: *const *const c_void,
    ) -> *mut Error {
        // SAFETY: the caller guarantees the function's contract (`# Safety` above).
        unsafe { farcall_shim_untyped(function, out, ins, thrown) }
    }

    /// # Safety
    /// Same requirements as for a call of the function.
    pub(crate) unsafe fn with_status(
        function: WithStatus,
        out: *mut c_void,
        ins: *const *const c_void,
        status: *mut CallStatus,
    ) -> *mut Error {
        // SAFETY: the caller guarantees the function's contract (`# Safety` above).
        unsafe { farcall_shim_untyped_status(function, out, ins, status.cast(), thrown) }
    }

    /// # Safety
    /// Same requirements as for a call of the function.
    pub(crate) unsafe fn unified(
        function: Unified,
        out: *mut c_void,
        ins: *const *const c_void,
        opaque: &[u8],
        status: *mut CallStatus,
    ) -> *mut Error {
        let (text, len) = (opaque.as_ptr().cast(), opaque.len());
        // SAFETY: the caller guarantees the function's contract (`# Safety` above), and `text` is valid for
        // `len` reads.
        unsafe { farcall_shim_untyped_opaque(function, out, ins, text, len, status.cast(), thrown) }
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn exceptions_with_and_without_details_are_errors() {
            let message = |kind: *const c_char, words: *const c_char| {
                // SAFETY: each text is null or ends with a null byte.
                let failure = take_error(unsafe { thrown(kind, words) }).unwrap();
                assert_eq!(failure.code, ErrorCode::INTERNAL);
                failure.message
            };
            let null = std::ptr::null();
            assert_eq!(message(c"T".as_ptr(), c"so".as_ptr()), "C++ exception T: so");
            assert_eq!(message(c"int".as_ptr(), null), "C++ exception of type int");
            assert_eq!(message(null, null), "an exception of another language or C++ runtime");
        }
    }
}

#[cfg(not(feature = "cxx-exceptions"))]
mod imp {
    use std::ffi::{CStr, c_int, c_void};
    use std::ptr::null_mut;

    use farcall_ffi::abi::{self, Error, ErrorCode, HandlerFn, Task};
    use farcall_ffi::unwind::catch;

    use super::super::error::{Failure, new_error};
    use super::{CallStatus, Describe, Original, Probed, Unified, WithStatus, c_char};

    /// # Safety
    /// The library's code is trusted: `dlopen` runs its static constructors.
    pub(crate) unsafe fn open(path: &CStr, flags: c_int) -> *mut c_void {
        // SAFETY: the caller trusts the library's code (`# Safety` above).
        unsafe { libc::dlopen(path.as_ptr(), flags) }
    }

    /// Runs code that may unwind, and converts a Rust panic to an error. Any other exception ends the process
    /// here.
    #[inline]
    fn contained(call: impl FnOnce() -> *mut Error) -> *mut Error {
        catch(call).unwrap_or_else(|_| panicked())
    }

    #[cold]
    fn panicked() -> *mut Error {
        let failure = Failure::new(ErrorCode::INTERNAL, "the handler panicked");
        // An invalid pointer stands for an error without message, because null would mean success.
        catch(|| new_error(failure)).unwrap_or_else(|_| std::ptr::without_provenance_mut(1))
    }

    /// # Safety
    /// Same requirements as for a call of the handler.
    #[inline]
    pub(crate) unsafe fn handler(handler: HandlerFn, frame: *mut abi::CallFrame) -> *mut Error {
        type Unwinding = unsafe extern "C-unwind" fn(*mut abi::CallFrame) -> *mut Error;
        // SAFETY: the same function, but it may unwind.
        let handler = unsafe { std::mem::transmute::<HandlerFn, Unwinding>(handler) };
        // SAFETY: the caller guarantees the handler's contract (`# Safety` above).
        contained(|| unsafe { handler(frame) })
    }

    /// # Safety
    /// The function may be called; `description` receives its result.
    pub(super) unsafe fn description(function: Describe, description: *mut *const c_void) -> *mut Error {
        type Unwinding = unsafe extern "C-unwind" fn() -> *const c_void;
        // SAFETY: the same function, but it may unwind.
        let function = unsafe { std::mem::transmute::<Describe, Unwinding>(function) };
        contained(|| {
            // SAFETY: the caller guarantees that the function may be called and that `description` is
            // writable (`# Safety` above).
            unsafe { *description = function() };
            null_mut()
        })
    }

    /// # Safety
    /// Same requirements as [`super::probe`].
    pub(super) unsafe fn probe(
        function: Probed,
        frame: *mut c_void,
        ins: *const *const c_void,
    ) -> *mut Error {
        type Unwinding = unsafe extern "C-unwind" fn(*mut c_void, *const *const c_void) -> *mut Error;
        // SAFETY: the same function, but it may unwind.
        let function = unsafe { std::mem::transmute::<Probed, Unwinding>(function) };
        // SAFETY: the caller guarantees the contract of [`super::probe`] (`# Safety` above).
        contained(|| unsafe { function(frame, ins) })
    }

    /// # Safety
    /// Same requirements as for a call of the task.
    pub(super) unsafe fn task(task: Task, data: *mut c_void) -> *mut Error {
        // SAFETY: the same function, but it may unwind.
        let task = unsafe { std::mem::transmute::<Task, unsafe extern "C-unwind" fn(*mut c_void)>(task) };
        contained(|| {
            // SAFETY: the caller guarantees the task's contract (`# Safety` above).
            unsafe { task(data) };
            null_mut()
        })
    }

    /// # Safety
    /// Same requirements as for a call of the function.
    pub(crate) unsafe fn original(
        function: Original,
        out: *mut c_void,
        ins: *const *const c_void,
    ) -> *mut Error {
        type Unwinding = unsafe extern "C-unwind" fn(*mut c_void, *const *const c_void);
        // SAFETY: the same function, but it may unwind.
        let function = unsafe { std::mem::transmute::<Original, Unwinding>(function) };
        contained(|| {
            // SAFETY: the caller guarantees the function's contract (`# Safety` above).
            unsafe { function(out, ins) };
            null_mut()
        })
    }

    /// # Safety
    /// Same requirements as for a call of the function.
    pub(crate) unsafe fn with_status(
        function: WithStatus,
        out: *mut c_void,
        ins: *const *const c_void,
        status: *mut CallStatus,
    ) -> *mut Error {
        type Unwinding = unsafe extern "C-unwind" fn(*mut c_void, *const *const c_void, *mut CallStatus);
        // SAFETY: the same function, but it may unwind.
        let function = unsafe { std::mem::transmute::<WithStatus, Unwinding>(function) };
        contained(|| {
            // SAFETY: the caller guarantees the function's contract (`# Safety` above).
            unsafe { function(out, ins, status) };
            null_mut()
        })
    }

    /// # Safety
    /// Same requirements as for a call of the function.
    pub(crate) unsafe fn unified(
        function: Unified,
        out: *mut c_void,
        ins: *const *const c_void,
        opaque: &[u8],
        status: *mut CallStatus,
    ) -> *mut Error {
        type Unwinding = unsafe extern "C-unwind" fn(
            *mut c_void,
            *const *const c_void,
            *const c_char,
            usize,
            *mut CallStatus,
        );
        // SAFETY: the same function, but it may unwind.
        let function = unsafe { std::mem::transmute::<Unified, Unwinding>(function) };
        contained(|| {
            // SAFETY: the caller guarantees the function's contract (`# Safety` above), and `opaque` is valid
            // for `opaque.len()` reads.
            unsafe { function(out, ins, opaque.as_ptr().cast(), opaque.len(), status) };
            null_mut()
        })
    }
}
