//! Mirrors of XLA's headers `xla/ffi/api/record_c_api.h` and `collectives_c_api.h`, versions 0.2.
//!
//! A Rust name is the C name without `XLA_FFI_` and underscores. Enumerations are numbers, as in
//! [`farcall_ffi::abi`]. [`LAYOUTS`] lists every struct; a test compares it with the C headers.

use std::ffi::{c_char, c_void};

use farcall_ffi::abi::{Error, Extension, ExtensionBase, FieldLayout, StructLayout};

/// Number of the extension for recording.
pub const RECORD: i64 = 128;

/// Version of the extension for recording, major and minor.
pub const RECORD_VERSION: (i32, i32) = (0, 2);

/// Number of the extension for communicators.
pub const COLLECTIVES: i64 = 129;

/// Version of the extension for communicators, major and minor.
pub const COLLECTIVES_VERSION: (i32, i32) = (0, 2);

/// Declares opaque structs of a host.
macro_rules! opaque {
    ($($(#[$meta:meta])* $name:ident)*) => {$(
        $(#[$meta])*
        #[repr(C)]
        #[derive(Debug)]
        pub struct $name {
            _opaque: [u8; 0],
            _marker: std::marker::PhantomData<(*mut u8, std::marker::PhantomPinned)>,
        }
    )*};
}

opaque! {
    /// `XLA_FFI_RecordContext`.
    RecordContext
    /// `XLA_FFI_Command`: a node of the graph.
    Command
    /// `XLA_FFI_CollectivesState`.
    CollectivesState
    /// `XLA_FFI_Communicator`: an `ncclComm_t` on CUDA.
    Communicator
    /// `XLA_FFI_Window`: an `ncclWindow_t` on CUDA.
    Window
}

/// Declares structs and their layouts.
macro_rules! structs {
    ($(
        $(#[$meta:meta])*
        $name:ident = $c_name:literal {
            $($(#[$field_meta:meta])* $field:ident: $ty:ty,)*
        }
    )*) => {
        $(
            #[doc = concat!("`", $c_name, "`")]
            ///
            $(#[$meta])*
            #[repr(C)]
            #[derive(Debug)]
            pub struct $name {
                $($(#[$field_meta])* pub $field: $ty,)*
            }

            impl $name {
                /// End of the last member: the value of `struct_size`, if the struct has it.
                pub const STRUCT_SIZE: usize = {
                    let ends = [$(std::mem::offset_of!($name, $field) + size_of::<$ty>()),*];
                    ends[ends.len() - 1]
                };
            }
        )*

        /// Every struct of the mirrors.
        pub const LAYOUTS: &[StructLayout] = &[$(
            StructLayout {
                name: stringify!($name),
                c_name: $c_name,
                versions: (5, i32::MAX),
                size: size_of::<$name>(),
                align: align_of::<$name>(),
                struct_size: $name::STRUCT_SIZE,
                fields: &[$(FieldLayout {
                    name: stringify!($field),
                    offset: std::mem::offset_of!($name, $field),
                    size: size_of::<$ty>(),
                },)*],
            },
        )*];
    };
}

/// `XLA_FFI_RecordAction`: the commands of a call are recorded for the first time.
pub const CREATE: u32 = 0;
/// `XLA_FFI_RecordAction`: the arguments of earlier commands are replaced.
pub const UPDATE: u32 = 1;
/// `XLA_FFI_SourceFormat`: the kernel is a handle of the driver.
pub const FUNCTION_PTR: u32 = 2;
/// `XLA_FFI_KernelArgType`: an address on the device.
pub const DEVICE_PTR: u32 = 0;
/// `XLA_FFI_KernelArgType`: a value.
pub const HOST_VALUE: u32 = 1;

structs! {
    /// Three dimensions.
    Dim3 = "XLA_FFI_Dim3" {
        /// First dimension.
        x: i32,
        /// Second dimension.
        y: i32,
        /// Third dimension.
        z: i32,
    }

    /// Dimensions of a launch.
    RecordLaunchDims = "XLA_FFI_LaunchDims" {
        /// Number of blocks.
        grid: Dim3,
        /// Number of threads in a block.
        block: Dim3,
        /// Number of blocks in a cluster; zeros for none.
        cluster: Dim3,
    }

    /// An argument of a kernel.
    KernelArg = "XLA_FFI_KernelArg" {
        /// The address on the device, or the address of the value.
        arg_address: *const c_void,
        /// 0 for an address on the device; the size of the value in bytes.
        size: i64,
        /// [`DEVICE_PTR`] or [`HOST_VALUE`].
        r#type: u32,
    }

    /// The arguments of a kernel.
    KernelArgs = "XLA_FFI_KernelArgs" {
        /// `num_args` arguments.
        args: *const KernelArg,
        /// Number of arguments.
        num_args: i64,
    }

    /// Functions that record.
    RecordApi = "XLA_FFI_RecordApi" {
        /// Records a launch.
        create_launch: Option<unsafe extern "C" fn(
            ctx: *mut RecordContext,
            kernel_name: *const c_char,
            kernel_data: *const c_void,
            kernel_size: i64,
            format: u32,
            launch_dims: RecordLaunchDims,
            shared_mem_bytes: u32,
            uses_pdl: i32,
            args: *const KernelArgs,
            dependencies: *const *const Command,
            num_dependencies: u32,
            out_command: *mut *const Command,
        ) -> *mut Error>,
        /// Replaces the arguments of a launch.
        update_launch: Option<unsafe extern "C" fn(
            ctx: *mut RecordContext,
            command: *const Command,
            args: *const KernelArgs,
        ) -> *mut Error>,
        /// Records a copy on the device.
        create_memcpy_d2d: Option<unsafe extern "C" fn(
            ctx: *mut RecordContext,
            dst: *mut c_void,
            src: *mut c_void,
            size: i64,
            dependencies: *const *const Command,
            num_dependencies: u32,
            out_command: *mut *const Command,
        ) -> *mut Error>,
        /// Replaces the addresses of a copy.
        update_memcpy_d2d: Option<unsafe extern "C" fn(
            ctx: *mut RecordContext,
            command: *const Command,
            dst: *mut c_void,
            src: *mut c_void,
            size: i64,
        ) -> *mut Error>,
        /// Asks the host to record the stream of the execute function instead.
        request_stream_capture: Option<unsafe extern "C" fn(ctx: *mut RecordContext) -> *mut Error>,
        /// Records a command that does nothing, which others can depend on.
        create_empty_command: Option<unsafe extern "C" fn(
            ctx: *mut RecordContext,
            dependencies: *const *const Command,
            num_dependencies: u32,
            out_command: *mut *const Command,
        ) -> *mut Error>,
    }

    /// Data of a call that is recorded.
    RecordFrame = "XLA_FFI_RecordFrame" {
        /// First argument of the functions.
        record_ctx: *mut RecordContext,
        /// Functions that record.
        api: *const RecordApi,
        /// [`CREATE`] or [`UPDATE`].
        action: u32,
        /// The call's commands.
        commands: *mut *const Command,
        /// Number of commands.
        num_commands: *mut i64,
        /// Maximum number of commands.
        max_commands: i64,
    }

    /// The extension for recording.
    RecordExtension = "XLA_FFI_Record_Extension" {
        /// Header.
        extension_base: Extension,
        /// Data of the call.
        record_frame: *mut RecordFrame,
    }

    /// Numbers of the replicas or partitions of a group.
    ReplicaGroup = "XLA_FFI_ReplicaGroup" {
        /// `size` numbers.
        ids: *const i64,
        /// Number of members.
        size: usize,
    }

    /// Arguments of the function that requests a communicator.
    CommunicatorRequestArgs = "XLA_FFI_Communicator_Request_Args" {
        /// Size of this struct.
        struct_size: usize,
        /// Extensions, or null.
        extension_start: *mut ExtensionBase,
        /// Meaning of the numbers in the groups.
        group_mode: u32,
        /// `num_groups` groups.
        groups: *const ReplicaGroup,
        /// Number of groups.
        num_groups: usize,
        /// Distinguishes communicators of the same groups.
        communication_id: i64,
    }

    /// Arguments of the function that returns a communicator.
    CommunicatorGetArgs = "XLA_FFI_Communicator_Get_Args" {
        /// Size of this struct.
        struct_size: usize,
        /// Extensions, or null.
        extension_start: *mut ExtensionBase,
        /// Meaning of the numbers in the groups.
        group_mode: u32,
        /// `num_groups` groups.
        groups: *const ReplicaGroup,
        /// Number of groups.
        num_groups: usize,
        /// Distinguishes communicators of the same groups.
        communication_id: i64,
        /// Out: the communicator.
        communicator: *mut Communicator,
    }

    /// Memory that all members of a group can access.
    CollectiveMemoryRegion = "XLA_FFI_CollectiveMemoryRegion" {
        /// Address on the device.
        buffer: *const c_void,
        /// Size in bytes.
        byte_size: usize,
        /// Flags of the backend.
        flags: u64,
    }

    /// Arguments of the function that requests windows.
    WindowRequestArgs = "XLA_FFI_Window_Request_Args" {
        /// Size of this struct.
        struct_size: usize,
        /// Extensions, or null.
        extension_start: *mut ExtensionBase,
        /// Meaning of the numbers in the groups.
        group_mode: u32,
        /// `num_groups` groups.
        groups: *const ReplicaGroup,
        /// Number of groups.
        num_groups: usize,
        /// Distinguishes communicators of the same groups.
        communication_id: i64,
        /// `num_regions` regions.
        regions: *const CollectiveMemoryRegion,
        /// Number of regions.
        num_regions: usize,
    }

    /// Arguments of the function that returns a window.
    WindowGetArgs = "XLA_FFI_Window_Get_Args" {
        /// Size of this struct.
        struct_size: usize,
        /// Extensions, or null.
        extension_start: *mut ExtensionBase,
        /// Meaning of the numbers in the groups.
        group_mode: u32,
        /// `num_groups` groups.
        groups: *const ReplicaGroup,
        /// Number of groups.
        num_groups: usize,
        /// Distinguishes communicators of the same groups.
        communication_id: i64,
        /// Address on the device.
        buffer: *const c_void,
        /// Out: the window that contains the address.
        window: *mut Window,
        /// Out: offset of the address in the window, in bytes.
        window_offset: usize,
    }

    /// The extension for communicators.
    CollectivesExtension = "XLA_FFI_Collectives_Extension" {
        /// Header.
        extension_base: Extension,
        /// Data of the call.
        state: *mut CollectivesState,
        /// Requests a communicator, in the prepare stage.
        request_communicator: Option<unsafe extern "C" fn(
            extension: *const CollectivesExtension,
            args: *mut CommunicatorRequestArgs,
        ) -> *mut Error>,
        /// Returns a communicator, in the initialize and execute stages.
        get_communicator: Option<unsafe extern "C" fn(
            extension: *const CollectivesExtension,
            args: *mut CommunicatorGetArgs,
        ) -> *mut Error>,
        /// Requests windows, in the prepare stage.
        request_window: Option<unsafe extern "C" fn(
            extension: *const CollectivesExtension,
            args: *mut WindowRequestArgs,
        ) -> *mut Error>,
        /// Returns a window, in the initialize and execute stages.
        get_window: Option<unsafe extern "C" fn(
            extension: *const CollectivesExtension,
            args: *mut WindowGetArgs,
        ) -> *mut Error>,
    }
}
