//! Ops that break their promises, and ops that are hard to check, for the tests of `farcall op --check`.

use farcall_ffi::dot;
use farcall_ffi::prelude::*;

/// Multiplies each row by `scale`.
#[handler(name = "broken.scale")]
#[signature((x: f64[*, n], scale: f64[n]) -> (y: f64[*, n]))]
#[vjp(backward = scale_bwd)]
fn scale(x: &Buffer<f64>, scale: &Buffer<f64, 1>, y: &mut Buffer<f64>) -> Result<()> {
    for (x, y) in x.rows().zip(y.rows_mut()) {
        x.iter().zip(scale.iter()).zip(y).for_each(|((x, scale), y)| *y = x * scale);
    }
    Ok(())
}

/// The mean over the rows, although the signature promises a sum.
#[handler(name = "broken.scale_bwd")]
#[signature((x: f64[*, n], scale: f64[n], dy: f64[*, n]) -> (dx: f64[*, n], dscale: f64[n]) where *: sum)]
fn scale_bwd(
    x: &Buffer<f64>,
    scale: &Buffer<f64, 1>,
    dy: &Buffer<f64>,
    dx: &mut Buffer<f64>,
    dscale: &mut Buffer<f64, 1>,
) -> Result<()> {
    let rows = x.rows().count() as f64;
    dscale.fill(0.0);
    for ((x, dy), dx) in x.rows().zip(dy.rows()).zip(dx.rows_mut()) {
        for i in 0..scale.len() {
            dx[i] = dy[i] * scale[i];
            dscale[i] += dy[i] * x[i] / rows;
        }
    }
    Ok(())
}

/// The square of `x`.
#[handler(name = "broken.square")]
#[signature((x: f64[*]) -> (y: f64[*]))]
#[jvp(tangent = square_jvp)]
fn square(x: &Buffer<f64>, y: &mut Buffer<f64>) -> Result<()> {
    y.iter_mut().zip(x.iter()).for_each(|(y, x)| *y = x * x);
    Ok(())
}

/// Three times `x` times `dx`; the correct factor is two.
#[handler(name = "broken.square_jvp")]
#[signature((x: f64[*], dx: f64[*]) -> (dy: f64[*]))]
fn square_jvp(x: &Buffer<f64>, dx: &Buffer<f64>, dy: &mut Buffer<f64>) -> Result<()> {
    dy.iter_mut().zip(x.iter()).zip(dx.iter()).for_each(|((dy, x), dx)| *dy = 3.0 * x * dx);
    Ok(())
}

/// Subtracts the mean of the whole batch from `x`.
#[handler(name = "broken.center")]
#[signature((x: f64[*]) -> (y: f64[*]))]
fn center(x: &Buffer<f64>, y: &mut Buffer<f64>) -> Result<()> {
    let mean = x.iter().sum::<f64>() / x.len() as f64;
    y.iter_mut().zip(x.iter()).for_each(|(y, x)| *y = x - mean);
    Ok(())
}

/// Adds to the previous contents of the result.
#[handler(name = "broken.added")]
#[signature((x: f64[*]) -> (y: f64[*]))]
fn added(x: &Buffer<f64>, y: &mut Buffer<f64>) -> Result<()> {
    y.iter_mut().zip(x.iter()).for_each(|(y, x)| *y += x);
    Ok(())
}

/// The absolute value of numbers below -1; other numbers stay the same.
#[handler(name = "broken.shrink")]
#[signature((x: T[*]) -> (y: T[*]) where T: f64 | f32)]
#[jvp(tangent = shrink_jvp)]
fn shrink<T: Float>(x: &Buffer<T>, y: &mut Buffer<T>) -> Result<()> {
    zip!(x.iter(), y.iter_mut()).for_each(|(x, y)| *y = if x.abs() > T::ONE { x.abs() } else { *x });
    Ok(())
}

