//! Operations that move elements without changing them.

use super::index::{for_each, known_sizes, position, strided, zeros};
use super::machine::Machine;
use super::{EvalError, EvalValue, one, tensor};
use crate::dims::strides;
use crate::literal::Literal;
use crate::module::Inst;
use crate::op::{Pad, Slice};
use crate::scalar::Scalar;
use crate::types::Dim;
use farcall_sig::DType;

/// `constant`
pub(super) fn constant(literal: &Literal) -> Result<Vec<EvalValue>, EvalError> {
    literal.expand()?;
    one(literal.clone())
}

/// `iota`
pub(super) fn iota(m: &Machine<'_>, inst: Inst<'_>, dim: usize) -> Result<Vec<EvalValue>, EvalError> {
    let ty = m.result_type(inst, 0)?;
    one(counting(ty.dtype, known_sizes(&ty)?, dim)?)
}

/// `dynamic_iota`
pub(super) fn dynamic_iota(
    m: &Machine<'_>,
    inst: Inst<'_>,
    xs: &[EvalValue],
    dim: usize,
) -> Result<Vec<EvalValue>, EvalError> {
    let ty = m.result_type(inst, 0)?;
    one(counting(ty.dtype, &shape_operand(xs, 0)?, dim)?)
}

/// Returns a tensor whose elements are their indices along `dim`.
fn counting(dtype: DType, dims: &[usize], dim: usize) -> Result<Literal, EvalError> {
    let mut out = zeros(dtype, dims)?;
    let mut i = 0;
    for_each(dims, |index| {
        out.set(i, Scalar::Unsigned(index.get(dim).map_or(0, |x| *x as u64)));
        i += 1;
    });
    Ok(out)
}

/// `broadcast_in_dim`
pub(super) fn broadcast_in_dim(
    m: &Machine<'_>,
    inst: Inst<'_>,
    xs: &[EvalValue],
    dims: &[usize],
) -> Result<Vec<EvalValue>, EvalError> {
    one(broadcast(tensor(xs, 0)?, known_sizes(&m.result_type(inst, 0)?)?, dims)?)
}

/// `dynamic_broadcast_in_dim`
pub(super) fn dynamic_broadcast_in_dim(
    xs: &[EvalValue],
    dims: &[usize],
) -> Result<Vec<EvalValue>, EvalError> {
    one(broadcast(tensor(xs, 0)?, &shape_operand(xs, 1)?, dims)?)
}

/// Broadcasts a tensor: operand dimension `i` becomes dimension `dims[i]`, repeated if its size is 1.
fn broadcast(x: &Literal, shape: &[usize], dims: &[usize]) -> Result<Literal, EvalError> {
    if dims.len() != x.dims().len() {
        return Err(EvalError::new("one result dimension per operand dimension is needed"));
    }
    let mut steps = vec![0; shape.len()];
    for ((size, stride), d) in x.dims().iter().zip(strides(x.dims())).zip(dims) {
        match shape.get(*d) {
            Some(n) if n == size => steps[*d] = stride as isize,
            Some(_) if *size == 1 => {}
            _ => {
                return Err(EvalError::new(format!(
                    "{} cannot be broadcast to {shape:?} by {dims:?}",
                    x.ty()
                )));
            }
        }
    }
    strided(x, shape, 0, &steps)
}

/// `reshape`
pub(super) fn reshape(
    m: &Machine<'_>,
    inst: Inst<'_>,
    xs: &[EvalValue],
) -> Result<Vec<EvalValue>, EvalError> {
    reshaped(tensor(xs, 0)?, known_sizes(&m.result_type(inst, 0)?)?)
}

/// `dynamic_reshape`
pub(super) fn dynamic_reshape(xs: &[EvalValue]) -> Result<Vec<EvalValue>, EvalError> {
    reshaped(tensor(xs, 0)?, &shape_operand(xs, 1)?)
}

fn reshaped(x: &Literal, dims: &[usize]) -> Result<Vec<EvalValue>, EvalError> {
    let elements = dims.iter().try_fold(1usize, |n, d| n.checked_mul(*d));
    if elements != Some(x.len()) {
        return Err(EvalError::new(format!("{} does not have as many elements as {dims:?}", x.ty())));
    }
    one(x.reshape(dims))
}

