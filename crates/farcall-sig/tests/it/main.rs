//! Tests of signatures.

mod calls;
mod fuzz_signature;
mod gradients;
mod messages;
mod roundtrip;
mod rules;
mod soundness;
