//! Executables: compilation, runs, and properties of programs.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use farcall::RunOptions;
use farcall::custom_call::RunContext;
use farcall::device::DeviceBuffer;
use farcall::ffi::unwind::catch;
use farcall::ir::{DType, Literal};
use farcall_pjrt_abi::*;

use crate::buffer::{Buffer, Place};
use crate::call::{Arguments, Call, slice};
use crate::client::{Client, Device, Platform};
use crate::compile_options::write_assignment;
use crate::event::Event;
use crate::ffi::ExecuteContext;
use crate::layout::Layouts;
use crate::object::{Handles, Object, OwnedBytes, into_handle, object, text};
use crate::program::Program;
use crate::status::{Outcome, Status};
use crate::topology::Topology;
use crate::value::{Promise, Value};

/// A compiled program, without devices.
pub(crate) struct Compiled {
    pub(crate) program: Arc<Program>,
    output_layouts: OnceLock<Layouts>,
    parameter_layouts: OnceLock<Layouts>,
}

impl Compiled {
    fn new(program: Arc<Program>) -> Compiled {
        Compiled { program, output_layouts: OnceLock::new(), parameter_layouts: OnceLock::new() }
    }

    pub(crate) fn output_layouts(&self) -> &Layouts {
        self.output_layouts.get_or_init(|| Layouts::new(&self.program.described.ranks))
    }

    pub(crate) fn parameter_layouts(&self) -> &Layouts {
        self.parameter_layouts.get_or_init(|| Layouts::new(&self.program.parameter_ranks()))
    }
}

impl Object for Compiled {
    type Abi = ExecutableHandle;
    const KIND: &'static str = "executable";
}

/// A compiled program that devices can run.
pub(crate) struct Loaded {
    program: Arc<Program>,
    platform: Arc<Platform>,
    /// Indices of the devices: those of the partitions of one replica after the other.
    devices: Vec<usize>,
    device_handles: Handles<DeviceHandle>,
    logical_ids: Box<[LogicalDeviceIds]>,
    is_deleted: AtomicBool,
}

impl Object for Loaded {
    type Abi = LoadedExecutableHandle;
    const KIND: &'static str = "loaded executable";
}

/// Size from which jaxlib does not read an optimized program.
const MAX_PROGRAM_BYTES: usize = 2 << 30;

/// Reads the program that a call passes, and its options.
fn compile(program: Option<farcall_pjrt_abi::Program>, options: &[u8]) -> Outcome<Program> {
    let Some(given) = program else { return Err(Status::invalid("`program` is null")) };
    // SAFETY: the caller's texts have the bytes that their sizes state, during the call.
    let code: &[u8] = unsafe { slice("code", given.code.cast_const().cast(), given.code_size) }?;
    // SAFETY: see above.
    let format: &[u8] = unsafe { slice("format", given.format.cast(), given.format_size) }?;
    Program::compile(code, &String::from_utf8_lossy(format), options.to_vec())
}

impl Loaded {
    fn new(program: Arc<Program>, platform: &Arc<Platform>) -> Outcome<Loaded> {
        let count = platform.devices().len();
        let of = |id: &i64| {
            let index = usize::try_from(*id).ok().filter(|id| *id < count);
            index.ok_or_else(|| Status::invalid(format!("there is no device {id}; the client has {count}")))
        };
        let grid = program.executable.grid();
        let devices = match &*program.devices.devices {
            [] => (0..grid.processes() as i64).map(|id| of(&id)).collect::<Outcome<Vec<usize>>>()?,
            ids => ids.iter().map(of).collect::<Outcome<Vec<usize>>>()?,
        };
        if grid.processes() > 1 && devices.len() != grid.processes() {
            let message = format!("{} devices are assigned to a program for {grid}", devices.len());
            return Err(Status::invalid(message));
        }
        let logical_id = |number: usize| LogicalDeviceIds {
            replica: (number / grid.partitions) as i32,
            partition: (number % grid.partitions) as i32,
        };
        Ok(Loaded {
            platform: Arc::clone(platform),
            device_handles: Handles::new(devices.iter().map(|index| platform.device_handle(*index))),
            logical_ids: (0..devices.len()).map(logical_id).collect(),
            devices,
            is_deleted: AtomicBool::new(false),
            program,
        })
    }

