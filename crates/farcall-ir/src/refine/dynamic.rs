//! Replaces operations that take a shape as an operand by operations with the shape as an attribute.

use super::Stop;
use super::walk::Walk;
use crate::diag::Diagnostic;
use crate::module::{Inst, NewInst, RegionId, ValueId};
use crate::op::{Convolution, Gather, Op, Pad, Slice};
use crate::types::TensorType;

/// Rewrites `new`, whose operands have static types, to its static counterpart, if there is one and the
/// necessary operands are known. Additional operations that the rewrite needs are added to `out`.
///
/// # Errors
/// If a known operand is not a valid shape.
pub(super) fn to_static(
    walk: &mut Walk<'_, '_>,
    inst: Inst<'_>,
    new: &mut NewInst,
    out: RegionId,
) -> Result<(), Stop> {
    match &new.op {
        Op::DynamicReshape => shaped(walk, inst, new, 1, Op::Reshape),
        Op::DynamicBroadcastInDim { dims } => {
            let op = Op::BroadcastInDim { dims: dims.clone() };
            shaped(walk, inst, new, 1, op)
        }
        Op::DynamicIota { dim } => {
            let op = Op::Iota { dim: *dim };
            shaped(walk, inst, new, 0, op)
        }
        Op::DynamicPad => {
            let [low, high, interior] = [2, 3, 4].map(|i| walk.integers(new.operands[i]));
            if let (Some(low), Some(high), Some(interior)) = (low, high, interior) {
                new.op = Op::Pad(Pad { low, high, interior });
                new.operands.truncate(2);
            }
            Ok(())
        }
        Op::RealDynamicSlice => slice(walk, new, out),
        Op::SetDimensionSize { dim } => {
            let dim = *dim;
            let size = walk.integers(new.operands[1]).and_then(|size| size.first().copied());
            if let (Some(size), Some(ty)) = (size, walk.to.tensor(new.operands[0])) {
                let mut limit = ty.sizes().to_vec();
                if let (Some(along), [size]) = (limit.get_mut(dim), sizes_of(new, vec![size])?.as_slice()) {
                    if size > along {
                        return Err(Stop::UnknownShape(grows(new, dim, *along, *size)));
                    }
                    *along = *size;
                }
                let (start, strides) = (vec![0; limit.len()], vec![1; limit.len()]);
                new.op = Op::Slice(Slice { start, limit, strides });
                new.operands.truncate(1);
            }
            Ok(())
        }
        Op::DynamicGather(gather) => {
            if let Some(sizes) = walk.integers(new.operands[2]) {
                let slice_sizes = sizes_of(new, sizes)?;
                new.op = Op::Gather(Box::new(Gather { slice_sizes, ..(**gather).clone() }));
                new.operands.truncate(2);
            }
            Ok(())
        }
        Op::DynamicConvolution(conv) => {
            if let Some(flat) = walk.integers(new.operands[2]) {
                let padding = flat.chunks_exact(2).map(|p| (p[0], p[1])).collect();
                let mut conv = Convolution { padding, ..(**conv).clone() };
                // `dynamic_conv` accepts longer lists than needed.
                let rank = conv.dims.input_spatial.len();
                for list in [&mut conv.strides, &mut conv.lhs_dilation, &mut conv.rhs_dilation] {
                    list.truncate(rank);
                }
                conv.reversal.truncate(rank);
                new.op = Op::Convolution(Box::new(conv));
                new.operands.truncate(2);
            }
            Ok(())
        }
        _ => Ok(()),
    }
}

/// The error for a `set_dimension_size` that would enlarge a dimension.
fn grows(new: &NewInst, dim: usize, from: usize, to: usize) -> Diagnostic {
    let message = format!(
        "{} sets dimension {dim} to size {to}, but its operand has size {from} there: a tensor holds as many elements \
         as its size says, so a dynamic dimension does not grow (a stack to which a loop adds elements does)",
        new.op.name()
    );
    let note =
        "give the dimension a bound, or carry a tensor of the largest size and the number of elements in use";
    Diagnostic::new("dynamic-shape", new.span, message).note(note)
}

/// Rewrites an operation whose last operand, number `i`, is the shape of its result. The new operation, `op`,
/// does not take this operand.
fn shaped(walk: &mut Walk<'_, '_>, inst: Inst<'_>, new: &mut NewInst, i: usize, op: Op) -> Result<(), Stop> {
    let declared = walk.declared(inst.results()[0]);
    if let Some(sizes) = walk.integers(new.operands[i]) {
        let dims = sizes_of(new, sizes)?;
        walk.shape_is(inst.results()[0], dims);
    } else if !declared.is_some_and(TensorType::is_static) {
        return Ok(());
    }
    new.op = op;
    new.operands.truncate(i);
    Ok(())
}

/// Converts numbers to sizes.
fn sizes_of(new: &NewInst, numbers: Vec<i64>) -> Result<Vec<usize>, Stop> {
    let sizes: Result<Vec<usize>, _> = numbers.iter().map(|n| usize::try_from(*n)).collect();
    sizes.map_err(|_| {
        let message = format!("{}: {numbers:?} is not a shape: a size is negative", new.op.name());
        Stop::UnknownShape(Diagnostic::new("dynamic-shape", new.span, message))
    })
}

/// `real_dynamic_slice`: operand, start_indices, limit_indices, strides. The operation becomes a slice if the
/// last three operands are known, and a dynamic slice if the sizes of the slice are known and the strides are
/// all 1.
fn slice(walk: &mut Walk<'_, '_>, new: &mut NewInst, out: RegionId) -> Result<(), Stop> {
    let [start, limit] = [new.operands[1], new.operands[2]];
    let Some(strides) = walk.integers(new.operands[3]) else { return Ok(()) };
    if let (Some(from), Some(to)) = (walk.integers(start), walk.integers(limit)) {
        let [start, limit, strides] = [from, to, strides].map(|list| sizes_of(new, list));
        new.op = Op::Slice(Slice { start: start?, limit: limit?, strides: strides? });
        new.operands.truncate(1);
        return Ok(());
    }
    if let Some(sizes) = walk.difference(start, limit)
        && strides.iter().all(|s| *s == 1)
    {
        let sizes = sizes_of(new, sizes)?;
        let starts: Vec<ValueId> = (0..sizes.len()).map(|d| element(walk, start, d, new, out)).collect();
        new.op = Op::DynamicSlice { sizes };
        new.operands.truncate(1);
        new.operands.extend(starts);
    }
    Ok(())
}

/// Element `i` of a vector, as a tensor of rank 0.
fn element(walk: &mut Walk<'_, '_>, vector: ValueId, i: usize, new: &NewInst, out: RegionId) -> ValueId {
    let Some(ty) = walk.to.tensor(vector).cloned() else { return vector };
    let mut emit = |op: Op, operand: ValueId, ty: TensorType| {
        let part = NewInst::new(op, [operand]).at(new.span, new.loc.clone());
        let part = walk.to.push(out, part, [ty.into()]);
        walk.to.inst(part).results()[0]
    };
    let slice = Slice { start: vec![i], limit: vec![i + 1], strides: vec![1] };
    let one = emit(Op::Slice(slice), vector, ty.with_sizes([1]));
    emit(Op::Reshape, one, ty.with_sizes([]))
}
