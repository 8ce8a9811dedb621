//! Windows over a divided dimension: each device receives the elements that its windows reach from its
//! neighbors, so the dimension is not gathered.

use farcall_ir::ValueId;
use farcall_ir::module::Inst;
use farcall_ir::op::{Op, Slice};

use super::device::with_size;
use super::{Emitted, Emitter};
use crate::choose::{Division, halos};
use crate::grid::SubAxis;
use crate::rule::Rule;

/// The side of a part on which its neighbor is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Before,
    After,
}

impl Emitter<'_> {
    /// Adds halos to the operands of an operation with windows.
    pub(super) fn add_halos(
        &mut self,
        inst: Inst<'_>,
        rule: &Rule,
        division: &Division,
        operands: &mut [ValueId],
    ) -> Emitted<()> {
        let is_reduction = matches!(inst.op(), Op::ReduceWindow(_));
        let inputs = if is_reduction { operands.len() / 2 } else { 1 };
        for i in 0..inputs.min(operands.len()) {
            let tiling = &division.tilings[i];
            // Beyond the edges of the tensor, a reduction reads its initial value, and a convolution zeros.
            let fill = is_reduction.then(|| operands[inputs + i]);
            for (dim, halo) in halos(&rule.tensors[i], rule, tiling) {
                let axes = &tiling.dims[dim];
                let mut pieces = Vec::new();
                if halo.before > 0 {
                    pieces.push(self.neighbors(operands[i], dim, axes, halo.before, Side::Before, fill)?);
                }
                pieces.push(operands[i]);
                if halo.after > 0 {
                    pieces.push(self.neighbors(operands[i], dim, axes, halo.after, Side::After, fill)?);
                }
                operands[i] = self.at().value(Op::Concatenate { dim }, pieces)?;
            }
        }
        Ok(())
    }

    /// Returns the elements next to a part, from the neighbor on a side; at the edge, `fill` or zeros.
    fn neighbors(
        &mut self,
        part: ValueId,
        dim: usize,
        axes: &[SubAxis],
        count: usize,
        side: Side,
        fill: Option<ValueId>,
    ) -> Emitted<ValueId> {
        let grid = self.program.grid;
        let ty = self.func.tensor(part).expect("parts are tensors").clone();
        let size = ty.sizes()[dim];
        let (mut start, mut limit) = (vec![0; ty.rank()], ty.sizes().to_vec());
        match side {
            Side::Before => start[dim] = size - count,
            Side::After => limit[dim] = count,
        }
        let of_piece = with_size(&ty, dim, count);
        let slice = Op::Slice(Slice { start, limit, strides: vec![1; ty.rank()] });
        let sent = self.at().value_of(slice, [part], of_piece.clone())?;
        let groups = grid.groups(axes);
        let neighbors = groups.iter().flat_map(|group| group.windows(2)).map(|pair| match side {
            Side::Before => (pair[0], pair[1]),
            Side::After => (pair[1], pair[0]),
        });
        let received = self.permuted(sent, &neighbors.collect::<Vec<_>>(), &of_piece)?;
        let Some(fill) = fill else { return Ok(received) };
        let edge = if side == Side::Before { 0 } else { grid.parts(axes) - 1 };
        let at = self.coordinate(axes)?;
        let is_edge = self.equals(at, edge)?;
        let fill = self.splat(fill, of_piece.clone())?;
        self.at().value_of(Op::Select, [is_edge, fill, received], of_piece)
    }
}

/// Removes the padding of an operation with windows along dimensions with a halo, which replaces it.
pub(super) fn without_padding(op: Op, rule: &Rule, division: &Division) -> Op {
    // All inputs of an operation have the halos of the first one.
    let windowed = || halos(&rule.tensors[0], rule, &division.tilings[0]).map(|(dim, _)| dim);
    match op {
        Op::Convolution(mut op) => {
            for dim in windowed() {
                let spatial = op.dims.input_spatial.iter().position(|d| *d == dim);
                spatial.into_iter().for_each(|i| op.padding[i] = (0, 0));
            }
            Op::Convolution(op)
        }
        Op::ReduceWindow(mut op) => {
            windowed().for_each(|dim| op.padding[dim] = (0, 0));
            Op::ReduceWindow(op)
        }
        other => other,
    }
}
