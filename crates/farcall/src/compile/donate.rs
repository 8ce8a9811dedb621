//! Inputs whose memory results may take over, as the parameters' attributes say.
//!
//! `tf.aliasing_output = N : i32` names the result; `jax.buffer_donor = true` leaves the choice to us.
//! These are requests: [`super::assign`] grants them if the input is no longer read once the first write to the
//! result starts. Otherwise the result gets its own memory.

use std::collections::BTreeMap;

use farcall_ir::diag::Diagnostics;
use farcall_ir::{Attr, Diagnostic, Func, Type};

use super::lower::{Operand, VirtualId};
use crate::plan::ParamId;

/// An input that is given away.
#[derive(Debug)]
pub(super) struct Wish {
    pub(super) param: ParamId,
    /// The results that may have its memory, best first.
    pub(super) results: Vec<VirtualId>,
}

/// The wishes of a program's entry; `results` are the tensors that it returns.
pub(super) fn wishes(entry: &Func, results: &[Operand]) -> Result<Vec<Wish>, Diagnostics> {
    let mut mistakes = Diagnostics::default();
    // By result, so that each is promised once.
    let mut named: BTreeMap<usize, usize> = BTreeMap::new();
    let (mut found, mut free) = (Vec::new(), Vec::new());
    let firsts = positions(&entry.results);
    let types: Vec<Type> = entry.params().iter().map(|p| entry.ty(*p).clone()).collect();
    for (i, (at, ty)) in positions(&types).into_iter().zip(&types).enumerate() {
        let attrs = entry.param_attrs.get(i);
        let attr = |key: &str| attrs.and_then(|attrs| attrs.get(key));
        if let Some(wanted) = attr("tf.aliasing_output") {
            let result = wanted.as_i64().and_then(|k| usize::try_from(k).ok());
            let Some((k, to)) = result.and_then(|k| Some((k, entry.results.get(k)?))) else {
                let wanted = wanted.as_i64().map_or_else(|| wanted.to_string(), |k| k.to_string());
                let message =
                    format!("argument {i} is donated to result {wanted}, but there is no such result");
                mistakes.push(Diagnostic::new("donation", entry.span, message));
                continue;
            };
            if to != ty {
                let message = format!("argument {i} is donated to result {k}, which is {to}, not {ty}");
                mistakes.push(Diagnostic::new("donation", entry.span, message));
            } else if let Some(other) = named.insert(k, i) {
                let message = format!("arguments {other} and {i} are both donated to result {k}");
                mistakes.push(Diagnostic::new("donation", entry.span, message));
            } else if let (Type::Tensor(_), Some(result)) = (ty, results.get(firsts[k])) {
                found.push(Wish { param: ParamId::new(at), results: vec![result.id] });
            }
        } else if matches!(attr("jax.buffer_donor"), Some(Attr::Bool(true)))
            && let Type::Tensor(ty) = ty
        {
            free.push((ParamId::new(at), ty));
        }
    }
    if !mistakes.is_empty() {
        return Err(mistakes);
    }
    let taken: Vec<VirtualId> = found.iter().flat_map(|wish| wish.results.clone()).collect();
    for (param, ty) in free {
        let fits = results.iter().filter(|r| r.ty == *ty && !taken.contains(&r.id)).map(|r| r.id);
        found.push(Wish { param, results: fits.collect() });
    }
    Ok(found)
}

/// Number of the first tensor of each value, counted over the tensors in all of them.
fn positions(types: &[Type]) -> Vec<usize> {
    let mut next = 0;
    let first = types.iter().map(|ty| {
        let at = next;
        next += ty.tensors().count();
        at
    });
    first.collect()
}
