//! Replaces derived operations by the simpler operations that define them ([`crate::expand`]).

use super::{Pass, PassOptions};
use crate::expand;
use crate::module::Func;

/// The expansion pass.
pub static PASS: Pass = Pass { name: "expand", about: "replaces operations that simpler ones define", run };

fn run(func: &mut Func, _: &PassOptions) {
    expand::run(func);
}
