//! `chlo.scan` as a loop.

use farcall_sig::DType;

use super::builder::Builder;
use crate::module::{Func, Inst, InstId, NewInst, RegionId, ValueId, ValueMap};
use crate::op::{Binary, ComparisonDirection, Op, Scan};
use crate::types::{TensorType, Type};

/// Inserts an equivalent loop before a scan, and returns the values of the scan's results. The arguments of
/// the scan's region are mapped to their new values in `replaced`. Returns `None` unless all types are static
/// tensors without quantization on which operands, results and region agree.
pub(super) fn expand(func: &mut Func, scan: InstId, replaced: &mut ValueMap) -> Option<Vec<ValueId>> {
    let view = func.inst(scan);
    let shape = LoopTypes::of(view)?;
    let body = view.region_ids().first().copied()?;
    let (span, loc, attrs) = (view.span(), view.loc().cloned(), view.attrs().clone());
    let (inputs, inits) = view.own_operands().split_at(shape.op.inputs);
    // The inputs and the captured values of the region do not change between iterations.
    let (inits, captured) = (inits.to_vec(), [inputs, view.captures()].concat());

    let mut b = Builder::before(func, scan);
    if shape.size == 0 {
        let empty: Vec<ValueId> = shape.outputs.iter().map(|ty| b.splat(0.0, ty.dtype, ty.sizes())).collect();
        return Some([empty, inits].concat());
    }
    // The loop's state: the counter, the carried values, and the outputs so far.
    let mut state = vec![b.splat(0.0, DType::S64, &[])];
    state.extend(inits);
    for ty in &shape.outputs {
        state.push(b.splat(0.0, ty.dtype, ty.sizes()));
    }
    let types: Vec<Type> = state.iter().chain(&captured).map(|v| func.ty(*v).clone()).collect();
    let region = |func: &mut Func| {
        let region = func.new_region();
        let args: Vec<ValueId> = types.iter().map(|ty| func.add_arg(region, ty.clone())).collect();
        (region, args)
    };
    let (condition, before) = region(func);
    let (step, during) = region(func);
    fill_condition(func, scan, condition, shape.size, before[0]);
    fill_step(func, scan, &shape, body, (step, &during, state.len()), replaced);

    let captures = u32::try_from(captured.len()).ok()?;
    let results = types[..state.len()].to_vec();
    state.extend(captured);
    let made = NewInst {
        op: Op::While,
        operands: state.into(),
        regions: vec![condition, step],
        captures,
        attrs,
        span,
        loc,
    };
    let made = func.new_inst(made, results);
    func.insert_before(made, scan);
    let (carries, outputs) = func.inst(made).results()[1..].split_at(shape.op.carries);
    Some([outputs, carries].concat())
}

/// The operation and the types of a scan that can become a loop.
struct LoopTypes {
    op: Scan,
    size: usize,
    inputs: Vec<TensorType>,
    outputs: Vec<TensorType>,
}

impl LoopTypes {
    fn of(inst: Inst<'_>) -> Option<LoopTypes> {
        let (Op::Scan(op), Some(body)) = (inst.op(), inst.region(0)) else { return None };
        let func = inst.func();
        let plain = |ids: &[ValueId]| -> Option<Vec<TensorType>> {
            let known =
                |id: &ValueId| func.tensor(*id).filter(|t| t.is_static() && t.quant.is_none()).cloned();
            ids.iter().map(known).collect()
        };
        let operands = plain(inst.own_operands())?;
        let (inputs, inits) = operands.split_at_checked(op.inputs)?;
        let results = plain(inst.results())?;
        let (outputs, carries) = results.split_at_checked(op.outputs)?;
        let size = inputs.first().map_or(op.size, |t| t.sizes().get(op.dim).copied())?;
        let returned = plain(body.returned())?;
        let slice = |t: &TensorType| sliced(t, op.dim, None);
        let takes: Vec<TensorType> = inputs.iter().map(slice).chain(inits.iter().cloned()).collect();
        let gives: Vec<TensorType> = outputs.iter().map(slice).chain(carries.iter().cloned()).collect();
        let agree = plain(body.own_args())? == takes && returned == gives && inits == carries;
        agree.then(|| LoopTypes { op: op.clone(), size, inputs: inputs.to_vec(), outputs: outputs.to_vec() })
    }
}

/// The type of a slice along `dim`. This dimension gets the given size, or is removed if no size is given.
fn sliced(ty: &TensorType, dim: usize, size: Option<usize>) -> TensorType {
    let mut dims = ty.sizes().to_vec();
    if dim < dims.len() {
        dims.splice(dim..=dim, size);
    }
    ty.with_sizes(dims)
}

fn fill_condition(func: &mut Func, scan: InstId, to: RegionId, size: usize, counter: ValueId) {
    let mut b = Builder::inside(func, to, scan);
    let size = b.splat(size as f64, DType::S64, &[]);
    let goes_on = b.is(ComparisonDirection::Lt, counter, size);
    b.finish(vec![goes_on]);
}

/// Fills the region `to`. Its arguments `args` are the loop's state (`state` values: the counter, the carried
/// values and the outputs), then the inputs, then the captured values of the scan's region.
fn fill_step(
    func: &mut Func,
    scan: InstId,
    shape: &LoopTypes,
    body: RegionId,
    (to, args, state): (RegionId, &[ValueId], usize),
    replaced: &mut ValueMap,
) {
    let (carried, outputs) = args[1..state].split_at(shape.op.carries);
    let (inputs, captured) = args[state..].split_at(shape.inputs.len());
    let counter = args[0];
    let mut b = Builder::inside(func, to, scan);
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
    let mut inner_args = Vec::new();
    for (input, ty) in inputs.iter().zip(&shape.inputs) {
        let one = sliced(ty, shape.op.dim, Some(1));
        let operands: Vec<ValueId> = [*input].into_iter().chain(starts(ty.rank())).collect();
        let slice = b.emit(Op::DynamicSlice { sizes: one.sizes().to_vec() }, &operands, one);
        inner_args.push(b.reshape(slice, sliced(ty, shape.op.dim, None).sizes()));
    }
    inner_args.extend(carried);
    inner_args.extend(captured);
    // The region's instructions follow, with the computed values as arguments.
    let view = func.region(body);
    let map: ValueMap = view.args().iter().copied().zip(inner_args).collect();
    let returned: Vec<ValueId> = view.returned().iter().map(|v| map.get(v).copied().unwrap_or(*v)).collect();
    replaced.extend(map);
    func.splice(body, to);

    let mut b = Builder::inside(func, to, scan);
    let one = number(&mut b, 1.0);
    let mut next = vec![add(&mut b, Binary::Add, counter, one)];
    let (slices, carries) = returned.split_at(shape.op.outputs);
    next.extend(carries);
    for ((output, slice), ty) in outputs.iter().zip(slices).zip(&shape.outputs) {
        let slice = b.reshape(*slice, sliced(ty, shape.op.dim, Some(1)).sizes());
        let operands: Vec<ValueId> = [*output, slice].into_iter().chain(starts(ty.rank())).collect();
        next.push(b.emit(Op::DynamicUpdateSlice, &operands, ty.clone()));
    }
    b.finish(next);
}
