//! Tests of the program representation.
//!
//! They run in one process, in parallel: a test that changes something process-wide (limits of memory) does
//! so in [`farcall_testing::process::alone`].

mod artifact_memory;
mod artifact_robust;
mod artifact_speed;
mod artifacts;
mod bounded;
mod bytecode;
mod eval_programs;
mod eval_suite;
mod fuzz_artifacts;
mod fuzz_text;
mod hlo;
mod normalize;
mod passes;
mod refine;
mod rewrite;
mod sharding;
mod text_coverage;
mod text_dialects;
mod text_errors;
mod text_print;
mod text_robust;
mod text_shared;
mod text_speed;
mod verify;
