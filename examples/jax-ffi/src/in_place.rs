//! An operand and a result in the same memory.

use farcall_ffi::prelude::*;

/// Does nothing to `x`. The operand and the result are one buffer if the program allows it
/// (`input_output_aliases` in JAX). Otherwise the operand is copied before the call.
///
/// With `strict`, a copy is an error.
#[handler(name = "aliasing")]
pub fn aliasing(x: &mut InOut<AnyBuffer>, strict: Option<bool>) -> Result<()> {
    ensure!(x.is_in_place() || !strict.unwrap_or(false), "operand and result do not share memory");
    Ok(())
}
