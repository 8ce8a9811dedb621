//! Tests of the program from the outside: its output and its exit status.

mod check;
mod cli;
mod convert;
mod cuda;
mod devices;
mod drawing;
mod elided;
mod ending;
mod endless;
mod folder;
mod gpu;
mod named;
mod new;
mod op;
mod pjrt;
mod plan;
mod seeing;
