//! Products, linear algebra, random numbers, collectives, and derived operations.

use farcall::ir::op::{
    AllGather, AllToAll, BatchNorm, Binary, Broadcasted, Broadcasting, CollectiveBroadcast,
    CollectivePermute, Compare, ComparisonDirection, Convolution, ConvolutionDims, Derived, DotGeneral,
    FftKind, Groups, RaggedDot, ReduceScatter, RngAlgorithm, RngDistribution, TriangularSolve,
    TriangularTranspose,
};
use farcall::ir::{DType, Literal, NewInst, Op, Scalar, TensorType, ValueId};

use super::generate::{Gen, Meta, Need, is_float, largest_integer, splat};
use super::ops::{binary_meta, draw};
use super::regions::reducer;

/// Adds an instruction of one of the kinds in this file.
pub(crate) fn any(g: &mut Gen) -> Option<()> {
    let make = draw(
        g,
        &[
            (6, dot_general),
            (2, convolution),
            (1, linear),
            (1, fft),
            (1, random_bits),
            (1, random_numbers),
            (3, collective),
            (5, broadcasting),
            (4, derived),
            (1, batch_norm),
            (1, ragged_dot),
            (1, device),
        ],
    );
    make(g)
}

/// Returns a factor of a product. Its floats are small integers, so that sums of products are exact.
fn factor(g: &mut Gen, ty: &TensorType) -> ValueId {
    g.of(ty, Need::Integers(limit(ty.dtype)))
}

fn limit(dtype: DType) -> u64 {
    match largest_integer(dtype) {
        n if n < 64 => 1,
        n if n < 2_000 => 2,
        _ => 8,
    }
}

/// Properties of sums of `count` products.
fn product(g: &Gen, a: ValueId, b: ValueId, count: usize) -> Meta {
    let dtype = g.tensor(a).dtype;
    if !is_float(dtype) {
        return Meta::BITS;
    }
    let bounds = g.meta_of(a).bound.zip(g.meta_of(b).bound);
    let sum = bounds.and_then(|(a, b)| a.checked_mul(b)?.checked_mul(2 * count.max(1) as u64));
    match sum {
        Some(sum) if sum <= largest_integer(dtype) => Meta::bounded(Some(sum), dtype),
        _ => Meta::FUZZY,
    }
}

fn left(g: &mut Gen, ranks: std::ops::RangeInclusive<usize>) -> ValueId {
    let dtype = g.dtype();
    let most = limit(dtype);
    if g.r.one_in(3) {
        return g.some(Need::Integers(8), |d| d == dtype, ranks);
    }
    g.some(Need::Integers(most), |d| limit(d) >= most, ranks)
}

fn dot_general(g: &mut Gen) -> Option<()> {
    let a = left(g, 0..=4);
    let from = g.tensor(a);
    let (mut lhs_batch, mut lhs_contract, mut free) = (vec![], vec![], vec![]);
    for d in 0..from.rank() {
        match g.r.below(3) {
            0 => lhs_batch.push(d),
            1 => lhs_contract.push(d),
            _ => free.push(d),
        }
    }
    // The dimensions of the right side, in random order: the kind of each (0 for batching, 1 for contracting,
    // 2 for free), and the corresponding dimension of the left side.
    let mut kinds: Vec<(usize, Option<usize>)> = lhs_batch.iter().map(|d| (0, Some(*d))).collect();
    kinds.extend(lhs_contract.iter().map(|d| (1, Some(*d))));
    while kinds.len() < 3 && g.r.one_in(2) {
        kinds.push((2, None));
    }
    for i in 0..kinds.len() {
        let j = g.r.below(kinds.len());
        kinds.swap(i, j);
    }
    let dims: Vec<usize> =
        kinds.iter().map(|(_, d)| d.map_or_else(|| g.size(), |d| from.sizes()[d])).collect();
    let place = |d: usize| kinds.iter().position(|k| k.1 == Some(d)).unwrap_or(0);
    let (rhs_batch, rhs_contract) =
        (lhs_batch.iter().map(|d| place(*d)).collect(), lhs_contract.iter().map(|d| place(*d)).collect());
    let b = factor(g, &from.with_sizes(dims.clone()));
    let count: usize = lhs_contract.iter().map(|d| from.sizes()[*d]).product();
    let meta = product(g, a, b, count);
    let mut shape: Vec<usize> = lhs_batch.iter().chain(&free).map(|d| from.sizes()[*d]).collect();
    shape.extend(kinds.iter().zip(&dims).filter(|(k, _)| k.0 == 2).map(|(_, n)| *n));
    if shape.iter().product::<usize>() > 3_000 {
        return None;
    }
    let to = match from.dtype {
        DType::S8 | DType::U8 if g.r.one_in(3) => DType::S32,
        DType::BF16 | DType::F16 if g.r.one_in(3) => DType::F32,
        same => same,
    };
    let op =
        DotGeneral { lhs_batch, rhs_batch, lhs_contract, rhs_contract, precision: vec![], algorithm: None };
    g.value_of(Op::DotGeneral(Box::new(op)), &[a, b], &TensorType::new(to, shape), meta).map(drop)
}

