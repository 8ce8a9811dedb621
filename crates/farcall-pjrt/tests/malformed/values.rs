//! Values of members: right ones, malformed ones, and pointers to structs of either kind.

use std::ffi::c_void;

use farcall_pjrt_abi::*;
use farcall_testing::SplitMix;

use crate::{DESTINATION, KINDS, Kind, MEMORY_BYTES, PROGRAMS, SOURCE, World};

impl World {
    pub(crate) fn struct_size(&mut self, right: usize) -> usize {
        match self.random.below(6) {
            0 => self.random.pick(&[0, 1, 7, 8, 15, 16, 17, 23, 24, 31, 32, 40]),
            1 => self.random.below(right + 1),
            2 => right + self.random.below(64),
            3 => self.random.pick(&[1 << 16, (1 << 16) + 1, 1 << 40, usize::MAX, usize::MAX - 7]),
            _ => right,
        }
    }

    /// Returns a handle, mostly of the right kind.
    fn handle(&mut self, kind: Kind, right_only: bool) -> u64 {
        let any = self.random.pick(&KINDS);
        let of = |world: &mut World, kind: Kind| {
            let all = world.live.get(&kind).cloned().unwrap_or_default();
            if all.is_empty() { 0 } else { world.random.pick(&all) as u64 }
        };
        match self.random.below(if right_only { 1 } else { 12 }) {
            // A handle that is not live can only be told from others in debug builds.
            0 if !right_only && cfg!(debug_assertions) => of(self, any),
            1 if cfg!(debug_assertions) && !self.freed.is_empty() => {
                self.random.pick(&self.freed.clone()) as u64
            }
            2 => 0,
            3 => of(self, kind) | 1,
            _ => of(self, kind),
        }
    }

    /// Returns a value of a member.
    pub(crate) fn member(&mut self, function: &str, member: &str, right_only: bool) -> u64 {
        let kind = match member {
            "client" => Some(Kind::Client),
            "device" | "dst_device" | "execute_device" => Some(Kind::Device),
            "device_description" => Some(Kind::Description),
            "memory" | "dst_memory" => Some(Kind::Memory),
            "buffer" | "src" => Some(Kind::Buffer),
            "event" if self.random.one_in(3) && function != "PJRT_Event_Await" => Some(Kind::PendingEvent),
            "event" => Some(Kind::Event),
            "executable" if function.starts_with("PJRT_LoadedExecutable") => Some(Kind::Loaded),
            "executable" => Some(Kind::Executable),
            "loaded_executable" => Some(Kind::Loaded),
            "topology" | "topology_description" => Some(Kind::Topology),
            "context" => Some(Kind::Context),
            "transfer_manager" => Some(Kind::Manager),
            "layout" if function.starts_with("PJRT_Layouts") => Some(Kind::Layout),
            "error" => Some(Kind::Error),
            _ => None,
        };
        if let Some(kind) = kind {
            // A call that names neither a device nor a memory is valid, too.
            let is_optional =
                matches!(member, "device" | "memory" | "execute_device") && self.random.one_in(2);
            return if is_optional { 0 } else { self.handle(kind, right_only) };
        }
        match member {
            "dims" | "shape_dims" => self.dims(function),
            "byte_strides" => self.array(|random| i64::from(random.below(512) as i32 - 256)),
            "num_dims" | "shape_num_dims" | "num_byte_strides" => self.count(2),
            "data" | "device_buffer_ptr" => self.middle(SOURCE),
            "dst" => self.middle(DESTINATION),
            "dst_size" => self.random.pick(&[0, 1, 23, 24, 4096, MEMORY_BYTES as u64 / 8]),
            "type" | "element_type" | "shape_element_type" => self.element(),
            "host_buffer_semantics" => self.random.below(5) as u64,
            "device_layout" | "host_layout" | "shape_layout" | "layout" => self.layout(),
            "program" => self.program(function),
            "compile_options" | "overridden_serialized_compile_options" => self.compile_options(),
            "compile_options_size" | "overridden_serialized_compile_options_size" => self.count(14),
            "shape_specs" => self.shape_specs(),
            "num_shape_specs" => self.random.pick(&[0, 1, 2, u64::MAX]),
            "device_layouts" => self.array(|_| 0u64),
            "num_device_layouts" => self.random.pick(&[0, 1, 2, u64::MAX]),
            "buffer_index" => self.random.pick(&[0, 0, 0, 1, u64::MAX, 1 << 31]),
            "serialized_topology" => self.bytes(b"2"),
            "serialized_topology_size" => self.count(1),
            "serialized_executable" => self.serialized(),
            "serialized_executable_size" => self.count(self.serialized.len()),
            "create_options" => self.options(),
            "error_message" | "topology_name" | "target_name" | "type_name" | "platform_name" => {
                self.bytes(b"2 devices of the topology")
            }
            "error_message_size" => self.count(9),
            "topology_name_size" => self.count(1),
            "target_name_size" | "type_name_size" | "platform_name_size" => self.count(9),
            // A function that is no handler would end the process.
            "handler" => 0,
            "type_info" => {
                let zeros = self.memory.as_ptr().expose_provenance() as u64;
                self.bent(zeros)
            }
            "type_id" => self.random.number(),
            "num_options" => self.random.pick(&[0, 1, 2, 3, u64::MAX]),
            "callback" => self.callback(destroy_argument as *const () as usize),
            "on_delete_callback" => self.callback(ignore as *const () as usize),
            "options" => self.execute_options(),
            "argument_lists" => self.lists(Kind::Buffer, right_only),
            "output_lists" => self.lists(Kind::Executable, right_only),
            "device_complete_events" => self.array(|_| 0),
            "num_args" => self.random.below(4) as u64,
            "num_devices" => self.random.pick(&[1, 1, 1, 0, 2, u64::MAX]),
            "num_replicas" | "num_partitions" => self.random.pick(&[1, 1, 2, 0, u64::MAX, 1 << 31]),
            "default_assignment" => self.array(|_| 0),
            "default_assignment_size" => self.random.below(5) as u64,
            "offset" | "transfer_size" => {
                self.random.pick(&[0, 1, 8, 24, 4096, u64::MAX, i64::MAX as u64, 1 << 63])
            }
            "id" | "local_hardware_id" => self.random.pick(&[0, 1, 2, u64::MAX, 1 << 31]),
            "error_code" | "status_code" => self.random.below(18) as u64,
            name if name.starts_with("num_") || name.ends_with("size") || name.ends_with("index") => {
                self.random.pick(&[0, 1, 2, 8, u64::MAX, 1 << 63])
            }
            // An output, or a member that the plugin does not read: a pointer to zeros.
            _ => self.random.pick(&[0, self.memory.as_ptr().expose_provenance() as u64]),
        }
    }

