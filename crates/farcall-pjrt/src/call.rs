//! Entries of the function table: from C arguments to Rust functions.

use std::ffi::c_char;

use farcall::ffi::unwind::catch;
use farcall_pjrt_abi::{ApiEntry, ErrorCode, ErrorHandle, MemoryLayout, Struct};

use crate::fork;
use crate::object::{self, Object};
use crate::status::{Outcome, Status};

/// A function of the plugin, as a method of the type of its arguments.
pub(crate) trait Call: Struct {
    /// True if the function needs the plugin's threads, which a forked process lacks. (Other functions must
    /// work there: hosts do not expect that a property of an array is an error.)
    const NEEDS_THREADS: bool = false;

    /// Calls the function.
    fn call(args: &mut Arguments<Self>) -> Outcome;
}

/// Arguments of a call: a copy of the members that the caller provides. Members beyond the caller's
/// `struct_size` are zero.
///
/// The pointers among the members follow the contract of the interface: only [`entry`] makes this type.
/// Methods take a member's value through a function of the arguments, so that no other pointer is read.
pub(crate) struct Arguments<A> {
    /// The members. Writes to output members reach the caller.
    pub(crate) members: A,
}

/// Maximum size of a struct. A larger `struct_size` is taken for uninitialized memory.
const MAX_STRUCT_BYTES: usize = 1 << 16;

/// Entry of a function in the table.
pub(crate) const fn entry<A: Call + Copy>() -> ApiEntry<A> {
    enter::<A>
}

/// Calls a function with a copy of the caller's arguments, and copies output members back.
unsafe extern "C" fn enter<A: Call + Copy>(args: *mut A) -> *mut ErrorHandle {
    // SAFETY: the caller passes null or arguments of this function, by the contract of the interface.
    let outcome = unsafe {
        with(args, |args| {
            if A::NEEDS_THREADS && fork::is_forked() {
                return Err(fork::error().in_call::<A>());
            }
            A::call(args)
        })
    };
    Status::handle(outcome)
}

/// Calls a function with a copy of the caller's arguments, and copies output members back.
///
/// # Safety
/// `args` is null, or points to a struct whose first `struct_size` bytes follow the interface's contract for
/// the arguments `A`.
pub(crate) unsafe fn with<A: Struct>(
    args: *mut A,
    call: impl FnOnce(&mut Arguments<A>) -> Outcome,
) -> Outcome {
    if args.is_null() {
        return Err(Status::invalid(format!("{}: the arguments are null", A::NAME)));
    }
    if !args.is_aligned() {
        return Err(Status::invalid(format!("{}: the arguments are not aligned", A::NAME)));
    }
    // SAFETY: all arguments begin with their size.
    let given = unsafe { args.cast::<usize>().read() };
    if !(size_of::<usize>()..=MAX_STRUCT_BYTES).contains(&given) {
        let message =
            format!("{}: `struct_size` is {given}, which is not the size of its arguments", A::NAME);
        return Err(Status::invalid(message));
    }
    let bytes = A::complete_bytes(given);
    // SAFETY: all bits zero is a valid value of the struct (see `Struct`).
    let mut members: A = unsafe { std::mem::zeroed() };
    // SAFETY: the caller's struct has at least `bytes` bytes, and so has the copy.
    unsafe { std::ptr::copy_nonoverlapping(args.cast::<u8>(), (&raw mut members).cast::<u8>(), bytes) };
    let mut arguments = Arguments { members };
    let outcome = catch(|| call(&mut arguments)).unwrap_or_else(|panic| {
        let message = panic.message().unwrap_or("no message").to_owned();
        Err(Status::new(ErrorCode::INTERNAL, format!("{}: a fault in farcall: {message}", A::NAME)))
    });
    // SAFETY: the caller's struct has at least `bytes` bytes. Only output members differ from its own.
    unsafe { std::ptr::copy_nonoverlapping((&raw const arguments.members).cast::<u8>(), args.cast(), bytes) };
    outcome
}

impl<A: Struct> Arguments<A> {
    /// Returns the object of a handle.
    ///
    /// # Errors
    /// If the handle is null or, in debug builds, freed or of another kind.
    pub(crate) fn object<'a, T: Object>(&self, name: &str, member: fn(&A) -> *mut T::Abi) -> Outcome<&'a T> {
        // SAFETY: a handle among the arguments is null, or live during the call and of the member's type.
        unsafe { object::object(name, member(&self.members)) }.map_err(|e| e.in_call::<A>())
    }