fn convolution(g: &mut Gen) -> Option<()> {
    let dtype = g.dtype();
    let spatial = g.r.below(3);
    let (feature_groups, batch_groups) = g.r.pick(&[(1, 1), (1, 1), (2, 1), (1, 2)]);
    let (features, outputs) =
        (feature_groups * (1 + g.r.below(2)), feature_groups * batch_groups * (1 + g.r.below(2)));
    let batch = batch_groups * g.r.pick(&[0, 1, 1, 2]);
    let mut lhs = vec![batch, features];
    let mut rhs = vec![features / feature_groups, outputs];
    for _ in 0..spatial {
        lhs.push(g.size());
        rhs.push(g.r.pick(&[1, 2, 3]));
    }
    let (lhs, rhs) = (TensorType::new(dtype, lhs), TensorType::new(dtype, rhs));
    let (a, b) = (factor(g, &lhs), factor(g, &rhs));
    let mut each = |choices: &[usize]| -> Vec<usize> { (0..spatial).map(|_| g.r.pick(choices)).collect() };
    let (strides, lhs_dilation, rhs_dilation) = (each(&[1, 1, 2]), each(&[1, 1, 2]), each(&[1, 1, 2]));
    let padding: Vec<(i64, i64)> =
        each(&[0, 1, 2]).into_iter().zip(each(&[0, 1, 2])).map(|(a, b)| (a as i64, b as i64 - 1)).collect();
    let reversal = each(&[0, 1]).into_iter().map(|n| n == 1).collect();
    let count: usize = rhs.sizes().iter().product();
    let meta = product(g, a, b, count);
    let dims = || (2..2 + spatial).collect::<Vec<usize>>();
    let dims = ConvolutionDims {
        input_batch: 0,
        input_feature: 1,
        input_spatial: dims(),
        kernel_input_feature: 0,
        kernel_output_feature: 1,
        kernel_spatial: dims(),
        output_batch: 0,
        output_feature: 1,
        output_spatial: dims(),
    };
    let op = Convolution {
        strides,
        padding: padding.clone(),
        lhs_dilation,
        rhs_dilation,
        reversal,
        dims,
        feature_group_count: feature_groups,
        batch_group_count: batch_groups,
        precision: vec![],
    };
    let declared = TensorType::new(dtype, vec![0; 2 + spatial]);
    let y = g.value_of(Op::Convolution(Box::new(op.clone())), &[a, b], &declared, meta)?;
    if g.r.one_in(4) {
        let numbers: Vec<i64> = padding.iter().flat_map(|(a, b)| [*a, *b]).collect();
        let list = g.numbers(DType::S64, vec![spatial, 2], &numbers);
        let op = Op::DynamicConvolution(Box::new(Convolution { padding: vec![], ..op }));
        g.value_of(op, &[a, b, list], &g.tensor(y), meta)?;
    }
    Some(())
}

