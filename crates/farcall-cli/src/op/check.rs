//! `farcall op --check`: tries what ops promise ([`promises`]), on given or made operands.

use std::io::Write;
use std::sync::Arc;

use anyhow::{Context, Result, anyhow, bail};
use comfy_table::{Cell, CellAlignment, Color};
use farcall::ir::literal::Literal;
use farcall::ir::scalar::Scalar;
use farcall::promises::{self, CheckError, Outcome, Promise};
use farcall::registry::Target;
use farcall::sig::signature::Arity;
use farcall::sig::{Attrs, DType};
use serde_json::{Value, json};

use super::made::{self, Wanted};
use super::{given, in_its_words};
use crate::args::OpArgs;
use crate::inputs::{self, Fill, count};
use crate::show::short_type;
use crate::targets;
use crate::terminal::{self, BOLD, color, quoted, styled};

/// A call, and what became of the promises.
struct Checked {
    call: String,
    promises: Vec<Promise>,
}

/// Tries what one op promises.
///
/// # Errors
/// If a promise is broken, or the op cannot be called.
pub(super) fn one(target: &Arc<Target>, ops: &[Arc<Target>], args: &OpArgs) -> Result<()> {
    let (inputs, attrs) = if args.inputs.is_empty() {
        (Vec::new(), args.attrs.iter().collect())
    } else {
        given::arguments(target, &args.inputs, &args.attrs)?
    };
    let attrs = given::attrs(target, &attrs)?;
    let checked = if inputs.is_empty() {
        on_made(target, ops, &attrs, args)?
    } else {
        let operands = given::operands(target, &inputs, &attrs, args.seed)?;
        vec![on(target, ops, operands, &attrs).map_err(told)?]
    };
    print(&checked, &[], args)
}

/// Tries what all ops of a library promise. One that cannot be called is told of, and no error.
///
/// # Errors
/// If a promise is broken.
pub(super) fn all(ops: &[Arc<Target>], args: &OpArgs) -> Result<()> {
    let (mut checked, mut unchecked) = (Vec::new(), Vec::new());
    for target in ops {
        if targets::derivative_of(target, ops).is_some() {
            continue;
        }
        match on_made(target, ops, &Attrs::new(), args) {
            Ok(more) => checked.extend(more),
            Err(error) => unchecked.push((target.name(), format!("{error:#}"))),
        }
    }
    print(&checked, &unchecked, args)
}

fn on(
    target: &Arc<Target>,
    ops: &[Arc<Target>],
    operands: Vec<Literal>,
    attrs: &Attrs,
) -> Result<Checked, CheckError> {
    let names = target.signature().and_then(|s| s.operand_names(operands.len()).ok()).unwrap_or_default();
    let operand = |(i, x): (usize, &Literal)| match names.get(i) {
        Some(name) => format!("{name}: {}", short_type(&x.ty())),
        None => short_type(&x.ty()),
    };
    let attr = attrs.iter().map(|(name, value)| format!("{name} = {value}"));
    let words: Vec<String> = operands.iter().enumerate().map(operand).chain(attr).collect();
    let call = format!("{}({})", target.name(), words.join(", "));
    Ok(Checked { call, promises: promises::check(ops, target, operands, attrs)? })
}

/// The same on operands that are made: with optional ones and without.
fn on_made(target: &Arc<Target>, ops: &[Arc<Target>], attrs: &Attrs, args: &OpArgs) -> Result<Vec<Checked>> {
    let name = target.name();
    let declaration = target.declaration().with_context(|| {
        format!("{name}: its library declares no signature for it, so it promises nothing")
    })?;
    if declaration.signature.has_side_effect() {
        return Err(CheckError::SideEffect { op: name.to_owned() }.into());
    }
    let has_optional = declaration.signature.operands().iter().any(|o| o.arity == Arity::Optional);
    let mut checked = Vec::new();
    for optional in [true, false].into_iter().skip(usize::from(!has_optional)) {
        let mut refused = None;
        let found = made::calls(declaration, Wanted { attrs, optional, widest: true }).find_map(|call| {
            let operands = operands(&call, args.seed).ok()?;
            match on(target, ops, operands, &call.attrs) {
                Ok(checked) => Some(checked),
                Err(error) => {
                    refused.get_or_insert(error);
                    None
                }
            }
        });
        checked.push(match (found, refused) {
            (Some(checked), _) => checked,
            (None, Some(error)) => return Err(told(error)).with_context(|| unmade(target, ops, args)),
            (None, None) => bail!("{}", unmade(target, ops, args)),
        });
    }
    Ok(checked)
}

/// What to do about operands that could not be made.
fn unmade(target: &Arc<Target>, ops: &[Arc<Target>], args: &OpArgs) -> String {
    let name = target.name();
    let parent = ops.iter().find(|other| {
        let derivatives = other.declaration().map(|d| d.derivatives()).unwrap_or_default();
        other.name() != name && derivatives.contains(&name)
    });
    let hint = parent.map_or_else(String::new, |parent| {
        let library = quoted(&args.library.display().to_string());
        format!(
            "; as a derivative of {of} it is checked by farcall op {library} {of} --check",
            of = parent.name()
        )
    });
    format!(
        "{name}: no operands that fit were found; give some with --input, and attributes with --attr{hint}"
    )
}

