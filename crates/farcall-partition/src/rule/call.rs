//! Rules of custom calls: from the op's signature, from `sdy.sharding_rule`, or from the number of batch
//! dimensions.

use farcall_ir::module::Inst;
use farcall_ir::op::{Binary, CustomCall, Op};
use farcall_ir::{Attribute, TensorType, ValueId};
use farcall_sig::signature::{CallFactors, FactorKind, Reducer};

use super::{Factor, Rule, TensorFactors};

/// A host's rules for the targets of custom calls.
pub trait CallRules {
    /// Returns the factors of a call; `None` if its target declares none.
    fn factors(&self, call: Inst<'_>) -> Option<CallFactors>;

    /// Returns true if each device makes the call with its own parts of the operands, however they are
    /// divided. Only calls without results are asked about.
    fn is_called_on_parts(&self, _call: Inst<'_>) -> bool {
        false
    }
}

/// The rules of a host without rules for any target.
#[derive(Clone, Copy, Debug)]
pub struct NoRules;

impl CallRules for NoRules {
    fn factors(&self, _call: Inst<'_>) -> Option<CallFactors> {
        None
    }
}

/// Returns the rule of a custom call; `None` if every device must compute it on complete operands.
pub(crate) fn rule(inst: Inst<'_>, rules: &dyn CallRules) -> Option<Rule> {
    let Op::CustomCall(call) = inst.op() else { return None };
    let declared = rules.factors(inst).and_then(|factors| declared(inst, factors));
    declared.or_else(|| stated(inst)).or_else(|| batched(inst, call))
}

/// Returns the rule that an op's signature declares.
fn declared(inst: Inst<'_>, call: CallFactors) -> Option<Rule> {
    let mut rule = Rule::whole(inst);
    for factor in &call.factors {
        let combine = match factor.kind {
            FactorKind::Reduce(reducer) => Some(function(reducer)),
            FactorKind::Split | FactorKind::Whole => None,
        };
        rule.factors.push(Factor { combine, ..Factor::new(usize::try_from(factor.size).ok()?) });
    }
    for (tensor, factors) in call.operands.iter().chain(&call.results).enumerate() {
        let dims = rule.tensors.get_mut(tensor).filter(|dims| dims.len() == factors.len())?;
        for (dim, factor) in dims.iter_mut().zip(factors) {
            if call.factors.get(*factor)?.kind != FactorKind::Whole {
                dim.push(*factor);
            }
        }
    }
    rule.offsets = call.offsets;
    Some(rule)
}

/// Returns the function that combines the partial results of a reduced factor.
fn function(reducer: Reducer) -> Binary {
    match reducer {
        Reducer::Sum => Binary::Add,
        Reducer::Prod => Binary::Multiply,
        Reducer::Max => Binary::Maximum,
        Reducer::Min => Binary::Minimum,
        Reducer::And => Binary::And,
        Reducer::Or => Binary::Or,
    }
}

/// Reads the attribute `sdy.sharding_rule`: `([i, k], [k, j])->([i, j]) {i=8, j=4, k=2} reduction={k}`.
fn stated(inst: Inst<'_>) -> Option<Rule> {
    let Attribute::Dialect(attr) = inst.attrs().get("sdy.sharding_rule")? else { return None };
    let (mapping, rest) = attr.text.split_once('{')?;
    let (sizes, rest) = rest.split_once('}')?;
    let mut names = Vec::new();
    let mut rule = Rule::whole(inst);
    for entry in sizes.split(',').filter(|entry| !entry.trim().is_empty()) {
        let (name, size) = entry.split_once('=')?;
        names.push(name.trim());
        rule.factors.push(Factor::new(size.trim().parse().ok()?));
    }
    let list = |key: &str| -> Vec<&str> {
        let found = rest.split_once(&format!("{key}={{")).and_then(|(_, rest)| rest.split_once('}'));
        let Some((list, _)) = found else { return Vec::new() };
        list.split(',').map(str::trim).filter(|name| !name.is_empty()).collect()
    };
    for name in list("reduction") {
        let factor = names.iter().position(|own| *own == name)?;
        rule.factors[factor].combine = Some(Binary::Add);
    }
    let whole = [list("need_replication"), list("permutation")].concat();
    let (operands, results) = mapping.split_once("->")?;
    let tensors = [tensors(operands)?, tensors(results)?].concat();
    if tensors.len() != rule.tensors.len() {
        return None;
    }
    let mut places: Vec<TensorFactors> = Vec::new();
    for (dims, factors) in rule.tensors.iter().zip(tensors) {
        let numbers = |factors: &str| -> Option<Vec<usize>> {
            factor_names(factors).iter().map(|name| names.iter().position(|own| own == name)).collect()
        };
        let factors: Vec<Vec<usize>> = factors.into_iter().map(numbers).collect::<Option<_>>()?;
        if dims.len() != factors.len() {
            return None;
        }
        places.push(factors);
    }
    if !sizes_match(inst, &rule, &places) {
        return None;
    }
    // A factor that is not reduced can be divided only if an operand and every result have it.
    let has = |tensor: &TensorFactors, factor: usize| tensor.iter().any(|dim| dim.contains(&factor));
    let is_divisible = |factor: usize| {
        let (operands, results) = places.split_at(rule.operands);
        !whole.contains(&names[factor])
            && operands.iter().any(|tensor| has(tensor, factor))
            && (rule.factors[factor].combine.is_some() || results.iter().all(|tensor| has(tensor, factor)))
    };
    let divisible: Vec<bool> = (0..names.len()).map(is_divisible).collect();
    for (dims, factors) in rule.tensors.iter_mut().zip(&places) {
        for (dim, factors) in dims.iter_mut().zip(factors) {
            // Factors that are minor to an undivided one stay undivided, too.
            dim.extend(factors.iter().take_while(|factor| divisible[**factor]));
        }
    }
    Some(rule)
}

/// Returns true if the sizes of the factors of each dimension multiply to the dimension's size.
fn sizes_match(inst: Inst<'_>, rule: &Rule, places: &[TensorFactors]) -> bool {
    let values = inst.own_operands().iter().chain(inst.results());
    values.zip(places).all(|(value, factors)| {
        let sizes = inst.func().tensor(*value).and_then(TensorType::static_sizes).unwrap_or(&[]);
        sizes.iter().zip(factors).all(|(size, factors)| {
            let product =
                factors.iter().try_fold(1_usize, |n, factor| n.checked_mul(rule.factors[*factor].size));
            product == Some(*size)
        })
    })
}

/// Splits `([i, k], [])` into the dimensions of each tensor.
fn tensors(list: &str) -> Option<Vec<Vec<&str>>> {
    let list = list.trim().strip_prefix('(')?.strip_suffix(')')?;
    let mut tensors = Vec::new();
    for tensor in list.split(']').filter(|tensor| !tensor.trim().is_empty()) {
        let (_, dims) = tensor.split_once('[')?;
        tensors.push(dims.split(',').map(str::trim).filter(|dim| !dim.is_empty()).collect());
    }
    Some(tensors)
}

/// Splits the factors of a dimension: letters with optional numbers, as in `ijz_1`.
fn factor_names(factors: &str) -> Vec<&str> {
    let starts: Vec<usize> =
        factors.char_indices().filter(|(_, c)| c.is_ascii_alphabetic()).map(|(at, _)| at).collect();
    let ends = starts.iter().copied().skip(1).chain([factors.len()]);
    starts.iter().zip(ends).map(|(start, end)| &factors[*start..end]).collect()
}

/// Returns the rule of a call whose operands and results share leading batch dimensions, as the frontend
/// attribute `num_batch_dims` states.
fn batched(inst: Inst<'_>, call: &CustomCall) -> Option<Rule> {
    let Some(Attribute::Dict(frontend)) = inst.attrs().get("mhlo.frontend_attributes") else { return None };
    let count: usize = frontend.get("num_batch_dims")?.as_str()?.parse().ok()?;
    if call.has_side_effect {
        return None;
    }
    let func = inst.func();
    let sizes = |v: &ValueId| func.tensor(*v).and_then(TensorType::static_sizes);
    let values: Vec<&ValueId> = inst.own_operands().iter().chain(inst.results()).collect();
    let first = sizes(values.first()?)?.get(..count)?;
    let mut rule = Rule::whole(inst);
    // All tensors have the batch dimensions, or are shared by the whole batch.
    let has = |v: &&ValueId| sizes(v).is_some_and(|sizes| sizes.get(..count) == Some(first));
    let tensors: Vec<usize> = (0..values.len()).filter(|i| has(&values[*i])).collect();
    if !(0..inst.results().len()).all(|i| tensors.contains(&(rule.operands + i))) {
        return None;
    }
    rule.factors_of(first, &tensors);
    Some(rule)
}
