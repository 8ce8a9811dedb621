//! `farcall inspect`: the inputs, results and custom calls of a program. With `--why` and `--plan`, the
//! program is compiled, and the custom calls come from the plan.

use std::collections::BTreeMap;
use std::io::Write;

use anyhow::{Result, ensure};
use comfy_table::Cell;
use farcall::Plan;
use farcall::device::Device;
use farcall::ir::attr::AttrDict;
use farcall::ir::module::{Func, Module};
use farcall::ir::types::Type;
use farcall::ir::verify::{entry, verify_owned};
use serde_json::{Value, json};

use crate::args::InspectArgs;
use crate::boundary::{inputs, notes, outputs, shape};
use crate::calls::{self, Call, write_calls};
use crate::inputs::count;
use crate::program::{self, Program};
use crate::show::short;
use crate::terminal::{self, BOLD, styled};
use crate::{draw, explain, export, load, plan, sharding, why};

/// Prints the inputs, results and custom calls of a program.
pub(crate) fn inspect(args: &InspectArgs) -> Result<()> {
    let compiles = args.why || args.plan;
    let only_colors = args.draw.times.is_some() && !args.draw.is_requested();
    ensure!(!only_colors, "--times is for drawings: add --svg or --dot");
    let needless = !compiles && (!args.inputs.inputs.is_empty() || args.inputs.fill.is_some());
    ensure!(!needless, "--input and --fill are for --why and --plan, which compile the program for them");
    ensure!(compiles || args.passes.is_none(), "--passes is for --why and --plan, which compile the program");
    let code = match program::open(&args.program)? {
        Program::Code(code) => code,
        Program::Plan(plan) => return plan::inspect(args, &plan),
    };
    let module = match compiles {
        true => code.program(Device::default().platform())?.0,
        false => code.module()?,
    };
    // Some custom calls stand for operations. Verification replaces them by these operations, which need no
    // target.
    let module = verify_owned(module)?;
    let exported = if args.entry.is_none() { code.exported()? } else { None };
    let func = entry(&module, args.entry.as_deref())?;
    let registry = load::registry(&args.load, &[])?;
    if args.sharding {
        return sharding::inspect(args, &module, func, &registry);
    }
    let compiled = if compiles { why::compiled(&code, args, &registry)? } else { None };
    let plan: Option<&Plan> = compiled.as_ref().map(|(plan, _)| &**plan);
    let explained = compiled.as_ref().filter(|_| args.plan);
    if args.draw.is_requested() {
        return draw::program(&args.draw, code.name(), &module, func, plan);
    }
    let calls = match plan {
        Some(plan) => calls::of_plan(plan, &registry),
        None => {
            let platforms = exported.as_ref().map_or(&[][..], |exported| &exported.platforms);
            calls::of_module(&module, &registry, platforms)
        }
    };
    let mut out = terminal::stdout();
    if args.json {
        let mut json = as_json(code.name(), &module, func, &calls);
        if let Some(exported) = &exported {
            json["exported"] = export::as_json(exported, &module);
        }
        if let Some(plan) = plan.filter(|_| args.why) {
            json["blocks"] = why::json(plan).into();
            json["lapack_library"] = json!(farcall::lapack::path()?);
        }
        if let Some((plan, explanation)) = explained {
            json["plan"] = explain::json(plan, explanation);
        }
        writeln!(out, "{}", serde_json::to_string_pretty(&json)?)?;
        return Ok(());
    }

    match &exported {
        Some(exported) => export::write(&mut out, exported, code.name(), &module, func)?,
        None => {
            writeln!(out, "{} in {}", styled(BOLD, format!("@{}", func.name)), code.name())?;
            for (i, (ty, attrs)) in inputs(func).into_iter().enumerate() {
                writeln!(out, "  in{i}   {}{}", short(ty), notes(attrs))?;
            }
            for (i, (ty, attrs)) in outputs(func).into_iter().enumerate() {
                writeln!(out, "  out{i}  {}{}", short(ty), notes(attrs))?;
            }
        }
    }

    let mut table = terminal::table(&["operation", "count"]);
    let mut counts: Vec<_> = op_counts(&module).into_iter().collect();
    counts.sort_by_key(|(name, n)| (std::cmp::Reverse(*n), *name));
    for (name, n) in counts {
        table.add_row([Cell::new(name), Cell::new(n).set_alignment(comfy_table::CellAlignment::Right)]);
    }
    writeln!(out, "\n{}", count(module.funcs().len(), "function"))?;
    writeln!(out, "{}", table.trim_fmt())?;

    if let Some(plan) = plan.filter(|_| args.why) {
        why::write(&mut out, plan)?;
        if let Some(path) = farcall::lapack::path()? {
            writeln!(out, "\nBuilt-in LAPACK targets call the routines of {}", path.display())?;
        }
    }
    if let Some((plan, explanation)) = explained {
        explain::write(&mut out, plan, explanation)?;
    }
    write_calls(&mut out, &calls)
}

fn op_counts(module: &Module) -> BTreeMap<&'static str, usize> {
    let mut counts = BTreeMap::new();
    for func in module.funcs() {
        func.walk(&mut |inst| *counts.entry(inst.op().name()).or_insert(0) += 1);
    }
    counts
}

fn as_json(name: &str, module: &Module, func: &Func, calls: &[Call<'_>]) -> Value {
    let value = |ty: &Type, attrs: Option<&AttrDict>| {
        let attrs: BTreeMap<&str, String> =
            attrs.into_iter().flatten().map(|(name, value)| (name.as_str(), value.to_string())).collect();
        json!({
            "type": ty.to_string(),
            "dtype": ty.tensor().map(|t| t.dtype.name()),
            "shape": ty.tensor().map(shape),
            "attributes": attrs,
        })
    };
    json!({
        "program": name,
        "entry": func.name,
        "inputs": inputs(func).into_iter().map(|(ty, attrs)| value(ty, attrs)).collect::<Vec<_>>(),
        "outputs": outputs(func).into_iter().map(|(ty, attrs)| value(ty, attrs)).collect::<Vec<_>>(),
        "functions": module.funcs().iter().map(|f| json!({
            "name": f.name,
            "public": f.public,
            "inputs": f.params().iter().map(|p| f.ty(*p).to_string()).collect::<Vec<_>>(),
            "outputs": f.results().iter().map(ToString::to_string).collect::<Vec<_>>(),
        })).collect::<Vec<_>>(),
        "operations": op_counts(module),
        "custom_calls": calls.iter().map(calls::as_json).collect::<Vec<_>>(),
    })
}
