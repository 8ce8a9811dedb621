//! Collectives that devices compute by reading each other's memory, without the evaluator.

use farcall_ir::op::FormOp;
use farcall_ir::{Inst, Literal, Op, TensorType};
use farcall_kernels::{self as kernels, Request};
use farcall_plan::{Body, BodyInst, Combine, Compute};

use crate::body;
use crate::choices::{Choice, CombineChoice};

/// Maximum number of elements that the kernel of a reduction combines at once. The combined elements stay in
/// the first-level cache until the contributions of all devices have been added.
const MAX_COMBINED_ELEMENTS: usize = 2048;

/// Returns the choice for a collective; `None` if the evaluator has to compute it, because elements are
/// quantized or converted, roots are dynamic, or no kernel combines contributions.
pub(super) fn choose(inst: Inst<'_>, inputs: &[&TensorType], outputs: &[&TensorType]) -> Option<Choice> {
    let fits =
        |(x, y): (&&TensorType, &&TensorType)| x.quant.is_none() && y.quant.is_none() && x.dtype == y.dtype;
    if inputs.len() != outputs.len()
        || inst.operands().len() != inputs.len()
        || !inputs.iter().zip(outputs).all(fits)
    {
        return None;
    }
    match inst.op() {
        Op::AllGather(_) | Op::AllToAll(_) | Op::CollectivePermute(_) => Some(Choice::Collective(None)),
        Op::CollectiveBroadcast(op) if !op.dynamic_root => Some(Choice::Collective(None)),
        Op::AllReduce(_) => {
            let elements = outputs.iter().filter_map(|ty| ty.elements()).max()?;
            combining(inst, outputs, elements)
        }
        Op::ReduceScatter(op) => {
            // The elements of a part are contiguous from the scattered dimension on.
            let elements = outputs.first()?.sizes().get(op.dim..)?.iter().product();
            combining(inst, outputs, elements)
        }
        _ => None,
    }
}

/// Returns the choice for a reduction whose parts have runs of this number of elements.
fn combining(inst: Inst<'_>, outputs: &[&TensorType], elements: usize) -> Option<Choice> {
    let bodies = body::bodies(inst)?;
    let [body] = bodies.as_slice() else { return None };
    let dtype = outputs.first()?.dtype;
    let is_element = |ty: &TensorType| *ty == TensorType::scalar(dtype);
    let returns_element = body.returned.first().and_then(|value| body.ty(*value)).is_some_and(is_element);
    if outputs.iter().any(|ty| ty.dtype != dtype) || !body.args.iter().all(is_element) || !returns_element {
        return None;
    }
    let ty = TensorType::new(dtype, [elements.clamp(1, MAX_COMBINED_ELEMENTS)]);
    let (op, bodies) = match single(body) {
        Some(op) => (op, Vec::new()),
        None => (Op::Form(FormOp::Fusion), vec![on_tensors(body, &ty)?]),
    };
    let (inputs, outputs) = ([&ty, &ty], [&ty]);
    let request = Request { op: &op, bodies: &bodies, inputs: &inputs, outputs: &outputs, iotas: &[] };
    let (kernel, _) = kernels::find(&request)?;
    let combine = Combine { compute: Compute { kernel, op, bodies, scratch: false }, ty };
    let prepared = Some(combine.prepare()?);
    Some(Choice::Collective(Some(Box::new(CombineChoice { combine, prepared }))))
}

/// Returns a region that does with tensors of this shape what `body` does with elements; `None` if the region
/// has operations that are not elementwise.
fn on_tensors(body: &Body, shape: &TensorType) -> Option<Body> {
    let like = |ty: &TensorType| TensorType::new(ty.dtype, shape.sizes());
    let inst = |inst: &BodyInst| {
        let op = match &inst.op {
            Op::Constant(literal) => {
                Op::Constant(Literal::splat(literal.dtype(), shape.sizes(), literal.get(0)))
            }
            Op::Unary(_) | Op::Binary(_) | Op::Compare(_) | Op::Select | Op::Clamp | Op::Convert => {
                inst.op.clone()
            }
            _ => return None,
        };
        let is_scalar = inst.ty.rank() == 0 && inst.ty.quant.is_none() && inst.reducer.is_none();
        is_scalar.then(|| BodyInst { op, operands: inst.operands.clone(), ty: like(&inst.ty), reducer: None })
    };
    Some(Body {
        args: body.args.iter().map(like).collect(),
        insts: body.insts.iter().map(inst).collect::<Option<_>>()?,
        returned: body.returned.clone(),
    })
}

/// Returns the operation of a region that applies one binary operation to its arguments, in their order.
fn single(body: &Body) -> Option<Op> {
    let only = body.reducer()?;
    (matches!(only.op, Op::Binary(_)) && only.operands == [0, 1]).then(|| only.op.clone())
}
