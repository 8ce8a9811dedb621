//! The StableHLO project's self-checking programs, run by the evaluator.
//!
//! The programs are in `shared/stablehlo-suite` beside the checkout or in a parent folder. If they are
//! absent, the test prints a message and checks nothing.

use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use farcall_ir::eval::{Denormals, EvalHost, EvalValue, HostCall, HostError, eval};
use farcall_ir::op::{CallConfig, Op, Traits};
use farcall_ir::types::TensorType;
use farcall_ir::verify::verify;
use farcall_ir::{Attribute, DType, Func, Literal, Module, Scalar, Source};
use farcall_testing::programs::shared;

/// Programs lowered from JAX. Those in `other_roundings` have to fail: their expected values depend on the
/// rounding of intermediate `f32` results, which cancellation magnifies, or on the order of sums. StableHLO's
/// own interpreter does not run most of these programs either.
#[test]
fn testdata_passes() {
    let other_roundings = [
        "cumprod_complex64_8_9.mlir",
        "fft_float32_14_15_16_17.mlir",
        "fft_float64_14_15_16_17.mlir",
        "pow_complex64_20_30_complex64_20_30.mlir",
        "sin_complex64_20_20.mlir",
        "triangular_solve_float32_2_8_8_float32_2_10_8.mlir",
    ];
    sweep("stablehlo-suite/testdata", &other_roundings);
}

/// Tests of StableHLO's interpreter. Those in `several_participants` have to fail, because the evaluator runs
/// participants one after the other.
#[test]
fn interpreter_tests_pass() {
    let several_participants = [
        "all_gather.mlir",
        "collective_broadcast.mlir",
        "collective_permute.mlir",
        "collective_reduce.mlir",
        "partition_id.mlir",
        "reduce_scatter.mlir",
    ];
    sweep("stablehlo-suite/tests/interpret", &several_participants);
}

/// Runs every file of a folder. All files except `exceptions` have to pass, and each exception has to fail.
/// Prints the reason for each failure.
///
/// If the environment variable `FARCALL_SUITE_FILTER` is set, only files whose path contains its value are
/// run.
fn sweep(folder: &str, exceptions: &[&str]) {
    let Some(folder) = shared(folder) else {
        eprintln!("skipped: there is no shared/{folder} above {}", env!("CARGO_MANIFEST_DIR"));
        return;
    };
    let mut files = Vec::new();
    collect(&folder, &mut files);
    files.sort();
    if let Ok(filter) = std::env::var("FARCALL_SUITE_FILTER") {
        files.retain(|f| f.to_string_lossy().contains(&filter));
    }

    let failures = Mutex::new(Vec::new());
    let next = AtomicUsize::new(0);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some(file) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if let Err(reason) = run_file(file) {
                        let name = file.strip_prefix(&folder).unwrap_or(file);
                        failures.lock().unwrap().push((name.to_owned(), reason));
                    }
                }
            });
        }
    });

    let mut failures = failures.into_inner().unwrap();
    failures.sort();
    let mut reasons: BTreeMap<String, usize> = BTreeMap::new();
    for (file, reason) in &failures {
        let first = reason.lines().next().unwrap_or_default();
        eprintln!("{}: {}", file.display(), reason.lines().take(3).collect::<Vec<_>>().join(" | "));
        *reasons.entry(kind_of(first)).or_default() += 1;
    }
    let mut reasons: Vec<_> = reasons.into_iter().collect();
    reasons.sort_by_key(|(_, n)| std::cmp::Reverse(*n));
    for (reason, n) in reasons {
        eprintln!("{n:5}  {reason}");
    }
    let passed = files.len() - failures.len();
    eprintln!("{passed} of {} files pass", files.len());
    if std::env::var_os("FARCALL_SUITE_FILTER").is_none() {
        let failing: Vec<String> = failures.iter().map(|(file, _)| file.display().to_string()).collect();
        assert_eq!(failing, exceptions, "the failing files (left) are not the expected ones (right)");
    }
}

/// Returns the reason for a failure without the numbers and names that differ from file to file.
fn kind_of(reason: &str) -> String {
    let reason = reason.split(".mlir:").last().unwrap_or(reason);
    let reason = reason.split(" differ:").next().unwrap_or(reason);
    let text: String = reason.chars().map(|c| if c.is_ascii_digit() { '#' } else { c }).collect();
    text.chars().take(100).collect()
}