    /// True if the caller names the device in each call.
    fn is_portable(&self) -> bool {
        self.program.devices.is_portable && self.program.devices.devices.is_empty()
    }

    /// Returns an error if the executable is deleted.
    fn check(&self) -> Outcome {
        if self.is_deleted.load(Ordering::Acquire) {
            return Err(Status::invalid(format!(
                "the executable of `{}` has been deleted",
                self.program.name
            )));
        }
        Ok(())
    }
}

/// A run on one device.
pub(crate) struct Run {
    pub(crate) program: Arc<Program>,
    pub(crate) arguments: Vec<Value>,
    /// Data for the handlers of the run.
    pub(crate) context: Option<RunContext>,
}

impl Run {
    /// Waits for the arguments, runs the program, and returns one tensor for each result.
    fn execute(self) -> Outcome<Vec<Literal>> {
        let Run { program, arguments, context } = self;
        let inputs = inputs(&program, arguments)?;
        let options = RunOptions::new().context(context.as_ref());
        let run = || program.executable.execute_with(inputs, options).map_err(|e| Status::of(&e));
        let outputs = catch(run).unwrap_or_else(|panic| {
            let message = format!(
                "`{}`: a fault in farcall: {}",
                program.name,
                panic.message().unwrap_or("no message")
            );
            Err(Status::new(ErrorCode::INTERNAL, message))
        })?;
        results(&program, outputs)
    }
}

/// Waits for arguments, and returns the inputs of the engine's run.
pub(crate) fn inputs(program: &Program, arguments: Vec<Value>) -> Outcome<Vec<DeviceBuffer>> {
    let mut inputs = Vec::with_capacity(arguments.len());
    for (argument, parameter) in arguments.into_iter().zip(&program.parameters) {
        let input = argument.take()?;
        if parameter.is_tensor {
            inputs.push(DeviceBuffer::from(input));
        }
    }
    Ok(inputs)
}

/// Returns one tensor for each result of the program.
pub(crate) fn results(program: &Program, outputs: Vec<DeviceBuffer>) -> Outcome<Vec<Literal>> {
    let mut outputs = outputs.into_iter();
    let results = program.results.iter().map(|spec| {
        let output = if spec.is_tensor { outputs.next() } else { None };
        let Some(output) = output else { return Ok(Literal::zeros(DType::Pred, [0])) };
        let literal = output.into_literal().map_err(|e| Status::of(&e))?;
        // A result that is an argument or a constant gets memory of its own, as hosts expect.
        literal.detached().map_err(|e| Status::new(ErrorCode::RESOURCE_EXHAUSTED, e.to_string()))
    });
    results.collect()
}

impl Call for LoadedExecutableExecute {
    const NEEDS_THREADS: bool = true;