/// Type of a square matrix, or of a batch of square matrices.
fn matrix(g: &mut Gen) -> TensorType {
    let dtype = g.r.pick(&[DType::F32, DType::F64, DType::C64]);
    let n = g.r.below(4);
    let dims = if g.r.one_in(2) { vec![n, n] } else { vec![g.r.below(3), n, n] };
    TensorType::new(dtype, dims)
}

fn linear(g: &mut Gen) -> Option<()> {
    let ty = matrix(g);
    let a = factor(g, &ty);
    if g.r.one_in(2) {
        let lower = g.r.one_in(2);
        return g.value(Op::Cholesky { lower }, &[a], Meta::FUZZY).map(drop);
    }
    let b = factor(g, &ty);
    let op = TriangularSolve {
        left_side: g.r.one_in(2),
        lower: g.r.one_in(2),
        unit_diagonal: g.r.one_in(2),
        transpose_a: g.r.pick(&TriangularTranspose::VARIANTS),
    };
    g.value(Op::TriangularSolve(op), &[a, b], Meta::FUZZY).map(drop)
}

fn fft(g: &mut Gen) -> Option<()> {
    let kind = g.r.pick(&FftKind::VARIANTS);
    let complex = kind != FftKind::Rfft;
    let x = g.some(Need::Integers(8), |d| if complex { d == DType::C64 } else { d == DType::F32 }, 1..=3);
    let dims = g.tensor(x).sizes().to_vec();
    let last = 1 + g.r.below(dims.len());
    let mut length = dims[dims.len() - last..].to_vec();
    if kind == FftKind::Irfft {
        let n = length.pop()?;
        length.push((2 * n).saturating_sub(2 - g.r.below(2)));
    }
    g.value(Op::Fft { kind, length }, &[x], Meta::FUZZY).map(drop)
}

fn random_bits(g: &mut Gen) -> Option<()> {
    let algorithm = g.r.pick(&RngAlgorithm::VARIANTS);
    let state = TensorType::new(DType::U64, [2]);
    let x = g.of(&state, Need::Exact);
    let ty = g.ty().with_dtype(g.r.pick(&[DType::U32, DType::U64, DType::S32, DType::U8, DType::S64]));
    let types = vec![state.into(), ty.into()];
    g.emit(NewInst::new(Op::RngBitGenerator(algorithm), [x]), types, &[Meta::BITS]).map(drop)
}

fn random_numbers(g: &mut Gen) -> Option<()> {
    let ty = g.ty().with_dtype(g.r.pick(&[DType::F32, DType::S32, DType::F64]));
    let numbers: Vec<i64> = ty.sizes().iter().map(|n| *n as i64).collect();
    let shape = g.numbers(DType::S64, vec![ty.rank()], &numbers);
    // The interval or the standard deviation has size zero, so that the numbers do not depend on how the
    // program runs.
    let kind = g.r.pick(&RngDistribution::VARIANTS);
    let size = i64::from(kind == RngDistribution::Uniform);
    let (a, b) = (g.numbers(ty.dtype, vec![], &[1]), g.numbers(ty.dtype, vec![], &[size]));
    g.value_of(Op::Rng(kind), &[a, b, shape], &ty, Meta::FUZZY).map(drop)
}

fn device(g: &mut Gen) -> Option<()> {
    let op = if g.r.one_in(2) { Op::PartitionId } else { Op::ReplicaId };
    g.value(op, &[], Meta::BITS).map(drop)
}

