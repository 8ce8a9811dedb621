//! Options and errors of the compiler's stages.

use farcall_host::ErrorCode;
use farcall_host::registry::Platform;
use farcall_ir::diag::Diagnostics;
use farcall_ir::eval::Numerics;
use farcall_ir::middle::passes;

/// A compilation failure.
#[derive(Debug)]
pub(crate) struct Refused {
    pub(crate) diagnostics: Diagnostics,
    /// [`ErrorCode::MissingTarget`] if the only errors are missing targets.
    pub(crate) code: ErrorCode,
}

impl From<Diagnostics> for Refused {
    fn from(diagnostics: Diagnostics) -> Refused {
        Refused { diagnostics, code: ErrorCode::InvalidProgram }
    }
}

/// Compiler options.
pub(crate) struct Options<'a> {
    /// The platform of the device that the plan is for.
    pub(crate) platform: &'a Platform,
    pub(crate) numerics: Numerics,
    /// True if the program is divided among the partitions of its grid, according to its shardings.
    pub(crate) partitions: bool,
    /// The passes that run over the middle form.
    pub(crate) passes: &'a [&'static passes::Pass],
}