/// `transpose`
pub(super) fn transpose(xs: &[EvalValue], permutation: &[usize]) -> Result<Vec<EvalValue>, EvalError> {
    let x = tensor(xs, 0)?;
    let old = strides(x.dims());
    let dims = permutation.iter().map(|d| x.dims().get(*d).copied()).collect::<Option<Vec<usize>>>();
    let dims = dims
        .filter(|d| d.len() == old.len())
        .ok_or_else(|| EvalError::new(format!("{permutation:?} does not permute the dimensions")))?;
    let steps: Vec<isize> = permutation.iter().map(|d| old[*d] as isize).collect();
    one(strided(x, &dims, 0, &steps)?)
}

/// `slice`
pub(super) fn slice(xs: &[EvalValue], s: &Slice) -> Result<Vec<EvalValue>, EvalError> {
    one(sliced(tensor(xs, 0)?, &s.start, &s.limit, &s.strides)?)
}

/// Selects elements `start[d]`, `start[d] + steps[d]`, … below `limit[d]`.
pub(super) fn sliced(
    x: &Literal,
    start: &[usize],
    limit: &[usize],
    steps: &[usize],
) -> Result<Literal, EvalError> {
    let rank = x.dims().len();
    let fits = start.len() == rank
        && limit.len() == rank
        && steps.len() == rank
        && (0..rank).all(|d| start[d] <= limit[d] && limit[d] <= x.dims()[d] && steps[d] > 0);
    if !fits {
        return Err(EvalError::new(format!(
            "{} has no elements from {start:?} to {limit:?} in steps of {steps:?}",
            x.ty()
        )));
    }
    let old = strides(x.dims());
    let dims: Vec<usize> = (0..rank).map(|d| (limit[d] - start[d]).div_ceil(steps[d])).collect();
    let steps: Vec<isize> = (0..rank).map(|d| (old[d] * steps[d]) as isize).collect();
    strided(x, &dims, position(start, &old), &steps)
}

/// `concatenate`
pub(super) fn concatenate(xs: &[EvalValue], dim: usize) -> Result<Vec<EvalValue>, EvalError> {
    let first = tensor(xs, 0)?;
    let mut dims = first.dims().to_vec();
    let mut size = 0;
    for i in 0..xs.len() {
        let x = tensor(xs, i)?;
        let agrees = x.dtype() == first.dtype()
            && x.dims().len() == dims.len()
            && (0..dims.len()).all(|d| d == dim || x.dims()[d] == dims[d]);
        if !agrees || dim >= dims.len() {
            return Err(EvalError::new(format!(
                "{} and {} cannot be joined along dimension {dim}",
                first.ty(),
                x.ty()
            )));
        }
        size += x.dims()[dim];
    }
    dims[dim] = size;
    let mut out = zeros(first.dtype(), &dims)?;
    if out.is_empty() {
        return one(out);
    }
    // For each index of the dimensions before `dim`, each operand contributes one contiguous run of bytes.
    let outer: usize = dims[..dim].iter().product();
    let element = first.dtype().size();
    let run = |x: &Literal| x.dims()[dim..].iter().product::<usize>() * element;
    let mut to = 0;
    for o in 0..outer {
        for i in 0..xs.len() {
            let x = tensor(xs, i)?;
            let n = run(x);
            out.bytes_mut()[to..to + n].copy_from_slice(&x.bytes()[o * n..][..n]);
            to += n;
        }
    }
    one(out)
}

/// `pad`
pub(super) fn pad(xs: &[EvalValue], p: &Pad) -> Result<Vec<EvalValue>, EvalError> {
    one(padded(tensor(xs, 0)?, tensor(xs, 1)?, &p.low, &p.high, &p.interior)?)
}

/// `dynamic_pad`
pub(super) fn dynamic_pad(xs: &[EvalValue]) -> Result<Vec<EvalValue>, EvalError> {
    let list = |i| Ok::<Vec<i64>, EvalError>(tensor(xs, i)?.iter().map(|s| s.as_i64()).collect());
    one(padded(tensor(xs, 0)?, tensor(xs, 1)?, &list(2)?, &list(3)?, &list(4)?)?)
}

