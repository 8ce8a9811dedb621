//! The `farcall` command. Everything is in the library beside it, so that tests can reach it.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    farcall_cli::main()
}
