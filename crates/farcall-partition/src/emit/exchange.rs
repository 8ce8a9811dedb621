//! What devices exchange before an operation, so that its divided dimensions are not gathered: the elements
//! that windows reach beyond the device's part, whole parts of reversed dimensions, and rotated parts.

use farcall_ir::module::Inst;
use farcall_ir::op::Op;
use farcall_ir::{Literal, TensorType, ValueId};

use super::{Emitted, Emitter, Program};
use crate::choose::{Division, exchanges};
use crate::grid::SubAxis;
use crate::rotation::{Rotation, Rotations};
use crate::rule::{Exchange, Rule, Windows};

/// The side of a part on which its neighbor is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Before,
    After,
}

/// The elements that an operation reads beyond the edges of a tensor.
#[derive(Clone, Copy)]
enum Beyond {
    Nothing,
    Zeros,
    /// A scalar.
    Value(ValueId),
}

impl Emitter<'_> {
    /// Replaces the parts of an operation's operands by the elements that the device's part of the result
    /// depends on.
    pub(super) fn exchange(
        &mut self,
        inst: Inst<'_>,
        rule: &Rule,
        types: &[&TensorType],
        division: &Division,
        operands: &mut [ValueId],
    ) -> Emitted<()> {
        for i in 0..rule.exchanged {
            let tiling = &division.tilings[i];
            for (dim, exchange) in exchanges(&rule.tensors[i], rule, tiling) {
                let axes = &tiling.dims[dim];
                operands[i] = match exchange {
                    Exchange::None => continue,
                    Exchange::Windows(windows) => {
                        let beyond = match inst.op() {
                            Op::ReduceWindow(_) => Beyond::Value(operands[rule.operands / 2 + i]),
                            Op::Pad(_) => Beyond::Value(operands[1]),
                            Op::Convolution(_) => Beyond::Zeros,
                            _ => Beyond::Nothing,
                        };
                        let part = self.with_edge(operands[i], dim, types[i].sizes()[dim], axes, beyond)?;
                        self.with_halo(part, dim, axes, windows, beyond)?
                    }
                    Exchange::Reverse => {
                        let groups = self.program.grid.groups(axes);
                        let opposite = |group: &Vec<usize>| -> Vec<(usize, usize)> {
                            group.iter().copied().zip(group.iter().rev().copied()).collect()
                        };
                        let pairs: Vec<(usize, usize)> = groups.iter().flat_map(opposite).collect();
                        self.permuted(operands[i], &pairs)?
                    }
                };
            }
        }
        Ok(())
    }

    /// Replaces the padding of a part by the elements beyond the edge of the tensor, whose dimension has `size`
    /// elements. If the operation reads nothing there, the padding stays.
    fn with_edge(
        &mut self,
        part: ValueId,
        dim: usize,
        size: usize,
        axes: &[SubAxis],
        beyond: Beyond,
    ) -> Emitted<ValueId> {
        let ty = self.type_of_part(part).clone();
        if size == ty.sizes()[dim] * self.program.grid.parts(axes) {
            return Ok(part);
        }
        let value = match beyond {
            Beyond::Nothing => return Ok(part),
            Beyond::Zeros => {
                let zero = Literal::zeros(ty.dtype, []);
                self.at().value_of(Op::Constant(zero), [], ty.with_sizes([]))?
            }
            Beyond::Value(value) => value,
        };
        self.with_padding(part, dim, size, axes, value)
    }

    /// Returns the elements that the windows of a part's results reach.
    fn with_halo(
        &mut self,
        part: ValueId,
        dim: usize,
        axes: &[SubAxis],
        windows: Windows,
        beyond: Beyond,
    ) -> Emitted<ValueId> {
        let size = self.type_of_part(part).sizes()[dim];
        let mut pieces = Vec::new();
        if let Ok(count @ 1..) = usize::try_from(windows.before) {
            pieces.push(self.neighbors(part, dim, axes, count, Side::Before, beyond)?);
        }
        // A negative number of elements is left out.
        let start = usize::try_from(-windows.before).unwrap_or(0);
        let limit = size - usize::try_from(-windows.after).unwrap_or(0);
        if start < limit {
            pieces.push(self.section(part, dim, start..limit)?);
        }
        if let Ok(count @ 1..) = usize::try_from(windows.after) {
            pieces.push(self.neighbors(part, dim, axes, count, Side::After, beyond)?);
        }
        self.joined(pieces, dim)
    }

    /// Concatenates pieces of a part, at least one.
    fn joined(&mut self, pieces: Vec<ValueId>, dim: usize) -> Emitted<ValueId> {
        match pieces[..] {
            [piece] => Ok(piece),
            _ => self.at().value(Op::Concatenate { dim }, pieces),
        }
    }

    /// Emits the device's part of a rotation, whose elements come from at most two devices.
    pub(super) fn rotate(&mut self, inst: Inst<'_>, rotation: Rotation) -> Emitted<()> {
        let Rotation { source, dim, first } = rotation;
        let tiling = self.program.shardings.of(source).tiling.clone();
        let part = self.part(source, &tiling)?;
        let size = self.type_of_part(part).sizes()[dim];
        let groups = self.program.grid.groups(&tiling.dims[dim]);
        let (distance, start) = (first / size, first % size);
        let mut pieces = Vec::new();
        for (range, distance) in [(start..size, distance), (0..start, distance + 1)] {
            if range.is_empty() {
                continue;
            }
            let mut piece = self.section(part, dim, range)?;
            let pairs = groups.iter().flat_map(|group| {
                let sender = |to: usize| group[(to + distance) % group.len()];
                group.iter().enumerate().map(move |(to, device)| (sender(to), *device))
            });
            let pairs: Vec<(usize, usize)> = pairs.collect();
            if pairs.iter().any(|(from, to)| from != to) {
                piece = self.permuted(piece, &pairs)?;
            }
            pieces.push(piece);
        }
        let rotated = self.joined(pieces, dim)?;
        self.hold_resharded(inst.results()[0], &tiling, rotated)
    }

    /// Returns the elements next to a part, from the neighbor on a side.
    fn neighbors(
        &mut self,
        part: ValueId,
        dim: usize,
        axes: &[SubAxis],
        count: usize,
        side: Side,
        beyond: Beyond,
    ) -> Emitted<ValueId> {
        let grid = self.program.grid;
        let size = self.type_of_part(part).sizes()[dim];
        let sent = match side {
            Side::Before => size - count..size,
            Side::After => 0..count,
        };
        let sent = self.section(part, dim, sent)?;
        let groups = grid.groups(axes);
        let neighbors = groups.iter().flat_map(|group| group.windows(2)).map(|pair| match side {
            Side::Before => (pair[0], pair[1]),
            Side::After => (pair[1], pair[0]),
        });
        // At the edge, a device receives zeros.
        let received = self.permuted(sent, &neighbors.collect::<Vec<_>>())?;
        let Beyond::Value(value) = beyond else { return Ok(received) };
        let edge = if side == Side::Before { 0 } else { grid.parts(axes) - 1 };
        let at = self.coordinate(axes)?;
        let is_edge = self.equals(at, edge)?;
        let ty = self.type_of_part(received).clone();
        let value = self.splat(value, ty.clone())?;
        self.at().value_of(Op::Select, [is_edge, value, received], ty)
    }
}

