//! Products and convolutions.

use crate::attr::Attribute;
use crate::infer::cx::Cx;
use crate::infer::shape::{WindowDim, compatible_elements};
use crate::op::Class;
use crate::op::{Convolution, DotGeneral, Precision};
use crate::types::{Dim, TensorType, TypeList};
use smallvec::smallvec;

pub(super) fn dot_general(cx: &mut Cx<'_>, op: &DotGeneral) -> Option<TypeList> {
    let (lhs, rhs) = (cx.t(0), cx.t(1));
    let declared = cx.declared(0)?;
    // dot_general_i1
    cx.class("dot_general_i1", "lhs", lhs, Class::TENSOR);
    // dot_general_c11
    precision(cx, "dot_general_c11", &op.precision);
    // dot_general_c21, dot_general_c22, dot_general_c23, dot_general_c24
    if let Some(algorithm) = &op.algorithm {
        dot_algorithm(cx, algorithm, &op.precision);
    }
    let before = cx.diagnostics.len();
    // dot_general_c1
    let (lb, rb) = (&op.lhs_batch, &op.rhs_batch);
    cx.check(lb.len() == rb.len(), "dot_general_c1", || {
        format!("lhs and rhs must have the same number of batching dimensions, found {lb:?} and {rb:?}")
    });
    // dot_general_c2
    let (lc, rc) = (&op.lhs_contract, &op.rhs_contract);
    cx.check(lc.len() == rc.len(), "dot_general_c2", || {
        format!("lhs and rhs must have the same number of contracting dimensions, found {lc:?} and {rc:?}")
    });
    // dot_general_c3, dot_general_c4
    let both = [&lb[..], &lc[..]].concat();
    cx.unique("dot_general_c3", "lhs batching and contracting dimensions", &both);
    let both = [&rb[..], &rc[..]].concat();
    cx.unique("dot_general_c4", "rhs batching and contracting dimensions", &both);
    // dot_general_c5, dot_general_c6, dot_general_c7, dot_general_c8
    cx.in_range("dot_general_c5", "lhs_batching_dimensions", lb, lhs.rank());
    cx.in_range("dot_general_c6", "lhs_contracting_dimensions", lc, lhs.rank());
    cx.in_range("dot_general_c7", "rhs_batching_dimensions", rb, rhs.rank());
    cx.in_range("dot_general_c8", "rhs_contracting_dimensions", rc, rhs.rank());
    // dot_general_c13. As in XLA, real types may differ: operands are converted to the result's type.
    let kind = |t: &TensorType| t.dtype.is_complex();
    let quantized = lhs.quant.is_some() || rhs.quant.is_some();
    cx.check(quantized || kind(lhs) == kind(rhs), "dot_general_c13", || {
        format!("lhs and rhs must have the same element type, found {lhs} and {rhs}")
    });
    if cx.diagnostics.len() > before {
        return None;
    }
    // dot_general_c9, dot_general_c10
    let pairs = [("dot_general_c9", "batching", lb, rb), ("dot_general_c10", "contracting", lc, rc)];
    for (code, name, left, right) in pairs {
        for (l, r) in left.iter().zip(right) {
            cx.check(lhs.dim(*l).may_equal(rhs.dim(*r)), code, || {
                format!("{name} dimension {l} of lhs, {lhs}, and {r} of rhs, {rhs}, must have the same size")
            });
        }
    }
    // dot_general_c12
    let free = |t: &TensorType, batch: &[usize], contract: &[usize]| -> Vec<Dim> {
        let free = (0..t.rank()).filter(|d| !batch.contains(d) && !contract.contains(d));
        free.map(|d| t.dim(d)).collect()
    };
    let mut dims: Vec<Dim> = lb.iter().zip(rb).map(|(l, r)| lhs.dim(*l).or(rhs.dim(*r))).collect();
    dims.extend(free(lhs, lb, lc));
    dims.extend(free(rhs, rb, rc));
    Some(smallvec![declared.with_dims(dims).into()])
}

/// Checks that there are at most two precisions, one per operand.
fn precision(cx: &mut Cx<'_>, code: &'static str, precision: &[Precision]) {
    cx.check(precision.len() <= 2, code, || {
        format!("precision_config must have at most 2 entries, found {}", precision.len())
    });
}

