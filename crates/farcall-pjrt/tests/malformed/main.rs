//! Malformed calls of the plugin's functions: wrong sizes, null pointers, wrong and freed handles, impossible
//! counts and types. Each call returns an error with a message and a known code, or succeeds.
//!
//! Pointers are null, misaligned, or valid for what the other arguments state: the plugin must survive
//! anything else that a caller can get wrong. Freed handles, and handles of another kind, are detected in
//! debug builds only.
//!
//! `FARCALL_MALFORMED_TRACE=1` prints every call before it is made, to find one that ends the process.
#![expect(clippy::print_stdout, reason = "the trace of calls")]

mod functions;
mod values;

use std::collections::BTreeMap;
use std::ffi::c_void;

use farcall_pjrt_abi::*;
use farcall_testing::{SplitMix, fuzz};

use functions::{Tested, extension, functions};

/// Number of calls. (`FARCALL_FUZZ_ITERATIONS` and `FARCALL_FUZZ_FACTOR` change it.)
const CALLS: u64 = 12_000;

/// Size in bytes of the memory that pointers refer to.
const MEMORY_BYTES: usize = 8 << 20;

/// Places in the memory from which the plugin reads, and to which it writes. They do not overlap: a buffer may
/// be a view of the memory from which it was created.
const SOURCE: usize = MEMORY_BYTES / 4;
const DESTINATION: usize = MEMORY_BYTES / 4 * 3;

/// Kinds of handles.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Kind {
    Client,
    Device,
    Description,
    Memory,
    Buffer,
    Event,
    /// An event that is not set: waiting for it would block the test.
    PendingEvent,
    Executable,
    Loaded,
    Topology,
    Context,
    Layout,
    Manager,
    Error,
}

const KINDS: [Kind; 14] = [
    Kind::Client,
    Kind::Device,
    Kind::Description,
    Kind::Memory,
    Kind::Buffer,
    Kind::Event,
    Kind::PendingEvent,
    Kind::Executable,
    Kind::Loaded,
    Kind::Topology,
    Kind::Context,
    Kind::Layout,
    Kind::Manager,
    Kind::Error,
];

/// Handles that a function returns for the caller to own.
const RETURNED: &[(&str, &str, Kind)] = &[
    ("PJRT_Client_Create", "client", Kind::Client),
    ("PJRT_Client_Compile", "executable", Kind::Loaded),
    ("PJRT_Client_Load", "loaded_executable", Kind::Loaded),
    ("PJRT_Executable_DeserializeAndLoad", "loaded_executable", Kind::Loaded),
    ("PJRT_LoadedExecutable_GetExecutable", "executable", Kind::Executable),
    ("PJRT_Compile", "executable", Kind::Executable),
    ("PJRT_Client_BufferFromHostBuffer", "buffer", Kind::Buffer),
    ("PJRT_Client_BufferFromHostBuffer", "done_with_host_buffer", Kind::Event),
    ("PJRT_Client_CreateViewOfDeviceBuffer", "buffer", Kind::Buffer),
    ("PJRT_Client_CreateUninitializedBuffer", "buffer", Kind::Buffer),
    ("PJRT_Client_CreateErrorBuffer", "buffer", Kind::Buffer),
    ("PJRT_Buffer_CopyToDevice", "dst_buffer", Kind::Buffer),
    ("PJRT_Buffer_CopyToMemory", "dst_buffer", Kind::Buffer),
    ("PJRT_Buffer_Bitcast", "out_buffer", Kind::Buffer),
    ("PJRT_Buffer_ToHostBuffer", "event", Kind::Event),
    ("PJRT_Buffer_CopyRawToHost", "event", Kind::Event),
    ("PJRT_Buffer_ReadyEvent", "event", Kind::Event),
    ("PJRT_Event_Create", "event", Kind::PendingEvent),
    ("PJRT_TopologyDescription_Create", "topology", Kind::Topology),
    ("PJRT_TopologyDescription_Deserialize", "topology", Kind::Topology),
    ("PJRT_ExecuteContext_Create", "context", Kind::Context),
    ("PJRT_Client_CreateBuffersForAsyncHostToDevice", "transfer_manager", Kind::Manager),
    ("PJRT_AsyncHostToDeviceTransferManager_TransferData", "done_with_h2d_transfer", Kind::Event),
    ("PJRT_AsyncHostToDeviceTransferManager_TransferLiteral", "done_with_h2d_transfer", Kind::Event),
    ("PJRT_Layouts_PJRT_Client_GetDefaultLayout", "layout", Kind::Layout),
    ("PJRT_Layouts_PJRT_Topology_GetDefaultLayout", "layout", Kind::Layout),
    ("PJRT_Layouts_PJRT_Buffer_MemoryLayout", "layout", Kind::Layout),
];

