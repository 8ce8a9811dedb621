//! `farcall convert`: converts a program to another format.

mod json;

use std::io::{IsTerminal, Write};

use anyhow::{Context, Result, bail};
use farcall::ir::module::Module;
use farcall::ir::{elided, middle, verify, write};

use crate::args::{ConvertArgs, Format};
use crate::program::{self, Program};
use crate::{file, load, sharding, terminal};

/// Reads, verifies and writes a program.
pub(crate) fn convert(args: &ConvertArgs) -> Result<()> {
    let code = match program::open(&args.program)? {
        Program::Code(code) => code,
        Program::Plan(_) => {
            bail!("{} is a compiled plan, which cannot be converted", args.program.display())
        }
    };
    let mut module = code.module()?;
    if let Some(how) = args.elided {
        elided::fill(&mut module, how.elements())?;
    }
    verify::verify(&module)?;
    if let Some(name) = &args.entry {
        let entry = verify::entry(&module, Some(name))?.name.clone();
        if let Some(id) = module.func_id(&entry) {
            module.set_entry(id);
        }
    }
    if args.partitioned {
        let partitioned = sharding::partitioned(module, None, &load::registry(&args.load, &[])?)?;
        module = middle::open_regions(partitioned.module);
    }
    let content = written(&module, args.to)?;
    match &args.output {
        Some(path) => file::write(path, |out| out.write_all(&content).context("the program")),
        None if !is_text(args.to) && std::io::stdout().is_terminal() => {
            bail!("an artifact is not text: write it to a file with --output FILE")
        }
        None if !is_text(args.to) => Ok(std::io::stdout().lock().write_all(&content)?),
        None => Ok(terminal::stdout().write_all(&content)?),
    }
}

fn is_text(format: Format) -> bool {
    match format {
        Format::Program(format) => format.is_text(),
        Format::Json => true,
    }
}

fn written(module: &Module, format: Format) -> Result<Vec<u8>> {
    Ok(match format {
        Format::Program(format) => write::module(module, format)?,
        Format::Json => (serde_json::to_string_pretty(&json::module(module))? + "\n").into_bytes(),
    })
}
