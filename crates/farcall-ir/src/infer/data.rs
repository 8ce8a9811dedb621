//! Constants and data movement.

use farcall_sig::DType;
use smallvec::smallvec;

use crate::infer::cx::Cx;
use crate::infer::shape::{compatible_elements, narrow, wide};
use crate::op::Class;
use crate::op::{Pad, Slice};
use crate::types::{Dim, TensorType, TypeList};

pub(super) fn constant(cx: &mut Cx<'_>, value: TensorType) -> Option<TypeList> {
    let declared = cx.declared(0)?;
    // constant_c1. The elements of a quantized constant are the stored integers.
    Some(smallvec![value.with_quant(declared.quant.clone()).into()])
}

pub(super) fn iota(cx: &mut Cx<'_>, dim: usize) -> Option<TypeList> {
    let declared = cx.declared(0)?;
    // The name of the constraint refers to output 1, because the specification lists the result's type in its
    // table of outputs. Input 1 (`iota_i1`) would be the dimension.
    let allowed = Class::INT | Class::FLOAT | Class::COMPLEX | Class::QUANT;
    cx.class("iota_o1", "result", declared, allowed);
    // iota_c1
    cx.in_range("iota_c1", "iota_dimension", &[dim], declared.rank());
    Some(smallvec![declared.clone().into()])
}

pub(super) fn dynamic_iota(cx: &mut Cx<'_>, dim: usize) -> Option<TypeList> {
    let declared = cx.declared(0)?;
    let allowed = Class::INT | Class::FLOAT | Class::COMPLEX | Class::QUANT;
    cx.class("dynamic_iota_o1", "result", declared, allowed);
    // dynamic_iota_c1
    cx.in_range("dynamic_iota_c1", "iota_dimension", &[dim], declared.rank());
    // dynamic_iota_i1, dynamic_iota_c2
    output_shape(cx, "dynamic_iota_i1", "dynamic_iota_c2", 0, declared);
    Some(smallvec![declared.clone().into()])
}

/// Checks that operand `i`, which holds the dimensions of `result`, is a vector of integers with one element
/// per dimension. If the operand is constant, its elements must be compatible with the result type.
fn output_shape(cx: &mut Cx<'_>, i_code: &'static str, c_code: &'static str, i: usize, result: &TensorType) {
    let shape = cx.t(i);
    if !vector(cx, i_code, "output shape", shape) {
        return;
    }
    let rank = result.rank();
    if !cx.check(shape.dim(0).may_be(rank), c_code, || {
        format!("output shape must have one element per dimension of {result}, found {shape}")
    }) {
        return;
    }
    if let Some(sizes) = cx.constant(i) {
        let fits = sizes.len() == rank
            && sizes
                .iter()
                .zip(result.dims())
                .all(|(size, dim)| usize::try_from(*size).is_ok_and(|size| dim.may_be(size)));
        cx.check(fits, c_code, || format!("output shape {sizes:?} does not fit the result, {result}"));
    }
}

/// Checks that a tensor is a vector of integers.
fn vector(cx: &mut Cx<'_>, code: &'static str, name: &str, ty: &TensorType) -> bool {
    cx.check(ty.rank() == 1 && Class::INT.has(ty), code, || {
        format!("{name} must be a 1-dimensional tensor of integer type, found {ty}")
    })
}

/// Returns the name of a constraint that an operation and its dynamic form share.
macro_rules! either {
    ($dynamic:expr, $name:literal, $constraint:literal) => {
        if $dynamic { concat!("dynamic_", $name, $constraint) } else { concat!($name, $constraint) }
    };
}

