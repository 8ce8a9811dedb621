//! Loops over elements: expressions, and what the backends can compute.

pub(super) mod capability;
pub(super) mod expression;
mod superinstructions;
#[cfg(test)]
mod tests;
