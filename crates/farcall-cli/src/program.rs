//! Programs from files.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use farcall::ir::diag::Source;
use farcall::ir::exported::{Exported, is_exported};
use farcall::ir::file_kind::FileKind;
use farcall::ir::interface::Interface;
use farcall::ir::literal::Literal;
use farcall::ir::module::{Func, Module};
use farcall::ir::refine::RefineError;
use farcall::ir::verify::{StaticModule, Verified, verify_owned};
use farcall::ir::{hlo, read, text};
use farcall::plan::file::MAGIC;
use farcall::registry::Platform;
use farcall::{CompileOptions, Plan, ValidPlan};

use crate::stream::{Content, TextCheck};

/// A runnable file.
pub(crate) enum Program {
    /// A program in one of the supported formats.
    Code(Code),
    /// A compiled program.
    Plan(Box<ValidPlan>),
}

/// A program before it is compiled.
pub(crate) enum Code {
    /// Text that is not parsed yet.
    Text(Arc<Source>),
    /// An artifact that is not decoded yet.
    Artifact {
        /// Name of the file.
        name: String,
        /// Contents of the file.
        bytes: Content,
    },
}

impl Code {
    /// Name of the file.
    pub(crate) fn name(&self) -> &str {
        match self {
            Code::Text(source) => source.name(),
            Code::Artifact { name, .. } => name,
        }
    }

    /// Returns the metadata of the function if `jax.export` wrote the file.
    pub(crate) fn exported(&self) -> Result<Option<Exported<'_>>> {
        match self {
            Code::Artifact { name, bytes } if is_exported(bytes) => Ok(Some(Exported::read(bytes, name)?)),
            _ => Ok(None),
        }
    }

    /// Returns the program as it is in the file.
    pub(crate) fn module(&self) -> Result<Module> {
        match self {
            Code::Text(source) => parse(source),
            Code::Artifact { name, bytes } => Ok(read::module(bytes, name)?),
        }
    }

    /// Returns the program for a platform, with its interface if the file has one.
    pub(crate) fn program(&self, platform: &Platform) -> Result<(Module, Option<Interface>)> {
        match self {
            Code::Text(_) => Ok((self.module()?, None)),
            Code::Artifact { name, bytes } => Ok(read::for_platform(bytes, name, platform.jax_name())?),
        }
    }
}

/// Opens a program or a plan, which are distinguished by their first bytes; `-` is the standard input.
///
/// # Errors
/// If the file cannot be read, or is neither a program nor a plan. The message then says what the file looks
/// like.
pub(crate) fn open(path: &Path) -> Result<Program> {
    let (name, mut input) = Input::open(path)?;
    let mut first = Vec::new();
    let read = (&mut input.from).take(MAGIC.len() as u64).read_to_end(&mut first);
    read.with_context(|| format!("cannot read {name}"))?;
    if first != MAGIC {
        // The first bytes are passed on, since input such as a pipe cannot be read twice.
        return as_code(name, input, first).map(Program::Code);
    }
    // A plan is read incrementally, so that its large constants are not in memory twice.
    let plan = Plan::read_from(&mut BufReader::new(first.as_slice().chain(input.from)), input.length);
    Ok(Program::Plan(Box::new(plan.with_context(|| name)?)))
}

/// An open file.
struct Input {
    from: Box<dyn Read>,
    /// Length in bytes, if known.
    length: Option<u64>,
}

impl Input {
    /// Opens a file and returns its name for messages; `-` is the standard input.
    fn open(path: &Path) -> Result<(String, Input)> {
        if path.as_os_str() == "-" {
            return Ok(("<stdin>".to_owned(), Input { from: Box::new(std::io::stdin()), length: None }));
        }
        let name = path.display().to_string();
        ensure!(!path.is_dir(), "{name} is a folder, not a program");
        let file = File::open(path).with_context(|| format!("cannot read {name}"))?;
        let length = file.metadata().ok().filter(|m| m.is_file()).map(|m| m.len());
        Ok((name, Input { from: Box::new(file), length }))
    }

    /// Reads to the end. The `first` bytes have been read already; the result begins with them. Input of
    /// unknown length may be endless, so it must look like a program from its first bytes on.
    fn read(self, name: &str, first: Vec<u8>) -> Result<Content> {
        let left = self.length.map(|length| length.saturating_sub(first.len() as u64));
        let mut text = TextCheck::new(name);
        Content::read(self.from, name, first, left, |bytes| {
            if read::is_artifact(bytes) {
                return Ok(());
            }
            match foreign(bytes) {
                Some(what) => Err(not_text(name, &what)),
                None => text.check(bytes),
            }
        })
    }
}