fn collective(g: &mut Gen) -> Option<()> {
    let x = g.some(Need::Exact, |_| true, 1..=3);
    let (ty, meta) = (g.tensor(x), g.meta_of(x));
    let dim = g.r.below(ty.rank());
    let ids = Literal::splat(DType::S64, [1, 1], Scalar::Signed(0));
    let groups = Groups { ids, channel: None, global_ids: false };
    let kind = g.r.below(7);
    if (3..6).contains(&kind) {
        let (body, _) = reducer(g, ty.dtype, [meta, meta], 1);
        let op = match kind {
            3 => Op::AllReduce(Box::new(groups)),
            4 => Op::ReduceScatter(Box::new(ReduceScatter { dim, groups })),
            _ => Op::CollectiveReduce(Box::new(CollectiveBroadcast { groups, dynamic_root: false })),
        };
        return g.emit(NewInst::new(op, [x]).with_regions([body]), vec![ty.into()], &[meta]).map(drop);
    }
    let op = match kind {
        0 => Op::AllGather(Box::new(AllGather { dim, groups })),
        1 => Op::AllToAll(Box::new(AllToAll { split_dim: dim, concat_dim: dim, split_count: 1, groups })),
        2 => Op::CollectiveBroadcast(Box::new(CollectiveBroadcast { groups, dynamic_root: false })),
        _ => {
            let pairs = Literal::splat(DType::S64, [1, 2], Scalar::Signed(0));
            Op::CollectivePermute(Box::new(CollectivePermute { pairs, channel: None }))
        }
    };
    g.emit(NewInst::new(op, [x]), vec![ty.into()], &[meta]).map(drop)
}

// --- derived

/// Adds an elementwise function whose operands may have different shapes, and are broadcast.
fn broadcasting(g: &mut Gen) -> Option<()> {
    let all: Vec<Binary> = Broadcasted::binary().collect();
    let op = g.r.pick(&all);
    let class = op.info().operand;
    let fuzzy = matches!(op, Binary::Atan2 | Binary::Power | Binary::Polygamma | Binary::Zeta);
    let need = if fuzzy { Need::Integers(8) } else { Need::Exact };
    let function = match g.r.below(6) {
        0 => {
            Broadcasted::Compare(Compare { direction: g.r.pick(&ComparisonDirection::VARIANTS), kind: None })
        }
        1 => Broadcasted::Select,
        _ => Broadcasted::Binary(op),
    };
    let taken = |d: DType| match function {
        Broadcasted::Binary(_) => class.has(&TensorType::scalar(d)),
        _ => !d.is_complex(),
    };
    let a = g.some(need, taken, 0..=4);
    let ty = g.tensor(a);
    let cut = g.r.below(ty.rank() + 1);
    let dims: Vec<usize> = ty.sizes()[cut..].iter().map(|n| if g.r.one_in(3) { 1 } else { *n }).collect();
    let b = g.of(&ty.with_sizes(dims), need);
    let (a, b) = if g.r.one_in(3) { (b, a) } else { (a, b) };
    let meta = match function {
        Broadcasted::Binary(op) => binary_meta(op, ty.dtype, g.meta_of(a), g.meta_of(b)),
        Broadcasted::Compare(_) => Meta::BITS,
        Broadcasted::Select => g.meta_of(a).or(g.meta_of(b)),
    };
    let mut operands = vec![a, b];
    if function == Broadcasted::Select {
        operands.insert(0, g.scalar(DType::Pred, Need::Exact));
    }
    let op = Op::Derived(Derived::Broadcasting(Broadcasting { function, dims: None }));
    g.value(op, &operands, meta).map(drop)
}

