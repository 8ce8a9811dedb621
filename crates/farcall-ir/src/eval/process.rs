//! The process that runs a program.

use super::EvalError;
use super::machine::Machine;
use crate::module::Inst;
use crate::op::collective::{Grid, Process};

/// The process that runs the program. A program that runs without others is process 0 of the grid that its
/// module names.
pub(super) fn process(m: &Machine<'_>) -> Process {
    m.host.process().unwrap_or_else(|| Process { grid: Grid::of(&m.module.attrs), number: 0 })
}

/// The process that runs the program, one of several.
pub(super) fn in_grid(m: &Machine<'_>, participants: usize) -> Result<Process, EvalError> {
    m.host.process().ok_or_else(|| {
        EvalError::new(format!("it takes {participants} participants, but the program runs on one device"))
    })
}

/// Returns the location of an instruction.
pub(super) fn place(m: &Machine<'_>, inst: Inst<'_>) -> String {
    inst.place(&m.module.source)
}
