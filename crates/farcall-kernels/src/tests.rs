//! Tests that every kernel either refuses a request, or stays within buffers of the requested types.

use std::collections::BTreeMap;

use farcall_ir::op::{
    Binary, Compare, CompareKind, ComparisonDirection, Convolution, ConvolutionDims, DotGeneral, FftKind,
    FormOp, Gather, Pad, ReduceWindow, RngAlgorithm, Scatter, SelectAndScatter, Slice, Unary, Wrapping,
};
use farcall_ir::{DType, Op, TensorType};

use super::*;

/// A generator of small random numbers.
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % n
    }

    /// Returns a size: usually small, sometimes too large for any memory.
    fn size(&mut self) -> usize {
        if self.below(200) == 0 { usize::MAX >> self.below(60) } else { self.below(4) }
    }

    fn list(&mut self, n: usize, mut item: impl FnMut(&mut Random) -> usize) -> Vec<usize> {
        // Sometimes the list has one entry more or less than expected.
        let n = match self.below(30) {
            0 => n + 1,
            1 => n.saturating_sub(1),
            _ => n,
        };
        (0..n).map(|_| item(self)).collect()
    }

    /// Returns some of the dimensions of a tensor of this rank; rarely, invalid dimensions.
    fn dims(&mut self, rank: usize) -> Vec<usize> {
        let n = self.below(rank + 1);
        let mut all: Vec<usize> = (0..rank).collect();
        (0..n)
            .map(|_| if self.below(40) == 0 { self.below(5) } else { all.remove(self.below(all.len())) })
            .collect()
    }

    fn sign(&mut self) -> i64 {
        self.below(5) as i64 - 2
    }

    fn dtype(&mut self) -> DType {
        [DType::F32, DType::S32, DType::Pred, DType::BF16, DType::C128, DType::F64, DType::U8][self.below(7)]
    }

    fn ty(&mut self, dtype: DType, rank: usize) -> TensorType {
        let dims: Vec<usize> = (0..rank).map(|_| self.size()).collect();
        TensorType::new(dtype, dims)
    }

    /// Returns the type of a part of a tensor; rarely, the part is larger than the tensor.
    fn part(&mut self, of: &TensorType) -> TensorType {
        let size =
            |d: &usize| if self.below(20) == 0 { d.saturating_add(1) } else { d - d.min(&self.below(3)) };
        of.with_sizes(of.sizes().iter().map(size).collect::<Vec<_>>())
    }

    fn start(&mut self) -> Start {
        let (dtype, rank) = (self.dtype(), self.below(4));
        let x = self.ty(dtype, rank);
        let mut y = x.clone();
        if self.below(10) == 0 {
            let rank = self.below(4);
            y = self.ty(dtype, rank);
        }
        Start { dtype, rank, x, y }
    }
}

fn body(dtype: DType, args: usize, op: Op, to: DType) -> Body {
    Body {
        args: vec![TensorType::scalar(dtype); args],
        insts: vec![BodyInst { op, operands: vec![0, 1], ty: TensorType::scalar(to), reducer: None }],
        returned: vec![args],
    }
}

/// A request: an operation with its regions, and the types of its operands and results, which may be
/// inconsistent.
type Question = (Op, Vec<Body>, Vec<TensorType>, Vec<TensorType>);

/// Types from which a generator makes a request.
struct Start {
    dtype: DType,
    rank: usize,
    /// A type of this element type and rank.
    x: TensorType,
    /// The type of `x` or, sometimes, a type of another rank.
    y: TensorType,
}

