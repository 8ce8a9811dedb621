//! The host's function table, and the arguments of each function.
//!
//! Unless noted otherwise, a function takes one pointer to its arguments, and returns null or an error.

use std::ffi::{c_char, c_void};

use super::layout::{abi_struct, api_struct};
use super::{
    ApiVersion, Attrs, ByteSpan, Error, ErrorCode, Extension, ExtensionBase, Future, HandlerRegisterArgs,
    InternalApi, InvokeContext, Stage, Task, TypeId, TypeInfo,
};

api_struct! {
    /// Arguments of [`Api::error_create`].
    ErrorCreateArgs = "XLA_FFI_Error_Create_Args" {
        /// Null-terminated text.
        message: *const c_char,
        /// Error code.
        errc: ErrorCode,
    } ends at errc: ErrorCode;
}

api_struct! {
    /// Arguments of [`Api::error_get_details`].
    ErrorGetDetailsArgs = "XLA_FFI_Error_GetDetails_Args" since 5 {
        /// Error to read.
        error: *mut Error,
        /// Out: null-terminated text, valid as long as the error.
        message: *const c_char,
        /// Out: error code.
        errc: ErrorCode,
    } ends at errc: ErrorCode;
}

api_struct! {
    /// Arguments of [`Api::error_get_details`], up to 0.4.
    ErrorGetMessageArgs = "XLA_FFI_Error_GetMessage_Args" until 4 {
        /// Error to read.
        error: *mut Error,
        /// Out: null-terminated text, valid as long as the error.
        message: *const c_char,
    } ends at message: *const c_char;
}

api_struct! {
    /// Arguments of [`Api::error_destroy`].
    ErrorDestroyArgs = "XLA_FFI_Error_Destroy_Args" {
        /// Error to free.
        error: *mut Error,
    } ends at error: *mut Error;
}

api_struct! {
    /// Arguments of [`Api::stream_get`].
    StreamGetArgs = "XLA_FFI_Stream_Get_Args" {
        /// The context of the call frame.
        ctx: *mut InvokeContext,
        /// Out: the stream.
        stream: *mut c_void,
    } ends at stream: *mut c_void;
}

api_struct! {
    /// Arguments of [`Api::type_register`].
    TypeRegisterArgs = "XLA_FFI_Type_Register_Args" {
        /// Name of the type.
        name: ByteSpan,
        /// In and out: number of the type.
        type_id: *mut TypeId,
        /// Description of the type. The header's `STRUCT_SIZE` does not cover this member, but hosts read it.
        type_info: *const TypeInfo,
    } ends at type_id: *mut TypeId;
}

api_struct! {
    /// Arguments of [`Api::invoke_context_get`].
    InvokeContextGetArgs = "XLA_FFI_ExecutionContext_Get_Args" until 4 {
        /// The context of the call frame.
        ctx: *mut InvokeContext,
        /// Requested type.
        type_id: *mut TypeId,
        /// Out: the user data.
        data: *mut c_void,
    } ends at data: *mut c_void;
}

api_struct! {
    /// Arguments of [`Api::state_set`].
    StateSetArgs = "XLA_FFI_State_Set_Args" since 3 {
        /// The context of the call frame.
        ctx: *mut InvokeContext,
        /// Stage that makes the state.
        stage: Stage,
        /// Type of the state.
        type_id: *mut TypeId,
        /// The state, of which the host takes ownership.
        state: *mut c_void,
    } ends at state: *mut c_void;
}

api_struct! {
    /// Arguments of [`Api::state_set`], up to 0.2.
    StateSetArgsV2 = "XLA_FFI_State_Set_Args" until 2 {
        /// The context of the call frame.
        ctx: *mut InvokeContext,
        /// Type of the state.
        type_id: *mut TypeId,
        /// The state, of which the host takes ownership.
        state: *mut c_void,
    } ends at state: *mut c_void;
}

api_struct! {
    /// Arguments of [`Api::state_get`].
    StateGetArgs = "XLA_FFI_State_Get_Args" since 3 {
        /// The context of the call frame.
        ctx: *mut InvokeContext,
        /// Stage that made the state.
        stage: Stage,
        /// Type of the state.
        type_id: *mut TypeId,
        /// Out: the state.
        state: *mut c_void,
    } ends at state: *mut c_void;
}

api_struct! {
    /// Arguments of [`Api::state_get`], up to 0.2.
    StateGetArgsV2 = "XLA_FFI_State_Get_Args" until 2 {
        /// The context of the call frame.
        ctx: *mut InvokeContext,
        /// Type of the state.
        type_id: *mut TypeId,
        /// Out: the state.
        state: *mut c_void,
    } ends at state: *mut c_void;
}

