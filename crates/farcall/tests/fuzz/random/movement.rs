//! Constants, data movement, and dynamic indices.

use farcall::ir::op::{Binary, Compare, ComparisonDirection, Gather, Pad, Scatter, Slice};
use farcall::ir::{DType, NewInst, Op, TensorType, ValueId};

use super::generate::{Gen, Meta, Need};
use super::ops::draw;
use super::regions;

/// Adds an instruction of one of the kinds in this file.
pub(crate) fn any(g: &mut Gen) -> Option<()> {
    let make = draw(
        g,
        &[
            (2, constant),
            (2, iota),
            (4, broadcast),
            (4, reshape),
            (4, transpose),
            (5, slice),
            (4, concatenate),
            (3, pad),
            (3, reverse),
            (1, size),
            (4, dynamic_slice),
            (4, dynamic_update_slice),
            (1, real_dynamic_slice),
            (3, gather),
            (2, take),
            (3, scatter),
        ],
    );
    make(g)
}

fn tensor(g: &mut Gen, ranks: std::ops::RangeInclusive<usize>) -> ValueId {
    g.some(Need::Anything, |_| true, ranks)
}

/// Adds a list of sizes as a constant operand.
fn sizes(g: &mut Gen, list: &[usize]) -> ValueId {
    let numbers: Vec<i64> = list.iter().map(|n| *n as i64).collect();
    let dtype = g.r.pick(&[DType::S32, DType::S64]);
    g.numbers(dtype, vec![list.len()], &numbers)
}

fn constant(g: &mut Gen) -> Option<()> {
    let ty = g.ty();
    g.constant(&ty, Need::Exact);
    Some(())
}

fn iota(g: &mut Gen) -> Option<()> {
    let ty = g.ty();
    if ty.rank() == 0 {
        return None;
    }
    let dim = g.r.below(ty.rank());
    if g.r.one_in(3) {
        let shape = sizes(g, ty.sizes());
        return g.value_of(Op::DynamicIota { dim }, &[shape], &ty, Meta::EXACT).map(drop);
    }
    g.value_of(Op::Iota { dim }, &[], &ty, Meta::EXACT).map(drop)
}

fn broadcast(g: &mut Gen) -> Option<()> {
    let x = tensor(g, 0..=3);
    let (meta, from) = (g.meta_of(x), g.tensor(x));
    let rank = from.rank() + g.r.below(5 - from.rank());
    // The dimensions of the result that correspond to the operand's dimensions.
    let mut order: Vec<usize> = (0..rank).collect();
    for i in 0..rank {
        let j = g.r.below(rank);
        order.swap(i, j);
    }
    let mut dims = order[..from.rank()].to_vec();
    if !g.r.one_in(4) {
        dims.sort_unstable();
    }
    let mut shape: Vec<usize> = (0..rank).map(|_| g.size()).collect();
    for (i, d) in dims.iter().enumerate() {
        if from.sizes()[i] != 1 || g.r.one_in(2) {
            shape[*d] = from.sizes()[i];
        }
    }
    if shape.iter().product::<usize>() > 2_000 {
        return None;
    }
    let ty = from.with_sizes(shape.clone());
    if g.r.one_in(6) {
        let shape = sizes(g, &shape);
        return g.value_of(Op::DynamicBroadcastInDim { dims }, &[x, shape], &ty, meta).map(drop);
    }
    g.value_of(Op::BroadcastInDim { dims }, &[x], &ty, meta).map(drop)
}

fn reshape(g: &mut Gen) -> Option<()> {
    let x = tensor(g, 0..=4);
    let (meta, from) = (g.meta_of(x), g.tensor(x));
    let mut dims = from.sizes().to_vec();
    match g.r.below(4) {
        0 => dims = vec![from.elements()?],
        1 => dims.insert(g.r.below(dims.len() + 1), 1),
        2 => dims.retain(|d| *d != 1),
        _ => dims.reverse(),
    }
    if dims.len() > 4 {
        return None;
    }
    let ty = from.with_sizes(dims.clone());
    if g.r.one_in(6) {
        let shape = sizes(g, &dims);
        return g.value_of(Op::DynamicReshape, &[x, shape], &ty, meta).map(drop);
    }
    g.value_of(Op::Reshape, &[x], &ty, meta).map(drop)
}