/// Programs that calls of `PJRT_Client_Compile` pass.
const PROGRAMS: [&str; 6] = [
    "func.func @main(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
       %0 = stablehlo.add %x, %x : tensor<2x3xf32>
       return %0 : tensor<2x3xf32>
     }",
    "func.func @main(%x: tensor<2x3xf32> {jax.buffer_donor = true}, %y: tensor<2x3xf32>)
         -> (tensor<2x3xf32>, tensor<2x3xf32>) {
       %0 = stablehlo.multiply %x, %y : tensor<2x3xf32>
       return %0, %y : tensor<2x3xf32>, tensor<2x3xf32>
     }",
    "func.func @main() -> tensor<400x400xf32> {
       %0 = stablehlo.iota dim = 0 : tensor<400x400xf32>
       %1 = stablehlo.dot_general %0, %0, contracting_dims = [1] x [0]
         : (tensor<400x400xf32>, tensor<400x400xf32>) -> tensor<400x400xf32>
       return %1 : tensor<400x400xf32>
     }",
    "func.func @main(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
       %0 = stablehlo.custom_call @nobody(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
       return %0 : tensor<2x3xf32>
     }",
    "func.func @main(%x: tensor<2x3xf32>) -> tensor<9xf32> { return %x : tensor<2x3xf32> }",
    "func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> { return %x : tensor<?xf32> }",
];

/// A call of a function, with its arguments as bytes.
struct CallUnderTest {
    /// Index of the function.
    index: usize,
    /// Arguments, in a buffer that starts at a multiple of 8.
    words: Vec<u64>,
}

/// Live and freed handles, and the memory that pointers refer to.
struct World {
    api: *const Api,
    functions: Vec<Tested>,
    random: SplitMix,
    live: BTreeMap<Kind, Vec<usize>>,
    freed: Vec<usize>,
    memory: Box<[u64]>,
    serialized: Vec<u8>,
    /// Structs that the arguments of the current call point to.
    nested: Vec<Box<dyn std::any::Any>>,
    /// Faults in the plugin that it reported as errors: `function: message`.
    faults: Vec<String>,
    errors: u64,
    is_traced: bool,
}

#[test]
fn malformed_calls_are_errors() {
    let mut world = World::new(SplitMix::new(fuzz::seed()));
    for i in 0..fuzz::iterations(CALLS) {
        world.refill();
        world.call_once();
        if i % 1000 == 0 {
            world.compile_and_run();
        }
    }
    world.compile_and_run();
    world.faults.sort();
    world.faults.dedup();
    assert!(world.faults.is_empty(), "{} faults:\n{}", world.faults.len(), world.faults.join("\n"));
    assert!(world.errors > fuzz::iterations(CALLS) / 2, "only {} calls returned errors", world.errors);
}

impl World {
    fn new(random: SplitMix) -> World {
        let api = farcall_pjrt::api();
        let memory = vec![0u64; MEMORY_BYTES / 8].into_boxed_slice();
        let is_traced = std::env::var_os("FARCALL_MALFORMED_TRACE").is_some();
        let (live, freed, nested) = (BTreeMap::new(), Vec::new(), Vec::new());
        let (serialized, faults) = (Vec::new(), Vec::new());
        World {
            api,
            functions: functions(api),
            random,
            live,
            freed,
            memory,
            serialized,
            nested,
            faults,
            errors: 0,
            is_traced,
        }
    }

