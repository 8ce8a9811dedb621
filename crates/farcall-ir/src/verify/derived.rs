//! Checks the results of operations that are defined by simpler ones.

use super::results::{Codes, check, check_each};
use crate::infer::Cx;
use crate::op::Derived;
use crate::types::Type;

pub(super) fn derived(cx: &mut Cx<'_>, op: &Derived, types: &[Type]) {
    let code = match op {
        // broadcast_c1
        Derived::Broadcast { .. } => "broadcast_c1",
        // chlo_broadcast_c5
        Derived::Broadcasting(_) => "chlo_broadcast_c5",
        // chlo_constant_like_c2
        Derived::ConstantLike(_) => "chlo_constant_like_c2",
        // dot_c4
        Derived::Dot { .. } => "dot_c4",
        // einsum_c3, unary_einsum_c3
        Derived::Einsum { .. } => "einsum_c3",
        Derived::UnaryEinsum { .. } => "unary_einsum_c3",
        // torch_index_select_c3
        Derived::TorchIndexSelect { .. } => "torch_index_select_c3",
        // chlo_ragged_dot_c9
        Derived::RaggedDot(_) => "chlo_ragged_dot_c9",
        // chlo_sin_cos_c1
        Derived::SinCos => "chlo_sin_cos_c1",
        Derived::BatchNormInference(_) => {
            // batch_norm_inference_c2, batch_norm_inference_c7
            return check_each(cx, types, "batch_norm_inference_c2", &["batch_norm_inference_c7"]);
        }
        Derived::BatchNormTraining(_) => {
            // batch_norm_training_c2, batch_norm_training_c5, batch_norm_training_c6, batch_norm_training_c7
            let shapes = ["batch_norm_training_c7", "batch_norm_training_c5", "batch_norm_training_c6"];
            return check_each(cx, types, "batch_norm_training_c2", &shapes);
        }
        Derived::BatchNormGrad(_) => {
            // batch_norm_grad_c2, batch_norm_grad_c3, batch_norm_grad_c4
            let shapes = ["batch_norm_grad_c3", "batch_norm_grad_c4", "batch_norm_grad_c4"];
            return check_each(cx, types, "batch_norm_grad_c2", &shapes);
        }
    };
    check(cx, types, Codes::one(code));
}
