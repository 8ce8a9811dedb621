//! Allocation of registers: memory for the values of a tile.

use super::super::ir::{Level, Slot};
use super::super::vector::BLOCK;
use super::SsaLoop;

/// The assignment of registers to steps.
pub(super) struct Registers {
    /// The register of each step that has one.
    of: Vec<Option<usize>>,
    /// For each register: level of its values, and element size in bytes.
    all: Vec<(Level, usize)>,
}

impl Registers {
    /// Assigns registers. Values computed before the first tile keep their register; other registers are
    /// reused after the last step that reads them.
    pub(super) fn assign(steps: &[SsaLoop], direct: &[Option<usize>]) -> Registers {
        let mut last: Vec<usize> = (0..steps.len()).collect();
        for (s, step) in steps.iter().enumerate() {
            for slot in &step.operands {
                if let Slot::Loop(x) = *slot {
                    last[x] = s;
                }
            }
        }
        let mut registers = Registers { of: vec![None; steps.len()], all: Vec::new() };
        let mut free: Vec<usize> = Vec::new();
        let mut ends: Vec<Vec<usize>> = vec![Vec::new(); steps.len()];
        for (s, step) in steps.iter().enumerate() {
            // The registers of a step's operands become free only after its own register is assigned, so that
            // a step never writes to a register that it reads.
            if direct[s].is_none() && step.op.accumulator().is_none() {
                let kind = (step.level, step.bytes);
                let used = free.iter().rposition(|r| registers.all[*r] == kind).map(|i| free.remove(i));
                let register = used.unwrap_or_else(|| {
                    registers.all.push(kind);
                    registers.all.len() - 1
                });
                registers.of[s] = Some(register);
                if !matches!(step.level, Level::Uniform | Level::Fixed) {
                    ends[last[s]].push(register);
                }
            }
            free.append(&mut ends[s]);
        }
        registers
    }

    /// Returns the number of bytes that the registers of all full values take per element of a tile.
    pub(super) fn width(&self) -> usize {
        let full = self.all.iter().filter(|(level, _)| matches!(level, Level::Full | Level::Fixed));
        full.map(|(_, size)| size).sum()
    }

    /// Returns the byte offset of each step's register, and the total size in bytes.
    pub(super) fn places(&self, tile: usize, columns: usize) -> Option<(Vec<usize>, usize)> {
        let mut bytes = 0usize;
        let mut begins = Vec::with_capacity(self.all.len());
        for (level, size) in &self.all {
            begins.push(bytes);
            let elements = match level {
                Level::Uniform => BLOCK,
                Level::Row => tile / columns,
                Level::Full | Level::Fixed => tile,
            };
            // Every register starts at a cache line.
            bytes = bytes.checked_add(elements.checked_mul(*size)?.checked_next_multiple_of(64)?)?;
        }
        Some((self.of.iter().map(|r| r.map_or(0, |r| begins[r])).collect(), bytes))
    }
}