/// Generators of requests. For each generator, kernels must accept some of the requests. A new generator is
/// one more entry here.
const QUESTIONS: &[fn(&mut Random, Start) -> Question] = &[
    |_, s| (Op::Unary(Unary::Negate), vec![], vec![s.x], vec![s.y]),
    |r, s| {
        let op = Op::Binary([Binary::Add, Binary::Complex][r.below(2)]);
        (op, vec![], vec![s.x, s.y.clone()], vec![s.y])
    },
    |r, s| {
        let scalar = TensorType::scalar(DType::Pred);
        let p = if r.below(2) == 0 { scalar } else { s.y.with_dtype(DType::Pred) };
        (Op::Select, vec![], vec![p, s.x, s.y.clone()], vec![s.y])
    },
    |r, s| (Op::Convert, vec![], vec![s.x], vec![s.y.with_dtype(r.dtype())]),
    |r, s| (Op::Iota { dim: r.below(3) }, vec![], vec![], vec![s.y]),
    fft,
    rng_bit_generator,
    transpose,
    |r, s| {
        let y = r.ty(s.dtype, s.rank + 1);
        let dims = r.list(s.rank, |r| r.below(4));
        (Op::BroadcastInDim { dims }, vec![], vec![s.x], vec![y])
    },
    |r, s| {
        let y = r.part(&s.x);
        let [start, limit] = [0; 2].map(|_| r.list(s.rank, |r| r.below(3)));
        let strides = r.list(s.rank, |r| r.below(3));
        (Op::Slice(Slice { start, limit, strides }), vec![], vec![s.x], vec![y])
    },
    |r, s| (Op::Reverse { dims: r.dims(s.rank) }, vec![], vec![s.x], vec![s.y]),
    |r, s| {
        let (a, b) = (r.part(&s.x), r.part(&s.x));
        (Op::Concatenate { dim: r.below(3) }, vec![], vec![a, b], vec![s.x])
    },
    slices,
    repeats,
    padding,
    pad,
    |r, s| {
        let part = r.part(&s.x);
        let inputs = [vec![s.x], vec![TensorType::scalar(DType::S32); s.rank]].concat();
        (Op::DynamicSlice { sizes: part.sizes().to_vec() }, vec![], inputs, vec![part])
    },
    |r, s| {
        let part = r.part(&s.x);
        let inputs = [vec![s.x, part], vec![TensorType::scalar(DType::U8); s.rank]].concat();
        (Op::DynamicUpdateSlice, vec![], inputs, vec![s.y])
    },
    reduce,
    dot_general,
    products,
    convolution,
    sort,
    sort_part,
    top_k,
    gather,
    arg_reduce,
    reduce_window,
    select_and_scatter,
    scatter,
];

fn transpose(r: &mut Random, Start { rank, x, .. }: Start) -> Question {
    let permutation = r.dims(rank);
    let to: Vec<usize> = permutation.iter().map(|p| x.sizes().get(*p).copied().unwrap_or(1)).collect();
    let y = x.with_sizes(to);
    (Op::Transpose { permutation }, vec![], vec![x], vec![y])
}

fn pad(r: &mut Random, Start { dtype, rank, x, .. }: Start) -> Question {
    let [low, high, interior] = [0; 3].map(|_| r.list(rank, |r| r.below(5)));
    let signed = |x: Vec<usize>| x.into_iter().map(|x| x as i64 - 2).collect::<Vec<i64>>();
    let interior = interior.into_iter().map(|x| x as i64 - i64::from(r.sign() == 2)).collect();
    let p = Pad { low: signed(low), high: signed(high), interior };
    let y = r.ty(dtype, rank);
    (Op::Pad(p), vec![], vec![x, TensorType::scalar(dtype)], vec![y])
}

fn reduce(r: &mut Random, Start { dtype, rank, x, .. }: Start) -> Question {
    let dims = r.dims(rank);
    let kept: Vec<usize> = (0..rank).filter(|d| !dims.contains(d)).map(|d| x.sizes()[d]).collect();
    let to = x.with_sizes(kept);
    let body = body(dtype, 2, Op::Binary([Binary::Add, Binary::Maximum][r.below(2)]), dtype);
    (Op::Reduce { dims }, vec![body], vec![x, TensorType::scalar(dtype)], vec![to])
}

fn dot_general(r: &mut Random, Start { dtype, rank, x, .. }: Start) -> Question {
    let (lhs_batch, lhs_contract) = (r.dims(rank.min(1)), r.dims(rank));
    let rhs = r.ty(dtype, rank);
    let d = DotGeneral {
        rhs_batch: lhs_batch.clone(),
        lhs_batch,
        rhs_contract: lhs_contract.clone(),
        lhs_contract,
        precision: Vec::new(),
        algorithm: None,
    };
    let left = |t: &TensorType| -> Vec<usize> {
        let is_left = |i: &usize| !d.lhs_contract.contains(i) && !d.lhs_batch.contains(i);
        (0..rank).filter(is_left).map(|i| t.sizes()[i]).collect()
    };
    let batch: Vec<usize> = d.lhs_batch.iter().filter_map(|i| x.sizes().get(*i)).copied().collect();
    let y = x.with_sizes([batch, left(&x), left(&rhs)].concat());
    (Op::DotGeneral(Box::new(d)), vec![], vec![x, rhs], vec![y])
}