pub(super) fn broadcast_in_dim(cx: &mut Cx<'_>, dims: &[usize], dynamic: bool) -> Option<TypeList> {
    let operand = cx.t(0);
    let declared = cx.declared(0)?;
    // broadcast_in_dim_c2, dynamic_broadcast_in_dim_c2
    let code = either!(dynamic, "broadcast_in_dim", "_c2");
    let complete =
        cx.length(code, "broadcast_dimensions", dims.len(), operand.rank(), "one per operand dimension");
    // broadcast_in_dim_c3, dynamic_broadcast_in_dim_c3
    let code = either!(dynamic, "broadcast_in_dim", "_c3");
    let valid = cx.in_range(code, "broadcast_dimensions", dims, declared.rank());
    // broadcast_in_dim_c4, dynamic_broadcast_in_dim_c4
    cx.unique(either!(dynamic, "broadcast_in_dim", "_c4"), "broadcast_dimensions", dims);
    // broadcast_in_dim_c5, dynamic_broadcast_in_dim_c5
    if complete && valid {
        for (d, to) in dims.iter().enumerate() {
            let (from, into) = (operand.dim(d), declared.dim(*to));
            cx.check(
                from == Dim::Static(1) || from.may_equal(into),
                either!(dynamic, "broadcast_in_dim", "_c5"),
                || {
                    format!(
                        "dimension {d} of {operand} must be 1 or the size of dimension {to} of {declared}, \
                     found {from}"
                    )
                },
            );
        }
    }
    if dynamic {
        // dynamic_broadcast_in_dim_i2, dynamic_broadcast_in_dim_c7
        output_shape(cx, "dynamic_broadcast_in_dim_i2", "dynamic_broadcast_in_dim_c7", 1, declared);
    }
    // broadcast_in_dim_c1, dynamic_broadcast_in_dim_c1
    Some(smallvec![operand.with_dims_of(declared).into()])
}

pub(super) fn reshape(cx: &mut Cx<'_>, dynamic: bool) -> Option<TypeList> {
    let operand = cx.t(0);
    let declared = cx.declared(0)?;
    // reshape_c2, dynamic_reshape_c2
    let known = operand.is_static() && declared.is_static();
    let code = either!(dynamic, "reshape", "_c2");
    cx.check(!known || operand.elements() == declared.elements(), code, || {
        format!("{operand} and {declared} must have the same number of elements")
    });
    if dynamic {
        // dynamic_reshape_i2, dynamic_reshape_c4
        output_shape(cx, "dynamic_reshape_i2", "dynamic_reshape_c4", 1, declared);
    }
    // reshape_c1, dynamic_reshape_c1
    Some(smallvec![operand.with_dims_of(declared).into()])
}

pub(super) fn transpose(cx: &mut Cx<'_>, permutation: &[usize]) -> Option<TypeList> {
    let operand = cx.t(0);
    // transpose_c2
    let mut sorted = permutation.to_vec();
    sorted.sort_unstable();
    let rank = operand.rank();
    let ok = cx.check(sorted.iter().copied().eq(0..rank), "transpose_c2", || {
        format!("permutation must hold each of [0, {rank}) once, found {permutation:?}")
    });
    // transpose_c1, transpose_c3
    ok.then(|| smallvec![operand.with_dims(permutation.iter().map(|d| operand.dim(*d))).into()])
}

pub(super) fn slice(cx: &mut Cx<'_>, op: &Slice) -> Option<TypeList> {
    let operand = cx.t(0);
    // slice_i1
    cx.class("slice_i1", "operand", operand, Class::TENSOR);
    // slice_c2
    let mut complete = true;
    for (name, list) in [("start_indices", &op.start), ("limit_indices", &op.limit), ("strides", &op.strides)]
    {
        complete &= cx.length("slice_c2", name, list.len(), operand.rank(), "one per dimension");
    }
    // slice_c4
    if !(cx.positive("slice_c4", "strides", &op.strides) && complete) {
        return None;
    }
    // slice_c3
    let mut dims = Vec::new();
    for (d, dim) in operand.dims().enumerate() {
        let (start, limit) = (op.start[d], op.limit[d]);
        cx.check(start <= limit && dim.size().is_none_or(|size| limit <= size), "slice_c3", || {
            format!("start {start} and limit {limit} must be in order and within dimension {d} of {operand}")
        });
        dims.push(op.size(d));
    }
    // slice_c1, slice_c5
    Some(smallvec![operand.with_sizes(dims).into()])
}