/// Random operands; integers may be indices, and are below every size and every attribute that may be one.
fn operands(call: &made::Call, seed: u64) -> Result<Vec<Literal>> {
    let sizes = call.operands.iter().flat_map(|ty| ty.sizes()).copied().filter(|size| *size > 0);
    let attrs = call.attrs.iter().filter_map(|(_, value)| usize::try_from(value.as_int()?).ok());
    let least = sizes.chain(attrs.filter(|value| *value > 0)).min().unwrap_or(2) as u64;
    let operands = call.operands.iter().enumerate();
    let operand = |(i, ty): (usize, &farcall::ir::types::TensorType)| {
        let made = inputs::make(Fill::Rand, ty, seed.wrapping_add(i as u64))?;
        Ok(match ty.dtype {
            dtype if !dtype.is_integer() || dtype == DType::Pred => made,
            dtype => Literal::from_fn(dtype, made.dims().to_vec(), |i| {
                Scalar::Unsigned(made.get(i).as_u64() % least)
            }),
        })
    };
    operands.map(operand).collect()
}

fn told(error: CheckError) -> anyhow::Error {
    match error {
        CheckError::Run(error) => in_its_words(error.into()),
        error => anyhow!(error),
    }
}

/// Prints a table for each call, and what was not checked.
///
/// # Errors
/// If a promise is broken, with all that are.
fn print(checked: &[Checked], unchecked: &[(&str, String)], args: &OpArgs) -> Result<()> {
    let all = || checked.iter().flat_map(|call| &call.promises);
    let mut out = terminal::stdout();
    if args.json {
        let calls: Vec<Value> = checked.iter().map(as_json).collect();
        let unchecked: Vec<Value> =
            unchecked.iter().map(|(op, why)| json!({ "op": op, "why": why })).collect();
        let value = json!({ "calls": calls, "unchecked": unchecked });
        writeln!(out, "{}", serde_json::to_string_pretty(&value)?)?;
    } else if !args.quiet {
        for call in checked {
            writeln!(out, "{}", styled(BOLD, &call.call))?;
            writeln!(out, "{}", table(&call.promises))?;
            for promise in &call.promises {
                if let Outcome::Unchecked(why) = &promise.outcome {
                    writeln!(out, "not checked: {}, {}: {why}", promise.op, promise.promise)?;
                }
            }
        }
        for (_, why) in unchecked {
            writeln!(out, "not checked: {why}")?;
        }
    }
    let broken = all().filter_map(|promise| match &promise.outcome {
        Outcome::Broken(why) => Some(format!("{} breaks its promise {}: {why}", promise.op, promise.promise)),
        Outcome::Kept | Outcome::Unchecked(_) => None,
    });
    let broken: Vec<String> = broken.collect();
    match broken.len() {
        0 if args.json || args.quiet => Ok(()),
        0 => {
            let kept = all().filter(|promise| promise.outcome == Outcome::Kept).count();
            Ok(writeln!(out, "{} kept", count(kept, "promise"))?)
        }
        _ => bail!("{}", broken.join("\n")),
    }
}

fn table(promises: &[Promise]) -> comfy_table::Table {
    let mut table = terminal::table(&["op", "promise", "compared", "difference", ""]);
    for promise in promises {
        let outcome = match promise.outcome {
            Outcome::Kept => color(Cell::new("ok"), Color::Green),
            Outcome::Broken(_) => color(Cell::new("FAILED"), Color::Red),
            Outcome::Unchecked(_) => color(Cell::new("not checked"), Color::Yellow),
        };
        let difference = promise.difference.map_or_else(String::new, |d| match d {
            0.0 => "0".to_owned(),
            d => format!("{d:.1e}"),
        });
        let difference = Cell::new(difference).set_alignment(CellAlignment::Right);
        let cells = [&promise.op, &promise.promise, &promise.compared].map(Cell::new);
        table.add_row(cells.into_iter().chain([difference, outcome]));
    }
    table
}

fn as_json(call: &Checked) -> Value {
    let one = |promise: &Promise| {
        let (outcome, why) = match &promise.outcome {
            Outcome::Kept => ("kept", None),
            Outcome::Broken(why) => ("broken", Some(why)),
            Outcome::Unchecked(why) => ("unchecked", Some(why)),
        };
        let difference = promise.difference.filter(|d| d.is_finite());
        json!({
            "op": promise.op,
            "promise": promise.promise,
            "compared": promise.compared,
            "difference": difference,
            "outcome": outcome,
            "why": why,
        })
    };
    json!({ "call": call.call, "promises": call.promises.iter().map(one).collect::<Vec<_>>() })
}
