//! Reads programs in any supported format, which is detected from the content.

use std::sync::Arc;

use crate::diag::{Diagnostic, ProgramError, Source};
use crate::exported::{self, Exported};
use crate::interface::Interface;
use crate::module::Module;
use crate::{bytecode, hlo, text, verify, vhlo};

/// A program that can be called.
#[derive(Clone, Debug)]
pub struct Program {
    /// The program.
    pub module: Module,
    /// The arguments and results of the entry, as the program's author sees them.
    pub interface: Interface,
}

/// Parses text: HLO text, which begins with `HloModule`, or StableHLO text.
///
/// # Errors
/// The errors of [`hlo::parse`] or [`text::parse`].
pub fn text(source: &Arc<Source>) -> Result<Module, ProgramError> {
    if hlo::is_hlo(source.text()) { hlo::parse(source) } else { text::parse(source) }
}

/// True if `bytes` are a portable artifact, a function that `jax.export` wrote, or XLA's `HloModuleProto`.
pub fn is_artifact(bytes: &[u8]) -> bool {
    bytecode::is_bytecode(bytes) || exported::is_exported(bytes) || hlo::proto::is_module(bytes)
}

/// Reads a program in any format, unchanged. `name` is the file name for messages.
///
/// # Errors
/// The errors of [`text()`], [`vhlo::read`], [`Exported::read`] and [`hlo::proto::read`]. Code `encoding` for
/// bytes that are neither an artifact nor UTF-8.
pub fn module(bytes: &[u8], name: &str) -> Result<Module, ProgramError> {
    if exported::is_exported(bytes) {
        return Exported::read(bytes, name)?.module(name);
    }
    if bytecode::is_bytecode(bytes) {
        return vhlo::read(bytes, name);
    }
    if hlo::proto::is_module(bytes) {
        return hlo::proto::read(bytes, name);
    }
    match std::str::from_utf8(bytes) {
        Ok(content) => text(&Source::new(name, content)),
        Err(e) => {
            let message = format!(
                "{name} is neither text nor an artifact: byte {} is not valid UTF-8",
                e.valid_up_to()
            );
            Err(ProgramError::new(&Source::none(), Diagnostic::global("encoding", message)))
        }
    }
}

/// Reads a program for one platform (`cpu`). The interface is returned if the file states it, as files of
/// exported functions do.
///
/// # Errors
/// The errors of [`module`] and [`Exported::module_for`].
pub fn for_platform(
    bytes: &[u8],
    name: &str,
    platform: &str,
) -> Result<(Module, Option<Interface>), ProgramError> {
    if !exported::is_exported(bytes) {
        return Ok((module(bytes, name)?, None));
    }
    let exported = Exported::read(bytes, name)?;
    let module = exported.module_for(name, platform)?;
    let interface = exported.interface(&module);
    Ok((module, Some(interface)))
}

/// Reads the program of a function that JAX exported for `platforms`, and specializes it to `platform`.
/// `bytes` are only the program, as text or as a portable artifact, not the file that `jax.export` writes.
///
/// # Errors
/// The errors of [`module`] and [`verify::entry`]. Code `platform` if the function was exported for other
/// platforms.
pub fn exported_program(
    bytes: &[u8],
    name: &str,
    platforms: &[String],
    platform: &str,
) -> Result<Program, ProgramError> {
    let mut module = module(bytes, name)?;
    exported::specialize(&mut module, name, platforms, platform, false)?;
    let interface = Interface::of(verify::entry(&module, None)?);
    Ok(Program { module, interface })
}

/// Reads a program to call. The entry is the function named `entry`, or the one that [`verify::entry`]
/// chooses.
///
/// # Errors
/// The errors of [`for_platform`] and [`verify::entry`].
pub fn program(
    bytes: &[u8],
    name: &str,
    platform: &str,
    entry: Option<&str>,
) -> Result<Program, ProgramError> {
    let (module, interface) = for_platform(bytes, name, platform)?;
    let called = verify::entry(&module, entry)?;
    let is_main = module.entry().is_some_and(|main| std::ptr::eq(main, called));
    let interface = interface.filter(|_| is_main).unwrap_or_else(|| Interface::of(called));
    Ok(Program { module, interface })
}
