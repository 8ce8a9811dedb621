//! Running and inspecting plans from files.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Result, bail};
use comfy_table::{Cell, CellAlignment};
use farcall::ir::eval::Numerics;
use farcall::ir::interface::Interface;
use farcall::ir::literal::Literal;
use farcall::ir::types::{TensorType, Type};
use farcall::{Executable, Plan, Registry, ValidPlan};
use serde_json::{Value, json};

use crate::args::{Dump, HowArgs, InputArgs, InspectArgs, RunArgs};
use crate::boundary::shape;
use crate::calls::{self, Call, write_calls};
use crate::compile::dump;
use crate::devices::{self, DeviceRun};
use crate::execute::{Ready, refused};
use crate::inputs;
use crate::profile::RecordedRuns;
use crate::show::short_type;
use crate::spec::Elided;
use crate::stats::{Stats, bytes};
use crate::terminal::{self, BOLD, DIM, styled};
use crate::{draw, load, results, why};

/// Runs a plan, as `farcall run` runs a program.
pub(crate) fn run(
    args: &RunArgs,
    plan: ValidPlan,
    mut stats: Stats,
    mut measured: RecordedRuns<'_>,
) -> Result<()> {
    refuse(&args.program, &args.how, args.evaluator)?;
    if args.how.dump.is_some() {
        return dump(&plan.to_string());
    }
    let registry = stats.take("load", || load::registry(&args.load, &[]))?;
    let source = Arc::clone(plan.source());
    let plan = filled(plan, args.how.elided)?;
    let executable = stats.take("bind", || executable(plan, &registry))?;
    let name = args.program.display();
    let grid = executable.grid();
    let params: Vec<Type> = complete_inputs(&executable).into_iter().map(Type::Tensor).collect();
    let params: Vec<&Type> = params.iter().collect();
    let interface = Interface { name: name.to_string(), ..executable.interface() };
    let ready = Ready::Engine(executable);
    ready.require_elements()?;
    if args.how.devices.grid(grid, false)? != grid {
        bail!("{name} is a compiled plan for {grid}: compile the program again for other devices");
    }
    if let Some(grid) = devices::of_run(&ready, &args.how.devices, grid) {
        let run = DeviceRun { args, ready: &ready, grid, interface: &interface };
        return run.run(&params, &mut stats).map_err(|e| Ready::explain(e, &source));
    }
    let arguments = stats.take("inputs", || inputs::of(&interface, &params, &args.inputs))?;
    let results = measured.run(&ready, &arguments, &mut stats).map_err(|e| Ready::explain(e, &source))?;
    if let Some(folder) = &args.output_dir {
        stats.take("write", || results::write(folder, &results))?;
    }
    measured.finish(&ready, &results, &stats, || {
        let mut out = terminal::stdout();
        if results.is_empty() {
            writeln!(out, "{name} ran; it has no results")?;
        }
        for (i, result) in results.iter().enumerate() {
            results::print(&mut out, &format!("out{i}"), None, result)?;
        }
        Ok(())
    })
}

/// Fills elided constants as `--elided` says.
pub(crate) fn filled(plan: ValidPlan, elided: Option<Elided>) -> Result<ValidPlan> {
    let Some(how) = elided else { return Ok(plan) };
    let mut plan = plan.into_plan();
    plan.fill_elided(how.elements())?;
    Ok(plan.validate()?)
}

/// Prepares a plan to run.
pub(crate) fn executable(plan: ValidPlan, registry: &Registry) -> Result<Executable> {
    Executable::from_plan(plan, registry).map_err(refused)
}

/// Returns the arguments for a plan in a file.
pub(crate) fn arguments(path: &Path, executable: &Executable, given: &InputArgs) -> Result<Vec<Literal>> {
    let params: Vec<Type> = executable.inputs().iter().cloned().map(Type::Tensor).collect();
    let interface = Interface { name: path.display().to_string(), ..executable.interface() };
    inputs::of(&interface, &params.iter().collect::<Vec<&Type>>(), given)
}

/// Returns an error for options that have no effect on a compiled plan.
pub(crate) fn refuse(path: &Path, how: &HowArgs, evaluator: bool) -> Result<()> {
    let given = [
        ("--entry", how.entry.is_some()),
        ("--denormals", how.numerics.denormals.is_some()),
        ("--semantics", how.numerics.semantics.is_some()),
        ("--passes", how.passes.is_some()),
    ];
    let given: Vec<&str> = given.iter().filter(|(_, given)| *given).map(|(name, _)| *name).collect();
    if !given.is_empty() {
        bail!(
            "{} is a compiled plan: {} has an effect only when a program is compiled (`farcall compile`)",
            path.display(),
            given.join(" or ")
        );
    }
    if evaluator {
        bail!(
            "{} is a compiled plan, which the evaluator cannot run; give the program instead",
            path.display()
        );
    }
    match how.dump {
        None | Some(Dump::Plan) => Ok(()),
        Some(dump) => bail!(
            "{} is a compiled plan: only `--dump plan` can show it; `--dump {dump}` needs the original program",
            path.display()
        ),
    }
}