api_struct! {
    /// Arguments of [`Api::device_memory_allocate`].
    DeviceMemoryAllocateArgs = "XLA_FFI_DeviceMemory_Allocate_Args" {
        /// The context of the call frame.
        ctx: *mut InvokeContext,
        /// Size in bytes.
        size: usize,
        /// Alignment in bytes, a power of two.
        alignment: usize,
        /// Out: the memory.
        data: *mut c_void,
    } ends at data: *mut c_void;
}

api_struct! {
    /// Arguments of [`Api::device_memory_free`].
    DeviceMemoryFreeArgs = "XLA_FFI_DeviceMemory_Free_Args" {
        /// The context of the call frame.
        ctx: *mut InvokeContext,
        /// Size in bytes, as allocated.
        size: usize,
        /// Memory to free.
        data: *mut c_void,
    } ends at data: *mut c_void;
}

api_struct! {
    /// Arguments of [`Api::thread_pool_schedule`].
    ThreadPoolScheduleArgs = "XLA_FFI_ThreadPool_Schedule_Args" {
        /// The context of the call frame.
        ctx: *mut InvokeContext,
        /// Function to call.
        task: Option<Task>,
        /// Argument of the function.
        data: *mut c_void,
    } ends at data: *mut c_void;
}

api_struct! {
    /// Arguments of [`Api::thread_pool_num_threads`].
    ThreadPoolNumThreadsArgs = "XLA_FFI_ThreadPool_NumThreads_Args" {
        /// The context of the call frame.
        ctx: *mut InvokeContext,
        /// Pointer to the number, which the function writes.
        num_threads: *mut i64,
    } ends at num_threads: *mut i64;
}

api_struct! {
    /// Arguments of [`Api::future_create`].
    FutureCreateArgs = "XLA_FFI_Future_Create_Args" {
        /// Out: the future. The header's `STRUCT_SIZE` does not cover this member.
        future: *mut Future,
    } ends at extension_start: *mut ExtensionBase;
}

api_struct! {
    /// Arguments of [`Api::future_set_available`].
    FutureSetAvailableArgs = "XLA_FFI_Future_SetAvailable_Args" {
        /// Future to complete.
        future: *mut Future,
    } ends at future: *mut Future;
}

api_struct! {
    /// Arguments of [`Api::future_set_error`].
    FutureSetErrorArgs = "XLA_FFI_Future_SetError_Args" {
        /// Future to complete.
        future: *mut Future,
        /// Reason of the failure.
        error: *mut Error,
    } ends at error: *mut Error;
}

api_struct! {
    /// Arguments of [`Api::run_id_get`].
    RunIdGetArgs = "XLA_FFI_RunId_Get_Args" {
        /// The context of the call frame.
        ctx: *mut InvokeContext,
        /// Out: number of the run.
        run_id: i64,
    } ends at run_id: i64;
}

api_struct! {
    /// Arguments of [`Api::device_ordinal_get`].
    DeviceOrdinalGetArgs = "XLA_FFI_DeviceOrdinal_Get_Args" {
        /// The context of the call frame.
        ctx: *mut InvokeContext,
        /// Out: number of the device.
        device_ordinal: i32,
    } ends at device_ordinal: i32;
}

api_struct! {
    /// Arguments of [`Api::invoke_context_find_extension`] (since 0.5).
    InvokeContextFindExtensionArgs = "XLA_FFI_InvokeContext_FindExtension_Args" since 5 {
        /// The context of the call frame.
        ctx: *mut InvokeContext,
        /// Number of the extension.
        extension_type: i64,
        /// Out: the extension; null if the context has no such extension.
        extension: *const Extension,
    } ends at extension: *const Extension;
}

api_struct! {
    /// Arguments of [`Api::custom_options_get`] (since 0.5).
    CustomOptionsGetArgs = "XLA_FFI_CustomOptions_Get_Args" since 5 {
        /// The context of the call frame.
        ctx: *mut InvokeContext,
        /// Out: the options, a dictionary.
        attrs: *const Attrs,
    } ends at attrs: *const Attrs;
}

