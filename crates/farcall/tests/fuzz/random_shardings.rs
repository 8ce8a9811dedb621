//! Random programs with random shardings have the same results on several devices as on one.
//!
//! `random::generate`, `mixing` and `windows` make the programs, `annotate` states shardings: of parameters,
//! results, instructions and operands, on random meshes, in Shardy's form or XLA's, and computations on
//! parts. The engine runs the program of each device; the evaluator computes the expected results, without
//! shardings.
//!
//! `FARCALL_FUZZ_SEED`, `FARCALL_FUZZ_ITERATIONS` and `FARCALL_FUZZ_ONLY` choose programs as in `random`.

use std::fmt::Write as _;
use std::path::PathBuf;

use farcall::devices::Grid;
use farcall::ffi::unwind::catch;
use farcall::ir::op::Op;
use farcall::ir::{Literal, Module, text, verify};
use farcall::{CompileOptions, Executable, Registry};
use farcall_testing::fuzz;

mod annotate;
mod mixing;
mod windows;

use crate::random::check::{self, Outcome};
use crate::random::generate::{self, Program};
use crate::random::shrink;
use annotate::Annotator;

/// Number of programs of a run: as many as a debug build checks in half a minute.
const PROGRAMS: u64 = 400;

/// Number of failures after which a run ends.
const MAX_FAILURES: usize = 5;

/// Sizes of dimensions. Axes have the sizes 2, 3 and 4.
const SIZES: &[usize] = &[0, 1, 2, 2, 3, 4, 4, 5, 6, 8];

/// A program that states shardings, for a number of devices.
struct Case {
    program: Program,
    devices: usize,
}

/// Returns a program. With `even_interface`, every axis divides its dimension of a parameter or result evenly.
fn case(seed: u64, even_interface: bool) -> Case {
    let mut program = match seed % 8 {
        0 => mixing::program(seed),
        4 => windows::program(seed),
        _ => generate::program_of_sizes(seed, SIZES),
    };
    let mut annotator = Annotator::new(seed ^ 0x5a_d1e5, seed % 4 == 1);
    annotator.even_interface |= even_interface;
    annotator.annotate(&mut program.module);
    Case { program, devices: annotator.devices() }
}

/// Compares the results on several devices with the evaluator's on one.
fn checked(p: &Program, devices: usize, registry: &Registry) -> Result<Outcome, String> {
    let module = verify::verify(&p.module).and_then(verify::Verified::into_static);
    let Ok(module) = module else { return Ok(Outcome::Refused) };
    if depends_on_device(&module) {
        return Ok(Outcome::Refused);
    }
    let Ok(wanted) = check::evaluated(&module, &p.inputs, check::numerics(p)) else {
        return Ok(Outcome::Refused);
    };
    let program = annotate::with_manual_computations(&p.module);
    let run = || partitioned(&program, p, devices, registry);
    let found = catch(run).unwrap_or_else(|_| Err("panic: see above".to_owned()))?;
    check::compare(&wanted, &found, &p.exact).map_err(|error| format!("different: {error}"))?;
    Ok(Outcome::Same)
}

/// Runs a program on several devices, and returns the complete results.
fn partitioned(
    module: &Module,
    p: &Program,
    devices: usize,
    registry: &Registry,
) -> Result<Vec<Literal>, String> {
    let grid = Grid { replicas: 1, partitions: devices };
    let options = CompileOptions::new().numerics(check::numerics(p)).grid(grid).partitioned(true);
    let executable =
        Executable::compile(module, registry, &options).map_err(|error| format!("compile: {error}"))?;
    executable.run_partitioned(&p.inputs).map_err(|error| format!("run: {error}"))
}

/// Returns true if a result of the program depends on the device.
fn depends_on_device(module: &Module) -> bool {
    let mut found = false;
    for func in module.funcs() {
        func.walk(&mut |inst| found |= matches!(inst.op(), Op::PartitionId | Op::ReplicaId));
    }
    found
}

