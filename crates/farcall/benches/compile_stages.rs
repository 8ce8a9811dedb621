//! Duration of each stage of compilation, pass by pass.
//!
//! ```text
//! cargo bench -p farcall --bench compile_stages -- program.mlir … [--passes needed|a,b,c] [--rounds 50]
//! ```
//!
//! Prints the median of each stage in microseconds: reading, verification, the middle form, every pass, the
//! rest of the compiler, and loading. The programs must not call targets.

#![expect(clippy::print_stdout, reason = "it prints a table")]

use std::time::{Duration, Instant};

use farcall::ir::middle::pipeline::Pipeline;
use farcall::ir::verify::Verified;
use farcall::ir::{Source, text, verify};
use farcall::{CompileOptions, Executable, Registry, compile_static};

fn main() {
    let mut files = Vec::new();
    let (mut passes, mut rounds) = (Pipeline::default(), 50);
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--bench" => {}
            "--passes" => {
                let list = args.next().expect("--passes takes a list");
                passes = match list.as_str() {
                    "needed" => Pipeline::needed(),
                    list => list.parse().unwrap_or_else(|e| panic!("{e}")),
                };
            }
            "--rounds" => rounds = args.next().and_then(|n| n.parse().ok()).expect("--rounds takes a number"),
            file => files.push(file.to_owned()),
        }
    }
    let options = CompileOptions::new().passes(passes);
    for file in &files {
        match std::fs::read_to_string(file) {
            Ok(text) => stages(file, &text, &options, rounds),
            Err(error) => eprintln!("{file}: {error}"),
        }
    }
}

fn stages(file: &str, program: &str, options: &CompileOptions, rounds: usize) {
    let registry = Registry::new();
    let source = Source::new(file, program);
    let mut times: Vec<(&'static str, Vec<Duration>)> = Vec::new();
    for _ in 0..rounds {
        let mut at = 0;
        let mut last = Instant::now();
        let mut note = |name: &'static str| {
            let now = Instant::now();
            if at == times.len() {
                times.push((name, Vec::new()));
            }
            times[at].1.push(now - last);
            (at, last) = (at + 1, Instant::now());
        };
        let module = text::parse(&source).unwrap_or_else(|e| panic!("{e}"));
        note("read");
        let module =
            verify::verify(&module).and_then(Verified::into_static).unwrap_or_else(|e| panic!("{e}"));
        note("verify");
        let done = compile_static(&module, &registry, options, &mut |stage| note(stage.name))
            .and_then(|plan| Executable::from_plan(plan, &registry));
        let executable = done.unwrap_or_else(|e| panic!("{e}"));
        note("kernels, places, loading");
        std::hint::black_box(executable);
    }
    println!("{file}");
    let verify = median(&mut times[1].1);
    let mut sum = Duration::ZERO;
    for (name, times) in &mut times {
        let mut time = median(times);
        if *name == "build" {
            // The engine verifies the program once more before this stage.
            time = time.saturating_sub(verify);
        }
        sum += time;
        println!("  {name:<26}{:>10.1}", time.as_secs_f64() * 1e6);
    }
    println!("  {:<26}{:>10.1}", "together", sum.as_secs_f64() * 1e6);
}

fn median(times: &mut [Duration]) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}
