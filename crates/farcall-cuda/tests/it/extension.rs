//! Extensions of the interface: how a handler finds and uses them, with a stand-in for the host's side.

use std::cell::RefCell;
use std::ffi::{CStr, c_char, c_void};
use std::ptr::{null, null_mut};

use expect_test::expect;
use farcall_cuda::extension::abi::{self, Command, KernelArgs, RecordApi, RecordContext, RecordFrame};
use farcall_cuda::extension::{Clique, CliqueMode, Collectives, Recorder};
use farcall_cuda::nccl::ReduceOp;
use farcall_cuda::{CudaStream, PerDevice, kernels};
use farcall_ffi::abi::{Error as HostError, Extension, ExtensionId};
use farcall_ffi::prelude::*;
use farcall_ffi::testing::Call;
use farcall_testing::process::alone;

use crate::errors::check;
use crate::standin::{OnStandin, Standin};

const PTX: &str = ".visible .entry scale(.param .u64 x, .param .u64 y, .param .f32 by) { ret; }";

kernels! {
    struct Kernels = PTX.as_bytes();
    unsafe fn scale(x: *const f32, y: *mut f32, by: f32);
}

static KERNELS: PerDevice<Kernels> = PerDevice::new();

#[stage(initialize)]
fn load(stream: &CudaStream) -> Result<()> {
    KERNELS.get_or_init(stream, Kernels::load).map(drop)
}

/// A record function, which the test calls as an execute function: its frame is the same.
#[handler(name = "recorded", platform = "CUDA", initialize = load)]
fn recorded(x: &GpuBuffer<f32>, y: &mut GpuBuffer<f32>, stream: &CudaStream, host: &Context) -> Result<()> {
    // SAFETY: each call records a launch, a copy and a command that joins them.
    let Some(recorder) = (unsafe { Recorder::of(host)? }) else {
        return Err(Error::unknown("nothing records"));
    };
    let kernels = KERNELS.get(stream)?;
    let rows = x.len() / 3;
    // SAFETY: the stand-in runs no kernels.
    let first = unsafe { recorder.launch(&kernels.scale, (rows, 3), 64, 128u32, (&x, &y, &2.5f32), &[]) }?;
    let second = recorder.copy(x, y, &[first])?;
    recorder.join(&[first, second]).map(drop)
}

/// Records a copy from scratch memory.
#[handler(name = "from_scratch", platform = "CUDA")]
fn from_scratch(x: &GpuBuffer<f32>, y: &mut GpuBuffer<f32>, host: &Context) -> Result<()> {
    // SAFETY: each call records a copy.
    let recorder = unsafe { Recorder::of(host)? }.expect("the test has a recorder");
    recorder.copy(&host.gpu_scratch::<f32>(x.len())?, y, &[]).map(drop)
}

/// Records a launch that writes scratch memory.
#[handler(name = "to_scratch", platform = "CUDA", initialize = load)]
fn to_scratch(
    x: &GpuBuffer<f32>,
    _y: &mut GpuBuffer<f32>,
    stream: &CudaStream,
    host: &Context,
) -> Result<()> {
    // SAFETY: each call records a launch.
    let recorder = unsafe { Recorder::of(host)? }.expect("the test has a recorder");
    let (kernels, mut scratch) = (KERNELS.get(stream)?, host.gpu_scratch::<f32>(x.len())?);
    // SAFETY: the stand-in runs no kernels.
    unsafe { recorder.launch(&kernels.scale, 1, 1, 0u32, (&x, &&mut scratch, &2.5f32), &[]).map(drop) }
}

#[handler(name = "gives_up", platform = "CUDA")]
fn gives_up(_x: &GpuBuffer<f32>, _y: &mut GpuBuffer<f32>, host: &Context) -> Result<()> {
    // SAFETY: no call records commands.
    unsafe { Recorder::of(host)? }.expect("the test has a recorder").capture_stream()
}

thread_local! {
    static LOG: RefCell<String> = const { RefCell::new(String::new()) };
}

fn log(line: String) {
    LOG.with_borrow_mut(|log| *log += &(line + "\n"));
}

