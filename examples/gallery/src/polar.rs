//! Complex numbers from moduli and angles. The op has two element types, one of which determines the other.

use farcall_ffi::prelude::*;

/// `z = r·exp(iθ)`
#[handler(name = "polar")]
#[signature((r: T[*], theta: T[*]) -> (z: complex(T)[*]) where T: f32 | f64)]
#[vjp(backward = polar_bwd)]
#[jvp(tangent = polar_jvp)]
fn polar<T: Real>(r: &Buffer<T>, theta: &Buffer<T>, z: &mut Buffer<Complex<T>>) -> Result<()> {
    for ((z, &r), &theta) in z.iter_mut().zip(r.iter()).zip(theta.iter()) {
        *z = Complex::from_polar(r, theta);
    }
    Ok(())
}

/// Cotangents `dr`, `dθ` such that `dr·ṙ + dθ·θ̇` is the real part of `dz·ż`, without a conjugate, as in JAX.
#[handler(name = "polar_bwd")]
#[signature((r: T[*], theta: T[*], dz: complex(T)[*]) -> (dr: T[*], dtheta: T[*]) where T: f32 | f64)]
fn polar_bwd<T: Real>(
    r: &Buffer<T>,
    theta: &Buffer<T>,
    dz: &Buffer<Complex<T>>,
    dr: &mut Buffer<T>,
    dtheta: &mut Buffer<T>,
) -> Result<()> {
    for i in 0..r.len() {
        let turned = dz[i] * Complex::from_polar(T::ONE, theta[i]);
        (dr[i], dtheta[i]) = (turned.re, -r[i] * turned.im);
    }
    Ok(())
}

/// `ż = (ṙ + i·r·θ̇)·exp(iθ)`
#[handler(name = "polar_jvp")]
#[signature((r: T[*], theta: T[*], dr: T[*], dtheta: T[*]) -> (dz: complex(T)[*]) where T: f32 | f64)]
fn polar_jvp<T: Real>(
    r: &Buffer<T>,
    theta: &Buffer<T>,
    dr: &Buffer<T>,
    dtheta: &Buffer<T>,
    dz: &mut Buffer<Complex<T>>,
) -> Result<()> {
    for i in 0..r.len() {
        dz[i] = Complex::new(dr[i], r[i] * dtheta[i]) * Complex::from_polar(T::ONE, theta[i]);
    }
    Ok(())
}

pub(crate) const OPS: &[&OpDescriptor] = ops![polar, polar_bwd, polar_jvp];
