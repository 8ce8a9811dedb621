//! `farcall targets`: lists the targets that custom calls can name.

use std::io::Write;
use std::sync::Arc;

use anyhow::Result;
use comfy_table::{Cell, Color, Table};
use farcall::registry::{ApiKind, Declaration, Target};
use farcall::sig::signature::BatchSummary;
use serde_json::{Value, json};

use crate::args::TargetsArgs;
use crate::terminal::{self, BOLD, color, styled};
use crate::{inputs, load};

/// Prints the registry.
pub(crate) fn targets(args: &TargetsArgs) -> Result<()> {
    let registry = load::registry(&args.load, &[])?;
    let mut targets = if args.built_in { registry.built_ins() } else { registry.targets() };
    // Targets of the command itself come last.
    targets.sort_by_key(|t| t.origin().file.is_none());
    let mut out = terminal::stdout();
    if args.json {
        let list: Vec<Value> = targets.iter().map(|t| describe(t)).collect();
        writeln!(out, "{}", serde_json::to_string_pretty(&list)?)?;
        return Ok(());
    }
    if args.table {
        writeln!(out, "{}", rules(&targets).trim_fmt())?;
        return Ok(());
    }
    let mut table = terminal::table(&["target", "platform", "API", "stages", "traits", "declares", "from"]);
    for target in &targets {
        let stages: Vec<&str> = target.stages().iter().map(|s| s.name()).collect();
        table.add_row([
            color(Cell::new(target.name()), Color::Green),
            Cell::new(target.platform()),
            Cell::new(api(target)),
            Cell::new(stages.join(", ")),
            Cell::new(or_dash(&target.trait_names().join(", "))),
            Cell::new(or_dash(&declares(target).join(", "))),
            Cell::new(origin(target)),
        ]);
    }
    writeln!(out, "{}", table.trim_fmt())?;
    writeln!(out, "{}", inputs::count(targets.len(), "target"))?;
    for target in &targets {
        let Some(declaration) = target.declaration() else { continue };
        writeln!(out, "\n{}{}", styled(BOLD, target.name()), declaration.signature)?;
        let role = derivative_of(target, &targets).map(|role| format!("; {role}")).unwrap_or_default();
        writeln!(out, "  gradient  {}{role}", declaration.gradient())?;
        writeln!(out, "  batching  {}", declaration.batching())?;
        if let Some(partition) = declaration.partition() {
            writeln!(out, "  sharding  {partition}")?;
        }
    }
    Ok(())
}

/// Formats a line for each target: whether it has a gradient or only a derivative in forward mode, and
/// whether its calls can be vmapped, as one call or in a loop.
fn rules(targets: &[Arc<Target>]) -> Table {
    let mut table = terminal::table(&["target", "platform", "gradient", "batching"]);
    let mark = |has: bool| {
        if has { color(Cell::new("✓"), Color::Green) } else { color(Cell::new("✗"), Color::Red) }
    };
    for target in targets {
        let declaration = target.declaration();
        // Reverse mode needs a backward op, or a tangent op that has a transpose.
        let is_transposed = |tangent: &str| {
            let mut ops =
                targets.iter().filter(|op| op.name() == tangent && op.platform() == target.platform());
            ops.any(|op| op.declaration().is_some_and(|d| d.transpose.is_some()))
        };
        let tangent = declaration.and_then(|d| d.jvp.as_ref()).map(|jvp| jvp.tangent.as_str());
        let gradient = match declaration.is_some_and(|d| d.vjp.is_some()) {
            false if tangent.is_some_and(|tangent| !is_transposed(tangent)) => {
                color(Cell::new("forward"), Color::Yellow)
            }
            has_vjp => mark(has_vjp || tangent.is_some()),
        };
        let batching = declaration.is_some_and(|d| d.batching() != BatchSummary::Never);
        table.add_row([
            color(Cell::new(target.name()), Color::Green),
            Cell::new(target.platform()),
            gradient,
            mark(batching),
        ]);
    }
    table
}