    fn call(args: &mut Arguments<Self>) -> Outcome {
        let loaded: &Loaded = args.object("executable", |a| a.executable)?;
        loaded.check()?;
        let options = args.nested(|a| a.options)?;
        let chosen = args.optional::<Device>("execute_device", |a| a.execute_device)?;
        let lists = args.slice("argument_lists", |a| (a.argument_lists, a.num_devices))?;
        let outputs = args.slice("output_lists", |a| (a.output_lists, a.num_devices))?;
        if let Some(device) = chosen
            && !Arc::ptr_eq(&device.platform()?, &loaded.platform)
        {
            return Err(Status::invalid(
                "PJRT_LoadedExecutable_Execute: the device belongs to another client",
            ));
        }
        if let Some(device) = chosen
            && !loaded.is_portable()
            && !loaded.devices.contains(&device.index)
        {
            let message = format!("`{}` is not compiled for device {}", loaded.program.name, device.index);
            return Err(Status::invalid(message));
        }
        let is_together = loaded.program.executable.grid().processes() > 1;
        let devices = match chosen {
            Some(device) if !is_together => std::slice::from_ref(&device.index),
            _ => &loaded.devices,
        };
        if lists.len() != devices.len() {
            let message = format!(
                "arguments for {} devices; `{}` runs on {}",
                lists.len(),
                loaded.program.name,
                devices.len()
            );
            return Err(Status::invalid(message));
        }
        let (context, kept) = match &options {
            Some(options) => {
                // SAFETY: the caller's list has the elements that its count states.
                let kept = unsafe {
                    slice(
                        "non_donatable_input_indices",
                        options.non_donatable_input_indices,
                        options.num_non_donatable_input_indices,
                    )
                }?;
                let context = if options.context.is_null() {
                    None
                } else {
                    // SAFETY: the caller passes a context of this plugin.
                    Some(unsafe { object::<ExecuteContext>("context", options.context) }?)
                };
                (context, kept)
            }
            None => (None, &[][..]),
        };
        if options.is_some_and(|options| options.num_send_ops > 0 || options.num_recv_ops > 0) {
            return Err(Status::unimplemented("farcall has no callbacks for `send` and `recv`"));
        }
        let count = loaded.program.results.len();
        let events = args.members.device_complete_events;
        if count > 0 && outputs.iter().any(|list| list.is_null() || !list.is_aligned())
            || !events.is_aligned()
        {
            return Err(Status::invalid(
                "PJRT_LoadedExecutable_Execute: an output list is null or not aligned",
            ));
        }
        for device in devices {
            loaded.platform.devices()[*device].prepare()?;
        }
        let launch = Launch { loaded, context, kept };
        // Runs of all devices are prepared before any begins, so that an error leaves no run behind.
        let mut runs = Vec::with_capacity(devices.len());
        for (arguments, device) in lists.iter().zip(devices) {
            // SAFETY: each list has `num_args` handles.
            let arguments = unsafe { slice("argument_lists", *arguments, args.members.num_args) }?;
            runs.push(launch.prepare(arguments, *device)?);
        }
        let started = if is_together {
            launch.start_together(runs, devices)?
        } else {
            let started = runs.into_iter().zip(devices).map(|(run, device)| launch.start(run, *device));
            started.collect::<Outcome<Vec<_>>>()?
        };
        for (place, ((values, done), device)) in started.into_iter().zip(devices).enumerate() {
            let types = loaded.program.described.types.iter();
            for (index, (ty, value)) in types.zip(values).enumerate() {
                let kind = loaded.program.results[index].kind;
                let location = Place { platform: Arc::clone(&loaded.platform), device: *device, kind };
                let buffer = match ty {
                    Some(ty) => Buffer::new(ty.clone(), location, value),
                    None => Buffer::token(location, value),
                };
                let handle = buffer.into_handle();
                // SAFETY: the caller's list has room for one handle for each result.
                unsafe { outputs[place].add(index).write(handle) };
            }
            if !events.is_null() {
                // SAFETY: the caller's list has room for one handle for each device.
                unsafe { events.add(place).write(done.into_handle()) };
            }
        }
        Ok(())
    }
}

/// A call of `Execute`.
pub(crate) struct Launch<'a> {
    loaded: &'a Loaded,
    context: Option<&'a ExecuteContext>,
    /// Indices of arguments that the caller keeps, although the program donates them.
    kept: &'a [i64],
}

