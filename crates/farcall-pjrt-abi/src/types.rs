//! Handles, structs and enumerations of the interface.

use std::ffi::{c_char, c_int, c_void};

macro_rules! handles {
    ($($(#[$meta:meta])* $name:ident = $c_name:literal;)*) => {$(
        #[doc = concat!("Opaque `", $c_name, "`.")]
        $(#[$meta])*
        #[repr(C)]
        #[derive(Debug)]
        pub struct $name {
            _opaque: [u8; 0],
            _marker: std::marker::PhantomData<(*mut u8, std::marker::PhantomPinned)>,
        }
    )*};
}

handles! {
    /// Owned by its receiver, who frees it with [`ErrorDestroy`](crate::ErrorDestroy).
    ErrorHandle = "PJRT_Error";
    EventHandle = "PJRT_Event";
    ClientHandle = "PJRT_Client";
    DeviceHandle = "PJRT_Device";
    DescriptionHandle = "PJRT_DeviceDescription";
    MemoryHandle = "PJRT_Memory";
    BufferHandle = "PJRT_Buffer";
    ExecutableHandle = "PJRT_Executable";
    LoadedExecutableHandle = "PJRT_LoadedExecutable";
    TopologyHandle = "PJRT_TopologyDescription";
    ExecuteContextHandle = "PJRT_ExecuteContext";
    TransferManagerHandle = "PJRT_AsyncHostToDeviceTransferManager";
    CopyStreamHandle = "PJRT_CopyToDeviceStream";
    LayoutHandle = "PJRT_Layouts_MemoryLayout";
}

macro_rules! open_enum {
    ($(#[$meta:meta])* $name:ident { $($variant:ident = $value:literal,)* }) => {
        $(#[$meta])*
        ///
        /// Either side of the interface may write unknown values, so this is not a Rust `enum`.
        #[repr(transparent)]
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub struct $name(pub u32);

        #[expect(missing_docs, reason = "the constants have the names of the C interface")]
        impl $name {
            $(pub const $variant: $name = $name($value);)*

            /// Returns the name of the constant, if the value is known.
            pub fn name(self) -> Option<&'static str> {
                match self.0 {
                    $($value => Some(stringify!($variant)),)*
                    _ => None,
                }
            }
        }
    };
}

open_enum! {
    /// Codes of errors, `PJRT_Error_Code`: those of `absl::Status`.
    ErrorCode {
        OK = 0,
        CANCELLED = 1,
        UNKNOWN = 2,
        INVALID_ARGUMENT = 3,
        DEADLINE_EXCEEDED = 4,
        NOT_FOUND = 5,
        ALREADY_EXISTS = 6,
        PERMISSION_DENIED = 7,
        RESOURCE_EXHAUSTED = 8,
        FAILED_PRECONDITION = 9,
        ABORTED = 10,
        OUT_OF_RANGE = 11,
        UNIMPLEMENTED = 12,
        INTERNAL = 13,
        UNAVAILABLE = 14,
        DATA_LOSS = 15,
        UNAUTHENTICATED = 16,
    }
}

open_enum! {
    /// Element types, `PJRT_Buffer_Type`.
    ElementType {
        INVALID = 0,
        PRED = 1,
        S8 = 2,
        S16 = 3,
        S32 = 4,
        S64 = 5,
        U8 = 6,
        U16 = 7,
        U32 = 8,
        U64 = 9,
        F16 = 10,
        F32 = 11,
        F64 = 12,
        BF16 = 13,
        C64 = 14,
        C128 = 15,
        F8E5M2 = 16,
        F8E4M3FN = 17,
        F8E4M3B11FNUZ = 18,
        F8E5M2FNUZ = 19,
        F8E4M3FNUZ = 20,
        S4 = 21,
        U4 = 22,
        TOKEN = 23,
        S2 = 24,
        U2 = 25,
        F8E4M3 = 26,
        F8E3M4 = 27,
        F8E8M0FNU = 28,
        F4E2M1FN = 29,
        S1 = 30,
        U1 = 31,
        F6E2M3FN = 32,
        F6E3M2FN = 33,
    }
}

open_enum! {
    /// How long the caller keeps a host buffer unchanged, `PJRT_HostBufferSemantics`.
    HostBufferSemantics {
        IMMUTABLE_ONLY_DURING_CALL = 0,
        IMMUTABLE_UNTIL_TRANSFER_COMPLETES = 1,
        IMMUTABLE_ZERO_COPY = 2,
        MUTABLE_ZERO_COPY = 3,
    }
}

open_enum! {
    /// Kinds of extensions, `PJRT_Extension_Type`. `STAGED_CUSTOM_CALL` is farcall's own: it has the members
    /// of `GPU_CUSTOM_CALL`. Hosts treat a plugin with `GPU_CUSTOM_CALL` as a GPU plugin.
    ExtensionType {
        GPU_CUSTOM_CALL = 0,
        PROFILER = 1,
        CUSTOM_PARTITIONER = 2,
        LAYOUTS = 4,
        FFI = 5,
        MEMORY_DESCRIPTIONS = 6,
        RAW_BUFFER = 8,
        SHARDINGS = 19,
        STAGED_CUSTOM_CALL = 0x6663,
    }
}

open_enum! {
    /// Interfaces of custom-call handlers, `api_version` of `PJRT_Gpu_Register_Custom_Call_Args`.
    HandlerInterface {
        UNTYPED = 0,
        TYPED = 1,
    }
}

open_enum! {
    /// Types of named values, `PJRT_NamedValue_Type`.
    NamedValueType {
        STRING = 0,
        INT64 = 1,
        INT64_LIST = 2,
        FLOAT = 3,
        BOOL = 4,
    }
}

open_enum! {
    /// Kinds of layouts, `PJRT_Buffer_MemoryLayout_Type`.
    LayoutType {
        TILED = 0,
        STRIDES = 1,
    }
}

/// Function that an event calls once it is ready. It owns the error.
pub type EventCallback = unsafe extern "C" fn(error: *mut ErrorHandle, user_arg: *mut c_void);
/// Function that frees an object, for results that the caller owns.
pub type ObjectDeleter = unsafe extern "C" fn(object: *mut c_void);
/// Function that is called when a view of memory is deleted: with the memory and the caller's argument.
pub type DeleteCallback = unsafe extern "C" fn(memory: *mut c_void, user_arg: *mut c_void);

/// A struct whose first member is its size, so that either side can read a struct of another version.
///
/// # Safety
/// The type is `repr(C)` and begins with `struct_size`. It consists of integers, pointers and optional
/// functions, so that all bits zero is a valid value.
pub unsafe trait Struct: Copy {
    /// Name in the C header, without the suffix `Args`.
    const NAME: &'static str;
    /// Start and end of each member.
    const SPANS: &'static [(usize, usize)];

    /// Returns the number of bytes up to the last complete member, for a struct that states its size. A size
    /// that ends inside a member does not include the member.
    fn complete_bytes(struct_size: usize) -> usize {
        let is_cut = |(start, end): &&(usize, usize)| *start < struct_size && struct_size < *end;
        Self::SPANS.iter().find(is_cut).map_or(struct_size.min(size_of::<Self>()), |(start, _)| *start)
    }
}

macro_rules! sized {
    ($($name:ident $c_name:literal;)*) => {$(
        // SAFETY: declared below with `struct_size` first, and with members of these kinds.
        unsafe impl Struct for $name {
            const NAME: &'static str = $c_name;
            const SPANS: &'static [(usize, usize)] = $name::MEMBER_SPANS;
        }
    )*};
}

sized! {
    NamedValue "PJRT_NamedValue";
    Program "PJRT_Program";
    ExecuteOptions "PJRT_ExecuteOptions";
    ShapeSpec "PJRT_ShapeSpec";
    MemoryLayout "PJRT_Buffer_MemoryLayout";
    FfiTypeRegister "PJRT_FFI_Type_Register";
    FfiUserDataAdd "PJRT_FFI_UserData_Add";
    FfiRegisterHandler "PJRT_FFI_Register_Handler";
    GpuRegisterCustomCall "PJRT_Gpu_Register_Custom_Call";
    RegisterBatchPartitionable "PJRT_Register_Batch_Partitionable";
    RegisterCustomPartitioner "PJRT_Register_Custom_Partitioner";
    LayoutDestroy "PJRT_Layouts_MemoryLayout_Destroy";
    LayoutSerialize "PJRT_Layouts_MemoryLayout_Serialize";
    ClientDefaultLayout "PJRT_Layouts_PJRT_Client_GetDefaultLayout";
    BufferLayout "PJRT_Layouts_PJRT_Buffer_MemoryLayout";
    TopologyDefaultLayout "PJRT_Layouts_PJRT_Topology_GetDefaultLayout";
    ExecutableOutputLayouts "PJRT_Layouts_PJRT_Executable_GetOutputLayouts";
    ExecutableParameterLayouts "PJRT_Layouts_PJRT_Executable_GetParameterLayouts";
    ExecutableParameterShardings "PJRT_Shardings_PJRT_Executable_ParameterShardings";
    ExecutableOutputShardings "PJRT_Shardings_PJRT_Executable_OutputShardings";
}

macro_rules! structs {
    ($($(#[$meta:meta])* $name:ident $c_name:literal { $($member:ident: $ty:ty),* $(,)? })*) => {
        /// Name, size and member offsets of the structs, for the layout test.
        #[doc(hidden)]
        pub const STRUCTS: &[(&str, usize, &[(&str, usize)])] = &[
            $(($c_name, size_of::<$name>(), &[$((stringify!($member), std::mem::offset_of!($name, $member))),*])),*
        ];

        $(
            #[doc = concat!("`", $c_name, "`")]
            $(#[$meta])*
            #[repr(C)]
            #[derive(Clone, Copy, Debug)]
            #[expect(missing_docs, reason = "the members have the names of the C interface")]
            pub struct $name { $(pub $member: $ty,)* }

            impl $name {
                /// Start and end of each member.
                #[doc(hidden)]
                pub const MEMBER_SPANS: &'static [(usize, usize)] = &[$({
                    let start = std::mem::offset_of!($name, $member);
                    (start, start + size_of::<$ty>())
                }),*];
            }
        )*
    };
}

structs! {
    /// Start of each extension: a list, linked by `next`.
    ExtensionBase "PJRT_Extension_Base" { struct_size: usize, r#type: ExtensionType, next: *mut ExtensionBase }
    ApiVersion "PJRT_Api_Version" {
        struct_size: usize, extension_start: *mut ExtensionBase, major_version: c_int, minor_version: c_int,
    }
    /// A name with a value; `value` is read as `type` says.
    NamedValue "PJRT_NamedValue" {
        struct_size: usize, extension_start: *mut ExtensionBase, name: *const c_char, name_size: usize,
        r#type: NamedValueType, value: u64, value_size: usize,
    }
    /// A program: `format` is `mlir`, `hlo` or `hlo_with_config`.
    Program "PJRT_Program" {
        struct_size: usize, extension_start: *mut ExtensionBase, code: *mut c_char, code_size: usize,
        format: *const c_char, format_size: usize,
    }
    ExecuteOptions "PJRT_ExecuteOptions" {
        struct_size: usize, extension_start: *mut ExtensionBase, send_callbacks: *mut c_void,
        recv_callbacks: *mut c_void, num_send_ops: usize, num_recv_ops: usize, launch_id: c_int,
        non_donatable_input_indices: *const i64, num_non_donatable_input_indices: usize,
        context: *mut ExecuteContextHandle, call_location: *const c_char, num_tasks: usize,
        task_ids: *const c_int, incarnation_ids: *const i64, multi_slice_config: *mut c_void,
        use_major_to_minor_data_layout_for_callbacks: u8, hlo_output_callbacks: *mut c_void,
        num_hlo_output_callbacks: usize,
    }
    Chunk "PJRT_Chunk" {
        data: *mut c_void, size: usize, deleter: Option<DeleteCallback>, deleter_arg: *mut c_void,
    }
    ShapeSpec "PJRT_ShapeSpec" {
        struct_size: usize, extension_start: *mut ExtensionBase, dims: *const i64, num_dims: usize,
        element_type: ElementType,
    }
    LogicalDeviceIds "PJRT_LogicalDeviceIds" { replica: c_int, partition: c_int }
    TiledLayout "PJRT_Buffer_MemoryLayout_Tiled" {
        struct_size: usize, extension_start: *mut ExtensionBase, minor_to_major: *const i64,
        minor_to_major_size: usize, tile_dims: *const i64, tile_dim_sizes: *const usize, num_tiles: usize,
    }
    StridedLayout "PJRT_Buffer_MemoryLayout_Strides" {
        struct_size: usize, extension_start: *mut ExtensionBase, byte_strides: *const i64,
        num_byte_strides: usize,
    }
    /// A layout; `layout` is read as `type` says.
    MemoryLayout "PJRT_Buffer_MemoryLayout" {
        struct_size: usize, extension_start: *mut ExtensionBase, layout: LayoutUnion, r#type: LayoutType,
    }
    /// Functions for the errors of a plugin (0.107): the first member of each error points to them.
    ErrorFunctions "PJRT_Error_FunctionTable" {
        struct_size: usize, instance_size: usize, extension_start: *mut ExtensionBase, destroy: *const c_void,
        message: *const c_void, get_code: *const c_void, for_each_payload: *const c_void,
    }
    /// Functions for the memories of a plugin (0.105): the first member of each memory points to them.
    MemoryFunctions "PJRT_Memory_FunctionTable" {
        struct_size: usize, extension_start: *mut ExtensionBase, instance_struct_size: usize,
        get_user_data: *const c_void, set_user_data: *const c_void,
    }
    FfiExtension "PJRT_FFI_Extension" {
        base: ExtensionBase, type_register: Option<ApiEntry<FfiTypeRegister>>,
        user_data_add: Option<ApiEntry<FfiUserDataAdd>>, register_handler: Option<ApiEntry<FfiRegisterHandler>>,
    }
    FfiTypeInfo "PJRT_FFI_Type_Info" {
        deleter: *const c_void, serialize: *const c_void, deserialize: *const c_void,
    }
    FfiTypeRegister "PJRT_FFI_Type_Register_Args" {
        struct_size: usize, extension_start: *mut ExtensionBase, type_name: *const c_char,
        type_name_size: usize, type_id: i64, type_info: *const FfiTypeInfo,
    }
    FfiUserData "PJRT_FFI_UserData" { type_id: i64, data: *mut c_void }
    FfiUserDataAdd "PJRT_FFI_UserData_Add_Args" {
        struct_size: usize, extension_start: *mut ExtensionBase, context: *mut ExecuteContextHandle,
        user_data: FfiUserData,
    }
    FfiRegisterHandler "PJRT_FFI_Register_Handler_Args" {
        struct_size: usize, target_name: *const c_char, target_name_size: usize, handler: *mut c_void,
        platform_name: *const c_char, platform_name_size: usize, traits: u32,
    }
    /// Registers handlers of all stages, for the plugin's platform.
    GpuCustomCallExtension "PJRT_Gpu_Custom_Call" {
        base: ExtensionBase, custom_call: Option<ApiEntry<GpuRegisterCustomCall>>,
    }
    GpuRegisterCustomCall "PJRT_Gpu_Register_Custom_Call_Args" {
        struct_size: usize, function_name: *const c_char, function_name_size: usize, api_version: HandlerInterface,
        handler_instantiate: *mut c_void, handler_prepare: *mut c_void, handler_initialize: *mut c_void,
        handler_execute: *mut c_void,
    }
    /// Registers partitioners of custom calls.
    CustomPartitionerExtension "PJRT_Custom_Partitioner_Extension" {
        base: ExtensionBase, register_custom_partitioner: Option<ApiEntry<RegisterCustomPartitioner>>,
        register_batch_partitionable: Option<ApiEntry<RegisterBatchPartitionable>>,
    }
    RegisterCustomPartitioner "PJRT_Register_Custom_Partitioner_Args" {
        struct_size: usize, name: *const c_char, name_size: usize, callbacks: *mut c_void,
    }
    RegisterBatchPartitionable "PJRT_Register_Batch_Partitionable_Args" {
        struct_size: usize, name: *const c_char, name_size: usize,
    }
    LayoutsExtension "PJRT_Layouts_Extension" {
        base: ExtensionBase, memory_layout_destroy: Option<ApiEntry<LayoutDestroy>>,
        memory_layout_serialize: Option<ApiEntry<LayoutSerialize>>,
        client_get_default_layout: Option<ApiEntry<ClientDefaultLayout>>,
        buffer_memory_layout: Option<ApiEntry<BufferLayout>>,
        topology_get_default_layout: Option<ApiEntry<TopologyDefaultLayout>>,
        executable_get_output_layouts: Option<ApiEntry<ExecutableOutputLayouts>>,
        executable_get_parameter_layouts: Option<ApiEntry<ExecutableParameterLayouts>>,
    }
    ShardingsExtension "PJRT_Shardings_Extension" {
        base: ExtensionBase, executable_parameter_shardings: Option<ApiEntry<ExecutableParameterShardings>>,
        executable_output_shardings: Option<ApiEntry<ExecutableOutputShardings>>,
    }
    ExecutableParameterShardings "PJRT_Shardings_PJRT_Executable_ParameterShardings_Args" {
        struct_size: usize, extension_start: *mut ExtensionBase, executable: *mut ExecutableHandle,
        num_parameters: usize, shardings: *const *const c_char, sharding_sizes: *const usize,
    }
    ExecutableOutputShardings "PJRT_Shardings_PJRT_Executable_OutputShardings_Args" {
        struct_size: usize, extension_start: *mut ExtensionBase, executable: *mut ExecutableHandle,
        num_outputs: usize, shardings: *const *const c_char, sharding_sizes: *const usize,
    }
    LayoutDestroy "PJRT_Layouts_MemoryLayout_Destroy_Args" {
        struct_size: usize, extension_start: *mut ExtensionBase, layout: *mut LayoutHandle,
    }
    LayoutSerialize "PJRT_Layouts_MemoryLayout_Serialize_Args" {
        struct_size: usize, extension_start: *mut ExtensionBase, layout: *mut LayoutHandle,
        serialized_bytes: *const c_char, serialized_bytes_size: usize, serialized_layout: *mut c_void,
        serialized_layout_deleter: Option<ObjectDeleter>,
    }
    ClientDefaultLayout "PJRT_Layouts_PJRT_Client_GetDefaultLayout_Args" {
        struct_size: usize, extension_start: *mut ExtensionBase, client: *mut ClientHandle,
        r#type: ElementType, dims: *const i64, num_dims: usize, layout: *mut LayoutHandle,
    }
    BufferLayout "PJRT_Layouts_PJRT_Buffer_MemoryLayout_Args" {
        struct_size: usize, extension_start: *mut ExtensionBase, buffer: *mut BufferHandle,
        layout: *mut LayoutHandle,
    }
    TopologyDefaultLayout "PJRT_Layouts_PJRT_Topology_GetDefaultLayout_Args" {
        struct_size: usize, extension_start: *mut ExtensionBase, topology_description: *mut TopologyHandle,
        r#type: ElementType, dims: *const i64, num_dims: usize, layout: *mut LayoutHandle,
    }
    ExecutableOutputLayouts "PJRT_Layouts_PJRT_Executable_GetOutputLayouts_Args" {
        struct_size: usize, extension_start: *mut ExtensionBase, executable: *mut ExecutableHandle,
        num_outputs: usize, layouts: *const *mut LayoutHandle,
    }
    ExecutableParameterLayouts "PJRT_Layouts_PJRT_Executable_GetParameterLayouts_Args" {
        struct_size: usize, extension_start: *mut ExtensionBase, executable: *mut ExecutableHandle,
        num_parameters: usize, layouts: *const *mut LayoutHandle,
    }
}

/// A function of the interface: takes its arguments, and returns null or an error.
pub type ApiEntry<A> = unsafe extern "C" fn(args: *mut A) -> *mut ErrorHandle;

/// The two kinds of layouts.
#[repr(C)]
#[derive(Clone, Copy)]
pub union LayoutUnion {
    /// For [`LayoutType::TILED`].
    pub tiled: TiledLayout,
    /// For [`LayoutType::STRIDES`].
    pub strides: StridedLayout,
}

impl std::fmt::Debug for LayoutUnion {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("LayoutUnion")
    }
}
