//! The `farcall` command: runs, inspects, converts and tests programs.
//!
//! ```text
//! args ──▶ run, compile, convert, ────┬──▶ program (read, parse, verify) ──▶ execute (engine, evaluator)
//!          inspect, targets, op,      └──▶ load (registry of targets)
//!          test, bench
//! ```
//!
//! - `args`: the command line and its help. `spec`, `library`: values of its options.
//! - `program`, `load`, `execute`: shared by all commands. `engine`: runs on a PJRT plugin.
//! - `npy`, `archive`, `inputs`: read tensors from files. `show`, `results`: print tensors as text.
//!   `terminal`: colors and tables.
//! - `boundary`, `calls`: inputs, outputs and custom calls of a program.
//! - `explain`, `why`, `evaluated`: the compiler's decisions about a program.
//! - `draw`: pictures of programs and plans.
//! - `export`: output about functions exported by JAX.
//! - `convert`: programs in other formats. `file`: atomic writes of files.
//! - `compile`, `plan`: writing, running and inspecting plans in files; the output of `--dump`. `compile`
//!   also lists passes.
//! - `profile`: the time of runs as a table. `trace`: the time of runs as a file for Perfetto or as an HTML
//!   page.
//! - `bench`: times of programs, compared with the limits of the machine.
//! - `op`, `new`: calling and explaining ops; creating libraries of ops. `guide`: the pages of the
//!   guide, whose code blocks `fences` finds.
//! - `test`: self-checking programs and the corpus, in separate processes. `compare` and `corpus` judge
//!   outputs; `check_targets` has the targets of self-checking programs.
//!
//! **Invariants.** All functionality that library users need is in `farcall` or `farcall-ir`; this crate has
//! only the interface for a person at a terminal. A user error leads to a message and exit code 1 (2 for the
//! command line itself), never to a panic. Nothing is written to disk unless requested.
#![deny(unsafe_code)]

use std::io::Write;
use std::process::ExitCode;

use anyhow::Result;
use clap::{CommandFactory, Parser};
use farcall::ir::ProgramError;

mod archive;
mod args;
mod bench;
mod boundary;
mod calls;
mod check_targets;
mod compare;
mod compile;
mod convert;
mod corpus;
mod device_args;
mod devices;
mod draw;
mod engine;
mod evaluated;
mod execute;
mod explain;
mod export;
mod fences;
mod file;
mod guide;
mod inputs;
mod inspect;
mod library;
mod load;
mod machine;
mod new;
mod npy;
mod op;
mod plan;
mod profile;
mod program;
mod results;
mod run;
mod sharding;
mod show;
mod spec;
mod stats;
mod stream;
mod targets;
mod terminal;
mod test;
mod trace;
mod why;

use args::{Cli, Command};

/// Entry point of the program: parses the command line, runs the command, reports errors.
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    terminal::set_color(cli.color);
    cli.memory_limit.into_iter().for_each(farcall::memory::set_limit);
    cli.iteration_limit.into_iter().for_each(farcall::iterations::set_limit);
    // Handlers and libraries run in this process; the watch reports if such code ends the process.
    let _watch = farcall::custom_call::ExitWatch::new();
    match obey(cli.command) {
        Ok(code) => code,
        // The reader has closed the pipe, which is not an error.
        Err(e) if terminal::is_broken_pipe(&e) => ExitCode::SUCCESS,
        Err(e) => {
            let _nowhere_to_report = writeln!(terminal::stderr(), "{}", describe(&e));
            ExitCode::FAILURE
        }
    }
}

fn obey(command: Command) -> Result<ExitCode> {
    match command {
        Command::Run(args) => run::run(&args)?,
        Command::Compile(args) => compile::compile(&args)?,
        Command::Convert(args) => convert::convert(&args)?,
        Command::Passes => compile::passes()?,
        Command::Inspect(args) => inspect::inspect(&args)?,
        Command::Targets(args) => targets::targets(&args)?,
        Command::Bench(args) => bench::bench(&args)?,
        Command::New(args) => new::new(&args)?,
        Command::Guide(args) => guide::guide(args.name.as_deref())?,
        Command::Op(args) => op::op(&args)?,
        Command::Test(args) => return test::test(&args),
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "farcall", &mut script);
            terminal::stdout().write_all(&script)?;
        }
    }
    terminal::stdout().flush()?;
    Ok(ExitCode::SUCCESS)
}

/// Formats an error for the user: errors in a program with their source lines, other errors with their
/// causes.
fn describe(error: &anyhow::Error) -> String {
    let color = terminal::stderr_has_color();
    if let Some(program) = error.chain().find_map(|e| e.downcast_ref::<ProgramError>()) {
        return program.render(color);
    }
    format!("{}: {error:#}", terminal::styled(terminal::RED, "error"))
}
