//! Tile programs of a single tile as straight-line programs.

use std::sync::Arc;

use super::super::args::Prepared;
use super::super::straight_line::{At, Loop, StraightLine};
use super::{Compiled, Level, Location, Program, Task, Tile, splat};

/// Bytes of a constant that are written once, for all runs. Larger ones are made when they are needed.
const KEPT: usize = 1024;

impl Program {
    /// Where the steps of a straight-line program go, if there is only one tile.
    pub(super) fn line(&self) -> Option<StraightLine> {
        let one = self.tasks == 1 && self.tile >= self.n && self.n > 0 && self.registers == 0;
        StraightLine::new(self.bytes.next_multiple_of(64)).filter(|_| one)
    }

    /// The same as a straight-line program.
    pub(super) fn in_steps(self, mut line: StraightLine) -> Prepared {
        let tile = Tile::new(0, self.n, self.columns);
        for total in &self.totals {
            let accumulator = Arc::clone(&total.accumulator);
            let begin: Loop = Arc::new(move |_, to, _| (accumulator.begin)(to));
            line.push(begin, &[], At::Scratch(total.parts), 0);
        }
        // Registers that hold constants, by their first byte: nothing else is written to them.
        let mut constants: Vec<(usize, At)> = Vec::new();
        for Compiled { task, from, to, size, level } in self.uniform.into_iter().chain(self.steps) {
            let n = tile.of(level).1;
            if let (Task::Constant(element), Location::Register(register), Level::Uniform) =
                (&task, to, level)
                && n * size <= KEPT
            {
                constants.push((register, line.constant(&element[..size], n)));
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
            if let (Task::Copy, [x]) = (&task, &from[..]) {
                line.copy(size, at(*x), at(to), n);
                continue;
            }
            let mut operands: Vec<At> = from.iter().map(|x| at(*x)).collect();
            operands.extend(task.input().map(At::Input));
            line.push(task.into_loop(size), &operands, at(to), n);
        }
        for total in self.totals {
            let end: Loop = Arc::new(move |[parts, ..], to, _| (total.accumulator.end)(parts, 1, to));
            line.push(end, &[At::Scratch(total.parts)], At::Output(total.output), 0);
        }
        let prepared = Prepared::straight(line);
        if self.scratch == 0 { prepared } else { prepared.with_scratch(self.scratch) }
    }
}

impl Task {
    /// The input that it reads besides the operands of its step.
    fn input(&self) -> Option<usize> {
        match self {
            Task::Splat(i) | Task::Walk(i, _) => Some(*i),
            Task::Work(_) | Task::Constant(_) | Task::Iota(_) | Task::Copy | Task::Accumulate(_) => None,
        }
    }

    /// What it does in the only tile, to elements of so many bytes.
    fn into_loop(self, size: usize) -> Loop {
        match self {
            Task::Work(work) => Arc::from(work),
            // SAFETY: the operand has one element, and the register has room for a tile.
            Task::Splat(_) => Arc::new(move |[x, ..], to, n| unsafe { splat(x, to, size, n) }),
            Task::Constant(element) => Arc::new(move |_, to, n| {
                // SAFETY: elements have 16 bytes at most.
                unsafe { splat(element.as_ptr(), to, size, n) }
            }),
            // SAFETY: the walk was made for the operand and values of this level.
            Task::Walk(_, walk) => Arc::new(move |[x, ..], to, n| unsafe { (walk.run)(&walk, x, to, 0, n) }),
            // SAFETY: the register has room for a tile.
            Task::Iota(iota) => Arc::new(move |_, to, n| unsafe { (iota.run)(&iota, to, 0, n) }),
            // SAFETY: the register has room for a tile; an operand may lie in the place of the output.
            Task::Copy => Arc::new(move |[x, ..], to, n| unsafe { std::ptr::copy(x, to, n * size) }),
            Task::Accumulate(accumulator) => Arc::new(move |[x, ..], to, n| (accumulator.add)(x, n, 0, to)),
        }
    }
}
