//! Splits a `select_and_scatter` whose regions no kernel supports: a window reduction finds the index of the
//! element that each window selects, and a scatter combines the source with these elements.

use super::Values;
use crate::literal::Literal;
use crate::module::{Inst, InstId, NewInst, RegionId, Rewriter, ValueId, ValueMap};
use crate::op::{Binary, Compare, ComparisonDirection, Op, ReduceWindow, Scatter, SelectAndScatter, Unary};
use crate::scalar::Scalar;
use crate::types::{TensorType, Type};
use farcall_sig::DType;

/// Replaces a `select_and_scatter` by a window reduction and a scatter, and returns the reduction. Returns
/// `None` and changes nothing if elements would have to be converted, or if a tensor is quantized or has no
/// elements.
pub(super) fn take_apart(r: &mut Rewriter<'_>, id: InstId, s: &SelectAndScatter) -> Option<InstId> {
    let inst = r.func().inst(id);
    let ([x, source, init], [select, scatter]) = (inst.own_operands(), inst.region_ids()) else {
        return None;
    };
    let (x, source, init, select, scatter) = (*x, *source, *init, *select, *scatter);
    let captures = inst.captures().to_vec();
    let (ty, of_source) = (r.func().tensor(x)?.clone(), r.func().tensor(source)?.clone());
    let result = r.func().tensor(*inst.results().first()?)?;
    let of_init = r.func().tensor(init)?;
    let plain = [&ty, &of_source, of_init, result].iter().all(|t| t.quant.is_none());
    let of_args = |region: RegionId, dtype: DType| {
        let region = r.func().region(region);
        let args = region.own_args().iter().map(|v| r.func().tensor(*v));
        args.len() == 2 && args.flatten().filter(|t| t.dtype == dtype).count() == 2
    };
    let same =
        of_source.dtype == result.dtype && of_init.dtype == result.dtype && *result.sizes() == *ty.sizes();
    let (elements, updates) = (ty.elements()?, of_source.elements()?);
    let fits = of_args(select, ty.dtype) && of_args(scatter, result.dtype);
    if !plain || !same || !fits || elements == 0 || updates == 0 {
        return None;
    }
    let result = result.clone();
    // Indices of the elements; a negative index stands for no element.
    let index_ty =
        TensorType::new(if i32::try_from(elements).is_ok() { DType::S32 } else { DType::S64 }, [elements]);
    let number = r.value_before(id, Op::Iota { dim: 0 }, [], index_ty.clone());
    let number = r.value_before(id, Op::Reshape, [number], index_ty.with_sizes(ty.sizes()));
    let no_element = Literal::splat(ty.dtype, [], Scalar::zero(ty.dtype));
    let no_element = r.value_before(id, Op::Constant(no_element), [], ty.with_sizes([]));
    let no_index = Literal::splat(index_ty.dtype, [], Scalar::Signed(-1));
    let no_index = r.value_before(id, Op::Constant(no_index), [], index_ty.with_sizes([]));
    let selector = selector(r, id, select, [&ty, &index_ty]);
    let rank = ty.rank();
    let windows = ReduceWindow {
        window: s.window.clone(),
        strides: s.strides.clone(),
        base_dilations: vec![1; rank],
        window_dilations: vec![1; rank],
        padding: s.padding.clone(),
    };
    let found = apply(
        r,
        id,
        Op::ReduceWindow(windows.into()),
        [x, number, no_element, no_index],
        (selector, &captures),
        [of_source.with_dtype(ty.dtype), of_source.with_dtype(index_ty.dtype)],
    );
    let kept = r.func().inst(found).results()[1];
    let kept = r.value_before(id, Op::Reshape, [kept], index_ty.with_sizes([updates]));
    let source = r.value_before(id, Op::Reshape, [source], of_source.with_sizes([updates]));
    let flat = result.with_sizes([elements]);
    let init = r.value_before(id, Op::BroadcastInDim { dims: Vec::new() }, [init], flat.clone());
    let scattered = Scatter {
        update_window_dims: Vec::new(),
        inserted_window_dims: vec![0],
        input_batching_dims: Vec::new(),
        scatter_indices_batching_dims: Vec::new(),
        scatter_dims_to_operand_dims: vec![0],
        index_vector_dim: 1,
        indices_are_sorted: false,
        unique_indices: false,
    };
    let mut region = scatter;
    r.new_region(|func, _| region = func.clone_region(scatter, &mut ValueMap::default()));
    let scattered =
        apply(r, id, Op::Scatter(scattered.into()), [init, kept, source], (region, &captures), [flat]);
    let value = r.func().inst(scattered).results()[0];
    let value = r.value_before(id, Op::Reshape, [value], result);
    r.replace(id, &[value]);
    Some(found)
}

