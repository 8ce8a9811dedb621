//! Errors of the client.

use std::path::PathBuf;

use farcall_ir::ProgramError;
use farcall_ir::memory::OutOfMemory;
pub use farcall_pjrt_abi::ErrorCode as PluginErrorCode;
use thiserror::Error;

/// An error of a plugin, or of its use.
#[derive(Clone, Debug, Error)]
#[non_exhaustive]
pub enum PjrtError {
    /// A file that is not a shared library, or that the dynamic linker refuses.
    #[error("{} cannot be loaded: {message}", .path.display())]
    Open {
        /// Path of the file.
        path: PathBuf,
        /// Reason of the system.
        message: String,
    },
    /// A library that is not a plugin, or a plugin with another interface.
    #[error("{} {message}", .path.display())]
    Interface {
        /// Path of the library.
        path: PathBuf,
        /// Difference between the library and the interface of this client.
        message: String,
    },
    /// A function that the plugin does not have.
    #[error("the plugin lacks the function {0}, which this needs")]
    MissingFunction(&'static str),
    /// An error that the plugin returned.
    #[error("{function}: {message} ({})", code_name(*.code))]
    Plugin {
        /// Name of the function without the suffix `Args`.
        function: &'static str,
        /// Kind of the error.
        code: PluginErrorCode,
        /// Text of the plugin.
        message: String,
    },
    /// A program that is invalid, or that artifacts cannot express.
    #[error(transparent)]
    Program(#[from] ProgramError),
    /// A program that this plugin cannot run.
    #[error("{0}")]
    Unsupported(String),
    /// An argument that does not fit the program or the client.
    #[error("{0}")]
    Argument(String),
    /// A tensor that does not fit into memory.
    #[error(transparent)]
    Memory(#[from] OutOfMemory),
}

/// Returns the name of a code.
fn code_name(code: PluginErrorCode) -> String {
    code.name().map_or_else(|| format!("code {}", code.0), str::to_owned)
}
