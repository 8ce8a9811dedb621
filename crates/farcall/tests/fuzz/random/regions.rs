//! Operations that apply regions, control flow, and calls.

use farcall::ir::op::{
    Binary, Compare, CompareKind, ComparisonDirection, Composite, ReduceWindow, Scan, SelectAndScatter, Slice,
};
use farcall::ir::{AttrDict, DType, NewInst, Op, RegionId, TensorType, Type, ValueId};

use super::generate::{Callee, Gen, Meta, Need, is_float, largest_integer};
use super::ops::{comparison, draw, on_elements};

/// Adds an instruction of one of the kinds in this file.
pub(crate) fn any(g: &mut Gen) -> Option<()> {
    let nested: &[(usize, super::ops::Make)] = &[
        (4, reduce),
        (3, reduce_window),
        (2, select_and_scatter),
        (3, map),
        (2, scan),
        (3, sort),
        (4, choice),
        (6, repeat),
    ];
    let flat: &[(usize, super::ops::Make)] =
        &[(1, top_k), (4, call), (1, barrier), (1, tuple), (1, tokens), (1, future)];
    let nest = g.depth < 3 && g.r.below(30) < 24 - 6 * g.depth;
    let make = draw(g, if nest { nested } else { flat });
    make(g)
}

fn scalar(dtype: DType) -> Type {
    TensorType::scalar(dtype).into()
}

/// Chooses a value of type `ty` that a region can return: a computed value, an argument, or a constant.
fn returned(g: &mut Gen, ty: &TensorType, need: Need) -> ValueId {
    g.of(ty, need)
}

/// Makes a region that combines two elements. Also returns the properties of the result of combining `count`
/// elements, in any order.
pub(crate) fn reducer(g: &mut Gen, dtype: DType, known: [Meta; 2], count: usize) -> (RegionId, Meta) {
    use Binary as B;
    let open = g.r.one_in(4);
    let bound = known[0].bound.zip(known[1].bound).map(|(a, b)| a.max(b));
    if !is_float(dtype) && g.r.one_in(3) {
        let args = [(scalar(dtype), Meta::BITS), (scalar(dtype), Meta::BITS)];
        let region = g.region(&args, open, |g, _| {
            for _ in 0..1 + g.r.below(4) {
                on_elements(g);
            }
            vec![returned(g, &TensorType::scalar(dtype), Need::Exact)]
        });
        return (region, Meta::BITS);
    }
    let most = largest_integer(dtype);
    let sums = bound.and_then(|b| b.checked_mul(count as u64 + 1)).filter(|b| *b <= most);
    let mut choices = vec![];
    if dtype.is_bool() {
        choices.extend([B::And, B::Or, B::Xor, B::Add, B::Multiply, B::Maximum]);
    } else if !is_float(dtype) {
        choices.extend([B::Add, B::Multiply, B::Maximum, B::Minimum, B::And, B::Or, B::Xor, B::Subtract]);
    } else {
        choices.extend([B::Maximum, B::Minimum]);
        if sums.is_some() {
            choices.extend([B::Add; 4]);
        }
        if bound.is_some_and(|b| b <= 1) && !dtype.is_complex() {
            choices.push(B::Multiply);
        }
    }
    let op = g.r.pick(&choices);
    let meta = match op {
        B::Add => Meta::bounded(sums, dtype),
        _ if is_float(dtype) => Meta { exact: true, bound, bits: bound.is_some() },
        _ => Meta::BITS,
    };
    let args = [(scalar(dtype), Meta::EXACT), (scalar(dtype), Meta::EXACT)];
    let shape = g.r.below(8);
    let region = g.region(&args, open, |g, args| {
        let (a, b) = if shape == 0 { (args[1], args[0]) } else { (args[0], args[1]) };
        match shape {
            1 => vec![args[0]],
            2 => vec![args[1]],
            // The region also has an operation whose result is not used.
            3 => {
                on_elements(g);
                g.value(Op::Binary(op), &[a, b], Meta::EXACT).into_iter().collect()
            }
            _ => g.value(Op::Binary(op), &[a, b], Meta::EXACT).into_iter().collect(),
        }
    });
    (region, if shape == 1 || shape == 2 { known[0].or(known[1]) } else { meta })
}

