//! The first elements of sorted tensors: `ApproxTopK` (computed exactly, although an approximation would do),
//! XLA's `TopK`, and `mhlo.topk` of the smallest elements.

use farcall_sig::DType;

use super::Replacement;
use crate::module::{FuncId, Inst, InstId, NewInst, Rewriter, ValueId};
use crate::op::{CallConfig, Compare, CompareKind, ComparisonDirection, CustomCall, Op, Slice};
use crate::types::{TensorType, Type};

/// A sort of which only the first elements are used.
pub(super) struct Sorted {
    dim: usize,
    order: Order,
}

/// The order of a sort.
enum Order {
    /// By this comparator.
    Comparator(FuncId),
    /// By this comparator, which compares elements of the only operand. Indices along the dimension are
    /// sorted with the elements.
    Indexed(FuncId),
    /// Ascending by the only operand; floats in total order. Indices along the dimension are sorted with the
    /// elements.
    Smallest,
}

/// Returns the replacement of a `TopK` or `ApproxTopK`. The second half of an `ApproxTopK`'s operands are
/// initial values, which are unused if there are enough elements.
pub(super) fn replacement(inst: Inst<'_>, call: &CustomCall) -> Option<Replacement> {
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
    all.then_some(Replacement::Sorted(Sorted { dim, order: Order::Comparator(*comparator) }))
}

/// Returns the replacement of XLA's `TopK`, which returns the first elements of each row (along the last
/// dimension) in the order of its comparator, with their indices.
fn top_k(inst: Inst<'_>, call: &CustomCall) -> Option<Replacement> {
    let [comparator] = call.called_computations.as_slice() else { return None };
    let k = *inst.func().ty(*inst.results().first()?).tensor()?.static_sizes()?.last()?;
    indexed(inst, k, Order::Indexed(*comparator))
}

/// Returns a sort for the `k` smallest elements of each row (along the last dimension), with their indices.
/// Results have the form of `chlo.top_k`, which returns the largest. Equal elements keep the order of the
/// operand.
pub(super) fn smallest(inst: Inst<'_>, k: usize) -> Option<Replacement> {
    indexed(inst, k, Order::Smallest)
}

/// Returns a sort for the first `k` elements of each row, with their indices. Returns `None` if the types of
/// the operand and the results do not fit.
fn indexed(inst: Inst<'_>, k: usize, order: Order) -> Option<Replacement> {
    let ty = |v: &ValueId| inst.func().ty(*v).tensor();
    let ([x], [values, places]) = (inst.operands(), inst.results()) else { return None };
    let (x, values, places) = (ty(x)?, ty(values)?, ty(places)?);
    let (length, outer) = x.static_sizes()?.split_last()?;
    let wanted = x.with_sizes([outer, &[k]].concat());
    let is_sorted = x.quant.is_none() && !x.dtype.is_complex() && k <= *length;
    let fits =
        is_sorted && *values == wanted && *places == TensorType::new(DType::S32, wanted.sizes().to_vec());
    fits.then_some(Replacement::Sorted(Sorted { dim: outer.len(), order }))
}

impl Sorted {
    /// Replaces the call by instructions that sort and slice.
    pub(super) fn apply(self, r: &mut Rewriter<'_>, call: InstId) {
        let view = r.func().inst(call);
        let (span, loc) = (view.span(), view.loc().cloned());
        let new = |op: Op, operands: Vec<ValueId>| NewInst::new(op, operands).at(span, loc.clone());
        let wanted: Vec<Type> = view.results().iter().map(|v| r.func().ty(*v).clone()).collect();
        let operands = match self.order {
            Order::Comparator(_) => view.operands()[..wanted.len()].to_vec(),
            Order::Indexed(_) | Order::Smallest => {
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
        // The arguments are two elements of each tensor in turn, as in the comparator of a sort.
        let body = r.new_region(|func, body| {
            let args: Vec<ValueId> = types
                .iter()
                .flat_map(|ty| [scalar(ty), scalar(ty)])
                .map(|ty| func.add_arg(body, ty))
                .collect();
            let before = Type::Tensor(TensorType::new(DType::Pred, []));
            let (op, args) = match self.order {
                Order::Comparator(callee) | Order::Indexed(callee) => (Op::Call { callee }, args),
                Order::Smallest => (less(&types[0]), args[..2].to_vec()),
            };
            let compare = func.push(body, new(op, args), [before]);
            let before = func.inst(compare).results().to_vec();
            func.push(body, new(Op::Return, before), []);
        });
        let sort = new(Op::Sort { dim: self.dim, is_stable: true }, operands).with_regions([body]);
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

/// The comparison that orders elements of a tensor ascending.
fn less(ty: &Type) -> Op {
    let is_float = ty.tensor().is_some_and(|t| t.dtype.is_float());
    Op::Compare(Compare {
        direction: ComparisonDirection::Lt,
        kind: is_float.then_some(CompareKind::TotalOrder),
    })
}
