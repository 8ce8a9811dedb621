//! The watch for foreign code that ends the process: [`ExitWatch`].

use std::ffi::c_int;
use std::sync::Once;

use super::{crash, exit};

unsafe extern "C" {
    fn at_quick_exit(function: extern "C" fn()) -> c_int;
}

/// Watches for the end of the process. While an `ExitWatch` lives, a process that foreign code ends reports
/// the cause on the standard error, and its exit code is not 0. The causes are calls of `exit` (and of
/// `_exit`, with [`watch_exits!`](crate::watch_exits)), crashes, and ends of threads. The watch is intended
/// for programs, which drop it when they are done. A library in another program leaves exits alone, and uses
/// [`report_crashes`](crash::report_crashes).
#[derive(Debug)]
pub struct ExitWatch(());

impl ExitWatch {
    /// Starts watching. The calling thread is regarded as the thread that runs programs.
    pub fn new() -> ExitWatch {
        static REGISTERED: Once = Once::new();
        REGISTERED.call_once(|| {
            // SAFETY: the functions belong to this program, which is never unloaded. If the list is full,
            // exits are not reported.
            unsafe {
                libc::atexit(at_exit);
                at_quick_exit(at_quick_exit_of_process);
            }
            crash::install(false);
        });
        exit::begin_watch();
        ExitWatch(())
    }
}

impl Default for ExitWatch {
    fn default() -> ExitWatch {
        ExitWatch::new()
    }
}

impl Drop for ExitWatch {
    fn drop(&mut self) {
        exit::end_watch();
    }
}

/// Called by `exit`, on the thread that called `exit`.
extern "C" fn at_exit() {
    exit::ends_by(b"`exit`");
}

extern "C" fn at_quick_exit_of_process() {
    exit::ends_by(b"`quick_exit`");
}

/// Reports libraries that call `_exit` or `_Exit` while an [`ExitWatch`] lives. Belongs in the root of a
/// program whose build script exports both symbols (`-Wl,--export-dynamic-symbol=_exit`).
#[macro_export]
macro_rules! watch_exits {
    () => {
        const _: () = {
            #[unsafe(no_mangle)]
            pub extern "C" fn _exit(code: ::std::ffi::c_int) -> ! {
                $crate::custom_call::exit_at_once(code)
            }

            #[unsafe(no_mangle)]
            pub extern "C" fn _Exit(code: ::std::ffi::c_int) -> ! {
                $crate::custom_call::exit_at_once(code)
            }
        };
    };
}

/// Ends the process as `_exit` does. While an [`ExitWatch`] lives, only foreign code calls this function.
#[doc(hidden)]
pub fn exit_at_once(code: c_int) -> ! {
    exit::ends_by(b"`_exit`");
    exit::leave(code)
}
