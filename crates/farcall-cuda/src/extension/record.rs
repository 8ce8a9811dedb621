//! Records a call as commands of a CUDA graph.

use std::cell::Cell;
use std::ffi::c_void;
use std::fmt;
use std::marker::PhantomData;
use std::ptr::null;

use farcall_ffi::{Context, Error, Result};

use super::abi::{self, Dim3, KernelArg, KernelArgs, RecordApi, RecordFrame, RecordLaunchDims};
use super::{find, offered};
use crate::array::GpuArray;
use crate::kernel::{Kernel, KernelArguments, KernelPrototype, LaunchDims};
use crate::stream::recorded_scratch;

/// Maximum number of parameters of a kernel.
const MAX_PARAMETERS: usize = 24;

/// Records the commands of a call, in a handler's record stage.
///
/// XLA calls the record function once to create the commands, and again when the addresses of buffers have
/// changed. In these later calls, `launch` and `copy` replace the arguments of the commands that the first
/// call created, in the same order. So a record function records the same commands in each call; only
/// arguments may differ.
///
/// XLA records only handlers with the trait `command_buffer_compatible`. Without a record function, it
/// records the stream of their execute functions.
///
/// ```
/// use farcall_cuda::extension::Recorder;
/// use farcall_cuda::{CudaStream, PerDevice, kernels, launch};
/// use farcall_ffi::prelude::*;
///
/// # const PTX: &[u8] = b"";
/// kernels! {
///     struct Kernels = PTX;
///     unsafe fn relu(x: *const f32, y: *mut f32, n: u64);
/// }
///
/// static KERNELS: PerDevice<Kernels> = PerDevice::new();
///
/// #[stage(initialize)]
/// fn load(stream: &CudaStream) -> Result<()> {
///     KERNELS.get_or_init(stream, Kernels::load).map(drop)
/// }
///
/// #[stage(record)]
/// fn record(
///     x: &GpuBuffer<f32>,
///     y: &mut GpuBuffer<f32>,
///     stream: &CudaStream,
///     host: &Context,
/// ) -> Result<()> {
///     ensure!(x.dims() == y.dims(), "x is {x:?}, but y is {y:?}");
///     // SAFETY: each call records one launch of `relu`.
///     let recorder = unsafe { Recorder::of(host)? };
///     let recorder = recorder.ok_or_else(|| Error::internal("the host does not record"))?;
///     let (n, kernel) = (x.len(), &KERNELS.get(stream)?.relu);
///     // SAFETY: x and y have n elements.
///     unsafe { recorder.launch(kernel, n.div_ceil(256), 256, 0u32, (&x, &y, &(n as u64)), &[]).map(drop) }
/// }
///
/// #[handler(
///     name = "relu", platform = "CUDA",
///     initialize = load, record = record, traits(command_buffer_compatible)
/// )]
/// fn relu(x: &GpuBuffer<f32>, y: &mut GpuBuffer<f32>, stream: &CudaStream) -> Result<()> {
///     ensure!(x.dims() == y.dims(), "x is {x:?}, but y is {y:?}");
///     let n = x.len();
///     // SAFETY: x and y have n elements.
///     unsafe {
///         launch!(KERNELS.get(stream)?.relu, stream, grid: n.div_ceil(256), block: 256, (x, y, n as u64))
///     }
/// }
/// ```
pub struct Recorder<'a> {
    context: &'a Context,
    frame: &'a RecordFrame,
    api: &'a RecordApi,
    /// Number of commands that this call has created or updated.
    recorded: Cell<usize>,
}

/// A command of the graph, on which later commands can depend.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub struct RecordedCommand<'a>(*const abi::Command, PhantomData<&'a abi::Command>);