fn transpose(g: &mut Gen) -> Option<()> {
    let x = tensor(g, 1..=4);
    let rank = g.tensor(x).rank();
    let mut permutation: Vec<usize> = (0..rank).collect();
    for i in 0..rank {
        let j = g.r.below(rank);
        permutation.swap(i, j);
    }
    g.value(Op::Transpose { permutation }, &[x], g.meta_of(x)).map(drop)
}

fn slice(g: &mut Gen) -> Option<()> {
    let x = tensor(g, 0..=4);
    slice_of(g, x).map(drop)
}

/// Adds a slice of a tensor.
pub(crate) fn slice_of(g: &mut Gen, x: ValueId) -> Option<ValueId> {
    let dims = g.tensor(x).sizes().to_vec();
    let start: Vec<usize> = dims.iter().map(|n| if g.r.one_in(2) { 0 } else { g.r.below(n + 1) }).collect();
    let limit =
        dims.iter().zip(&start).map(|(n, s)| if g.r.one_in(2) { *n } else { s + g.r.below(n - s + 1) });
    let limit: Vec<usize> = limit.collect();
    let strides = dims.iter().map(|_| g.r.pick(&[1, 1, 2, 3])).collect();
    g.value(Op::Slice(Slice { start, limit, strides }), &[x], g.meta_of(x))
}

fn concatenate(g: &mut Gen) -> Option<()> {
    let x = tensor(g, 1..=4);
    let ty = g.tensor(x);
    let dim = g.r.below(ty.rank());
    let mut parts = vec![x];
    for _ in 0..g.r.below(4) {
        let mut dims = ty.sizes().to_vec();
        dims[dim] = g.size();
        let other = g.find(|t, _| {
            t.dtype == ty.dtype
                && t.rank() == ty.rank()
                && (0..t.rank()).all(|d| d == dim || t.sizes()[d] == ty.sizes()[d])
        });
        parts.push(match other {
            Some(other) => other,
            None => g.constant(&ty.with_sizes(dims), Need::Anything),
        });
    }
    let meta = parts.iter().map(|p| g.meta_of(*p)).reduce(Meta::or)?;
    let joined = g.value(Op::Concatenate { dim }, &parts, meta)?;
    if g.r.one_in(2) {
        // Adds a slice of the concatenation.
        let dims = g.tensor(joined).sizes().to_vec();
        let mut start = vec![0; dims.len()];
        start[dim] = g.r.below(dims[dim] + 1);
        let mut limit = dims.to_vec();
        limit[dim] = start[dim] + g.r.below(dims[dim] - start[dim] + 1);
        let strides = vec![1; dims.len()];
        g.value(Op::Slice(Slice { start, limit, strides }), &[joined], meta)?;
    }
    Some(())
}

fn pad(g: &mut Gen) -> Option<()> {
    let x = tensor(g, 0..=3);
    let ty = g.tensor(x);
    let value = g.scalar(ty.dtype, Need::Anything);
    let mut each = |choices: &[i64]| -> Vec<i64> { ty.sizes().iter().map(|_| g.r.pick(choices)).collect() };
    let (low, high) = (each(&[0, 0, 1, 2, -1]), each(&[0, 0, 1, 2, -1]));
    let interior = each(&[0, 0, 1, 2]);
    let meta = g.meta_of(x).or(g.meta_of(value));
    let padded = |d: usize| {
        let n = ty.sizes()[d] as i64;
        low[d] + high[d] + n + interior[d] * (n - 1).max(0)
    };
    let dims: Option<Vec<usize>> = (0..ty.rank()).map(|d| usize::try_from(padded(d)).ok()).collect();
    let to = ty.with_sizes(dims?);
    if g.r.one_in(6) {
        let dtype = g.r.pick(&[DType::S32, DType::S64]);
        let mut list = |n: &[i64]| g.numbers(dtype, vec![n.len()], n);
        let (low, high, interior) = (list(&low), list(&high), list(&interior));
        return g.value_of(Op::DynamicPad, &[x, value, low, high, interior], &to, meta).map(drop);
    }
    g.value(Op::Pad(Pad { low, high, interior }), &[x, value], meta).map(drop)
}