pub(super) fn concatenate(cx: &mut Cx<'_>, dim: usize) -> Option<TypeList> {
    let inputs = cx.tensors(0..cx.operand_count());
    // concatenate_c3
    let Some((first, rest)) = inputs.split_first() else {
        cx.fail("concatenate_c3", "at least one input is needed, found none");
        return None;
    };
    // concatenate_i1
    for (i, input) in inputs.iter().enumerate() {
        cx.class("concatenate_i1", &format!("input {i}"), input, Class::TENSOR);
    }
    // concatenate_c4
    if !cx.in_range("concatenate_c4", "dimension", &[dim], first.rank()) {
        return None;
    }
    let mut dims: Vec<Dim> = first.dims().collect();
    for (i, input) in rest.iter().enumerate() {
        // concatenate_c1
        cx.check(compatible_elements(first, input), "concatenate_c1", || {
            format!("inputs must have the same element type, found {first} and (input {}) {input}", i + 1)
        });
        // concatenate_c2
        let agree = input.rank() == first.rank()
            && (0..first.rank()).all(|d| d == dim || first.dim(d).may_equal(input.dim(d)));
        if !cx.check(agree, "concatenate_c2", || {
            format!(
                "inputs must have the same shape except for dimension {dim}, found {first} and (input {}) \
                 {input}",
                i + 1
            )
        }) {
            return None;
        }
        // concatenate_c6
        for (d, (known, other)) in dims.iter_mut().zip(input.dims()).enumerate() {
            *known = match (*known, other) {
                (a, b) if d != dim => a.or(b),
                (Dim::Static(a), Dim::Static(b)) => Dim::Static(narrow(wide(a) + wide(b))),
                (Dim::Dynamic { .. }, _) | (_, Dim::Dynamic { .. }) => Dim::UNBOUNDED,
            };
        }
    }
    // concatenate_c5
    Some(smallvec![first.with_dims(dims).into()])
}

pub(super) fn pad(cx: &mut Cx<'_>, op: &Pad) -> Option<TypeList> {
    let (operand, value) = (cx.t(0), cx.t(1));
    // pad_i1
    cx.class("pad_i1", "operand", operand, Class::TENSOR);
    // pad_i2
    cx.scalar("pad_i2", "padding_value", value);
    // pad_c1
    cx.check(compatible_elements(operand, value), "pad_c1", || {
        format!("padding_value must have the element type of {operand}, found {value}")
    });
    // pad_c2
    let mut complete = true;
    for (name, list) in
        [("edge_padding_low", &op.low), ("edge_padding_high", &op.high), ("interior_padding", &op.interior)]
    {
        complete &= cx.length("pad_c2", name, list.len(), operand.rank(), "one per dimension");
    }
    // pad_c3
    let interior = cx.check(op.interior.iter().all(|i| *i >= 0), "pad_c3", || {
        format!("interior_padding must not be negative, found {:?}", op.interior)
    });
    if !(complete && interior) {
        return None;
    }
    // pad_c4
    let mut dims = Vec::new();
    for (d, dim) in operand.dims().enumerate() {
        let padded = padded(dim, op.low[d], op.high[d], op.interior[d]);
        cx.check(padded.is_none_or(|p| p >= 0), "pad_c4", || {
            format!("dimension {d} of {operand} cannot be cropped to a negative size")
        });
        dims.push(padded.map_or(Dim::UNBOUNDED, |p| Dim::Static(narrow(p))));
    }
    Some(smallvec![operand.with_dims(dims).into()])
}

/// Returns the size of a dimension with padding; `None` if the dimension is dynamic.
fn padded(dim: Dim, low: i64, high: i64, interior: i64) -> Option<i128> {
    let size = dim.size()?;
    let between = wide(size.saturating_sub(1)).saturating_mul(i128::from(interior));
    Some(between.saturating_add(wide(size) + i128::from(low) + i128::from(high)))
}

