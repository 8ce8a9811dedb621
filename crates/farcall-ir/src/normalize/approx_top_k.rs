//! `ApproxTopK`: the elements that come first, or at least most of them. Here, all of them.

use farcall_sig::DType;

use super::Meaning;
use crate::module::{FuncId, Inst, InstId, NewInst, Rewriter, ValueId};
use crate::op::{CallConfig, CustomCall, Op, Slice};
use crate::types::{TensorType, Type};

/// How tensors are sorted, before the first elements are taken.
pub(super) struct Sorted {
    dim: usize,
    /// The function that says which elements come first.
    comparator: FuncId,
}

/// As many operands as initial values, which are not needed where there are enough elements.
pub(super) fn meaning(inst: Inst<'_>, call: &CustomCall) -> Option<Meaning> {
    let func = inst.func();
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
    all.then_some(Meaning::Sorted(Sorted { dim, comparator: *comparator }))
}

impl Sorted {
    /// Makes the instructions that sort and take the first.
    pub(super) fn apply(self, r: &mut Rewriter<'_>, call: InstId) {
        let view = r.func().inst(call);
        let (span, loc) = (view.span(), view.loc().cloned());
        let new = |op: Op, operands: Vec<ValueId>| NewInst::new(op, operands).at(span, loc.clone());
        let operands = view.operands()[..view.results().len()].to_vec();
        let wanted: Vec<Type> = view.results().iter().map(|v| r.func().ty(*v).clone()).collect();
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
            let compare = func.push(body, new(Op::Call { callee: self.comparator }, args), [before]);
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