fn reverse(g: &mut Gen) -> Option<()> {
    let x = tensor(g, 1..=4);
    let dims: Vec<usize> = (0..g.tensor(x).rank()).filter(|_| g.r.one_in(2)).collect();
    let op = Op::Reverse { dims };
    let y = g.value(op.clone(), &[x], g.meta_of(x))?;
    if g.r.one_in(4) {
        g.value(op, &[y], g.meta_of(x))?;
    }
    Some(())
}

fn size(g: &mut Gen) -> Option<()> {
    let x = tensor(g, 1..=4);
    let ty = g.tensor(x);
    let dim = g.r.below(ty.rank());
    if g.r.one_in(2) {
        return g.value(Op::GetDimensionSize { dim }, &[x], Meta::BITS).map(drop);
    }
    let n = g.r.below(ty.sizes()[dim] + 1);
    let size = g.numbers(DType::S32, vec![], &[n as i64]);
    let y = g.value(Op::SetDimensionSize { dim }, &[x, size], g.meta_of(x))?;
    // The builder does not read the constant `size`, so the static type of the result is set here.
    let mut dims = ty.sizes().to_vec();
    dims[dim] = n;
    g.func.set_ty(y, ty.with_sizes(dims).into());
    Some(())
}

/// Returns one start index per dimension. The indices may be out of bounds.
fn starts(g: &mut Gen, rank: usize) -> Vec<ValueId> {
    let integer = |d: DType| d.is_integer() && d.bits() >= 8;
    let dtype = g.r.pick(&[DType::S32, DType::S32, DType::S64, DType::U8, DType::U32, DType::S8]);
    (0..rank)
        .map(|_| {
            if g.r.one_in(2) {
                let n = g.r.below(6) as i64 - 1;
                let n = if dtype.is_unsigned_integer() { n.max(0) } else { n };
                g.numbers(dtype, vec![], &[n])
            } else {
                debug_assert!(integer(dtype));
                g.scalar(dtype, Need::Exact)
            }
        })
        .collect()
}

fn dynamic_slice(g: &mut Gen) -> Option<()> {
    let x = tensor(g, 0..=4);
    let dims = g.tensor(x).sizes().to_vec();
    let sizes: Vec<usize> = dims.iter().map(|n| if g.r.one_in(3) { *n } else { g.r.below(n + 1) }).collect();
    let mut operands = vec![x];
    operands.extend(starts(g, dims.len()));
    g.value(Op::DynamicSlice { sizes }, &operands, g.meta_of(x)).map(drop)
}

fn dynamic_update_slice(g: &mut Gen) -> Option<()> {
    let x = tensor(g, 0..=4);
    let ty = g.tensor(x);
    let fits = |t: &TensorType, _| {
        t.dtype == ty.dtype
            && t.rank() == ty.rank()
            && t.sizes().iter().zip(ty.sizes().iter()).all(|(a, b)| a <= b)
    };
    let update = match g.find(fits) {
        Some(update) if !g.r.one_in(3) => update,
        _ => {
            let dims: Vec<usize> = ty.sizes().iter().map(|n| g.r.below(n + 1)).collect();
            g.constant(&ty.with_sizes(dims), Need::Anything)
        }
    };
    let mut operands = vec![x, update];
    operands.extend(starts(g, ty.rank()));
    let meta = g.meta_of(x).or(g.meta_of(update));
    g.value(Op::DynamicUpdateSlice, &operands, meta).map(drop)
}