    /// Makes one call with malformed arguments.
    fn call_once(&mut self) {
        let index = self.random.below(self.functions.len());
        let Tested { name, struct_size, size, ref members, .. } = self.functions[index];
        let members = members.clone();
        let mut call = CallUnderTest { index, words: vec![0; size.div_ceil(8) + 1] };
        let right_only = self.random.one_in(3);
        for (i, (member, at)) in members.iter().enumerate() {
            let end = members.get(i + 1).map_or(size, |(_, at)| *at).min(at + 8);
            let value = if self.random.one_in(12) {
                0
            } else {
                self.member(name, member.trim_start_matches("r#"), right_only)
            };
            call.set(*at, &value.to_ne_bytes()[..end - at]);
        }
        let given = if right_only { struct_size } else { self.struct_size(struct_size) };
        call.set(0, &given.to_ne_bytes());
        if self.random.one_in(4) && members.first().is_some_and(|(_, at)| *at > 8) {
            // Extensions of callers are ignored.
            let struct_size = self.random.number() as usize;
            let extension = self.keep(ExtensionBase {
                struct_size,
                r#type: ExtensionType(77),
                next: std::ptr::null_mut(),
            });
            call.set(8, &extension.to_ne_bytes());
        }
        let args = match self.random.below(40) {
            0 => std::ptr::null_mut(),
            1 => call.words.as_mut_ptr().cast::<u8>().wrapping_add(1).cast(),
            _ => call.words.as_mut_ptr().cast::<c_void>(),
        };
        let is_plain = args == call.words.as_mut_ptr().cast();
        if self.waits_forever(&call) {
            return;
        }
        if self.is_traced {
            let at = |at: &usize| format!("{:x}", call.get(*at));
            let shown: Vec<String> =
                members.iter().map(|(m, offset)| format!("{m}={}", at(offset))).collect();
            println!(
                "{name} args={} size={given} {}",
                if is_plain { "plain" } else { "bad" },
                shown.join(" ")
            );
        }
        let before = call.words.clone();
        let ok = self.call(&call, args);
        if ok && is_plain {
            self.note(&before, &call, given);
        }
        self.nested.clear();
    }

    /// Calls the function. Returns true for success; counts and checks an error.
    fn call(&mut self, call: &CallUnderTest, args: *mut c_void) -> bool {
        let Tested { name, function, .. } = self.functions[call.index];
        if matches!(name, "PJRT_Error_Destroy" | "PJRT_Error_Message") {
            // SAFETY: these functions return nothing.
            let function: unsafe extern "C" fn(*mut c_void) = unsafe { std::mem::transmute(function) };
            // SAFETY: the pointers are valid for what the arguments state, or malformed on purpose.
            unsafe { function(args) };
            return true;
        }
        // SAFETY: function pointers have one size.
        let function: ApiEntry<c_void> = unsafe { std::mem::transmute(function) };
        // SAFETY: the pointers are valid for what the arguments state, or malformed on purpose.
        let error = unsafe { function(args) };
        if error.is_null() {
            return true;
        }
        let (message, code) = self.described(error);
        self.errors += 1;
        if message.is_empty() || code.name().is_none() || code == ErrorCode::OK {
            self.faults.push(format!("{}: error with code {} and message {message:?}", name, code.0));
        }
        if message.contains("a fault in farcall") {
            self.faults.push(message);
        }
        false
    }

    /// Returns the message and code of an error, and frees it.
    fn described(&self, error: *mut ErrorHandle) -> (String, ErrorCode) {
        let mut message = ErrorMessage { error, ..ApiFunction::zeroed() };
        let mut code = ErrorGetCode { error, ..ApiFunction::zeroed() };
        assert!(self.plain(&mut message) && self.plain(&mut code));
        // SAFETY: the text belongs to the live error.
        let text = unsafe { std::slice::from_raw_parts(message.message.cast::<u8>(), message.message_size) };
        let text = String::from_utf8(text.to_vec()).expect("messages are UTF-8");
        assert!(self.plain(&mut ErrorDestroy { error, ..ApiFunction::zeroed() }));
        (text, code.code)
    }