/// Returns an initial value for a reduction.
fn init(g: &mut Gen, dtype: DType, with: Meta) -> ValueId {
    let need = if with.bound.is_some() { Need::Integers(1) } else { Need::Exact };
    g.scalar(dtype, need)
}

/// Returns an operand for a reduction: often small integers, so that sums are exact.
fn summand(g: &mut Gen, ranks: std::ops::RangeInclusive<usize>) -> ValueId {
    if g.r.one_in(2) {
        g.some(Need::Integers(64), |_| true, ranks)
    } else {
        g.some(Need::Exact, |_| true, ranks)
    }
}

fn reduce(g: &mut Gen) -> Option<()> {
    let x = summand(g, 0..=4);
    let ty = g.tensor(x);
    let dims: Vec<usize> = (0..ty.rank()).filter(|_| g.r.one_in(2)).collect();
    if g.r.one_in(4) {
        return reduce_pair(g, x, dims);
    }
    let start = init(g, ty.dtype, g.meta_of(x));
    let (body, meta) = reducer(g, ty.dtype, [g.meta_of(x), g.meta_of(start)], ty.elements()? + 1);
    let new = NewInst::new(Op::Reduce { dims }, [x, start]).with_regions([body]);
    g.emit(new, vec![scalar(ty.dtype)], &[meta]).map(drop)
}

/// Reduces two operands together: keeps the largest or smallest element of `x`, and the corresponding element
/// of the other operand.
fn reduce_pair(g: &mut Gen, x: ValueId, dims: Vec<usize>) -> Option<()> {
    let ty = g.tensor(x);
    let indices = ty.with_dtype(DType::S32);
    let y = g.of(&indices, Need::Exact);
    let (a, b) = (g.scalar(ty.dtype, Need::Exact), g.scalar(DType::S32, Need::Exact));
    let types = [scalar(ty.dtype), scalar(DType::S32), scalar(ty.dtype), scalar(DType::S32)];
    let args: Vec<(Type, Meta)> = types.iter().map(|t| (t.clone(), Meta::EXACT)).collect();
    let direction = g.r.pick(&[ComparisonDirection::Ge, ComparisonDirection::Lt, ComparisonDirection::Gt]);
    let meta = g.meta_of(x).or(g.meta_of(a));
    let body = g.region(&args, false, |g, args| {
        let op = Op::Compare(Compare { direction, kind: None });
        let chosen = g.value(op, &[args[0], args[2]], Meta::BITS);
        let mut choose = |a: usize, b: usize| {
            chosen.and_then(|p| g.value(Op::Select, &[p, args[a], args[b]], Meta::EXACT))
        };
        [choose(0, 2), choose(1, 3)].into_iter().flatten().collect()
    });
    let new = NewInst::new(Op::Reduce { dims }, [x, y, a, b]).with_regions([body]);
    g.emit(new, vec![scalar(ty.dtype), scalar(DType::S32)], &[meta, Meta::BITS]).map(drop)
}

fn reduce_window(g: &mut Gen) -> Option<()> {
    let x = summand(g, 0..=3);
    let ty = g.tensor(x);
    let mut each =
        |choices: &[usize]| -> Vec<usize> { ty.sizes().iter().map(|_| g.r.pick(choices)).collect() };
    let (window, strides) = (each(&[1, 2, 3]), each(&[1, 1, 2]));
    let (base_dilations, window_dilations) = (each(&[1, 1, 2]), each(&[1, 1, 2]));
    let padding = each(&[0, 0, 1, 2]).into_iter().zip(each(&[0, 1, 1, 3]));
    let padding: Vec<(i64, i64)> = padding.map(|(a, b)| (a as i64, b as i64 - 1)).collect();
    let start = init(g, ty.dtype, g.meta_of(x));
    let count = window.iter().product::<usize>() + 1;
    let (body, meta) = reducer(g, ty.dtype, [g.meta_of(x), g.meta_of(start)], count);
    let op = ReduceWindow { window, strides, base_dilations, window_dilations, padding };
    let new = NewInst::new(Op::ReduceWindow(Box::new(op)), [x, start]).with_regions([body]);
    let known = g.meta_of(x).or(g.meta_of(start)).or(meta);
    g.emit(new, vec![scalar(ty.dtype)], &[known]).map(drop)
}