impl Launch<'_> {
    /// The client's platform.
    pub(crate) fn platform(&self) -> &Arc<Platform> {
        &self.loaded.platform
    }

    /// True if a handler may read data of the caller.
    pub(crate) fn has_context(&self) -> bool {
        self.loaded.program.reads_context && self.context.is_some_and(|context| !context.is_empty())
    }

    /// Checks the arguments of a run, and takes the donated ones.
    fn prepare(&self, handles: &[*mut BufferHandle], device: usize) -> Outcome<Run> {
        let program = &self.loaded.program;
        let parameters = &program.parameters;
        if handles.len() != parameters.len() {
            let message =
                format!("`{}` takes {} arguments, not {}", program.name, parameters.len(), handles.len());
            return Err(Status::invalid(message));
        }
        let mut buffers = Vec::with_capacity(handles.len());
        let mut types = program.executable.inputs().iter();
        for (index, (handle, parameter)) in handles.iter().zip(parameters).enumerate() {
            // SAFETY: the caller passes live buffers.
            let buffer: &Buffer = unsafe { object("argument_lists", *handle) }?;
            let ty = if parameter.is_tensor { types.next() } else { None };
            if let Some(ty) = ty.filter(|ty| **ty != buffer.ty) {
                let message =
                    format!("argument {index} of `{}` is {}; it must be {ty}", program.name, buffer.ty);
                return Err(Status::invalid(message));
            }
            if !Arc::ptr_eq(&buffer.place.platform, &self.loaded.platform) || buffer.place.device != device {
                let message = format!("argument {index} of `{}` is on another device", program.name);
                return Err(Status::invalid(message));
            }
            buffers.push(buffer);
        }
        let is_donated = |index: usize| parameters[index].is_donated && !self.kept.contains(&(index as i64));
        if (0..parameters.len()).any(is_donated) {
            check_donations(&program.name, &buffers, is_donated)?;
        }
        let mut arguments = Vec::with_capacity(buffers.len());
        for (index, buffer) in buffers.into_iter().enumerate() {
            arguments.push(if is_donated(index) { buffer.donate()? } else { buffer.value()? });
        }
        let context = (!program.executable.plan().calls().is_empty()).then(|| {
            let mut context = RunContext::new().with_device_ordinal(device as i32);
            if let Some(given) = self.context {
                given.add_to(&mut context);
            }
            context
        });
        Ok(Run { program: Arc::clone(program), arguments, context })
    }

    /// Runs a quick program at once, and other programs asynchronously, as soon as their arguments are ready. The
    /// caller's context ends with the call, so a run with a context waits for its arguments and happens in the
    /// call. Returns the values of the results, and the event of the run's end.
    ///
    /// # Errors
    /// The error of a run that happens in the call; other errors reach the values and the event.
    fn start(&self, mut run: Run, index: usize) -> Outcome<(Vec<Value>, Event)> {
        let is_ready = run.arguments.iter().all(Value::is_ready);
        if self.has_context() || run.program.is_quick && is_ready {
            let outputs = run.execute()?;
            return Ok((outputs.into_iter().map(Value::Known).collect(), Event::complete(Ok(()))));
        }
        let platform = Arc::clone(&self.loaded.platform);
        let device = &self.loaded.platform.devices()[index];
        let calls_host = run.program.calls_host;
        let waits_for_host = calls_host || run.arguments.iter().any(Value::waits_for_host);
        let context = run.context.take().unwrap_or_default();
        run.context = Some(context.with_interrupt(Arc::clone(device.interrupt())));
        let promises: Vec<Promise> =
            run.program.results.iter().map(|_| Promise::new(waits_for_host)).collect();
        let values = promises.iter().cloned().map(Value::Promised).collect();
        let done = Event::default();
        let completion = Completion { promises, done: done.clone() };
        let pending: Vec<Event> =
            run.arguments.iter().filter(|value| !value.is_ready()).map(Value::is_defined).collect();
        let slot = device.admit();
        Event::after_all(pending, move || {
            // If the work does not start, the completion defines the results.
            let _ =
                platform.devices()[index].start(slot, calls_host, move || completion.complete(run.execute()));
        });
        Ok((values, done))
    }
}

/// Results that an asynchronous run defines. If it does not, their value is an error.
pub(crate) struct Completion {
    pub(crate) promises: Vec<Promise>,
    pub(crate) done: Event,
}

impl Completion {
    pub(crate) fn complete(mut self, outcome: Outcome<Vec<Literal>>) {
        self.define(outcome);
    }

    fn define(&mut self, outcome: Outcome<Vec<Literal>>) {
        match outcome {
            Ok(outputs) => {
                self.promises.drain(..).zip(outputs).for_each(|(promise, output)| promise.define(Ok(output)));
                self.done.set(Ok(()));
            }
            Err(status) => {
                self.promises.drain(..).for_each(|promise| promise.define(Err(status.clone())));
                self.done.set(Err(status));
            }
        }
    }
}

impl Drop for Completion {
    fn drop(&mut self) {
        // Without effect if the run has defined its results.
        let message = "the run has not ended: a fault in farcall, or the system cannot create a thread";
        self.define(Err(Status::new(ErrorCode::INTERNAL, message)));
    }
}

/// Checks that no donated buffer is passed twice, since the other argument would still need it, and that all
/// buffers exist, before any of them is taken.
fn check_donations(program: &str, buffers: &[&Buffer], is_donated: impl Fn(usize) -> bool) -> Outcome {
    let mut addresses: Vec<*const Buffer> = Vec::with_capacity(buffers.len());
    for buffer in buffers {
        buffer.value()?;
        addresses.push(std::ptr::from_ref(*buffer));
    }
    addresses.sort_unstable();
    let is_repeated = |buffer: &Buffer| {
        let first = addresses.partition_point(|address| *address < std::ptr::from_ref(buffer));
        addresses.get(first + 1) == Some(&std::ptr::from_ref(buffer))
    };
    match buffers.iter().enumerate().position(|(index, buffer)| is_donated(index) && is_repeated(buffer)) {
        Some(index) => {
            Err(Status::invalid(format!("argument {index} of `{program}` is donated and passed again")))
        }
        None => Ok(()),
    }
}

