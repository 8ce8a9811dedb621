//! The function table, errors and attributes of the plugin.

use std::sync::LazyLock;

use farcall::ir::vhlo;
use farcall_pjrt_abi::*;

use crate::call::{Arguments, Call, entry, with};
use crate::ffi;
use crate::fork;
use crate::inspect_sharding;
use crate::layouts;
use crate::named_values::{NamedValues, Value};
use crate::object::text;
use crate::partitioner;
use crate::status::{Outcome, Status};

/// Version of the interface that the plugin states. Hosts decide by the minor version which functions they
/// call. From 0.105, memories begin with a table of functions, and from 0.107 errors do; the plugin has no use
/// for them.
const VERSION: (i32, i32) = (0, 104);

/// Extensions of the plugin, linked in this order.
struct Extensions {
    ffi: FfiExtension,
    custom_calls: GpuCustomCallExtension,
    layouts: LayoutsExtension,
    shardings: ShardingsExtension,
    partitioners: CustomPartitionerExtension,
}

/// Returns the function table of the plugin, which is valid until the process ends.
pub fn api() -> *const Api {
    static API: LazyLock<Api> = LazyLock::new(table);
    &raw const *API
}

macro_rules! functions {
    ($($name:ident,)*) => {{
        let mut functions = [None; FUNCTIONS];
        $(functions[$name::SLOT] = Some(erased(entry::<$name>()));)*
        functions
    }};
}

/// Erases the type of a function's arguments.
fn erased<A>(function: ApiEntry<A>) -> AnyFunction {
    // SAFETY: function pointers have one size. Hosts call the function with its own arguments.
    unsafe { std::mem::transmute::<ApiEntry<A>, AnyFunction>(function) }
}

fn table() -> Api {
    fork::watch();
    inspect_sharding::report_shardings();
    let extensions = Box::leak(Box::new(Extensions {
        ffi: ffi::extension(std::ptr::null_mut()),
        custom_calls: ffi::custom_call_extension(std::ptr::null_mut()),
        layouts: layouts::extension(std::ptr::null_mut()),
        shardings: layouts::shardings_extension(std::ptr::null_mut()),
        partitioners: partitioner::extension(std::ptr::null_mut()),
    }));
    extensions.ffi.base.next = &raw mut extensions.custom_calls.base;
    extensions.custom_calls.base.next = &raw mut extensions.layouts.base;
    extensions.layouts.base.next = &raw mut extensions.shardings.base;
    extensions.shardings.base.next = &raw mut extensions.partitioners.base;
    let mut functions = functions![
        ErrorGetCode,
        ErrorForEachPayload,
        PluginInitialize,
        PluginAttributes,
        EventDestroy,
        EventIsReady,
        EventError,
        EventAwait,
        EventOnReady,
        EventCreate,
        EventSet,
        ClientCreate,
        ClientDestroy,
        ClientPlatformName,
        ClientProcessIndex,
        ClientPlatformVersion,
        ClientDevices,
        ClientAddressableDevices,
        ClientLookupDevice,
        ClientLookupAddressableDevice,
        ClientAddressableMemories,
        ClientTopologyDescription,
        ClientDefaultDeviceAssignment,
        ClientUpdateGlobalProcessInfo,
        ClientCompile,
        ClientLoad,
        ClientBufferFromHostBuffer,
        ClientCreateViewOfDeviceBuffer,
        ClientCreateUninitializedBuffer,
        ClientCreateErrorBuffer,
        DeviceDescriptionId,
        DeviceDescriptionProcessIndex,
        DeviceDescriptionAttributes,
        DeviceDescriptionKind,
        DeviceDescriptionDebugString,
        DeviceDescriptionToString,
        DeviceGetDescription,
        DeviceIsAddressable,
        DeviceLocalHardwareId,
        DeviceAddressableMemories,
        DeviceDefaultMemory,
        DeviceGetAttributes,
        DeviceMemoryStats,
        DeviceClearMemoryStats,
        MemoryId,
        MemoryKind,
        MemoryKindId,
        MemoryDebugString,
        MemoryToString,
        MemoryAddressableByDevices,
        TopologyDescriptionCreate,
        TopologyDescriptionDestroy,
        TopologyDescriptionPlatformName,
        TopologyDescriptionPlatformVersion,
        TopologyDescriptionGetDeviceDescriptions,
        TopologyDescriptionAttributes,
        TopologyDescriptionFingerprint,
        Compile,
        ExecutableDestroy,
        ExecutableName,
        ExecutableNumReplicas,
        ExecutableNumPartitions,
        ExecutableNumOutputs,
        ExecutableSizeOfGeneratedCodeInBytes,
        ExecutableGetCostAnalysis,
        ExecutableOutputElementTypes,
        ExecutableOutputDimensions,
        ExecutableOutputMemoryKinds,
        ExecutableParameterMemoryKinds,
        ExecutableFingerprint,
        ExecutableGetCompiledMemoryStats,
        ExecutableSerialize,
        ExecutableDeserializeAndLoad,
        ExecutableGetCompileOptions,
        ExecutableOptimizedProgram,
        LoadedExecutableDestroy,
        LoadedExecutableGetExecutable,
        LoadedExecutableAddressableDevices,
        LoadedExecutableAddressableDeviceLogicalIds,
        LoadedExecutableGetDeviceAssignment,
        LoadedExecutableDelete,
        LoadedExecutableIsDeleted,
        LoadedExecutableFingerprint,
        LoadedExecutableExecute,
        ExecuteContextCreate,
        ExecuteContextDestroy,
        BufferDestroy,
        BufferElementType,
        BufferDimensions,
        BufferUnpaddedDimensions,
        BufferDynamicDimensionIndices,
        BufferGetMemoryLayout,
        BufferOnDeviceSizeInBytes,
        BufferDevice,
        BufferMemory,
        BufferDelete,
        BufferIsDeleted,
        BufferIsOnCpu,
        BufferReadyEvent,
        BufferUnsafePointer,
        BufferOpaqueDeviceMemoryDataPointer,
        BufferIncreaseExternalReferenceCount,
        BufferDecreaseExternalReferenceCount,
        BufferCopyToDevice,
        BufferCopyToMemory,
        BufferToHostBuffer,
        BufferCopyRawToHost,
        BufferBitcast,
        DeviceCreateAsyncTrackingEvent,
        AsyncTrackingEventDestroy,
        DevicePoisonExecution,
        AsyncHostToDeviceTransferManagerDestroy,
        AsyncHostToDeviceTransferManagerTransferData,
        ClientCreateBuffersForAsyncHostToDevice,
        AsyncHostToDeviceTransferManagerRetrieveBuffer,
        AsyncHostToDeviceTransferManagerDevice,
        AsyncHostToDeviceTransferManagerBufferCount,
        AsyncHostToDeviceTransferManagerBufferSize,
        AsyncHostToDeviceTransferManagerSetBufferError,
        AsyncHostToDeviceTransferManagerAddMetadata,
        AsyncHostToDeviceTransferManagerTransferLiteral,
        ClientDmaMap,
        ClientDmaUnmap,
        TopologyDescriptionSerialize,
        TopologyDescriptionDeserialize,
    ];
    unsupported(&mut functions);
    functions[ErrorDestroy::SLOT] = Some(erased::<ErrorDestroy>(destroy_error));
    functions[ErrorMessage::SLOT] = Some(erased::<ErrorMessage>(error_message));
    let (major_version, minor_version) = VERSION;
    Api {
        struct_size: size_of::<Api>(),
        extension_start: &raw mut extensions.ffi.base,
        version: ApiVersion {
            struct_size: size_of::<ApiVersion>(),
            extension_start: std::ptr::null_mut(),
            major_version,
            minor_version,
        },
        functions,
    }
}

