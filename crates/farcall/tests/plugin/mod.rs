//! Ops of the test programs. The libraries in this folder have the same ops, so that tests can also load
//! them.

pub(crate) mod blocks;
pub(crate) mod by_hand;
pub(crate) mod declared;
pub(crate) mod ops;