/// A fusion of two products with operations between them, with enough rows for several blocks.
fn products(r: &mut Random, Start { dtype, .. }: Start) -> Question {
    let rows = [32, 33, 72, 1][r.below(4)];
    let [batch, depth, columns, last] = [0; 4].map(|_| 1 + r.below(4));
    let ty = |sizes: &[usize]| TensorType::new(dtype, sizes);
    let dot = |r: &mut Random, lhs: usize, rhs: usize| {
        // Sometimes the dimension does not match the types.
        let mut dim = |d: usize| if r.below(30) == 0 { r.below(4) } else { d };
        Op::DotGeneral(Box::new(DotGeneral {
            lhs_batch: vec![dim(0)],
            rhs_batch: vec![dim(0)],
            lhs_contract: vec![dim(lhs)],
            rhs_contract: vec![dim(rhs)],
            precision: Vec::new(),
            algorithm: None,
        }))
    };
    let all = [batch, rows, columns];
    let dims = [vec![2], vec![1, 2], vec![0, 1], vec![0, 2], vec![0, 1, 2]][r.below(5)].clone();
    let beside = ty(&dims.iter().map(|d| all[*d]).collect::<Vec<_>>());
    let args = [
        ty(&[batch, rows, depth]),
        ty(&[batch, columns, depth]),
        beside,
        ty(&[batch, columns, last + usize::from(r.below(30) == 0)]),
    ];
    let (first, second) = (dot(r, 2, 2), dot(r, 2, 1));
    let inst = |op, operands: &[usize], sizes: &[usize]| BodyInst {
        op,
        operands: operands.to_vec(),
        ty: ty(sizes),
        reducer: None,
    };
    // The fusion sometimes ends before the second product.
    let (count, out) = if r.below(3) == 0 { (3, ty(&all)) } else { (4, ty(&[batch, rows, last])) };
    let insts = [
        inst(first, &[0, 1], &all),
        inst(Op::BroadcastInDim { dims }, &[2], &all),
        inst(Op::Binary(Binary::Add), &[count, count + 1], &all),
        inst(second, &[count + 2, 3], &[batch, rows, last]),
    ];
    let (args, insts) = (args[..count].to_vec(), insts[..count].to_vec());
    let body = Body { args: args.clone(), insts, returned: vec![2 * count - 1] };
    (Op::Form(FormOp::Fusion), vec![body], args, vec![out])
}

/// Returns the numbers `0..n` in random order.
fn shuffled(r: &mut Random, n: usize) -> Vec<usize> {
    let mut left: Vec<usize> = (0..n).collect();
    (0..n).map(|_| left.remove(r.below(left.len()))).collect()
}

/// A fusion that concatenates a slice and an operand.
fn slices(r: &mut Random, Start { rank, x, y, .. }: Start) -> Question {
    let slice = |r: &mut Random, of: &TensorType| {
        let part = r.part(of);
        let [start, limit] = [0; 2].map(|_| r.list(rank, |r| r.below(2)));
        let strides = r.list(rank, |r| 1 + r.below(2));
        (Op::Slice(Slice { start, limit, strides }), part)
    };
    let ((first, part), dim) = (slice(r, &x), r.below(3));
    // The sizes of the concatenation. They are valid if both parts agree along the other dimensions.
    let size = |d: usize| {
        let [a, b] = [&part, &y].map(|t| t.sizes().get(d).copied().unwrap_or(0));
        if d == dim { a.saturating_add(b) } else { b }
    };
    let whole = y.with_sizes((0..y.rank()).map(size).collect::<Vec<_>>());
    let insts = vec![
        BodyInst { op: first, operands: vec![0], ty: part, reducer: None },
        BodyInst { op: Op::Concatenate { dim }, operands: vec![2, 1], ty: whole.clone(), reducer: None },
        BodyInst { op: Op::Unary(Unary::Negate), operands: vec![3], ty: whole.clone(), reducer: None },
    ];
    let body = Body { args: vec![x.clone(), y.clone()], insts, returned: vec![4] };
    (Op::Form(FormOp::Fusion), vec![body], vec![x, y], vec![whole])
}

