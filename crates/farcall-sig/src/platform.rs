//! Names of platforms, which are kinds of devices.
//!
//! XLA, JAX and authors of handlers spell the same platform differently: `Host`, `host` and `cpu`, or `CUDA`,
//! `cuda` and `gpu`. All other crates compare platforms through this module.

use crate::text::same;

/// The platform of the host's processor.
pub const HOST: &str = "Host";

/// The platform of NVIDIA's GPUs.
pub const CUDA: &str = "CUDA";

/// The platform of AMD's GPUs.
pub const ROCM: &str = "ROCM";

/// The platform of Intel's GPUs.
pub const SYCL: &str = "SYCL";

/// Canonical names, each with its other spellings. The names are XLA's.
const KNOWN: [(&str, &[&str]); 4] = [(HOST, &["cpu"]), (CUDA, &["gpu"]), (ROCM, &[]), (SYCL, &[])];

/// Returns the canonical name of a platform. Known platforms are recognized in any case and spelling; another
/// name is returned as written.
///
/// ```
/// use farcall_sig::platform::canonical;
///
/// assert_eq!(canonical("cpu"), "Host");
/// assert_eq!(canonical("Cuda"), "CUDA");
/// assert_eq!(canonical("gpu"), "CUDA");
/// assert_eq!(canonical("MyChip"), "MyChip");
/// ```
pub const fn canonical(name: &str) -> &str {
    let mut i = 0;
    while i < KNOWN.len() {
        let (canonical, others) = KNOWN[i];
        if name.eq_ignore_ascii_case(canonical) {
            return canonical;
        }
        let mut k = 0;
        while k < others.len() {
            if name.eq_ignore_ascii_case(others[k]) {
                return canonical;
            }
            k += 1;
        }
        i += 1;
    }
    name
}

/// Returns true if two names stand for the same platform. As in XLA, the case of letters does not matter.
///
/// ```
/// use farcall_sig::platform::is_same;
///
/// assert!(is_same("cpu", "HOST") && is_same("gpu", "cuda") && is_same("MyChip", "mychip"));
/// assert!(!is_same("CUDA", "ROCM"));
/// ```
pub const fn is_same(a: &str, b: &str) -> bool {
    canonical(a).eq_ignore_ascii_case(canonical(b))
}

/// Returns true if the platform is the host's processor, so that buffers lie in the process's own memory.
pub const fn is_host(name: &str) -> bool {
    same(canonical(name), HOST)
}
