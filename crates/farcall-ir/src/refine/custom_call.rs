//! Custom calls: assertions about sizes, and calls that take the shapes of their results as operands.

use super::Stop;
use super::walk::Walk;
use crate::attr::Attribute;
use crate::diag::Diagnostic;
use crate::module::{Inst, NewInst};
use crate::op::{CustomCall, Op, OutputAlias};

/// Target of JAX's assertions about sizes; the operands are the condition, then numbers for the message.
const ASSERTION: &str = "shape_assertion";

/// Attribute with the indices of the operands that are shapes of the results.
const SHAPES: &str = "indices_of_shape_operands";

/// Returns true for a call that asserts something about sizes (JAX's `@shape_assertion`).
/// [`refine`](super::refine) decides the assertion, so the program needs no target for the call.
pub fn is_assertion(inst: Inst<'_>) -> bool {
    inst.results().is_empty() && matches!(inst.op(), Op::CustomCall(call) if call.target == ASSERTION)
}

/// Decides an assertion. Returns an error if the condition is false or unknown.
pub(super) fn decide(walk: &Walk<'_, '_>, call: &CustomCall, new: &NewInst) -> Result<(), Stop> {
    let fail = |message: String| Err(Stop::Refused(Diagnostic::new("shape-assertion", new.span, message)));
    let open = |message: String| Err(Stop::UnknownShape(Diagnostic::new("dynamic-shape", new.span, message)));
    let Some((condition, numbers)) = new.operands.split_first() else {
        return fail(format!("@{} has no condition", call.target));
    };
    let Some(holds) = walk.known(*condition).and_then(|l| l.iter().next()) else {
        return open("the known inputs do not decide whether this assertion holds".to_owned());
    };
    if holds.as_bool() {
        return Ok(());
    }
    let mut message = match new.attrs.get("error_message").and_then(Attribute::as_str) {
        Some(message) => message.to_owned(),
        None => "an assertion about the shapes of the inputs does not hold".to_owned(),
    };
    for (i, number) in numbers.iter().enumerate() {
        let shown = match walk.integers(*number).as_deref() {
            Some([one]) => one.to_string(),
            Some(many) => format!("{many:?}"),
            None => "?".to_owned(),
        };
        message = message.replace(&format!("{{{i}}}"), &shown);
    }
    fail(message)
}

/// Makes `new` the custom call `call`, whose functions the caller has specialized. Reads the shapes of the
/// results from the operands that the call names as shapes, and removes these operands.
pub(super) fn refine(
    walk: &mut Walk<'_, '_>,
    mut call: CustomCall,
    inst: Inst<'_>,
    new: &mut NewInst,
) -> Result<(), Stop> {
    if let Some(shapes) = new.attrs.get(SHAPES).and_then(Attribute::as_i64_list) {
        let index = |i: &i64| usize::try_from(*i).ok().filter(|i| *i < new.operands.len());
        let indices: Option<Vec<usize>> = shapes.iter().map(index).collect();
        let Some(indices) = indices.filter(|i| i.len() == inst.results().len()) else {
            let message = format!(
                "{SHAPES} of @{} must name an operand for each result, found {shapes:?}",
                call.target
            );
            return Err(Stop::UnknownShape(Diagnostic::new("dynamic-shape", new.span, message)));
        };
        for (result, operand) in inst.results().iter().zip(&indices) {
            let sizes = walk.integers(new.operands[*operand]);
            let dims = sizes.and_then(|s| s.into_iter().map(|n| usize::try_from(n).ok()).collect());
            if let Some(dims) = dims {
                walk.shape_is(*result, dims);
            }
        }
        new.attrs.remove(SHAPES);
        drop_operands(&mut call, new, &indices);
    }
    new.op = Op::CustomCall(Box::new(call));
    Ok(())
}

/// Removes operands, together with their layouts and aliases.
fn drop_operands(call: &mut CustomCall, new: &mut NewInst, gone: &[usize]) {
    let keep = |i: usize| !gone.contains(&i);
    let mut i = 0..;
    new.operands.retain(|_| i.next().is_some_and(keep));
    if let Some(layouts) = &mut call.operand_layouts {
        let mut i = 0..;
        layouts.retain(|_| i.next().is_some_and(keep));
    }
    call.aliases.retain(|a| keep(a.operand_index));
    for OutputAlias { operand_index, .. } in &mut call.aliases {
        *operand_index -= gone.iter().filter(|g| **g < *operand_index).count();
    }
}
