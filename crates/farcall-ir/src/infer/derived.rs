//! Operations defined by simpler ones. Constraints that the specification does not name are numbered here.

use farcall_sig::DType;
use smallvec::smallvec;

use crate::infer::cx::Cx;
use crate::infer::shape::{compatible_dims, compatible_elements, same_dims};
use crate::literal::Literal;
use crate::op::derived::{Ragged, index_select_axes};
use crate::op::einsum::EinsumConfig;
use crate::op::{BatchNorm, Broadcasted, Broadcasting, Class, Derived, RaggedDot};
use crate::types::{Dim, TensorType, Type, TypeList};

pub(super) fn derived(cx: &mut Cx<'_>, op: &Derived) -> Option<TypeList> {
    let one = |ty: TensorType| smallvec![Type::Tensor(ty)];
    match op {
        Derived::Broadcast { sizes } => {
            // broadcast_c1
            let operand = cx.t(0);
            Some(one(operand.with_dims(sizes.iter().map(|size| Dim::Static(*size)).chain(operand.dims()))))
        }
        Derived::Broadcasting(op) => broadcasting(cx, op).map(one),
        Derived::ConstantLike(value) => constant_like(cx, value).map(one),
        Derived::Dot { .. } => dot(cx).map(one),
        Derived::Einsum { config } => einsum(cx, config, "einsum_c1", "einsum_c2").map(one),
        Derived::UnaryEinsum { config } => einsum(cx, config, "unary_einsum_c1", "unary_einsum_c2").map(one),
        Derived::TorchIndexSelect { dim, batch_dims } => index_select(cx, *dim, *batch_dims).map(one),
        Derived::BatchNormInference(norm) => batch_norm_inference(cx, *norm),
        Derived::BatchNormTraining(norm) => batch_norm_training(cx, *norm),
        Derived::BatchNormGrad(norm) => batch_norm_grad(cx, *norm),
        Derived::RaggedDot(dot) => ragged_dot(cx, dot).map(one),
        Derived::SinCos => sin_cos(cx),
    }
}

fn broadcasting(cx: &mut Cx<'_>, op: &Broadcasting) -> Option<TensorType> {
    let operands = cx.tensors(0..cx.operand_count());
    let shape = broadcast_shape(cx, op, &operands)?;
    let (values, element) = match op.function {
        Broadcasted::Binary(f) => {
            let info = f.info();
            for (i, operand) in operands.iter().enumerate() {
                // chlo_broadcast_i1
                if !cx.class("chlo_broadcast_i1", &format!("operand {i}"), operand, info.operand) {
                    return None;
                }
            }
            (&operands[..], info.result.of(operands[0]))
        }
        Broadcasted::Compare(_) => (&operands[..], Some(operands[0].with_dtype(DType::Pred))),
        Broadcasted::Select => {
            // chlo_broadcast_i2
            cx.class("chlo_broadcast_i2", "pred", operands[0], Class::PRED);
            (&operands[1..], Some(operands[1].clone()))
        }
    };
    // chlo_broadcast_c1
    if !cx.check(compatible_elements(values[0], values[1]), "chlo_broadcast_c1", || {
        format!("operands must have the same element type, found {} and {}", values[0], values[1])
    }) {
        return None;
    }
    let Some(element) = element else {
        cx.fail("chlo_broadcast_i1", format!("lhs must be a tensor of f32 or f64, found {}", values[0]));
        return None;
    };
    Some(element.with_dims(shape))
}

fn broadcast_shape(cx: &mut Cx<'_>, op: &Broadcasting, operands: &[&TensorType]) -> Option<Vec<Dim>> {
    let ranks = || operands.iter().map(|t| t.rank());
    let (low, high) = (ranks().min()?, ranks().max()?);
    if let Some(dims) = &op.dims {
        // chlo_broadcast_c2
        if !cx.length(
            "chlo_broadcast_c2",
            "broadcast_dimensions",
            dims.len(),
            low,
            "the rank of the smaller operand",
        ) {
            return None;
        }
        // chlo_broadcast_c3
        let in_order = dims.windows(2).all(|w| w[0] < w[1]) && dims.last().is_none_or(|d| *d < high);
        // For operands of equal rank, each dimension must map to itself.
        let fits = in_order && (low < high || dims.iter().copied().eq(0..high));
        if !cx.check(fits, "chlo_broadcast_c3", || {
            format!(
                "broadcast_dimensions must be dimensions of the result, [0, {high}), in order, found {dims:?}"
            )
        }) {
            return None;
        }
    }
    let shape = op.result_dims(operands);
    // chlo_broadcast_c4
    cx.check(shape.is_some(), "chlo_broadcast_c4", || {
        let operands: Vec<String> = operands.iter().map(ToString::to_string).collect();
        format!("sizes must be equal or 1, found {}", operands.join(" and "))
    });
    shape
}