/// Runs every program of a file; programs are separated by `// -----`.
#[expect(
    clippy::disallowed_methods,
    reason = "the payload of a test's panic is a string, whose destructor cannot panic"
)]
fn run_file(file: &Path) -> Result<(), String> {
    let text = std::fs::read_to_string(file).map_err(|e| e.to_string())?;
    for part in text.split("\n// -----") {
        if part.lines().all(|l| l.trim().is_empty() || l.trim_start().starts_with("//")) {
            continue;
        }
        let run = || run_program(file, part);
        std::panic::catch_unwind(run).unwrap_or_else(|_| Err("panic".to_owned()))?;
    }
    Ok(())
}

fn run_program(file: &Path, text: &str) -> Result<(), String> {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let module = farcall_ir::text::parse(&Source::new(name, text)).map_err(|e| e.to_string())?;
    // Without an entry, every function is a separate program.
    let entries = module.entry().map_or_else(|| module.funcs().iter().collect(), |entry| vec![entry]);
    for entry in entries {
        if !entry.params().is_empty() && !text.contains("check.") {
            continue; // The program checks nothing, and there are no inputs for it.
        }
        let module = verify(&module).map_err(|e| e.to_string())?;
        let entry = module.func(&entry.name).unwrap();
        eval(&module, entry, &[], &Checks::default(), Denormals::Ieee).map_err(|e| e.to_string())?;
    }
    Ok(())
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|e| e == "mlir") {
            files.push(path);
        }
    }
}

/// The targets with which the programs check themselves, and the targets of StableHLO's own interpreter.
#[derive(Default)]
struct Checks {
    /// The next values for `infeed`.
    queue: Mutex<VecDeque<Vec<Literal>>>,
}

impl EvalHost for Checks {
    fn custom_call(&self, call: &HostCall<'_>, operands: &[EvalValue]) -> Result<Vec<EvalValue>, HostError> {
        match call.call.target.as_str() {
            "interpreter.run_parallel" => Ok(run_parallel(call, operands)?),
            "interpreter.print" => Ok(Vec::new()),
            "interpreter.probe" => Ok(operands.to_vec()),
            _ => Ok(check(call, operands)?),
        }
    }

    fn infeed(&self, _: &str, _: &[TensorType]) -> Result<Vec<Literal>, HostError> {
        self.queue.lock().unwrap().pop_front().ok_or_else(|| "the queue is empty".into())
    }
}

/// Runs the functions that the attribute `programs` lists, one for each process, one after the other. If
/// there are several functions, none may depend on other processes, since the functions cannot exchange
/// values here.
fn run_parallel(call: &HostCall<'_>, operands: &[EvalValue]) -> Result<Vec<EvalValue>, String> {
    let attrs = call.inst.attrs();
    let run = |func: &Func, inputs: &[EvalValue], host: &Checks| {
        let module = verify(call.module).map_err(|e| e.to_string())?;
        eval(&module, func, inputs, host, Denormals::Ieee).map_err(|e| e.to_string())
    };
    let mut programs = Vec::new();
    named(call.module, attrs.get("programs"), &mut programs)?;
    if programs.len() > 1 && programs.iter().any(|program| notices_others(program)) {
        return Err("several participants that exchange values".to_owned());
    }
    let mut queues = Vec::new();
    named(call.module, attrs.get("infeed"), &mut queues)?;
    let host = Checks::default();
    for queue in queues {
        let values = run(queue, &[], &host)?;
        let tensors = values.iter().filter_map(|value| match value {
            EvalValue::Tensor(literal) => Some(literal.clone()),
            _ => None,
        });
        host.queue.lock().unwrap().push_back(tensors.collect());
    }
    let (mut inputs, mut results) = (operands, Vec::new());
    for program in programs {
        let (own, rest) =
            inputs.split_at_checked(program.params().len()).ok_or("there are too few inputs")?;
        results.extend(run(program, own, &host)?);
        inputs = rest;
    }
    Ok(results)
}

