//! Windows over a divided dimension: each device receives the elements that its windows reach from its
//! neighbors, so the dimension is not gathered.

use farcall_ir::module::Inst;
use farcall_ir::op::{CollectivePermute, Op, Slice};
use farcall_ir::{DType, Literal, ValueId};

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
    /// Adds halos to the operands of an operation with windows. Returns the dimensions that have one.
    pub(super) fn add_halos(
        &mut self,
        inst: Inst<'_>,
        rule: &Rule,
        division: &Division,
        operands: &mut [ValueId],
    ) -> Emitted<Vec<usize>> {
        let inputs = if matches!(inst.op(), Op::ReduceWindow(_)) { operands.len() / 2 } else { 1 };
        let mut windowed = Vec::new();
        for i in 0..inputs.min(operands.len()) {
            let tiling = &division.tilings[i];
            // Behind the edges, windows of a reduction have the initial value, and those of a convolution
            // zeros.
            let fill = matches!(inst.op(), Op::ReduceWindow(_)).then(|| operands[inputs + i]);
            windowed.clear();
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
                windowed.push(dim);
            }
        }
        Ok(windowed)
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
        let mut pairs: Vec<i64> = Vec::new();
        for group in grid.groups(axes) {
            for pair in group.windows(2) {
                let [low, high] = [pair[0] as i64, pair[1] as i64];
                pairs.extend(if side == Side::Before { [low, high] } else { [high, low] });
            }
        }
        let pairs = Literal::from_slice(DType::S64, [pairs.len() / 2, 2], &pairs);
        let permute = CollectivePermute { pairs, channel: Some(self.channel()) };
        // Devices at the edge receive zeros.
        let received =
            self.moved("collective_permute", Op::CollectivePermute(Box::new(permute)), sent, &of_piece)?;
        let Some(fill) = fill else { return Ok(received) };
        let edge = if side == Side::Before { 0 } else { grid.parts(axes) - 1 };
        let at = self.coordinate(axes)?;
        let is_edge = self.equals(at, edge)?;
        let fill = self.splat(fill, of_piece.clone())?;
        self.at().value_of(Op::Select, [is_edge, fill, received], of_piece)
    }
}

/// Removes the padding of these dimensions of the operands from an operation with windows: a halo replaces
/// it.
pub(super) fn without_padding(op: Op, windowed: &[usize]) -> Op {
    match op {
        Op::Convolution(mut op) => {
            for (d, padding) in op.dims.input_spatial.iter().zip(&mut op.padding) {
                if windowed.contains(d) {
                    *padding = (0, 0);
                }
            }
            Op::Convolution(op)
        }
        Op::ReduceWindow(mut op) => {
            windowed.iter().for_each(|d| op.padding[*d] = (0, 0));
            Op::ReduceWindow(op)
        }
        other => other,
    }
}
