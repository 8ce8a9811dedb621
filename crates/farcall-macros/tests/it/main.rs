//! Tests of the macros, as a library of ops uses them.

mod declarations;
mod generic;
mod less_to_write;
mod residuals;
mod ui;
