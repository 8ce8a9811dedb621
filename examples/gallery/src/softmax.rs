//! The softmax of each row, or of the entries that a mask selects. The mask is an optional operand.

use farcall_ffi::prelude::*;

/// `exp(x) / Σ exp(x)` along each row; entries that `mask` excludes are 0, and are left out of the sum.
#[handler(name = "softmax")]
#[signature((x: T[*, n], mask: pred[*, n]?) -> (y: T[*, n]) where T: f32 | f64)]
#[vjp(backward = softmax_bwd)]
fn softmax<T: Float>(x: &Buffer<T>, mask: Option<&Buffer<Pred>>, y: &mut Buffer<T>) -> Result<()> {
    for (row, (x, y)) in x.rows().zip(y.rows_mut()).enumerate() {
        let passes = |i: usize| mask.is_none_or(|mask| mask[row * x.len() + i].get());
        let max = (0..x.len()).filter(|&i| passes(i)).map(|i| x[i]).fold(T::NEG_INFINITY, T::max);
        (0..x.len()).for_each(|i| y[i] = if passes(i) { (x[i] - max).exp() } else { T::ZERO });
        let sum: T = y.iter().sum();
        y.iter_mut().filter(|y| **y != T::ZERO).for_each(|y| *y /= sum);
    }
    Ok(())
}

/// `dx = y·(dy − Σ y·dy)`: the derivative needs only the result, not the operands.
#[handler(name = "softmax_bwd")]
#[signature((y: T[*, n], dy: T[*, n]) -> (dx: T[*, n]) where T: f32 | f64)]
fn softmax_bwd<T: Float>(y: &Buffer<T>, dy: &Buffer<T>, dx: &mut Buffer<T>) -> Result<()> {
    for ((y, dy), dx) in y.rows().zip(dy.rows()).zip(dx.rows_mut()) {
        let sum: T = y.iter().zip(dy).map(|(&y, &dy)| y * dy).sum();
        (0..y.len()).for_each(|i| dx[i] = y[i] * (dy[i] - sum));
    }
    Ok(())
}

pub(crate) const OPS: &[&OpDescriptor] = ops![softmax, softmax_bwd];
