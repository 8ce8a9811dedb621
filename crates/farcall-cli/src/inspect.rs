//! `farcall inspect`: the inputs, results and custom calls of a program. With `--why` and `--plan`, the
//! program is compiled, and the custom calls come from the plan.

use std::collections::BTreeMap;
use std::io::Write;

use anyhow::{Result, ensure};
use comfy_table::{Cell, Color, Table};
use farcall::device::Device;
use farcall::ir::attr::AttrDict;
use farcall::ir::module::{Func, Inst, Module};
use farcall::ir::op::{CallConfig, CustomCall};
use farcall::ir::types::{Dim, TensorType, Type};
use farcall::ir::{Op, Source, Span, normalize, refine, verify};
use farcall::plan::CallSpec;
use farcall::registry::Target;
use farcall::{Plan, Registry};
use serde_json::{Value, json};

use crate::args::InspectArgs;
use crate::inputs::count;
use crate::program::{self, Program};
use crate::show::short;
use crate::terminal::{self, BOLD, DIM, color, styled};
use crate::{draw, explain, export, load, plan, targets, why};

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
    let mut module = match compiles {
        true => code.program()?.0,
        false => code.module()?,
    };
    verify::verify(&module)?;
    let exported = if args.entry.is_none() { code.exported()? } else { None };
    // Calls that stand for built-in operations need no target.
    normalize::run(&mut module);
    let func = verify::entry(&module, args.entry.as_deref())?;
    let registry = load::registry(&args.load, &[])?;
    let compiled = if compiles { why::compiled(&code, args, &registry)? } else { None };
    let plan = compiled.as_ref().map(|(plan, _)| plan);
    let explained = compiled.as_ref().filter(|_| args.plan);
    if args.draw.is_requested() {
        return draw::program(&args.draw, code.name(), &module, func, plan);
    }
    let calls = plan.map_or_else(|| calls(&module, &registry), |plan| plan::calls(plan, &registry));
    let mut out = terminal::stdout();
    if args.json {
        let mut json = as_json(code.name(), &module, func, &calls);
        if let Some(exported) = &exported {
            json["exported"] = export::as_json(exported, &module);
        }
        if let Some(plan) = plan.filter(|_| args.why) {
            json["blocks"] = why::json(plan).into();
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
    }
    if let Some((plan, explanation)) = explained {
        explain::write(&mut out, plan, explanation)?;
    }
    write_calls(&mut out, &calls)
}

/// Prints the number of custom calls, and their table.
pub(crate) fn write_calls(out: &mut impl Write, calls: &[Call<'_>]) -> Result<()> {
    if calls.is_empty() {
        writeln!(out, "\nno custom calls")?;
        return Ok(());
    }
    writeln!(out, "\n{}", count(calls.len(), "custom call"))?;
    writeln!(out, "{}", call_table(calls).trim_fmt())?;
    Ok(())
}

/// Formats custom calls as a table, one per row.
fn call_table(calls: &[Call<'_>]) -> Table {
    let mut table =
        terminal::table(&["target", "API", "attributes", "operands", "results", "at", "resolved by"]);
    for call in calls {
        let resolved = match &call.target {
            Ok(target) => color(
                Cell::new(format!("{}, {}", targets::api(target), targets::origin(target))),
                Color::Green,
            ),
            Err(e) => color(Cell::new(e.note()), Color::Red),
        };
        table.add_row([
            Cell::new(&call.call.target),
            Cell::new(version(call.call)),
            Cell::new(config(&call.call.config)),
            Cell::new(lines(&call.operands)),
            Cell::new(lines(&call.results)),
            Cell::new(&call.place),
            resolved,
        ]);
    }
    table
}

/// Returns the inputs of a run: the parameters without tokens, which have no value.
pub(crate) fn inputs(func: &Func) -> Vec<(&Type, Option<&AttrDict>)> {
    let params = func.params().iter().enumerate().map(|(i, p)| (func.ty(*p), func.param_attrs().get(i)));
    params.filter(|(ty, _)| **ty != Type::Token).collect()
}

/// Returns the outputs of a run: the results without tokens.
fn outputs(func: &Func) -> Vec<(&Type, Option<&AttrDict>)> {
    let results = func.results().iter().enumerate().map(|(i, ty)| (ty, func.result_attrs().get(i)));
    results.filter(|(ty, _)| **ty != Type::Token).collect()
}

/// A custom call with everything that is known about it.
pub(crate) struct Call<'a> {
    call: &'a CustomCall,
    /// Name of the function that contains the call.
    func: Option<&'a str>,
    operands: Vec<String>,
    results: Vec<String>,
    place: String,
    loc: Option<String>,
    target: Result<std::sync::Arc<Target>, Missing>,
}

impl<'a> Call<'a> {
    /// Creates the description of a plan's call.
    pub(crate) fn of_spec(plan: &Plan, spec: &'a CallSpec, registry: &Registry) -> Call<'a> {
        Call {
            call: &spec.call,
            func: None,
            operands: spec.operands.iter().map(short).collect(),
            results: spec.results.iter().map(short).collect(),
            place: place(&plan.source, spec.span, &spec.place),
            loc: None,
            target: target(&spec.call, registry),
        }
    }
}

/// Formats the source location of a part of a program: its line and column, or `place` if the program has no
/// text.
pub(crate) fn place(source: &Source, span: Option<Span>, place: &str) -> String {
    match span.filter(|_| !source.is_none()) {
        Some(span) => {
            let (line, column) = source.line_column(span.start);
            format!("{line}:{column}")
        }
        None if place.is_empty() => "–".to_owned(),
        None => place.to_owned(),
    }
}

/// Resolves the target of a call.
fn target(call: &CustomCall, registry: &Registry) -> Result<std::sync::Arc<Target>, Missing> {
    registry.resolve(call, Device::default().platform()).map_err(|e| Missing {
        other: registry.lookup(&call.target, Device::default().platform()),
        nearest: registry.nearest(&call.target, Device::default().platform()),
        message: e.message,
    })
}

/// Error for a call whose target is missing.
struct Missing {
    message: String,
    /// A target of the same name that uses the other API.
    other: Option<std::sync::Arc<Target>>,
    nearest: Vec<String>,
}

impl Missing {
    fn note(&self) -> String {
        match (&self.other, self.nearest.as_slice()) {
            (Some(other), _) => format!("registered as {} only, by {}", other.kind(), targets::origin(other)),
            (None, []) => "not found".to_owned(),
            (None, nearest) => format!("not found; closest: {}", nearest.join(", ")),
        }
    }
}

fn calls<'a>(module: &'a Module, registry: &Registry) -> Vec<Call<'a>> {
    let mut calls = Vec::new();
    for func in module.funcs() {
        func.walk(&mut |inst: Inst<'a>| {
            let Op::CustomCall(call) = inst.op() else { return };
            if refine::is_assertion(inst) {
                return;
            }
            let types = |ids: &[_]| ids.iter().map(|id| short(func.ty(*id))).collect();
            calls.push(Call {
                call,
                func: Some(&func.name),
                operands: types(inst.operands()),
                results: types(inst.results()),
                place: place(&module.source, Some(inst.span()), &inst.place(&module.source)),
                loc: inst.loc().and_then(|loc| loc.place()),
                target: target(call, registry),
            });
        });
    }
    calls
}