abi_struct! {
    /// The host's functions.
    ///
    /// A table is as long as its `struct_size` says. Read it through a pointer, and only the members that
    /// [`Api::offers`] accepts. Never make a reference to the whole struct unless the host is known to
    /// implement version 0.5.
    Api = "XLA_FFI_Api" {
        /// Size of this host's table.
        struct_size: usize,
        /// Extensions, or null.
        extension_start: *mut ExtensionBase,
        /// Version of the interface that the host implements.
        api_version: ApiVersion,
        /// Private to the host.
        internal_api: *const InternalApi,
        /// Makes an error; null only if the host is out of memory.
        error_create: Option<unsafe extern "C" fn(args: *mut ErrorCreateArgs) -> *mut Error>,
        /// Reads an error. Up to 0.4, this is `Error_GetMessage`, whose arguments end at `message`: check the
        /// version before reading `errc`.
        error_get_details: Option<unsafe extern "C" fn(args: *mut ErrorGetDetailsArgs)>,
        /// Frees an error.
        error_destroy: Option<unsafe extern "C" fn(args: *mut ErrorDestroyArgs)>,
        /// Registers a target. Hosts up to 0.4 take [`HandlerRegisterArgsV4`](super::HandlerRegisterArgsV4).
        handler_register: Option<unsafe extern "C" fn(args: *mut HandlerRegisterArgs) -> *mut Error>,
        /// Returns the platform's stream, such as a `CUstream`.
        stream_get: Option<unsafe extern "C" fn(args: *mut StreamGetArgs) -> *mut Error>,
        /// Registers a user type. Replaces an id of [`TypeId::UNKNOWN`] with a new one, and checks any other
        /// id.
        type_register: Option<unsafe extern "C" fn(args: *mut TypeRegisterArgs) -> *mut Error>,
        /// Returns user data of a type.
        invoke_context_get: Option<unsafe extern "C" fn(args: *mut InvokeContextGetArgs) -> *mut Error>,
        /// Gives the host this call site's state. Hosts up to 0.2 take [`StateSetArgsV2`].
        state_set: Option<unsafe extern "C" fn(args: *mut StateSetArgs) -> *mut Error>,
        /// Returns this call site's state. Hosts up to 0.2 take [`StateGetArgsV2`].
        state_get: Option<unsafe extern "C" fn(args: *mut StateGetArgs) -> *mut Error>,
        /// Allocates scratch memory on the device.
        device_memory_allocate: Option<unsafe extern "C" fn(args: *mut DeviceMemoryAllocateArgs) -> *mut Error>,
        /// Frees scratch memory.
        device_memory_free: Option<unsafe extern "C" fn(args: *mut DeviceMemoryFreeArgs) -> *mut Error>,
        /// Runs a task on the host's pool, or immediately on this thread.
        thread_pool_schedule: Option<unsafe extern "C" fn(args: *mut ThreadPoolScheduleArgs) -> *mut Error>,
        /// Returns the number of threads of the host's pool.
        thread_pool_num_threads: Option<unsafe extern "C" fn(args: *mut ThreadPoolNumThreadsArgs) -> *mut Error>,
        /// Makes a future that is not complete.
        future_create: Option<unsafe extern "C" fn(args: *mut FutureCreateArgs) -> *mut Error>,
        /// Completes a future.
        future_set_available: Option<unsafe extern "C" fn(args: *mut FutureSetAvailableArgs) -> *mut Error>,
        /// Completes a future with an error, of which the host takes ownership.
        future_set_error: Option<unsafe extern "C" fn(args: *mut FutureSetErrorArgs) -> *mut Error>,
        /// Returns the number of the logical run that this call is part of.
        run_id_get: Option<unsafe extern "C" fn(args: *mut RunIdGetArgs) -> *mut Error>,
        /// Returns the number of the device that the call runs on.
        device_ordinal_get: Option<unsafe extern "C" fn(args: *mut DeviceOrdinalGetArgs) -> *mut Error>,
        /// Returns an extension of the invoke context (since 0.5).
        invoke_context_find_extension: Option<unsafe extern "C" fn(args: *mut InvokeContextFindExtensionArgs) -> *mut Error>,
        /// Returns options of this run, a dictionary (since 0.5).
        custom_options_get: Option<unsafe extern "C" fn(args: *mut CustomOptionsGetArgs) -> *mut Error>,
    } ends at custom_options_get: Option<unsafe extern "C" fn(args: *mut CustomOptionsGetArgs) -> *mut Error>;
}

impl Api {
    /// `STRUCT_SIZE` of the table from 0.2 to 0.4; the two functions after it were added in 0.5.
    pub const STRUCT_SIZE_V3: usize = std::mem::offset_of!(Api, invoke_context_find_extension);

    /// Returns true if a table of `struct_size` bytes has the function (or another member of the size of a
    /// pointer) at `offset`.
    ///
    /// ```
    /// use farcall_ffi::abi::Api;
    /// assert!(!Api::offers(Api::STRUCT_SIZE_V3, std::mem::offset_of!(Api, custom_options_get)));
    /// ```
    pub const fn offers(struct_size: usize, offset: usize) -> bool {
        offset + size_of::<*const c_void>() <= struct_size
    }
}