/// A fusion that repeats an operand, merges two dimensions of the result, and concatenates another operand.
fn repeats(r: &mut Random, Start { dtype, rank, x, y }: Start) -> Question {
    let at = r.below(rank + 1);
    let mut repeated = x.sizes().to_vec();
    repeated.insert(at, r.below(4));
    let merged = r.below(rank + 1);
    let mut sizes = repeated.clone();
    if merged < rank {
        let size = sizes.remove(merged);
        sizes[merged] = sizes[merged].saturating_mul(size);
    }
    let dim = r.below(3);
    let mut whole = sizes.clone();
    if let (Some(size), Some(more)) = (whole.get_mut(dim), y.sizes().get(dim)) {
        *size = size.saturating_add(*more);
    }
    let [repeated, reshaped, whole] = [repeated, sizes, whole].map(|sizes| TensorType::new(dtype, sizes));
    let dims = (0..=rank).filter(|d| *d != at || r.below(20) == 0).collect();
    let insts = vec![
        BodyInst { op: Op::BroadcastInDim { dims }, operands: vec![0], ty: repeated, reducer: None },
        BodyInst { op: Op::Reshape, operands: vec![2], ty: reshaped, reducer: None },
        BodyInst { op: Op::Concatenate { dim }, operands: vec![3, 1], ty: whole.clone(), reducer: None },
    ];
    let body = Body { args: vec![x.clone(), y.clone()], insts, returned: vec![4] };
    (Op::Form(FormOp::Fusion), vec![body], vec![x, y], vec![whole])
}

/// A fusion that pads an operand.
fn padding(r: &mut Random, start: Start) -> Question {
    let (pad, _, mut inputs, outputs) = pad(r, start);
    let ty = outputs[0].clone();
    if r.below(8) == 0 {
        inputs[1] = TensorType::scalar(DType::F32);
    }
    let insts = vec![
        BodyInst { op: pad, operands: vec![0, 1], ty: ty.clone(), reducer: None },
        BodyInst { op: Op::Unary(Unary::Negate), operands: vec![2], ty, reducer: None },
    ];
    let body = Body { args: inputs.clone(), insts, returned: vec![3] };
    (Op::Form(FormOp::Fusion), vec![body], inputs, outputs)
}

fn convolution(r: &mut Random, Start { dtype, .. }: Start) -> Question {
    let rank = r.below(3);
    let (by_feature, by_batch) = [(1, 1), (2, 1), (1, 2), (2, 2)][r.below(13) / 4];
    let image = r.ty(dtype, rank);
    let (w, windows) = windows(r, &image, true);
    let (batch, features, kernels) = (r.below(3), r.below(3), r.below(3));
    let [input, kernel, output] = [0; 3].map(|_| shuffled(r, rank + 2));
    let ty = |order: &[usize], sizes: &[usize]| {
        let at = |d: usize| order.iter().position(|o| *o == d).and_then(|i| sizes.get(i)).copied();
        TensorType::new(dtype, (0..rank + 2).map(|d| at(d).unwrap_or(1)).collect::<Vec<_>>())
    };
    let x = ty(&input, &[&[batch * by_batch, features * by_feature], image.sizes()].concat());
    let y = ty(&kernel, &[&[features, kernels * by_feature * by_batch], &w.window[..]].concat());
    let extra = r.below(30) / 29;
    let out = ty(&output, &[&[batch, kernels * by_feature * by_batch + extra], &windows[..]].concat());
    let op = Convolution {
        strides: w.strides,
        padding: w.padding,
        lhs_dilation: w.base_dilations,
        rhs_dilation: w.window_dilations,
        reversal: r.list(rank, |r| r.below(2)).into_iter().map(|n| n == 1).collect(),
        dims: ConvolutionDims {
            input_batch: input[0],
            input_feature: input[1],
            input_spatial: input[2..].to_vec(),
            kernel_input_feature: kernel[0],
            kernel_output_feature: kernel[1],
            kernel_spatial: kernel[2..].to_vec(),
            output_batch: output[0],
            output_feature: output[1],
            output_spatial: output[2..].to_vec(),
        },
        feature_group_count: by_feature,
        batch_group_count: by_batch,
        precision: Vec::new(),
    };
    (Op::Convolution(Box::new(op)), vec![], vec![x, y], vec![out])
}