/// Prints the inputs, results and custom calls of a plan.
pub(crate) fn inspect(args: &InspectArgs, plan: &Plan) -> Result<()> {
    if args.entry.is_some() {
        bail!("{} is a compiled plan of one function: --entry has no effect", args.program.display());
    }
    if !args.inputs.inputs.is_empty() || args.inputs.fill.is_some() {
        bail!("{} is compiled: --input and --fill have no effect", args.program.display());
    }
    if args.passes.is_some() {
        bail!("{} is compiled: --passes has no effect", args.program.display());
    }
    if args.plan {
        bail!(
            "{0} is compiled: --plan explains the compilation of a program; `farcall run {0} --dump plan` shows \
             its steps",
            args.program.display()
        );
    }
    if args.draw.is_requested() {
        return draw::plan(&args.draw, &args.program.display().to_string(), plan);
    }
    let registry = load::registry(&args.load, &[])?;
    let calls = calls::of_plan(plan, &registry);
    let mut out = terminal::stdout();
    if args.json {
        let mut value = as_json(&args.program, plan, &calls);
        if args.why {
            value["blocks"] = why::json(plan).into();
        }
        writeln!(out, "{}", serde_json::to_string_pretty(&value)?)?;
        return Ok(());
    }
    let of = if plan.source().is_none() { String::new() } else { format!(", of {}", plan.source().name()) };
    writeln!(out, "{}{of}", styled(BOLD, format!("plan {}", args.program.display())))?;
    for (i, param) in plan.params().iter().enumerate() {
        let known = param.known.as_ref().map(|_| "compiled for one value".to_owned());
        let donated = param.donated.then(|| "donated".to_owned());
        let notes: Vec<String> = param.name.clone().into_iter().chain(donated).chain(known).collect();
        let notes =
            if notes.is_empty() { String::new() } else { styled(DIM, format!("  {}", notes.join(", "))) };
        writeln!(out, "  in{i}   {}{notes}", short_type(&param.ty))?;
    }
    for (i, result) in plan.results().iter().enumerate() {
        writeln!(out, "  out{i}  {}", short_type(&result.ty))?;
    }
    let Numerics { denormals, semantics } = plan.numerics();
    let mut table = terminal::table(&["plan", ""]);
    let platform = Cell::new(plan.platform()).set_alignment(CellAlignment::Right);
    table.add_row([Cell::new("platform"), platform]);
    table.add_row([
        Cell::new("arena"),
        Cell::new(bytes(plan.arena_size())).set_alignment(CellAlignment::Right),
    ]);
    let constants = Cell::new(bytes(plan.constant_bytes())).set_alignment(CellAlignment::Right);
    table.add_row([Cell::new("constants"), constants]);
    table.add_row([Cell::new("denormals"), Cell::new(denormals).set_alignment(CellAlignment::Right)]);
    table.add_row([Cell::new("semantics"), Cell::new(semantics).set_alignment(CellAlignment::Right)]);
    for (kind, n) in plan.thunk_counts() {
        let number = Cell::new(n).set_alignment(CellAlignment::Right);
        table.add_row([Cell::new(format!("{kind} thunks")), number]);
    }
    writeln!(out, "\n{}", table.trim_fmt())?;
    if args.why {
        why::write(&mut out, plan)?;
    }
    write_calls(&mut out, &calls)
}

fn as_json(path: &Path, plan: &Plan, calls: &[Call<'_>]) -> Value {
    let ty = |ty: &farcall::ir::TensorType| json!({ "type": ty.to_string(), "dtype": ty.dtype.name(), "shape": shape(ty) });
    let input = |param: &farcall::plan::ParamSpec| {
        let mut value = ty(&param.ty);
        value["name"] = json!(param.name);
        value["donated"] = json!(param.donated);
        value["known"] = json!(param.known.is_some());
        value
    };
    let Numerics { denormals, semantics } = plan.numerics();
    let thunks: BTreeMap<&str, usize> = plan.thunk_counts();
    json!({
        "plan": path.display().to_string(),
        "program": (!plan.source().is_none()).then(|| plan.source().name()),
        "inputs": plan.params().iter().map(input).collect::<Vec<_>>(),
        "outputs": plan.results().iter().map(|r| ty(&r.ty)).collect::<Vec<_>>(),
        "platform": plan.platform().name(),
        "denormals": denormals.name(),
        "semantics": semantics.name(),
        "arena_bytes": plan.arena_size(),
        "constant_bytes": plan.constant_bytes(),
        "thunks": thunks,
        "custom_calls": calls.iter().map(calls::as_json).collect::<Vec<_>>(),
    })
}

/// Returns the types of the inputs. For a partitioned program, these are the complete tensors.
fn complete_inputs(executable: &Executable) -> Vec<TensorType> {
    let types = executable.inputs().iter();
    let Some(sharding) = executable.plan().sharding() else { return types.cloned().collect() };
    types.zip(&sharding.inputs).map(|(ty, assignment)| ty.with_sizes(assignment.sizes.clone())).collect()
}