fn real_dynamic_slice(g: &mut Gen) -> Option<()> {
    let x = tensor(g, 1..=3);
    let ty = g.tensor(x);
    let mut lists = [vec![], vec![], vec![]];
    let mut dims = Vec::new();
    for n in ty.sizes().iter() {
        let start = g.r.below(n + 1);
        let limit = start + g.r.below(n - start + 1);
        let stride = 1 + g.r.below(2);
        dims.push((limit - start).div_ceil(stride));
        lists.iter_mut().zip([start, limit, stride]).for_each(|(list, n)| list.push(n as i64));
    }
    let mut operands = vec![x];
    for list in &lists {
        operands.push(g.numbers(DType::S64, vec![list.len()], list));
    }
    g.value_of(Op::RealDynamicSlice, &operands, &ty.with_sizes(dims), g.meta_of(x)).map(drop)
}

/// Returns indices, some out of bounds.
fn indices(g: &mut Gen, dims: Vec<usize>) -> ValueId {
    let ty = TensorType::new(g.r.pick(&[DType::S32, DType::S64, DType::U32, DType::S8]), dims);
    let found = match g.find(|t, m| *t == ty && m.exact) {
        Some(there) => there,
        None => {
            let low = if ty.dtype.is_unsigned_integer() { 0 } else { 3 };
            let numbers: Vec<i64> =
                (0..ty.elements().unwrap_or(0)).map(|_| g.r.below(6 + low) as i64 - low as i64).collect();
            g.numbers(ty.dtype, ty.sizes().to_vec(), &numbers)
        }
    };
    if g.r.one_in(2) { wrapped(g, found, &ty).unwrap_or(found) } else { found }
}

/// Adds a size to negative indices: the pattern for indices that count from the end of a dimension.
fn wrapped(g: &mut Gen, indices: ValueId, ty: &TensorType) -> Option<ValueId> {
    let count = ty.elements()?;
    let zeros = g.numbers(ty.dtype, ty.sizes().to_vec(), &vec![0; count]);
    let size = g.r.below(5) as i64;
    let sizes = g.numbers(ty.dtype, ty.sizes().to_vec(), &vec![size; count]);
    let moved = g.value(Op::Binary(Binary::Add), &[indices, sizes], Meta::BITS)?;
    let (direction, chosen) = match g.r.one_in(2) {
        true => (ComparisonDirection::Lt, [moved, indices]),
        false => (ComparisonDirection::Ge, [indices, moved]),
    };
    let pred = g.value(Op::Compare(Compare { direction, kind: None }), &[indices, zeros], Meta::BITS)?;
    g.value(Op::Select, &[pred, chosen[0], chosen[1]], Meta::BITS)
}

/// Dimension numbers of a gather or scatter, and the shape of its indices.
struct Window {
    /// Dimensions of the operand to which the entries of an index vector are mapped.
    mapped: Vec<usize>,
    /// Dimensions of the operand that are collapsed in a slice.
    collapsed: Vec<usize>,
    /// Sizes of the indices' dimensions.
    index_dims: Vec<usize>,
    index_vector_dim: usize,
}

fn window(g: &mut Gen, rank: usize) -> Window {
    let mut mapped: Vec<usize> = (0..rank).filter(|_| !g.r.one_in(3)).collect();
    if g.r.one_in(4) {
        mapped.reverse();
    }
    let collapsed: Vec<usize> = (0..rank).filter(|d| mapped.contains(d) && g.r.one_in(2)).collect();
    let batch = g.r.below(3);
    let mut index_dims: Vec<usize> = (0..batch).map(|_| g.r.below(4)).collect();
    let index_vector_dim = g.r.below(batch + 1);
    if mapped.len() == 1 && g.r.one_in(2) {
        return Window { mapped, collapsed, index_dims, index_vector_dim: batch };
    }
    index_dims.insert(index_vector_dim, mapped.len());
    Window { mapped, collapsed, index_dims, index_vector_dim }
}