fn sort(r: &mut Random, Start { dtype, x, y, .. }: Start) -> Question {
    let kind = [None, Some(CompareKind::TotalOrder)][r.below(2)];
    let c = Op::Compare(Compare {
        direction: [ComparisonDirection::Lt, ComparisonDirection::Gt][r.below(2)],
        kind,
    });
    let types = vec![x, y.with_dtype(r.dtype())];
    let op = Op::Sort { dim: r.below(3), is_stable: true };
    (op, vec![body(dtype, 4, c, DType::Pred)], types.clone(), types)
}

fn sort_part(r: &mut Random, start: Start) -> Question {
    let (op, bodies, inputs, mut outputs) = sort(r, start);
    let Op::Sort { dim, is_stable, .. } = op else { return (op, bodies, inputs, outputs) };
    let length = inputs[0].sizes().get(dim).copied().unwrap_or(1);
    // Sometimes, the range is empty or ends past the end of the line.
    let part = r.below(3)..(length.saturating_sub(r.below(2)) + usize::from(r.below(20) == 0));
    for ty in &mut outputs {
        let mut sizes = ty.sizes().to_vec();
        if let Some(size) = sizes.get_mut(dim) {
            *size = part.len() + usize::from(r.below(20) == 0);
        }
        *ty = ty.with_sizes(sizes);
    }
    (FormOp::PartialSort { dim, is_stable, part }.into(), bodies, inputs, outputs)
}

fn top_k(r: &mut Random, Start { x, y, .. }: Start) -> Question {
    let k = r.below(4);
    let mut sizes = y.sizes().to_vec();
    if let Some(last) = sizes.last_mut() {
        *last = k + usize::from(r.below(20) == 0);
    }
    let (values, places) = (y.with_sizes(sizes), [DType::S32, DType::S64][r.below(20) / 19]);
    (Op::TopK { k }, vec![], vec![x], vec![values.clone(), values.with_dtype(places)])
}

fn fft(r: &mut Random, Start { rank, .. }: Start) -> Question {
    let kind = FftKind::VARIANTS[r.below(4)];
    let (real, complex) = [(DType::F32, DType::C64), (DType::F64, DType::C128)][r.below(2)];
    let whole = r.ty(real, rank);
    let length = whole.sizes()[rank - r.below(rank + 1).min(3)..].to_vec();
    let mut half = whole.sizes().to_vec();
    if let Some(last) = half.last_mut() {
        *last = *last / 2 + 1 + usize::from(r.below(20) == 0);
    }
    let (half, full) = (TensorType::new(complex, half), whole.with_dtype(complex));
    let (x, y) = match kind {
        FftKind::Fft | FftKind::Ifft => (full.clone(), full),
        FftKind::Rfft => (whole, half),
        FftKind::Irfft => (half, whole),
    };
    (Op::Fft { kind, length }, vec![], vec![x], vec![y])
}

fn rng_bit_generator(r: &mut Random, Start { y, .. }: Start) -> Question {
    let algorithm = [RngAlgorithm::Default, RngAlgorithm::ThreeFry, RngAlgorithm::Philox][r.below(3)];
    let state = TensorType::new(DType::U64, [2 + r.below(20) / 15]);
    (Op::RngBitGenerator(algorithm), vec![], vec![state.clone()], vec![state, y])
}

/// Returns the numbers that a gather or scatter adds to negative indices. They may be invalid.
fn wrap(r: &mut Random) -> Vec<usize> {
    let n = r.below(3);
    r.list(n, |r| [0, 2, 5, usize::MAX][r.below(4)])
}

fn gather(r: &mut Random, Start { rank, x, .. }: Start) -> Question {
    let indices = r.ty(DType::S32, 2);
    let collapsed = r.dims(rank);
    let slices: Vec<usize> = (0..rank).map(|_| r.below(3)).collect();
    let kept: Vec<usize> = (0..rank).filter(|d| !collapsed.contains(d)).map(|d| slices[d]).collect();
    let g = Gather {
        offset_dims: (1..=kept.len()).collect(),
        collapsed_slice_dims: collapsed,
        start_index_map: r.dims(rank),
        index_vector_dim: 1,
        slice_sizes: slices,
        ..Gather::default()
    };
    let y = x.with_sizes([vec![indices.sizes()[0]], kept].concat());
    let op = match wrap(r) {
        wrap if wrap.is_empty() => Op::Gather(Box::new(g)),
        wrap => FormOp::WrappingGather(Box::new(Wrapping { op: g, wrap })).into(),
    };
    (op, vec![], vec![x, indices], vec![y])
}