#[test]
fn shardings_of_random_programs_keep_the_results() {
    let registry = Registry::new();
    let found = fuzz::check_programs(PROGRAMS, MAX_FAILURES, |i, is_only| {
        let Case { program, devices } = case(fuzz::seed_of(i), false);
        if is_only {
            eprintln!("{}", text::print(&annotate::with_manual_computations(&program.module)));
        }
        let outcome = checked(&program, devices, &registry);
        let outcome = outcome.map_err(|error| report(&program, devices, &error, i, &registry))?;
        Ok(outcome != Outcome::Refused)
    });
    found.expect_no_failure(5);
}

/// Writes programs for 8 devices to the folder `FARCALL_FUZZ_WRITE`, which jaxlib then runs: program `N.mlir`,
/// and `N.inputs.mlir` and `N.results.mlir`, which return its inputs and the evaluator's results. They have no
/// computations on parts: jaxlib reads these in another form.
#[test]
#[ignore = "`cargo xtask jax-shardings` runs it"]
fn write_programs_for_jaxlib() {
    let folder =
        PathBuf::from(std::env::var_os("FARCALL_FUZZ_WRITE").expect("FARCALL_FUZZ_WRITE is a folder"));
    let mut written = 0;
    for i in 0.. {
        if written >= fuzz::iterations(1000) {
            break;
        }
        let Case { program, devices } = case(fuzz::seed_of(i), true);
        let module = verify::verify(&program.module).and_then(verify::Verified::into_static);
        let Some(module) = module.ok().filter(|module| devices == 8 && !depends_on_device(module)) else {
            continue;
        };
        let Ok(results) = check::evaluated(&module, &program.inputs, check::numerics(&program)) else {
            continue;
        };
        let write = |kind: &str, text: String| {
            std::fs::write(folder.join(format!("{i}{kind}.mlir")), text).expect("the folder can be written");
        };
        write("", text::print(&annotate::without_manual_computations(&program.module)));
        write(".inputs", constants(&program.inputs));
        write(".results", constants(&results));
        written += 1;
    }
}

/// Returns a program that returns these values.
fn constants(values: &[Literal]) -> String {
    let types = values.iter().map(|value| value.ty().to_string()).collect::<Vec<_>>().join(", ");
    let mut out = format!("func.func @main() -> ({types}) {{\n");
    for (i, value) in values.iter().enumerate() {
        writeln!(out, "  %{i} = stablehlo.constant {}", farcall::ir::Attribute::Dense(value.clone()))
            .unwrap();
    }
    let names = (0..values.len()).map(|i| format!("%{i}")).collect::<Vec<_>>().join(", ");
    let separator = if values.is_empty() { "" } else { " : " };
    out + &format!("  return {names}{separator}{types}\n}}\n")
}

/// Shrinks a failing program. Returns a description of the failure, the program, and its inputs.
fn report(p: &Program, devices: usize, error: &str, i: u64, registry: &Registry) -> String {
    // A smaller program must fail in the same way.
    let kind = |error: &str| error.split(':').next().map(str::to_owned);
    let fails = |p: &Program| checked(p, devices, registry).err().and_then(|e| kind(&e)) == kind(error);
    let mut small = shrink::shrink(p, &fails);
    let fewer = |p: &Program| {
        let modules = annotate::with_fewer_shardings(&p.module).into_iter();
        let mut programs = modules.map(|module| Program { module, ..p.clone() });
        programs.find(|p| fails(p))
    };
    while let Some(program) = fewer(&small) {
        small = program;
    }
    small = shrink::shrink(&small, &fails);
    let error = checked(&small, devices, registry).err().unwrap_or_default();
    let seed = fuzz::seed();
    let mut out = format!("--- program {i} of seed {seed} on {devices} devices: {error}\n");
    out += &text::print(&annotate::with_manual_computations(&small.module));
    for input in &small.inputs {
        writeln!(out, "// input: {}", farcall::ir::Attribute::Dense(input.clone())).unwrap();
    }
    out
}
