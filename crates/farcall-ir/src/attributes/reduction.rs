//! Attributes of reductions, windows, sorting.

use farcall_sig::DType;

use super::{Bad, Fields, Put, i64_attr};
use crate::attr::Attribute;
use crate::literal::Literal;
use crate::op::{Op, ReduceWindow, Scan, SelectAndScatter};

pub(crate) fn read_reduce_window(f: &mut Fields<'_>) -> Result<Op, Bad> {
    let window = f.usizes("window_dimensions")?;
    let rank = window.len();
    Ok(Op::ReduceWindow(Box::new(ReduceWindow {
        strides: f.usizes_or("window_strides", rank, 1)?,
        base_dilations: f.usizes_or("base_dilations", rank, 1)?,
        window_dilations: f.usizes_or("window_dilations", rank, 1)?,
        padding: f.padding("padding", rank)?,
        window,
    })))
}

pub(crate) fn write_reduce_window(op: &ReduceWindow, put: &mut Put<'_>) {
    put("window_dimensions", Attribute::usize_array(&op.window));
    put_sizes(put, "window_strides", &op.strides, op.window.len());
    put_sizes(put, "base_dilations", &op.base_dilations, op.window.len());
    put_sizes(put, "window_dilations", &op.window_dilations, op.window.len());
    put_padding(put, &op.padding, op.window.len());
}

pub(crate) fn read_select_and_scatter(f: &mut Fields<'_>) -> Result<Op, Bad> {
    let rank = f.operand(0).map_or(0, |t| t.rank());
    let window = f.usizes_or("window_dimensions", rank, 1)?;
    let rank = window.len();
    Ok(Op::SelectAndScatter(SelectAndScatter {
        strides: f.usizes_or("window_strides", rank, 1)?,
        padding: f.padding("padding", rank)?,
        window,
    }))
}

pub(crate) fn write_select_and_scatter(op: &SelectAndScatter, put: &mut Put<'_>) {
    put("window_dimensions", Attribute::usize_array(&op.window));
    put_sizes(put, "window_strides", &op.strides, op.window.len());
    put_padding(put, &op.padding, op.window.len());
}

pub(crate) fn read_sort(f: &mut Fields<'_>) -> Result<Op, Bad> {
    let rank = f.operand(0).map_or(0, |t| t.rank());
    // A negative dimension counts from the last one.
    let dim = f.i64_or("dimension", -1)?;
    let from_first = if dim < 0 { dim + i64::try_from(rank).unwrap_or(i64::MAX) } else { dim };
    let dim = usize::try_from(from_first)
        .map_err(|_| format!("attribute `dimension` is {dim}, but the operands have rank {rank}"))?;
    Ok(Op::Sort { dim, is_stable: f.flag("is_stable")? })
}

pub(super) fn write_sort(dim: usize, is_stable: bool, put: &mut Put<'_>) {
    put("dimension", i64_attr(dim));
    if is_stable {
        put("is_stable", Attribute::Bool(true));
    }
}

/// Writes window sizes, unless there are `rank` of them and all are 1.
pub(super) fn put_sizes(put: &mut Put<'_>, key: &str, sizes: &[usize], rank: usize) {
    if sizes.len() != rank || sizes.iter().any(|s| *s != 1) {
        put(key, Attribute::usize_array(sizes));
    }
}

/// Writes `padding = dense<…> : tensor<Nx2xi64>`, unless there are `rank` pairs and all are zero.
pub(super) fn put_padding(put: &mut Put<'_>, padding: &[(i64, i64)], rank: usize) {
    if padding.len() == rank && padding.iter().all(|p| *p == (0, 0)) {
        return;
    }
    let flat: Vec<i64> = padding.iter().flat_map(|(l, h)| [*l, *h]).collect();
    put("padding", Attribute::Dense(Literal::from_slice(DType::S64, [padding.len(), 2], &flat)));
}

pub(crate) fn read_scan(f: &mut Fields<'_>) -> Result<Op, Bad> {
    let mut pair = |key: &str| match f.usizes(key)?.as_slice() {
        [a, b] => Ok([*a, *b]),
        other => Err(format!("attribute `{key}` must have two numbers, not {}", other.len())),
    };
    let ([inputs, carries], [outputs, results]) = (pair("operandSegmentSizes")?, pair("resultSegmentSizes")?);
    if carries != results {
        return Err(format!("there are {carries} initial values, but {results} results for carried values"));
    }
    let size = f.take("scan_dim_size").map(|a| {
        let size = a.as_i64().and_then(|n| usize::try_from(n).ok());
        size.ok_or_else(|| {
            format!("attribute `scan_dim_size` must be an integer that is not negative, not {a}")
        })
    });
    let is_associative = f.take("is_associative").map(|a| {
        a.as_bool().ok_or_else(|| format!("attribute `is_associative` must be true or false, not {a}"))
    });
    Ok(Op::Scan(Scan {
        dim: f.usize("dimension")?,
        size: size.transpose()?,
        is_reverse: f.flag("is_reverse")?,
        is_associative: is_associative.transpose()?,
        inputs,
        carries,
        outputs,
    }))
}

pub(crate) fn write_scan(op: &Scan, put: &mut Put<'_>) {
    put("dimension", i64_attr(op.dim));
    if let Some(size) = op.size {
        put("scan_dim_size", i64_attr(size));
    }
    if op.is_reverse {
        put("is_reverse", Attribute::Bool(true));
    }
    if let Some(is_associative) = op.is_associative {
        put("is_associative", Attribute::Bool(is_associative));
    }
    put("operandSegmentSizes", segments(op.inputs, op.carries));
    put("resultSegmentSizes", segments(op.outputs, op.carries));
}

/// The sizes of two lists of values, as an attribute.
pub(crate) fn segments(first: usize, second: usize) -> Attribute {
    let sizes = [first, second].map(|n| i32::try_from(n).unwrap_or(i32::MAX));
    Attribute::DenseArray(Literal::from_slice(DType::S32, [2], &sizes))
}