fn arg_reduce(r: &mut Random, Start { dtype, rank, x, .. }: Start) -> Question {
    let dims = r.dims(rank);
    let kept: Vec<usize> = (0..rank).filter(|d| !dims.contains(d)).map(|d| x.sizes()[d]).collect();
    let index = DType::S32;
    let compare = Op::Compare(Compare { direction: ComparisonDirection::Ge, kind: None });
    let inst = |op: Op, operands: &[usize], to: DType| BodyInst {
        op,
        operands: operands.to_vec(),
        ty: TensorType::scalar(to),
        reducer: None,
    };
    let body = Body {
        args: [dtype, index, dtype, index].map(TensorType::scalar).to_vec(),
        insts: vec![
            inst(compare, &[0, 2], DType::Pred),
            inst(
                Op::Compare(Compare { direction: ComparisonDirection::Ne, kind: None }),
                &[0, 0],
                DType::Pred,
            ),
            inst(Op::Binary(Binary::Or), &[4, 5], DType::Pred),
            inst(Op::Select, &[6, 0, 2], dtype),
            inst(Op::Select, &[6, 1, 3], index),
        ],
        returned: vec![7, 8],
    };
    let inputs = vec![x.clone(), x.with_dtype(index), TensorType::scalar(dtype), TensorType::scalar(index)];
    let y = x.with_sizes(kept);
    (Op::Reduce { dims }, vec![body], inputs, vec![y.clone(), y.with_dtype(index)])
}

/// Returns windows with padding along each dimension, and the number of windows.
fn windows(r: &mut Random, x: &TensorType, dilated: bool) -> (ReduceWindow, Vec<usize>) {
    let rank = x.rank();
    let mut list = |n: usize| r.list(rank, |r| 1 + r.below(n));
    let (window, strides) = (list(4), list(3));
    let [base_dilations, window_dilations] = [0; 2].map(|_| if dilated { list(3) } else { vec![1; rank] });
    let mut padding: Vec<(i64, i64)> =
        r.list(rank, |r| r.below(9)).iter().map(|p| ((p % 3) as i64 - 1, (p / 3) as i64)).collect();
    if let (Some(padding), 0) = (padding.first_mut(), r.below(32)) {
        *padding = [(i64::MIN, 1), (1, i64::MIN), (i64::MIN, i64::MIN), (i64::MAX, i64::MAX)][r.below(4)];
    }
    let w = ReduceWindow { window, strides, base_dilations, window_dilations, padding };
    let all = [&w.window, &w.strides, &w.base_dilations, &w.window_dilations];
    let complete = all.iter().all(|l| l.len() >= rank) && w.padding.len() >= rank;
    let count = |d: usize| {
        let axis = window::Axis {
            size: x.sizes()[d],
            window: w.window[d],
            stride: w.strides[d],
            base_dilation: w.base_dilations[d],
            window_dilation: w.window_dilations[d],
            padding: w.padding[d],
        };
        if axis.is_sound() { axis.windows() } else { 1 }
    };
    let results = if complete { (0..rank).map(count).collect() } else { x.sizes().to_vec() };
    (w, results)
}

fn reduce_window(r: &mut Random, Start { dtype, x, .. }: Start) -> Question {
    let (w, results) = windows(r, &x, true);
    let y = x.with_sizes(results);
    let body = body(dtype, 2, Op::Binary([Binary::Add, Binary::Minimum][r.below(2)]), dtype);
    (Op::ReduceWindow(Box::new(w)), vec![body], vec![x, TensorType::scalar(dtype)], vec![y])
}

fn select_and_scatter(r: &mut Random, Start { dtype, x, y, .. }: Start) -> Question {
    let (w, results) = windows(r, &x, false);
    let source = x.with_sizes(results);
    let compare = Op::Compare(Compare {
        direction: [ComparisonDirection::Gt, ComparisonDirection::Le][r.below(2)],
        kind: None,
    });
    let bodies = vec![body(dtype, 2, compare, DType::Pred), body(dtype, 2, Op::Binary(Binary::Add), dtype)];
    let op = SelectAndScatter { window: w.window, strides: w.strides, padding: w.padding };
    (Op::SelectAndScatter(op), bodies, vec![x, source, TensorType::scalar(dtype)], vec![y])
}

