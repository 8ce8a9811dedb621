//! Tests of the engine, as its users see it.
//!
//! They run in one process, in parallel: a test that changes something process-wide (limits, panic hooks)
//! does so in [`farcall_testing::process::alone`]. Random tests, and comparisons of every kernel with the
//! evaluator, are in `fuzz`.

#[path = "../plugin/mod.rs"]
mod plugin;

mod blocks;
mod build;
mod build_ops;
mod by_hand;
mod device;
mod devices;
mod dynamic_handlers;
mod filetests;
mod filetests_runs;
mod host_api_versions;
mod host_cost;
mod host_descriptor;
mod host_donation;
mod host_exceptions;
mod host_faults;
mod host_ffi;
mod host_load;
mod host_namespaces;
mod host_payloads;
mod host_programs;
mod host_regions;
mod hostile;
mod interrupt;
mod linalg;
mod linear;
mod op_program;
mod plan_file;
mod polymorphic;
mod row_blocks;
mod small_stack;
mod sparse;
mod threads;
