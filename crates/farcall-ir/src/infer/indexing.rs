//! Operations whose indices are data.

use crate::dims::IndexedDims;
use crate::infer::cx::Cx;
use crate::infer::reduction::reducer;
use crate::infer::shape::{compatible_elements, same_dims};
use crate::op::Class;
use crate::op::{Gather, Scatter};
use crate::types::{Dim, TensorType, TypeList};
use smallvec::smallvec;

/// Checks the start indices: one scalar for each dimension, all of the same integer type. The start indices
/// are the operands from position `from` on.
fn start_indices(cx: &mut Cx<'_>, codes: [&'static str; 3], from: usize, operand: &TensorType) -> bool {
    let [input, count, same] = codes;
    let starts = cx.tensors(from.min(cx.operand_count())..cx.operand_count());
    for (i, start) in starts.iter().enumerate() {
        cx.class(input, &format!("start index {i}"), start, Class::INT);
        cx.scalar(input, &format!("start index {i}"), start);
    }
    let one = starts.windows(2).all(|w| w[0].dtype == w[1].dtype);
    cx.check(one, same, || {
        let types: Vec<String> = starts.iter().map(ToString::to_string).collect();
        format!("start indices must have the same type, found {}", types.join(", "))
    });
    cx.length(count, "start_indices", starts.len(), operand.rank(), "one per dimension")
}

pub(super) fn dynamic_slice(cx: &mut Cx<'_>, sizes: &[usize]) -> Option<TypeList> {
    let operand = cx.t(0);
    cx.class("dynamic_slice_i1", "operand", operand, Class::TENSOR);
    // dynamic_slice_i2, dynamic_slice_c2, dynamic_slice_c3
    start_indices(cx, ["dynamic_slice_i2", "dynamic_slice_c2", "dynamic_slice_c3"], 1, operand);
    // dynamic_slice_c2
    if !cx.length("dynamic_slice_c2", "slice_sizes", sizes.len(), operand.rank(), "one per dimension") {
        return None;
    }
    // dynamic_slice_c4
    for (d, (size, dim)) in sizes.iter().zip(operand.dims()).enumerate() {
        cx.check(dim.size().is_none_or(|dim| *size <= dim), "dynamic_slice_c4", || {
            format!("slice size {size} exceeds dimension {d} of {operand}")
        });
    }
    // dynamic_slice_c1, dynamic_slice_c5
    Some(smallvec![operand.with_sizes(sizes).into()])
}

pub(super) fn dynamic_update_slice(cx: &mut Cx<'_>) -> Option<TypeList> {
    let (operand, update) = (cx.t(0), cx.t(1));
    cx.class("dynamic_update_slice_i1", "operand", operand, Class::TENSOR);
    // dynamic_update_slice_c2
    cx.check(compatible_elements(operand, update), "dynamic_update_slice_c2", || {
        format!("the update must have the element type of {operand}, found {update}")
    });
    // dynamic_update_slice_i3, dynamic_update_slice_c4, dynamic_update_slice_c5
    let codes = ["dynamic_update_slice_i3", "dynamic_update_slice_c4", "dynamic_update_slice_c5"];
    start_indices(cx, codes, 2, operand);
    // dynamic_update_slice_c3
    if cx.check(operand.rank() == update.rank(), "dynamic_update_slice_c3", || {
        format!("the update must have the rank of {operand}, found {update}")
    }) {
        // dynamic_update_slice_c6
        for (d, (size, dim)) in update.dims().zip(operand.dims()).enumerate() {
            let fits = size.size().zip(dim.size()).is_none_or(|(size, dim)| size <= dim);
            cx.check(fits, "dynamic_update_slice_c6", || {
                format!("the update's size {size} exceeds dimension {d} of {operand}")
            });
        }
    }
    // dynamic_update_slice_c1
    Some(smallvec![operand.clone().into()])
}