fn constant_like(cx: &mut Cx<'_>, value: &Literal) -> Option<TensorType> {
    let operand = cx.t(0);
    // chlo_constant_like_i1
    cx.class("chlo_constant_like_i1", "operand", operand, Class::PLAIN);
    // chlo_constant_like_c1
    cx.check(operand.dtype == value.dtype(), "chlo_constant_like_c1", || {
        format!("the value must be of the element type of {operand}, found {}", value.dtype().mlir())
    });
    Some(operand.clone())
}

fn dot(cx: &mut Cx<'_>) -> Option<TensorType> {
    let (lhs, rhs, declared) = (cx.t(0), cx.t(1), cx.declared(0)?);
    // dot_c1
    for (name, operand) in [("lhs", lhs), ("rhs", rhs)] {
        if !cx.check((1..=2).contains(&operand.rank()), "dot_c1", || {
            format!("{name} must have rank 1 or 2, found {operand}")
        }) {
            return None;
        }
    }
    // dot_c2
    let free = lhs.rank() - 1;
    cx.check(lhs.dim(free).may_equal(rhs.dim(0)), "dot_c2", || {
        format!("the last dimension of lhs, {lhs}, must have the size of the first of rhs, {rhs}")
    });
    // dot_c3
    let quantized = lhs.quant.is_some() || rhs.quant.is_some();
    cx.check(quantized || lhs.dtype.is_complex() == rhs.dtype.is_complex(), "dot_c3", || {
        format!("lhs and rhs must have the same element type, found {lhs} and {rhs}")
    });
    Some(declared.with_dims(lhs.dims().take(free).chain(rhs.dims().skip(1))))
}

fn einsum(cx: &mut Cx<'_>, config: &str, wrong: &'static str, sizes: &'static str) -> Option<TensorType> {
    let operands = cx.tensors(0..cx.operand_count());
    let declared = cx.declared(0)?;
    // einsum_c1, unary_einsum_c1
    let config = match EinsumConfig::parse(config, operands.len()) {
        Ok(config) => config,
        Err(message) => {
            cx.fail(wrong, message);
            return None;
        }
    };
    for (i, (letters, operand)) in config.operands.iter().zip(&operands).enumerate() {
        if !cx.check(letters.len() == operand.rank(), wrong, || {
            format!("operand {i} needs one letter per dimension of {operand}, found {}", letters.len())
        }) {
            return None;
        }
    }
    // einsum_c2, unary_einsum_c2
    for letter in config.operands.iter().flatten() {
        if let Err([a, b]) = config.size(*letter, &operands) {
            cx.fail(sizes, format!("dimension {letter} must have one size, found {a} and {b}"));
            return None;
        }
    }
    let size = |letter: &char| config.size(*letter, &operands).unwrap_or(Dim::UNBOUNDED);
    Some(declared.with_dims(config.result.iter().map(size)))
}

fn index_select(cx: &mut Cx<'_>, dim: i64, batch_dims: i64) -> Option<TensorType> {
    let (operand, index) = (cx.t(0), cx.t(1));
    // torch_index_select_i2
    cx.class("torch_index_select_i2", "index", index, Class::INT);
    // torch_index_select_c1
    let Some((dim, batch)) = index_select_axes(dim, batch_dims, operand.rank(), index.rank()) else {
        let message = format!(
            "dim must be a dimension of {operand} after the first batch_dims, which it shares with {index}, \
             found dim {dim} and batch_dims {batch_dims}"
        );
        cx.fail("torch_index_select_c1", message);
        return None;
    };
    // torch_index_select_c2
    cx.check(
        same_dims(operand.dims().take(batch), index.dims().take(batch)),
        "torch_index_select_c2",
        || format!("the first {batch} dimensions of {operand} and {index} must have the same sizes"),
    );
    let (before, behind) = (operand.dims().take(dim), operand.dims().skip(dim + 1));
    Some(operand.with_dims(before.chain(index.dims().skip(batch)).chain(behind)))
}

/// The specification's names for the constraints on the operands of batch normalization.
struct NormCodes {
    feature: &'static str,
    element: &'static str,
    /// Element type of the operand.
    operand: &'static str,
    /// One row for each operand that holds one number per feature: its index, its name, and the constraints
    /// on its type and its size.
    features: &'static [(usize, &'static str, &'static str, &'static str)],
}