fn select_and_scatter(g: &mut Gen) -> Option<()> {
    let x = g.some(Need::Exact, |d| !d.is_complex(), 1..=3);
    let ty = g.tensor(x);
    let window: Vec<usize> = ty.sizes().iter().map(|_| g.r.pick(&[1, 2, 3])).collect();
    let strides: Vec<usize> = ty.sizes().iter().map(|_| g.r.pick(&[1, 2])).collect();
    let windows =
        |d: usize| if ty.sizes()[d] < window[d] { 0 } else { (ty.sizes()[d] - window[d]) / strides[d] + 1 };
    let dims: Vec<usize> = (0..ty.rank()).map(windows).collect();
    let need = if g.r.one_in(2) { Need::Exact } else { Need::Integers(8) };
    let source = g.of(&ty.with_sizes(dims), need);
    let start = init(g, ty.dtype, g.meta_of(source));
    let padding = vec![(0, 0); ty.rank()];
    let args = [(scalar(ty.dtype), Meta::EXACT), (scalar(ty.dtype), Meta::EXACT)];
    let mut failed = false;
    let select = g.region(&args, false, |g, args| {
        let p = comparison(g, [args[0], args[1]], false);
        failed = p.is_none();
        p.into_iter().collect()
    });
    let count = g.tensor(source).elements()? + 1;
    let (body, meta) = reducer(g, ty.dtype, [g.meta_of(source), g.meta_of(start)], count);
    let op = Op::SelectAndScatter(SelectAndScatter { window, strides, padding });
    let new = NewInst::new(op, [x, source, start]).with_regions([select, body]);
    let known = meta.or(g.meta_of(start));
    g.emit(new, vec![ty.into()], &[known]).map(drop)
}

fn map(g: &mut Gen) -> Option<()> {
    let x = g.some(Need::Exact, |_| true, 0..=4);
    let ty = g.tensor(x);
    let mut inputs = vec![x];
    for _ in 0..g.r.below(3) {
        let other = ty.with_dtype(g.dtype());
        inputs.push(g.of(&other, Need::Exact));
    }
    let args: Vec<(Type, Meta)> =
        inputs.iter().map(|v| (scalar(g.tensor(*v).dtype), g.meta_of(*v))).collect();
    let open = g.r.one_in(3);
    let mut known = (Meta::EXACT, ty.dtype);
    let body = g.region(&args, open, |g, args| {
        for _ in 0..1 + g.r.below(4) {
            on_elements(g);
        }
        let y = g.find(|t, m| t.rank() == 0 && m.exact).unwrap_or(args[0]);
        known = (g.meta_of(y), g.tensor(y).dtype);
        vec![y]
    });
    let new = NewInst::new(Op::Map { dims: (0..ty.rank()).collect() }, inputs).with_regions([body]);
    g.emit(new, vec![ty.with_dtype(known.1).into()], &[known.0]).map(drop)
}

fn scan(g: &mut Gen) -> Option<()> {
    let x = g.some(Need::Exact, |_| true, 1..=3);
    let ty = g.tensor(x);
    let dim = g.r.below(ty.rank());
    let mut dims = ty.sizes().to_vec();
    let size = dims.remove(dim);
    if size > 20 {
        return None;
    }
    let slice = ty.with_sizes(dims);
    let carry = if g.r.one_in(2) { slice.clone() } else { TensorType::scalar(DType::S32) };
    let start = g.of(&carry, Need::Exact);
    let args = [(slice.clone().into(), Meta::EXACT), (carry.clone().into(), Meta::EXACT)];
    let body = g.region(&args, false, |g, _| {
        let steps = 1 + g.r.below(3);
        g.steps(steps);
        let (out, next) = (returned(g, &slice, Need::Exact), returned(g, &carry, Need::Exact));
        vec![out, next]
    });
    let op = Scan {
        dim,
        size: if g.r.one_in(2) { Some(size) } else { None },
        is_reverse: g.r.one_in(2),
        is_associative: None,
        inputs: 1,
        carries: 1,
        outputs: 1,
    };
    let new = NewInst::new(Op::Scan(op), [x, start]).with_regions([body]);
    g.emit(new, vec![ty.into(), carry.into()], &[Meta::EXACT]).map(drop)
}

