//! `chlo.scan`, as a loop.

use farcall_sig::DType;

use super::builder::{Builder, inst};
use crate::module::{Func, Inst, Region, ValueId};
use crate::op::{Binary, Direction, Op, Scan};
use crate::types::{TensorType, Type};

/// Puts a loop into `out` that does what a scan does. Gives the instruction back if it is no scan of tensors
/// whose types are known and agree.
pub(super) fn expand(func: &mut Func, mut scan: Inst, out: &mut Vec<Inst>) -> Result<(), Box<Inst>> {
    let Some(shape) = Shape::of(func, &scan) else { return Err(Box::new(scan)) };
    let Some(body) = scan.regions.pop() else { return Err(Box::new(scan)) };
    let (inputs, inits) = scan.operands.split_at(shape.op.inputs);
    let (outputs, carries) = scan.results.split_at(shape.op.outputs);

    // The counter, what is carried, the outputs so far.
    let mut b = Builder::new(func, out, &scan);
    let mut state = vec![b.splat(0.0, DType::S64, &[])];
    state.extend(inits);
    for ty in &shape.outputs {
        state.push(b.splat(0.0, ty.dtype, &ty.dims));
    }
    let args = |func: &mut Func| -> Vec<ValueId> {
        state
            .iter()
            .map(|v| func[*v].clone())
            .collect::<Vec<_>>()
            .into_iter()
            .map(|ty| func.new_value(ty))
            .collect()
    };
    let (before, during) = (args(func), args(func));
    let condition = condition(func, &scan, shape.size, before);
    let step = step(func, &scan, &shape, inputs, body, during);

    let counter = func.new_value(Type::Tensor(TensorType::scalar(DType::S64)));
    let results = [&[counter], carries, outputs].concat();
    let mut made = inst(Op::While, state, results, &scan);
    made.regions = vec![condition, step];
    made.attrs = std::mem::take(&mut scan.attrs);
    out.push(made);
    Ok(())
}

/// What is known of a scan that can be a loop.
struct Shape {
    op: Scan,
    size: usize,
    inputs: Vec<TensorType>,
    outputs: Vec<TensorType>,
}

impl Shape {
    fn of(func: &Func, inst: &Inst) -> Option<Shape> {
        let (Op::Scan(op), [body]) = (&inst.op, inst.regions.as_slice()) else { return None };
        let plain = |ids: &[ValueId]| -> Option<Vec<TensorType>> {
            let known =
                |id: &ValueId| func.tensor(*id).filter(|t| t.is_static() && t.quant.is_none()).cloned();
            ids.iter().map(known).collect()
        };
        let operands = plain(&inst.operands)?;
        let (inputs, inits) = operands.split_at_checked(op.inputs)?;
        let results = plain(&inst.results)?;
        let (outputs, carries) = results.split_at_checked(op.outputs)?;
        let size = inputs.first().map_or(op.size, |t| t.dims.get(op.dim).copied())?;
        let returned = plain(body.returned())?;
        let slice = |t: &TensorType| sliced(t, op.dim, None);
        let takes: Vec<TensorType> = inputs.iter().map(slice).chain(inits.iter().cloned()).collect();
        let gives: Vec<TensorType> = outputs.iter().map(slice).chain(carries.iter().cloned()).collect();
        let agree = plain(&body.args)? == takes && returned == gives && inits == carries;
        agree.then(|| Shape { op: op.clone(), size, inputs: inputs.to_vec(), outputs: outputs.to_vec() })
    }
}

/// The type of a slice along a dimension, which goes or has another size.
fn sliced(ty: &TensorType, dim: usize, size: Option<usize>) -> TensorType {
    let mut dims = ty.dims.to_vec();
    if dim < dims.len() {
        dims.splice(dim..=dim, size);
    }
    ty.with_dims(dims)
}

fn condition(func: &mut Func, at: &Inst, size: usize, args: Vec<ValueId>) -> Region {
    let mut insts = Vec::new();
    let mut b = Builder::new(func, &mut insts, at);
    let size = b.splat(size as f64, DType::S64, &[]);
    let goes_on = b.is(Direction::Lt, args[0], size);
    insts.push(inst(Op::Return, vec![goes_on], Vec::new(), at));
    Region { args, insts }
}

fn step(
    func: &mut Func,
    at: &Inst,
    shape: &Shape,
    inputs: &[ValueId],
    body: Region,
    args: Vec<ValueId>,
) -> Region {
    let (counter, rest) = (args[0], &args[1..]);
    let (carried, outputs) = rest.split_at(shape.op.carries);
    let mut insts = Vec::new();
    let mut b = Builder::new(func, &mut insts, at);
    let number = |b: &mut Builder<'_>, n: f64| b.splat(n, DType::S64, &[]);
    let add = |b: &mut Builder<'_>, op, a, c| b.emit(Op::Binary(op), &[a, c], TensorType::scalar(DType::S64));
    let index = if shape.op.is_reverse {
        let last = number(&mut b, shape.size as f64 - 1.0);
        add(&mut b, Binary::Subtract, last, counter)
    } else {
        counter
    };
    let zero = number(&mut b, 0.0);
    let starts = |rank: usize| (0..rank).map(move |d| if d == shape.op.dim { index } else { zero });
    let mut given = Vec::new();
    for (input, ty) in inputs.iter().zip(&shape.inputs) {
        let one = sliced(ty, shape.op.dim, Some(1));
        let operands: Vec<ValueId> = [*input].into_iter().chain(starts(ty.rank())).collect();
        let slice = b.emit(Op::DynamicSlice { sizes: one.dims.to_vec() }, &operands, one);
        given.push(b.reshape(slice, &sliced(ty, shape.op.dim, None).dims));
    }
    given.extend(carried);
    let returned = body.returned().to_vec();
    // The region's own values are those that were computed.
    insts.push(inst(Op::OptimizationBarrier, given, body.args, at));
    let inner = body.insts.len().saturating_sub(1);
    insts.extend(body.insts.into_iter().take(inner));
    let mut b = Builder::new(func, &mut insts, at);
    let one = number(&mut b, 1.0);
    let mut state = vec![add(&mut b, Binary::Add, counter, one)];
    let (slices, carries) = returned.split_at(shape.op.outputs);
    state.extend(carries);
    for ((output, slice), ty) in outputs.iter().zip(slices).zip(&shape.outputs) {
        let slice = b.reshape(*slice, &sliced(ty, shape.op.dim, Some(1)).dims);
        let operands: Vec<ValueId> = [*output, slice].into_iter().chain(starts(ty.rank())).collect();
        state.push(b.emit(Op::DynamicUpdateSlice, &operands, ty.clone()));
    }
    insts.push(inst(Op::Return, state, Vec::new(), at));
    Region { args, insts }
}
