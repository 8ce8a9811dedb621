//! The first elements of sorted tensors: `ApproxTopK`, which returns most of them (here, all of them), XLA's `TopK`, and
//! `mhlo.topk` of the smallest.

use farcall_sig::DType;

use super::Meaning;
use crate::module::{FuncId, Inst, InstId, NewInst, Rewriter, ValueId};
use crate::op::{CallConfig, Compare, CompareKind, CustomCall, Direction, Op, Slice};
use crate::types::{TensorType, Type};

/// How tensors are sorted, before the first elements are taken.
pub(super) struct Sorted {
    dim: usize,
    first: First,
}

/// Which elements come first.
enum First {
    /// The first ones in the order of a comparator.
    Comparator(FuncId),
    /// The first ones of the only operand in the order of a comparator. Their indices are sorted with them.
    Indexed(FuncId),
    /// The smallest of the only operand, floats in total order. Their indices are sorted with them.
    Smallest,
}

/// As many operands as initial values, which are not needed where there are enough elements.
pub(super) fn meaning(inst: Inst<'_>, call: &CustomCall) -> Option<Meaning> {
    let func = inst.func();
    if call.target == "TopK" {
        return top_k(inst, call);
    }
    if call.target != "ApproxTopK" {
        return None;
    }
    let CallConfig::Dict(config) = &call.config else { return None };
    let dim = usize::try_from(config.get("reduction_dim")?.as_i64()?).ok()?;
    let [comparator] = call.called_computations.as_slice() else { return None };
    if inst.results().is_empty() || inst.operands().len() != 2 * inst.results().len() {
        return None;
    }
    let fits = |(from, to): (&ValueId, &ValueId)| match (func.ty(*from), func.ty(*to)) {
        (Type::Tensor(from), Type::Tensor(to)) => {
            let (Some(a), Some(b)) = (from.static_sizes(), to.static_sizes()) else { return false };
            let same = |(d, (a, b)): (usize, (&usize, &usize))| a == b || (d == dim && b <= a);
            from.dtype == to.dtype
                && from.rank() == to.rank()
                && dim < from.rank()
                && a.iter().zip(b).enumerate().all(same)
        }
        _ => false,
    };
    let all = inst.operands().iter().zip(inst.results()).all(fits);
    all.then_some(Meaning::Sorted(Sorted { dim, first: First::Comparator(*comparator) }))
}

/// XLA's `TopK`: the first elements of each line along the last dimension, and their indices.
fn top_k(inst: Inst<'_>, call: &CustomCall) -> Option<Meaning> {
    let [comparator] = call.called_computations.as_slice() else { return None };
    let k = *inst.func().ty(*inst.results().first()?).tensor()?.static_sizes()?.last()?;
    indexed(inst, k, First::Indexed(*comparator))
}

/// The `k` smallest elements of each line along the last dimension, and their places, as `chlo.top_k` has the largest:
/// equal ones in the order of the operand.
pub(super) fn smallest(inst: Inst<'_>, k: usize) -> Option<Meaning> {
    indexed(inst, k, First::Smallest)
}

/// The first `k` elements of each line along the last dimension, and their indices, if operand and results are such.
fn indexed(inst: Inst<'_>, k: usize, first: First) -> Option<Meaning> {
    let ty = |v: &ValueId| inst.func().ty(*v).tensor();
    let ([x], [values, places]) = (inst.operands(), inst.results()) else { return None };
    let (x, values, places) = (ty(x)?, ty(values)?, ty(places)?);
    let (length, outer) = x.static_sizes()?.split_last()?;
    let wanted = x.with_sizes([outer, &[k]].concat());
    let is_sorted = x.quant.is_none() && !x.dtype.is_complex() && k <= *length;
    let fits =
        is_sorted && *values == wanted && *places == TensorType::new(DType::S32, wanted.sizes().to_vec());
    fits.then_some(Meaning::Sorted(Sorted { dim: outer.len(), first }))
}

impl Sorted {
    /// Makes the instructions that sort and take the first.
    pub(super) fn apply(self, r: &mut Rewriter<'_>, call: InstId) {
        let view = r.func().inst(call);
        let (span, loc) = (view.span(), view.loc().cloned());
        let new = |op: Op, operands: Vec<ValueId>| NewInst::new(op, operands).at(span, loc.clone());
        let wanted: Vec<Type> = view.results().iter().map(|v| r.func().ty(*v).clone()).collect();
        let operands = match self.first {
            First::Comparator(_) => view.operands()[..wanted.len()].to_vec(),
            First::Indexed(_) | First::Smallest => {
                let x = view.operands()[0];
                let sizes = r.func().ty(x).tensor().map(|t| t.sizes().to_vec()).unwrap_or_default();
                let places = TensorType::new(DType::S32, sizes);
                vec![x, r.value_before(call, Op::Iota { dim: self.dim }, Vec::new(), places)]
            }
        };
        let types: Vec<Type> = operands.iter().map(|v| r.func().ty(*v).clone()).collect();
        let scalar = |ty: &Type| match ty {
            Type::Tensor(t) => Type::Tensor(t.with_sizes([])),
            other => other.clone(),
        };
        // The comparator has two elements of each tensor in turn, as that of a sort.
        let body = r.new_region(|func, body| {
            let args: Vec<ValueId> = types
                .iter()
                .flat_map(|ty| [scalar(ty), scalar(ty)])
                .map(|ty| func.add_arg(body, ty))
                .collect();
            let before = Type::Tensor(TensorType::new(DType::Pred, []));
            let (op, args) = match self.first {
                First::Comparator(callee) | First::Indexed(callee) => (Op::Call { callee }, args),
                First::Smallest => (less(&types[0]), args[..2].to_vec()),
            };
            let compare = func.push(body, new(op, args), [before]);
            let before = func.inst(compare).results().to_vec();
            func.push(body, new(Op::Return, before), []);
        });
        let sort =
            new(Op::Sort { dim: self.dim, is_stable: true, part: None }, operands).with_regions([body]);
        let sort = r.insert_before(call, sort, types);
        let sorted = r.func().inst(sort).results().to_vec();
        let first: Vec<ValueId> = sorted
            .into_iter()
            .zip(wanted)
            .map(|(from, to)| {
                let dims = to.tensor().map(|t| t.sizes().to_vec()).unwrap_or_default();
                let slice = Slice { start: vec![0; dims.len()], strides: vec![1; dims.len()], limit: dims };
                r.value_before(call, Op::Slice(slice), vec![from], to)
            })
            .collect();
        r.replace(call, &first);
    }
}

/// The comparison of elements of a tensor by which smaller ones come first.
fn less(ty: &Type) -> Op {
    let is_float = ty.tensor().is_some_and(|t| t.dtype.is_float());
    Op::Compare(Compare { direction: Direction::Lt, kind: is_float.then_some(CompareKind::TotalOrder) })
}
