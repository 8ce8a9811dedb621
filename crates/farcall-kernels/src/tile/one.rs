//! Conversion of tile programs with a single tile to straight-line programs.

use std::sync::Arc;

use super::super::args::Prepared;
use super::super::map::VectorLoop;
use super::super::straight_line::{At, StraightLine, What, moves_listed};
use super::program::{Compiled, Location, Program, Taken, Tile};
use super::{Level, Task};

/// Maximum number of elements for which slices are stored as lists of elements.
const MAX_LISTED_ELEMENTS: usize = 256;

impl Program {
    /// Returns an empty straight-line program for the steps, if there is only one tile.
    pub(super) fn line(&self) -> Option<StraightLine> {
        let one = self.tasks == 1 && self.tile >= self.n && self.n > 0 && self.registers == 0 && !self.past;
        // Slices become lists of elements.
        let listed = |step: &Compiled| match &step.task {
            Task::Parts(parts) => self.n <= MAX_LISTED_ELEMENTS && parts.pairs(self.n).len() <= 3,
            // A mix may have more operands than a step.
            Task::Mix(_) => false,
            _ => true,
        };
        let all = one && self.uniform.iter().chain(&self.steps).all(listed);
        StraightLine::new(self.bytes.next_multiple_of(64)).filter(|_| all)
    }

    /// Converts the program to a straight-line program.
    pub(super) fn in_steps(self, mut line: StraightLine) -> Option<Prepared> {
        let tile = Tile::new(0, self.n, self.columns);
        for total in &self.totals {
            let accumulator = Arc::clone(&total.accumulator);
            // SAFETY: the step has scratch memory for the part of the only task.
            let begin = VectorLoop::new(move |_, to, _| unsafe { accumulator.begin(to) });
            line.push(begin, &[], At::Scratch(total.parts), 0);
        }
        // Constants by the first byte of their register, to which nothing else is written.
        let mut constants: Vec<(usize, At)> = Vec::new();
        for step in self.uniform.into_iter().chain(self.steps) {
            let n = tile.of(step.level).1;
            if let (Task::Constant(element), Location::Register(register), Level::Uniform) =
                (&step.task, step.to, step.level)
            {
                constants.push((register, line.constant(&element[..step.size], n)));
                continue;
            }
            let at = |location: Location| match location {
                Location::Input(i, ..) => At::Input(i),
                Location::Output(i, ..) => At::Output(i),
                Location::Part(offset, _) => At::Scratch(offset),
                Location::Register(offset) => {
                    let constant = constants.iter().find(|(register, _)| *register == offset);
                    constant.map_or(At::Register(offset), |(_, at)| *at)
                }
            };
            let to = at(step.to);
            if let (Task::Copy, [x]) = (&step.task, &step.from[..]) {
                line.copy(step.size, at(x.location), to, n);
                continue;
            }
            if let Task::Parts(parts) = &step.task {
                let (inputs, pairs): (Vec<At>, Vec<_>) =
                    parts.pairs(n).into_iter().map(|(input, pairs)| (At::Input(input), pairs)).unzip();
                let (work, what) = moves_listed(step.size, pairs)?;
                line.push(work, &inputs, to, n);
                line.does(what);
                continue;
            }
            let input = step.task.input().map(|i| (At::Input(i), false));
            let taken = step.from.iter().map(|x| (at(x.location), x.taken == Taken::One));
            let operands: Vec<(At, bool)> = input.into_iter().chain(taken).collect();
            let what = if step.row_by_row { What::Other } else { step.what.clone() };
            line.push_marked(step.into_loop(tile), &operands, to, n);
            line.does(what);
        }
        for total in self.totals {
            // SAFETY: the first step has initialized the only part; the output has the result's elements.
            let end =
                VectorLoop::new(move |[parts, ..], to, _| unsafe { total.accumulator.end(parts.at, 1, to) });
            line.push(end, &[At::Scratch(total.parts)], At::Output(total.output), 0);
        }
        let prepared = Prepared::straight(line);
        Some(if self.scratch == 0 { prepared } else { prepared.with_scratch(self.scratch) })
    }
}

impl Compiled {
    /// Returns the loop for the only tile.
    fn into_loop(self, tile: Tile) -> VectorLoop {
        match self.task {
            Task::Work(work) if !self.row_by_row => work,
            // SAFETY: the caller of the loop guarantees operands and result for the only tile.
            _ => VectorLoop::new(move |from, to, _| unsafe { self.compute(from.map(|x| x.at), to, tile) }),
        }
    }
}