fn gather(g: &mut Gen) -> Option<()> {
    let x = tensor(g, 0..=3);
    let dims = g.tensor(x).sizes().to_vec();
    let rank = dims.len();
    let w = window(g, rank);
    let slice_sizes: Vec<usize> = (0..rank)
        .map(|d| match w.collapsed.contains(&d) {
            true => 1.min(dims[d]),
            false if w.mapped.contains(&d) => g.r.below(dims[d] + 1),
            false => dims[d],
        })
        .collect();
    let batch = w.index_dims.len() - usize::from(w.index_vector_dim < w.index_dims.len());
    let (windows, all) = (rank - w.collapsed.len(), batch + rank - w.collapsed.len());
    let mut offset_dims: Vec<usize> = (0..all).collect();
    while offset_dims.len() > windows {
        let i = g.r.below(offset_dims.len());
        offset_dims.remove(i);
    }
    let indices = indices(g, w.index_dims);
    let op = Gather {
        offset_dims,
        collapsed_slice_dims: w.collapsed,
        start_index_map: w.mapped,
        index_vector_dim: w.index_vector_dim,
        slice_sizes: slice_sizes.clone(),
        ..Gather::default()
    };
    if g.r.one_in(6) {
        let dtype = g.tensor(indices).dtype;
        let numbers: Vec<i64> = slice_sizes.iter().map(|n| *n as i64).collect();
        let list = g.numbers(dtype, vec![rank], &numbers);
        let (meta, whole) =
            (g.meta_of(x), g.value(Op::Gather(Box::new(op.clone())), &[x, indices], g.meta_of(x))?);
        let op = Op::DynamicGather(Box::new(Gather { slice_sizes: vec![], ..op }));
        return g.value_of(op, &[x, indices, list], &g.tensor(whole), meta).map(drop);
    }
    g.value(Op::Gather(Box::new(op)), &[x, indices], g.meta_of(x)).map(drop)
}

/// Adds a gather of rows. Dimension 0 is a batching dimension.
fn take(g: &mut Gen) -> Option<()> {
    let x = tensor(g, 2..=3);
    let dims = g.tensor(x).sizes().to_vec();
    let mut rest = dims[2..].to_vec();
    let count = g.r.below(4);
    let indices = indices(g, vec![dims[0], count, 1]);
    let mut slice_sizes = vec![1.min(dims[0]), 1.min(dims[1])];
    slice_sizes.append(&mut rest);
    let op = Gather {
        offset_dims: (2..dims.len()).collect(),
        collapsed_slice_dims: vec![1],
        operand_batching_dims: vec![0],
        start_indices_batching_dims: vec![0],
        start_index_map: vec![1],
        index_vector_dim: 2,
        slice_sizes,
        ..Gather::default()
    };
    g.value(Op::Gather(Box::new(op)), &[x, indices], g.meta_of(x)).map(drop)
}

fn scatter(g: &mut Gen) -> Option<()> {
    let x = g.some(Need::Exact, |_| true, 0..=3);
    let ty = g.tensor(x);
    let rank = ty.rank();
    let w = window(g, rank);
    let mut batch = w.index_dims.clone();
    if w.index_vector_dim < batch.len() {
        batch.remove(w.index_vector_dim);
    }
    let mut windows: Vec<usize> =
        (0..rank).filter(|d| !w.collapsed.contains(d)).map(|d| g.r.below(ty.sizes()[d] + 1)).collect();
    let all = batch.len() + windows.len();
    let mut update_window_dims: Vec<usize> = (0..all).collect();
    while update_window_dims.len() > windows.len() {
        let i = g.r.below(update_window_dims.len());
        update_window_dims.remove(i);
    }
    let mut dims = vec![0; all];
    windows.reverse();
    batch.reverse();
    for (d, size) in dims.iter_mut().enumerate() {
        let from = if update_window_dims.contains(&d) { &mut windows } else { &mut batch };
        *size = from.pop()?;
    }
    let indices = indices(g, w.index_dims);
    let updates = g.of(&ty.with_sizes(dims), Need::Exact);
    let op = Scatter {
        update_window_dims,
        inserted_window_dims: w.collapsed,
        scatter_dims_to_operand_dims: w.mapped,
        index_vector_dim: w.index_vector_dim,
        ..Scatter::default()
    };
    let count = g.tensor(updates).elements()? + 1;
    let (body, meta) = regions::reducer(g, ty.dtype, [g.meta_of(x), g.meta_of(updates)], count);
    let new = NewInst::new(Op::Scatter(Box::new(op)), [x, indices, updates]).with_regions([body]);
    g.emit(new, vec![ty.into()], &[meta]).map(drop)
}
