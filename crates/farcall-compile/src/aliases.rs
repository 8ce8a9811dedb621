//! Results of custom calls that share memory with operands.

use farcall_ir::op::{CustomCall, OutputAlias};
use farcall_ir::{Diagnostic, Inst, Type, ValueId};

use super::choices::internal;
use super::resolve;

/// Returns the pairs of a result and an operand of a call that share memory. Each pair has the result's index
/// among the result tensors of the call, then the operand's index among the operand tensors.
///
/// # Errors
/// `compile-alias`: an operand and its result have different sizes, or an operand or result shares memory
/// twice.
pub(super) fn check(inst: Inst<'_>, call: &CustomCall) -> Result<Vec<(usize, usize)>, Diagnostic> {
    let span = inst.span();
    let mut aliases = Vec::new();
    if call.aliases.is_empty() {
        return Ok(aliases);
    }
    let (operands, results) = resolve::types(inst, call);
    let bad = || internal(span, "an alias of an operand or result that does not exist");
    for alias in &call.aliases {
        let (output, input) = numbers(alias, &operands, &results).ok_or_else(bad)?;
        let ty = |ids: &[ValueId], i: usize| ids.get(i).and_then(|v| inst.func().tensor(*v)).ok_or_else(bad);
        let (to, from) = (ty(inst.results(), output)?, ty(inst.operands(), input)?);
        if to.bytes() != from.bytes() {
            let message = format!(
                "result {output} cannot share memory with operand {input}: {to} and {from} differ in size"
            );
            return Err(Diagnostic::new("compile-alias", span, message));
        }
        if aliases.iter().any(|(o, i)| *o == output || *i == input) {
            let message = "an operand can share memory with only one result".to_owned();
            return Err(Diagnostic::new("compile-alias", span, message));
        }
        aliases.push((output, input));
    }
    Ok(aliases)
}

/// Returns the indices of the output and the input that an alias names, not counting tokens.
fn numbers(alias: &OutputAlias, operands: &[Type], results: &[Type]) -> Option<(usize, usize)> {
    let output = match (results, alias.output_tuple_indices.as_slice()) {
        ([one], path) => position(std::slice::from_ref(one), &[&[0], path].concat()),
        (many, path) => position(many, path),
    };
    let path = [&[alias.operand_index], alias.operand_tuple_indices.as_slice()].concat();
    Some((output?, position(operands, &path)?))
}

/// Returns the index, among all tensors in these types, of the tensor at a path: the index of a type, then
/// the index in each nested tuple.
fn position(types: &[Type], path: &[usize]) -> Option<usize> {
    let (first, rest) = path.split_first()?;
    let before: usize = types.get(..*first)?.iter().map(|ty| ty.tensors().count()).sum();
    match (types.get(*first)?, rest) {
        (Type::Tensor(_), []) => Some(before),
        (Type::Tuple(parts), rest) => Some(before + position(parts, rest)?),
        _ => None,
    }
}
