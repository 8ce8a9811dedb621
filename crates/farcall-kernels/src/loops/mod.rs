//! Loops over elements: expressions, and what the backends can compute.

pub(super) mod capability;
pub(super) mod expression;
pub(super) mod ir;
pub(super) mod moves;
mod superinstructions;
#[cfg(test)]
mod tests;
