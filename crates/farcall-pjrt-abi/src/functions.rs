//! The functions of the interface: arguments, and positions in the function table.

use std::ffi::{c_char, c_void};

use crate::types::*;

/// Functions of a plugin: a type for the arguments of each one, named like the C function without `PJRT_` and
/// underscores.
///
/// # Safety
/// The entry at this position of a plugin's table takes a pointer to this type.
pub unsafe trait ApiFunction: Struct + 'static {
    /// Position in [`Api::functions`](crate::Api::functions).
    const SLOT: usize;
    /// Value of `struct_size`: the end of the last member.
    const STRUCT_SIZE: usize;
    /// Names and offsets of the members after `struct_size` and `extension_start`.
    const MEMBERS: &'static [(&'static str, usize)];

    /// Returns arguments whose members are all zero, except `struct_size`.
    fn zeroed() -> Self;
}

macro_rules! functions {
    ($($name:ident $c_name:literal { $($member:ident: $ty:ty),* $(,)? })*) => {
        /// Positions of the functions in the table.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        #[expect(missing_docs, reason = "each variant is the C function of the same name")]
        pub enum ApiSlot { $($name,)* }

        impl ApiSlot {
            /// Names of the C functions, by position.
            pub const NAMES: &'static [&'static str] = &[$($c_name),*];
        }

        /// Name, `STRUCT_SIZE`, size and member offsets of all arguments, for the layout test.
        #[doc(hidden)]
        pub const ARGUMENTS: &[(&str, usize, usize, &[(&str, usize)])] = &[
            $(($c_name, $name::STRUCT_SIZE, size_of::<$name>(), $name::MEMBERS)),*
        ];

        $(
            #[doc = concat!("Arguments of `", $c_name, "`.")]
            #[repr(C)]
            #[derive(Clone, Copy, Debug)]
            #[expect(missing_docs, reason = "the members have the names of the C interface")]
            #[allow(clippy::manual_non_exhaustive, clippy::allow_attributes, reason = "a C struct")]
            pub struct $name {
                pub struct_size: usize,
                pub extension_start: *mut ExtensionBase,
                $(pub $member: $ty,)*
            }

            // SAFETY: `repr(C)`, with the size first; the other members are integers, pointers and optional
            // functions.
            unsafe impl Struct for $name {
                const NAME: &'static str = $c_name;
                const SPANS: &'static [(usize, usize)] = &[(0, 8), (8, 16), $({
                    let start = std::mem::offset_of!($name, $member);
                    (start, start + size_of::<$ty>())
                }),*];
            }

            // SAFETY: the header's function of this name takes these arguments.
            unsafe impl ApiFunction for $name {
                const SLOT: usize = ApiSlot::$name as usize;
                #[allow(unused_assignments, unused_mut, clippy::allow_attributes, reason = "one assignment a member")]
                const STRUCT_SIZE: usize = {
                    let mut end = 16;
                    $(end = std::mem::offset_of!($name, $member) + size_of::<$ty>();)*
                    end
                };
                const MEMBERS: &'static [(&'static str, usize)] =
                    &[$((stringify!($member), std::mem::offset_of!($name, $member))),*];

                fn zeroed() -> Self {
                    // SAFETY: all bits zero is a valid value of every member.
                    let mut args: $name = unsafe { std::mem::zeroed() };
                    args.struct_size = Self::STRUCT_SIZE;
                    args
                }
            }
        )*
    };
}

