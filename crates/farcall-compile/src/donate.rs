//! Donated inputs: results may take over the memory of an input if the parameter's attributes request it.
//!
//! `tf.aliasing_output = N : i32` names the result; `jax.buffer_donor = true` leaves the choice to the
//! compiler. This pass checks these attributes. In the middle form, it gives each donated parameter the
//! attribute `farcall.donated = array<i64: …>`: the indices of the results that may have its memory.
//!
//! These are requests: [`super::assign`] grants a request if all reads of the input come before the first
//! write to the result. Otherwise the result gets its own memory.

use std::collections::BTreeMap;

use farcall_ir::diag::Diagnostics;
use farcall_ir::{Attribute, Diagnostic, Func, TensorType, Type};
use rustc_hash::{FxHashMap, FxHashSet};

use super::storage::{Home, Storage};

/// The attribute of a donated parameter.
const DONATED: &str = "farcall.donated";

/// Maximum number of results that are considered for the memory of one input.
const MAX_REQUESTED_RESULTS: usize = 64;

/// Marks the parameters of a program in the middle form, according to the attributes of the entry function
/// that the program was made from.
pub(super) fn donate(func: &mut Func, entry: &Func, storage: &Storage) -> Result<(), Diagnostics> {
    func.param_attrs_mut().iter_mut().for_each(|attrs| drop(attrs.remove(DONATED)));
    let Requests { named, free } = requests(entry)?;
    let returned = func.body().returned();
    let mut found: Vec<(usize, Vec<usize>)> = Vec::new();
    // Devices may divide an input and a result of the same type differently.
    let own_ty = |param: usize| func.params().get(param).and_then(|value| func.tensor(*value));
    for (param, result) in named {
        if result < returned.len() && own_ty(param) == func.tensor(returned[result]) {
            found.push((param, vec![result]));
        }
    }
    // All results that share the memory of a promised result are promised with it.
    let taken: FxHashSet<_> =
        found.iter().flat_map(|(_, results)| results).map(|r| storage.of(returned[*r])).collect();
    let mut open: FxHashMap<&TensorType, (usize, Vec<usize>)> = FxHashMap::default();
    let mut seen = taken;
    for (r, value) in returned.iter().enumerate() {
        if storage.piece(*value).home == Home::Open
            && seen.insert(storage.of(*value))
            && let Some(ty) = func.tensor(*value)
        {
            open.entry(ty).or_default().1.push(r);
        }
    }
    for param in free {
        if let Some((next, results)) = own_ty(param).and_then(|ty| open.get_mut(ty)) {
            // Each input prefers a different result.
            let chosen = results.iter().cycle().skip(*next % results.len());
            found.push((param, chosen.take(results.len().min(MAX_REQUESTED_RESULTS)).copied().collect()));
            *next += 1;
        }
    }
    for (param, results) in found {
        if let Some(attrs) = func.param_attrs_mut().get_mut(param)
            && !results.is_empty()
        {
            attrs.insert(DONATED.to_owned(), Attribute::usize_array(&results));
        }
    }
    Ok(())
}

/// Returns the indices of the donated inputs, with the indices of the results that may have their memory.
pub(super) fn donated(func: &Func) -> Vec<(usize, Vec<usize>)> {
    let results = |attr: &Attribute| -> Vec<usize> {
        let numbers = attr.as_i64_list().unwrap_or_default();
        numbers.into_iter().filter_map(|n| usize::try_from(n).ok()).collect()
    };
    let params = func.param_attrs().iter().enumerate();
    params.filter_map(|(i, attrs)| Some((i, results(attrs.get(DONATED)?)))).collect()
}

/// Returns the inputs that a program asks to donate, as indices of the program's input tensors.
pub(super) fn asked(entry: &Func) -> FxHashSet<usize> {
    // `donate` reports mistakes.
    let Ok(Requests { named, free }) = requests(entry) else { return FxHashSet::default() };
    named.into_iter().map(|(param, _)| param).chain(free).collect()
}

/// The donation requests of a program. Inputs and results are given as indices of the program's tensors.
struct Requests {
    /// Inputs donated to a named result, with that result.
    named: Vec<(usize, usize)>,
    /// Inputs whose memory any result of the same type may have.
    free: Vec<usize>,
}

fn requests(entry: &Func) -> Result<Requests, Diagnostics> {
    let mut mistakes = Diagnostics::default();
    // The input promised to each result, so that each result is promised only once.
    let mut promised: BTreeMap<usize, usize> = BTreeMap::new();
    let mut requests = Requests { named: Vec::new(), free: Vec::new() };
    let firsts = positions(entry.results());
    let types: Vec<&Type> = entry.params().iter().map(|p| entry.ty(*p)).collect();
    for (i, (at, ty)) in positions(types.iter().copied()).into_iter().zip(types).enumerate() {
        let attrs = entry.param_attrs().get(i);
        let attr = |key: &str| attrs.and_then(|attrs| attrs.get(key));
        if let Some(wanted) = attr("tf.aliasing_output") {
            let result = wanted.as_i64().and_then(|k| usize::try_from(k).ok());
            let Some((k, to)) = result.and_then(|k| Some((k, entry.results().get(k)?))) else {
                let wanted = wanted.as_i64().map_or_else(|| wanted.to_string(), |k| k.to_string());
                let message =
                    format!("argument {i} is donated to result {wanted}, but there is no such result");
                mistakes.push(Diagnostic::new("donation", entry.span, message));
                continue;
            };
            if to != ty {
                let message = format!("argument {i} is donated to result {k}, which is {to}, not {ty}");
                mistakes.push(Diagnostic::new("donation", entry.span, message));
            } else if let Some(other) = promised.insert(k, i) {
                let message = format!("arguments {other} and {i} are both donated to result {k}");
                mistakes.push(Diagnostic::new("donation", entry.span, message));
            } else if let Type::Tensor(_) = ty {
                requests.named.push((at, firsts[k]));
            }
        } else if matches!(attr("jax.buffer_donor"), Some(Attribute::Bool(true)))
            && matches!(ty, Type::Tensor(_))
        {
            requests.free.push(at);
        }
    }
    if mistakes.is_empty() { Ok(requests) } else { Err(mistakes) }
}

/// Returns, for each value, the index of its first tensor among the tensors in all values.
fn positions<'t>(types: impl IntoIterator<Item = &'t Type>) -> Vec<usize> {
    let mut next = 0;
    let first = types.into_iter().map(|ty| {
        let at = next;
        next += ty.tensors().count();
        at
    });
    first.collect()
}