impl Call for ClientCompile {
    const NEEDS_THREADS: bool = true;

    fn call(args: &mut Arguments<Self>) -> Outcome {
        let client: &Client = args.object("client", |a| a.client)?;
        let options =
            args.slice("compile_options", |a| (a.compile_options.cast::<u8>(), a.compile_options_size))?;
        let program = compile(args.nested(|a| a.program.cast_const())?, options)?;
        let loaded = Loaded::new(Arc::new(program), &client.platform)?;
        args.members.executable = into_handle(Box::new(loaded));
        Ok(())
    }
}

impl Call for Compile {
    const NEEDS_THREADS: bool = true;

    fn call(args: &mut Arguments<Self>) -> Outcome {
        args.object::<Topology>("topology", |a| a.topology)?;
        let options =
            args.slice("compile_options", |a| (a.compile_options.cast::<u8>(), a.compile_options_size))?;
        let program = Arc::new(compile(args.nested(|a| a.program.cast_const())?, options)?);
        args.members.executable = into_handle(Box::new(Compiled::new(program)));
        Ok(())
    }
}

impl Call for ClientLoad {
    const NEEDS_THREADS: bool = true;

    fn call(args: &mut Arguments<Self>) -> Outcome {
        let client: &Client = args.object("client", |a| a.client)?;
        let compiled: &Compiled = args.object("executable", |a| a.executable)?;
        let options =
            args.slice("compile_options", |a| (a.compile_options.cast::<u8>(), a.compile_options_size))?;
        if !options.is_empty() && options != compiled.program.options {
            return Err(Status::unimplemented(
                "an executable is loaded with the options that it was compiled with",
            ));
        }
        let loaded = Loaded::new(Arc::clone(&compiled.program), &client.platform)?;
        args.members.loaded_executable = into_handle(Box::new(loaded));
        Ok(())
    }
}

impl Call for ExecutableDeserializeAndLoad {
    const NEEDS_THREADS: bool = true;

    fn call(args: &mut Arguments<Self>) -> Outcome {
        let client: &Client = args.object("client", |a| a.client)?;
        let bytes = args.slice("serialized_executable", |a| {
            (a.serialized_executable.cast::<u8>(), a.serialized_executable_size)
        })?;
        let options = args.slice("overridden_serialized_compile_options", |a| {
            (
                a.overridden_serialized_compile_options.cast::<u8>(),
                a.overridden_serialized_compile_options_size,
            )
        })?;
        let options = (!options.is_empty()).then(|| options.to_vec());
        let loaded = Loaded::new(Arc::new(Program::from_bytes(bytes, options)?), &client.platform)?;
        args.members.loaded_executable = into_handle(Box::new(loaded));
        Ok(())
    }
}

impl Call for LoadedExecutableDestroy {
    fn call(args: &mut Arguments<Self>) -> Outcome {
        args.take::<Loaded>("executable", |a| a.executable).map(drop)
    }
}

impl Call for LoadedExecutableGetExecutable {
    fn call(args: &mut Arguments<Self>) -> Outcome {
        let loaded: &Loaded = args.object("loaded_executable", |a| a.loaded_executable)?;
        args.members.executable = into_handle(Box::new(Compiled::new(Arc::clone(&loaded.program))));
        Ok(())
    }
}

impl Call for LoadedExecutableAddressableDevices {
    fn call(args: &mut Arguments<Self>) -> Outcome {
        let loaded: &Loaded = args.object("executable", |a| a.executable)?;
        // A portable executable runs on any device: the caller names one in each call.
        let (devices, count) = loaded.device_handles.parts();
        let count = if loaded.is_portable() { 0 } else { count };
        (args.members.addressable_devices, args.members.num_addressable_devices) = (devices, count);
        Ok(())
    }
}

impl Call for LoadedExecutableAddressableDeviceLogicalIds {
    fn call(args: &mut Arguments<Self>) -> Outcome {
        let loaded: &Loaded = args.object("executable", |a| a.executable)?;
        (args.members.addressable_device_logical_ids, args.members.num_addressable_device_logical_ids) =
            (loaded.logical_ids.as_ptr(), if loaded.is_portable() { 0 } else { loaded.logical_ids.len() });
        Ok(())
    }
}