// The specification does not describe this operation. Constraint numbers follow `slice`.
pub(super) fn real_dynamic_slice(cx: &mut Cx<'_>) -> Option<TypeList> {
    let operand = cx.t(0);
    let declared = cx.declared(0)?;
    cx.class("real_dynamic_slice_i1", "operand", operand, Class::TENSOR);
    // real_dynamic_slice_c2
    let starts = cx.t(1).dtype;
    for (i, name) in ["start_indices", "limit_indices", "strides"].into_iter().enumerate() {
        let list = cx.t(1 + i);
        let vector = list.rank() == 1 && Class::INT.has(list) && list.dim(0).may_be(operand.rank());
        cx.check(vector, "real_dynamic_slice_c2", || {
            format!("{name} must be a 1-dimensional integer tensor with one element per dimension of {operand}, found {list}")
        });
        cx.check(list.dtype == starts, "real_dynamic_slice_c2", || {
            format!("{name} must have the element type of start_indices, found {list}")
        });
    }
    // real_dynamic_slice_c5
    if !cx.check(declared.rank() == operand.rank(), "real_dynamic_slice_c5", || {
        format!("the result must have the rank of {operand}, found {declared}")
    }) {
        return None;
    }
    // real_dynamic_slice_c4
    let lists = (cx.constant(1), cx.constant(2), cx.constant(3));
    if let Some(strides) = &lists.2 {
        cx.check(strides.iter().all(|s| *s > 0), "real_dynamic_slice_c4", || {
            format!("strides must be positive, found {strides:?}")
        });
    }
    // real_dynamic_slice_c1
    Some(smallvec![operand.with_dims_of(declared).into()])
}

/// Returns the name of a constraint that `gather` and `dynamic_gather` share, numbered as for `gather`.
macro_rules! either {
    ($dynamic:expr, $constraint:literal) => {
        if $dynamic { concat!("dynamic_gather_", $constraint) } else { concat!("gather_", $constraint) }
    };
}

pub(super) fn gather(cx: &mut Cx<'_>, op: &Gather, dynamic: bool) -> Option<TypeList> {
    let (operand, indices) = (cx.t(0), cx.t(1));
    // gather_i1, gather_i2
    cx.class(either!(dynamic, "i1"), "operand", operand, Class::TENSOR);
    cx.class(either!(dynamic, "i2"), "start_indices", indices, Class::INT);
    let rank = operand.rank();
    let before = cx.diagnostics.len();
    gather_numbers(cx, op, operand, indices, dynamic);
    // gather_c20
    let sizes = if dynamic { dynamic_sizes(cx)? } else { Some(op.slice_sizes.clone()) };
    if let Some(sizes) = &sizes
        && cx.length(either!(dynamic, "c20"), "slice_sizes", sizes.len(), rank, "one per operand dimension")
    {
        slice_sizes(cx, op, sizes, operand, dynamic);
    }
    // gather_c5
    let index_rank = indices.rank() + usize::from(op.index_vector_dim == indices.rank());
    let result_rank = (index_rank + op.offset_dims.len()).saturating_sub(1);
    cx.in_range(either!(dynamic, "c5"), "offset_dims", &op.offset_dims, result_rank);
    if cx.diagnostics.len() > before {
        return None;
    }
    // gather_c22
    let numbers = IndexedDims::from(op);
    let mut batch_sizes = numbers.indices_batch_dims(indices.rank()).into_iter().map(|d| indices.dim(d));
    let mut offset_sizes = numbers
        .operand_window_dims(rank)
        .into_iter()
        .map(|d| sizes.as_ref().map_or(Dim::UNBOUNDED, |s| Dim::Static(s[d])));
    let dims = (0..result_rank).map(|d| {
        let next = if op.offset_dims.contains(&d) { offset_sizes.next() } else { batch_sizes.next() };
        next.unwrap_or(Dim::UNBOUNDED)
    });
    // gather_c23
    Some(smallvec![operand.with_dims(dims).into()])
}