fn sort(g: &mut Gen) -> Option<()> {
    let x = g.some(Need::Bits, |d| !d.is_complex(), 1..=3);
    let ty = g.tensor(x);
    let mut inputs = vec![x];
    for _ in 0..g.r.below(3) {
        let other = ty.with_dtype(g.dtype());
        inputs.push(g.of(&other, Need::Bits));
    }
    let types: Vec<DType> = inputs.iter().map(|v| g.tensor(*v).dtype).collect();
    let args: Vec<(Type, Meta)> =
        types.iter().flat_map(|d| [*d, *d]).map(|d| (scalar(d), Meta::BITS)).collect();
    let key = g.r.below(inputs.len());
    let mut valid = !types[key].is_complex();
    let direction = g.r.pick(&[ComparisonDirection::Lt, ComparisonDirection::Gt]);
    let second = if inputs.len() > 1 && g.r.one_in(2) { Some((key + 1) % inputs.len()) } else { None };
    let second = second.filter(|k| !types[*k].is_complex());
    let body = g.region(&args, false, |g, args| {
        let all = in_order(g, args, &types, (key, direction), second);
        valid &= all.is_some();
        all.into_iter().collect()
    });
    if !valid {
        return None;
    }
    let metas: Vec<Meta> = inputs.iter().map(|v| g.meta_of(*v)).collect();
    let result_types = inputs.iter().map(|v| g.tensor(*v).into()).collect();
    let op = Op::Sort { dim: g.r.below(ty.rank()), is_stable: g.r.one_in(2) };
    let dim = if let Op::Sort { dim, .. } = op { dim } else { 0 };
    let sorted = g.emit(NewInst::new(op, inputs).with_regions([body]), result_types, &metas)?;
    // Slice the results, so that only some elements of each sorted line are used.
    let length = ty.sizes()[dim];
    if length > 0 && g.r.one_in(2) {
        let count = 1 + g.r.below(length.div_ceil(8));
        let between = g.r.below(length - count + 1);
        let begin = g.r.pick(&[0, length - count, between]);
        for (value, meta) in sorted.into_iter().zip(metas) {
            let (mut start, mut limit) = (vec![0; ty.rank()], ty.sizes().to_vec());
            (start[dim], limit[dim]) = (begin, begin + count);
            let strides = vec![1; ty.rank()];
            let to =
                g.tensor(value).with_sizes(limit.iter().zip(&start).map(|(l, s)| l - s).collect::<Vec<_>>());
            g.value_of(Op::Slice(Slice { start, limit, strides }), &[value], &to, meta)?;
        }
    }
    Some(())
}

/// Builds the comparator of a sort. The comparator compares the elements of the operand `key`, and if these
/// are equal, the elements of the operand `second`, if any.
fn in_order(
    g: &mut Gen,
    args: &[ValueId],
    types: &[DType],
    (key, direction): (usize, ComparisonDirection),
    second: Option<usize>,
) -> Option<ValueId> {
    let ordered = |g: &mut Gen, k: usize, direction| {
        let kind = types[k].is_float().then_some(CompareKind::TotalOrder);
        g.value(Op::Compare(Compare { direction, kind }), &[args[2 * k], args[2 * k + 1]], Meta::BITS)
    };
    let first = ordered(g, key, direction)?;
    let Some(then) = second else { return Some(first) };
    let (same, then) =
        (ordered(g, key, ComparisonDirection::Eq)?, ordered(g, then, ComparisonDirection::Lt)?);
    let both = g.value(Op::Binary(Binary::And), &[same, then], Meta::BITS)?;
    g.value(Op::Binary(Binary::Or), &[first, both], Meta::BITS)
}

fn top_k(g: &mut Gen) -> Option<()> {
    let x = g.some(Need::Bits, |d| !d.is_complex() && !d.is_bool(), 1..=3);
    let ty = g.tensor(x);
    let k = g.r.below(ty.sizes()[ty.rank() - 1] + 1);
    let types = vec![ty.clone().into(), ty.with_dtype(DType::S32).into()];
    g.emit(NewInst::new(Op::TopK { k }, [x]), types, &[g.meta_of(x), Meta::BITS]).map(drop)
}

