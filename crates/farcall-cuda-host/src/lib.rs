//! Calls handlers for CUDA on a GPU, from the host's side.
//!
//! ```text
//! operands ──copy──▶ memory of the GPU ──▶ instantiate, prepare, initialize, execute ──copy──▶ results
//! ```
//!
//! The calls are for tools that compare handlers of several platforms. They are slow: each call allocates its
//! memory, makes a call site, and waits for the GPU. Programs with handlers for CUDA run in XLA; the engine
//! of farcall runs on the CPU only.
//!
//! A stage of a handler runs on a thread on which the context of the device is current, as in XLA (which does
//! not promise it for the instantiate stage). As in XLA, the instantiate and prepare stages have no stream. The
//! prepare stage has null addresses, as in older versions of XLA.

use std::ffi::c_void;
use std::ptr::{NonNull, null_mut};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use farcall::custom_call::{CallError, CallFrame, CallSite, DeviceServices, RunContext};
use farcall::ffi::StatusCode;
use farcall::ir::literal::{Literal, LiteralError};
use farcall::ir::op::{CustomCall, OutputAlias};
use farcall::ir::types::{TensorType, Type};
use farcall::registry::{Platform, Target};
use farcall_cuda::{GpuDevice, GpuMemory};

mod layout;

/// A GPU that calls handlers for CUDA.
#[derive(Debug)]
pub struct CudaHost {
    device: Arc<GpuDevice>,
    /// The first error of the device after which no later call can succeed.
    failure: OnceLock<String>,
}