functions! {
    // Errors.
    ErrorDestroy "PJRT_Error_Destroy" { error: *mut ErrorHandle }
    ErrorMessage "PJRT_Error_Message" { error: *mut ErrorHandle, message: *const c_char, message_size: usize }
    ErrorGetCode "PJRT_Error_GetCode" { error: *mut ErrorHandle, code: ErrorCode }
    // The plugin.
    PluginInitialize "PJRT_Plugin_Initialize" {}
    PluginAttributes "PJRT_Plugin_Attributes" { attributes: *const NamedValue, num_attributes: usize }
    // Events.
    EventDestroy "PJRT_Event_Destroy" { event: *mut EventHandle }
    EventIsReady "PJRT_Event_IsReady" { event: *mut EventHandle, is_ready: u8 }
    EventError "PJRT_Event_Error" { event: *mut EventHandle }
    EventAwait "PJRT_Event_Await" { event: *mut EventHandle }
    EventOnReady "PJRT_Event_OnReady" {
        event: *mut EventHandle, callback: Option<EventCallback>, user_arg: *mut c_void,
    }
    // The client.
    ClientCreate "PJRT_Client_Create" {
        create_options: *const NamedValue, num_options: usize, kv_get_callback: *mut c_void, kv_get_user_arg:
        *mut c_void, kv_put_callback: *mut c_void, kv_put_user_arg: *mut c_void, client: *mut ClientHandle,
        kv_try_get_callback: *mut c_void, kv_try_get_user_arg: *mut c_void,
    }
    ClientDestroy "PJRT_Client_Destroy" { client: *mut ClientHandle }
    ClientPlatformName "PJRT_Client_PlatformName" {
        client: *mut ClientHandle, platform_name: *const c_char, platform_name_size: usize,
    }
    ClientProcessIndex "PJRT_Client_ProcessIndex" { client: *mut ClientHandle, process_index: i32 }
    ClientPlatformVersion "PJRT_Client_PlatformVersion" {
        client: *mut ClientHandle, platform_version: *const c_char, platform_version_size: usize,
    }
    ClientDevices "PJRT_Client_Devices" {
        client: *mut ClientHandle, devices: *const *mut DeviceHandle, num_devices: usize,
    }
    ClientAddressableDevices "PJRT_Client_AddressableDevices" {
        client: *mut ClientHandle, addressable_devices: *const *mut DeviceHandle, num_addressable_devices:
        usize,
    }
    ClientLookupDevice "PJRT_Client_LookupDevice" {
        client: *mut ClientHandle, id: i32, device: *mut DeviceHandle,
    }
    ClientLookupAddressableDevice "PJRT_Client_LookupAddressableDevice" {
        client: *mut ClientHandle, local_hardware_id: i32, addressable_device: *mut DeviceHandle,
    }
    ClientAddressableMemories "PJRT_Client_AddressableMemories" {
        client: *mut ClientHandle, addressable_memories: *const *mut MemoryHandle, num_addressable_memories:
        usize,
    }
    ClientCompile "PJRT_Client_Compile" {
        client: *mut ClientHandle, program: *mut Program, compile_options: *const c_char,
        compile_options_size: usize, executable: *mut LoadedExecutableHandle,
    }
    ClientDefaultDeviceAssignment "PJRT_Client_DefaultDeviceAssignment" {
        client: *mut ClientHandle, num_replicas: i32, num_partitions: i32, default_assignment_size: usize,
        default_assignment: *mut i32,
    }
    ClientBufferFromHostBuffer "PJRT_Client_BufferFromHostBuffer" {
        client: *mut ClientHandle, data: *const c_void, r#type: ElementType, dims: *const i64, num_dims:
        usize, byte_strides: *const i64, num_byte_strides: usize, host_buffer_semantics: HostBufferSemantics,
        device: *mut DeviceHandle, memory: *mut MemoryHandle, device_layout: *mut MemoryLayout,
        done_with_host_buffer: *mut EventHandle, buffer: *mut BufferHandle,
    }
    // Devices.
    DeviceDescriptionId "PJRT_DeviceDescription_Id" { device_description: *mut DescriptionHandle, id: i32 }
    DeviceDescriptionProcessIndex "PJRT_DeviceDescription_ProcessIndex" {
        device_description: *mut DescriptionHandle, process_index: i32,
    }
    DeviceDescriptionAttributes "PJRT_DeviceDescription_Attributes" {
        device_description: *mut DescriptionHandle, num_attributes: usize, attributes: *const NamedValue,
    }
    DeviceDescriptionKind "PJRT_DeviceDescription_Kind" {
        device_description: *mut DescriptionHandle, device_kind: *const c_char, device_kind_size: usize,
    }
    DeviceDescriptionDebugString "PJRT_DeviceDescription_DebugString" {
        device_description: *mut DescriptionHandle, debug_string: *const c_char, debug_string_size: usize,
    }
    DeviceDescriptionToString "PJRT_DeviceDescription_ToString" {
        device_description: *mut DescriptionHandle, to_string: *const c_char, to_string_size: usize,
    }
    DeviceGetDescription "PJRT_Device_GetDescription" {
        device: *mut DeviceHandle, device_description: *mut DescriptionHandle,
    }
    DeviceIsAddressable "PJRT_Device_IsAddressable" { device: *mut DeviceHandle, is_addressable: u8 }
    DeviceLocalHardwareId "PJRT_Device_LocalHardwareId" { device: *mut DeviceHandle, local_hardware_id: i32 }
    DeviceAddressableMemories "PJRT_Device_AddressableMemories" {
        device: *mut DeviceHandle, memories: *const *mut MemoryHandle, num_memories: usize,
    }
    DeviceDefaultMemory "PJRT_Device_DefaultMemory" { device: *mut DeviceHandle, memory: *mut MemoryHandle }
    DeviceMemoryStats "PJRT_Device_MemoryStats" {
        device: *mut DeviceHandle, bytes_in_use: i64, peak_bytes_in_use: i64, peak_bytes_in_use_is_set: u8,
        num_allocs: i64, num_allocs_is_set: u8, largest_alloc_size: i64, largest_alloc_size_is_set: u8,
        bytes_limit: i64, bytes_limit_is_set: u8, bytes_reserved: i64, bytes_reserved_is_set: u8,
        peak_bytes_reserved: i64, peak_bytes_reserved_is_set: u8, bytes_reservable_limit: i64,
        bytes_reservable_limit_is_set: u8, largest_free_block_bytes: i64, largest_free_block_bytes_is_set: u8,
        pool_bytes: i64, pool_bytes_is_set: u8, peak_pool_bytes: i64, peak_pool_bytes_is_set: u8,
        peak_allocated_bytes: i64, peak_allocated_bytes_is_set: u8,
    }
    // Memories.
    MemoryId "PJRT_Memory_Id" { memory: *mut MemoryHandle, id: i32 }
    MemoryKind "PJRT_Memory_Kind" { memory: *mut MemoryHandle, kind: *const c_char, kind_size: usize }
    MemoryDebugString "PJRT_Memory_DebugString" {
        memory: *mut MemoryHandle, debug_string: *const c_char, debug_string_size: usize,
    }
    MemoryToString "PJRT_Memory_ToString" {
        memory: *mut MemoryHandle, to_string: *const c_char, to_string_size: usize,
    }
    MemoryAddressableByDevices "PJRT_Memory_AddressableByDevices" {
        memory: *mut MemoryHandle, devices: *const *mut DeviceHandle, num_devices: usize,
    }
    // Executables.
    ExecutableDestroy "PJRT_Executable_Destroy" { executable: *mut ExecutableHandle }
    ExecutableName "PJRT_Executable_Name" {
        executable: *mut ExecutableHandle, executable_name: *const c_char, executable_name_size: usize,
    }
    ExecutableNumReplicas "PJRT_Executable_NumReplicas" {
        executable: *mut ExecutableHandle, num_replicas: usize,
    }
    ExecutableNumPartitions "PJRT_Executable_NumPartitions" {
        executable: *mut ExecutableHandle, num_partitions: usize,
    }
    ExecutableNumOutputs "PJRT_Executable_NumOutputs" {
        executable: *mut ExecutableHandle, num_outputs: usize,
    }
    ExecutableSizeOfGeneratedCodeInBytes "PJRT_Executable_SizeOfGeneratedCodeInBytes" {
        executable: *mut ExecutableHandle, size_in_bytes: i64,
    }
    ExecutableGetCostAnalysis "PJRT_Executable_GetCostAnalysis" {
        executable: *mut ExecutableHandle, num_properties: usize, properties: *const NamedValue,
    }
    ExecutableOutputMemoryKinds "PJRT_Executable_OutputMemoryKinds" {
        executable: *mut ExecutableHandle, num_outputs: usize, memory_kinds: *const *const c_char,
        memory_kind_sizes: *const usize,
    }
    ExecutableOptimizedProgram "PJRT_Executable_OptimizedProgram" {
        executable: *mut ExecutableHandle, program: *mut Program,
    }
    ExecutableSerialize "PJRT_Executable_Serialize" {
        executable: *mut ExecutableHandle, serialized_bytes: *const c_char, serialized_bytes_size: usize,
        serialized_executable: *mut c_void, serialized_executable_deleter: Option<ObjectDeleter>,
    }
    LoadedExecutableDestroy "PJRT_LoadedExecutable_Destroy" { executable: *mut LoadedExecutableHandle }
    LoadedExecutableGetExecutable "PJRT_LoadedExecutable_GetExecutable" {
        loaded_executable: *mut LoadedExecutableHandle, executable: *mut ExecutableHandle,
    }
    LoadedExecutableAddressableDevices "PJRT_LoadedExecutable_AddressableDevices" {
        executable: *mut LoadedExecutableHandle, addressable_devices: *const *mut DeviceHandle,
        num_addressable_devices: usize,
    }
    LoadedExecutableDelete "PJRT_LoadedExecutable_Delete" { executable: *mut LoadedExecutableHandle }
    LoadedExecutableIsDeleted "PJRT_LoadedExecutable_IsDeleted" {
        executable: *mut LoadedExecutableHandle, is_deleted: u8,
    }
    LoadedExecutableExecute "PJRT_LoadedExecutable_Execute" {
        executable: *mut LoadedExecutableHandle, options: *mut ExecuteOptions, argument_lists: *const *const
        *mut BufferHandle, num_devices: usize, num_args: usize, output_lists: *const *mut *mut BufferHandle,
        device_complete_events: *mut *mut EventHandle, execute_device: *mut DeviceHandle,
    }
    ExecutableDeserializeAndLoad "PJRT_Executable_DeserializeAndLoad" {
        client: *mut ClientHandle, serialized_executable: *const c_char, serialized_executable_size: usize,
        loaded_executable: *mut LoadedExecutableHandle, overridden_serialized_compile_options: *const c_char,
        overridden_serialized_compile_options_size: usize, load_options: *mut c_void,
    }
    LoadedExecutableFingerprint "PJRT_LoadedExecutable_Fingerprint" {
        executable: *mut LoadedExecutableHandle, executable_fingerprint: *const c_char,
        executable_fingerprint_size: usize,
    }
    // Buffers.
    BufferDestroy "PJRT_Buffer_Destroy" { buffer: *mut BufferHandle }
    BufferElementType "PJRT_Buffer_ElementType" { buffer: *mut BufferHandle, r#type: ElementType }
    BufferDimensions "PJRT_Buffer_Dimensions" { buffer: *mut BufferHandle, dims: *const i64, num_dims: usize }
    BufferUnpaddedDimensions "PJRT_Buffer_UnpaddedDimensions" {
        buffer: *mut BufferHandle, unpadded_dims: *const i64, num_dims: usize,
    }
    BufferDynamicDimensionIndices "PJRT_Buffer_DynamicDimensionIndices" {
        buffer: *mut BufferHandle, dynamic_dim_indices: *const usize, num_dynamic_dims: usize,
    }
    BufferGetMemoryLayout "PJRT_Buffer_GetMemoryLayout" { buffer: *mut BufferHandle, layout: MemoryLayout }
    BufferOnDeviceSizeInBytes "PJRT_Buffer_OnDeviceSizeInBytes" {
        buffer: *mut BufferHandle, on_device_size_in_bytes: usize,
    }
    BufferDevice "PJRT_Buffer_Device" { buffer: *mut BufferHandle, device: *mut DeviceHandle }
    BufferMemory "PJRT_Buffer_Memory" { buffer: *mut BufferHandle, memory: *mut MemoryHandle }
    BufferDelete "PJRT_Buffer_Delete" { buffer: *mut BufferHandle }
    BufferIsDeleted "PJRT_Buffer_IsDeleted" { buffer: *mut BufferHandle, is_deleted: u8 }
    BufferCopyToDevice "PJRT_Buffer_CopyToDevice" {
        buffer: *mut BufferHandle, dst_device: *mut DeviceHandle, dst_buffer: *mut BufferHandle,
    }
    BufferToHostBuffer "PJRT_Buffer_ToHostBuffer" {
        src: *mut BufferHandle, host_layout: *mut MemoryLayout, dst: *mut c_void, dst_size: usize, event: *mut
        EventHandle,
    }
    BufferIsOnCpu "PJRT_Buffer_IsOnCpu" { buffer: *mut BufferHandle, is_on_cpu: u8 }
    BufferReadyEvent "PJRT_Buffer_ReadyEvent" { buffer: *mut BufferHandle, event: *mut EventHandle }
    BufferUnsafePointer "PJRT_Buffer_UnsafePointer" { buffer: *mut BufferHandle, buffer_pointer: usize }
    BufferIncreaseExternalReferenceCount "PJRT_Buffer_IncreaseExternalReferenceCount" {
        buffer: *mut BufferHandle,
    }
    BufferDecreaseExternalReferenceCount "PJRT_Buffer_DecreaseExternalReferenceCount" {
        buffer: *mut BufferHandle,
    }
    BufferOpaqueDeviceMemoryDataPointer "PJRT_Buffer_OpaqueDeviceMemoryDataPointer" {
        buffer: *mut BufferHandle, device_memory_ptr: *mut c_void,
    }
    // Streams of copies to a device.
    CopyToDeviceStreamDestroy "PJRT_CopyToDeviceStream_Destroy" { stream: *mut CopyStreamHandle }
    CopyToDeviceStreamAddChunk "PJRT_CopyToDeviceStream_AddChunk" {
        stream: *mut CopyStreamHandle, chunk: *mut Chunk, transfer_complete: *mut EventHandle,
    }
    CopyToDeviceStreamTotalBytes "PJRT_CopyToDeviceStream_TotalBytes" {
        stream: *mut CopyStreamHandle, total_bytes: i64,
    }
    CopyToDeviceStreamGranuleSize "PJRT_CopyToDeviceStream_GranuleSize" {
        stream: *mut CopyStreamHandle, granule_size_in_bytes: i64,
    }
    CopyToDeviceStreamCurrentBytes "PJRT_CopyToDeviceStream_CurrentBytes" {
        stream: *mut CopyStreamHandle, current_bytes: i64,
    }
    // Topologies.
    TopologyDescriptionCreate "PJRT_TopologyDescription_Create" {
        topology_name: *const c_char, topology_name_size: usize, create_options: *const NamedValue,
        num_options: usize, topology: *mut TopologyHandle,
    }
    TopologyDescriptionDestroy "PJRT_TopologyDescription_Destroy" { topology: *mut TopologyHandle }
    TopologyDescriptionPlatformName "PJRT_TopologyDescription_PlatformName" {
        topology: *mut TopologyHandle, platform_name: *const c_char, platform_name_size: usize,
    }
    TopologyDescriptionPlatformVersion "PJRT_TopologyDescription_PlatformVersion" {
        topology: *mut TopologyHandle, platform_version: *const c_char, platform_version_size: usize,
    }
    TopologyDescriptionGetDeviceDescriptions "PJRT_TopologyDescription_GetDeviceDescriptions" {
        topology: *mut TopologyHandle, descriptions: *const *mut DescriptionHandle, num_descriptions: usize,
    }
    TopologyDescriptionSerialize "PJRT_TopologyDescription_Serialize" {
        topology: *mut TopologyHandle, serialized_bytes: *const c_char, serialized_bytes_size: usize,
        serialized_topology: *mut c_void, serialized_topology_deleter: Option<ObjectDeleter>,
    }
    TopologyDescriptionAttributes "PJRT_TopologyDescription_Attributes" {
        topology: *mut TopologyHandle, attributes: *const NamedValue, num_attributes: usize,
    }
    Compile "PJRT_Compile" {
        topology: *mut TopologyHandle, program: *mut Program, compile_options: *const c_char,
        compile_options_size: usize, client: *mut ClientHandle, executable: *mut ExecutableHandle,
    }
    // Functions added since version 0.23.
    ExecutableOutputElementTypes "PJRT_Executable_OutputElementTypes" {
        executable: *mut ExecutableHandle, output_types: *const ElementType, num_output_types: usize,
    }
    ExecutableOutputDimensions "PJRT_Executable_OutputDimensions" {
        executable: *mut ExecutableHandle, num_outputs: usize, dims: *const i64, dim_sizes: *const usize,
    }
    BufferCopyToMemory "PJRT_Buffer_CopyToMemory" {
        buffer: *mut BufferHandle, dst_memory: *mut MemoryHandle, dst_buffer: *mut BufferHandle,
    }
    ClientCreateViewOfDeviceBuffer "PJRT_Client_CreateViewOfDeviceBuffer" {
        client: *mut ClientHandle, device_buffer_ptr: *mut c_void, dims: *const i64, num_dims: usize,
        element_type: ElementType, layout: *mut MemoryLayout, device: *mut DeviceHandle, on_delete_callback:
        Option<DeleteCallback>, on_delete_callback_arg: *mut c_void, stream: i64, buffer: *mut BufferHandle,
        memory: *mut MemoryHandle,
    }
    ExecutableFingerprint "PJRT_Executable_Fingerprint" {
        executable: *mut ExecutableHandle, executable_fingerprint: *const c_char, executable_fingerprint_size:
        usize,
    }
    ClientTopologyDescription "PJRT_Client_TopologyDescription" {
        client: *mut ClientHandle, topology: *mut TopologyHandle,
    }
    ExecutableGetCompiledMemoryStats "PJRT_Executable_GetCompiledMemoryStats" {
        executable: *mut ExecutableHandle, generated_code_size_in_bytes: i64, argument_size_in_bytes: i64,
        output_size_in_bytes: i64, alias_size_in_bytes: i64, temp_size_in_bytes: i64,
        host_generated_code_size_in_bytes: i64, host_argument_size_in_bytes: i64, host_output_size_in_bytes:
        i64, host_alias_size_in_bytes: i64, host_temp_size_in_bytes: i64, peak_memory_in_bytes: i64,
        total_size_in_bytes: i64, total_allocation_bytes: i64, indefinite_allocations: i64,
        peak_unpadded_heap_bytes: i64,
    }
    MemoryKindId "PJRT_Memory_Kind_Id" { memory: *mut MemoryHandle, kind_id: i32 }
    ExecuteContextCreate "PJRT_ExecuteContext_Create" { context: *mut ExecuteContextHandle }
    ExecuteContextDestroy "PJRT_ExecuteContext_Destroy" { context: *mut ExecuteContextHandle }
    BufferCopyRawToHost "PJRT_Buffer_CopyRawToHost" {
        buffer: *mut BufferHandle, dst: *mut c_void, offset: i64, transfer_size: i64, event: *mut EventHandle,
    }
    AsyncHostToDeviceTransferManagerDestroy "PJRT_AsyncHostToDeviceTransferManager_Destroy" {
        transfer_manager: *mut TransferManagerHandle,
    }
    AsyncHostToDeviceTransferManagerTransferData "PJRT_AsyncHostToDeviceTransferManager_TransferData" {
        transfer_manager: *mut TransferManagerHandle, buffer_index: i32, data: *const c_void, offset: i64,
        transfer_size: i64, is_last_transfer: u8, done_with_h2d_transfer: *mut EventHandle,
    }
    ClientCreateBuffersForAsyncHostToDevice "PJRT_Client_CreateBuffersForAsyncHostToDevice" {
        client: *mut ClientHandle, shape_specs: *const ShapeSpec, num_shape_specs: usize, device_layouts:
        *const *mut MemoryLayout, num_device_layouts: usize, memory: *mut MemoryHandle, transfer_manager: *mut
        TransferManagerHandle,
    }
    AsyncHostToDeviceTransferManagerRetrieveBuffer "PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer" {
        transfer_manager: *mut TransferManagerHandle, buffer_index: i32, buffer_out: *mut BufferHandle,
    }
    AsyncHostToDeviceTransferManagerDevice "PJRT_AsyncHostToDeviceTransferManager_Device" {
        transfer_manager: *mut TransferManagerHandle, device_out: *mut DeviceHandle,
    }
    AsyncHostToDeviceTransferManagerBufferCount "PJRT_AsyncHostToDeviceTransferManager_BufferCount" {
        transfer_manager: *mut TransferManagerHandle, buffer_count: usize,
    }
    AsyncHostToDeviceTransferManagerBufferSize "PJRT_AsyncHostToDeviceTransferManager_BufferSize" {
        transfer_manager: *mut TransferManagerHandle, buffer_index: i32, buffer_size: usize,
    }
    AsyncHostToDeviceTransferManagerSetBufferError "PJRT_AsyncHostToDeviceTransferManager_SetBufferError" {
        transfer_manager: *mut TransferManagerHandle, buffer_index: i32, error_code: ErrorCode, error_message:
        *const c_char, error_message_size: usize,
    }
    AsyncHostToDeviceTransferManagerAddMetadata "PJRT_AsyncHostToDeviceTransferManager_AddMetadata" {
        transfer_manager: *mut TransferManagerHandle, transfer_metadata: *const NamedValue, num_metadata:
        usize,
    }
    ClientDmaMap "PJRT_Client_DmaMap" { client: *mut ClientHandle, data: *mut c_void, size: usize }
    ClientDmaUnmap "PJRT_Client_DmaUnmap" { client: *mut ClientHandle, data: *mut c_void }
    ClientCreateUninitializedBuffer "PJRT_Client_CreateUninitializedBuffer" {
        client: *mut ClientHandle, shape_dims: *const i64, shape_num_dims: usize, shape_element_type:
        ElementType, shape_layout: *mut MemoryLayout, device: *mut DeviceHandle, memory: *mut MemoryHandle,
        buffer: *mut BufferHandle,
    }
    ClientUpdateGlobalProcessInfo "PJRT_Client_UpdateGlobalProcessInfo" {
        client: *mut ClientHandle, process_infos: *mut c_void, num_process_infos: usize,
    }
    TopologyDescriptionDeserialize "PJRT_TopologyDescription_Deserialize" {
        serialized_topology: *const c_char, serialized_topology_size: usize, topology: *mut TopologyHandle,
    }
    ClientCreateAliasBuffer "PJRT_Client_CreateAliasBuffer" {
        client: *mut ClientHandle, memory: *mut MemoryHandle, shape_dims: *const i64, shape_num_dims: usize,
        shape_element_type: ElementType, shape_layout: *mut MemoryLayout, alias_buffer: *mut BufferHandle,
        fulfill_alias_buffer_cb: *mut c_void,
    }
    ClientFulfillAliasBuffer "PJRT_Client_FulfillAliasBuffer" {
        client: *mut ClientHandle, buffer: *mut BufferHandle, status_code: ErrorCode, error_message: *const
        c_char, error_message_size: usize, fulfill_alias_buffer_cb: *mut c_void,
    }
    LoadedExecutableGetDeviceAssignment "PJRT_LoadedExecutable_GetDeviceAssignment" {
        executable: *mut LoadedExecutableHandle, serialized_bytes: *const c_char, serialized_bytes_size:
        usize, serialized_device_assignment: *mut c_void, serialized_device_assignment_deleter:
        Option<ObjectDeleter>,
    }
    ClientCreateErrorBuffer "PJRT_Client_CreateErrorBuffer" {
        client: *mut ClientHandle, error_code: ErrorCode, error_message: *const c_char, error_message_size:
        usize, shape_dims: *const i64, shape_num_dims: usize, shape_element_type: ElementType, shape_layout:
        *mut MemoryLayout, memory: *mut MemoryHandle, buffer: *mut BufferHandle, payload: *mut c_void,
        num_payload: usize,
    }
    AsyncHostToDeviceTransferManagerTransferLiteral "PJRT_AsyncHostToDeviceTransferManager_TransferLiteral" {
        transfer_manager: *mut TransferManagerHandle, buffer_index: i32, data: *const c_void, shape_dims:
        *const i64, shape_num_dims: usize, shape_element_type: ElementType, shape_layout: *mut MemoryLayout,
        done_with_h2d_transfer: *mut EventHandle,
    }
    BufferCopyRawToHostFuture "PJRT_Buffer_CopyRawToHostFuture" {
        buffer: *mut BufferHandle, offset: i64, transfer_size: i64, event: *mut EventHandle, callback_data:
        *mut c_void, future_ready_callback: *mut c_void,
    }
    DevicePoisonExecution "PJRT_Device_PoisonExecution" {
        device: *mut DeviceHandle, launch_id: i32, error_code: ErrorCode, error_message: *const c_char,
        error_message_size: usize, poisoned: u8, payload: *mut c_void, num_payload: usize,
    }
    DeviceCreateAsyncTrackingEvent "PJRT_Device_CreateAsyncTrackingEvent" {
        device: *mut DeviceHandle, description: *const c_char, description_size: usize, event: *mut c_void,
    }
    AsyncTrackingEventDestroy "PJRT_AsyncTrackingEvent_Destroy" { event: *mut c_void }
    ExecutableGetCompileOptions "PJRT_Executable_GetCompileOptions" {
        executable: *mut ExecutableHandle, serialized_bytes: *const c_char, serialized_bytes_size: usize,
        serialized_compile_options: *mut c_void, serialized_compile_options_deleter: Option<ObjectDeleter>,
    }
    BufferDonateWithControlDependency "PJRT_Buffer_DonateWithControlDependency" {
        buffer: *mut BufferHandle, callback_data: *mut c_void, dependency_ready_callback: *mut c_void,
        out_buffer: *mut BufferHandle,
    }
    EventCreate "PJRT_Event_Create" { event: *mut EventHandle }
    EventSet "PJRT_Event_Set" {
        event: *mut EventHandle, error_code: ErrorCode, error_message: *const c_char, error_message_size:
        usize,
    }
    DeviceGetAttributes "PJRT_Device_GetAttributes" {
        device: *mut DeviceHandle, attributes: *const NamedValue, num_attributes: usize, device_attributes:
        *mut c_void, attributes_deleter: Option<ObjectDeleter>,
    }
    ClientLoad "PJRT_Client_Load" {
        client: *mut ClientHandle, executable: *mut ExecutableHandle, compile_options: *const c_char,
        compile_options_size: usize, loaded_executable: *mut LoadedExecutableHandle,
    }
    LoadedExecutableAddressableDeviceLogicalIds "PJRT_LoadedExecutable_AddressableDeviceLogicalIds" {
        executable: *mut LoadedExecutableHandle, addressable_device_logical_ids: *const LogicalDeviceIds,
        num_addressable_device_logical_ids: usize,
    }
    BufferBitcast "PJRT_Buffer_Bitcast" {
        buffer: *mut BufferHandle, element_type: ElementType, dims: *const i64, num_dims: usize,
        device_layout: *mut MemoryLayout, out_buffer: *mut BufferHandle,
    }
    ErrorForEachPayload "PJRT_Error_ForEachPayload" {
        error: *mut ErrorHandle, visitor: *mut c_void, user_arg: *mut c_void,
    }
    TopologyDescriptionFingerprint "PJRT_TopologyDescription_Fingerprint" {
        topology: *mut TopologyHandle, fingerprint: u64,
    }
    ExecutableParameterMemoryKinds "PJRT_Executable_ParameterMemoryKinds" {
        executable: *mut ExecutableHandle, num_parameters: usize, memory_kinds: *const *const c_char,
        memory_kind_sizes: *const usize,
    }
    DeviceClearMemoryStats "PJRT_Device_ClearMemoryStats" { device: *mut DeviceHandle }
    TopologyDescriptionMakeCanonicalShapeForMemorySpace "PJRT_TopologyDescription_MakeCanonicalShapeForMemorySpace" {
        topology: *mut TopologyHandle, memory_space_kind_id: i32, dims: *const i64, num_dims: usize,
        element_type: ElementType, layout: *mut MemoryLayout, serialized_shape: *const c_char,
        serialized_shape_size: usize, serialized_shape_deleter: Option<ObjectDeleter>,
    }
    TopologyDescriptionGetMemorySpaceKindIds "PJRT_TopologyDescription_GetMemorySpaceKindIds" {
        topology: *mut TopologyHandle, memory_space_kind_ids: *const i32, num_memory_space_kind_ids: usize,
    }
}
