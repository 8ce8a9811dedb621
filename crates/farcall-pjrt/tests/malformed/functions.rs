//! The functions of the plugin, and the members of their arguments.

use farcall_pjrt_abi::*;

/// A function of the table or of an extension.
pub(crate) struct Tested {
    pub(crate) name: &'static str,
    pub(crate) function: AnyFunction,
    /// Value of `struct_size`.
    pub(crate) struct_size: usize,
    /// Size of the arguments.
    pub(crate) size: usize,
    /// Members after the size and the extensions, with their offsets.
    pub(crate) members: Vec<(&'static str, usize)>,
}

/// Returns all functions of the plugin.
pub(crate) fn functions(api: *const Api) -> Vec<Tested> {
    let mut all = Vec::new();
    for (slot, (name, struct_size, size, members)) in ARGUMENTS.iter().enumerate() {
        // SAFETY: the table of the plugin is valid.
        let function = unsafe { (*api).functions[slot] }.unwrap_or_else(|| panic!("{name} is missing"));
        let (struct_size, size) = (*struct_size, *size);
        all.push(Tested { name, function, struct_size, size, members: members.to_vec() });
    }
    let layouts = extension::<LayoutsExtension>(api, ExtensionType::LAYOUTS);
    let ffi = extension::<FfiExtension>(api, ExtensionType::FFI);
    let custom_calls = extension::<GpuCustomCallExtension>(api, ExtensionType::STAGED_CUSTOM_CALL);
    let partitioners = extension::<CustomPartitionerExtension>(api, ExtensionType::CUSTOM_PARTITIONER);
    macro_rules! of_extension {
        ($($function:expr, $name:literal;)*) => {[$({
            let function = $function.expect("the extension is complete");
            ($name, erased(function))
        }),*]};
    }
    let of_extensions = of_extension![
        layouts.memory_layout_destroy, "PJRT_Layouts_MemoryLayout_Destroy";
        layouts.memory_layout_serialize, "PJRT_Layouts_MemoryLayout_Serialize";
        layouts.client_get_default_layout, "PJRT_Layouts_PJRT_Client_GetDefaultLayout";
        layouts.buffer_memory_layout, "PJRT_Layouts_PJRT_Buffer_MemoryLayout";
        layouts.topology_get_default_layout, "PJRT_Layouts_PJRT_Topology_GetDefaultLayout";
        layouts.executable_get_output_layouts, "PJRT_Layouts_PJRT_Executable_GetOutputLayouts";
        layouts.executable_get_parameter_layouts, "PJRT_Layouts_PJRT_Executable_GetParameterLayouts";
        ffi.type_register, "PJRT_FFI_Type_Register";
        ffi.user_data_add, "PJRT_FFI_UserData_Add";
        ffi.register_handler, "PJRT_FFI_Register_Handler";
        custom_calls.custom_call, "PJRT_Gpu_Register_Custom_Call";
        partitioners.register_batch_partitionable, "PJRT_Register_Batch_Partitionable";
    ];
    for (name, function) in of_extensions {
        let arguments = STRUCTS.iter().find(|(c_name, ..)| c_name.strip_suffix("_Args") == Some(name));
        let (_, size, members) = arguments.unwrap_or_else(|| panic!("{name} has no arguments"));
        let members =
            members.iter().filter(|(member, _)| !["struct_size", "extension_start"].contains(member));
        all.push(Tested {
            name,
            function,
            struct_size: *size,
            size: *size,
            members: members.copied().collect(),
        });
    }
    all
}

/// Returns an extension of the plugin.
pub(crate) fn extension<E: Copy>(api: *const Api, wanted: ExtensionType) -> E {
    // SAFETY: the table and its extensions are valid.
    let mut next = unsafe { (*api).extension_start };
    loop {
        assert!(!next.is_null(), "the plugin has no extension {wanted:?}");
        // SAFETY: see above.
        let base = unsafe { *next };
        if base.r#type == wanted {
            assert!(base.struct_size >= size_of::<E>());
            // SAFETY: an extension of this type has this layout.
            return unsafe { *next.cast::<E>() };
        }
        next = base.next;
    }
}

/// Erases the type of a function's arguments.
fn erased<A>(function: ApiEntry<A>) -> AnyFunction {
    // SAFETY: function pointers have one size.
    unsafe { std::mem::transmute::<ApiEntry<A>, AnyFunction>(function) }
}