/// Pads a tensor: element `i` of a dimension moves to index `low + i * (interior + 1)`, if the result has
/// that index.
fn padded(
    x: &Literal,
    value: &Literal,
    low: &[i64],
    high: &[i64],
    interior: &[i64],
) -> Result<Literal, EvalError> {
    let rank = x.dims().len();
    let bad = || EvalError::new(format!("{} cannot be padded by {low:?}, {high:?}, {interior:?}", x.ty()));
    if [low, high, interior].iter().any(|l| l.len() != rank) || value.len() != 1 {
        return Err(bad());
    }
    let mut dims = Vec::with_capacity(rank);
    for d in 0..rank {
        let n = x.dims()[d] as i128;
        let inner = n + (n - 1).max(0) * i128::from(interior[d]);
        let size = inner + i128::from(low[d]) + i128::from(high[d]);
        if interior[d] < 0 || size < 0 {
            return Err(bad());
        }
        dims.push(usize::try_from(size).map_err(|_| bad())?);
    }
    let mut out = strided(value, &dims, 0, &vec![0; rank])?;
    let (new, element) = (strides(&dims), x.dtype().size());
    let mut from = x.bytes().chunks_exact(element);
    let target = out.bytes_mut();
    for_each(x.dims(), |index| {
        let Some(bytes) = from.next() else { return };
        let mut at = 0;
        for d in 0..rank {
            let i = i128::from(low[d]) + index[d] as i128 * (i128::from(interior[d]) + 1);
            match usize::try_from(i) {
                Ok(i) if i < dims[d] => at += i * new[d],
                _ => return,
            }
        }
        target[at * element..][..element].copy_from_slice(bytes);
    });
    Ok(out)
}

/// `reverse`
pub(super) fn reverse(xs: &[EvalValue], dims: &[usize]) -> Result<Vec<EvalValue>, EvalError> {
    let x = tensor(xs, 0)?;
    let mut steps: Vec<isize> = strides(x.dims()).iter().map(|s| *s as isize).collect();
    let mut offset = 0;
    for d in dims {
        let size = x.dims().get(*d).ok_or_else(|| EvalError::new(format!("there is no dimension {d}")))?;
        offset += size.saturating_sub(1) * steps[*d].unsigned_abs();
        steps[*d] = -steps[*d];
    }
    one(strided(x, x.dims(), offset, &steps)?)
}

/// `get_dimension_size`
pub(super) fn get_dimension_size(xs: &[EvalValue], dim: usize) -> Result<Vec<EvalValue>, EvalError> {
    let size = tensor(xs, 0)?.dims().get(dim).copied();
    let size = size.ok_or_else(|| EvalError::new(format!("there is no dimension {dim}")))?;
    one(Literal::scalar(DType::S32, Scalar::Signed(size as i64)))
}

/// Returns the shape whose sizes are the elements of operand `i`.
pub(super) fn shape_operand(xs: &[EvalValue], i: usize) -> Result<Vec<usize>, EvalError> {
    let sizes = tensor(xs, i)?.iter().map(|s| usize::try_from(s.as_i64()));
    sizes.collect::<Result<_, _>>().map_err(|_| EvalError::new("a size is negative"))
}

/// `set_dimension_size`: keeps the first elements along a dimension.
pub(super) fn set_dimension_size(
    m: &Machine<'_>,
    inst: Inst<'_>,
    xs: &[EvalValue],
    dim: usize,
) -> Result<Vec<EvalValue>, EvalError> {
    let x = tensor(xs, 0)?;
    let size = tensor(xs, 1)?.iter().next().map_or(-1, |s| s.as_i64());
    let mut limit = x.dims().to_vec();
    let found = limit.get(dim).copied().unwrap_or(0);
    let declared = m.result_type(inst, 0)?.get_dim(dim).unwrap_or(Dim::Static(found));
    let fits = usize::try_from(size).ok().filter(|n| *n <= found && declared.admits(*n));
    let Some(size) = fits else {
        let most = match declared {
            Dim::Static(size) => format!("{size}, as is declared"),
            Dim::Dynamic { bound } => format!("at most {}", bound.map_or(found, |b| b.min(found))),
        };
        return Err(EvalError::new(format!(
            "the size of dimension {dim} can be {most}, but it is set to {size}"
        )));
    };
    limit[dim] = size;
    let (start, strides) = (vec![0; limit.len()], vec![1; limit.len()]);
    slice(xs, &Slice { start, limit, strides })
}