/// Reason why a call of a handler for CUDA has no results.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CudaCallError {
    /// The handler fails.
    #[error(transparent)]
    Call(#[from] Box<CallError>),
    /// The driver fails before or after the call, or a kernel of the call fails. The text is the driver's.
    #[error("{0}")]
    Driver(String),
    /// A result is invalid: an element of type `pred` is neither 0 nor 1.
    #[error(transparent)]
    Result(#[from] LiteralError),
    /// An earlier call has made the GPU unusable for this process.
    #[error("an earlier call has made the GPU unusable ({0})")]
    Unusable(String),
    /// A result has another type than the operand whose memory it shares.
    #[error("result {result} shares the memory of operand {operand}, which has another type")]
    Alias {
        /// Index of the result.
        result: usize,
        /// Index of the operand.
        operand: usize,
    },
    /// The target is not a handler for CUDA.
    #[error("the handler is for {0}, not for CUDA")]
    Platform(Platform),
}

impl From<CallError> for CudaCallError {
    fn from(error: CallError) -> CudaCallError {
        CudaCallError::Call(Box::new(error))
    }
}

impl CudaHost {
    /// Opens the first GPU of this machine. (`CUDA_VISIBLE_DEVICES` changes the order of the GPUs.)
    ///
    /// # Errors
    /// If no driver is installed, or no GPU is found; the text names the cause.
    pub fn open() -> Result<CudaHost, String> {
        let device = GpuDevice::open(0).map_err(|error| error.message().to_owned())?;
        Ok(CudaHost { device: Arc::new(device), failure: OnceLock::new() })
    }

    /// Name of the GPU, such as `NVIDIA H200`.
    pub fn device_name(&self) -> &str {
        self.device.name()
    }

    /// Calls a handler for CUDA, and returns its results. Operands and results are row-major here; on the
    /// GPU, they have the layouts of the call. Results that alias an operand share its memory. The bits of
    /// other results are set to one before the call, which makes NaN in types with NaN.
    ///
    /// `results` has the types of the results.
    ///
    /// # Errors
    /// If the handler, one of its stages or the driver fails.
    pub fn call(
        &self,
        target: &Arc<Target>,
        call: &CustomCall,
        operands: &[Literal],
        results: &[TensorType],
    ) -> Result<Vec<Literal>, CudaCallError> {
        if *target.platform() != Platform::Cuda {
            return Err(CudaCallError::Platform(target.platform().clone()));
        }
        if let Some(failure) = self.failure.get() {
            return Err(CudaCallError::Unusable(failure.clone()));
        }
        let types = |types: &[TensorType]| types.iter().cloned().map(Type::Tensor).collect::<Vec<_>>();
        let operand_types: Vec<TensorType> = operands.iter().map(Literal::ty).collect();
        let place = "the call on the GPU";
        let site = CallSite::new(Arc::clone(target), call, &types(&operand_types), &types(results), place)?;
        let memory = |size: usize| self.try_driver(GpuMemory::new(Arc::clone(&self.device), size));
        let mut inputs = Vec::with_capacity(operands.len());
        for (i, operand) in operands.iter().enumerate() {
            let bytes = layout::to_layout(operand, order(call.operand_layouts.as_deref(), i));
            let input = memory(bytes.len())?;
            self.try_driver(input.write(&bytes))?;
            inputs.push(input);
        }
        let mut outputs = Vec::with_capacity(results.len());
        for (i, ty) in results.iter().enumerate() {
            let is_of = |path: &[usize]| path.first().copied().unwrap_or(0) == i;
            let alias = call.aliases.iter().find(|alias| is_of(&alias.output_tuple_indices));
            outputs.push(match alias {
                Some(OutputAlias { operand_index, .. }) => {
                    if operand_types.get(*operand_index) != Some(ty) {
                        return Err(CudaCallError::Alias { result: i, operand: *operand_index });
                    }
                    Output::Operand(*operand_index)
                }
                None => {
                    let output = memory(ty.bytes().unwrap_or(usize::MAX))?;
                    self.try_driver(output.fill(0xff))?;
                    Output::Own(output)
                }
            });
        }
        let output = |output: &Output| match output {
            Output::Own(memory) => memory.address(),
            Output::Operand(i) => inputs[*i].address(),
        };
        let inputs_at: Vec<_> = inputs.iter().map(|input| pointer(input.address())).collect();
        let outputs_at: Vec<_> = outputs.iter().map(|memory| pointer(output(memory))).collect();
        let services = Arc::new(Services { device: Arc::clone(&self.device), scratch: Mutex::default() });
        // SAFETY: the context serves only this call of a handler for CUDA.
        let run = unsafe { RunContext::new().on_device(services) };
        let called = self.device.run(|| {
            let mut frame = CallFrame::new(&Arc::new(site));
            let (no_inputs, no_outputs) = (vec![null_mut(); operands.len()], vec![null_mut(); results.len()]);
            // SAFETY: addresses may be null in the prepare stage. The addresses of the other stages are memory
            // of the device, with the sizes of operands and results, and aligned to 256 bytes. The memory
            // exists until `run` has waited for the work.
            let outcome = unsafe {
                frame
                    .prepare(&no_inputs, &no_outputs, &run)
                    .and_then(|()| frame.initialize(&inputs_at, &outputs_at, &run))
                    .and_then(|()| frame.execute(&inputs_at, &outputs_at, &run))
            };
            frame.end_run();
            outcome
        });
        self.try_driver(called)??;
        let read = |(i, (memory, ty)): (usize, (&Output, &TensorType))| {
            let memory = match memory {
                Output::Own(memory) => memory,
                Output::Operand(operand) => &inputs[*operand],
            };
            let bytes = self.try_driver(memory.read())?;
            Ok(layout::from_layout(&bytes, ty, order(call.result_layouts.as_deref(), i))?)
        };
        outputs.iter().zip(results).enumerate().map(read).collect()
    }

    /// Converts an error of the driver. No later call can succeed after it, unless memory is exhausted.
    fn try_driver<T>(&self, outcome: farcall::ffi::Result<T>) -> Result<T, CudaCallError> {
        outcome.map_err(|error| {
            let text = error.message().to_owned();
            if error.code() != StatusCode::ResourceExhausted {
                self.failure.get_or_init(|| text.clone());
            }
            CudaCallError::Driver(text)
        })
    }
}

/// Memory of a result.
enum Output {
    Own(GpuMemory<Arc<GpuDevice>>),
    /// The memory of the operand with this number.
    Operand(usize),
}

/// Returns the layout of an operand or result; `None` if it is row-major.
fn order(layouts: Option<&[Vec<usize>]>, i: usize) -> Option<&[usize]> {
    layouts.and_then(|layouts| layouts.get(i)).map(Vec::as_slice)
}

/// Converts an address on the device to the pointer type of the interface.
fn pointer(address: usize) -> *mut u8 {
    std::ptr::without_provenance_mut(address)
}

/// The stream and the scratch memory of a call.
#[derive(Debug)]
struct Services {
    device: Arc<GpuDevice>,
    scratch: Mutex<Vec<GpuMemory<Arc<GpuDevice>>>>,
}

// SAFETY: the stream is one of the device, which the services own. Memory of the device is accessible to
// handlers for CUDA until it is dropped.
unsafe impl DeviceServices for Services {
    fn device_ordinal(&self) -> i32 {
        self.device.ordinal()
    }

    fn stream(&self) -> *mut c_void {
        self.device.stream()
    }

    /// XLA's limit. (Its allocator aligns memory to 256 bytes, as this one does.)
    fn max_alignment(&self) -> usize {
        16
    }

    fn allocate(&self, size: usize) -> Option<NonNull<c_void>> {
        let memory = GpuMemory::new(Arc::clone(&self.device), size).ok()?;
        let address = NonNull::new(pointer(memory.address()).cast())?;
        self.scratch.lock().unwrap_or_else(PoisonError::into_inner).push(memory);
        Some(address)
    }

    unsafe fn free(&self, data: NonNull<c_void>) {
        let is_it = |memory: &GpuMemory<_>| memory.address() == data.as_ptr().addr();
        let mut scratch = self.scratch.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(i) = scratch.iter().position(is_it) {
            // Dropping the memory waits for the work on the stream.
            drop(scratch.swap_remove(i));
        }
    }
}
