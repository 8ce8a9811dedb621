//! Rules of collectives that the program itself has. Devices of a group exchange or combine parts of equal
//! shapes, so dimensions along which nothing is exchanged can be divided.

use super::{Call, Rule};

/// Adds factors for the dimensions except `exchanged`.
pub(super) fn all_but(rule: &mut Rule, call: &Call<'_>, exchanged: &[usize]) {
    // The last operand may name the sender. It has no result.
    for (i, sizes) in call.operands.iter().enumerate().take(call.results.len()) {
        for (d, size) in sizes.iter().enumerate().filter(|(d, _)| !exchanged.contains(d)) {
            rule.factor(*size, &[(i, d), (call.result(i), d)]);
        }
    }
}
