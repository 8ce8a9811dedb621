//! Text of programs.

use crate::program::Program;

/// Returns the program that was compiled.
pub(crate) fn of(program: &Program) -> &[u8] {
    &program.source
}