/// Checks the dimension numbers of a gather.
fn gather_numbers(cx: &mut Cx<'_>, op: &Gather, operand: &TensorType, indices: &TensorType, dynamic: bool) {
    let rank = operand.rank();
    // gather_c1
    let implied = op.offset_dims.len() + op.collapsed_slice_dims.len() + op.operand_batching_dims.len();
    cx.check(rank == implied, either!(dynamic, "c1"), || {
        format!(
            "offset_dims, collapsed_slice_dims and operand_batching_dims must have {rank} entries together \
             (the rank of {operand}), found {implied}"
        )
    });
    // gather_c2
    let vector_dim = op.index_vector_dim;
    if cx.check(vector_dim <= indices.rank(), either!(dynamic, "c2"), || {
        format!("index_vector_dim must be in [0, {}], found {vector_dim}", indices.rank())
    }) {
        // gather_c3
        let length = indices.get_dim(vector_dim).unwrap_or(Dim::Static(1));
        cx.check(length.may_be(op.start_index_map.len()), either!(dynamic, "c3"), || {
            format!(
                "start_index_map must have {length} entries (the length of an index in start_indices), \
                 found {}",
                op.start_index_map.len()
            )
        });
    }
    // gather_c4
    cx.unique(either!(dynamic, "c4"), "offset_dims", &op.offset_dims);
    cx.sorted(either!(dynamic, "c4"), "offset_dims", &op.offset_dims);
    // gather_c6
    let both: Vec<usize> = [&op.collapsed_slice_dims[..], &op.operand_batching_dims[..]].concat();
    cx.unique(either!(dynamic, "c6"), "collapsed_slice_dims and operand_batching_dims", &both);
    // gather_c7
    cx.sorted(either!(dynamic, "c7"), "collapsed_slice_dims", &op.collapsed_slice_dims);
    // gather_c8
    cx.in_range(either!(dynamic, "c8"), "collapsed_slice_dims", &op.collapsed_slice_dims, rank);
    // gather_c10
    cx.sorted(either!(dynamic, "c10"), "operand_batching_dims", &op.operand_batching_dims);
    // gather_c11
    let batch = &op.operand_batching_dims;
    let valid = cx.in_range(either!(dynamic, "c11"), "operand_batching_dims", batch, rank);
    let codes = BatchCodes {
        unique: either!(dynamic, "c13"),
        in_range: either!(dynamic, "c14"),
        not_vector: either!(dynamic, "c15"),
        same_count: either!(dynamic, "c16"),
        same_size: either!(dynamic, "c17"),
        operand: "operand_batching_dims",
        indices: "start_indices_batching_dims",
    };
    // gather_c13, gather_c14, gather_c15, gather_c16, gather_c17
    batching(cx, &codes, (operand, batch, valid), (indices, &op.start_indices_batching_dims), vector_dim);
    // gather_c18
    let both = [&op.start_index_map[..], &op.operand_batching_dims[..]].concat();
    cx.unique(either!(dynamic, "c18"), "start_index_map and operand_batching_dims", &both);
    // gather_c19
    cx.in_range(either!(dynamic, "c19"), "start_index_map", &op.start_index_map, rank);
}

/// Returns the slice sizes of a dynamic gather, which are its third operand. The inner value is `None` if
/// that operand is not constant; the outer value is `None` if a violation was reported.
fn dynamic_sizes(cx: &mut Cx<'_>) -> Option<Option<Vec<usize>>> {
    let (rank, list) = (cx.t(0).rank(), cx.t(2));
    // dynamic_gather_i3
    if !cx.check(list.rank() == 1 && Class::INT.has(list), "dynamic_gather_i3", || {
        format!("slice_sizes must be a 1-dimensional tensor of integer type, found {list}")
    }) {
        return None;
    }
    // dynamic_gather_c20
    if !cx.check(list.dim(0).may_be(rank), "dynamic_gather_c20", || {
        format!("slice_sizes must have one element per operand dimension, found {list}")
    }) {
        return None;
    }
    let Some(sizes) = cx.constant(2) else { return Some(None) };
    // dynamic_gather_c21
    let valid: Option<Vec<usize>> = sizes.iter().map(|s| usize::try_from(*s).ok()).collect();
    cx.check(valid.is_some(), "dynamic_gather_c21", || {
        format!("slice_sizes must not be negative, found {sizes:?}")
    });
    valid.map(Some)
}

fn slice_sizes(cx: &mut Cx<'_>, op: &Gather, sizes: &[usize], operand: &TensorType, dynamic: bool) {
    // gather_c9, gather_c12
    let one = [
        (either!(dynamic, "c9"), "collapsed_slice_dims", &op.collapsed_slice_dims),
        (either!(dynamic, "c12"), "operand_batching_dims", &op.operand_batching_dims),
    ];
    for (code, name, dims) in one {
        for d in dims {
            let size = sizes.get(*d).copied().unwrap_or(0);
            cx.check(size <= 1, code, || {
                format!("the slice size of each of {name} must be at most 1, found {size} for dimension {d}")
            });
        }
    }
    // gather_c21
    for (d, (size, dim)) in sizes.iter().zip(operand.dims()).enumerate() {
        cx.check(dim.size().is_none_or(|dim| *size <= dim), either!(dynamic, "c21"), || {
            format!("slice size {size} exceeds dimension {d} of {operand}")
        });
    }
}

