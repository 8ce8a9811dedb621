//! Derivatives of the decompositions, as ops.

pub(crate) mod eigh;
pub(crate) mod qr;