/// Checks the operands of a batch normalization. Returns the size of the feature dimension.
fn batch_norm(cx: &mut Cx<'_>, norm: BatchNorm, codes: &NormCodes) -> Option<Dim> {
    let operand = cx.t(0);
    let allowed = Class::FLOAT | Class::QUANT;
    cx.class(codes.operand, "operand", operand, allowed);
    if !cx.in_range(codes.feature, "feature_index", &[norm.feature], operand.rank()) {
        return None;
    }
    let size = operand.dim(norm.feature);
    for (i, name, kind, code) in codes.features {
        let ty = cx.t(*i);
        if !cx.check(ty.rank() == 1 && allowed.has(ty), kind, || {
            format!("{name} must be a 1-dimensional tensor of {allowed}, found {ty}")
        }) {
            continue;
        }
        cx.check(ty.dim(0).may_equal(size), code, || {
            format!("{name} must have the size of dimension {} of {operand}, found {ty}", norm.feature)
        });
        cx.check(compatible_elements(ty, operand), codes.element, || {
            format!("{name} must have the element type of {operand}, found {ty}")
        });
    }
    Some(size)
}

fn batch_norm_inference(cx: &mut Cx<'_>, norm: BatchNorm) -> Option<TypeList> {
    let codes = NormCodes {
        feature: "batch_norm_inference_c1",
        element: "batch_norm_inference_c2",
        operand: "batch_norm_inference_i1",
        features: &[
            (1, "scale", "batch_norm_inference_i2", "batch_norm_inference_c3"),
            (2, "offset", "batch_norm_inference_i3", "batch_norm_inference_c4"),
            (3, "mean", "batch_norm_inference_i4", "batch_norm_inference_c5"),
            (4, "variance", "batch_norm_inference_i5", "batch_norm_inference_c6"),
        ],
    };
    batch_norm(cx, norm, &codes)?;
    // batch_norm_inference_c7
    Some(smallvec![cx.t(0).clone().into()])
}

fn batch_norm_training(cx: &mut Cx<'_>, norm: BatchNorm) -> Option<TypeList> {
    let codes = NormCodes {
        feature: "batch_norm_training_c1",
        element: "batch_norm_training_c2",
        operand: "batch_norm_training_i1",
        features: &[
            (1, "scale", "batch_norm_training_i2", "batch_norm_training_c3"),
            (2, "offset", "batch_norm_training_i3", "batch_norm_training_c4"),
        ],
    };
    let size = batch_norm(cx, norm, &codes)?;
    // batch_norm_training_c5, batch_norm_training_c6, batch_norm_training_c7
    let (operand, feature) = (cx.t(0).clone(), Type::Tensor(cx.t(0).with_dims([size])));
    Some(smallvec![operand.into(), feature.clone(), feature])
}

fn batch_norm_grad(cx: &mut Cx<'_>, norm: BatchNorm) -> Option<TypeList> {
    let codes = NormCodes {
        feature: "batch_norm_grad_c1",
        element: "batch_norm_grad_c2",
        operand: "batch_norm_grad_i1",
        features: &[
            (1, "scale", "batch_norm_grad_i2", "batch_norm_grad_c5"),
            (2, "mean", "batch_norm_grad_i3", "batch_norm_grad_c4"),
            (3, "variance", "batch_norm_grad_i4", "batch_norm_grad_c4"),
        ],
    };
    let size = batch_norm(cx, norm, &codes)?;
    let (operand, grad) = (cx.t(0), cx.t(4));
    // batch_norm_grad_i5
    cx.class("batch_norm_grad_i5", "grad_output", grad, Class::FLOAT | Class::QUANT);
    // batch_norm_grad_c2
    cx.check(compatible_elements(grad, operand), "batch_norm_grad_c2", || {
        format!("grad_output must have the element type of {operand}, found {grad}")
    });
    // batch_norm_grad_c3
    cx.check(compatible_dims(grad, operand), "batch_norm_grad_c3", || {
        format!("grad_output must have the shape of {operand}, found {grad}")
    });
    let feature = Type::Tensor(operand.with_dims([size]));
    Some(smallvec![operand.clone().into(), feature.clone(), feature])
}

