//! The program as its users see it: what it prints, and how it ends.

mod check;
mod cli;
mod convert;
mod drawing;
mod elided;
mod ending;
mod endless;
mod folder;
mod named;
mod new;
mod op;
mod plan;
mod seeing;
