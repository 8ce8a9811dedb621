//! `farcall op --check`: checks the promises of ops ([`promises`]), on given or generated operands.

use farcall::CodedError;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::sync::Arc;

use anyhow::{Context, Result, anyhow, bail};
use comfy_table::{Cell, CellAlignment, Color};
use farcall::ir::literal::Literal;
use farcall::ir::scalar::Scalar;
use farcall::registry::{Declaration, Target};
use farcall::sig::signature::Arity;
use farcall::sig::{AttrValues, DType, platform};
use farcall::{ErrorCode, RunError};
use farcall_promises::{self as promises, CheckError, Outcome, Promise};
use serde_json::{Value, json};

use super::platforms::OtherHandlers;
use super::samples::{self, Alternatives, CallRequest};
use super::{in_its_words, operands};
use crate::args::OpArgs;
use crate::inputs::{self, count};
use crate::show::short_type;
use crate::spec::Fill;
use crate::targets;
use crate::terminal::{self, BOLD, color, quoted, styled};

/// A call with the outcome of each promise.
struct Checked {
    op: String,
    call: String,
    /// Attributes of the call that differ from the signature's defaults.
    attrs: AttrValues,
    promises: Vec<Promise>,
}

/// The handlers of a library.
struct Handlers<'a> {
    /// For the host.
    ops: &'a [Arc<Target>],
    others: OtherHandlers,
}

/// Checks the promises of one op.
///
/// # Errors
/// If a promise is broken, or the op cannot be called.
pub(super) fn one(
    target: &Arc<Target>,
    ops: &[Arc<Target>],
    elsewhere: &[Arc<Target>],
    args: &OpArgs,
) -> Result<()> {
    let handlers = &Handlers { ops, others: OtherHandlers::new(elsewhere) };
    let (inputs, attrs) = if args.inputs.is_empty() {
        (Vec::new(), args.attrs.iter().collect())
    } else {
        operands::arguments(target, &args.inputs, &args.attrs)?
    };
    let attrs = operands::attrs(target, &attrs)?;
    if !inputs.is_empty() {
        let operands = operands::operands(target, &inputs, &attrs, args.seed)?;
        let checked = [on(target, handlers, operands, &attrs).map_err(told)?];
        return print(&checked, &[], handlers, Some(target.name()), args);
    }
    let mut checked = Vec::new();
    let unchecked = match on_made(target, handlers, &attrs, args, &mut checked) {
        Err(error) if checked.is_empty() => return Err(error),
        Err(error) => vec![(target.name(), format!("{error:#}"))],
        Ok(()) => Vec::new(),
    };
    print(&checked, &unchecked, handlers, Some(target.name()), args)
}

/// Checks the promises of all ops of a library. An op that cannot be called is reported, but is not an error.
///
/// # Errors
/// If a promise is broken.
pub(super) fn all(ops: &[Arc<Target>], elsewhere: &[Arc<Target>], args: &OpArgs) -> Result<()> {
    let handlers = &Handlers { ops, others: OtherHandlers::new(elsewhere) };
    let (mut checked, mut unchecked) = (Vec::new(), Vec::new());
    for target in ops {
        if targets::derivative_of(target, ops).is_some() {
            continue;
        }
        if let Err(error) = on_made(target, handlers, &AttrValues::new(), args, &mut checked) {
            unchecked.push((target.name(), format!("{error:#}")));
        }
    }
    print(&checked, &unchecked, handlers, None, args)
}

fn on(
    target: &Arc<Target>,
    handlers: &Handlers<'_>,
    operands: Vec<Literal>,
    attrs: &AttrValues,
) -> Result<Checked, CheckError> {
    let names = target.signature().and_then(|s| s.operand_names(operands.len()).ok()).unwrap_or_default();
    let operand = |(i, x): (usize, &Literal)| match names.get(i) {
        Some(name) => format!("{name}: {}", short_type(&x.ty())),
        None => short_type(&x.ty()),
    };
    let attr = attrs.iter().map(|(name, value)| format!("{name} = {value}"));
    let words: Vec<String> = operands.iter().enumerate().map(operand).chain(attr).collect();
    let op = target.name().to_owned();
    let call = format!("{op}({})", words.join(", "));
    let others = handlers.others.comparable();
    let promises = promises::check(handlers.ops, others, target, operands, attrs)?;
    Ok(Checked { op, call, attrs: attrs.clone(), promises })
}

