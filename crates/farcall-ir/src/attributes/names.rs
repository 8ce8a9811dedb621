//! Maps the name of an operation to the function that creates it from its attributes.

use std::sync::LazyLock;

use rustc_hash::FxHashMap;

use super::{
    Bad, Fields, call, collective, contraction, control, data, derived, elementwise, indexing, linalg,
    random, reduction,
};
use crate::op::{Binary, Broadcasted, Derived, Op, Unary};

/// A method of creating an operation from attributes.
enum Read {
    Op(fn(&mut Fields<'_>) -> Result<Op, Bad>),
    Unary(Unary),
    Binary(Binary),
    /// A binary function whose operands may have different shapes.
    Broadcasting(Binary),
}

/// Creates the operation with a name from its attributes, which are removed from the dictionary; the
/// remaining attributes belong to the instruction. Returns `None` if no operation has this name.
///
/// # Errors
/// A sentence that describes an invalid attribute.
pub fn read(name: &str, fields: &mut Fields<'_>) -> Option<Result<Op, Bad>> {
    Some(match NAMES.get(name)? {
        Read::Op(read) => read(fields),
        Read::Unary(op) => {
            elementwise::drop_default_accuracy(fields);
            Ok(Op::Unary(*op))
        }
        Read::Binary(op) => Ok(Op::Binary(*op)),
        Read::Broadcasting(op) => derived::read_broadcasting(fields, *op),
    })
}

/// The names that [`read`] accepts.
pub fn names() -> impl Iterator<Item = &'static str> {
    NAMES.keys().copied()
}

static NAMES: LazyLock<FxHashMap<&'static str, Read>> = LazyLock::new(|| {
    let unary = Unary::VARIANTS.into_iter().map(|op| (op.name(), Read::Unary(op)));
    let binary = Binary::VARIANTS.into_iter().map(|op| (op.name(), Read::Binary(op)));
    let broadcasting = Broadcasted::binary().map(|op| (op.info().broadcasting.name, Read::Broadcasting(op)));
    let others = OPS.iter().map(|(name, read)| (*name, Read::Op(*read)));
    unary.chain(binary).chain(broadcasting).chain(others).collect()
});

type Row = (&'static str, fn(&mut Fields<'_>) -> Result<Op, Bad>);

const fn op(name: &'static str, read: fn(&mut Fields<'_>) -> Result<Op, Bad>) -> Row {
    (name, read)
}

