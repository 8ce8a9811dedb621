//! The custom calls of a program or plan, and their targets.
//!
//! A function that JAX has exported names the platforms that it is for. Each call is resolved for all of them;
//! the calls of other programs, and of plans, are resolved for the platform of this host.

use std::collections::BTreeMap;
use std::io::Write;
use std::sync::Arc;

use anyhow::Result;
use comfy_table::{Cell, Color, Table};
use farcall::device::Device;
use farcall::ir::attr::AttrDict;
use farcall::ir::module::{Inst, Module};
use farcall::ir::op::{CallConfig, CustomCall};
use farcall::ir::types::Type;
use farcall::ir::{Op, refine};
use farcall::plan::CallSpec;
use farcall::registry::{Platform, Target};
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
    /// The targets for the program's platforms, at least one.
    targets: Vec<(Platform, Result<Arc<Target>, Missing>)>,
}

impl<'a> Call<'a> {
    /// Creates the description of a plan's call.
    fn of_spec(plan: &Plan, spec: &'a CallSpec, registry: &Registry) -> Call<'a> {
        Call {
            call: &spec.call,
            func: None,
            operands: buffers(spec.operands.iter(), spec.call.operand_layouts.as_deref()),
            results: buffers(spec.results.iter(), spec.call.result_layouts.as_deref()),
            place: place(plan.source(), spec.span, &spec.place),
            loc: None,
            targets: targets_for(&spec.call, registry, &[Device::default().platform().clone()]),
        }
    }
}

/// Returns the custom calls of a program that is for these platforms, by JAX's names; without names, for the
/// platform of this host.
pub(crate) fn of_module<'a>(module: &'a Module, registry: &Registry, platforms: &[String]) -> Vec<Call<'a>> {
    let mut platforms: Vec<Platform> = platforms.iter().map(|name| name.as_str().into()).collect();
    if platforms.is_empty() {
        platforms.push(Device::default().platform().clone());
    }
    let mut calls = Vec::new();
    for func in module.funcs() {
        func.walk(&mut |inst: Inst<'a>| {
            let Op::CustomCall(call) = inst.op() else { return };
            if refine::is_assertion(inst) {
                return;
            }
            let types = |ids: &[_], layouts: &Option<Vec<Vec<usize>>>| {
                buffers(ids.iter().map(|id| func.ty(*id)), layouts.as_deref())
            };
            calls.push(Call {
                call,
                func: Some(&func.name),
                operands: types(inst.operands(), &call.operand_layouts),
                results: types(inst.results(), &call.result_layouts),
                place: place(&module.source, Some(inst.span()), &inst.place(&module.source)),
                loc: inst.loc().and_then(|loc| loc.place()),
                targets: targets_for(call, registry, &platforms),
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
        let is_here = |(platform, _): &(Platform, _)| platform == Device::default().platform();
        let plain = call.targets.iter().all(is_here);
        let found = call.targets.iter().map(|(platform, found)| {
            let text = found.as_ref().map_or_else(Missing::note, |target| described(target));
            if plain { text } else { format!("{platform}: {text}") }
        });
        let found: Vec<String> = found.collect();
        let shade = match call.targets.iter().filter(|(_, found)| found.is_ok()).count() {
            0 => Color::Red,
            n if n < call.targets.len() => Color::Yellow,
            _ => Color::Green,
        };
        let resolved = color(Cell::new(lines(&found)), shade);
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
    let (_, target) = &call.targets[0];
    let handlers: BTreeMap<&str, Option<Value>> = call
        .targets
        .iter()
        .map(|(platform, found)| {
            (platform.name(), found.as_ref().ok().map(|target| targets::describe(target)))
        })
        .collect();
    json!({
        "target": call.call.target,
        "api_version": call.call.api_version,
        "attributes": attributes,
        "backend_config": text,
        "has_side_effect": call.call.has_side_effect,
        "operands": call.operands,
        "operand_layouts": call.call.operand_layouts,
        "results": call.results,
        "result_layouts": call.call.result_layouts,
        "handlers": handlers,
        "function": call.func,
        "place": call.place,
        "location": call.loc,
        "resolved": target.as_ref().ok().map(|t| targets::describe(t)),
        "error": target.as_ref().err().map(|e| e.message.as_str()),
        "nearest": target.as_ref().err().map(|e| e.nearest.as_slice()),
    })
}

/// Resolves the target of a call for each platform.
fn targets_for(
    call: &CustomCall,
    registry: &Registry,
    platforms: &[Platform],
) -> Vec<(Platform, Result<Arc<Target>, Missing>)> {
    let resolve = |platform: &Platform| {
        let found = registry.resolve(call, platform).map_err(|e| {
            let mut elsewhere = registry.elsewhere(&call.target, platform);
            let is_known = !elsewhere.is_empty();
            elsewhere.retain(|target| !platforms.contains(target.platform()));
            let (other, nearest) =
                (registry.lookup(&call.target, platform), registry.nearest(&call.target, platform));
            Missing { message: e.message, other, is_known, elsewhere, nearest }
        });
        (platform.clone(), found)
    };
    platforms.iter().map(resolve).collect()
}

/// Error for a call whose target is missing.
struct Missing {
    message: String,
    /// A target of the same name that uses the other API (typed or untyped).
    other: Option<Arc<Target>>,
    /// True if targets of this name exist for other platforms.
    is_known: bool,
    /// Targets of this name for platforms that the program is not for.
    elsewhere: Vec<Arc<Target>>,
    nearest: Vec<String>,
}

impl Missing {
    fn note(&self) -> String {
        match (&self.other, self.elsewhere.as_slice(), self.nearest.as_slice()) {
            (Some(other), ..) => {
                format!("registered as {} only, by {}", other.kind(), targets::origin(other))
            }
            (None, [], _) if self.is_known => "no handler".to_owned(),
            (None, [], []) => "not found".to_owned(),
            (None, [], nearest) => format!("not found; closest: {}", nearest.join(", ")),
            (None, elsewhere, _) => {
                let other = |target: &Arc<Target>| format!("{} ({})", target.platform(), described(target));
                format!("only for {}", elsewhere.iter().map(other).collect::<Vec<_>>().join(", "))
            }
        }
    }
}

/// Formats the API and the origin of a target.
fn described(target: &Target) -> String {
    format!("{}, {}", targets::api(target), targets::origin(target))
}

/// Formats the types of operands or results. A layout other than row-major follows its type, as in HLO:
/// `f32[2,3]{0,1}`, with the dimension whose elements are neighbors first.
fn buffers<'t>(types: impl Iterator<Item = &'t Type>, layouts: Option<&[Vec<usize>]>) -> Vec<String> {
    let layout = |i: usize| {
        layouts
            .and_then(|layouts| layouts.get(i))
            .filter(|order| !order.iter().rev().is_sorted_by(|a, b| a < b))
    };
    let buffer = |(i, ty): (usize, &Type)| match layout(i) {
        Some(order) => {
            let order: Vec<String> = order.iter().map(usize::to_string).collect();
            format!("{}{{{}}}", short(ty), order.join(","))
        }
        None => short(ty),
    };
    types.enumerate().map(buffer).collect()
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
