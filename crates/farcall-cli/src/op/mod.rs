//! `farcall op`: one op of a library, or one of farcall's own ops, on given arrays.
//!
//! Without a name, the command lists the library's ops. Without operands and attributes, it explains the op
//! (`doc`). With `--check`, it checks the promises of ops (`check`). A call is a program of one custom call,
//! built from the op's signature ([`op_program`]) and run like any other program.

use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Result, anyhow, bail, ensure};
use farcall::custom_call::CallError;
use farcall::device::Device;
use farcall::ffi::abi::Stage;
use farcall::ir::literal::Literal;
use farcall::ir::module::Func;
use farcall::ir::types::TensorType;
use farcall::ir::verify::verify_owned;
use farcall::registry::{Remedy, Target};
use farcall::sig::nearest::nearest;
use farcall::{Registry, RunError, op_program};
use serde_json::{Value, json};

use crate::args::OpArgs;
use crate::execute::Ready;
use crate::inputs::count;
use crate::library::LibraryArg;
use crate::stats::Stats;
use crate::{load, npy, results, terminal};

mod check;
mod doc;
mod infer_operand;
mod operands;
mod platforms;
mod samples;

/// Lists, explains or calls ops.
pub(crate) fn op(args: &OpArgs) -> Result<()> {
    let mut stats = Stats::default();
    let registry = Registry::new();
    let targets = stats.take("load", || targets(&registry, &args.library))?;
    let library = &args.library.path;
    let is_here = |target: &&Arc<Target>| target.platform() == Device::default().platform();
    let (ops, elsewhere): (Vec<_>, Vec<_>) = targets.iter().cloned().partition(|t| is_here(&t));
    let Some(name) = &args.name else {
        return if args.check {
            check::all(&ops, &elsewhere, args)
        } else {
            doc::list(&ops, &elsewhere, library, args.json)
        };
    };
    let Some(target) = ops.iter().find(|t| t.name() == name || t.local_name() == name) else {
        bail!(unknown(name, library, &targets))
    };
    if args.check {
        return check::one(target, &ops, &elsewhere, args);
    }
    if args.inputs.is_empty() && args.attrs.is_empty() && !args.call {
        return doc::explain(target, &elsewhere, library, args.json);
    }

    let (inputs, attrs) = operands::arguments(target, &args.inputs, &args.attrs)?;
    let attrs = operands::attrs(target, &attrs)?;
    let operands = stats.take("inputs", || operands::operands(target, &inputs, &attrs, args.seed))?;
    let types: Vec<TensorType> = operands.iter().map(Literal::ty).collect();
    let module = verify_owned(op_program(target, &types, &attrs)?)?.into_static()?;
    let [func] = module.funcs() else { bail!("a call of {name} is more than one function") };
    let given = args.outputs.len();
    let gives = func.results().len();
    ensure!(given <= gives, "{name} returns {}, but --output is given {given} times", count(gives, "result"));
    let ready =
        stats.take("compile", || Ready::new(&module, func, &registry, args.numerics.into(), false))?;
    let results = results::of(&ready, &operands, args.repeat, &mut stats).map_err(in_its_words)?;
    if !args.outputs.is_empty() {
        stats.take("write", || {
            args.outputs.iter().zip(&results).try_for_each(|(path, result)| npy::write(path, result))
        })?;
    }
    if args.json {
        let results: Vec<Value> = results.iter().enumerate().map(|(i, r)| named(func, i, r)).collect();
        let value = json!({ "op": name, "results": results });
        return results::print_json(value, args.stats.then_some(&stats), &ready);
    }
    if !args.quiet {
        let mut out = terminal::stdout();
        if results.is_empty() {
            writeln!(out, "{name} ran; it has no results")?;
        }
        for (i, result) in results.iter().enumerate() {
            results::print(&mut out, result_name(func, i), None, result)?;
        }
    }
    if args.stats {
        stats.print(ready.plan())?;
    }
    Ok(())
}

/// Returns the targets of a library, or farcall's own.
fn targets(registry: &Registry, library: &LibraryArg) -> Result<Vec<Arc<Target>>> {
    if library.is_built_in() {
        return Ok(registry.built_ins());
    }
    let loaded = load::load(registry, library, false, &[]);
    loaded.map(|loaded| loaded.targets).map_err(|error| anyhow!(error.describe(advice)))
}

/// Phrases a remedy for `farcall op`. The command has no `--target`, because a handler that is only known by
/// its symbol declares no op.
fn advice(remedy: &Remedy) -> String {
    match remedy {
        Remedy::NameSymbols => "its handlers are not ops, since they have no signatures; a program can call \
             them: farcall run PROGRAM --load LIB --target NAME=SYMBOL"
            .to_owned(),
        other => load::advice(other),
    }
}

/// Formats a failure of the call with the op's name and message only, because the generated program has no
/// text to point into.
fn in_its_words(error: anyhow::Error) -> anyhow::Error {
    match error.downcast_ref() {
        Some(RunError::CustomCall(CallError { target, stage, code, message, .. })) => {
            let stage = match *stage {
                Stage::EXECUTE => String::new(),
                stage => format!(" in its {} stage", stage.name()),
            };
            anyhow!("{target}: {message} ({code:?}{stage})")
        }
        _ => error,
    }
}

/// Returns the signature's name of a result.
fn result_name(func: &Func, i: usize) -> &str {
    func.result_attrs().get(i).and_then(|a| a.get("jax.result_info")?.as_str()).unwrap_or_default()
}

fn named(func: &Func, i: usize, result: &Literal) -> Value {
    let mut value = results::as_json(result);
    value["name"] = json!(result_name(func, i));
    value
}

/// Error for a name that is not an op of the library, with the names that may have been meant.
fn unknown(name: &str, library: &Path, targets: &[Arc<Target>]) -> String {
    let library = library.display();
    let elsewhere: Vec<&Arc<Target>> =
        targets.iter().filter(|t| t.name() == name || t.local_name() == name).collect();
    if let Some(target) = elsewhere.first() {
        let platforms: Vec<&str> = elsewhere.iter().map(|target| target.platform().name()).collect();
        return format!(
            "{name} of {library} has no handler for {}, only for {}: the engine runs on the CPU; a library \
             with `#[handler(name = \"{}\")]` adds a handler for it; see: farcall guide cuda",
            Device::default().platform(),
            platforms.join(", "),
            target.local_name()
        );
    }
    let names = || targets.iter().filter(|t| t.platform() == Device::default().platform()).map(|t| t.name());
    let near = nearest(name, names());
    let hint = match near.as_slice() {
        [] if targets.len() <= 8 => format!("it has {}", names().collect::<Vec<_>>().join(", ")),
        [] => format!("farcall op {library} lists its ops"),
        near => format!("did you mean {}?", near.join(" or ")),
    };
    format!("{library} has no op {name}; {hint}")
}