    /// Makes a valid call of a function that returns nothing, or must succeed.
    fn plain<A: ApiFunction>(&self, args: &mut A) -> bool {
        // SAFETY: the table of the plugin has all functions, and the arguments are valid.
        let error = unsafe { function::<A>(self.api).expect("the table is complete")(args) };
        matches!(A::NAME, "PJRT_Error_Destroy" | "PJRT_Error_Message") || error.is_null()
    }

    /// Makes a valid call.
    fn must<A: ApiFunction>(&self, mut args: A) -> A {
        // SAFETY: the table of the plugin has all functions, and the arguments are valid.
        let error = unsafe { function::<A>(self.api).expect("the table is complete")(&mut args) };
        assert!(error.is_null(), "{}: {}", A::NAME, self.described(error).0);
        args
    }

    /// Takes note of handles that a successful call returned or freed.
    fn note(&mut self, before: &[u64], call: &CallUnderTest, given: usize) {
        let Tested { name, ref members, .. } = self.functions[call.index];
        let members = members.clone();
        let at = |member: &str| members.iter().find(|(m, _)| *m == member).map(|(_, at)| *at);
        for (_, member, kind) in RETURNED.iter().filter(|(function, ..)| *function == name) {
            let place = at(member).unwrap_or_else(|| panic!("{name} has no {member}"));
            let handle = call.get(place) as usize;
            if place + 8 <= given && handle as u64 != before[place / 8] && handle != 0 {
                self.live.entry(*kind).or_default().push(handle);
            }
        }
        if name.ends_with("_Destroy") {
            let handle = call.get(members[0].1) as usize;
            let found = self.live.values_mut().find_map(|all| {
                let place = all.iter().position(|h| *h == handle)?;
                Some(all.swap_remove(place))
            });
            self.freed.extend(found);
        }
        if name == "PJRT_Event_Set" {
            let handle = call.get(members[0].1) as usize;
            let pending = self.live.entry(Kind::PendingEvent).or_default();
            if let Some(place) = pending.iter().position(|h| *h == handle) {
                pending.swap_remove(place);
                self.live.entry(Kind::Event).or_default().push(handle);
            }
        }
        if name == "PJRT_LoadedExecutable_Execute" {
            // The lists begin with zeros, so a handle is what the plugin wrote.
            for (list, kind) in [("output_lists", Kind::Buffer), ("device_complete_events", Kind::Event)] {
                let place = at(list).expect("the call has these lists");
                if place + 8 <= given && call.get(place) != 0 {
                    let lists: Vec<usize> = match kind {
                        Kind::Buffer => self.words_at(call.get(place) as usize, 1),
                        _ => vec![call.get(place) as usize],
                    };
                    for list in lists.into_iter().filter(|list| *list != 0) {
                        let handles = self.words_at(list, if kind == Kind::Buffer { 8 } else { 1 });
                        self.live.entry(kind).or_default().extend(handles.into_iter().filter(|h| *h != 0));
                    }
                }
            }
        }
        if name == "PJRT_Executable_Serialize" && given >= ExecutableSerialize::STRUCT_SIZE {
            // SAFETY: the call returned all members of its arguments.
            let args = unsafe { call.words.as_ptr().cast::<ExecutableSerialize>().read() };
            if let Some(free) = args.serialized_executable_deleter {
                // SAFETY: the plugin returned the object and its deleter.
                unsafe { free(args.serialized_executable) };
            }
        }
        if name == "PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer" {
            // Nobody may ever fill the buffer, so calls that wait for it would block the test.
            let place = at("buffer_out").expect("the call returns a buffer");
            let handle = call.get(place) as usize;
            if place + 8 <= given && handle != 0 && handle as u64 != before[place / 8] {
                self.free(Kind::Buffer, handle);
            }
        }
        if name == "PJRT_Layouts_MemoryLayout_Serialize" && given >= size_of::<LayoutSerialize>() {
            // SAFETY: the call returned all members of its arguments.
            let args = unsafe { call.words.as_ptr().cast::<LayoutSerialize>().read() };
            if let Some(free) = args.serialized_layout_deleter {
                // SAFETY: the plugin returned the object and its deleter.
                unsafe { free(args.serialized_layout) };
            }
        }
        if name == "PJRT_Client_Destroy" {
            // The devices of the destroyed client would be used with other clients.
            for client in self.live.remove(&Kind::Client).unwrap_or_default() {
                self.free(Kind::Client, client);
            }
        }
        // Too many handles would only make the test slow.
        for kind in KINDS {
            while self.live.get(&kind).is_some_and(|all| all.len() > 24) {
                let handle = self.live.get_mut(&kind).expect("the kind has handles").remove(0);
                self.free(kind, handle);
            }
        }
        let excess = self.freed.len().saturating_sub(64);
        self.freed.drain(..excess);
    }