/// Returns a sentence about the role of an op in its library: `it is the backward op of rms_norm`. Two ops
/// that are derivatives of each other have no such role.
pub(crate) fn derivative_of(target: &Target, among: &[Arc<Target>]) -> Option<String> {
    let is_it = |name: &str| name == target.name();
    let role = |other: &Arc<Target>| {
        let same_library = other.platform() == target.platform() && other.origin() == target.origin();
        let own = target.declaration().map(Declaration::derivatives).unwrap_or_default();
        let is_other = same_library && !is_it(other.name()) && !own.contains(&other.name());
        let declaration = other.declaration().filter(|_| is_other)?;
        let (vjp, jvp) = (declaration.vjp.as_ref(), declaration.jvp.as_ref());
        let role = if vjp.and_then(|vjp| vjp.forward.as_deref()).is_some_and(is_it) {
            "forward op"
        } else if vjp.is_some_and(|vjp| is_it(&vjp.backward)) {
            "backward op"
        } else if jvp.is_some_and(|jvp| is_it(&jvp.tangent)) {
            "tangent op"
        } else if declaration.transpose.as_deref().is_some_and(is_it) {
            "transpose"
        } else {
            return None;
        };
        Some(format!("it is the {role} of {}", other.name()))
    };
    among.iter().find_map(role)
}

/// Returns the kinds of declarations that a target has: `signature`, `vjp`, `jvp`, `transpose`.
fn declares(target: &Target) -> Vec<&'static str> {
    let given = target.rules().into_iter().filter(|rule| ["vjp", "jvp", "transpose"].contains(rule));
    target.signature().map(|_| "signature").into_iter().chain(given).collect()
}

/// Converts a target to JSON.
pub(crate) fn describe(target: &Target) -> Value {
    let stages: Vec<&str> = target.stages().iter().map(|s| s.name()).collect();
    json!({
        "name": target.name(),
        "platform": target.platform().name(),
        "api": target.kind().to_string(),
        "api_version": target.api_version().map(|(major, minor)| format!("{major}.{minor}")),
        "stages": stages,
        "traits": target.trait_names(),
        "rules": target.rules(),
        "file": target.origin().file.as_ref().map(|f| f.display().to_string()),
        "from": target.origin().to_string(),
        "docs": target.docs(),
        "declaration": target.declaration().map(|declaration| json!({
            "signature": declaration.signature.to_string(),
            "vjp": declaration.vjp.as_ref().map(|v| json!({ "forward": v.forward, "backward": v.backward })),
            "jvp": declaration.jvp.as_ref().map(|j| json!({ "tangent": j.tangent })),
            "transpose": declaration.transpose,
            "non_differentiable": declaration.non_differentiable,
            "zero_derivative": declaration.zero_derivative,
            "batching": declaration.batching().to_string(),
            "sharding": declaration.partition().map(|p| p.to_string()),
        })),
    })
}

/// Formats the API of a target: `typed 0.3`, `untyped`.
pub(crate) fn api(target: &Target) -> String {
    match (target.kind(), target.api_version()) {
        (ApiKind::Typed, Some((major, minor))) => format!("typed {major}.{minor}"),
        (kind, _) => kind.to_string(),
    }
}

fn or_dash(text: &str) -> &str {
    if text.is_empty() { "–" } else { text }
}

/// Formats the origin of a target. A file below the current folder is shown by its relative path.
pub(crate) fn origin(target: &Target) -> String {
    below(&target.origin().to_string())
}

/// Shortens the path of a file below the current folder to its relative path.
pub(crate) fn below(text: &str) -> String {
    let folder = std::env::current_dir().map(|d| format!("{}/", d.display()));
    let below = folder.ok().and_then(|folder| text.strip_prefix(&folder).map(str::to_owned));
    below.unwrap_or_else(|| text.to_owned())
}