/// Returns the rotations of a program along dimensions that are divided in the source and in the result, and
/// in the source evenly. (If the source or the result is whole, slices and a concatenation move fewer bytes.)
pub(super) fn rotations(program: &Program<'_>) -> Rotations {
    Rotations::of(program.func, |inst, rotation| {
        let axes = |value| &program.shardings.of(value).tiling.dims[rotation.dim];
        let (source, result) = (axes(rotation.source), axes(inst.results()[0]));
        let sizes = program.func.tensor(rotation.source).map_or(&[][..], TensorType::sizes);
        let is_even = sizes[rotation.dim].is_multiple_of(program.grid.parts(source));
        is_even && !source.is_empty() && !result.is_empty()
    })
}

/// Changes an operation with windows along divided dimensions: the exchange has moved the elements, and
/// replaced the padding. `parts` are the types of the parts.
pub(super) fn local_windows(op: Op, rule: &Rule, division: &Division, parts: &[TensorType]) -> Op {
    let Some((dims, tiling)) = rule.tensors.first().zip(division.tilings.first()) else { return op };
    let windowed = exchanges(dims, rule, tiling).filter_map(|(dim, exchange)| match exchange {
        Exchange::Windows(windows) => Some((dim, windows)),
        _ => None,
    });
    match op {
        Op::Convolution(mut op) => {
            for (dim, windows) in windowed {
                let spatial = op.dims.input_spatial.iter().position(|d| *d == dim);
                spatial.into_iter().for_each(|i| op.padding[i] = windows.padding);
            }
            Op::Convolution(op)
        }
        Op::ReduceWindow(mut op) => {
            windowed.for_each(|(dim, windows)| op.padding[dim] = windows.padding);
            Op::ReduceWindow(op)
        }
        Op::Pad(mut op) => {
            windowed.for_each(|(dim, windows)| (op.low[dim], op.high[dim]) = windows.padding);
            Op::Pad(op)
        }
        Op::Slice(mut op) => {
            for (dim, windows) in windowed {
                let results = parts[1].sizes()[dim];
                (op.start[dim], op.limit[dim]) = (0, (results - 1) * windows.stride + 1);
                op.strides[dim] = windows.stride;
            }
            Op::Slice(op)
        }
        other => other,
    }
}
