//! Conversion of tile programs with a single tile to straight-line programs.

use std::sync::Arc;

use smallvec::SmallVec;

use super::super::ir::{Access, Level, Location, LoopOp};
use super::super::prepared::PreparedKernel;
use super::super::straight_line::{At, StraightLine};
use super::super::vector::VectorLoop;
use super::super::vector::moves::{Kind, Moves};
use super::program::{PlacedLoop, Program, Tile};

/// Maximum number of elements for which slices are stored as lists of elements.
const MAX_LISTED_ELEMENTS: usize = 256;

impl Program {
    /// Returns a straight-line program with room for the registers, but without steps. `None` if there is
    /// more than one tile, or if a step cannot be part of a straight-line program.
    pub(crate) fn line(&self) -> Option<StraightLine> {
        let one = self.tasks == 1 && self.tile >= self.n && self.n > 0 && self.registers == 0 && !self.past;
        // Slices become lists of elements, from at most three operands.
        let listed = |step: &PlacedLoop| match &*step.op {
            LoopOp::Slices(parts) => self.n <= MAX_LISTED_ELEMENTS && parts.pairs(self.n).len() <= 3,
            // The rounds of a hash may have more operands than a step of a straight-line program.
            LoopOp::HashRounds(_) => false,
            _ => true,
        };
        let all = one && self.uniform.iter().chain(&self.steps).all(listed);
        StraightLine::new(self.bytes.next_multiple_of(64)).filter(|_| all)
    }

    /// Converts the program to a straight-line program.
    pub(crate) fn in_steps(self, mut line: StraightLine) -> Option<PreparedKernel> {
        let tile = Tile::new(0, self.n, self.columns);
        for total in &self.totals {
            let accumulator = Arc::clone(&total.accumulator);
            // SAFETY: the step has scratch memory for the accumulator of the only task.
            let code = VectorLoop::new(move |_, to, _| unsafe { accumulator.begin(to) });
            line.push((code, Arc::new(LoopOp::Begin)), &[], At::Scratch(total.parts), [0, 0]);
        }
        // Constants, each with the byte offset of its register. No step writes to these registers.
        let mut constants: Vec<(usize, At)> = Vec::new();
        for step in self.uniform.into_iter().chain(self.steps) {
            let n = tile.of(step.level).1;
            if let (LoopOp::Constant(element), Location::Register(register), Level::Uniform) =
                (&*step.op, step.result, step.level)
            {
                constants.push((register, line.constant(&element[..step.bytes], n)));
                continue;
            }
            let at = |location: Location| match location {
                Location::Input(i, ..) => At::Input(i),
                Location::Output(i, ..) => At::Output(i),
                Location::Accumulators(offset, _) => At::Scratch(offset),
                Location::Register(offset) => {
                    let constant = constants.iter().find(|(register, _)| *register == offset);
                    constant.map_or(At::Register(offset), |(_, at)| *at)
                }
            };
            let to = at(step.result);
            if let (LoopOp::Copy, [x]) = (&*step.op, &step.operands[..]) {
                line.copy(step.bytes, at(x.location), to, n);
                continue;
            }
            if let LoopOp::Slices(parts) = &*step.op {
                let (inputs, pairs): (Vec<At>, Vec<_>) =
                    parts.pairs(n).into_iter().map(|(input, pairs)| (At::Input(input), pairs)).unzip();
                let size = step.bytes;
                let moves =
                    pairs.into_iter().map(|pairs| Some(Moves { size, kind: Kind::listed(pairs, size)? }));
                line.moves(moves.collect::<Option<_>>()?, &inputs, to);
                continue;
            }
            let input = step.op.input().map(|i| (At::Input(i), Access::Each));
            let own = step.operands.iter().map(|x| (at(x.location), x.access));
            let operands: SmallVec<[(At, Access); 3]> = input.into_iter().chain(own).collect();
            let (op, bytes) = (Arc::clone(&step.op), step.bytes);
            line.push((step.into_loop(tile), op), &operands, to, [n, bytes]);
        }
        for total in self.totals {
            // SAFETY: an earlier step has initialized the only accumulator; the output has room for the
            // result.
            let code =
                VectorLoop::new(move |[parts, ..], to, _| unsafe { total.accumulator.end(parts.at, 1, to) });
            let parts = (At::Scratch(total.parts), Access::Each);
            line.push((code, Arc::new(LoopOp::End)), &[parts], At::Output(total.output), [0, 0]);
        }
        Some(PreparedKernel::straight(line).with_scratch(self.scratch))
    }
}

impl PlacedLoop {
    /// Returns the loop for the only tile.
    fn into_loop(self, tile: Tile) -> VectorLoop {
        match &*self.op {
            LoopOp::Compute(code, _) | LoopOp::ReduceRows(code) if !self.is_by_row() => code.clone(),
            // SAFETY: the caller of the loop guarantees operands and result for the only tile.
            _ => VectorLoop::new(move |from, to, _| unsafe { self.compute(from.map(|x| x.at), to, tile) }),
        }
    }
}
