//! A permutation of any number of dimensions. A signature cannot express the shape of the result and the
//! batching of a call, so the op names functions for both.

use farcall_ffi::prelude::*;

/// `y[i₀, i₁, …] = x[…]`, where dimension `k` of `y` is dimension `perm[k]` of `x`.
#[handler(name = "transpose")]
#[signature((x: T[..], perm: [i64]) -> (y: T[..]) where T: f32 | f64)]
#[shape(shape)]
#[batch(batch)]
#[vjp(backward = transpose_bwd)]
fn transpose<T: Float>(x: &Buffer<T>, perm: &[i64], y: &mut Buffer<T>) -> Result<()> {
    for (y, from) in y.iter_mut().zip(sources(x.dims(), perm)?) {
        *y = x[from];
    }
    Ok(())
}

/// Moves every entry back to its original position.
#[handler(name = "transpose_bwd")]
#[signature((x: T[..], dy: T[..], perm: [i64]) -> (dx: T[..]) where T: f32 | f64)]
#[shape(shape_of_x)]
fn transpose_bwd<T: Float>(x: &Buffer<T>, dy: &Buffer<T>, perm: &[i64], dx: &mut Buffer<T>) -> Result<()> {
    for (dy, to) in dy.iter().zip(sources(x.dims(), perm)?) {
        dx[to] = *dy;
    }
    Ok(())
}

fn shape(call: &ShapeCall<'_>) -> Result<Vec<i64>> {
    let (x, perm) = (call.operand("x")?.dims, call.attr::<&[i64]>("perm")?);
    order(x.len(), perm)?;
    Ok(perm.iter().map(|k| x[*k as usize]).collect())
}

fn shape_of_x(call: &ShapeCall<'_>) -> Result<Vec<i64>> {
    Ok(call.operand("x")?.dims.to_vec())
}

/// Batches a call as one call. The mapped axis is the first dimension of the operand and of the result.
fn batch(call: &BatchCall<'_>) -> Result<Batch> {
    let perm = call.attr::<&[i64]>("perm")?.iter().map(|k| k + 1);
    Ok(Batch::once([Some(0)], [0]).attr("perm", std::iter::once(0).chain(perm).collect::<Vec<i64>>()))
}

/// Converts `perm` to indices. It is an error if `perm` is not a permutation of `rank` dimensions.
fn order(rank: usize, perm: &[i64]) -> Result<Vec<usize>> {
    let order = perm.iter().map(|k| usize::try_from(*k).unwrap_or(rank)).collect::<Vec<_>>();
    let is_one = order.len() == rank && (0..rank).all(|k| order.contains(&k));
    ensure!(is_one, "perm = {perm:?} does not order {rank} dimensions");
    Ok(order)
}

/// Returns, for each entry of the result, the index of the corresponding entry of `x`.
fn sources(x: &[usize], perm: &[i64]) -> Result<impl Iterator<Item = usize>> {
    let stride = |k: usize| x[k + 1..].iter().product::<usize>();
    let dims: Vec<_> = order(x.len(), perm)?.into_iter().map(|k| (x[k], stride(k))).collect();
    let count = x.iter().product::<usize>();
    Ok((0..count).map(move |mut i| {
        dims.iter().rev().fold(0, |from, (size, stride)| {
            let at = i % size;
            i /= size;
            from + at * stride
        })
    }))
}

pub(crate) const OPS: &[&OpDescriptor] = ops![transpose, transpose_bwd];