/// The tangent. In `f32`, it wrongly lacks the minus sign for numbers below -1.
#[handler(name = "broken.shrink_jvp")]
#[signature((x: T[*], dx: T[*]) -> (dy: T[*]) where T: f64 | f32)]
fn shrink_jvp<T: Float>(x: &Buffer<T>, dx: &Buffer<T>, dy: &mut Buffer<T>) -> Result<()> {
    let is_wrong = size_of::<T>() == 4;
    zip!(x.iter(), dx.iter(), dy.iter_mut()).for_each(|(x, dx, dy)| {
        *dy = if *x < -T::ONE && !is_wrong { T::ZERO - *dx } else { *dx };
    });
    Ok(())
}

/// The sum of the squared entries of each symmetric matrix. Only the lower triangle is read.
#[handler(name = "symmetric.norm", zeroed)]
#[signature((x: f64[*, n, n]) -> (y: f64[*]))]
#[vjp(backward = norm_bwd)]
#[jvp(tangent = norm_jvp)]
fn norm() {
    for (i, row) in x.rows().enumerate() {
        let (matrix, i) = (i / row.len(), i % row.len());
        let twice = 2.0 * row[..i].iter().map(|x| x * x).sum::<f64>();
        y[matrix] += twice + row[i] * row[i];
    }
}

/// The derivative, which holds for symmetric changes of `x` only.
#[handler(name = "symmetric.norm_bwd")]
#[signature((x: f64[*, n, n], dy: f64[*]) -> (dx: f64[*, n, n]))]
fn norm_bwd() {
    for (x, &dy, dx) in zip!(x.matrices(), dy.iter(), dx.matrices_mut()) {
        zip!(x, dx).for_each(|(x, dx)| *dx = 2.0 * x * dy);
    }
}

/// The tangent, but three times too large.
#[handler(name = "symmetric.norm_jvp")]
#[signature((x: f64[*, n, n], dx: f64[*, n, n]) -> (dy: f64[*]))]
fn norm_jvp() {
    zip!(x.matrices(), dx.matrices(), dy.iter_mut()).for_each(|(x, dx, dy)| *dy = 6.0 * dot(x, dx));
}

/// Squares `x` and adds the number of entries in the whole batch. Returns a residual.
#[handler(name = "broken.shift")]
#[signature((x: f64[*]) -> (y: f64[*]))]
#[vjp(residuals(twice: f64[*]), backward = shift_bwd)]
fn shift() {
    for (&x_i, y, twice) in zip!(x.iter(), y.iter_mut(), twice.iter_mut()) {
        (*y, *twice) = (x_i * x_i + x.len() as f64, 2.0 * x_i);
    }
}

/// The derivative of each entry, which the rest of the batch does not affect.
#[handler(name = "broken.shift_bwd")]
#[signature((twice: f64[*], dy: f64[*]) -> (dx: f64[*]))]
fn shift_bwd() {
    zip!(twice.iter(), dy.iter(), dx.iter_mut()).for_each(|(twice, dy, dx)| *dx = twice * dy);
}

/// Panics.
#[handler(name = "broken.panics")]
#[signature((x: f64[*]) -> (y: f64[*]))]
fn panics(x: &Buffer<f64>, y: &mut Buffer<f64>) -> Result<()> {
    y[x.len()] = x[0];
    Ok(())
}

/// Elements from `offset` on, followed by zeros.
#[handler(name = "broken.tail")]
#[signature((x: f64[*, n], offset: i64 = 0) -> (y: f64[*, n]) where offset >= 0; offset <= n)]
#[transpose(tail_transpose)]
fn tail(x: &Buffer<f64>, offset: i64, y: &mut Buffer<f64>) -> Result<()> {
    y.fill(0.0);
    for (x, y) in zip!(x.rows(), y.rows_mut()) {
        let offset = offset as usize;
        y[..x.len() - offset].copy_from_slice(&x[offset..]);
    }
    Ok(())
}