impl Call for LoadedExecutableGetDeviceAssignment {
    fn call(args: &mut Arguments<Self>) -> Outcome {
        let loaded: &Loaded = args.object("executable", |a| a.executable)?;
        let ids: Vec<i64> = loaded.devices.iter().map(|index| *index as i64).collect();
        // A portable executable has no assignment.
        let bytes = if loaded.is_portable() { Vec::new() } else { write_assignment(&ids, ids.len(), 1) };
        let (data, size, owner) = OwnedBytes::parts(bytes);
        (args.members.serialized_bytes, args.members.serialized_bytes_size) = (data, size);
        args.members.serialized_device_assignment = owner;
        args.members.serialized_device_assignment_deleter = Some(OwnedBytes::free);
        Ok(())
    }
}

impl Call for LoadedExecutableDelete {
    fn call(args: &mut Arguments<Self>) -> Outcome {
        args.object::<Loaded>("executable", |a| a.executable)?.is_deleted.store(true, Ordering::Release);
        Ok(())
    }
}

impl Call for LoadedExecutableIsDeleted {
    fn call(args: &mut Arguments<Self>) -> Outcome {
        let loaded: &Loaded = args.object("executable", |a| a.executable)?;
        args.members.is_deleted = loaded.is_deleted.load(Ordering::Acquire).into();
        Ok(())
    }
}

impl Call for LoadedExecutableFingerprint {
    fn call(args: &mut Arguments<Self>) -> Outcome {
        let loaded: &Loaded = args.object("executable", |a| a.executable)?;
        (args.members.executable_fingerprint, args.members.executable_fingerprint_size) =
            text(&loaded.program.fingerprint);
        Ok(())
    }
}

impl Call for ExecutableDestroy {
    fn call(args: &mut Arguments<Self>) -> Outcome {
        args.take::<Compiled>("executable", |a| a.executable).map(drop)
    }
}

/// Returns the program of an executable.
macro_rules! program {
    ($args:ident) => {
        &*$args.object::<Compiled>("executable", |a| a.executable)?.program
    };
}

impl Call for ExecutableName {
    fn call(args: &mut Arguments<Self>) -> Outcome {
        (args.members.executable_name, args.members.executable_name_size) = text(&program!(args).name);
        Ok(())
    }
}

impl Call for ExecutableNumReplicas {
    fn call(args: &mut Arguments<Self>) -> Outcome {
        args.members.num_replicas = program!(args).devices.num_replicas;
        Ok(())
    }
}

impl Call for ExecutableNumPartitions {
    fn call(args: &mut Arguments<Self>) -> Outcome {
        args.members.num_partitions = program!(args).devices.num_partitions;
        Ok(())
    }
}

impl Call for ExecutableNumOutputs {
    fn call(args: &mut Arguments<Self>) -> Outcome {
        args.members.num_outputs = program!(args).results.len();
        Ok(())
    }
}

impl Call for ExecutableSizeOfGeneratedCodeInBytes {
    fn call(args: &mut Arguments<Self>) -> Outcome {
        // The engine generates no code: a plan refers to kernels that are compiled into it.
        args.object::<Compiled>("executable", |a| a.executable)?;
        args.members.size_in_bytes = 0;
        Ok(())
    }
}

impl Call for ExecutableGetCostAnalysis {
    fn call(args: &mut Arguments<Self>) -> Outcome {
        (args.members.properties, args.members.num_properties) = program!(args).described.costs.parts();
        Ok(())
    }
}

impl Call for ExecutableOutputElementTypes {
    fn call(args: &mut Arguments<Self>) -> Outcome {
        let types = &program!(args).described.element_types;
        (args.members.output_types, args.members.num_output_types) = (types.as_ptr(), types.len());
        Ok(())
    }
}

impl Call for ExecutableOutputDimensions {
    fn call(args: &mut Arguments<Self>) -> Outcome {
        let described = &program!(args).described;
        args.members.num_outputs = described.ranks.len();
        (args.members.dims, args.members.dim_sizes) = (described.dims.as_ptr(), described.ranks.as_ptr());
        Ok(())
    }
}