// --- control

/// Adds `if` or `case`, at times with a constant index.
fn choice(g: &mut Gen) -> Option<()> {
    let (op, index, branches) = if g.r.one_in(2) {
        (Op::If, g.scalar(DType::Pred, Need::Exact), 2)
    } else {
        (Op::Case, g.scalar(DType::S32, Need::Exact), 1 + g.r.below(3))
    };
    let count = g.r.below(3) + 1;
    let types: Vec<TensorType> = (0..count)
        .map(|_| match g.find(|_, m| m.exact) {
            Some(there) => g.tensor(there),
            None => g.ty(),
        })
        .collect();
    let mut metas: Vec<Option<Meta>> = vec![None; types.len()];
    let mut regions = Vec::new();
    for _ in 0..branches {
        let types = &types;
        let known = &mut metas;
        regions.push(g.region(&[], true, |g, _| {
            let steps = g.r.below(4);
            g.steps(steps);
            let values: Vec<ValueId> = types.iter().map(|t| returned(g, t, Need::Anything)).collect();
            for (meta, value) in known.iter_mut().zip(&values) {
                let new = g.meta_of(*value);
                *meta = Some(meta.map_or(new, |old| old.or(new)));
            }
            values
        }));
    }
    let metas: Vec<Meta> = metas.into_iter().flatten().collect();
    let declared = types.into_iter().map(Type::from).collect();
    g.emit(NewInst::new(op, [index]).with_regions(regions), declared, &metas).map(drop)
}

/// Adds a loop with few iterations. Its carried values include a counter.
fn repeat(g: &mut Gen) -> Option<()> {
    let dtype = g.r.pick(&[DType::S32, DType::S32, DType::S64, DType::U8, DType::S8]);
    let from = g.numbers(dtype, vec![], &[0]);
    let limit = loop_limit(g, dtype)?;
    let captured = g.r.one_in(2);
    let times = g.r.below(5) as i64;
    let mut inits = Vec::new();
    for _ in 0..g.r.below(4) {
        let ty = match g.find(|_, m| m.exact) {
            Some(v) if !g.r.one_in(4) => g.tensor(v),
            _ => g.ty(),
        };
        inits.push(g.of(&ty, Need::Exact));
    }
    let place = g.r.below(inits.len() + 1);
    inits.insert(place, from);
    let types: Vec<TensorType> = inits.iter().map(|v| g.tensor(*v)).collect();
    let args: Vec<(Type, Meta)> = types.iter().map(|t| (t.clone().into(), Meta::EXACT)).collect();
    let mut failed = false;
    let cond = g.region(&args, true, |g, args| {
        let limit = if captured { limit } else { g.numbers(dtype, vec![], &[times]) };
        let op = Op::Compare(Compare { direction: ComparisonDirection::Lt, kind: None });
        let mut goes = g.value(op, &[args[place], limit], Meta::BITS);
        if g.r.one_in(5) {
            let steps = 1 + g.r.below(2);
            g.steps(steps);
            let other = g.scalar(DType::Pred, Need::Exact);
            goes = goes.and_then(|p| g.value(Op::Binary(Binary::And), &[p, other], Meta::BITS));
        }
        failed |= goes.is_none();
        goes.into_iter().collect()
    });
    let body = g.region(&args, true, |g, args| {
        let steps = g.r.below(6);
        g.steps(steps);
        let one = g.numbers(dtype, vec![], &[1]);
        let next = g.value(Op::Binary(Binary::Add), &[args[place], one], Meta::BITS);
        failed |= next.is_none();
        let mut values = Vec::new();
        for (i, ty) in types.iter().enumerate() {
            values.push(match next {
                Some(next) if i == place => next,
                _ if g.r.one_in(5) => args[i],
                _ => returned(g, ty, Need::Exact),
            });
        }
        values
    });
    if failed {
        return None;
    }
    let declared = types.iter().map(|t| t.clone().into()).collect();
    let new = NewInst::new(Op::While, inits).with_regions([cond, body]);
    g.emit(new, declared, &[Meta::EXACT]).map(drop)
}