/// Operations that are neither unary nor binary functions.
static OPS: &[Row] = &[
    // elementwise
    op("stablehlo.compare", elementwise::read_compare),
    op("stablehlo.select", |_| Ok(Op::Select)),
    op("stablehlo.clamp", |_| Ok(Op::Clamp)),
    op("stablehlo.convert", |_| Ok(Op::Convert)),
    op("stablehlo.bitcast_convert", |_| Ok(Op::BitcastConvert)),
    op("mhlo.copy", |_| Ok(Op::Copy)),
    op("mhlo.fusion", |_| Ok(Op::Fusion)),
    op("stablehlo.reduce_precision", elementwise::read_reduce_precision),
    op("stablehlo.uniform_quantize", |_| Ok(Op::UniformQuantize)),
    op("stablehlo.uniform_dequantize", |_| Ok(Op::UniformDequantize)),
    // data
    op("stablehlo.constant", data::read_constant),
    op("chlo.constant", data::read_constant),
    op("stablehlo.iota", |f| Ok(Op::Iota { dim: f.usize("iota_dimension")? })),
    op("stablehlo.dynamic_iota", |f| Ok(Op::DynamicIota { dim: f.usize("iota_dimension")? })),
    op("stablehlo.broadcast_in_dim", |f| Ok(Op::BroadcastInDim { dims: f.usizes("broadcast_dimensions")? })),
    op("stablehlo.dynamic_broadcast_in_dim", |f| {
        Ok(Op::DynamicBroadcastInDim { dims: f.usizes("broadcast_dimensions")? })
    }),
    op("stablehlo.reshape", |_| Ok(Op::Reshape)),
    op("stablehlo.dynamic_reshape", |_| Ok(Op::DynamicReshape)),
    op("stablehlo.transpose", |f| Ok(Op::Transpose { permutation: f.usizes("permutation")? })),
    op("stablehlo.slice", data::read_slice),
    op("stablehlo.concatenate", |f| Ok(Op::Concatenate { dim: f.usize("dimension")? })),
    op("stablehlo.pad", data::read_pad),
    op("stablehlo.dynamic_pad", |_| Ok(Op::DynamicPad)),
    op("stablehlo.reverse", |f| Ok(Op::Reverse { dims: f.usizes("dimensions")? })),
    op("stablehlo.get_dimension_size", |f| Ok(Op::GetDimensionSize { dim: f.usize("dimension")? })),
    op("stablehlo.set_dimension_size", |f| Ok(Op::SetDimensionSize { dim: f.usize("dimension")? })),
    // indexing
    op("stablehlo.dynamic_slice", |f| Ok(Op::DynamicSlice { sizes: f.usizes("slice_sizes")? })),
    op("stablehlo.dynamic_update_slice", |_| Ok(Op::DynamicUpdateSlice)),
    op("stablehlo.real_dynamic_slice", |_| Ok(Op::RealDynamicSlice)),
    op("stablehlo.gather", indexing::read_gather),
    op("stablehlo.dynamic_gather", indexing::read_dynamic_gather),
    op("stablehlo.scatter", indexing::read_scatter),
    // reduction
    op("stablehlo.reduce", |f| Ok(Op::Reduce { dims: f.usizes("dimensions")? })),
    op("stablehlo.reduce_window", reduction::read_reduce_window),
    op("stablehlo.select_and_scatter", reduction::read_select_and_scatter),
    op("stablehlo.map", |f| Ok(Op::Map { dims: f.usizes("dimensions")? })),
    op("chlo.scan", reduction::read_scan),
    op("stablehlo.sort", reduction::read_sort),
    op("chlo.top_k", |f| Ok(Op::TopK { k: f.usize("k")? })),
    // contraction
    op("stablehlo.dot_general", contraction::read_dot_general),
    op("stablehlo.convolution", contraction::read_convolution),
    op("stablehlo.dynamic_conv", contraction::read_dynamic_convolution),
    // linalg
    op("stablehlo.cholesky", |f| Ok(Op::Cholesky { lower: f.flag("lower")? })),
    op("stablehlo.triangular_solve", linalg::read_triangular_solve),
    op("stablehlo.fft", linalg::read_fft),
    // random
    op("stablehlo.rng_bit_generator", random::read_rng_bit_generator),
    op("stablehlo.rng", random::read_rng),
    // control
    op("stablehlo.if", |_| Ok(Op::If)),
    op("stablehlo.case", |_| Ok(Op::Case)),
    op("stablehlo.while", |_| Ok(Op::While)),
    op("func.call", |f| Ok(Op::Call { callee: f.func("callee")? })),
    op("stablehlo.composite", control::read_composite),
    op("stablehlo.return", |_| Ok(Op::Return)),
    op("func.return", |_| Ok(Op::Return)),
    op("stablehlo.optimization_barrier", |_| Ok(Op::OptimizationBarrier)),
    op("stablehlo.after_all", |_| Ok(Op::AfterAll)),
    op("stablehlo.create_token", |_| Ok(Op::CreateToken)),
    op("stablehlo.tuple", |_| Ok(Op::Tuple)),
    op("stablehlo.get_tuple_element", |f| Ok(Op::GetTupleElement { index: f.usize("index")? })),
    op("stablehlo.async_start", |_| Ok(Op::AsyncStart)),
    op("stablehlo.async_done", |_| Ok(Op::AsyncDone)),
    op("stablehlo.infeed", control::read_infeed),
    op("stablehlo.outfeed", control::read_outfeed),
    op("stablehlo.send", control::read_send),
    op("stablehlo.recv", control::read_recv),
    op("stablehlo.partition_id", |_| Ok(Op::PartitionId)),
    op("stablehlo.replica_id", |_| Ok(Op::ReplicaId)),
    // collective
    op("stablehlo.all_gather", collective::read_all_gather),
    op("stablehlo.all_reduce", collective::read_all_reduce),
    op("stablehlo.reduce_scatter", collective::read_reduce_scatter),
    op("stablehlo.all_to_all", collective::read_all_to_all),
    op("stablehlo.collective_broadcast", collective::read_collective_broadcast),
    op("stablehlo.collective_reduce", collective::read_collective_reduce),
    op("stablehlo.collective_permute", collective::read_collective_permute),
    // derived
    op("stablehlo.broadcast", derived::read_broadcast),
    op("chlo.broadcast_compare", derived::read_broadcast_compare),
    op("chlo.broadcast_select", derived::read_broadcast_select),
    op("chlo.constant_like", derived::read_constant_like),
    op("stablehlo.dot", derived::read_dot),
    op("stablehlo.einsum", derived::read_einsum),
    op("stablehlo.unary_einsum", derived::read_unary_einsum),
    op("stablehlo.torch_index_select", derived::read_index_select),
    op("stablehlo.batch_norm_inference", |f| {
        Ok(Op::Derived(Derived::BatchNormInference(derived::read_batch_norm(f)?)))
    }),
    op("stablehlo.batch_norm_training", |f| {
        Ok(Op::Derived(Derived::BatchNormTraining(derived::read_batch_norm(f)?)))
    }),
    op("stablehlo.batch_norm_grad", |f| {
        Ok(Op::Derived(Derived::BatchNormGrad(derived::read_batch_norm(f)?)))
    }),
    op("chlo.ragged_dot", derived::read_ragged_dot),
    op("chlo.sin_cos", |_| Ok(Op::Derived(Derived::SinCos))),
    // call
    op("stablehlo.custom_call", call::read_custom_call),
];
