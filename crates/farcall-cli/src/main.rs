//! The `farcall` command. Everything is in the library beside it, so that tests can reach it.
#![forbid(unsafe_code)]

use std::process::ExitCode;

// Libraries find these instead of the C library's, and cannot end the command unseen.
farcall::watch_exits!();

fn main() -> ExitCode {
    farcall_cli::main()
}