/// Checks the sample calls that the op declares (`#[samples]`). Without samples, checks generated operands of
/// each possible type, with and without optional operands. Then varies the attributes that are not in
/// `attrs`.
///
/// # Errors
/// If the op rejects a sample, or if no operands are found for one of these cases.
fn on_made(
    target: &Arc<Target>,
    handlers: &Handlers<'_>,
    attrs: &AttrValues,
    args: &OpArgs,
    checked: &mut Vec<Checked>,
) -> Result<()> {
    let (name, first) = (target.name(), checked.len());
    let declaration = target.declaration().with_context(|| {
        format!("{name}: its library declares no signature for the op, so there are no promises to check")
    })?;
    if declaration.signature.has_side_effect() {
        return Err(CheckError::SideEffect { op: name.to_owned() }.into());
    }
    if let Some(samples) = declaration.samples() {
        let samples = samples.map_err(|why| anyhow!("{name}: {why}"))?;
        for (i, (operands, own)) in samples.iter().enumerate() {
            let made = on(target, handlers, operands.clone(), &with(own, attrs));
            checked.push(made.map_err(told).with_context(|| format!("{name}: its sample {i} is refused"))?);
        }
        let Some((operands, own)) = samples.first() else {
            bail!("{name}: its author has declared no samples")
        };
        let made = |changed: &AttrValues| on(target, handlers, operands.clone(), &with(own, changed)).ok();
        vary(declaration, attrs, first, checked, made);
        return Ok(());
    }
    let has_optional = declaration.signature.operands().iter().any(|o| o.arity == Arity::Optional);
    let optional = [true, false].into_iter().skip(usize::from(!has_optional));
    let types = 0..samples::type_count(&declaration.signature);
    for wanted in optional.flat_map(|optional| {
        types.clone().map(move |ty| CallRequest { attrs, optional, ty, batch: BATCH_SIZE })
    }) {
        match made(target, handlers, wanted, args) {
            Ok(found) => checked.push(found),
            Err(Some(error)) => return Err(told(error)).with_context(|| unmade(target, handlers.ops, args)),
            Err(None) => bail!("{}", unmade(target, handlers.ops, args)),
        }
    }
    let wanted = CallRequest { attrs, optional: true, ty: 0, batch: BATCH_SIZE };
    vary(declaration, attrs, first, checked, |attrs| {
        made(target, handlers, CallRequest { attrs, ..wanted }, args).ok()
    });
    Ok(())
}

/// Checks the promises on generated operands.
///
/// # Errors
/// If no operands are found. The error is the op's reason for rejecting the first operands that fit the
/// signature.
fn made(
    target: &Arc<Target>,
    handlers: &Handlers<'_>,
    wanted: CallRequest<'_>,
    args: &OpArgs,
) -> Result<Checked, Option<CheckError>> {
    let mut refused = None;
    let Some(declaration) = target.declaration() else { return Err(None) };
    for call in samples::calls(declaration, wanted) {
        let Ok(operands) = operands(&call, args.seed) else { continue };
        match on(target, handlers, operands, &call.attrs) {
            // A panic is a fault of the op, not of the operands.
            Err(CheckError::Run(error)) if has_panicked(&error) => {
                let op = target.name().to_owned();
                let promise = Promise {
                    op: op.clone(),
                    promise: "call".to_owned(),
                    compared: String::new(),
                    difference: None,
                    outcome: Outcome::Broken(told(error.into()).to_string()),
                };
                return Ok(Checked { call: op.clone(), op, attrs: call.attrs, promises: vec![promise] });
            }
            Ok(one) => return Ok(one),
            Err(error) => _ = refused.get_or_insert(error),
        }
    }
    Err(refused)
}

