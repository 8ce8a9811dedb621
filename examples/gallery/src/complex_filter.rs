//! Filters of complex signals. As in JAX, cotangents are products without a conjugate.

use farcall_ffi::prelude::*;

/// `y[t] = Σ h[s]·x[t − s]`, where `x` is 0 before its first sample.
#[handler(name = "complex_filter", zeroed)]
#[signature((x: complex(T)[*, n], h: complex(T)[*, k]) -> (y: complex(T)[*, n]) where T: f32 | f64)]
#[vjp(backward = bwd)]
#[jvp(tangent = jvp)]
fn complex_filter<T: Real>() -> Result<()> {
    terms(x, h)?.for_each(|(i, j, k)| y[k] += x[i] * h[j]);
    Ok(())
}

/// The product rule.
#[handler(name = "complex_filter_jvp", zeroed)]
#[signature((x: complex(T)[*, n], h: complex(T)[*, k], dx: complex(T)[*, n], dh: complex(T)[*, k]) -> (dy: complex(T)[*, n])
    where T: f32 | f64)]
fn jvp<T: Real>() -> Result<()> {
    complex_filter(dx, h, dy)?;
    complex_filter(x, dh, dy)
}

/// `dx[t] = Σ h[s]·dy[t + s]` and `dh[s] = Σ x[t − s]·dy[t]`
#[handler(name = "complex_filter_bwd", zeroed)]
#[signature((x: complex(T)[*, n], h: complex(T)[*, k], dy: complex(T)[*, n])
    -> (dx: complex(T)[*, n], dh: complex(T)[*, k]) where T: f32 | f64)]
#[jvp(tangent = bwd_jvp, tangent(_) = t_)]
fn bwd<T: Real>() -> Result<()> {
    terms(x, h)?.for_each(|(i, j, k)| (dx[i], dh[j]) = (dx[i] + h[j] * dy[k], dh[j] + x[i] * dy[k]));
    Ok(())
}

/// The product rule, for `dx` and `dh`.
#[handler(name = "complex_filter_bwd_jvp", zeroed)]
#[signature((x: complex(T)[*, n], h: complex(T)[*, k], dy: complex(T)[*, n], tx: complex(T)[*, n], th: complex(T)[*, k],
    tdy: complex(T)[*, n]) -> (tdx: complex(T)[*, n], tdh: complex(T)[*, k]) where T: f32 | f64)]
fn bwd_jvp<T: Real>() -> Result<()> {
    bwd(x, h, tdy, tdx, tdh)?;
    bwd(tx, th, dy, tdx, tdh)
}

type Signal<T> = Buffer<Complex<T>>;

/// Returns `(i, j, k)` for each term `x[i]·h[j]` of the sums; the term contributes to `y[k]`.
fn terms<T: Real>(
    x: &Signal<T>,
    h: &Signal<T>,
) -> Result<impl Iterator<Item = (usize, usize, usize)> + use<T>> {
    let ([n], [k]) = (x.last_dims()?, h.last_dims()?);
    let row = move |b: usize, t: usize| (0..k.min(t + 1)).map(move |s| (b * n + t - s, b * k + s, b * n + t));
    Ok((0..x.rows().len()).flat_map(move |b| (0..n).flat_map(move |t| row(b, t))))
}

pub(crate) const OPS: &[&OpDescriptor] = ops![complex_filter, jvp, bwd, bwd_jvp];