impl Call for ExecutableOutputMemoryKinds {
    fn call(args: &mut Arguments<Self>) -> Outcome {
        let kinds = &program!(args).described.result_kinds;
        args.members.num_outputs = kinds.names.len();
        (args.members.memory_kinds, args.members.memory_kind_sizes) =
            (kinds.names.as_ptr(), kinds.sizes.as_ptr());
        Ok(())
    }
}

impl Call for ExecutableParameterMemoryKinds {
    fn call(args: &mut Arguments<Self>) -> Outcome {
        let kinds = &program!(args).described.parameter_kinds;
        args.members.num_parameters = kinds.names.len();
        (args.members.memory_kinds, args.members.memory_kind_sizes) =
            (kinds.names.as_ptr(), kinds.sizes.as_ptr());
        Ok(())
    }
}

impl Call for ExecutableFingerprint {
    fn call(args: &mut Arguments<Self>) -> Outcome {
        (args.members.executable_fingerprint, args.members.executable_fingerprint_size) =
            text(&program!(args).fingerprint);
        Ok(())
    }
}

impl Call for ExecutableGetCompiledMemoryStats {
    fn call(args: &mut Arguments<Self>) -> Outcome {
        let program = program!(args);
        let executable = &program.executable;
        let bytes = |types: &[farcall::ir::TensorType]| {
            types.iter().map(|ty| ty.bytes().unwrap_or(0)).sum::<usize>() as i64
        };
        let plan = executable.plan();
        // The caller's struct is not initialized.
        let Self { struct_size, extension_start, executable: handle, .. } = args.members;
        args.members = Self { struct_size, extension_start, executable: handle, ..Self::zeroed() };
        let outputs = bytes(executable.outputs());
        args.members.argument_size_in_bytes = bytes(executable.inputs());
        args.members.output_size_in_bytes = outputs;
        args.members.alias_size_in_bytes = (outputs - plan.new_result_bytes() as i64).max(0);
        args.members.temp_size_in_bytes = plan.temporary_bytes() as i64;
        args.members.peak_memory_in_bytes =
            bytes(executable.inputs()) + (plan.temporary_bytes() + plan.new_result_bytes()) as i64;
        Ok(())
    }
}

impl Call for ExecutableSerialize {
    fn call(args: &mut Arguments<Self>) -> Outcome {
        let (data, size, owner) = OwnedBytes::parts(program!(args).to_bytes()?);
        (args.members.serialized_bytes, args.members.serialized_bytes_size) = (data, size);
        args.members.serialized_executable = owner;
        args.members.serialized_executable_deleter = Some(OwnedBytes::free);
        Ok(())
    }
}

impl Call for ExecutableGetCompileOptions {
    fn call(args: &mut Arguments<Self>) -> Outcome {
        let (data, size, owner) = OwnedBytes::parts(program!(args).options.clone());
        (args.members.serialized_bytes, args.members.serialized_bytes_size) = (data, size);
        args.members.serialized_compile_options = owner;
        args.members.serialized_compile_options_deleter = Some(OwnedBytes::free);
        Ok(())
    }
}

impl Call for ExecutableOptimizedProgram {
    fn call(args: &mut Arguments<Self>) -> Outcome {
        let program = program!(args);
        let code = program.optimized();
        if code.len() >= MAX_PROGRAM_BYTES {
            let message = format!("the program has {} bytes, too many for jaxlib", code.len());
            return Err(Status::new(ErrorCode::RESOURCE_EXHAUSTED, message));
        }
        let out = args.members.program;
        let given = args.nested(|a| a.program.cast_const())?;
        if given.is_none_or(|program| program.struct_size < size_of::<farcall_pjrt_abi::Program>()) {
            return Err(Status::invalid("PJRT_Executable_OptimizedProgram: `program` is null or too small"));
        }
        // SAFETY: the caller passes a program to fill, whose size was checked.
        let out = unsafe { &mut *out };
        (out.format, out.format_size) = text("mlir");
        if out.code.is_null() {
            out.code_size = code.len();
            return Ok(());
        }
        if out.code_size < code.len() {
            let message = format!("`code_size` is {}; the program has {} bytes", out.code_size, code.len());
            return Err(Status::invalid(message));
        }
        // SAFETY: the caller's memory has `code_size` bytes.
        unsafe { std::ptr::copy_nonoverlapping(code.as_ptr(), out.code.cast(), code.len()) };
        Ok(())
    }
}
