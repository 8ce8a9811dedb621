//! Creates operations from their attributes.

use super::{
    Bad, Fields, call, collective, contraction, control, data, derived, elementwise, form, indexing, linalg,
    random, reduction,
};
use crate::op::{Derived, Op, Opcode};

/// Creates the operation with a name from its attributes, which are removed from the dictionary; the
/// remaining attributes belong to the instruction. Returns `None` if no operation has this name.
///
/// # Errors
/// A sentence that describes an invalid attribute.
pub fn read(name: &str, fields: &mut Fields<'_>) -> Option<Result<Op, Bad>> {
    let opcode = Opcode::named(name)?;
    let before: Vec<String> =
        if cfg!(debug_assertions) { fields.attrs.keys().cloned().collect() } else { Vec::new() };
    let op = read_op(opcode, fields);
    let undeclared =
        before.iter().find(|key| !fields.attrs.contains_key(key) && !super::is_declared(opcode, key));
    debug_assert_eq!(undeclared, None, "the row of {name} in the operation table lacks an attribute");
    Some(op)
}

fn read_op(opcode: Opcode, f: &mut Fields<'_>) -> Result<Op, Bad> {
    match opcode {
        Opcode::Unary(op) => {
            elementwise::drop_default_accuracy(f);
            Ok(Op::Unary(op))
        }
        Opcode::Binary(op) => Ok(Op::Binary(op)),
        Opcode::Broadcasting(op) => derived::read_broadcasting(f, op),
        // elementwise
        Opcode::Compare => elementwise::read_compare(f),
        Opcode::Select => Ok(Op::Select),
        Opcode::Clamp => Ok(Op::Clamp),
        Opcode::Convert => Ok(Op::Convert),
        Opcode::BitcastConvert => Ok(Op::BitcastConvert),
        Opcode::Copy => Ok(Op::Copy),
        Opcode::ReducePrecision => elementwise::read_reduce_precision(f),
        Opcode::UniformQuantize => Ok(Op::UniformQuantize),
        Opcode::UniformDequantize => Ok(Op::UniformDequantize),
        // data
        Opcode::Constant => data::read_constant(f),
        Opcode::Iota => Ok(Op::Iota { dim: f.usize("iota_dimension")? }),
        Opcode::DynamicIota => Ok(Op::DynamicIota { dim: f.usize("iota_dimension")? }),
        Opcode::BroadcastInDim => Ok(Op::BroadcastInDim { dims: f.usizes("broadcast_dimensions")? }),
        Opcode::DynamicBroadcastInDim => {
            Ok(Op::DynamicBroadcastInDim { dims: f.usizes("broadcast_dimensions")? })
        }
        Opcode::Reshape => Ok(Op::Reshape),
        Opcode::DynamicReshape => Ok(Op::DynamicReshape),
        Opcode::Transpose => Ok(Op::Transpose { permutation: f.usizes("permutation")? }),
        Opcode::Slice => data::read_slice(f),
        Opcode::Concatenate => Ok(Op::Concatenate { dim: f.usize("dimension")? }),
        Opcode::Pad => data::read_pad(f),
        Opcode::DynamicPad => Ok(Op::DynamicPad),
        Opcode::Reverse => Ok(Op::Reverse { dims: f.usizes("dimensions")? }),
        Opcode::GetDimensionSize => Ok(Op::GetDimensionSize { dim: f.usize("dimension")? }),
        Opcode::SetDimensionSize => Ok(Op::SetDimensionSize { dim: f.usize("dimension")? }),
        // indexing
        Opcode::DynamicSlice => Ok(Op::DynamicSlice { sizes: f.usizes("slice_sizes")? }),
        Opcode::DynamicUpdateSlice => Ok(Op::DynamicUpdateSlice),
        Opcode::RealDynamicSlice => Ok(Op::RealDynamicSlice),
        Opcode::Gather => indexing::read_gather(f),
        Opcode::DynamicGather => indexing::read_dynamic_gather(f),
        Opcode::Scatter => indexing::read_scatter(f),
        // reduction
        Opcode::Reduce => Ok(Op::Reduce { dims: f.usizes("dimensions")? }),
        Opcode::ReduceWindow => reduction::read_reduce_window(f),
        Opcode::SelectAndScatter => reduction::read_select_and_scatter(f),
        Opcode::Map => Ok(Op::Map { dims: f.usizes("dimensions")? }),
        Opcode::Scan => reduction::read_scan(f),
        Opcode::Sort => reduction::read_sort(f),
        Opcode::TopK => Ok(Op::TopK { k: f.usize("k")? }),
        // contraction
        Opcode::DotGeneral => contraction::read_dot_general(f),
        Opcode::Convolution => contraction::read_convolution(f),
        Opcode::DynamicConvolution => contraction::read_dynamic_convolution(f),
        // linalg
        Opcode::Cholesky => Ok(Op::Cholesky { lower: f.flag("lower")? }),
        Opcode::TriangularSolve => linalg::read_triangular_solve(f),
        Opcode::Fft => linalg::read_fft(f),
        // random
        Opcode::RngBitGenerator => random::read_rng_bit_generator(f),
        Opcode::Rng => random::read_rng(f),
        // control
        Opcode::If => Ok(Op::If),
        Opcode::Case => Ok(Op::Case),
        Opcode::While => Ok(Op::While),
        Opcode::Call => Ok(Op::Call { callee: f.func("callee")? }),
        Opcode::Composite => control::read_composite(f),
        Opcode::Return => Ok(Op::Return),
        Opcode::OptimizationBarrier => Ok(Op::OptimizationBarrier),
        Opcode::AfterAll => Ok(Op::AfterAll),
        Opcode::CreateToken => Ok(Op::CreateToken),
        Opcode::Tuple => Ok(Op::Tuple),
        Opcode::GetTupleElement => Ok(Op::GetTupleElement { index: f.usize("index")? }),
        Opcode::AsyncStart => Ok(Op::AsyncStart),
        Opcode::AsyncDone => Ok(Op::AsyncDone),
        Opcode::Infeed => control::read_infeed(f),
        Opcode::Outfeed => control::read_outfeed(f),
        Opcode::Send => control::read_send(f),
        Opcode::Recv => control::read_recv(f),
        Opcode::PartitionId => Ok(Op::PartitionId),
        Opcode::ReplicaId => Ok(Op::ReplicaId),
        // collective
        Opcode::AllGather => collective::read_all_gather(f),
        Opcode::AllReduce => collective::read_all_reduce(f),
        Opcode::ReduceScatter => collective::read_reduce_scatter(f),
        Opcode::AllToAll => collective::read_all_to_all(f),
        Opcode::CollectiveBroadcast => collective::read_collective_broadcast(f),
        Opcode::CollectiveReduce => collective::read_collective_reduce(f),
        Opcode::CollectivePermute => collective::read_collective_permute(f),
        // derived
        Opcode::Broadcast => derived::read_broadcast(f),
        Opcode::BroadcastCompare => derived::read_broadcast_compare(f),
        Opcode::BroadcastSelect => derived::read_broadcast_select(f),
        Opcode::ConstantLike => derived::read_constant_like(f),
        Opcode::Dot => derived::read_dot(f),
        Opcode::Einsum => derived::read_einsum(f),
        Opcode::UnaryEinsum => derived::read_unary_einsum(f),
        Opcode::TorchIndexSelect => derived::read_index_select(f),
        Opcode::BatchNormInference => {
            Ok(Op::Derived(Derived::BatchNormInference(derived::read_batch_norm(f)?)))
        }
        Opcode::BatchNormTraining => {
            Ok(Op::Derived(Derived::BatchNormTraining(derived::read_batch_norm(f)?)))
        }
        Opcode::BatchNormGrad => Ok(Op::Derived(Derived::BatchNormGrad(derived::read_batch_norm(f)?))),
        Opcode::RaggedDot => derived::read_ragged_dot(f),
        Opcode::SinCos => Ok(Op::Derived(Derived::SinCos)),
        // call
        Opcode::CustomCall => call::read_custom_call(f),
        // form
        Opcode::Form(op) => form::read(op, f).map(Op::Form),
    }
}
