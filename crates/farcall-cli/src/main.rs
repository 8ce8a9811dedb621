//! The `farcall` command. All code is in the library crate, so that tests can reach it.
#![forbid(unsafe_code)]

use std::process::ExitCode;

// Libraries bind to these symbols instead of the C library's functions, so they cannot end the command
// without a report.
farcall::watch_exits!();

fn main() -> ExitCode {
    farcall_cli::main()
}