fn dot_algorithm(cx: &mut Cx<'_>, algorithm: &Attribute, precision: &[Precision]) {
    // dot_general_c21
    let default = precision.iter().all(|p| *p == Precision::Default);
    cx.check(default, "dot_general_c21", || {
        "precision_config must be DEFAULT where an algorithm is given".to_owned()
    });
    let Attribute::Dialect(algorithm) = algorithm else { return };
    // dot_general_c22, dot_general_c23, dot_general_c24
    let counts = [
        ("dot_general_c22", "lhs_component_count"),
        ("dot_general_c23", "rhs_component_count"),
        ("dot_general_c24", "num_primitive_operations"),
    ];
    for (code, name) in counts {
        if let Some(count) = algorithm.params.get(name).and_then(Attribute::as_i64) {
            cx.check(count > 0, code, || format!("{name} must be positive, found {count}"));
        }
    }
}

/// Returns the name of a constraint that `convolution` and `dynamic_conv` share.
macro_rules! either {
    ($dynamic:expr, $constraint:literal) => {
        if $dynamic { concat!("dynamic_conv_", $constraint) } else { concat!("convolution_", $constraint) }
    };
}

pub(super) fn convolution(cx: &mut Cx<'_>, op: &Convolution, dynamic: bool) -> Option<TypeList> {
    let (lhs, rhs) = (cx.t(0), cx.t(1));
    let declared = cx.declared(0)?;
    // convolution_i1
    cx.class(either!(dynamic, "i1"), "lhs", lhs, Class::TENSOR);
    // convolution_c24
    precision(cx, either!(dynamic, "c24"), &op.precision);
    // convolution_c27
    let quantized = lhs.quant.is_some() || rhs.quant.is_some();
    cx.check(quantized || compatible_elements(lhs, rhs), either!(dynamic, "c27"), || {
        format!("lhs and rhs must have the same element type, found {lhs} and {rhs}")
    });
    let rank = lhs.rank();
    // convolution_c1
    if !cx.check(rank >= 2 && rank == rhs.rank(), either!(dynamic, "c1"), || {
        format!("lhs and rhs must have the same rank, 2 or more, found {lhs} and {rhs}")
    }) {
        return None;
    }
    if !(window_lists(cx, op, rank - 2, dynamic) & dimension_numbers(cx, op, rank, dynamic)) {
        return None;
    }
    features(cx, op, lhs, rhs, dynamic);
    // convolution_c25, convolution_c26
    let dims = &op.dims;
    let mut result = vec![Dim::UNBOUNDED; rank];
    result[dims.output_batch] = lhs.dim(dims.input_batch).map(|batch| batch / op.batch_group_count.max(1));
    result[dims.output_feature] = rhs.dim(dims.kernel_output_feature);
    let constant = if dynamic { cx.constant(2) } else { None };
    for i in 0..rank - 2 {
        let padding = if dynamic {
            constant.as_ref().and_then(|c| Some((*c.get(2 * i)?, *c.get(2 * i + 1)?)))
        } else {
            Some(op.padding[i])
        };
        let Some(padding) = padding else { continue };
        let window = WindowDim {
            size: rhs.dim(dims.kernel_spatial[i]),
            stride: op.strides[i],
            padding,
            base_dilation: op.lhs_dilation[i],
            dilation: op.rhs_dilation[i],
        };
        result[dims.output_spatial[i]] = window.count(lhs.dim(dims.input_spatial[i]));
    }
    Some(smallvec![declared.with_dims(result).into()])
}

/// Checks lengths and signs of the window's attributes. Lists of `dynamic_conv` may be longer than needed,
/// because StableHLO's verifier does not check their lengths and JAX has written such programs.
fn window_lists(cx: &mut Cx<'_>, op: &Convolution, spatial: usize, dynamic: bool) -> bool {
    const ENTRIES: &str = "one per spatial dimension";
    let needed = |found: usize| if dynamic { found.min(spatial) } else { found };
    let mut ok = true;
    // convolution_c2, convolution_c3, convolution_c5, convolution_c6, convolution_c7, convolution_c8
    let lists = [
        ("window_strides", &op.strides, either!(dynamic, "c2"), either!(dynamic, "c3")),
        ("lhs_dilation", &op.lhs_dilation, either!(dynamic, "c5"), either!(dynamic, "c6")),
        ("rhs_dilation", &op.rhs_dilation, either!(dynamic, "c7"), either!(dynamic, "c8")),
    ];
    for (name, list, length, positive) in lists {
        ok &= cx.length(length, name, needed(list.len()), spatial, ENTRIES);
        ok &= cx.positive(positive, name, list);
    }
    // convolution_c9
    let reversal = needed(op.reversal.len());
    ok &= cx.length(either!(dynamic, "c9"), "window_reversal", reversal, spatial, ENTRIES);
    // convolution_c4
    if dynamic {
        let padding = cx.t(2);
        let fits = padding.rank() == 2
            && Class::INT.has(padding)
            && padding.dim(0).may_be(spatial)
            && padding.dim(1).may_be(2);
        ok &= cx.check(fits, "dynamic_conv_c4", || {
            format!("padding must be an integer tensor of shape [{spatial}, 2], found {padding}")
        });
    } else {
        ok &= cx.length(
            "convolution_c4",
            "padding",
            op.padding.len(),
            spatial,
            "one pair per spatial dimension",
        );
    }
    ok
}

