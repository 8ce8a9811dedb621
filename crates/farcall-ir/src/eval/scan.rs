//! `chlo.scan`: applies a region to one slice after the other.

use super::index::{known_sizes, zeros};
use super::machine::Machine;
use super::{EvalError, EvalValue, outcome, tensor};
use crate::literal::Literal;
use crate::module::Inst;
use crate::op::Scan;
use crate::types::Dim;

/// Takes inputs, then initial values; returns outputs, then the final carried values.
pub(super) fn scan<'m>(
    m: &mut Machine<'m>,
    inst: Inst<'m>,
    xs: &[EvalValue],
    scan: &Scan,
) -> Result<Vec<EvalValue>, EvalError> {
    let body = outcome::region(inst, 0)?;
    let (inputs, inits) =
        xs.split_at_checked(scan.inputs).ok_or_else(|| EvalError::new("an input is missing"))?;
    let size = match inputs.first() {
        Some(EvalValue::Tensor(input)) => input.dims().get(scan.dim).copied(),
        _ => scan.size,
    };
    let size = size.ok_or_else(|| EvalError::new("the number of slices is unknown"))?;
    let mut outputs = Vec::with_capacity(scan.outputs);
    for i in 0..scan.outputs {
        let ty = m.result_type(inst, i)?;
        let along = |(d, dim)| if d == scan.dim { Dim::Static(size) } else { dim };
        let ty = ty.with_dims(ty.dims().enumerate().map(along));
        outputs.push(zeros(ty.dtype, known_sizes(&ty)?)?);
    }
    let mut carried = inits.to_vec();
    for step in 0..size {
        m.iterate()?;
        let at = if scan.is_reverse { size - 1 - step } else { step };
        let mut args = Vec::with_capacity(xs.len());
        for i in 0..inputs.len() {
            args.push(EvalValue::Tensor(slice(tensor(inputs, i)?, scan.dim, at)?));
        }
        args.append(&mut carried);
        let mut returned = m.call_region(body, args)?;
        carried = returned.split_off(scan.outputs.min(returned.len()));
        for (i, output) in outputs.iter_mut().enumerate() {
            put(tensor(&returned, i)?, output, scan.dim, at)?;
        }
    }
    Ok(outputs.into_iter().map(EvalValue::Tensor).chain(carried).collect())
}

/// Bytes of a contiguous run within one slice along a dimension.
fn run(x: &Literal, dim: usize) -> usize {
    x.dims().iter().skip(dim + 1).product::<usize>() * x.dtype().size()
}

/// Slice number `at` along a dimension, which is dropped.
fn slice(x: &Literal, dim: usize, at: usize) -> Result<Literal, EvalError> {
    let mut dims = x.dims().to_vec();
    if dim >= dims.len() || at >= dims[dim] {
        return Err(EvalError::new(format!("{} has no slice {at}", x.ty())));
    }
    let size = dims.remove(dim);
    let run = run(x, dim);
    let mut out = zeros(x.dtype(), &dims)?;
    if run > 0 {
        for (i, to) in out.bytes_mut().chunks_exact_mut(run).enumerate() {
            to.copy_from_slice(&x.bytes()[(i * size + at) * run..][..run]);
        }
    }
    Ok(out)
}

/// Writes a slice to the position that [`slice`] reads.
fn put(from: &Literal, out: &mut Literal, dim: usize, at: usize) -> Result<(), EvalError> {
    let mut dims = out.dims().to_vec();
    if dim >= dims.len() || at >= dims[dim] {
        return Err(EvalError::new(format!("{} has no slice {at}", out.ty())));
    }
    let size = dims.remove(dim);
    if dims != from.dims() || from.dtype() != out.dtype() {
        return Err(EvalError::new(format!("the region returns {} for a slice of {}", from.ty(), out.ty())));
    }
    let run = run(out, dim);
    if run > 0 {
        for (i, bytes) in from.bytes().chunks_exact(run).enumerate() {
            out.bytes_mut()[(i * size + at) * run..][..run].copy_from_slice(bytes);
        }
    }
    Ok(())
}