    /// Keeps a value until the call is over, and returns its address.
    pub(crate) fn keep<T: 'static>(&mut self, value: T) -> u64 {
        let kept = Box::new(value);
        let address = std::ptr::from_ref(&*kept).expose_provenance();
        self.nested.push(kept);
        address as u64
    }

    /// Returns a pointer that is sometimes null or not aligned.
    fn bent(&mut self, address: u64) -> u64 {
        match self.random.below(10) {
            0 => 0,
            1 => address + 1,
            _ => address,
        }
    }

    /// Returns an array of 64 elements.
    fn array<T: 'static>(&mut self, of: impl Fn(&mut SplitMix) -> T) -> u64 {
        let elements: Vec<T> = (0..64).map(|_| of(&mut self.random)).collect();
        let address = elements.as_ptr().expose_provenance() as u64;
        self.nested.push(Box::new(elements));
        self.bent(address)
    }

    /// Returns the number of elements of an array of 64.
    fn count(&mut self, right: usize) -> u64 {
        match self.random.below(8) {
            0 => self.random.below(9) as u64,
            1 => self.random.pick(&[u64::MAX, 1 << 63]),
            _ => right as u64,
        }
    }

    fn bytes(&mut self, bytes: &[u8]) -> u64 {
        let mut all = bytes.to_vec();
        all.resize(bytes.len().max(64), 0xff);
        let address = all.as_ptr().expose_provenance() as u64;
        self.nested.push(Box::new(all));
        self.bent(address)
    }

    fn dims(&mut self, function: &str) -> u64 {
        // The plugin reads as many elements as the dimensions state, so large ones would be invalid pointers.
        let reads = ["PJRT_Client_BufferFromHostBuffer", "PJRT_Client_CreateViewOfDeviceBuffer"];
        let extremes: &[i64] =
            if reads.contains(&function) { &[-1, i64::MIN] } else { &[-1, i64::MIN, i64::MAX, 1 << 62] };
        let extreme = self.random.pick(extremes);
        match self.random.below(4) {
            0 => self.array(|random| if random.one_in(3) { extreme } else { random.below(4) as i64 }),
            1 => self.array(|random| random.below(4) as i64),
            _ => {
                let all: Vec<i64> = [2, 3].into_iter().chain([1; 62]).collect();
                let address = all.as_ptr().expose_provenance() as u64;
                self.nested.push(Box::new(all));
                self.bent(address)
            }
        }
    }

    /// Returns a pointer to a place in the memory, with memory on both sides: strides may be negative.
    fn middle(&mut self, at: usize) -> u64 {
        let middle = self.memory.as_mut_ptr().wrapping_add(at / 8).expose_provenance() as u64;
        match self.random.below(8) {
            0 => 0,
            1 => middle + 1,
            _ => middle,
        }
    }

    fn element(&mut self) -> u64 {
        match self.random.below(4) {
            0 => self.random.below(40) as u64,
            1 => u64::from(u32::MAX),
            _ => u64::from(ElementType::F32.0),
        }
    }

    fn callback(&mut self, function: usize) -> u64 {
        if self.random.one_in(4) { 0 } else { function as u64 }
    }

    fn layout(&mut self) -> u64 {
        if self.random.one_in(2) {
            return 0;
        }
        let (orders, sizes) = (self.random.pick(&[[0i64, 1], [1, 0], [0, 0], [5, -1]]), self.count(2));
        let minor_to_major = self.keep(orders) as usize;
        let minor_to_major = if self.random.one_in(8) { 0 } else { minor_to_major };
        let strides = self.array(|random| i64::from(random.below(64) as i32)) as usize;
        let tiled = TiledLayout {
            struct_size: self.random.pick(&[size_of::<TiledLayout>(), 0, 8, usize::MAX]),
            extension_start: std::ptr::null_mut(),
            minor_to_major: std::ptr::with_exposed_provenance(minor_to_major),
            minor_to_major_size: if sizes > 2 && sizes < 10 { 2 } else { sizes as usize },
            tile_dims: std::ptr::null(),
            tile_dim_sizes: std::ptr::null(),
            num_tiles: self.random.pick(&[0, 0, 0, 1, usize::MAX]),
        };
        let strides = StridedLayout {
            struct_size: size_of::<StridedLayout>(),
            extension_start: std::ptr::null_mut(),
            byte_strides: std::ptr::with_exposed_provenance(strides),
            num_byte_strides: self.count(2) as usize,
        };
        let (layout, r#type) = match self.random.below(3) {
            0 => (LayoutUnion { strides }, LayoutType::STRIDES),
            1 => (LayoutUnion { tiled }, LayoutType(self.random.pick(&[2, 77, u32::MAX]))),
            _ => (LayoutUnion { tiled }, LayoutType::TILED),
        };
        let struct_size = self.struct_size(size_of::<MemoryLayout>());
        let address =
            self.keep(MemoryLayout { struct_size, extension_start: std::ptr::null_mut(), layout, r#type });
        self.bent(address)
    }

    fn program(&mut self, function: &str) -> u64 {
        let text = self.random.pick(&PROGRAMS).as_bytes().to_vec();
        let format = self.random.pick(&["mlir", "hlo", "hlo_with_config", "onnx", ""]);
        let format = if self.random.one_in(2) { "mlir" } else { format };
        let size = match self.random.below(8) {
            0 => self.random.below(text.len()),
            1 => self.random.pick(&[0, usize::MAX, 1 << 63]),
            _ => text.len(),
        };
        // The plugin writes to the memory of an optimized program, which is larger than any of them.
        let is_output = function == "PJRT_Executable_OptimizedProgram";
        let code =
            if is_output { self.middle(DESTINATION) as usize } else { text.as_ptr().expose_provenance() };
        let size = if is_output { self.random.pick(&[0, 1, MEMORY_BYTES / 8]) } else { size };
        let code = if self.random.one_in(10) { 0 } else { code };
        self.nested.push(Box::new(text));
        let format_data = if self.random.one_in(10) { std::ptr::null() } else { format.as_ptr().cast() };
        let format_size = self.random.pick(&[format.len(), format.len(), format.len(), 0, usize::MAX]);
        let struct_size = self.struct_size(size_of::<Program>());
        let address = self.keep(Program {
            struct_size,
            extension_start: std::ptr::null_mut(),
            code: std::ptr::with_exposed_provenance_mut(code),
            code_size: size,
            format: format_data,
            format_size,
        });
        self.bent(address)
    }

    fn shape_specs(&mut self) -> u64 {
        let mut specs = Vec::new();
        for _ in 0..3 {
            let dims = self.dims("PJRT_Client_CreateBuffersForAsyncHostToDevice") as usize;
            specs.push(ShapeSpec {
                struct_size: self.random.pick(&[size_of::<ShapeSpec>(), 0, usize::MAX]),
                extension_start: std::ptr::null_mut(),
                dims: std::ptr::with_exposed_provenance(dims),
                num_dims: self.count(2) as usize,
                element_type: ElementType(self.element() as u32),
            });
        }
        let address = specs.as_ptr().expose_provenance() as u64;
        self.nested.push(Box::new(specs));
        self.bent(address)
    }

    /// Returns 14 bytes of options and some that are not.
    fn compile_options(&mut self) -> u64 {
        // One replica of one partition, on device 0.
        let right = [0x1a, 12, 0x20, 1, 0x28, 1, 0x4a, 6, 0x1a, 4, 0x0a, 2, 0, 0];
        let mut bytes = right;
        if self.random.one_in(3) {
            let at = self.random.below(bytes.len());
            bytes[at] = self.random.next() as u8;
        }
        self.bytes(&bytes)
    }

    fn serialized(&mut self) -> u64 {
        let mut bytes = self.serialized.clone();
        if self.random.one_in(2) && !bytes.is_empty() {
            for _ in 0..self.random.below(4) {
                let at = self.random.below(bytes.len());
                bytes[at] = self.random.next() as u8;
            }
        }
        self.bytes(&bytes)
    }

    fn options(&mut self) -> u64 {
        let mut one = || NamedValue {
            struct_size: self.random.pick(&[size_of::<NamedValue>(), 0, usize::MAX]),
            extension_start: std::ptr::null_mut(),
            name: if self.random.one_in(8) { std::ptr::null() } else { c"num_devices".as_ptr() },
            name_size: self.random.pick(&[11, 11, 11, 3, 0, usize::MAX]),
            r#type: NamedValueType(self.random.pick(&[1, 1, 1, 2, 0, 3, 4, 77])),
            value: self.random.pick(&[1, 2, 2, 0, u64::MAX, 1 << 40]),
            value_size: 1,
        };
        let mut values = [one(), one(), one()];
        for value in &mut values {
            if matches!(value.r#type, NamedValueType::STRING | NamedValueType::INT64_LIST) {
                value.value = 0;
            }
        }
        let address = self.keep(values);
        self.bent(address)
    }

    fn execute_options(&mut self) -> u64 {
        if self.random.one_in(3) {
            return 0;
        }
        // SAFETY: all bits zero is a valid value of the struct (see `Struct`).
        let mut options: ExecuteOptions = unsafe { std::mem::zeroed() };
        options.struct_size = self.struct_size(size_of::<ExecuteOptions>());
        let context = if self.random.one_in(2) { 0 } else { self.handle(Kind::Context, false) };
        options.context = std::ptr::with_exposed_provenance_mut(context as usize);
        let kept = self.array(|random| random.below(4) as i64 - 1);
        options.non_donatable_input_indices = std::ptr::with_exposed_provenance(kept as usize);
        options.num_non_donatable_input_indices = self.random.pick(&[0, 1, 2, usize::MAX]);
        let address = self.keep(options);
        self.bent(address)
    }

    /// Returns a list for each of two devices: buffers, or room for results.
    fn lists(&mut self, kind: Kind, right_only: bool) -> u64 {
        let mut list = || {
            let handles: Vec<u64> = (0..64)
                .map(|_| if kind == Kind::Buffer { self.handle(kind, right_only) } else { 0 })
                .collect();
            let address = handles.as_ptr().expose_provenance() as u64;
            self.nested.push(Box::new(handles));
            if right_only { address } else { self.bent(address) }
        };
        let lists = [list(), list(), 0, 0];
        let address = self.keep(lists);
        self.bent(address)
    }
}

/// Callback of an event, which owns the error.
unsafe extern "C" fn destroy_argument(error: *mut ErrorHandle, _: *mut c_void) {
    let mut args = ErrorDestroy { error, ..ApiFunction::zeroed() };
    // SAFETY: the table is valid, and the error is null or owned by this function.
    unsafe { function::<ErrorDestroy>(farcall_pjrt::api()).expect("the table is complete")(&mut args) };
}

/// Callback for memory that is no longer used.
unsafe extern "C" fn ignore(_: *mut c_void, _: *mut c_void) {}
