//! The function table of a plugin: calls, errors and extensions.

use std::ffi::c_char;
use std::mem::offset_of;

use farcall_pjrt_abi::{
    Api, ApiEntry, ApiFunction, ErrorDestroy, ErrorGetCode, ErrorHandle, ErrorMessage, ExtensionBase,
    ExtensionType, function,
};

use super::error::{PjrtError, PluginErrorCode};

/// Maximum length of the list of extensions. A longer list is taken for a cycle.
const MAX_EXTENSIONS: usize = 1000;

/// The function table of a plugin.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Table {
    api: *const Api,
}

// SAFETY: the table is constant until the process ends, and its functions may be called on any thread.
unsafe impl Send for Table {}
// SAFETY: see above.
unsafe impl Sync for Table {}

impl Table {
    /// Wraps a table.
    ///
    /// # Safety
    /// `api` points to the table of a plugin, which stays valid until the process ends.
    pub(super) unsafe fn new(api: *const Api) -> Table {
        Table { api }
    }

    /// Calls a function of the plugin.
    ///
    /// # Errors
    /// If the plugin lacks the function, or the function returns an error.
    ///
    /// # Safety
    /// The members of the arguments follow the contract of the interface for this function.
    pub(super) unsafe fn call<A: ApiFunction>(self, args: &mut A) -> Result<(), PjrtError> {
        // SAFETY: the table is valid (`# Safety` of `new`).
        let entry = unsafe { function::<A>(self.api) }.ok_or(PjrtError::MissingFunction(A::NAME))?;
        // SAFETY: the caller guarantees the arguments (`# Safety` above).
        let error = unsafe { entry(args) };
        self.outcome(A::NAME, error)
    }

    /// Calls a function of an extension, like [`call`](Table::call).
    ///
    /// # Errors
    /// If the function returns an error.
    ///
    /// # Safety
    /// The function belongs to this plugin, and the members of the arguments follow its contract.
    pub(super) unsafe fn call_entry<A>(
        self,
        name: &'static str,
        entry: ApiEntry<A>,
        args: &mut A,
    ) -> Result<(), PjrtError> {
        // SAFETY: the caller guarantees the arguments (`# Safety` above).
        let error = unsafe { entry(args) };
        self.outcome(name, error)
    }

    /// Converts the error that a function of this plugin returned, and frees it.
    fn outcome(self, function_name: &'static str, error: *mut ErrorHandle) -> Result<(), PjrtError> {
        if error.is_null() {
            return Ok(());
        }
        let message = self.message(error).filter(|text| !text.is_empty());
        let message = message.unwrap_or_else(|| "the plugin's error has no message".to_owned());
        let code = self.code(error);
        self.free(error);
        Err(PjrtError::Plugin { function: function_name, code, message })
    }

    /// Returns the text of a live error of this plugin.
    fn message(self, error: *mut ErrorHandle) -> Option<String> {
        // SAFETY: the table is valid (`# Safety` of `new`).
        let entry = unsafe { function::<ErrorMessage>(self.api) }?;
        // SAFETY: this function of the table returns nothing. ApiFunction pointers have one size.
        let entry: unsafe extern "C" fn(*mut ErrorMessage) = unsafe { std::mem::transmute(entry) };
        let mut args = ErrorMessage { error, ..ApiFunction::zeroed() };
        // SAFETY: the error is live.
        unsafe { entry(&mut args) };
        // SAFETY: the text belongs to the error.
        unsafe { text(args.message, args.message_size) }
    }

    /// Returns the code of a live error of this plugin.
    fn code(self, error: *mut ErrorHandle) -> PluginErrorCode {
        let mut args = ErrorGetCode { error, ..ApiFunction::zeroed() };
        // SAFETY: the table is valid (`# Safety` of `new`).
        let Some(entry) = (unsafe { function::<ErrorGetCode>(self.api) }) else {
            return PluginErrorCode::UNKNOWN;
        };
        // SAFETY: the error is live.
        let second = unsafe { entry(&mut args) };
        if second.is_null() {
            return args.code;
        }
        self.free(second);
        PluginErrorCode::UNKNOWN
    }

    /// Frees an error of this plugin.
    fn free(self, error: *mut ErrorHandle) {
        // SAFETY: the table is valid (`# Safety` of `new`).
        let Some(entry) = (unsafe { function::<ErrorDestroy>(self.api) }) else { return };
        // SAFETY: this function of the table returns nothing. ApiFunction pointers have one size.
        let entry: unsafe extern "C" fn(*mut ErrorDestroy) = unsafe { std::mem::transmute(entry) };
        // SAFETY: the error is live, and not used again.
        unsafe { entry(&mut ErrorDestroy { error, ..ApiFunction::zeroed() }) };
    }

    /// Returns an extension of at least this many bytes.
    pub(super) fn extension(self, wanted: ExtensionType, min_bytes: usize) -> Option<*const ExtensionBase> {
        // SAFETY: the table is valid (`# Safety` of `new`), and its size was checked when it was loaded.
        let mut next = unsafe { (*self.api).extension_start }.cast_const();
        for _ in 0..MAX_EXTENSIONS {
            if next.is_null() || !next.is_aligned() {
                return None;
            }
            // SAFETY: the list consists of extensions, each of which begins with its size.
            let bytes = unsafe { (*next).struct_size };
            if bytes < size_of::<ExtensionBase>() {
                return None;
            }
            // SAFETY: the extension has the members of its base.
            let base = unsafe { *next };
            if base.r#type == wanted && bytes >= min_bytes {
                return Some(next);
            }
            next = base.next;
        }
        None
    }

    /// Returns the size of the struct with the version of the interface, and the version as (major, minor).
    /// `Err` describes a table that is too small.
    pub(super) fn version(self) -> Result<(usize, (i32, i32)), String> {
        // SAFETY: every table begins with its size (`# Safety` of `new`).
        let bytes = unsafe { (*self.api).struct_size };
        let min_bytes = offset_of!(Api, functions);
        if bytes < min_bytes {
            return Err(format!("has a function table of {bytes} bytes; it must have at least {min_bytes}"));
        }
        // SAFETY: the version lies within the size of the table.
        let version = unsafe { (*self.api).version };
        Ok((version.struct_size, (version.major_version, version.minor_version)))
    }
}

/// Copies a text of the plugin; `None` for null. Bytes that are not UTF-8 are replaced.
///
/// # Safety
/// The pointer is null or valid for reads of `len` bytes.
pub(super) unsafe fn text(data: *const c_char, len: usize) -> Option<String> {
    // SAFETY: the caller guarantees the text (`# Safety` above).
    unsafe { array(data.cast::<u8>(), len) }.map(|bytes| String::from_utf8_lossy(bytes).into_owned())
}

/// Returns an array of the plugin; `None` for null, unless it is empty.
///
/// # Safety
/// The pointer is null or valid for reads of `len` elements for as long as `'a`.
pub(super) unsafe fn array<'a, T>(data: *const T, len: usize) -> Option<&'a [T]> {
    if len == 0 {
        return Some(&[]);
    }
    if data.is_null() || !data.is_aligned() {
        return None;
    }
    // SAFETY: the caller guarantees the array (`# Safety` above).
    Some(unsafe { std::slice::from_raw_parts(data, len) })
}