fn derived(g: &mut Gen) -> Option<()> {
    match g.r.below(6) {
        0 => {
            let x = g.some(Need::Anything, |_| true, 0..=2);
            let sizes = (0..g.r.below(3)).map(|_| g.size()).collect();
            g.value(Op::Derived(Derived::Broadcast { sizes }), &[x], g.meta_of(x)).map(drop)
        }
        1 => {
            let x = g.some(Need::Anything, |_| true, 0..=4);
            let literal = splat(&TensorType::scalar(g.tensor(x).dtype), 1, false);
            let meta = super::generate::meta_of(&literal);
            g.value(Op::Derived(Derived::ConstantLike(literal)), &[x], meta).map(drop)
        }
        2 => {
            let a = left(g, 1..=2);
            let from = g.tensor(a);
            let n = *from.sizes().last()?;
            let dims = if g.r.one_in(2) { vec![n] } else { vec![n, g.size()] };
            let b = factor(g, &from.with_sizes(dims.clone()));
            let mut shape = from.sizes()[..from.rank() - 1].to_vec();
            shape.extend(&dims[1..]);
            let meta = product(g, a, b, n);
            g.value_of(
                Op::Derived(Derived::Dot { precision: vec![] }),
                &[a, b],
                &from.with_sizes(shape),
                meta,
            )
            .map(drop)
        }
        3 => {
            let a = left(g, 2..=2);
            let from = g.tensor(a);
            let (config, dims) = match g.r.below(4) {
                0 => ("ab,bc->ac", vec![from.sizes()[1], g.size()]),
                1 => ("ab,ab->", from.sizes().to_vec()),
                2 => ("ab,b->ba", vec![from.sizes()[1]]),
                _ => ("ab,cb->cab", vec![g.size(), from.sizes()[1]]),
            };
            let b = factor(g, &from.with_sizes(dims));
            let meta = product(g, a, b, from.elements()?);
            let op = Op::Derived(Derived::Einsum { config: config.to_owned() });
            g.value_of(op, &[a, b], &TensorType::scalar(from.dtype), meta).map(drop)
        }
        4 => {
            let a = left(g, 2..=2);
            let config = g.r.pick(&["ab->ba", "ab->a", "ab->", "ab->b"]).to_owned();
            let meta = product(g, a, a, g.tensor(a).elements()?);
            let op = Op::Derived(Derived::UnaryEinsum { config });
            g.value_of(op, &[a], &TensorType::scalar(g.tensor(a).dtype), meta).map(drop)
        }
        _ => {
            let x = g.some(Need::Anything, |_| true, 1..=3);
            let rank = g.tensor(x).rank();
            let index = TensorType::new(DType::S32, [g.r.below(4)]);
            let index = g.of(&index, Need::Exact);
            let dim = g.r.below(rank) as i64;
            g.value(Op::Derived(Derived::TorchIndexSelect { dim, batch_dims: 0 }), &[x, index], g.meta_of(x))
                .map(drop)
        }
    }
}

fn batch_norm(g: &mut Gen) -> Option<()> {
    let dtype = g.r.pick(&[DType::F32, DType::F64]);
    let x = g.some(Need::Integers(8), |d| d == dtype, 2..=4);
    let ty = g.tensor(x);
    let feature = g.r.below(ty.rank());
    let vector = ty.with_sizes([ty.sizes()[feature]]);
    let op = BatchNorm { epsilon_bits: 0.5f32.to_bits(), feature };
    let mut list = vec![x];
    let vectors = g.r.below(3);
    let count = [4, 2, 3][vectors];
    for _ in 0..count {
        list.push(g.of(&vector, Need::Integers(4)));
    }
    let (op, types) = match vectors {
        0 => (Derived::BatchNormInference(op), vec![ty.into()]),
        1 => (Derived::BatchNormTraining(op), vec![ty.into(), vector.clone().into(), vector.into()]),
        _ => {
            list.push(g.of(&ty, Need::Integers(4)));
            (Derived::BatchNormGrad(op), vec![ty.into(), vector.clone().into(), vector.into()])
        }
    };
    g.emit(NewInst::new(Op::Derived(op), list), types, &[Meta::FUZZY]).map(drop)
}

fn ragged_dot(g: &mut Gen) -> Option<()> {
    let a = left(g, 2..=2);
    let from = g.tensor(a);
    let groups = 1 + g.r.below(3);
    let columns = g.size();
    let b = factor(g, &from.with_sizes([groups, from.sizes()[1], columns]));
    let numbers: Vec<i64> = (0..groups).map(|_| g.r.below(4) as i64).collect();
    let counts = g.numbers(DType::S32, vec![groups], &numbers);
    let meta = product(g, a, b, from.sizes()[1]);
    let op = RaggedDot {
        lhs_batch: vec![],
        rhs_batch: vec![],
        lhs_contract: vec![1],
        rhs_contract: vec![1],
        lhs_ragged: vec![0],
        rhs_group: vec![0],
        precision: vec![],
    };
    let ty = from.with_sizes([from.sizes()[0], columns]);
    g.value_of(Op::Derived(Derived::RaggedDot(Box::new(op))), &[a, b, counts], &ty, meta).map(drop)
}
