//! Output of `farcall inspect` for functions exported by JAX.

use std::io::Write;

use anyhow::Result;
use farcall::ir::exported::Exported;
use farcall::ir::module::{Func, Module};
use serde_json::{Value, json};

use crate::boundary::{inputs, notes};
use crate::terminal::{BOLD, DIM, styled};

/// Prints the trees of arguments and results with their types, and the facts that callers need.
pub(crate) fn write(
    out: &mut impl Write,
    exported: &Exported<'_>,
    file: &str,
    module: &Module,
    func: &Func,
) -> Result<()> {
    let interface = exported.interface(module);
    writeln!(out, "{} in {file}", styled(BOLD, &interface.name))?;
    // A platform index may precede the function's own parameters.
    let params = inputs(func);
    let first = params.len().saturating_sub(exported.kept_vars.len());
    let types: Vec<String> = interface.arguments.iter().map(|a| a.ty.to_string()).collect();
    let results: Vec<String> = interface.results.iter().map(ToString::to_string).collect();
    let width = types.iter().chain(&results).map(String::len).max().unwrap_or(0);
    for (argument, ty) in interface.arguments.iter().zip(&types) {
        let label = argument.input.map_or("–".to_owned(), |input| format!("in{input}"));
        let path = argument.path.as_deref().filter(|path| *path != argument.name);
        let path = path.map(|path| styled(DIM, format!("  {path}"))).unwrap_or_default();
        let attrs = argument.input.and_then(|input| params.get(first + input)?.1);
        let unused = if argument.input.is_none() { styled(DIM, "  not used") } else { String::new() };
        writeln!(out, "  {label:<4}  {ty:width$}  {}{path}{}{unused}", argument.name, notes(attrs))?;
    }
    for (i, (ty, path)) in results.iter().zip(exported.out_tree.paths()).enumerate() {
        writeln!(out, "  {:<4}  {ty:width$}  result{path}", format!("out{i}"))?;
    }
    writeln!(out)?;
    for (what, value) in facts(exported, module) {
        if !value.is_empty() {
            writeln!(out, "{what:<18}  {value}")?;
        }
    }
    Ok(())
}

/// Returns the facts about an exported function besides its types.
fn facts(exported: &Exported<'_>, module: &Module) -> [(&'static str, String); 8] {
    let constraints: Vec<String> =
        exported.interface(module).constraints.iter().map(ToString::to_string).collect();
    let devices = if exported.devices == 1 { String::new() } else { exported.devices.to_string() };
    let derivative = if exported.vjp.is_some() { "in the file" } else { "" };
    [
        ("constraints", constraints.join(", ")),
        ("platforms", exported.platforms.join(", ")),
        ("devices", devices),
        ("ordered effects", exported.ordered_effects.join(", ")),
        ("other effects", exported.unordered_effects.join(", ")),
        ("calling convention", exported.calling_convention.to_string()),
        ("derivative", derivative.to_owned()),
        ("written by", exported.jax_version.as_ref().map_or(String::new(), |v| format!("JAX {v}"))),
    ]
}

/// Converts the facts to JSON.
pub(crate) fn as_json(exported: &Exported<'_>, module: &Module) -> Value {
    let interface = exported.interface(module);
    let arguments = interface
        .arguments
        .iter()
        .map(|a| json!({ "name": a.name, "path": a.path, "type": a.ty.to_string(), "input": a.input }));
    let results = interface.results.iter().zip(exported.out_tree.paths());
    json!({
        "function": exported.function_name,
        "arguments": arguments.collect::<Vec<_>>(),
        "results": results
            .map(|(ty, path)| json!({ "path": format!("result{path}"), "type": ty.to_string() }))
            .collect::<Vec<_>>(),
        "constraints": interface.constraints.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "platforms": exported.platforms,
        "devices": exported.devices,
        "ordered_effects": exported.ordered_effects,
        "unordered_effects": exported.unordered_effects,
        "calling_convention": exported.calling_convention,
        "serialization": exported.serialization_version,
        "jax_version": exported.jax_version,
        "has_derivative": exported.vjp.is_some(),
    })
}
