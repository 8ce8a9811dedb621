//! Passes one after the other.

use super::passes::{self, Context, Pass};
use crate::module::{FuncId, Module};

/// What the compiler runs before it chooses kernels, in order.
pub static DEFAULT: &[&Pass] = &[
    &passes::excess::PASS,
    &passes::canonicalize::PASS,
    &passes::fold::PASS,
    &passes::simplify::PASS,
    &passes::cse::PASS,
    &passes::licm::PASS,
    &passes::cse::PASS,
    &passes::dce::PASS,
];

/// The passes that every program needs: those without which it would be computed otherwise, or would not
/// leave out what it need not run.
pub static MINIMAL: &[&Pass] = &[&passes::excess::PASS, &passes::dce::PASS];

/// Runs passes over a module in the middle form. `after` is called with the name of each and what it left.
///
/// # Panics
/// In debug builds, if a pass leaves the form.
pub fn run(
    module: &mut Module,
    passes: &[&Pass],
    cx: &Context,
    after: &mut dyn FnMut(&'static str, &Module),
) {
    for pass in passes {
        (pass.run)(module.func_mut(FuncId::new(0)), cx);
        if cfg!(debug_assertions)
            && let Err(error) = super::verify(module)
        {
            panic!("{} left no valid program: {error}\n{}", pass.name, crate::text::print(module));
        }
        after(pass.name, module);
    }
}