/// Checks the dimension numbers of a convolution.
fn dimension_numbers(cx: &mut Cx<'_>, op: &Convolution, rank: usize, dynamic: bool) -> bool {
    let d = &op.dims;
    let all = |one: usize, other: usize, spatial: &[usize]| [&[one, other], spatial].concat();
    // convolution_c12, convolution_c13, convolution_c17, convolution_c18, convolution_c19,
    // convolution_c20
    let groups = [
        (
            ("input_spatial_dimensions", "input dimensions"),
            (&d.input_spatial, all(d.input_batch, d.input_feature, &d.input_spatial)),
            (either!(dynamic, "c12"), either!(dynamic, "c13")),
        ),
        (
            ("kernel_spatial_dimensions", "kernel dimensions"),
            (&d.kernel_spatial, all(d.kernel_input_feature, d.kernel_output_feature, &d.kernel_spatial)),
            (either!(dynamic, "c17"), either!(dynamic, "c18")),
        ),
        (
            ("output_spatial_dimensions", "output dimensions"),
            (&d.output_spatial, all(d.output_batch, d.output_feature, &d.output_spatial)),
            (either!(dynamic, "c19"), either!(dynamic, "c20")),
        ),
    ];
    let mut ok = true;
    for ((spatial_name, name), (spatial, dims), (length, numbers)) in groups {
        ok &= cx.length(length, spatial_name, spatial.len(), rank - 2, "one per spatial dimension");
        ok &= cx.unique(numbers, name, &dims);
        ok &= cx.in_range(numbers, name, &dims, rank);
    }
    ok
}

/// Checks the group counts, and that each of them divides the sizes of the dimensions that are split into
/// groups.
fn features(cx: &mut Cx<'_>, op: &Convolution, lhs: &TensorType, rhs: &TensorType, dynamic: bool) {
    let (features, batches) = (op.feature_group_count, op.batch_group_count);
    // convolution_c21
    let positive = cx.positive(either!(dynamic, "c21"), "feature_group_count", &[features]);
    // convolution_c22
    if !(cx.positive(either!(dynamic, "c22"), "batch_group_count", &[batches]) && positive) {
        return;
    }
    // convolution_c23
    cx.check(features == 1 || batches == 1, either!(dynamic, "c23"), || {
        format!("one of feature_group_count and batch_group_count must be 1, found {features} and {batches}")
    });
    let batch = lhs.dim(op.dims.input_batch);
    let input = lhs.dim(op.dims.input_feature);
    let kernel_in = rhs.dim(op.dims.kernel_input_feature);
    let kernel_out = rhs.dim(op.dims.kernel_output_feature);
    // convolution_c10, convolution_c11, convolution_c15, convolution_c16
    let multiples = [
        (either!(dynamic, "c10"), "input batch dimension", batch, "batch_group_count", batches),
        (either!(dynamic, "c11"), "input feature dimension", input, "feature_group_count", features),
        (
            either!(dynamic, "c15"),
            "kernel output feature dimension",
            kernel_out,
            "batch_group_count",
            batches,
        ),
        (
            either!(dynamic, "c16"),
            "kernel output feature dimension",
            kernel_out,
            "feature_group_count",
            features,
        ),
    ];
    for (code, name, size, groups_name, groups) in multiples {
        cx.check(size.size().is_none_or(|size| size.is_multiple_of(groups)), code, || {
            format!("{name} must be a multiple of {groups_name}, found {size} and {groups}")
        });
    }
    // convolution_c14
    if let Dim::Static(input) = input {
        cx.check(kernel_in.may_be(input / features), either!(dynamic, "c14"), || {
            format!(
                "kernel input feature dimension must be {input} / {features} (input features by groups), \
                 found {kernel_in}"
            )
        });
    }
}