/// Reads a program's text; `-` is the standard input.
///
/// # Errors
/// If the file cannot be read, or is not text. The message then says what the file looks like.
pub(crate) fn source(path: &Path) -> Result<Arc<Source>> {
    let (name, input) = Input::open(path)?;
    let content = input.read(&name, Vec::new())?;
    as_source(name, content)
}

/// Reads text, a portable artifact, or a file of `jax.export`.
fn as_code(name: String, input: Input, first: Vec<u8>) -> Result<Code> {
    let bytes = input.read(&name, first)?;
    if read::is_artifact(&bytes) {
        Ok(Code::Artifact { name, bytes })
    } else {
        as_source(name, bytes).map(Code::Text)
    }
}

fn as_source(name: String, content: Content) -> Result<Arc<Source>> {
    if let Some(what) = foreign(&content) {
        return Err(not_text(&name, &what));
    }
    content.into_source(name)
}

fn not_text(name: &str, what: &str) -> anyhow::Error {
    anyhow::anyhow!("{name} is {what}, not the text of a program")
}

/// Describes the kind of file, if the bytes are recognized as something other than a program's text.
fn foreign(bytes: &[u8]) -> Option<String> {
    if bytes.starts_with(&MAGIC) {
        return Some("a compiled plan (which `farcall run` and `farcall inspect` take)".to_owned());
    }
    let kind = FileKind::of(bytes)?;
    let hint = match kind {
        FileKind::MlirBytecode => " (`farcall convert` writes it as text)",
        FileKind::Elf => " (a program or shared library; libraries are given with --load)",
        FileKind::NumPy => " (inputs are given with --input)",
        _ => "",
    };
    Some(format!("{kind}{hint}"))
}

/// Returns a program with the sizes that follow from its inputs. If sizes depend on elements of the inputs,
/// also returns the inputs, otherwise an empty list. Without inputs, all sizes must follow from the types of
/// the parameters.
pub(crate) fn specialized<'m>(
    module: &'m Verified<'_>,
    func: &Func,
    inputs: Option<&[Literal]>,
) -> Result<(StaticModule<'m>, Vec<Option<Literal>>), RefineError> {
    let mut options = CompileOptions::new().entry(&func.name);
    if let Some(inputs) = inputs {
        options = options.inputs(inputs.iter().map(Literal::ty));
    }
    match (farcall::specialize(module.borrowed(), &options), inputs) {
        (Err(RefineError::UnknownShape(_)), Some(inputs)) => {
            let known: Vec<Option<Literal>> = inputs.iter().cloned().map(Some).collect();
            Ok((farcall::specialize(module.borrowed(), &options.known(known.iter().cloned()))?, known))
        }
        (specialized, _) => Ok((specialized?, Vec::new())),
    }
}

/// Returns true if the type of any parameter has a dynamic size.
pub(crate) fn is_open(func: &Func) -> bool {
    func.params().iter().any(|p| func.tensor(*p).is_some_and(|t| !t.is_static()))
}

/// Parses the only program of a source: StableHLO text, or HLO text, which begins with `HloModule`.
fn parse(source: &Arc<Source>) -> Result<Module> {
    // HLO text is always one program.
    if !hlo::is_hlo(source.text()) {
        let programs = text::split_programs(source.text()).len();
        ensure!(
            programs <= 1,
            "{} holds {programs} programs, separated by `// -----`; give one of them (or run its checks with `farcall test`)",
            source.name()
        );
    }
    Ok(read::text(source)?)
}

/// Reads, parses and verifies a program.
pub(crate) fn load(path: &Path) -> Result<Verified<'static>> {
    Ok(verify_owned(parse(&source(path)?)?)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(bytes: &[u8]) -> String {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), bytes).unwrap();
        let name = file.path().display().to_string();
        format!("{:#}", source(file.path()).unwrap_err()).replace(&name, "FILE")
    }

    #[test]
    fn what_is_no_program_is_told_apart() {
        assert_eq!(message(b""), "FILE is empty; it should hold the text of a program");
        assert_eq!(message(b"\x89PNG\r\n"), "FILE is a PNG image, not the text of a program");
        assert!(message(b"module \xff").contains("byte 7 is not valid UTF-8"));
        assert!(format!("{:#}", source(Path::new("/nowhere/x")).unwrap_err()).contains("No such file"));
    }
}