/// Tries other values of each attribute that is not in `given`: all values of a boolean or a choice, and for
/// other types the first value that the op accepts. `made` calls the op with attributes; it returns `None` if
/// the op rejects them. The op's earlier calls are in `checked`, from index `first` on.
fn vary(
    declaration: &Declaration,
    given: &AttrValues,
    first: usize,
    checked: &mut Vec<Checked>,
    made: impl Fn(&AttrValues) -> Option<Checked>,
) {
    let Some(base) = checked.get(first).map(|call| (call.op.clone(), call.attrs.clone())) else { return };
    let mut unvaried = Vec::new();
    for attr in declaration.signature.attrs() {
        let name = attr.name.text.as_str();
        let value = |attrs: &AttrValues| attrs.get(name).cloned().or_else(|| attr.default.clone());
        let is_varied = checked[first..].iter().any(|call| value(&call.attrs) != value(&base.1));
        let has_other = declaration.signature.only_value(name).is_none();
        if given.get(name).is_some() || is_varied || !has_other {
            continue;
        }
        let others = Alternatives::of(attr, value(&base.1).as_ref());
        let mut found = others.values.iter().filter_map(|other| {
            let mut attrs = given.clone();
            attrs.insert(name, other.clone());
            made(&attrs)
        });
        let before = checked.len();
        match others.are_all {
            true => checked.extend(found),
            false => checked.extend(found.next()),
        }
        if checked.len() == before {
            let except = value(&base.1).map_or_else(String::new, |value| format!(" other than {value}"));
            let why = format!("no valid value{except} is known; give one with --attr {name}=VALUE");
            unvaried.push(Promise {
                op: base.0.clone(),
                promise: format!("attribute {name}"),
                compared: String::new(),
                difference: None,
                outcome: Outcome::Unchecked(why),
            });
        }
    }
    if !unvaried.is_empty() {
        let (op, call) = (base.0.clone(), format!("{} with other attributes", base.0));
        checked.push(Checked { op, call, attrs: AttrValues::new(), promises: unvaried });
    }
}

/// Returns the attributes of a sample, overridden by the given ones.
fn with(sample: &AttrValues, given: &AttrValues) -> AttrValues {
    let mut attrs = sample.clone();
    given.iter().for_each(|(name, value)| attrs.insert(name, value.clone()));
    attrs
}

/// Size of batch dimensions of generated operands.
const BATCH_SIZE: i64 = 5;
/// Maximum magnitude of generated numbers.
const MAX_MAGNITUDE: f64 = 3.0;

fn has_panicked(error: &RunError) -> bool {
    error.code() == ErrorCode::CustomCall(farcall::ffi::StatusCode::Internal)
}

/// Returns advice for the user if no operands could be generated for an op.
fn unmade(target: &Arc<Target>, ops: &[Arc<Target>], args: &OpArgs) -> String {
    let name = target.name();
    let parent = ops.iter().find(|other| {
        let derivatives = other.declaration().map(|d| d.derivatives()).unwrap_or_default();
        other.name() != name && derivatives.contains(&name)
    });
    let hint = parent.map_or_else(String::new, |parent| {
        let library = quoted(&args.library.as_arg().to_string_lossy());
        format!(
            "; as a derivative of {of} it is checked by farcall op {library} {of} --check",
            of = parent.name()
        )
    });
    format!(
        "{name}: no operands that fit were found; give some with --input, and attributes with --attr{hint}"
    )
}