    /// Returns the object of a handle that may be null.
    pub(crate) fn optional<'a, T: Object>(
        &self,
        name: &str,
        member: fn(&A) -> *mut T::Abi,
    ) -> Outcome<Option<&'a T>> {
        if member(&self.members).is_null() { Ok(None) } else { self.object(name, member).map(Some) }
    }

    /// Takes back the object of a handle that the caller frees; `None` for null.
    pub(crate) fn take<T: Object>(
        &self,
        name: &str,
        member: fn(&A) -> *mut T::Abi,
    ) -> Outcome<Option<Box<T>>> {
        if member(&self.members).is_null() {
            return Ok(None);
        }
        // SAFETY: the caller owns the handle and gives it up.
        unsafe { object::take(name, member(&self.members)) }.map(Some).map_err(|e| e.in_call::<A>())
    }

    /// Returns an array: a pointer and the number of elements.
    ///
    /// # Errors
    /// If the pointer is null although there are elements, or is not aligned.
    pub(crate) fn slice<'a, T>(&self, name: &str, member: fn(&A) -> (*const T, usize)) -> Outcome<&'a [T]> {
        let (data, len) = member(&self.members);
        // SAFETY: an array among the arguments has the elements that its count states, during the call.
        unsafe { slice(name, data, len) }.map_err(|e| e.in_call::<A>())
    }

    /// Returns text. Bytes that are not UTF-8 are replaced.
    pub(crate) fn text(&self, name: &str, member: fn(&A) -> (*const c_char, usize)) -> Outcome<String> {
        let (data, len) = member(&self.members);
        // SAFETY: text among the arguments has the bytes that its size states, during the call.
        let bytes = unsafe { slice(name, data.cast::<u8>(), len) }.map_err(|e| e.in_call::<A>())?;
        Ok(String::from_utf8_lossy(bytes).into_owned())
    }

    /// Returns a layout that the arguments point to; `None` for null.
    pub(crate) fn layout(&self, member: fn(&A) -> *const MemoryLayout) -> Outcome<Option<MemoryLayout>> {
        // SAFETY: a pointer among the arguments is null or valid during the call.
        unsafe { read_layout(member(&self.members)) }.map_err(|e| e.in_call::<A>())
    }

    /// Returns a struct that the arguments point to; `None` for null. Members beyond its own size are zero.
    ///
    /// # Errors
    /// If the struct states an impossible size.
    pub(crate) fn nested<T: Struct>(&self, member: fn(&A) -> *const T) -> Outcome<Option<T>> {
        // SAFETY: a pointer among the arguments is null or valid during the call.
        unsafe { read(member(&self.members)) }.map_err(|e| e.in_call::<A>())
    }
}

/// Reads a layout; `None` for null. jaxlib does not set the size of a layout, whose members have been the same
/// in all versions.
///
/// # Safety
/// The pointer is null, or points to a layout.
pub(crate) unsafe fn read_layout(from: *const MemoryLayout) -> Outcome<Option<MemoryLayout>> {
    if from.is_null() {
        return Ok(None);
    }
    if !from.is_aligned() {
        return Err(Status::invalid("a layout is not aligned"));
    }
    // SAFETY: the pointer is not null and points to a layout (`# Safety` above).
    Ok(Some(unsafe { from.read() }))
}

impl Status {
    /// Returns the handle of an error, or null.
    pub(crate) fn handle(outcome: Outcome) -> *mut ErrorHandle {
        outcome.map_or_else(Status::into_handle, |()| std::ptr::null_mut())
    }

    /// Adds the name of the function to the message.
    fn in_call<A: Struct>(self) -> Status {
        Status { message: format!("{}: {}", A::NAME, self.message), ..self }
    }
}

/// Returns an array, which may be null if it is empty.
///
/// # Safety
/// The pointer is valid for reads of `len` elements for as long as `'a`, unless it is null or not aligned.
pub(crate) unsafe fn slice<'a, T>(name: &str, data: *const T, len: usize) -> Outcome<&'a [T]> {
    if len == 0 {
        return Ok(&[]);
    }
    if data.is_null() || !data.is_aligned() || len > isize::MAX as usize / size_of::<T>().max(1) {
        return Err(Status::invalid(format!("`{name}` is not a valid array of {len} elements")));
    }
    // SAFETY: the pointer is not null and aligned, and therefore valid (`# Safety` above).
    Ok(unsafe { std::slice::from_raw_parts(data, len) })
}

/// Reads a struct; `None` for null. Members beyond its own size are zero.
///
/// # Safety
/// The pointer is null, or valid for as many bytes as the first member states.
pub(crate) unsafe fn read<T: Struct>(from: *const T) -> Outcome<Option<T>> {
    if from.is_null() {
        return Ok(None);
    }
    if !from.is_aligned() {
        return Err(Status::invalid(format!("a {} is not aligned", T::NAME)));
    }
    // SAFETY: all structs begin with their size.
    let given = unsafe { from.cast::<usize>().read() };
    if !(size_of::<usize>()..=MAX_STRUCT_BYTES).contains(&given) {
        return Err(Status::invalid(format!("the `struct_size` of a {} is {given}", T::NAME)));
    }
    // SAFETY: all bits zero is a valid value of the struct (see `Struct`).
    let mut members: T = unsafe { std::mem::zeroed() };
    let bytes = T::complete_bytes(given);
    // SAFETY: the struct has at least `bytes` bytes, and so has the copy.
    unsafe { std::ptr::copy_nonoverlapping(from.cast::<u8>(), (&raw mut members).cast::<u8>(), bytes) };
    Ok(Some(members))
}