fn ragged_dot(cx: &mut Cx<'_>, dot: &RaggedDot) -> Option<TensorType> {
    let (lhs, rhs, sizes, declared) = (cx.t(0), cx.t(1), cx.t(2), cx.declared(0)?);
    // chlo_ragged_dot_i1
    cx.class("chlo_ragged_dot_i1", "lhs", lhs, Class::PLAIN);
    cx.class("chlo_ragged_dot_i1", "rhs", rhs, Class::PLAIN);
    // chlo_ragged_dot_i3
    cx.class("chlo_ragged_dot_i3", "group_sizes", sizes, Class::INT);
    ragged_dimensions(cx, dot, lhs, rhs)?;
    // chlo_ragged_dot_c6
    let pairs = [(&dot.lhs_batch, &dot.rhs_batch), (&dot.lhs_contract, &dot.rhs_contract)];
    for (l, r) in pairs.iter().flat_map(|(l, r)| l.iter().zip(r.iter())) {
        cx.check(lhs.dim(*l).may_equal(rhs.dim(*r)), "chlo_ragged_dot_c6", || {
            format!("dimension {l} of lhs, {lhs}, and {r} of rhs, {rhs}, must have the same size")
        });
    }
    // chlo_ragged_dot_c7
    let prefix: Vec<Dim> = dot.prefix(lhs.rank()).iter().map(|d| lhs.dim(*d)).collect();
    let Some((groups, outer)) = sizes.rank().checked_sub(1).map(|n| (sizes.dim(n), sizes.dims().take(n)))
    else {
        cx.fail("chlo_ragged_dot_c7", format!("group_sizes must have rank at least 1, found {sizes}"));
        return None;
    };
    cx.check(outer.len() == 0 || same_dims(outer, prefix.iter().copied()), "chlo_ragged_dot_c7", || {
        format!(
            "group_sizes must have rank 1 or the dimensions {prefix:?} before the group dimension, found {sizes}"
        )
    });
    // chlo_ragged_dot_c8
    if let [group] = dot.rhs_group.as_slice() {
        cx.check(rhs.dim(*group).may_equal(groups), "chlo_ragged_dot_c8", || {
            format!("dimension {group} of rhs must be the number of groups, {groups}, found {rhs}")
        });
    }
    let free = |t: &TensorType, lists: &[&[usize]]| -> Vec<Dim> {
        let others = (0..t.rank()).filter(|d| !lists.iter().any(|list| list.contains(d)));
        others.map(|d| t.dim(d)).collect()
    };
    let batch: Vec<Dim> = dot.lhs_batch.iter().map(|d| lhs.dim(*d)).collect();
    let first = if dot.ragged() == Ragged::Contracting { vec![groups] } else { Vec::new() };
    let dims = [
        first,
        batch,
        free(lhs, &[&dot.lhs_batch, &dot.lhs_contract]),
        free(rhs, &[&dot.rhs_batch, &dot.rhs_contract, &dot.rhs_group]),
    ];
    Some(declared.with_dims(dims.concat()))
}

/// Checks the dimension numbers of a ragged product.
fn ragged_dimensions(cx: &mut Cx<'_>, dot: &RaggedDot, lhs: &TensorType, rhs: &TensorType) -> Option<()> {
    let before = cx.diagnostics.len();
    // chlo_ragged_dot_c1
    cx.check(dot.lhs_ragged.len() == 1, "chlo_ragged_dot_c1", || {
        format!("lhs must have one ragged dimension, found {:?}", dot.lhs_ragged)
    });
    // chlo_ragged_dot_c2
    let as_many =
        dot.lhs_batch.len() == dot.rhs_batch.len() && dot.lhs_contract.len() == dot.rhs_contract.len();
    cx.check(as_many, "chlo_ragged_dot_c2", || {
        "lhs and rhs must have the same numbers of batching and of contracting dimensions".to_owned()
    });
    // chlo_ragged_dot_c3
    let left = [&dot.lhs_batch[..], &dot.lhs_contract].concat();
    let right = [&dot.rhs_batch[..], &dot.rhs_contract, &dot.rhs_group].concat();
    cx.unique("chlo_ragged_dot_c3", "lhs batching and contracting dimensions", &left);
    cx.unique("chlo_ragged_dot_c3", "rhs batching, contracting and group dimensions", &right);
    // chlo_ragged_dot_c4
    cx.in_range(
        "chlo_ragged_dot_c4",
        "dimensions of lhs",
        &[left, dot.lhs_ragged.clone()].concat(),
        lhs.rank(),
    );
    cx.in_range("chlo_ragged_dot_c4", "dimensions of rhs", &right, rhs.rank());
    // chlo_ragged_dot_c5
    let groups = usize::from(dot.ragged() == Ragged::Free);
    cx.check(dot.rhs_group.len() == groups, "chlo_ragged_dot_c5", || {
        format!(
            "rhs must have one group dimension where the ragged dimension is free, else none, found {:?}",
            dot.rhs_group
        )
    });
    (cx.diagnostics.len() == before).then_some(())
}

fn sin_cos(cx: &mut Cx<'_>) -> Option<TypeList> {
    let operand = cx.t(0);
    // chlo_sin_cos_i1
    if !cx.class("chlo_sin_cos_i1", "operand", operand, Class::FLOAT) {
        return None;
    }
    // chlo_sin_cos_c1
    Some(smallvec![operand.clone().into(); 2])
}