    /// Copies words from an address of this test.
    fn words_at(&self, address: usize, count: usize) -> Vec<usize> {
        // SAFETY: the address is one of a list that the test made with at least as many words.
        unsafe { std::slice::from_raw_parts(std::ptr::with_exposed_provenance::<usize>(address), count) }
            .to_vec()
    }

    /// Frees a handle with a valid call. (The client's own objects are not freed.)
    fn free(&mut self, kind: Kind, handle: usize) {
        let pointer = std::ptr::with_exposed_provenance_mut::<c_void>(handle);
        match kind {
            Kind::Client => {
                self.must(ClientDestroy { client: pointer.cast(), ..ApiFunction::zeroed() });
            }
            Kind::Buffer => {
                self.must(BufferDestroy { buffer: pointer.cast(), ..ApiFunction::zeroed() });
            }
            Kind::Event | Kind::PendingEvent => {
                self.must(EventDestroy { event: pointer.cast(), ..ApiFunction::zeroed() });
            }
            Kind::Executable => {
                self.must(ExecutableDestroy { executable: pointer.cast(), ..ApiFunction::zeroed() });
            }
            Kind::Loaded => {
                self.must(LoadedExecutableDestroy { executable: pointer.cast(), ..ApiFunction::zeroed() });
            }
            Kind::Topology => {
                self.must(TopologyDescriptionDestroy { topology: pointer.cast(), ..ApiFunction::zeroed() });
            }
            Kind::Context => {
                self.must(ExecuteContextDestroy { context: pointer.cast(), ..ApiFunction::zeroed() });
            }
            Kind::Manager => {
                let transfer_manager = pointer.cast();
                self.must(AsyncHostToDeviceTransferManagerDestroy {
                    transfer_manager,
                    ..ApiFunction::zeroed()
                });
            }
            Kind::Layout => self.layout_destroy(pointer.cast()),
            Kind::Error => {
                assert!(self.plain(&mut ErrorDestroy { error: pointer.cast(), ..ApiFunction::zeroed() }));
            }
            Kind::Device | Kind::Description | Kind::Memory => {}
        }
        self.freed.push(handle);
    }

    fn layout_destroy(&self, layout: *mut LayoutHandle) {
        let destroy = extension::<LayoutsExtension>(self.api, ExtensionType::LAYOUTS).memory_layout_destroy;
        let mut args = LayoutDestroy {
            struct_size: size_of::<LayoutDestroy>(),
            extension_start: std::ptr::null_mut(),
            layout,
        };
        // SAFETY: the layout is live.
        assert!(unsafe { destroy.expect("the extension is complete")(&mut args) }.is_null());
    }

