//! Explains ops: the list of a library's ops, the page of a single one, and a call that works.

use std::collections::HashMap;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use anyhow::Result;
use farcall::registry::{Declaration, Target};
use farcall::sig::attr::AttrType;
use farcall::sig::signature::{Arity, Dim, Expr, Operand, OperandType};
use farcall::sig::{AttrValue, Attrs, DType, ScalarType, Signature};
use serde_json::{Value, json};

use crate::inputs::count;
use crate::targets;
use crate::terminal::{self, BOLD, DIM, GREEN, quoted, styled};

/// Prints a library's ops, each with how it is called from Python, and what it does.
pub(crate) fn list(ops: &[Arc<Target>], library: &Path, as_json: bool) -> Result<()> {
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
    for (what, names) in [("derivatives of these", derivatives), ("without a signature", mute)] {
        if !names.is_empty() {
            writeln!(out, "{}", styled(DIM, format!("{what}: {}", names.join(", "))))?;
        }
    }
    let library = quoted(&library.display().to_string());
    writeln!(out, "\n{}. farcall op {library} NAME explains one.", count(ops.len(), "op"))?;
    Ok(())
}

/// Prints all that is known about an op, and a call of it.
pub(crate) fn explain(target: &Target, library: &Path, as_json: bool) -> Result<()> {
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
            "\nIts library declares no signature for it, so its results are unknown: only a program can call it."
        )?;
        return Ok(());
    };
    writeln!(out, "{}{}", styled(BOLD, target.name()), declaration.signature)?;
    if !docs.is_empty() {
        writeln!(out, "\n{docs}")?;
    }
    writeln!(out, "\n{}", declaration.markdown(target.name()).trim_end())?;
    writeln!(out, "gradient: {}.", targets::gradient(declaration))?;
    if let Some(partition) = declaration.partition() {
        writeln!(out, "sharding: {partition}")?;
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

/// The first paragraph of a description, in one line.
fn first_paragraph(docs: &str) -> Option<String> {
    let lines: Vec<&str> = docs.trim().lines().map(str::trim).take_while(|l| !l.is_empty()).collect();
    (!lines.is_empty()).then(|| lines.join(" "))
}

/// A command that calls the op on made operands of a small size; none where sizes that fit are not found.
fn example(target: &Target, library: &Path) -> Option<String> {
    let declaration = target.declaration()?;
    let tries = [Sizes::Different, Sizes::Same(4), Sizes::Same(1), Sizes::Same(16)];
    let attrs = [2, 1, 0, 4];
    let fits = tries.iter().flat_map(|sizes| attrs.iter().map(move |attr| (sizes, *attr)));
    let (operands, attrs) = fits.filter_map(|(sizes, attr)| try_call(declaration, sizes, attr)).next()?;
    let mut words =
        vec!["farcall op".to_owned(), quoted(&library.display().to_string()), target.name().to_owned()];
    words.extend(operands.iter().map(|(dtype, dims)| {
        let dims: Vec<String> = dims.iter().map(i64::to_string).collect();
        // An integer may be an index.
        let fill = if dtype.is_integer() { "zeros" } else { "rand" };
        format!("-i '{fill}:{dtype}[{}]'", dims.join(","))
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

/// How dimensions get their sizes.
enum Sizes {
    /// Each its own: 2, 3, …
    Different,
    /// All of them the same.
    Same(i64),
}

type Made = (DType, Vec<i64>);

/// Operands of these sizes with the attributes that must be given, if the op can be called on them.
fn try_call(declaration: &Declaration, sizes: &Sizes, number: i64) -> Option<(Vec<Made>, Attrs)> {
    let signature = &declaration.signature;
    let mut known: HashMap<&str, i64> = HashMap::new();
    let mut attrs = Attrs::new();
    for attr in signature.attrs().iter().filter(|a| a.default.is_none() && !a.optional) {
        let value: AttrValue = match &attr.ty {
            AttrType::Scalar(ScalarType::Bool) => true.into(),
            AttrType::Scalar(_) => number.into(),
            AttrType::Array(_) => [number].into(),
            AttrType::Str => "text".into(),
            AttrType::Choice(choices) => choices.first()?.as_str().into(),
            AttrType::Dict => return None,
        };
        known.insert(&attr.name.text, number);
        attrs.insert(attr.name.text.as_str(), value);
    }
    let mut operands: Vec<Made> = Vec::new();
    for operand in signature.operands() {
        let times = match operand.arity {
            Arity::Required => 1,
            Arity::Optional => 0,
            Arity::Variadic => 2,
        };
        let made = make(signature, operand, sizes, &mut known)?;
        operands.extend(std::iter::repeat_n(made, times));
    }
    let converted = signature.convert_attrs(&attrs).ok()?;
    let types: Vec<OperandType<'_>> =
        operands.iter().map(|(dtype, dims)| OperandType { dtype: *dtype, dims }).collect();
    declaration.infer(&types, &converted).ok()?;
    Some((operands, attrs))
}

/// An operand: its first type, `*` as one dimension, names as they are known or next.
fn make<'s>(
    signature: &'s Signature,
    operand: &'s Operand,
    sizes: &Sizes,
    known: &mut HashMap<&'s str, i64>,
) -> Option<Made> {
    let mut dims: Vec<i64> = match (operand.shape.any, operand.shape.batch) {
        (Some(_), _) => match sizes {
            Sizes::Different => vec![2, 3],
            Sizes::Same(size) => vec![*size],
        },
        (None, Some(_)) => vec![2],
        (None, None) => Vec::new(),
    };
    for dim in &operand.shape.dims {
        let next = match sizes {
            Sizes::Different => 3 + i64::try_from(known.len()).ok()?,
            Sizes::Same(size) => *size,
        };
        dims.push(match dim {
            Dim::Size(Expr::Literal(size, _)) => *size,
            Dim::Size(Expr::Name(name)) | Dim::Each(name) => *known.entry(&name.text).or_insert(next),
            // Where all sizes are the same, most expressions of them are that, too.
            Dim::Size(_) => match sizes {
                Sizes::Same(size) => *size,
                Sizes::Different => return None,
            },
        });
    }
    let dtype = signature.possible_types(&operand.element).into_iter().next()?;
    Some((dtype, dims))
}
