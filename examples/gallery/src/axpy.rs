//! A sum in place: the result is in the buffer of the operand `y`. The whole batch shares the factor `a`.

use farcall_ffi::prelude::*;

/// `y + a·x`, in the buffer of `y` if the program allows it.
#[handler(name = "axpy")]
#[signature((a: T[], x: T[*], y: T[*]) -> (sum: T[*] aliases y) where T: f32 | f64)]
#[vjp(backward = axpy_bwd)]
#[jvp(tangent = axpy_jvp)]
fn axpy<T: Float>(a: &Buffer<T, 0>, x: &Buffer<T>, y: &mut InOut<Buffer<T>>) -> Result<()> {
    y.iter_mut().zip(x.iter()).for_each(|(y, &x)| *y += a[0] * x);
    Ok(())
}

/// The cotangent of `a` is a sum over all entries of all batches.
#[handler(name = "axpy_bwd")]
#[signature((a: T[], x: T[*], dsum: T[*]) -> (da: T[], dx: T[*], dy: T[*]) where T: f32 | f64; *: sum)]
fn axpy_bwd<T: Float>(
    a: &Buffer<T, 0>,
    x: &Buffer<T>,
    dsum: &Buffer<T>,
    da: &mut Buffer<T, 0>,
    dx: &mut Buffer<T>,
    dy: &mut Buffer<T>,
) -> Result<()> {
    da[0] = x.iter().zip(dsum.iter()).map(|(&x, &dsum)| x * dsum).sum();
    dx.iter_mut().zip(dsum.iter()).for_each(|(dx, &dsum)| *dx = a[0] * dsum);
    dy.copy_from_slice(dsum);
    Ok(())
}

/// `ẏ + ȧ·x + a·ẋ`
#[handler(name = "axpy_jvp")]
#[signature((a: T[], x: T[*], da: T[], dx: T[*], dy: T[*]) -> (dsum: T[*] aliases dy) where T: f32 | f64)]
fn axpy_jvp<T: Float>(
    a: &Buffer<T, 0>,
    x: &Buffer<T>,
    da: &Buffer<T, 0>,
    dx: &Buffer<T>,
    dy: &mut InOut<Buffer<T>>,
) -> Result<()> {
    for ((dy, &x), &dx) in dy.iter_mut().zip(x.iter()).zip(dx.iter()) {
        *dy += da[0] * x + a[0] * dx;
    }
    Ok(())
}

pub(crate) const OPS: &[&OpDescriptor] = ops![axpy, axpy_bwd, axpy_jvp];