/// Generates random operands. Numbers lie on both sides of 1, because many kernels treat numbers below and
/// above 1 differently. Integers may be indices, so they are below every size and every attribute that may be
/// a size.
fn operands(call: &samples::Call, seed: u64) -> Result<Vec<Literal>> {
    let sizes = call.operands.iter().flat_map(|ty| ty.sizes()).copied().filter(|size| *size > 0);
    let attrs = call.attrs.iter().filter_map(|(_, value)| usize::try_from(value.as_int()?).ok());
    let least = sizes.chain(attrs.filter(|value| *value > 0)).min().unwrap_or(2) as u64;
    let operands = call.operands.iter().enumerate();
    let operand = |(i, ty): (usize, &farcall::ir::types::TensorType)| {
        let made = inputs::make(Fill::Rand, ty, seed.wrapping_add(i as u64))?;
        Ok(match ty.dtype {
            DType::Pred => made,
            dtype if !dtype.is_integer() => Literal::from_fn(dtype, made.dims().to_vec(), |i| {
                Scalar::Complex(made.get(i).as_complex() * MAX_MAGNITUDE)
            }),
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

/// Prints a table for each call, the list of unchecked ops, and the handlers for other platforms that were
/// not compared: all of them, or those of the op `only` and its derivative ops. With `--strict`, unchecked
/// ops are errors, but handlers for other platforms are not: otherwise `--strict` would reject every library
/// for CUDA on a machine without a GPU.
///
/// # Errors
/// If promises are broken. The error lists all broken promises.
fn print(
    checked: &[Checked],
    unchecked: &[(&str, String)],
    handlers: &Handlers<'_>,
    only: Option<&str>,
    args: &OpArgs,
) -> Result<()> {
    let all = || checked.iter().flat_map(|call| &call.promises);
    let called: BTreeSet<&str> = all().map(|promise| promise.op.as_str()).collect();
    let uncompared = handlers.others.uncompared(
        |op| only.is_none_or(|only| op == only || called.contains(op)),
        |target| all().any(|p| p.op == target.name() && p.promise == target.platform().name()),
        |op| handlers.ops.iter().any(|target| target.name() == op),
    );
    let mut platforms: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for group in &uncompared {
        platforms.entry(group.platform).or_default().extend(&group.ops);
    }
    let mut out = terminal::stdout();
    if args.json {
        let calls: Vec<Value> = checked.iter().map(as_json).collect();
        let unchecked: Vec<Value> =
            unchecked.iter().map(|(op, why)| json!({ "op": op, "why": why })).collect();
        let count = |is: fn(&Outcome) -> bool| all().filter(|promise| is(&promise.outcome)).count();
        let summary = json!({
            "kept": count(|outcome| *outcome == Outcome::Kept),
            "broken": count(|outcome| matches!(outcome, Outcome::Broken(_))),
            "unchecked": count(|outcome| matches!(outcome, Outcome::Unchecked(_))) + unchecked.len(),
        });
        let value = json!({
            "calls": calls,
            "unchecked": unchecked,
            "unchecked_platforms": platforms,
            "gpu": handlers.others.gpu_name(),
            "summary": summary,
        });
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
        for group in &uncompared {
            let (platform, ops) = (group.platform, group.ops.join(", "));
            writeln!(out, "not checked: the handlers for {platform} of {ops}: {}", group.why)?;
        }
    }
    let broken = all().filter_map(|promise| match &promise.outcome {
        Outcome::Broken(why) => Some(format!("{} breaks its promise {}: {why}", promise.op, promise.promise)),
        Outcome::Kept | Outcome::Unchecked(_) => None,
    });
    let broken: Vec<String> = broken.collect();
    let kept = all().filter(|promise| promise.outcome == Outcome::Kept).count();
    let more = all().filter(|promise| matches!(promise.outcome, Outcome::Unchecked(_))).count();
    let more = more + unchecked.len();
    if !args.json && !args.quiet {
        let others = [(broken.len(), "broken"), (more, "not checked")].into_iter();
        let others = others.filter(|(count, _)| *count > 0).map(|(count, what)| format!(", {count} {what}"));
        let gpu = handlers.others.gpu_name().map_or_else(String::new, |gpu| format!("; CUDA on {gpu}"));
        let is_silent = |platform: &&&str| gpu.is_empty() || **platform != platform::CUDA;
        let platforms = platforms.keys().filter(is_silent);
        let platforms: String = platforms.map(|platform| format!("; {platform} not checked")).collect();
        writeln!(out, "{} kept{}{gpu}{platforms}", count(kept, "promise"), others.collect::<String>())?;
    }
    match broken.len() {
        0 if args.strict && more > 0 => {
            bail!("{more} not checked, which --strict does not allow: see the lines `not checked`")
        }
        0 => Ok(()),
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
