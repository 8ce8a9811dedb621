//! The `farcall` command. Everything is in the library beside it, so that tests can reach it.
#![forbid(unsafe_code)]

use std::process::ExitCode;

// Libraries bind to these instead of the C library's functions, and cannot end the command unseen.
farcall::watch_exits!();

fn main() -> ExitCode {
    farcall_cli::main()
}