/// Formats the `api_version` of a call, and whether its configuration is a dictionary.
fn version(call: &CustomCall) -> String {
    let dictionary = matches!(call.config, CallConfig::Dict(_));
    match call.api_version {
        Some(v) if dictionary => format!("{v}, dictionary"),
        Some(v) => v.to_string(),
        None if dictionary => "dictionary".to_owned(),
        None => "–".to_owned(),
    }
}

fn config(config: &CallConfig) -> String {
    match config {
        CallConfig::Absent => String::new(),
        CallConfig::Text(text) => format!("{:?}", String::from_utf8_lossy(text)),
        CallConfig::Dict(dict) => lines(&attributes(dict)),
    }
}

fn attributes(dict: &AttrDict) -> Vec<String> {
    dict.iter().map(|(name, value)| format!("{name} = {value}")).collect()
}

fn lines(items: &[String]) -> String {
    items.join("\n")
}

/// Returns the attributes of a parameter or result that are worth showing.
pub(crate) fn notes(attrs: Option<&AttrDict>) -> String {
    let notes: Vec<String> = attrs
        .into_iter()
        .flatten()
        .filter_map(|(name, value)| match name.as_str() {
            "jax.result_info" => value.as_str().filter(|t| *t != "result").map(str::to_owned),
            "tf.aliasing_output" => value.as_i64().map(|i| format!("donated to out{i}")),
            "jax.buffer_donor" => Some("donated".to_owned()),
            _ => None,
        })
        .filter(|n| !n.is_empty())
        .collect();
    if notes.is_empty() { String::new() } else { styled(DIM, format!("  {}", notes.join(", "))) }
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
        "custom_calls": calls.iter().map(call_json).collect::<Vec<_>>(),
    })
}

/// Converts sizes to JSON; `null` stands for a dynamic size.
pub(crate) fn shape(ty: &TensorType) -> Vec<Option<usize>> {
    ty.dims().map(Dim::size).collect()
}

pub(crate) fn call_json(call: &Call<'_>) -> Value {
    let attributes: Option<BTreeMap<&str, String>> = match &call.call.config {
        CallConfig::Dict(dict) => Some(dict.iter().map(|(k, v)| (k.as_str(), v.to_string())).collect()),
        CallConfig::Absent | CallConfig::Text(_) => None,
    };
    let text = match &call.call.config {
        CallConfig::Text(text) => Some(String::from_utf8_lossy(text).into_owned()),
        CallConfig::Absent | CallConfig::Dict(_) => None,
    };
    json!({
        "target": call.call.target,
        "api_version": call.call.api_version,
        "attributes": attributes,
        "backend_config": text,
        "has_side_effect": call.call.has_side_effect,
        "operands": call.operands,
        "results": call.results,
        "function": call.func,
        "place": call.place,
        "location": call.loc,
        "resolved": call.target.as_ref().ok().map(|t| targets::describe(t)),
        "error": call.target.as_ref().err().map(|e| e.message.as_str()),
        "nearest": call.target.as_ref().err().map(|e| e.nearest.as_slice()),
    })
}
