//! The custom calls of a program or plan, and their targets.

use std::collections::BTreeMap;
use std::io::Write;
use std::sync::Arc;

use anyhow::Result;
use comfy_table::{Cell, Color, Table};
use farcall::device::Device;
use farcall::ir::attr::AttrDict;
use farcall::ir::module::{Inst, Module};
use farcall::ir::op::{CallConfig, CustomCall};
use farcall::ir::{Op, refine};
use farcall::plan::CallSpec;
use farcall::registry::Target;
use farcall::{Plan, Registry};
use serde_json::{Value, json};

use crate::inputs::count;
use crate::show::{place, short};
use crate::targets;
use crate::terminal::{self, color};

/// A custom call with everything that is known about it.
pub(crate) struct Call<'a> {
    call: &'a CustomCall,
    /// Name of the function that contains the call.
    func: Option<&'a str>,
    operands: Vec<String>,
    results: Vec<String>,
    place: String,
    loc: Option<String>,
    target: Result<Arc<Target>, Missing>,
}

impl<'a> Call<'a> {
    /// Creates the description of a plan's call.
    fn of_spec(plan: &Plan, spec: &'a CallSpec, registry: &Registry) -> Call<'a> {
        Call {
            call: &spec.call,
            func: None,
            operands: spec.operands.iter().map(short).collect(),
            results: spec.results.iter().map(short).collect(),
            place: place(plan.source(), spec.span, &spec.place),
            loc: None,
            target: target(&spec.call, registry),
        }
    }
}

/// Returns the custom calls of a program.
pub(crate) fn of_module<'a>(module: &'a Module, registry: &Registry) -> Vec<Call<'a>> {
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

/// Returns the custom calls of a plan, including the calls in regions that the reference evaluator runs.
pub(crate) fn of_plan<'p>(plan: &'p Plan, registry: &Registry) -> Vec<Call<'p>> {
    let mut calls = Vec::new();
    calls_of(plan, &mut |plan, spec| calls.push(Call::of_spec(plan, spec, registry)));
    calls
}

/// Calls `visit` for every custom call, including the calls in regions that the reference evaluator runs.
fn calls_of<'p>(plan: &'p Plan, visit: &mut dyn FnMut(&'p Plan, &'p CallSpec)) {
    plan.calls().iter().for_each(|spec| visit(plan, spec));
    let nested = plan.references().iter().flat_map(|site| &site.calls);
    nested.for_each(|call| calls_of(&call.plan, visit));
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

/// Converts a custom call to JSON.
pub(crate) fn as_json(call: &Call<'_>) -> Value {
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

/// Resolves the target of a call.
fn target(call: &CustomCall, registry: &Registry) -> Result<Arc<Target>, Missing> {
    registry.resolve(call, Device::default().platform()).map_err(|e| Missing {
        other: registry.lookup(&call.target, Device::default().platform()),
        nearest: registry.nearest(&call.target, Device::default().platform()),
        message: e.message,
    })
}

/// Error for a call whose target is missing.
struct Missing {
    message: String,
    /// A target of the same name that uses the other API (typed or untyped).
    other: Option<Arc<Target>>,
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

/// Formats the `api_version` of a call. Also tells if the configuration of the call is a dictionary.
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
