//! The `farcall` command. All code is in the library crate, so that tests can reach it.
#![forbid(unsafe_code)]

use std::process::ExitCode;

// Defines symbols to which libraries bind instead of the C library's exit functions. Thus a library cannot
// end the command without a report.
farcall::watch_exits!();

fn main() -> ExitCode {
    farcall_cli::main()
}