fn scatter(r: &mut Random, Start { dtype, rank, x, .. }: Start) -> Question {
    let index = [DType::S32, DType::U8][r.below(2)];
    let indices = r.ty(index, 2);
    let inserted = r.dims(rank);
    let kept: Vec<usize> = (0..rank).filter(|d| !inserted.contains(d)).map(|_| r.below(3)).collect();
    let s = Scatter {
        update_window_dims: (1..=kept.len()).collect(),
        inserted_window_dims: inserted,
        scatter_dims_to_operand_dims: r.dims(rank),
        index_vector_dim: 1,
        ..Scatter::default()
    };
    let updates = x.with_sizes([vec![indices.sizes()[0]], kept].concat());
    let body = body(dtype, 2, Op::Binary([Binary::Add, Binary::Maximum][r.below(2)]), dtype);
    let op = match wrap(r) {
        wrap if wrap.is_empty() => Op::Scatter(Box::new(s)),
        wrap => FormOp::WrappingScatter(Box::new(Wrapping { op: s, wrap })).into(),
    };
    (op, vec![body], vec![x.clone(), indices, updates], vec![x])
}

/// Number of bytes before and after each buffer.
const MARGIN: usize = 512;

/// Runs a kernel on buffers of these sizes, surrounded by margins of a byte value, and returns the final
/// contents of all buffers. `None` if the kernel wrote to a margin. If `link` is given, a straight-line
/// program is linked before it runs.
fn run(
    prepared: &PreparedKernel,
    sizes: &[usize],
    inputs: usize,
    margin: u8,
    seed: u64,
    link: Option<Link>,
) -> Option<Vec<u8>> {
    let mut r = Random(seed);
    let mut blocks: Vec<Vec<u128>> =
        sizes.iter().map(|size| vec![0; (2 * MARGIN + size).div_ceil(16)]).collect();
    for (block, size) in blocks.iter_mut().zip(sizes) {
        let bytes = bytes_of(block);
        bytes.fill(margin);
        // All bytes are 0 or 1, because a buffer may have elements of type `pred`.
        bytes[MARGIN..MARGIN + size].iter_mut().for_each(|b| *b = r.below(2) as u8);
    }
    let bases: Vec<*mut u8> = blocks.iter_mut().map(|b| b.as_mut_ptr().cast()).collect();
    let places: Vec<Place> =
        sizes.iter().enumerate().map(|(base, size)| Place { base, offset: MARGIN, size: *size }).collect();
    match (prepared.line(), link) {
        (Some(line), Some(link)) => run_linked(line, &places, inputs, bases, link),
        // SAFETY: the buffers are disjoint and have these sizes. Accesses outside of them hit the margins.
        _ => unsafe { prepared.run_here(&Args::new(&places, inputs, &bases)) },
    }
    let mut all = Vec::new();
    for (block, size) in blocks.iter_mut().zip(sizes) {
        let bytes = bytes_of(block);
        let mut around = bytes[..MARGIN].iter().chain(&bytes[MARGIN + size..]);
        if around.any(|b| *b != margin) {
            return None;
        }
        all.extend(&bytes[MARGIN..MARGIN + size]);
    }
    Some(all)
}

/// Way of linking a straight-line program.
#[derive(Clone, Copy, PartialEq)]
enum Link {
    /// On its own, outside of a choice.
    Alone,
    /// As the only branch of a choice, so that code is generated for it where possible.
    InChoice,
}

/// Runs a straight-line program as the runtime does.
fn run_linked(line: &StraightLine, places: &[Place], inputs: usize, mut bases: Vec<*mut u8>, link: Link) {
    let [mut constants, mut registers] =
        [line.constant_bytes(), line.registers()].map(|size| vec![[0u128; 4]; size.max(1).div_ceil(64)]);
    line.write_constants(bytes_of(constants.as_flattened_mut()));
    let mut place = |block: &mut [[u128; 4]]| {
        bases.push(block.as_mut_ptr().cast());
        Place { base: bases.len() - 1, offset: 0, size: size_of_val(block) }
    };
    let (constants, registers) = (place(&mut constants), place(&mut registers));
    let mut steps = Vec::new();
    let linking = Linking { places, inputs, constants, registers };
    Linked::program(line, &linking, &mut steps).expect("places are near");
    if link == Link::InChoice {
        let branches = vec![std::mem::take(&mut steps)];
        Linked::choose(registers, DType::Pred, branches, &mut steps).expect("places are near");
    }
    // SAFETY: the buffers are disjoint and have the sizes that the kernel was prepared for. Constants and
    // registers have their own memory.
    let Ok(()) = unsafe { Line::new(steps).run(&bases, &mut Unlimited) };
}

