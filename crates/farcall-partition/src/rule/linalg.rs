//! Rules of linear algebra: batches are divided, and systems by their right-hand sides.

use farcall_ir::op::TriangularSolve;

use super::{Call, Rule};

pub(super) fn cholesky(rule: &mut Rule, call: &Call<'_>) {
    let batch = call.operands[0].len() - 2;
    rule.factors_of(&call.operands[0][..batch], &[0, 1]);
}

pub(super) fn triangular_solve(rule: &mut Rule, call: &Call<'_>, op: TriangularSolve) {
    let result = call.results[0];
    let rank = result.len();
    rule.factors_of(&result[..rank - 2], &[0, 1, 2]);
    let sides = if op.left_side { rank - 1 } else { rank - 2 };
    rule.factor(result[sides], &[(1, sides), (2, sides)]);
}

pub(super) fn fft(rule: &mut Rule, call: &Call<'_>, length: &[usize]) {
    let batch = call.operands[0].len() - length.len();
    rule.factors_of(&call.operands[0][..batch], &[0, 1]);
}