pub(super) fn dynamic_pad(cx: &mut Cx<'_>) -> Option<TypeList> {
    let (operand, value) = (cx.t(0), cx.t(1));
    let declared = cx.declared(0)?;
    // dynamic_pad_i1
    cx.class("dynamic_pad_i1", "operand", operand, Class::TENSOR);
    // dynamic_pad_i2
    cx.scalar("dynamic_pad_i2", "padding_value", value);
    // dynamic_pad_c1
    cx.check(compatible_elements(operand, value), "dynamic_pad_c1", || {
        format!("padding_value must have the element type of {operand}, found {value}")
    });
    // dynamic_pad_i3, dynamic_pad_i4, dynamic_pad_i5, dynamic_pad_c2
    let names = [
        ("dynamic_pad_i3", "edge_padding_low"),
        ("dynamic_pad_i4", "edge_padding_high"),
        ("dynamic_pad_i5", "interior_padding"),
    ];
    let mut complete = true;
    for (i, (code, name)) in names.into_iter().enumerate() {
        let list = cx.t(2 + i);
        complete &= vector(cx, code, name, list);
        complete &= list.rank() != 1
            || cx.check(list.dim(0).may_be(operand.rank()), "dynamic_pad_c2", || {
                format!("{name} must have one element per dimension of {operand}, found {list}")
            });
    }
    // dynamic_pad_c4
    if !cx.check(declared.rank() == operand.rank(), "dynamic_pad_c4", || {
        format!("the result must have the rank of {operand}, found {declared}")
    }) || !complete
    {
        return None;
    }
    // dynamic_pad_c3
    let interior = cx.constant(4);
    if let Some(interior) = &interior
        && !cx.check(interior.iter().all(|i| *i >= 0), "dynamic_pad_c3", || {
            format!("interior_padding must not be negative, found {interior:?}")
        })
    {
        return None;
    }
    // dynamic_pad_c4
    let mut dims: Vec<Dim> = declared.dims().collect();
    if let (Some(low), Some(high), Some(interior)) = (cx.constant(2), cx.constant(3), interior) {
        let lists = low.iter().zip(&high).zip(&interior).zip(operand.dims());
        for (dim, (((low, high), interior), size)) in dims.iter_mut().zip(lists) {
            *dim = padded(size, *low, *high, *interior).map_or(*dim, |p| Dim::Static(narrow(p)));
        }
    }
    Some(smallvec![operand.with_dims(dims).into()])
}

pub(super) fn reverse(cx: &mut Cx<'_>, dims: &[usize]) -> Option<TypeList> {
    let operand = cx.t(0);
    // reverse_i1
    cx.class("reverse_i1", "operand", operand, Class::TENSOR);
    // reverse_c2
    cx.unique("reverse_c2", "dimensions", dims);
    // reverse_c3
    cx.in_range("reverse_c3", "dimensions", dims, operand.rank());
    // reverse_c1
    Some(smallvec![operand.clone().into()])
}

pub(super) fn get_dimension_size(cx: &mut Cx<'_>, dim: usize) -> Option<TypeList> {
    let operand = cx.t(0);
    // get_dimension_size_c1
    cx.in_range("get_dimension_size_c1", "dimension", &[dim], operand.rank());
    Some(smallvec![TensorType::scalar(DType::S32).into()])
}

pub(super) fn set_dimension_size(cx: &mut Cx<'_>, dim: usize) -> Option<TypeList> {
    let (operand, size) = (cx.t(0), cx.t(1));
    // set_dimension_size_c1
    if !cx.in_range("set_dimension_size_c1", "dimension", &[dim], operand.rank()) {
        return None;
    }
    // set_dimension_size_c2
    cx.check(*size == TensorType::scalar(DType::S32), "set_dimension_size_c2", || {
        format!("size must be tensor<i32>, found {size}")
    });
    let mut dims: Vec<Dim> = operand.dims().collect();
    let known = cx.constant(1).and_then(|size| size.first().copied());
    let limit = dims[dim].size().or(dims[dim].bound());
    // set_dimension_size_c3
    let fits = |n: i64| n >= 0 && limit.is_none_or(|limit| wide(limit) >= i128::from(n));
    cx.check(known.is_none_or(fits), "set_dimension_size_c3", || {
        let most = limit.map_or(Dim::UNBOUNDED, Dim::Static);
        format!("size must be in [0, {most}], found {}", known.unwrap_or_default())
    });
    dims[dim] = match known {
        Some(size) => Dim::Static(narrow(i128::from(size))),
        None => Dim::Dynamic { bound: limit },
    };
    Some(smallvec![operand.with_dims(dims).into()])
}