/// Collects the functions that an attribute names: one symbol, or a list of such attributes.
fn named<'m>(module: &'m Module, attr: Option<&Attribute>, to: &mut Vec<&'m Func>) -> Result<(), String> {
    match attr {
        None => {}
        Some(Attribute::Symbol(name)) => {
            to.push(module.func(name).ok_or_else(|| format!("there is no @{name}"))?)
        }
        Some(Attribute::Array(items)) => items.iter().try_for_each(|item| named(module, Some(item), to))?,
        Some(other) => return Err(format!("{other} names no functions")),
    }
    Ok(())
}

/// Returns true if the result of a function may depend on other participants.
fn notices_others(func: &Func) -> bool {
    let mut found = false;
    func.walk(&mut |inst| {
        found |= !inst.op().callees().is_empty();
        found |= inst.op().info().is(Traits::COLLECTIVE);
        found |= matches!(inst.op(), Op::PartitionId | Op::ReplicaId | Op::Transfer(_));
    });
    found
}

/// Compares two tensors as the target of the call specifies.
fn check(call: &HostCall<'_>, operands: &[EvalValue]) -> Result<Vec<EvalValue>, String> {
    let [EvalValue::Tensor(actual), EvalValue::Tensor(expected)] = operands else {
        return Err("a check takes two tensors".to_owned());
    };
    if actual.dims() != expected.dims() || actual.dtype() != expected.dtype() {
        return Err(format!("the types differ: {} and {}", actual.ty(), expected.ty()));
    }
    let exact = actual.dtype().is_integer() || actual.dtype().is_bool();
    let wrong = match call.call.target.as_str() {
        "check.expect_eq" | "check.eq" if exact => differs(actual, expected, |a, b| a == b),
        "check.expect_eq" => differs(actual, expected, |a, b| parts(a, b, equal)),
        "check.eq" => differs(actual, expected, |a, b| parts(a, b, |a, b| almost(a, b, 1e-4))),
        "check.expect_almost_eq" => {
            let tolerance = parameter(call, "tolerance").and_then(Attribute::as_f64).unwrap_or(1e-3);
            differs(actual, expected, |a, b| parts(a, b, |a, b| almost(a, b, tolerance)))
        }
        "check.expect_close" => {
            let limit = |name| parameter(call, name).and_then(Attribute::as_i64).map(i64::cast_unsigned);
            let min = limit("min_ulp_difference").unwrap_or(0);
            let max = limit("max_ulp_difference").unwrap_or(3);
            differs(actual, expected, |a, b| (min..=max).contains(&a.ulp_distance(b, actual.dtype())))
        }
        _ => return Err("unknown check".to_owned()),
    };
    if let Some((count, i)) = wrong {
        let (a, e) = (actual.get(i), expected.get(i));
        return Err(format!("{count} of {} differ: element {i} is {a:?}, not {e:?}", actual.len()));
    }
    Ok(call.results().map(|_| Literal::scalar(DType::Pred, Scalar::Bool(true)).into()).collect())
}

/// An attribute in the call's dictionary.
fn parameter<'a>(call: &HostCall<'a>, name: &str) -> Option<&'a Attribute> {
    match &call.call.config {
        CallConfig::Dict(attrs) => attrs.get(name),
        _ => None,
    }
}

/// Number of elements that differ, and the index of the first.
fn differs(a: &Literal, b: &Literal, same: impl Fn(Scalar, Scalar) -> bool) -> Option<(usize, usize)> {
    let mut wrong = (0..a.len()).filter(|i| !same(a.get(*i), b.get(*i)));
    let first = wrong.next()?;
    Some((wrong.count() + 1, first))
}

/// Compares real numbers, or both parts of complex numbers.
fn parts(a: Scalar, b: Scalar, same: impl Fn(f64, f64) -> bool) -> bool {
    let (a, b) = (a.as_complex(), b.as_complex());
    same(a.re, b.re) && same(a.im, b.im)
}

/// Returns true for equal numbers, and for two NaNs. (In StableHLO's interpreter, NaNs are never equal; the
/// interpreter skips the programs that expect a NaN.)
fn equal(a: f64, b: f64) -> bool {
    a == b || (a.is_nan() && b.is_nan())
}

fn almost(a: f64, b: f64, tolerance: f64) -> bool {
    equal(a, b) || (a.is_finite() && b.is_finite() && (a - b).abs() <= tolerance)
}
