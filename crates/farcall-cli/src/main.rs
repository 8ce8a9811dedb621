//! The program `farcall`: everything is in the library beside it, so that tests reach it too.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    farcall_cli::main()
}