/// Names of the constraints on the batching dimensions of `gather` or `scatter`.
struct BatchCodes {
    unique: &'static str,
    in_range: &'static str,
    not_vector: &'static str,
    same_count: &'static str,
    same_size: &'static str,
    operand: &'static str,
    indices: &'static str,
}

/// Checks the batching dimensions of an operand and of the indices. `valid` is true if the operand's batching
/// dimensions are in range.
fn batching(
    cx: &mut Cx<'_>,
    codes: &BatchCodes,
    (operand, operand_dims, valid): (&TensorType, &[usize], bool),
    (indices, indices_dims): (&TensorType, &[usize]),
    vector_dim: usize,
) {
    cx.unique(codes.unique, codes.indices, indices_dims);
    let valid = cx.in_range(codes.in_range, codes.indices, indices_dims, indices.rank()) && valid;
    cx.check(!indices_dims.contains(&vector_dim), codes.not_vector, || {
        format!("{} must not hold index_vector_dim, {vector_dim}", codes.indices)
    });
    let same = cx.check(operand_dims.len() == indices_dims.len(), codes.same_count, || {
        format!(
            "{} and {} must have the same number of entries, found {} and {}",
            codes.operand,
            codes.indices,
            operand_dims.len(),
            indices_dims.len()
        )
    });
    if !(same && valid) {
        return;
    }
    for (a, b) in operand_dims.iter().zip(indices_dims) {
        cx.check(operand.dim(*a).may_equal(indices.dim(*b)), codes.same_size, || {
            format!(
                "dimension {a} of {operand} and dimension {b} of the indices, {indices}, must have the \
                 same size"
            )
        });
    }
}

pub(super) fn scatter(cx: &mut Cx<'_>, op: &Scatter) -> Option<TypeList> {
    let count = cx.operand_count();
    // scatter_c5
    if !cx.check(count >= 3 && count % 2 == 1, "scatter_c5", || {
        format!("operands must be N inputs, scatter_indices and N updates, found {count} operands")
    }) {
        return None;
    }
    let n = count / 2;
    let (inputs, indices, updates) = (cx.tensors(0..n), cx.t(n), cx.tensors(n + 1..count));
    let (input, update) = (inputs[0], updates[0]);
    // scatter_i1, scatter_i2, scatter_i3
    for i in 0..n {
        cx.class("scatter_i1", &format!("input {i}"), inputs[i], Class::TENSOR);
        cx.class("scatter_i3", &format!("update {i}"), updates[i], Class::TENSOR);
        // scatter_c1
        cx.check(same_dims(input.dims(), inputs[i].dims()), "scatter_c1", || {
            format!("inputs must have the same shape, found {input} and (input {i}) {}", inputs[i])
        });
        // scatter_c3
        cx.check(same_dims(update.dims(), updates[i].dims()), "scatter_c3", || {
            format!("updates must have the same shape, found {update} and (update {i}) {}", updates[i])
        });
    }
    cx.class("scatter_i2", "scatter_indices", indices, Class::INT);
    scatter_dims(cx, op, input, indices, update);
    // scatter_c6, scatter_c23
    let elements = updates.iter().map(|u| u.with_sizes([])).collect::<Vec<_>>();
    let init: Vec<&TensorType> = elements.iter().collect();
    let accumulators = reducer(cx, 0, ["scatter_c6", "scatter_c23"], &inputs, &init)?;
    // scatter_c24, scatter_c25
    let results = accumulators.iter().zip(&inputs).map(|(e, input)| e.with_dims_of(input).into());
    Some(results.collect())
}

fn scatter_dims(
    cx: &mut Cx<'_>,
    op: &Scatter,
    input: &TensorType,
    indices: &TensorType,
    update: &TensorType,
) {
    let before = cx.diagnostics.len();
    scatter_numbers(cx, op, input, indices, update);
    let vector_dim = op.index_vector_dim;
    // scatter_c22
    if !cx.check(vector_dim <= indices.rank(), "scatter_c22", || {
        format!("index_vector_dim must be in [0, {}], found {vector_dim}", indices.rank())
    }) {
        return;
    }
    // scatter_c19
    let length = indices.get_dim(vector_dim).unwrap_or(Dim::Static(1));
    cx.check(length.may_be(op.scatter_dims_to_operand_dims.len()), "scatter_c19", || {
        format!(
            "scatter_dims_to_operand_dims must have {length} entries (the length of an index in \
             scatter_indices), found {}",
            op.scatter_dims_to_operand_dims.len()
        )
    });
    // scatter_c4
    let scatter_rank = indices.rank() - usize::from(vector_dim < indices.rank());
    let expected = scatter_rank + op.update_window_dims.len();
    cx.check(update.rank() == expected, "scatter_c4", || {
        format!("updates must have rank {expected} (scatter and window dimensions), found {update}")
    });
    if cx.diagnostics.len() > before {
        return;
    }
    update_sizes(cx, op, input, indices, update);
}

