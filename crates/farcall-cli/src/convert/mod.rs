//! `farcall convert`: a program in another format.

mod json;

use std::io::Write;

use anyhow::{Context, Result, bail};
use farcall::ir::module::Module;
use farcall::ir::{hlo, text, verify};

use crate::args::{ConvertArgs, Format};
use crate::program::{self, Program};
use crate::{file, terminal};

/// Reads and verifies a program, and writes it.
pub(crate) fn convert(args: &ConvertArgs) -> Result<()> {
    let code = match program::open(&args.program)? {
        Program::Code(code) => code,
        Program::Plan(_) => {
            bail!("{} is a compiled plan, which no other format can hold", args.program.display())
        }
    };
    let module = code.module()?;
    verify::verify(&module)?;
    let text = written(&module, args.to)?;
    match &args.output {
        Some(path) => {
            file::write(path, |out| out.write_all(text.as_bytes()).context("the text of the program"))
        }
        None => Ok(terminal::stdout().write_all(text.as_bytes())?),
    }
}

fn written(module: &Module, format: Format) -> Result<String> {
    Ok(match format {
        Format::Stablehlo => text::print(module),
        Format::StablehloGeneric => text::print_generic(module),
        Format::Hlo => hlo::print(module)?,
        Format::Json => serde_json::to_string_pretty(&json::module(module))? + "\n",
    })
}
