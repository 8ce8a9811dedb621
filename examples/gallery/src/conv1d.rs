//! Convolutions with strides and dilation: attributes determine the size of the result, and the batch shares
//! the filter.

use farcall_ffi::prelude::*;

/// `y[o, t] = Σ w[o, c, s]·x[c, stride·t + dilation·s − pad]`, where `x` is 0 beyond its ends.
#[handler(name = "conv1d", zeroed)]
#[signature((x: T[*, c, n], w: T[o, c, k], stride: i64 = 1, dilation: i64 = 1, pad: i64 = 0)
    -> (y: T[*, o, (n + 2 * pad - dilation * (k - 1) - 1) / stride + 1])
    where T: f32 | f64; o: map; c: sum; stride >= 1; dilation >= 1; pad >= 0)]
#[vjp(backward = bwd)]
#[jvp(tangent = jvp)]
fn conv1d<T: Float>() -> Result<()> {
    terms(x, w, y.dims(), [stride, dilation, pad])?.for_each(|(i, j, k)| y[k] += x[i] * w[j]);
    Ok(())
}

/// The product rule.
#[handler(name = "conv1d_jvp", zeroed)]
#[signature((x: T[*, c, n], w: T[o, c, k], dx: T[*, c, n], dw: T[o, c, k], stride: i64, dilation: i64, pad: i64)
    -> (dy: T[*, o, (n + 2 * pad - dilation * (k - 1) - 1) / stride + 1]) where T: f32 | f64; o: map; c: sum)]
fn jvp<T: Float>() -> Result<()> {
    conv1d(dx, w, stride, dilation, pad, dy)?;
    conv1d(x, dw, stride, dilation, pad, dy)
}

/// The cotangents `dx` and `dw`, which are sums over the same terms.
#[handler(name = "conv1d_bwd", zeroed)]
#[signature((x: T[*, c, n], w: T[o, c, k], dy: T[*, o, m], stride: i64, dilation: i64, pad: i64)
    -> (dx: T[*, c, n], dw: T[o, c, k]) where T: f32 | f64; *, o: sum; c: map)]
#[jvp(tangent = bwd_jvp, tangent(_) = t_)]
fn bwd<T: Float>() -> Result<()> {
    let terms = terms(x, w, dy.dims(), [stride, dilation, pad])?;
    terms.for_each(|(i, j, k)| (dx[i], dw[j]) = (dx[i] + w[j] * dy[k], dw[j] + x[i] * dy[k]));
    Ok(())
}

/// The product rule, for `dx` and `dw`.
#[handler(name = "conv1d_bwd_jvp", zeroed)]
#[signature((x: T[*, c, n], w: T[o, c, k], dy: T[*, o, m], tx: T[*, c, n], tw: T[o, c, k], tdy: T[*, o, m], stride: i64,
    dilation: i64, pad: i64) -> (tdx: T[*, c, n], tdw: T[o, c, k]) where T: f32 | f64; *, o: sum; c: map)]
fn bwd_jvp<T: Float>() -> Result<()> {
    bwd(x, w, tdy, stride, dilation, pad, tdx, tdw)?;
    bwd(tx, tw, dy, stride, dilation, pad, tdx, tdw)
}

/// Returns `(i, j, k)` for each term `x[i]·w[j]` of the sums; the term contributes to `y[k]`.
#[rustfmt::skip]
fn terms<T: Float>(
    x: &Buffer<T>, w: &Buffer<T, 3>, y: &[usize], [stride, dilation, pad]: [i64; 3],
) -> Result<impl Iterator<Item = (usize, usize, usize)> + use<T>> {
    let ([n], [o, c, k], m) = (x.last_dims()?, w.shape(), y[y.len() - 1]);
    let sums = (0..y.iter().product()).flat_map(move |y| (0..c * k).map(move |w| (y, w)));
    Ok(sums.filter_map(move |(y, w)| {
        let at = stride * (y % m) as i64 + dilation * (w % k) as i64 - pad;
        let x = usize::try_from(at).ok().filter(|at| *at < n)?;
        Some(((y / (m * o) * c + w / k) * n + x, y / m % o * c * k + w, y))
    }))
}

pub(crate) const OPS: &[&OpDescriptor] = ops![conv1d, jvp, bwd, bwd_jvp];