/// Frees an error. The C function returns nothing; its caller ignores the null pointer.
unsafe extern "C" fn destroy_error(args: *mut ErrorDestroy) -> *mut ErrorHandle {
    // SAFETY: the caller passes null, or arguments with an error that it owns.
    let _ = unsafe { with(args, |args| args.take::<Status>("error", |a| a.error).map(drop)) };
    std::ptr::null_mut()
}

/// Returns the message of an error. The C function returns nothing; its caller ignores the null pointer.
unsafe extern "C" fn error_message(args: *mut ErrorMessage) -> *mut ErrorHandle {
    let message = |args: &mut Arguments<ErrorMessage>| {
        let status = args.object::<Status>("error", |a| a.error);
        (args.members.message, args.members.message_size) = text(status.map_or("", |status| &status.message));
        Ok(())
    };
    // SAFETY: the caller passes null, or arguments with a live error.
    let _ = unsafe { with(args, message) };
    std::ptr::null_mut()
}

impl Call for ErrorGetCode {
    fn call(args: &mut Arguments<Self>) -> Outcome {
        args.members.code = args.object::<Status>("error", |a| a.error)?.code;
        Ok(())
    }
}

/// The errors of the plugin have no payloads.
impl Call for ErrorForEachPayload {
    fn call(args: &mut Arguments<Self>) -> Outcome {
        args.object::<Status>("error", |a| a.error)?;
        Ok(())
    }
}

impl Call for PluginInitialize {
    fn call(_: &mut Arguments<Self>) -> Outcome {
        Ok(())
    }
}

impl Call for PluginAttributes {
    fn call(args: &mut Arguments<Self>) -> Outcome {
        static ATTRIBUTES: LazyLock<NamedValues> = LazyLock::new(|| {
            let version = |(major, minor, patch): vhlo::Version| {
                Value::Ints(vec![major.into(), minor.into(), patch.into()])
            };
            NamedValues::new(vec![
                ("stablehlo_current_version".to_owned(), version(vhlo::NEWEST)),
                ("stablehlo_minimum_version".to_owned(), version(OLDEST_STABLEHLO)),
                ("xla_version".to_owned(), Value::Int(2)),
            ])
        });
        (args.members.attributes, args.members.num_attributes) = ATTRIBUTES.parts();
        Ok(())
    }
}

/// Oldest version of StableHLO whose artifacts are read.
const OLDEST_STABLEHLO: vhlo::Version = (0, 9, 0);

macro_rules! unsupported {
    ($($name:ident,)*) => {
        $(impl Call for $name {
            fn call(_: &mut Arguments<Self>) -> Outcome {
                Err(Status::unimplemented(format!("{} is not supported by farcall", Self::NAME)))
            }
        })*

        /// Adds the functions that the plugin does not support. Each one is an error: hosts call some of them
        /// without a check for null.
        fn unsupported(functions: &mut [Option<AnyFunction>; FUNCTIONS]) {
            $(functions[$name::SLOT] = Some(erased(entry::<$name>()));)*
        }
    };
}

unsupported! {
    CopyToDeviceStreamDestroy,
    CopyToDeviceStreamAddChunk,
    CopyToDeviceStreamTotalBytes,
    CopyToDeviceStreamGranuleSize,
    CopyToDeviceStreamCurrentBytes,
    ClientCreateAliasBuffer,
    ClientFulfillAliasBuffer,
    BufferCopyRawToHostFuture,
    BufferDonateWithControlDependency,
    TopologyDescriptionMakeCanonicalShapeForMemorySpace,
    TopologyDescriptionGetMemorySpaceKindIds,
}
