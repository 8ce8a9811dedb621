//! Matrices stacked vertically: any number of operands with different numbers of rows.

use farcall_ffi::prelude::*;

/// The rows of all operands, in order.
#[handler(name = "concat")]
#[signature((xs: T[*, n..., d]...) -> (y: T[*, sum(n), d]) where T: f32 | f64; d: map)]
#[vjp(backward = concat_bwd)]
fn concat<T: Float>(xs: &RestOperands<Buffer<T>>, y: &mut Buffer<T>) -> Result<()> {
    for (batch, y) in y.matrices_mut().enumerate() {
        let mut rest = y;
        for x in xs.iter().filter_map(|x| x.matrices().nth(batch)) {
            let (part, after) = rest.split_at_mut(x.len());
            part.copy_from_slice(x);
            rest = after;
        }
    }
    Ok(())
}

/// The part of the cotangent that belongs to each operand.
#[handler(name = "concat_bwd")]
#[signature((dy: T[*, sum(n), d], xs: T[*, n..., d]...) -> (dxs: T[*, n..., d]...) where T: f32 | f64; d: map)]
fn concat_bwd<T: Float>(
    dy: &Buffer<T>,
    xs: &RestOperands<Buffer<T>>,
    dxs: &mut RestResults<Buffer<T>>,
) -> Result<()> {
    ensure!(xs.len() == dxs.len(), "{} operands, but {} gradients", xs.len(), dxs.len());
    for (batch, dy) in dy.matrices().enumerate() {
        let mut rest = dy;
        for dx in dxs.iter_mut().filter_map(|dx| dx.matrices_mut().nth(batch)) {
            let (part, after) = rest.split_at(dx.len());
            dx.copy_from_slice(part);
            rest = after;
        }
    }
    Ok(())
}

pub(crate) const OPS: &[&OpDescriptor] = ops![concat, concat_bwd];