fn taken() -> String {
    LOG.take()
}

/// Prints the arguments of the only kernel, of which the last is a number.
unsafe fn print(args: *const KernelArgs) -> String {
    // SAFETY: the test's kernel has three arguments.
    let args = unsafe {
        assert_eq!((*args).num_args, 3);
        std::slice::from_raw_parts((*args).args, 3)
    };
    let kinds: Vec<_> = args.iter().map(|arg| (arg.r#type, arg.size)).collect();
    assert_eq!(kinds, [(abi::DEVICE_PTR, 0), (abi::DEVICE_PTR, 0), (abi::HOST_VALUE, 4)]);
    // SAFETY: the value is an `f32`.
    let by = unsafe { *args[2].arg_address.cast::<f32>() };
    format!("{:?}, {:?}, {by}", args[0].arg_address, args[1].arg_address)
}

unsafe fn print_commands(commands: *const *const Command, count: u32) -> String {
    // SAFETY: the handler passes as many commands.
    let commands = unsafe { std::slice::from_raw_parts(commands, count as usize) };
    commands.iter().map(|command| format!(" after {command:?}")).collect()
}

/// A command is the number of commands so far.
fn next() -> *const Command {
    let count = LOG.with_borrow(|log| log.lines().count());
    std::ptr::without_provenance(count)
}

unsafe extern "C" fn create_launch(
    _: *mut RecordContext,
    name: *const c_char,
    kernel: *const c_void,
    size: i64,
    format: u32,
    dims: abi::RecordLaunchDims,
    shared: u32,
    pdl: i32,
    args: *const KernelArgs,
    dependencies: *const *const Command,
    count: u32,
    out: *mut *const Command,
) -> *mut HostError {
    // SAFETY: the handler passes valid pointers.
    unsafe {
        let (name, args) = (CStr::from_ptr(name).to_str().unwrap(), print(args));
        let (grid, block, cluster) = (dims.grid, dims.block, dims.cluster);
        assert!(!kernel.is_null());
        log(format!(
            "launch {name} ({size}, {format}) {}×{}×{}, {}×{}×{}, {}×{}×{}, {shared}, {pdl}, ({args}){}",
            grid.x,
            grid.y,
            grid.z,
            block.x,
            block.y,
            block.z,
            cluster.x,
            cluster.y,
            cluster.z,
            print_commands(dependencies, count)
        ));
        *out = next();
    }
    null_mut()
}

unsafe extern "C" fn update_launch(
    _: *mut RecordContext,
    command: *const Command,
    args: *const KernelArgs,
) -> *mut HostError {
    // SAFETY: the handler passes valid pointers.
    log(format!("update {command:?}: ({})", unsafe { print(args) }));
    null_mut()
}

unsafe extern "C" fn create_copy(
    _: *mut RecordContext,
    to: *mut c_void,
    from: *mut c_void,
    size: i64,
    dependencies: *const *const Command,
    count: u32,
    out: *mut *const Command,
) -> *mut HostError {
    // SAFETY: the handler passes valid pointers.
    unsafe {
        log(format!("copy {to:?}, {from:?}, {size}{}", print_commands(dependencies, count)));
        *out = next();
    }
    null_mut()
}

unsafe extern "C" fn update_copy(
    _: *mut RecordContext,
    command: *const Command,
    to: *mut c_void,
    from: *mut c_void,
    size: i64,
) -> *mut HostError {
    log(format!("update {command:?}: {to:?}, {from:?}, {size}"));
    null_mut()
}

unsafe extern "C" fn request_capture(_: *mut RecordContext) -> *mut HostError {
    log("capture the stream".to_owned());
    null_mut()
}

unsafe extern "C" fn create_empty(
    _: *mut RecordContext,
    dependencies: *const *const Command,
    count: u32,
    out: *mut *const Command,
) -> *mut HostError {
    // SAFETY: the handler passes valid pointers.
    unsafe {
        log(format!("nothing{}", print_commands(dependencies, count)));
        *out = next();
    }
    null_mut()
}

const API: RecordApi = RecordApi {
    create_launch: Some(create_launch),
    update_launch: Some(update_launch),
    create_memcpy_d2d: Some(create_copy),
    update_memcpy_d2d: Some(update_copy),
    request_stream_capture: Some(request_capture),
    create_empty_command: Some(create_empty),
};

fn header(size: usize, extension_type: i64, minor_version: i32) -> Extension {
    let id = ExtensionId { extension_type, major_version: 0, minor_version };
    Extension { struct_size: size, id, next: null() }
}

/// The commands of a call, as the host keeps them.
#[derive(Default)]
struct Recorded {
    commands: Vec<*const Command>,
}

impl Recorded {
    /// Records a call of a handler with `len` elements, as a host whose extension has version 0.`minor`.
    fn call<H: farcall_ffi::__private::HandlerOp>(
        &mut self,
        action: u32,
        minor: i32,
        len: usize,
    ) -> Result<()> {
        let mut num_commands = self.commands.len() as i64;
        self.commands.resize(4, null());
        let mut frame = RecordFrame {
            record_ctx: null_mut(),
            api: &API,
            action,
            commands: self.commands.as_mut_ptr(),
            num_commands: &mut num_commands,
            max_commands: 4,
        };
        let record = abi::RecordExtension {
            extension_base: header(abi::RecordExtension::STRUCT_SIZE, abi::RECORD, minor),
            record_frame: &mut frame,
        };
        // The host has other extensions, too.
        let first = Extension { next: &record.extension_base, ..header(size_of::<Extension>(), 7, 0) };
        // Updates have other addresses.
        let address = 0x1000 * (1 + action as usize);
        let call = Call::to::<H>().gpu_operand::<f32>(address, &[len]).on_standin(0);
        // SAFETY: the extensions are valid until the call is over.
        let outcome = unsafe { call.gpu_result::<f32>(address + 0x100, &[len]).extensions(&first) }.run();
        self.commands.truncate(num_commands as usize);
        outcome
    }
}

#[test]
fn a_record_function_creates_and_updates_commands() {
    alone("extension::a_record_function_creates_and_updates_commands", || {
        let Some(_standin) = Standin::open() else { return };
        let mut site = Recorded::default();
        check(site.call::<recorded>(abi::CREATE, 2, 6), expect!["()"]);
        expect![[r#"
            launch scale (0, 2) 2×3×1, 64×1×1, 0×0×0, 128, 0, (0x1000, 0x1100, 2.5)
            copy 0x1100, 0x1000, 24 after 0x1
            nothing after 0x1 after 0x2
        "#]]
        .assert_eq(&taken());
        check(site.call::<recorded>(abi::UPDATE, 2, 6), expect!["()"]);
        expect![[r#"
            update 0x1: (0x2000, 0x2100, 2.5)
            update 0x2: 0x2100, 0x2000, 24
        "#]]
        .assert_eq(&taken());
        check(
            site.call::<recorded>(abi::CREATE, 2, 6),
            expect!["RESOURCE_EXHAUSTED: recorded: the host records at most 4 commands of a call"],
        );
        check(
            site.call::<recorded>(abi::CREATE, 3, 6),
            expect![
                "UNIMPLEMENTED: recorded: the host's extension for recording has version 0.3, but farcall-cuda was made for 0.2"
            ],
        );
        site.commands.truncate(1);
        check(
            site.call::<recorded>(abi::UPDATE, 2, 6),
            expect![
                "FAILED_PRECONDITION: recorded: the update has more commands than were recorded, which are 1"
            ],
        );
    });
}

#[test]
fn launches_and_copies_of_nothing_are_empty_commands() {
    alone("extension::launches_and_copies_of_nothing_are_empty_commands", || {
        let Some(_standin) = Standin::open() else { return };
        let mut site = Recorded::default();
        check(site.call::<recorded>(abi::CREATE, 2, 0), expect!["()"]);
        expect![[r#"
            nothing
            nothing after 0x1
            nothing after 0x1 after 0x2
        "#]]
        .assert_eq(&taken());
        check(site.call::<recorded>(abi::UPDATE, 2, 0), expect!["()"]);
        assert_eq!(taken(), "");
    });
}

#[test]
fn commands_do_not_use_scratch_memory() {
    alone("extension::commands_do_not_use_scratch_memory", || {
        let Some(_standin) = Standin::open() else { return };
        check(
            Recorded::default().call::<from_scratch>(abi::CREATE, 2, 6),
            expect![
                "FAILED_PRECONDITION: from_scratch: scratch memory of the call cannot be used while the stream is recorded into a CUDA graph, which would access it after the call: declare another result, or allocate memory in the handler's initialize stage"
            ],
        );
        check(
            Recorded::default().call::<to_scratch>(abi::CREATE, 2, 6),
            expect![
                "FAILED_PRECONDITION: to_scratch: kernel `scale`: scratch memory of the call cannot be used while the stream is recorded into a CUDA graph, which would access it after the call: declare another result, or allocate memory in the handler's initialize stage"
            ],
        );
        assert_eq!(taken(), "");
    });
}

#[test]
fn a_record_function_can_ask_for_the_capture_of_a_stream() {
    alone("extension::a_record_function_can_ask_for_the_capture_of_a_stream", || {
        let Some(_standin) = Standin::open() else { return };
        check(Recorded::default().call::<gives_up>(abi::CREATE, 2, 6), expect!["()"]);
        assert_eq!(taken(), "capture the stream\n");
    });
}

#[test]
fn hosts_without_the_extensions() {
    alone("extension::hosts_without_the_extensions", || {
        let Some(_standin) = Standin::open() else { return };
        let call = |minor| {
            let call = Call::to::<recorded>().host_version(minor).gpu_operand::<f32>(0x1000, &[6]);
            call.gpu_result::<f32>(0x1100, &[6]).on_standin(0).run()
        };
        check(call(5), expect!["UNKNOWN: recorded: nothing records"]);
        check(call(4), expect!["UNKNOWN: recorded: nothing records"]);
        let small = header(size_of::<Extension>(), abi::RECORD, 2);
        // SAFETY: the extension is valid until the call is over.
        let call = unsafe { Call::to::<gives_up>().extensions(&small) };
        let call = call.gpu_operand::<f32>(0x1000, &[6]).gpu_result::<f32>(0x1100, &[6]);
        check(call.run(), expect!["INTERNAL: gives_up: the host's extension for recording has 32 bytes"]);
    });
}

const NEEDED: &str = "the test has communicators";

#[stage(prepare)]
fn request(replicas: &[i64], host: &Context) -> Result<()> {
    let collectives = Collectives::of(host)?.expect(NEEDED);
    let clique = Clique { mode: CliqueMode::FlattenedId, groups: &[replicas, &[9]], id: 5 };
    collectives.request(&clique)?;
    // SAFETY: the stand-in does not access the memory.
    unsafe { collectives.request_windows(&clique, &[(std::ptr::without_provenance(0x7000), 64)]) }
}

#[handler(name = "all_reduce", platform = "CUDA", prepare = request)]
fn all_reduce(
    x: &GpuBuffer<f32>,
    replicas: &[i64],
    y: &mut GpuBuffer<f32>,
    stream: &CudaStream,
    host: &Context,
) -> Result<()> {
    let collectives = Collectives::of(host)?.expect(NEEDED);
    let clique = Clique { mode: CliqueMode::FlattenedId, groups: &[replicas, &[9]], id: 5 };
    // SAFETY: the stand-ins access no streams.
    let other = unsafe { CudaStream::from_raw(std::ptr::without_provenance_mut(0x6000), 0)? };
    let refused = collectives.communicator(&other, &clique);
    check(refused, expect!["INVALID_ARGUMENT: the stream is not the stream of the call"]);
    let (window, offset) = collectives.window(&clique, std::ptr::without_provenance(0x7008))?;
    assert_eq!((window.addr(), offset), (0x11, 8));
    let communicator = collectives.communicator(stream, &clique)?;
    let again = Collectives::of(host)?.expect(NEEDED);
    check(
        again.communicator(stream, &clique),
        expect![
            "FAILED_PRECONDITION: the host's communicator is in use: drop the earlier value before it is used again"
        ],
    );
    drop(communicator);
    let communicator = collectives.communicator(stream, &clique)?;
    // SAFETY: the stand-in transfers no data.
    unsafe { communicator.all_reduce(stream, ReduceOp::Sum, x, y) }
}

unsafe fn print_groups(groups: *const abi::ReplicaGroup, count: usize) -> String {
    // SAFETY: the handler passes as many groups.
    let groups = unsafe { std::slice::from_raw_parts(groups, count) };
    // SAFETY: a group has as many ids.
    let ids = |group: &abi::ReplicaGroup| unsafe { std::slice::from_raw_parts(group.ids, group.size) };
    groups.iter().map(|group| format!("{:?}", ids(group))).collect()
}

unsafe extern "C" fn request_communicator(
    _: *const abi::CollectivesExtension,
    args: *mut abi::CommunicatorRequestArgs,
) -> *mut HostError {
    // SAFETY: the handler passes valid arguments.
    unsafe {
        let groups = print_groups((*args).groups, (*args).num_groups);
        log(format!("request {} {groups} {}", (*args).group_mode, (*args).communication_id));
    }
    null_mut()
}

unsafe extern "C" fn get_communicator(
    _: *const abi::CollectivesExtension,
    args: *mut abi::CommunicatorGetArgs,
) -> *mut HostError {
    // SAFETY: the handler passes valid arguments.
    unsafe {
        let groups = print_groups((*args).groups, (*args).num_groups);
        log(format!("get {} {groups} {}", (*args).group_mode, (*args).communication_id));
        (*args).communicator = std::ptr::without_provenance_mut(0x300);
    }
    null_mut()
}

unsafe extern "C" fn request_window(
    _: *const abi::CollectivesExtension,
    args: *mut abi::WindowRequestArgs,
) -> *mut HostError {
    // SAFETY: the handler passes valid arguments.
    unsafe {
        let region = &*(*args).regions;
        log(format!("window {:?}+{}, {} region", region.buffer, region.byte_size, (*args).num_regions));
    }
    null_mut()
}

unsafe extern "C" fn get_window(
    _: *const abi::CollectivesExtension,
    args: *mut abi::WindowGetArgs,
) -> *mut HostError {
    // SAFETY: the handler passes valid arguments.
    unsafe {
        (*args).window = std::ptr::without_provenance_mut(0x11);
        (*args).window_offset = (*args).buffer.addr() - 0x7000;
    }
    null_mut()
}

#[test]
fn a_handler_uses_the_communicator_of_the_host() {
    alone("extension::a_handler_uses_the_communicator_of_the_host", || {
        let Some(standin) = Standin::open_with(&[("nccl", "libnccl.so.2")]) else { return };
        let collectives = abi::CollectivesExtension {
            extension_base: header(abi::CollectivesExtension::STRUCT_SIZE, abi::COLLECTIVES, 2),
            state: null_mut(),
            request_communicator: Some(request_communicator),
            get_communicator: Some(get_communicator),
            request_window: Some(request_window),
            get_window: Some(get_window),
        };
        let call = Call::to::<all_reduce>().attr("replicas", vec![0i64, 2]).on_standin(0);
        let call = call.gpu_operand::<f32>(0x1000, &[6]).gpu_result::<f32>(0x2000, &[6]);
        // SAFETY: the extension is valid until the call is over.
        check(unsafe { call.extensions(&collectives.extension_base) }.run(), expect!["()"]);
        expect![[r#"
            request 3 [0, 2][9] 5
            window 0x7000+64, 1 region
            get 3 [0, 2][9] 5
            get 3 [0, 2][9] 5
            get 3 [0, 2][9] 5
        "#]]
        .assert_eq(&taken());
        expect![[r#"
            ncclAllReduce(0x1000, 0x2000, 6, type 7, op 0, 0x300, 0x5000)
        "#]]
        .assert_eq(&standin.log());
    });
}
