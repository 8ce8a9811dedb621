//! `farcall run`: a program on given inputs.

use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result};
use farcall_ir::literal::Literal;
use farcall_ir::module::Func;
use farcall_ir::types::Type;
use farcall_ir::{text, verify};
use serde_json::{Value, json};

use crate::args::{RunArgs, Stage};
use crate::execute::Ready;
use crate::stats::Stats;
use crate::{inputs, load, npy, program, results, terminal};

/// Runs a program, shows its results, and writes them if asked to.
pub(crate) fn run(args: &RunArgs) -> Result<()> {
    let mut stats = Stats::default();
    let module = stats.take("read", || program::parse(&program::source(&args.program)?))?;
    if args.dump == Some(Stage::Text) {
        return dump(&text::print(&module));
    }
    stats.take("verify", || verify::verify(&module))?;
    if args.dump == Some(Stage::Verified) {
        return dump(&text::print(&module));
    }
    // The sizes that parameters leave open are those of the inputs; others may depend on their elements.
    let func = verify::entry(&module, args.entry.as_deref())?;
    let made = |func| inputs::arguments(func, &args.inputs, args.fill, args.seed);
    let mut early = if program::is_open(func) { Some(stats.take("inputs", || made(func))?) } else { None };
    let refined = match program::refined(&module, func, early.as_deref()) {
        Err(e) if early.is_none() && program::needs_elements(&e) => {
            early = Some(stats.take("inputs", || made(func)).map_err(|_| e)?);
            program::refined(&module, func, early.as_deref())?
        }
        refined => refined?,
    };
    let module = refined.as_ref().unwrap_or(&module);
    if args.dump == Some(Stage::Refined) {
        return dump(&text::print(module));
    }
    let func = verify::entry(module, Some(&func.name))?;
    let registry = stats.take("load", || load::registry(&args.load, &[]))?;
    let numerics = args.numerics.into();
    let evaluator = args.evaluator && args.dump.is_none();
    let ready = stats.take("compile", || Ready::new(module, func, &registry, numerics, evaluator))?;
    if let (Some(Stage::Plan), Ready::Engine(executable)) = (args.dump, &ready) {
        return dump(&executable.plan().to_string());
    }
    let arguments = match early {
        Some(arguments) => arguments,
        None => stats.take("inputs", || made(func))?,
    };

    let results = results::of(&ready, &arguments, args.repeat, &mut stats)
        .map_err(|e| Ready::explain(e, &module.source))?;
    if let Some(folder) = &args.output_dir {
        stats.take("write", || write(folder, &results))?;
    }
    if args.json {
        let types: Vec<Value> = results.iter().map(results::as_json).collect();
        return results::print_json(json!({ "results": types }), args.stats.then_some(&stats), &ready);
    }
    if !args.quiet {
        print(func, &results)?;
    }
    if args.stats {
        stats.print(&ready)?;
    }
    Ok(())
}

fn dump(text: &str) -> Result<()> {
    let mut out = terminal::stdout();
    out.write_all(text.as_bytes())?;
    if !text.ends_with('\n') {
        out.write_all(b"\n")?;
    }
    Ok(())
}

fn write(folder: &Path, results: &[Literal]) -> Result<()> {
    std::fs::create_dir_all(folder)
        .with_context(|| format!("cannot make the folder {}", folder.display()))?;
    for (i, result) in results.iter().enumerate() {
        npy::write(&folder.join(format!("out{i}.npy")), result)?;
    }
    Ok(())
}

fn print(func: &Func, results: &[Literal]) -> Result<()> {
    let mut out = terminal::stdout();
    if results.is_empty() {
        writeln!(out, "@{} ran; it has no results", func.name)?;
    }
    let attrs = func.results.iter().zip(&func.result_attrs).filter(|(ty, _)| **ty != Type::Token);
    let attrs: Vec<_> = attrs.map(|(_, attrs)| attrs).collect();
    for (i, result) in results.iter().enumerate() {
        let info = attrs.get(i).and_then(|a| a.get("jax.result_info")?.as_str());
        // JAX calls a lone result `result`, those of a tuple `result[0]`, …, which says nothing.
        let info = info.filter(|t| !t.is_empty() && *t != "result" && *t != format!("result[{i}]"));
        results::print(&mut out, &format!("out{i}"), info, result)?;
    }
    Ok(())
}