/// Checks the dimension numbers of a scatter.
fn scatter_numbers(
    cx: &mut Cx<'_>,
    op: &Scatter,
    input: &TensorType,
    indices: &TensorType,
    update: &TensorType,
) {
    let rank = input.rank();
    // scatter_c2
    let implied = op.update_window_dims.len() + op.inserted_window_dims.len() + op.input_batching_dims.len();
    cx.check(rank == implied, "scatter_c2", || {
        format!(
            "update_window_dims, inserted_window_dims and input_batching_dims must have {rank} entries \
             together (the rank of {input}), found {implied}"
        )
    });
    // scatter_c7
    cx.unique("scatter_c7", "update_window_dims", &op.update_window_dims);
    cx.sorted("scatter_c7", "update_window_dims", &op.update_window_dims);
    // scatter_c8
    cx.in_range("scatter_c8", "update_window_dims", &op.update_window_dims, update.rank());
    // scatter_c9
    let both = [&op.inserted_window_dims[..], &op.input_batching_dims[..]].concat();
    cx.unique("scatter_c9", "inserted_window_dims and input_batching_dims", &both);
    // scatter_c10
    cx.sorted("scatter_c10", "inserted_window_dims", &op.inserted_window_dims);
    // scatter_c11
    cx.in_range("scatter_c11", "inserted_window_dims", &op.inserted_window_dims, rank);
    // scatter_c12
    cx.sorted("scatter_c12", "input_batching_dims", &op.input_batching_dims);
    // scatter_c13
    let batch = &op.input_batching_dims;
    let valid = cx.in_range("scatter_c13", "input_batching_dims", batch, rank);
    let codes = BatchCodes {
        unique: "scatter_c14",
        in_range: "scatter_c15",
        not_vector: "scatter_c16",
        same_count: "scatter_c17",
        same_size: "scatter_c18",
        operand: "input_batching_dims",
        indices: "scatter_indices_batching_dims",
    };
    let vector_dim = op.index_vector_dim;
    // scatter_c14, scatter_c15, scatter_c16, scatter_c17, scatter_c18
    batching(cx, &codes, (input, batch, valid), (indices, &op.scatter_indices_batching_dims), vector_dim);
    // scatter_c20
    let both = [&op.scatter_dims_to_operand_dims[..], &op.input_batching_dims[..]].concat();
    cx.unique("scatter_c20", "scatter_dims_to_operand_dims and input_batching_dims", &both);
    // scatter_c21
    cx.in_range("scatter_c21", "scatter_dims_to_operand_dims", &op.scatter_dims_to_operand_dims, rank);
}

/// Checks the sizes of updates: scatter dimensions have the sizes of the indices, and window dimensions are
/// at most as large as in the input.
fn update_sizes(
    cx: &mut Cx<'_>,
    op: &Scatter,
    input: &TensorType,
    indices: &TensorType,
    update: &TensorType,
) {
    let numbers = IndexedDims::from(op);
    let mut scatter_sizes = numbers.indices_batch_dims(indices.rank()).into_iter().map(|d| indices.dim(d));
    let mut window_sizes = numbers.operand_window_dims(input.rank()).into_iter().map(|d| input.dim(d));
    for (d, size) in update.dims().enumerate() {
        if op.update_window_dims.contains(&d) {
            let Some(limit) = window_sizes.next() else { continue };
            let fits = size.size().zip(limit.size()).is_none_or(|(size, limit)| size <= limit);
            cx.check(fits, "scatter_c4", || {
                format!("dimension {d} of {update} must be at most {limit}, a dimension of {input}")
            });
        } else {
            let Some(expected) = scatter_sizes.next() else { continue };
            cx.check(size.may_equal(expected), "scatter_c4", || {
                format!("dimension {d} of {update} must be {expected}, a dimension of {indices}")
            });
        }
    }
}