/// Returns a number up to 4 that is known only at run time.
fn loop_limit(g: &mut Gen, dtype: DType) -> Option<ValueId> {
    let n = g.scalar(dtype, Need::Exact);
    let most = g.numbers(dtype, vec![], &[4]);
    g.value(Op::Binary(Binary::Minimum), &[n, most], Meta::BITS)
}

fn call(g: &mut Gen) -> Option<()> {
    if g.callees.is_empty() {
        return None;
    }
    let i = g.r.below(g.callees.len());
    let Callee { id, params, results, types } = g.callees[i].clone();
    let operands: Vec<ValueId> = params.iter().map(|t| g.of(t, Need::Exact)).collect();
    let op = if g.r.one_in(3) {
        Op::Composite(Box::new(Composite {
            name: "fuzz.part".to_owned(),
            attrs: AttrDict::new(),
            decomposition: id,
            version: 0,
        }))
    } else {
        Op::Call { callee: id }
    };
    g.emit(NewInst::new(op, operands), types, &results).map(drop)
}

fn barrier(g: &mut Gen) -> Option<()> {
    let mut values = Vec::new();
    for _ in 0..1 + g.r.below(3) {
        values.push(g.some(Need::Anything, |_| true, 0..=4));
    }
    let metas: Vec<Meta> = values.iter().map(|v| g.meta_of(*v)).collect();
    let types = values.iter().map(|v| g.tensor(*v).into()).collect();
    g.emit(NewInst::new(Op::OptimizationBarrier, values), types, &metas).map(drop)
}

fn tuple(g: &mut Gen) -> Option<()> {
    let values = [g.some(Need::Anything, |_| true, 0..=4), g.some(Need::Anything, |_| true, 0..=4)];
    let metas = values.map(|v| g.meta_of(v));
    let mut tuple = g.value(Op::Tuple, &values, Meta::FUZZY)?;
    let nested = g.r.one_in(3);
    if nested {
        tuple = g.value(Op::Tuple, &[tuple, values[0]], Meta::FUZZY)?;
        tuple = g.value(Op::GetTupleElement { index: 0 }, &[tuple], Meta::FUZZY)?;
    }
    if g.r.one_in(3) {
        tuple = g.value(Op::OptimizationBarrier, &[tuple], Meta::FUZZY)?;
    }
    let index = g.r.below(2);
    g.value(Op::GetTupleElement { index }, &[tuple], metas[index]).map(drop)
}

fn tokens(g: &mut Gen) -> Option<()> {
    let a = g.value(Op::CreateToken, &[], Meta::FUZZY)?;
    let b = g.value(Op::AfterAll, &[a, a], Meta::FUZZY)?;
    let x = g.some(Need::Anything, |_| true, 0..=4);
    let types = vec![Type::Token, g.tensor(x).into()];
    let metas = [Meta::FUZZY, g.meta_of(x)];
    g.emit(NewInst::new(Op::OptimizationBarrier, [b, x]), types, &metas).map(drop)
}

/// Adds an asynchronous slice, which may run concurrently with other instructions.
fn future(g: &mut Gen) -> Option<()> {
    let x = g.some(Need::Anything, |_| true, 1..=3);
    let (ty, meta) = (g.tensor(x), g.meta_of(x));
    let limit: Vec<usize> = ty.sizes().iter().map(|n| g.r.below(n + 1)).collect();
    let slice = Slice { start: vec![0; ty.rank()], limit, strides: vec![1; ty.rank()] };
    let mut result = None;
    let region = g.region(&[(ty.clone().into(), meta)], false, |g, args| {
        let y = g.value(Op::Slice(slice), args, meta);
        result = y.map(|y| g.tensor(y));
        y.into_iter().collect()
    });
    let future = Type::Future([Type::from(result?)].into());
    let start =
        g.emit(NewInst::new(Op::AsyncStart, [x]).with_regions([region]), vec![future], &[Meta::FUZZY])?;
    g.emit(NewInst::new(Op::AsyncDone, start), vec![], &[meta]).map(drop)
}
