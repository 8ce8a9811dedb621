//! Documentation of ops: a list of a library's ops, the page of a single op, and an example call.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use anyhow::Result;
use farcall::registry::Target;
use farcall::sig::{AttrValue, AttrValues};
use serde_json::{Value, json};

use super::samples::{self, CallRequest};
use crate::inputs::count;
use crate::show::short_type;
use crate::targets;
use crate::terminal::{self, BOLD, DIM, GREEN, quoted, styled};

/// Prints a library's ops, each with its call from Python and its description. `elsewhere` has the library's
/// targets for other platforms.
pub(crate) fn list(
    ops: &[Arc<Target>],
    elsewhere: &[Arc<Target>],
    library: &Path,
    as_json: bool,
) -> Result<()> {
    let mut out = terminal::stdout();
    if as_json {
        let list: Vec<Value> = ops.iter().map(|t| data(t, library)).collect();
        writeln!(out, "{}", serde_json::to_string_pretty(&list)?)?;
        return Ok(());
    }
    let (mut derivatives, mut mute) = (Vec::new(), Vec::new());
    for target in ops {
        let Some(signature) = target.signature() else {
            mute.push(target.name());
            continue;
        };
        if targets::derivative_of(target, ops).is_some() {
            derivatives.push(target.name());
            continue;
        }
        let line = signature.call_line("");
        writeln!(out, "{}{line}", styled(GREEN, target.name()))?;
        if let Some(what) = first_paragraph(target.docs()) {
            writeln!(out, "    {what}")?;
        }
    }
    let mut only = BTreeMap::new();
    for target in elsewhere.iter().filter(|target| ops.iter().all(|op| op.name() != target.name())) {
        only.entry(target.platform().name()).or_insert_with(Vec::new).push(target.name());
    }
    let only = only.into_iter().map(|(platform, names)| (format!("for {platform} only"), names));
    let others = [("derivatives of these", derivatives), ("without a signature", mute)];
    for (what, names) in others.map(|(what, names)| (what.to_owned(), names)).into_iter().chain(only) {
        if !names.is_empty() {
            writeln!(out, "{}", styled(DIM, format!("{what}: {}", names.join(", "))))?;
        }
    }
    let library = quoted(&library.display().to_string());
    writeln!(out, "\n{}. farcall op {library} NAME explains one.", count(ops.len(), "op"))?;
    Ok(())
}

/// Prints everything that is known about an op, and an example call. `elsewhere` has the library's targets for
/// other platforms.
pub(crate) fn explain(
    target: &Target,
    elsewhere: &[Arc<Target>],
    library: &Path,
    as_json: bool,
) -> Result<()> {
    let mut out = terminal::stdout();
    if as_json {
        writeln!(out, "{}", serde_json::to_string_pretty(&data(target, library))?)?;
        return Ok(());
    }
    let docs = target.docs().trim();
    let Some(declaration) = target.declaration() else {
        writeln!(out, "{}", styled(BOLD, target.name()))?;
        if !docs.is_empty() {
            writeln!(out, "\n{docs}")?;
        }
        writeln!(
            out,
            "\nThe library declares no signature for this op, so the types of its results are unknown. Only a program, which states them, can call it."
        )?;
        return Ok(());
    };
    writeln!(out, "{}{}", styled(BOLD, target.name()), declaration.signature)?;
    if !docs.is_empty() {
        writeln!(out, "\n{docs}")?;
    }
    writeln!(out, "\n{}", declaration.markdown(target.name()).trim_end())?;
    let others = elsewhere.iter().filter(|other| other.name() == target.name());
    let others: Vec<&str> = others.map(|other| other.platform().name()).collect();
    if !others.is_empty() {
        writeln!(out, "\nOther handlers, which only --check runs: {}.", others.join(", "))?;
    }
    if let Some(example) = example(target, library) {
        writeln!(out, "\nFor example:\n\n    {example}")?;
    }
    Ok(())
}

fn data(target: &Target, library: &Path) -> Value {
    let mut value = targets::describe(target);
    if let Some(signature) = target.signature() {
        value["call"] = json!(signature.call_line(target.name()));
        value["markdown"] =
            json!(target.declaration().map(|declaration| declaration.markdown(target.name())));
        value["example"] = json!(example(target, library));
    }
    value
}

/// Returns the first paragraph of a description, on one line.
fn first_paragraph(docs: &str) -> Option<String> {
    let lines: Vec<&str> = docs.trim().lines().map(str::trim).take_while(|l| !l.is_empty()).collect();
    (!lines.is_empty()).then(|| lines.join(" "))
}

/// Returns a command that calls the op on small generated operands. Returns `None` if no suitable sizes are
/// found.
fn example(target: &Target, library: &Path) -> Option<String> {
    let declaration = target.declaration()?;
    let of = CallRequest { attrs: &AttrValues::new(), optional: false, ty: 0, batch: 2 };
    let samples::Call { operands, attrs, .. } = samples::calls(declaration, of).next()?;
    let mut words =
        vec!["farcall op".to_owned(), quoted(&library.display().to_string()), target.name().to_owned()];
    words.extend(operands.iter().map(|ty| {
        // An integer may be an index.
        let fill = if ty.dtype.is_integer() { "zeros" } else { "rand" };
        format!("-i '{fill}:{}'", short_type(ty))
    }));
    words.extend(attrs.iter().map(|(name, value)| {
        let value = match value {
            AttrValue::Str(text) => text.clone(),
            value => value.to_string(),
        };
        format!("-a {}", quoted(&format!("{name}={value}")))
    }));
    if operands.is_empty() && attrs.is_empty() {
        words.push("--call".to_owned());
    }
    Some(words.join(" "))
}
