//! Ops with handwritten shape and batching functions.

use farcall_ffi::prelude::*;

/// y[i₀, i₁, …] = x at the position whose dimension perm[k] is iₖ.
#[handler(name = "transpose")]
#[signature((x: T[..], perm: [i64]) -> (y: T[..]) where T: f32 | s32)]
#[shape(transpose_shape)]
#[batch(transpose_batch)]
#[vjp(backward = transpose_bwd)]
#[jvp(tangent = transpose_jvp)]
pub(crate) fn transpose<T: Element>(x: &Buffer<T>, perm: &[i64], y: &mut Buffer<T>) -> Result<()> {
    let order: Vec<usize> = perm.iter().map(|k| *k as usize).collect();
    let mut strides = vec![1; x.dims().len()];
    for k in (1..strides.len()).rev() {
        strides[k - 1] = strides[k] * x.dims()[k];
    }
    let dims = y.dims().to_vec();
    for (i, y) in y.iter_mut().enumerate() {
        let (mut rest, mut at) = (i, 0);
        for k in (0..dims.len()).rev() {
            at += rest % dims[k] * strides[order[k]];
            rest /= dims[k];
        }
        *y = x[at];
    }
    Ok(())
}

/// The tangent of `transpose`, which is linear.
#[handler(name = "transpose_jvp")]
#[signature((dx: f32[..], perm: [i64]) -> (dy: f32[..]))]
#[shape(transpose_jvp_shape)]
pub(crate) fn transpose_jvp(dx: &Buffer<f32>, perm: &[i64], dy: &mut Buffer<f32>) -> Result<()> {
    transpose(dx, perm, dy)
}

/// The reverse derivative of `transpose`.
#[handler(name = "transpose_bwd")]
#[signature((dy: f32[..], perm: [i64]) -> (dx: f32[..]))]
#[shape(transpose_bwd_shape)]
pub(crate) fn transpose_bwd(dy: &Buffer<f32>, perm: &[i64], dx: &mut Buffer<f32>) -> Result<()> {
    transpose(dy, &inverse(perm), dx)
}

fn transpose_shape(call: &ShapeCall<'_>) -> Result<Vec<i64>> {
    let (x, perm) = (call.operand("x")?.dims, call.attr::<&[i64]>("perm")?);
    check(x, perm)?;
    Ok(perm.iter().map(|k| x[*k as usize]).collect())
}

fn transpose_jvp_shape(call: &ShapeCall<'_>) -> Result<Vec<i64>> {
    let (x, perm) = (call.operand("dx")?.dims, call.attr::<&[i64]>("perm")?);
    check(x, perm)?;
    Ok(perm.iter().map(|k| x[*k as usize]).collect())
}

fn transpose_bwd_shape(call: &ShapeCall<'_>) -> Result<Vec<i64>> {
    let (y, perm) = (call.operand("dy")?.dims, call.attr::<&[i64]>("perm")?);
    check(y, perm)?;
    Ok(inverse(perm).iter().map(|k| y[*k as usize]).collect())
}

/// A single call, in which the mapped axis stays in front.
fn transpose_batch(call: &BatchCall<'_>) -> Result<Batch> {
    let perm: Vec<i64> =
        std::iter::once(0).chain(call.attr::<&[i64]>("perm")?.iter().map(|k| k + 1)).collect();
    Ok(Batch::once([Some(0)], [0]).attr("perm", perm))
}

fn check(dims: &[i64], perm: &[i64]) -> Result<()> {
    let mut sorted = perm.to_vec();
    sorted.sort_unstable();
    ensure!(
        sorted.into_iter().eq(0..dims.len() as i64),
        "perm {perm:?} does not order {} dimensions",
        dims.len()
    );
    Ok(())
}

fn inverse(perm: &[i64]) -> Vec<i64> {
    (0..perm.len()).map(|k| perm.iter().position(|p| *p == k as i64).unwrap_or(k) as i64).collect()
}

/// Stacks all `xs`, which have the same shape, along a new first dimension.
#[handler(name = "stack")]
#[signature((xs: f32[..]...) -> (y: f32[..]))]
#[shape(stack_shape)]
#[batch(stack_batch)]
pub(crate) fn stack(xs: &RestOperands<Buffer<f32>>, y: &mut Buffer<f32>) -> Result<()> {
    let all = xs.iter().flat_map(|x| x.iter());
    all.zip(y.iter_mut()).for_each(|(x, y)| *y = *x);
    Ok(())
}

fn stack_shape(call: &ShapeCall<'_>) -> Result<Vec<i64>> {
    let xs = call.variadic("xs")?;
    let Some(first) = xs.first() else { return Ok(vec![0]) };
    for (i, x) in xs.iter().enumerate() {
        ensure!(x.dims == first.dims, "xs[{i}] has shape {:?} but xs[0] has {:?}", x.dims, first.dims);
    }
    Ok([&[xs.len() as i64], first.dims].concat())
}

/// A single call with the axis in front in all operands, and behind the stacked dimension in the result.
fn stack_batch(call: &BatchCall<'_>) -> Result<Batch> {
    if call.axis_size() == 13 {
        return Ok(Batch::each("thirteen is too many"));
    }
    Ok(Batch::once(vec![Some(0); call.operands().len()], [1]))
}
