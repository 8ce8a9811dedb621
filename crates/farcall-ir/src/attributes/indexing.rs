//! Attributes of operations whose indices are data.

use super::fields::{to_i64s, to_usizes};
use super::{Bad, Fields, Put};
use crate::attr::{AttrDict, Attribute};
use crate::op::{Gather, Op, Scatter};

pub(crate) fn read_gather(f: &mut Fields<'_>) -> Result<Op, Bad> {
    Ok(Op::Gather(Box::new(read_static_gather(f)?)))
}

pub(super) fn read_static_gather(f: &mut Fields<'_>) -> Result<Gather, Bad> {
    let mut gather = read_dimension_numbers(f)?;
    gather.slice_sizes = f.usizes("slice_sizes")?;
    Ok(gather)
}

pub(crate) fn read_dynamic_gather(f: &mut Fields<'_>) -> Result<Op, Bad> {
    Ok(Op::DynamicGather(Box::new(read_dimension_numbers(f)?)))
}

/// Reads everything except the slice sizes.
fn read_dimension_numbers(f: &mut Fields<'_>) -> Result<Gather, Bad> {
    let mut p = f.params("dimension_numbers")?;
    let gather = Gather {
        offset_dims: list(&mut p, "offset_dims")?,
        collapsed_slice_dims: list(&mut p, "collapsed_slice_dims")?,
        operand_batching_dims: list(&mut p, "operand_batching_dims")?,
        start_indices_batching_dims: list(&mut p, "start_indices_batching_dims")?,
        start_index_map: list(&mut p, "start_index_map")?,
        index_vector_dim: number(&mut p, "index_vector_dim")?,
        slice_sizes: Vec::new(),
        indices_are_sorted: f.flag("indices_are_sorted")?,
    };
    no_more("dimension_numbers", &p)?;
    Ok(gather)
}

pub(crate) fn write_gather(op: &Gather, dynamic: bool, put: &mut Put<'_>) {
    let text = params(&[
        ("offset_dims", &op.offset_dims),
        ("collapsed_slice_dims", &op.collapsed_slice_dims),
        ("operand_batching_dims", &op.operand_batching_dims),
        ("start_indices_batching_dims", &op.start_indices_batching_dims),
        ("start_index_map", &op.start_index_map),
    ]);
    let text = with_index_vector_dim(text, op.index_vector_dim);
    put("dimension_numbers", Attribute::dialect("stablehlo.gather", text));
    if !dynamic {
        put("slice_sizes", Attribute::usize_array(&op.slice_sizes));
    }
    if op.indices_are_sorted {
        put("indices_are_sorted", Attribute::Bool(true));
    }
}

pub(crate) fn read_scatter(f: &mut Fields<'_>) -> Result<Op, Bad> {
    Ok(Op::Scatter(Box::new(read_scatter_numbers(f)?)))
}

pub(super) fn read_scatter_numbers(f: &mut Fields<'_>) -> Result<Scatter, Bad> {
    let mut p = f.params("scatter_dimension_numbers")?;
    let scatter = Scatter {
        update_window_dims: list(&mut p, "update_window_dims")?,
        inserted_window_dims: list(&mut p, "inserted_window_dims")?,
        input_batching_dims: list(&mut p, "input_batching_dims")?,
        scatter_indices_batching_dims: list(&mut p, "scatter_indices_batching_dims")?,
        scatter_dims_to_operand_dims: list(&mut p, "scatter_dims_to_operand_dims")?,
        index_vector_dim: number(&mut p, "index_vector_dim")?,
        indices_are_sorted: f.flag("indices_are_sorted")?,
        unique_indices: f.flag("unique_indices")?,
    };
    no_more("scatter_dimension_numbers", &p)?;
    Ok(scatter)
}

pub(crate) fn write_scatter(op: &Scatter, put: &mut Put<'_>) {
    let text = params(&[
        ("update_window_dims", &op.update_window_dims),
        ("inserted_window_dims", &op.inserted_window_dims),
        ("input_batching_dims", &op.input_batching_dims),
        ("scatter_indices_batching_dims", &op.scatter_indices_batching_dims),
        ("scatter_dims_to_operand_dims", &op.scatter_dims_to_operand_dims),
    ]);
    let text = with_index_vector_dim(text, op.index_vector_dim);
    put("scatter_dimension_numbers", Attribute::dialect("stablehlo.scatter", text));
    for (key, value) in [("indices_are_sorted", op.indices_are_sorted), ("unique_indices", op.unique_indices)]
    {
        if value {
            put(key, Attribute::Bool(true));
        }
    }
}

/// Reads a list from the parameters; empty if absent.
pub(super) fn list(params: &mut AttrDict, key: &str) -> Result<Vec<usize>, Bad> {
    params.remove(key).map_or(Ok(Vec::new()), |a| to_usizes(key, &a))
}

/// Reads a number from the parameters; 0 if absent.
pub(super) fn number(params: &mut AttrDict, key: &str) -> Result<usize, Bad> {
    let Some(a) = params.remove(key) else { return Ok(0) };
    let one = to_i64s(key, &Attribute::Array(vec![a]))?[0];
    usize::try_from(one).map_err(|_| format!("`{key}` is negative"))
}

/// Checks that no unknown parameters remain.
pub(super) fn no_more(key: &str, params: &AttrDict) -> Result<(), Bad> {
    match params.keys().next() {
        None => Ok(()),
        Some(name) => Err(format!("attribute `{key}` has the unknown parameter `{name}`")),
    }
}

/// Formats `a = [1, 2], b = [3]`, omitting empty lists.
pub(super) fn params(lists: &[(&str, &[usize])]) -> String {
    let parts: Vec<String> =
        lists.iter().filter(|(_, l)| !l.is_empty()).map(|(k, l)| format!("{k} = {l:?}")).collect();
    parts.join(", ")
}

fn with_index_vector_dim(text: String, dim: usize) -> String {
    match (text.is_empty(), dim) {
        (_, 0) => text,
        (true, _) => format!("index_vector_dim = {dim}"),
        (false, _) => format!("{text}, index_vector_dim = {dim}"),
    }
}
