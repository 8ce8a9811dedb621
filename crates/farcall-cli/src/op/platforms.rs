//! Handlers for other platforms than the host's, which `farcall op --check` compares with those for the host:
//! handlers for CUDA, if there is a GPU.

use std::sync::Arc;

use farcall::ffi::abi::{self, Stage};
use farcall::ir::literal::Literal;
use farcall::ir::op::CustomCall;
use farcall::ir::types::TensorType;
use farcall::registry::{Platform, Target};
use farcall_cuda_host::{CudaCallError, CudaHost};
use farcall_promises::{DeviceCallError, PlatformDevice, PlatformHandlers};

/// The handlers for other platforms of a library, and the GPU that those for CUDA run on.
pub(super) struct OtherHandlers {
    all: Vec<Arc<Target>>,
    cuda: Vec<Arc<Target>>,
    /// The GPU, or the reason why there is none.
    gpu: Result<Gpu, String>,
}

/// Handlers of one platform that were not compared, for one reason.
pub(super) struct Uncompared<'a> {
    /// Platform of the handlers.
    pub(super) platform: &'a str,
    /// Names of the ops.
    pub(super) ops: Vec<&'a str>,
    /// The reason.
    pub(super) why: String,
}

struct Gpu(CudaHost);

impl PlatformDevice for Gpu {
    fn call(
        &self,
        target: &Arc<Target>,
        call: &CustomCall,
        operands: &[Literal],
        results: &[TensorType],
    ) -> Result<Vec<Literal>, DeviceCallError> {
        self.0.call(target, call, operands, results).map_err(|error| match error {
            CudaCallError::Unusable(_) => DeviceCallError::Unsupported(error.to_string()),
            CudaCallError::Call(error) => {
                let stage = match error.stage {
                    Stage::EXECUTE => String::new(),
                    stage => format!(" in its {} stage", stage.name()),
                };
                let message = format!("{} ({:?}{stage})", error.message, error.code);
                match error.code {
                    abi::ErrorCode::UNIMPLEMENTED => DeviceCallError::Unsupported(message),
                    _ => DeviceCallError::Failed(message),
                }
            }
            error => DeviceCallError::Failed(error.to_string()),
        })
    }
}

impl OtherHandlers {
    /// Opens the GPU if there are handlers for CUDA.
    pub(super) fn new(all: &[Arc<Target>]) -> OtherHandlers {
        let cuda = |target: &&Arc<Target>| *target.platform() == Platform::Cuda;
        let cuda: Vec<_> = all.iter().filter(cuda).cloned().collect();
        let gpu = if cuda.is_empty() { Err(String::new()) } else { CudaHost::open().map(Gpu) };
        OtherHandlers { all: all.to_vec(), cuda, gpu }
    }

    /// Returns the handlers that can be compared, with their device.
    pub(super) fn comparable(&self) -> Option<PlatformHandlers<'_>> {
        let device = self.gpu.as_ref().ok()?;
        Some(PlatformHandlers { targets: &self.cuda, device })
    }

    /// Name of the GPU, if there is one.
    pub(super) fn gpu_name(&self) -> Option<&str> {
        self.gpu.as_ref().ok().map(|gpu| gpu.0.device_name())
    }

    /// Returns the handlers for which `is_compared` is false, of the ops for which `is_reported` is true.
    /// `has_host` is true for ops with a handler for the host.
    pub(super) fn uncompared(
        &self,
        is_reported: impl Fn(&str) -> bool,
        is_compared: impl Fn(&Target) -> bool,
        has_host: impl Fn(&str) -> bool,
    ) -> Vec<Uncompared<'_>> {
        let mut found: Vec<Uncompared<'_>> = Vec::new();
        for target in self.all.iter().filter(|target| is_reported(target.name()) && !is_compared(target)) {
            let why = match &self.gpu {
                _ if *target.platform() != Platform::Cuda => {
                    "this command runs handlers for Host and CUDA only".to_owned()
                }
                Err(why) => format!("no GPU: {why}"),
                Ok(_) if !has_host(target.name()) => {
                    "there is no handler for Host to compare them with".to_owned()
                }
                Ok(_) => "the handler for Host was not called".to_owned(),
            };
            let platform = target.platform().name();
            match found.iter_mut().find(|group| group.platform == platform && group.why == why) {
                Some(group) => group.ops.push(target.name()),
                None => found.push(Uncompared { platform, ops: vec![target.name()], why }),
            }
        }
        found
    }
}