    /// Returns true for a call that would wait for an event that nobody sets.
    fn waits_forever(&self, call: &CallUnderTest) -> bool {
        let pending = self.live.get(&Kind::PendingEvent);
        self.functions[call.index].name == "PJRT_Event_Await"
            && pending.is_some_and(|all| all.contains(&(call.get(EventAwait::MEMBERS[0].1) as usize)))
    }

    /// Creates what has been freed.
    fn refill(&mut self) {
        let count = |world: &World, kind| world.live.get(&kind).map_or(0, Vec::len);
        if count(self, Kind::Client) == 0 {
            let option = NamedValue {
                struct_size: size_of::<NamedValue>(),
                extension_start: std::ptr::null_mut(),
                name: c"num_devices".as_ptr(),
                name_size: 11,
                r#type: NamedValueType::INT64,
                value: 2,
                value_size: 1,
            };
            let args =
                ClientCreate { create_options: &raw const option, num_options: 1, ..ApiFunction::zeroed() };
            let client = self.must(args).client;
            self.add(Kind::Client, client);
            let devices = self.must(ClientDevices { client, ..ApiFunction::zeroed() });
            // SAFETY: the arrays belong to the live client.
            let devices =
                unsafe { std::slice::from_raw_parts(devices.devices, devices.num_devices) }.to_vec();
            self.live.remove(&Kind::Device);
            self.live.remove(&Kind::Memory);
            self.live.remove(&Kind::Description);
            for device in devices {
                self.add(Kind::Device, device);
                let described = self.must(DeviceGetDescription { device, ..ApiFunction::zeroed() });
                self.add(Kind::Description, described.device_description);
                let memories = self.must(DeviceAddressableMemories { device, ..ApiFunction::zeroed() });
                // SAFETY: the array belongs to the live client.
                let all = unsafe { std::slice::from_raw_parts(memories.memories, memories.num_memories) };
                let all: Vec<_> = all.to_vec();
                for memory in all {
                    self.add(Kind::Memory, memory);
                }
            }
        }
        let client = std::ptr::with_exposed_provenance_mut(self.live[&Kind::Client][0]);
        while count(self, Kind::Buffer) < 3 {
            let (buffer, event) = self.buffer(client, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
            self.add(Kind::Buffer, buffer);
            self.add(Kind::Event, event);
        }
        while count(self, Kind::Loaded) < 2 {
            let loaded = self.loaded(client, PROGRAMS[self.live.get(&Kind::Loaded).map_or(0, Vec::len)]);
            self.add(Kind::Loaded, loaded);
        }
        if count(self, Kind::Executable) == 0 {
            let loaded = std::ptr::with_exposed_provenance_mut(self.live[&Kind::Loaded][0]);
            let args = LoadedExecutableGetExecutable { loaded_executable: loaded, ..ApiFunction::zeroed() };
            let executable = self.must(args).executable;
            self.add(Kind::Executable, executable);
        }
        if self.serialized.is_empty() {
            let executable = std::ptr::with_exposed_provenance_mut(self.live[&Kind::Executable][0]);
            let args = self.must(ExecutableSerialize { executable, ..ApiFunction::zeroed() });
            let (data, size) = (args.serialized_bytes.cast::<u8>(), args.serialized_bytes_size);
            // SAFETY: the plugin returned these bytes, which are freed below.
            self.serialized = unsafe { std::slice::from_raw_parts(data, size) }.to_vec();
            let free = args.serialized_executable_deleter.expect("the bytes are freed");
            // SAFETY: the plugin returned the object and its deleter.
            unsafe { free(args.serialized_executable) };
        }
        if count(self, Kind::Event) == 0 {
            let buffer = std::ptr::with_exposed_provenance_mut(self.live[&Kind::Buffer][0]);
            let mut args = BufferReadyEvent { buffer, ..ApiFunction::zeroed() };
            if self.plain(&mut args) {
                self.add(Kind::Event, args.event);
            }
        }
        if count(self, Kind::PendingEvent) == 0 {
            let event = self.must(EventCreate::zeroed()).event;
            self.add(Kind::PendingEvent, event);
        }
        if count(self, Kind::Topology) == 0 {
            let topology = self.must(TopologyDescriptionCreate::zeroed()).topology;
            self.add(Kind::Topology, topology);
        }
        if count(self, Kind::Context) == 0 {
            let context = self.must(ExecuteContextCreate::zeroed()).context;
            self.add(Kind::Context, context);
        }
        if count(self, Kind::Error) == 0 {
            // SAFETY: a call without a buffer is an error.
            let error = unsafe {
                function::<BufferDelete>(self.api).expect("the table is complete")(&mut ApiFunction::zeroed())
            };
            self.add(Kind::Error, error);
        }
    }

    fn add<H>(&mut self, kind: Kind, handle: *mut H) {
        assert!(!handle.is_null());
        self.live.entry(kind).or_default().push(handle.expose_provenance());
    }

    fn buffer(&self, client: *mut ClientHandle, numbers: &[f32; 6]) -> (*mut BufferHandle, *mut EventHandle) {
        let dims = [2i64, 3];
        let args = self.must(ClientBufferFromHostBuffer {
            client,
            data: numbers.as_ptr().cast(),
            r#type: ElementType::F32,
            dims: dims.as_ptr(),
            num_dims: 2,
            ..ApiFunction::zeroed()
        });
        (args.buffer, args.done_with_host_buffer)
    }

    fn loaded(&self, client: *mut ClientHandle, text: &str) -> *mut LoadedExecutableHandle {
        let mut program = Program {
            struct_size: size_of::<Program>(),
            extension_start: std::ptr::null_mut(),
            code: text.as_ptr().cast_mut().cast(),
            code_size: text.len(),
            format: c"mlir".as_ptr(),
            format_size: 4,
        };
        self.must(ClientCompile { client, program: &raw mut program, ..ApiFunction::zeroed() }).executable
    }

    /// Compiles and runs a program as a careful caller does.
    fn compile_and_run(&self) {
        let client = self.must(ClientCreate::zeroed()).client;
        let loaded = self.loaded(client, PROGRAMS[0]);
        let (buffer, event) = self.buffer(client, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        let arguments = [buffer];
        let mut results = [std::ptr::null_mut::<BufferHandle>()];
        let (argument_lists, output_lists) = ([arguments.as_ptr()], [results.as_mut_ptr()]);
        self.must(LoadedExecutableExecute {
            executable: loaded,
            argument_lists: argument_lists.as_ptr(),
            num_devices: 1,
            num_args: 1,
            output_lists: output_lists.as_ptr(),
            ..ApiFunction::zeroed()
        });
        let mut numbers = [0f32; 6];
        let copied = self.must(BufferToHostBuffer {
            src: results[0],
            dst: numbers.as_mut_ptr().cast(),
            dst_size: 24,
            ..ApiFunction::zeroed()
        });
        self.must(EventAwait { event: copied.event, ..ApiFunction::zeroed() });
        assert_eq!(numbers, [2.0, 4.0, 6.0, 8.0, 10.0, 12.0]);
        for event in [event, copied.event] {
            self.must(EventDestroy { event, ..ApiFunction::zeroed() });
        }
        for buffer in [buffer, results[0]] {
            self.must(BufferDestroy { buffer, ..ApiFunction::zeroed() });
        }
        self.must(LoadedExecutableDestroy { executable: loaded, ..ApiFunction::zeroed() });
        self.must(ClientDestroy { client, ..ApiFunction::zeroed() });
    }
}

impl CallUnderTest {
    fn set(&mut self, at: usize, bytes: &[u8]) {
        // SAFETY: the arguments have at least as many bytes.
        unsafe {
            let to = self.words.as_mut_ptr().cast::<u8>().add(at);
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len());
        }
    }

    /// Returns the word at an offset.
    fn get(&self, at: usize) -> u64 {
        // SAFETY: the arguments have at least as many bytes, and one more word.
        unsafe { self.words.as_ptr().cast::<u8>().add(at).cast::<u64>().read_unaligned() }
    }
}