/// The transpose, but correct for an offset of 0 only.
#[handler(name = "broken.tail_transpose")]
#[signature((y: f64[*, n], offset: i64) -> (x: f64[*, n]))]
fn tail_transpose(y: &Buffer<f64>, offset: i64, x: &mut Buffer<f64>) -> Result<()> {
    let _ = offset;
    x.copy_from_slice(y);
    Ok(())
}

/// Sums of `x` between neighboring starts, which must ascend. Generated starts ascend only if there is just
/// one of them.
#[handler(name = "strict.between")]
#[signature((x: f64[n], starts: s32[s]) -> (y: f64[s - 1]) where s >= 1)]
#[vjp(backward = between_bwd)]
fn between(x: &Buffer<f64, 1>, starts: &Buffer<i32, 1>, y: &mut Buffer<f64, 1>) -> Result<()> {
    ensure!(starts.windows(2).all(|pair| pair[0] < pair[1]), "starts must ascend");
    for (pair, y) in zip!(starts.windows(2), y.iter_mut()) {
        *y = x[pair[0] as usize..pair[1] as usize].iter().sum();
    }
    Ok(())
}

/// Spreads each gradient over the summed elements.
#[handler(name = "strict.between_bwd")]
#[signature((x: f64[n], starts: s32[s], dy: f64[s - 1]) -> (dx: f64[n]) where s >= 1)]
fn between_bwd(
    x: &Buffer<f64, 1>,
    starts: &Buffer<i32, 1>,
    dy: &Buffer<f64, 1>,
    dx: &mut Buffer<f64, 1>,
) -> Result<()> {
    let _ = x;
    dx.fill(0.0);
    for (pair, dy) in zip!(starts.windows(2), dy.iter()) {
        dx[pair[0] as usize..pair[1] as usize].fill(*dy);
    }
    Ok(())
}

/// Returns NaN for all operands.
#[handler(name = "strict.nan")]
#[signature((x: f64[*]) -> (y: f64[*]))]
fn nan(x: &Buffer<f64>, y: &mut Buffer<f64>) {
    zip!(x.iter(), y.iter_mut()).for_each(|(x, y)| *y = x * f64::NAN);
}

/// Accepts only the operands of its samples.
#[handler(name = "strict.sampled")]
#[signature((x: f64[*], at: s32[*], power: f64 = 1.0) -> (y: f64[*]))]
#[samples(sampled_samples)]
fn sampled(x: &Buffer<f64>, at: &Buffer<i32>, power: f64, y: &mut Buffer<f64>) -> Result<()> {
    ensure!(at.iter().all(|&at| at == 7), "at must be 7");
    zip!(x.iter(), y.iter_mut()).for_each(|(x, y)| *y = x.abs().powf(power));
    Ok(())
}

fn sampled_samples() -> Vec<Sample> {
    let sample = |x: &[f64]| Sample::new().operand(x, &[x.len()]).operand(&vec![7; x.len()], &[x.len()]);
    vec![sample(&[1.0, -2.0, 3.0]), sample(&[0.5, 0.25]).attr("power", 3.0)]
}

/// Accepts no generated operands.
#[handler(name = "broken.picky")]
#[signature((x: f64[*], at: s32[*]) -> (y: f64[*]))]
fn picky(x: &Buffer<f64>, at: &Buffer<i32>, y: &mut Buffer<f64>) -> Result<()> {
    ensure!(at.iter().all(|&at| at == 7), "at must be 7");
    y.iter_mut().zip(x.iter()).for_each(|(y, x)| *y = 7.0 * x);
    Ok(())
}

farcall_ffi::library!(
    "cli_broken_ops",
    [
        scale,
        scale_bwd,
        square,
        square_jvp,
        center,
        added,
        shrink,
        shrink_jvp,
        norm,
        norm_bwd,
        norm_jvp,
        shift,
        shift_bwd,
        panics,
        picky,
        tail,
        tail_transpose,
        between,
        between_bwd,
        nan,
        sampled
    ]
);