/// Adds an operation that applies a region. The operation goes before the instruction `id`.
fn apply<const N: usize>(
    r: &mut Rewriter<'_>,
    id: InstId,
    op: Op,
    operands: impl IntoIterator<Item = ValueId>,
    (region, captures): (RegionId, &[ValueId]),
    results: [TensorType; N],
) -> InstId {
    let inst = r.func().inst(id);
    let operands: Vec<ValueId> = operands.into_iter().chain(captures.iter().copied()).collect();
    let new = NewInst {
        captures: captures.len() as u32,
        ..NewInst::new(op, operands).with_regions([region]).at(inst.span(), inst.loc().cloned())
    };
    r.insert_before(id, new, results.map(Type::Tensor))
}

/// Builds the region that returns the element which `select` prefers, and its index. A negative index marks a
/// missing element.
fn selector(r: &mut Rewriter<'_>, id: InstId, select: RegionId, [x, index_ty]: [&TensorType; 2]) -> RegionId {
    let view = r.func().region(select);
    let (args, own) = (view.args().to_vec(), view.own_args().len());
    let insts: Vec<InstId> = view.insts().filter(|i| *i.op() != Op::Return).map(Inst::id).collect();
    let returned = view.returned().to_vec();
    let mut end = id;
    let mut given = Values::new();
    let mut captured = ValueMap::default();
    let region = r.new_region(|func, region| {
        for ty in [x, index_ty, x, index_ty] {
            given.push(func.add_arg(region, ty.with_sizes([]).into()));
        }
        for arg in &args[own..] {
            let ty = func.ty(*arg).clone();
            captured.insert(*arg, func.add_arg(region, ty));
        }
        end = func.push(region, NewInst::new(Op::Return, []), []);
    });
    let (element, number, pred) =
        (x.with_sizes([]), index_ty.with_sizes([]), TensorType::scalar(DType::Pred));
    let mut map = captured;
    map.extend([(args[0], given[0]), (args[1], given[2])]);
    for inst in insts {
        r.copy_before(inst, end, &mut map);
    }
    let keeps = returned.first().and_then(|v| map.get(v)).copied().unwrap_or(given[0]);
    let zero = Literal::splat(index_ty.dtype, [], Scalar::Signed(0));
    let zero = r.value_before(end, Op::Constant(zero), [], number.clone());
    let exists = Op::Compare(Compare { direction: ComparisonDirection::Ge, kind: None });
    let first = r.value_before(end, exists.clone(), [given[1], zero], pred.clone());
    let second = r.value_before(end, exists, [given[3], zero], pred.clone());
    let no_second = r.value_before(end, Op::Unary(Unary::Not), [second], pred.clone());
    let keeps = r.value_before(end, Op::Binary(Binary::Or), [no_second, keeps], pred.clone());
    let keeps = r.value_before(end, Op::Binary(Binary::And), [first, keeps], pred);
    let value = r.value_before(end, Op::Select, [keeps, given[0], given[2]], element);
    let place = r.value_before(end, Op::Select, [keeps, given[1], given[3]], number);
    r.set_operands(end, [value, place]);
    region
}