impl<'a> Recorder<'a> {
    /// Returns the recorder of a call; `None` if the host does not record the call as commands.
    ///
    /// # Errors
    /// `UNIMPLEMENTED` if the host has another version of the extension, or `INTERNAL` if it is malformed.
    ///
    /// # Safety
    /// The handler is one for CUDA. All calls of its record function record commands of the same kinds in the
    /// same order: the host does not check the kind of a command that it updates.
    pub unsafe fn of(context: &'a Context) -> Result<Option<Recorder<'a>>> {
        // SAFETY: the header defines this struct for this number and version; a test compares the layouts.
        let extension =
            unsafe { find::<abi::RecordExtension>(context, "recording", abi::RECORD, abi::RECORD_VERSION)? };
        let Some(extension) = extension else { return Ok(None) };
        let malformed = || Error::internal("the host's extension for recording is malformed");
        // SAFETY: unless null, the pointer is valid during the call.
        let frame = unsafe { extension.record_frame.as_ref() }.ok_or_else(malformed)?;
        // SAFETY: unless null, the pointer is valid during the call.
        let api = unsafe { frame.api.as_ref() }.ok_or_else(malformed)?;
        if frame.num_commands.is_null() || (frame.commands.is_null() && frame.max_commands > 0) {
            return Err(malformed());
        }
        Ok(Some(Recorder { context, frame, api, recorded: Cell::new(0) }))
    }

    /// Returns true if the call updates the commands of an earlier call.
    pub fn is_update(&self) -> bool {
        self.frame.action == abi::UPDATE
    }

    /// Asks the host to record the stream of the execute function instead. A call that asks for this records
    /// no commands, neither before nor afterwards.
    ///
    /// # Errors
    /// The host's error.
    pub fn capture_stream(&self) -> Result<()> {
        let request = offered(self.api.request_stream_capture, "request_stream_capture")?;
        // SAFETY: a function of the host, with the argument it expects; the error belongs to this call's
        // host.
        unsafe { self.context.check(request(self.frame.record_ctx)) }
    }

    /// Records a launch of a kernel: like [`launch!`](crate::launch), with a tuple of references to the
    /// arguments. The launch runs after `dependencies`. A launch with an empty grid is recorded as a command
    /// that does nothing.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` if a dimension does not fit 31 bits, `RESOURCE_EXHAUSTED` if the call has
    /// too many commands, `FAILED_PRECONDITION` if an update has more commands than the first call or an
    /// argument is scratch memory, or the host's error.
    ///
    /// # Safety
    /// Same contract as [`launch!`](crate::launch).
    pub unsafe fn launch<P: KernelPrototype>(
        &self,
        kernel: &Kernel<P>,
        grid: impl LaunchDims,
        block: impl LaunchDims,
        shared: impl TryInto<u32>,
        arguments: impl KernelArguments<P>,
        dependencies: &[RecordedCommand<'a>],
    ) -> Result<RecordedCommand<'a>> {
        let (Some(grid), Some(block), Ok(shared)) = (dim3(grid), dim3(block), shared.try_into()) else {
            let message = format!("kernel `{}`: a dimension is too large for a command", kernel.name());
            return Err(Error::invalid_argument(message));
        };
        if arguments.use_scratch() {
            return Err(recorded_scratch().context(format_args!("kernel `{}`", kernel.name())));
        }
        if [grid.x, grid.y, grid.z].contains(&0) {
            return self.join(dependencies);
        }
        arguments.with(|values| {
            let mut args = [const { KernelArg { arg_address: null(), size: 0, r#type: 0 } }; MAX_PARAMETERS];
            for (i, value) in values.iter().enumerate() {
                args[i] = if P::POINTERS[i] {
                    // SAFETY: the value of a pointer parameter is a pointer.
                    let address = unsafe { *value.cast::<*const c_void>() };
                    KernelArg { arg_address: address, size: 0, r#type: abi::DEVICE_PTR }
                } else {
                    KernelArg { arg_address: *value, size: P::SIZES[i] as i64, r#type: abi::HOST_VALUE }
                };
            }
            let args = KernelArgs { args: args.as_ptr(), num_args: values.len() as i64 };
            if self.is_update() {
                let update = offered(self.api.update_launch, "update_launch")?;
                // SAFETY: a function of the host, with the arguments it expects; the command is the host's.
                return self.update(|command| unsafe { update(self.frame.record_ctx, command, &args) });
            }
            let create = offered(self.api.create_launch, "create_launch")?;
            // SAFETY: a function of the host, with the arguments it expects: a kernel as a handle of the
            // driver has size 0. The host copies the arguments. The dependencies are commands of the host.
            self.create(|command| unsafe {
                create(
                    self.frame.record_ctx,
                    kernel.symbol().as_ptr(),
                    kernel.as_raw().cast_const().cast(),
                    0,
                    abi::FUNCTION_PTR,
                    RecordLaunchDims { grid, block, cluster: Dim3 { x: 0, y: 0, z: 0 } },
                    shared,
                    0,
                    &args,
                    dependencies.as_ptr().cast(),
                    dependencies.len() as u32,
                    command,
                )
            })
        })
    }

    /// Records a copy of all elements of `from` to `to`, which runs after `dependencies`. A copy of empty
    /// arrays is recorded as a command that does nothing.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` if the numbers of elements differ; otherwise the same errors as
    /// [`launch`](Self::launch).
    pub fn copy<T>(
        &self,
        from: &(impl GpuArray<Element = T> + ?Sized),
        to: &mut (impl GpuArray<Element = T> + ?Sized),
        dependencies: &[RecordedCommand<'a>],
    ) -> Result<RecordedCommand<'a>> {
        if from.count() != to.count() {
            let message = format!("cannot copy {} elements to {}", from.count(), to.count());
            return Err(Error::invalid_argument(message));
        }
        if from.is_scratch() || to.is_scratch() {
            return Err(recorded_scratch());
        }
        let (source, target) = (from.start().cast_mut().cast(), to.start().cast_mut().cast());
        let size = from.size() as i64;
        if size == 0 {
            return self.join(dependencies);
        }
        if self.is_update() {
            let update = offered(self.api.update_memcpy_d2d, "update_memcpy_d2d")?;
            // SAFETY: a function of the host, with the arguments it expects; the command is the host's.
            return self
                .update(|command| unsafe { update(self.frame.record_ctx, command, target, source, size) });
        }
        let create = offered(self.api.create_memcpy_d2d, "create_memcpy_d2d")?;
        let (dependencies, count) = (dependencies.as_ptr().cast(), dependencies.len() as u32);
        // SAFETY: a function of the host, with the arguments it expects; the dependencies are commands of the
        // host.
        self.create(|command| unsafe {
            create(self.frame.record_ctx, target, source, size, dependencies, count, command)
        })
    }

    /// Records a command that does nothing and runs after `dependencies`. XLA lets later steps of the program
    /// depend on the last command of a call, so a call whose commands are independent ends with a `join`.
    ///
    /// # Errors
    /// Same errors as [`launch`](Self::launch).
    pub fn join(&self, dependencies: &[RecordedCommand<'a>]) -> Result<RecordedCommand<'a>> {
        if self.is_update() {
            return self.update(|_| std::ptr::null_mut());
        }
        let create = offered(self.api.create_empty_command, "create_empty_command")?;
        let (dependencies, count) = (dependencies.as_ptr().cast(), dependencies.len() as u32);
        // SAFETY: a function of the host, with the arguments it expects; the dependencies are commands of the
        // host.
        self.create(|command| unsafe { create(self.frame.record_ctx, dependencies, count, command) })
    }

    /// Creates a command, and adds it to the call's commands.
    fn create(
        &self,
        create: impl FnOnce(*mut *const abi::Command) -> *mut farcall_ffi::abi::Error,
    ) -> Result<RecordedCommand<'a>> {
        let max = self.frame.max_commands;
        // SAFETY: `of` checked the pointer, which is valid during the call.
        let count = unsafe { *self.frame.num_commands };
        if !(0..max).contains(&count) {
            return Err(Error::resource_exhausted(format!(
                "the host records at most {max} commands of a call"
            )));
        }
        let mut command = null();
        // SAFETY: the error, if there is one, belongs to this call's host.
        unsafe { self.context.check(create(&mut command)) }?;
        if command.is_null() {
            return Err(Error::internal("the host returned no command"));
        }
        // SAFETY: `of` checked the pointers. The commands have space for `max`, and `count` is less.
        unsafe {
            self.frame.commands.add(count as usize).write(command);
            *self.frame.num_commands = count + 1;
        }
        Ok(RecordedCommand(command, PhantomData))
    }

    /// Updates the next command of the earlier call.
    fn update(
        &self,
        update: impl FnOnce(*const abi::Command) -> *mut farcall_ffi::abi::Error,
    ) -> Result<RecordedCommand<'a>> {
        let next = self.recorded.get();
        // SAFETY: `of` checked the pointer, which is valid during the call.
        let count = unsafe { *self.frame.num_commands };
        if next as i64 >= count.min(self.frame.max_commands) {
            let message = format!("the update has more commands than were recorded, which are {count}");
            return Err(Error::failed_precondition(message));
        }
        // SAFETY: `of` checked the pointer; `next` is less than the number of commands.
        let command = unsafe { self.frame.commands.add(next).read() };
        // SAFETY: the error, if there is one, belongs to this call's host.
        unsafe { self.context.check(update(command)) }?;
        self.recorded.set(next + 1);
        Ok(RecordedCommand(command, PhantomData))
    }
}

/// Converts dimensions to those of a command; `None` if one does not fit.
fn dim3(dims: impl LaunchDims) -> Option<Dim3> {
    let [x, y, z] = dims.dims()?.map(|dim| i32::try_from(dim).ok());
    Some(Dim3 { x: x?, y: y?, z: z? })
}

impl fmt::Debug for Recorder<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recorder").field("is_update", &self.is_update()).finish_non_exhaustive()
    }
}
