//! Platforms: kinds of devices, by the names that handlers are registered for.

use std::fmt;
use std::sync::Arc;

use farcall_sig::platform;

/// A platform that handlers are registered for.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
#[non_exhaustive]
pub enum Platform {
    /// `Host`, also written `cpu`.
    #[default]
    Host,
    /// `CUDA`, also written `gpu`.
    Cuda,
    /// `ROCM`.
    Rocm,
    /// `SYCL`.
    Sycl,
    /// Any other platform, as written.
    Other(Arc<str>),
}

impl Platform {
    /// The canonical name.
    pub fn name(&self) -> &str {
        match self {
            Platform::Host => platform::HOST,
            Platform::Cuda => platform::CUDA,
            Platform::Rocm => platform::ROCM,
            Platform::Sycl => platform::SYCL,
            Platform::Other(name) => name,
        }
    }

    /// The name that JAX uses when it lowers programs for this platform: `cpu`, `cuda`, `rocm`.
    pub fn jax_name(&self) -> &str {
        match self {
            Platform::Host => "cpu",
            Platform::Cuda => "cuda",
            Platform::Rocm => "rocm",
            Platform::Sycl => "oneapi",
            Platform::Other(name) => name,
        }
    }
}

/// Parses a platform name. Known names are accepted in any case and spelling.
///
/// ```
/// use farcall::registry::Platform;
/// assert_eq!(Platform::from("cpu"), Platform::from("HOST"));
/// assert_eq!(Platform::from("gpu").to_string(), "CUDA");
/// assert_eq!(Platform::from("MyChip").to_string(), "MyChip");
/// ```
impl From<&str> for Platform {
    fn from(name: &str) -> Platform {
        match platform::canonical(name) {
            platform::HOST => Platform::Host,
            platform::CUDA => Platform::Cuda,
            platform::ROCM => Platform::Rocm,
            platform::SYCL => Platform::Sycl,
            other => Platform::Other(other.into()),
        }
    }
}

impl fmt::Display for Platform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
