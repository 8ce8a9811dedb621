"""Names of jaxlib 0.10's `xla_client` that this package deliberately lacks, with the reasons shown in
errors."""

_ARRAYS = "it is a part of JAX's arrays, which may lie on several devices; farcall has one device and NumPy arrays"
_PLUGINS = "it is for plugins of PJRT, which farcall does not load"
_XLA = "it is for XLA's own compiler and runtime"
_TRACEBACKS = "errors have Python's own tracebacks"
_OBJECTS = "computations are text here (as_hlo_text()), not objects"

#: Names of `xla_client`.
ABSENT = {
    **dict.fromkeys(("ArrayCopySemantics", "GSPMDSharding", "Memory", "NamedSharding", "PjRtLayout", "Sharding"), _ARRAYS),
    **dict.fromkeys(("SingleDeviceSharding", "array_result_handler", "batched_block_until_ready", "batched_device_put"), _ARRAYS),
    **dict.fromkeys(("batched_copy_array_to_devices_with_sharding", "check_and_canonicalize_memory_kind"), _ARRAYS),
    **dict.fromkeys(("hlo_sharding_util", "reorder_shards"), _ARRAYS),
    **dict.fromkeys(("DeviceTopology", "generate_pjrt_gpu_plugin_options", "get_topology_for_devices"), _PLUGINS),
    **dict.fromkeys(("initialize_pjrt_plugin", "load_pjrt_plugin_dynamically", "load_pjrt_plugin_with_c_api"), _PLUGINS),
    **dict.fromkeys(("make_c_api_client", "make_c_api_device_topology", "make_tfrt_tpu_c_api_device_topology"), _PLUGINS),
    **dict.fromkeys(("pjrt_plugin_initialized", "pjrt_plugin_loaded"), _PLUGINS),
    **dict.fromkeys(("AutotuneCacheMode", "execution_stream_id", "ifrt_programs"), _XLA),
    **dict.fromkeys(("LoadedExecutable_execute", "LoadedExecutable_execute_with_token"), _XLA),
    **dict.fromkeys(("Frame", "Traceback", "TracebackScope"), _TRACEBACKS),
}

#: Names of `xla_client.hlo`.
ABSENT_IN_HLO = {
    **dict.fromkeys(("HloComputation", "HloInstruction", "HloOpcode", "HloPrintOptions", "HloSchedule"), _OBJECTS),
    **dict.fromkeys(("Literal", "hlo_module_to_dot_graph"), _OBJECTS),
    "OpSharding_ShardGroupType": _ARRAYS,
}