/// A runner without limits.
struct Unlimited;

impl Runner for Unlimited {
    type Error = std::convert::Infallible;

    fn request_iterations(&mut self, most: u64) -> Result<u64, Self::Error> {
        Ok(most)
    }

    fn return_iterations(&mut self, _: u64) {}

    fn kernel(&mut self) -> Result<(), Self::Error> {
        Ok(())
    }
}

fn bytes_of(words: &mut [u128]) -> &mut [u8] {
    // SAFETY: the bytes are those of `words`, and all are initialized.
    unsafe { std::slice::from_raw_parts_mut(words.as_mut_ptr().cast(), size_of_val(words)) }
}

#[test]
fn kernels_stay_within_their_buffers() {
    let mut r = Random(7);
    // The number of accepted requests, by generator and kernel.
    let mut served: Vec<BTreeMap<&str, usize>> = vec![BTreeMap::new(); QUESTIONS.len()];
    let (mut lines, mut counted) = (0, 0);
    for round in 0..22_000 {
        let (which, start) = (r.below(QUESTIONS.len()), r.start());
        let (op, bodies, inputs, outputs) = QUESTIONS[which](&mut r, start);
        let (xs, ys): (Vec<&TensorType>, Vec<&TensorType>) =
            (inputs.iter().collect(), outputs.iter().collect());
        // Sometimes, some operands are virtual iotas.
        let mut counts = |t: &TensorType| {
            let can_count = (op.is_sort() || matches!(op, Op::Reduce { .. })) && t.dtype.is_integer();
            let some = can_count && t.rank() > 0 && r.below(4) == 0;
            some.then(|| r.below(t.rank()))
        };
        let iotas: Vec<Option<usize>> = inputs.iter().map(&mut counts).collect();
        let iotas = if iotas.iter().all(Option::is_none) { &[][..] } else { &iotas[..] };
        let request = Request { op: &op, bodies: &bodies, inputs: &xs, outputs: &ys, iotas };
        let Some((kernel, prepared)) = find(&request) else { continue };
        counted += usize::from(!iotas.is_empty());
        let scratch = (prepared.scratch() > 0).then(|| prepared.scratch());
        let in_memory = |(i, t): (usize, &TensorType)| match iotas.get(i) {
            Some(Some(_)) => 0,
            _ => t.bytes().unwrap(),
        };
        let all = inputs.iter().enumerate().map(in_memory);
        let sizes = all.chain(outputs.iter().map(|t| t.bytes().unwrap())).chain(scratch);
        let sizes: Vec<usize> = sizes.collect();
        let count = served[which].entry(kernel.name()).or_default();
        *count += 1;
        if sizes.iter().all(|size| *size < 1 << 12) {
            // The memory around the buffers must be neither written nor read.
            let run = |margin, link| run(&prepared, &sizes, inputs.len(), margin, round, link);
            let (a, b) = (run(0xa5, None), run(0x01, None));
            let (linked, chosen) = (run(0xa5, Some(Link::Alone)), run(0xa5, Some(Link::InChoice)));
            let same = a.is_some() && a == b && a == linked && a == chosen;
            assert!(same, "round {round}: runs of {op:?} on {inputs:?} to {outputs:?} differ");
            lines += usize::from(prepared.line().is_some());
        }
    }
    assert!(
        served.iter().all(|by| by.values().sum::<usize>() > 10),
        "a generator has too few accepted requests: {served:?}"
    );
    assert!(lines > 1000, "only {lines} straight-line programs");
    assert!(counted > 20, "only {counted} requests with virtual operands");
}

#[test]
fn names_are_unique() {
    for (i, kernel) in TABLE.iter().enumerate() {
        assert_eq!(KernelId::named(kernel.name), Some(KernelId::at(i)), "{}", kernel.name);
    }
}
