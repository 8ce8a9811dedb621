//! Attributes of reductions, windows, sorting.

use farcall_sig::DType;

use super::{Bad, Fields, Put};
use crate::attr::Attr;
use crate::literal::Literal;
use crate::op::{Op, ReduceWindow, SelectAndScatter};

pub(in crate::text) fn read_reduce_window(f: &mut Fields<'_>) -> Result<Op, Bad> {
    let window = f.usizes("window_dimensions")?;
    let rank = window.len();
    Ok(Op::ReduceWindow(ReduceWindow {
        strides: f.usizes_or("window_strides", rank, 1)?,
        base_dilations: f.usizes_or("base_dilations", rank, 1)?,
        window_dilations: f.usizes_or("window_dilations", rank, 1)?,
        padding: f.padding("padding", rank)?,
        window,
    }))
}

pub(in crate::text) fn write_reduce_window(op: &ReduceWindow, put: &mut Put<'_>) {
    put("window_dimensions", Attr::usize_array(&op.window));
    put_sizes(put, "window_strides", &op.strides, op.window.len());
    put_sizes(put, "base_dilations", &op.base_dilations, op.window.len());
    put_sizes(put, "window_dilations", &op.window_dilations, op.window.len());
    put_padding(put, &op.padding, op.window.len());
}

pub(in crate::text) fn read_select_and_scatter(f: &mut Fields<'_>) -> Result<Op, Bad> {
    let rank = f.operand(0).map_or(0, |t| t.rank());
    let window = f.usizes_or("window_dimensions", rank, 1)?;
    let rank = window.len();
    Ok(Op::SelectAndScatter(SelectAndScatter {
        strides: f.usizes_or("window_strides", rank, 1)?,
        padding: f.padding("padding", rank)?,
        window,
    }))
}

pub(in crate::text) fn write_select_and_scatter(op: &SelectAndScatter, put: &mut Put<'_>) {
    put("window_dimensions", Attr::usize_array(&op.window));
    put_sizes(put, "window_strides", &op.strides, op.window.len());
    put_padding(put, &op.padding, op.window.len());
}

pub(in crate::text) fn read_sort(f: &mut Fields<'_>) -> Result<Op, Bad> {
    let rank = f.operand(0).map_or(0, |t| t.rank());
    // Negative: counted from the last dimension.
    let dim = f.i64_or("dimension", -1)?;
    let from_first = if dim < 0 { dim + i64::try_from(rank).unwrap_or(i64::MAX) } else { dim };
    let dim = usize::try_from(from_first)
        .map_err(|_| format!("attribute `dimension` is {dim}, but the operands have rank {rank}"))?;
    Ok(Op::Sort { dim, is_stable: f.flag("is_stable")? })
}

/// Window sizes, unless they are all 1 and as many as by default.
pub(super) fn put_sizes(put: &mut Put<'_>, key: &str, sizes: &[usize], rank: usize) {
    if sizes.len() != rank || sizes.iter().any(|s| *s != 1) {
        put(key, Attr::usize_array(sizes));
    }
}

/// `padding = dense<…> : tensor<Nx2xi64>`, unless it is all zero and as much as by default.
pub(super) fn put_padding(put: &mut Put<'_>, padding: &[(i64, i64)], rank: usize) {
    if padding.len() == rank && padding.iter().all(|p| *p == (0, 0)) {
        return;
    }
    let flat: Vec<i64> = padding.iter().flat_map(|(l, h)| [*l, *h]).collect();
    put("padding", Attr::Dense(Literal::from_slice(DType::S64, [padding.len(), 2], &flat)));
}
