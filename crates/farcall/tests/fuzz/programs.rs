//! Mutated programs, end to end: they are read, verified, printed, compiled, and run in the engine and in the
//! evaluator, with limits on memory, iterations and time. Every program ends in results or in an error;
//! nothing panics, aborts or hangs.
//!
//! The programs run in a child process, so that a program that kills its process does not end the search.
//! Runs are deterministic: the same seed and iteration count (`FARCALL_FUZZ_SEED`, `FARCALL_FUZZ_ITERATIONS`)
//! repeat a run, and `FARCALL_FUZZ_ONLY=123` repeats one program of it and prints its text. A long run:
//!
//! ```text
//! FARCALL_FUZZ_ITERATIONS=1000000 cargo test -p farcall --test fuzz programs:: -- --nocapture
//! ```

use std::fmt::Write as _;
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use farcall::eval_host::RegistryHost;
use farcall::ir::eval::{Denormals, EvalValue, eval};
use farcall::ir::{
    Func, FuncId, Inst, Literal, Module, Op, Region, Scalar, Source, TensorType, Type, text, verify,
};
use farcall::{CompileOptions, Executable, Registry};
use farcall_ffi::descriptor::OpDescriptor;
use farcall_ffi::prelude::*;
use farcall_ffi::{RestOperands, RestResults};

use crate::plugin::declared::{affine, affine_bwd};
use crate::plugin::ops::{count, panics, scale};
use farcall_testing::engine::registry;
use farcall_testing::mutate::Seeds;
use farcall_testing::programs::programs;
use farcall_testing::{SplitMix, fuzz};

const OPS: &[&OpDescriptor] = farcall_ffi::ops![
    scale,
    panics,
    count,
    affine,
    affine_bwd,
    check_eq,
    expect_eq,
    expect_almost_eq,
    expect_close
];

/// Custom calls with which the programs of the test suites check their results. Here, they only read their
/// arguments.
macro_rules! checks {
    ($($function:ident = $name:literal;)*) => {$(
        #[handler(name = $name)]
        fn $function(values: &RestOperands, attrs: &Attrs, results: &mut RestResults) -> Result<()> {
            look(values, attrs, results);
            Ok(())
        }
    )*};
}

checks! {
    check_eq = "check.eq";
    expect_eq = "check.expect_eq";
    expect_almost_eq = "check.expect_almost_eq";
    expect_close = "check.expect_close";
}

fn look(values: &RestOperands, attrs: &Attrs, results: &mut RestResults) {
    let mut sum = 0u8;
    for i in 0..values.len() {
        let bytes = values.get(i).map_or(&[][..], AnyBuffer::bytes);
        sum = bytes.iter().fold(sum, |a, b| a.wrapping_add(*b));
    }
    for (name, value) in attrs.iter() {
        sum = sum.wrapping_add(name.len() as u8 ^ format!("{value:?}").len() as u8);
    }
    results.iter_mut().for_each(|r| r.bytes_mut().fill(sum));
}

/// Address space of the process that runs the programs, in bytes.
const ADDRESS_SPACE: u64 = 4 << 30;

/// Memory limit for the tensors of a program, in bytes.
const MAX_MEMORY_BYTES: usize = 1 << 30;

/// Maximum number of iterations of all loops of a run.
const MAX_ITERATIONS: u64 = 100;

/// Maximum number of elements that a run may read or write, as estimated by [`work`], so that the evaluator
/// finishes in a second or two.
const MAX_WORK_ELEMENTS: u64 = 10_000_000;

/// Maximum duration of one program.
const MAX_TIME: Duration = Duration::from_secs(if cfg!(debug_assertions) { 60 } else { 20 });

#[test]
fn mutated_programs_end_in_results_or_errors() {
    let (seed, iterations) = (fuzz::seed(), fuzz::iterations(1_500));
    let folder = tempfile::tempdir().unwrap();
    let board = folder.path().join("progress");
    std::fs::write(&board, [0; 8 * Progress::LEN]).unwrap();
    let start = Instant::now();
    let (mut next, mut found) = (0, String::new());
    while next < iterations {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "programs::child", "--nocapture"])
            .env("FARCALL_FUZZ_BOARD", &board)
            .env("FARCALL_FUZZ_FROM", next.to_string())
            .env("FARCALL_FUZZ_TO", iterations.to_string())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut words = String::new();
        let mut bytes = Vec::new();
        let _whatever_it_says = child.stderr.take().unwrap().read_to_end(&mut bytes);
        words.push_str(&String::from_utf8_lossy(&bytes));
        let status = child.wait().unwrap();
        let at = Progress::read(&board)[0];
        if status.success() {
            break;
        }
        let words: String = words.chars().take(3_000).collect();
        writeln!(found, "program {at}: {status}\n{words}").unwrap();
        eprintln!("program {at}: {status}\n{words}");
        next = at + 1;
    }
    let [_, read, verified, compiled, engine, evaluator, heavy, _] = Progress::read(&board);
    println!(
        "{iterations} programs mutated from {} with seed {seed} in {:.0?}: {read} can be parsed, {verified} \
         are valid, {compiled} compiled, {engine} gave results in the engine, {evaluator} in the evaluator; \
         {heavy} need too much work and were not run",
        programs().len(),
        start.elapsed()
    );
    assert!(found.is_empty(), "{found}");
}

/// Not a test, but the child process that the other test starts.
#[test]
fn child() {
    let seeds = || Seeds::new(programs());
    if let Ok(only) = std::env::var("FARCALL_FUZZ_ONLY") {
        let text = program(&seeds(), only.parse().expect("a number"));
        println!("{text}");
        limits();
        println!("{:?}", run(&text, &registry(OPS)));
        return;
    }
    let Some(board) = std::env::var_os("FARCALL_FUZZ_BOARD") else { return };
    let progress = Progress::new(Path::new(&board));
    let seeds = seeds();
    limits();
    // The first panic ends the process: the fuzzer searches for panics.
    let print = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        // Ignore the panic of the op `panics`, which is intended: the engine turns it into an error.
        if info.payload_as_str() == Some("there was nothing") {
            return;
        }
        print(info);
        std::process::exit(101);
    }));
    static AT: AtomicU64 = AtomicU64::new(u64::MAX);
    std::thread::spawn(|| {
        let (mut seen, mut since) = (u64::MAX, Instant::now());
        loop {
            std::thread::sleep(Duration::from_millis(100));
            let at = AT.load(Ordering::Relaxed);
            if at != seen {
                (seen, since) = (at, Instant::now());
            } else if since.elapsed() > MAX_TIME {
                eprintln!("program {at} runs for more than {MAX_TIME:?}");
                std::process::exit(102);
            }
        }
    });
    let registry = registry(OPS);
    for i in fuzz::number("FARCALL_FUZZ_FROM", 0)..fuzz::number("FARCALL_FUZZ_TO", 0) {
        progress.at(i);
        AT.store(i, Ordering::Relaxed);
        progress.count(run(&program(&seeds, i), &registry));
    }
}

/// Returns program number `i`.
fn program(seeds: &Seeds, i: u64) -> String {
    seeds.mutated(&mut SplitMix::new(fuzz::seed_of(i)))
}

fn limits() {
    farcall::memory::set_limit(MAX_MEMORY_BYTES);
    farcall::iterations::set_limit(MAX_ITERATIONS);
    let limit = libc::rlimit { rlim_cur: ADDRESS_SPACE, rlim_max: ADDRESS_SPACE };
    // SAFETY: the struct is complete.
    let done = unsafe { libc::setrlimit(libc::RLIMIT_AS, &raw const limit) };
    assert_eq!(done, 0);
}

/// The stages that a program reached.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Reached {
    read: bool,
    verified: bool,
    compiled: bool,
    engine: bool,
    evaluator: bool,
    heavy: bool,
}

/// Runs all stages on one text.
fn run(text: &str, registry: &Registry) -> Reached {
    let mut reached = Reached::default();
    let module = match text::parse(&Source::new("fuzz", text)) {
        Ok(module) => module,
        Err(e) => {
            drop(e.to_string());
            return reached;
        }
    };
    reached.read = true;
    let printed = text::print(&module);
    assert!(
        printed.len() < 50 * text.len() + 10_000,
        "{} bytes of text print as {}",
        text.len(),
        printed.len()
    );
    let verified = match verify::verify(&module) {
        Ok(verified) => verified,
        Err(e) => {
            drop(e.to_string());
            return reached;
        }
    };
    reached.verified = true;
    let executable = match Executable::compile(&module, registry, &CompileOptions::new()) {
        Ok(executable) => executable,
        Err(e) => {
            drop(e.to_string());
            return reached;
        }
    };
    reached.compiled = true;
    drop(executable.plan().to_string());
    let Ok(main) = verify::entry(&verified, None) else { return reached };
    if work(&verified, main) > MAX_WORK_ELEMENTS {
        reached.heavy = true;
        return reached;
    }
    let inputs = executable.inputs().iter().map(input).collect::<Option<Vec<Literal>>>();
    let Some(inputs) = inputs else { return reached };
    match executable.run(&inputs) {
        Ok(results) => {
            reached.engine = true;
            // A quantized tensor is returned in its storage type.
            let shapes = |l: &Literal, ty: &TensorType| (l.dtype(), l.dims()) == (ty.dtype, ty.sizes());
            assert!(results.iter().zip(executable.outputs()).all(|(l, ty)| shapes(l, ty)));
        }
        Err(e) => drop(e.to_string()),
    }
    drop(executable);
    let mut tensors = inputs.into_iter();
    let values: Option<Vec<EvalValue>> = main
        .params()
        .iter()
        .map(|p| match main.ty(*p) {
            Type::Tensor(_) => tensors.next().map(EvalValue::Tensor),
            Type::Token => Some(EvalValue::Token),
            _ => None,
        })
        .collect();
    if let Some(values) = values {
        let host = RegistryHost::new(registry, Denormals::Ieee);
        match eval(&verified, main, &values, &host, Denormals::Ieee) {
            Ok(_) => reached.evaluator = true,
            Err(e) => drop(e.to_string()),
        }
    }
    reached
}

/// Returns an input whose elements are small numbers.
fn input(ty: &TensorType) -> Option<Literal> {
    Literal::try_from_fn(ty.dtype, ty.sizes(), |i| Scalar::Unsigned((i * 7 % 5) as u64)).ok()
}

/// Estimates the number of elements that a run of a function reads and writes, if loops have as many
/// iterations as the limit allows.
fn work(module: &Module, func: &Func) -> u64 {
    fn of(module: &Module, func: &Func, region: Region<'_>, depth: usize) -> u64 {
        region.insts().fold(1u64, |sum, inst| sum.saturating_add(inst_work(module, func, inst, depth)))
    }
    fn inst_work(module: &Module, func: &Func, inst: Inst<'_>, depth: usize) -> u64 {
        if depth > 50 {
            return u64::MAX;
        }
        let elements = |t: &TensorType| t.elements().map_or(u64::MAX, |n| n as u64);
        let each = |ids: &[farcall::ir::ValueId]| {
            ids.iter().filter_map(|id| func.tensor(*id)).fold(1u64, |sum, t| sum.saturating_add(elements(t)))
        };
        let (operands, results) = (each(inst.operands()), each(inst.results()));
        let product = |dims: &[usize]| dims.iter().fold(1u64, |n, d| n.saturating_mul(*d as u64));
        let regions =
            || inst.regions().fold(1u64, |sum, r| sum.saturating_add(of(module, func, r, depth + 1)));
        let called = |id: &FuncId| module.get(*id).map_or(0, |f| of(module, f, f.body(), depth + 1));
        let own = operands.saturating_add(results);
        match inst.op() {
            Op::While => regions().saturating_mul(MAX_ITERATIONS).saturating_add(own),
            Op::If | Op::Case => regions().saturating_add(own),
            Op::Call { callee } => called(callee).saturating_add(own),
            Op::Composite(c) => called(&c.decomposition).saturating_add(own),
            Op::ReduceWindow(w) => results.saturating_mul(product(&w.window)).saturating_mul(regions()),
            Op::SelectAndScatter(w) => operands.saturating_mul(product(&w.window)).saturating_mul(regions()),
            Op::DotGeneral(_) | Op::Convolution(_) | Op::DynamicConvolution(_) | Op::TriangularSolve(_) => {
                operands.saturating_mul(results.min(operands).max(1)).saturating_add(results)
            }
            Op::Cholesky { .. } | Op::Fft { .. } => own.saturating_mul(own.isqrt()),
            Op::Sort { .. } | Op::TopK { .. } => own.saturating_mul(20).saturating_mul(regions()),
            _ => own.saturating_mul(regions()),
        }
    }
    of(module, func, func.body(), 0)
}

/// Progress of a child process, in a file that outlives the process.
struct Progress {
    file: File,
    counts: std::cell::Cell<[u64; Progress::LEN]>,
}

impl Progress {
    /// Length of the record: the program's number, then the number of programs that reached each stage. The
    /// last entry is unused.
    const LEN: usize = 8;

    fn new(path: &Path) -> Progress {
        let file = File::options().write(true).open(path).unwrap();
        Progress { file, counts: std::cell::Cell::new(Progress::read(path)) }
    }

    fn read(path: &Path) -> [u64; Progress::LEN] {
        let bytes = std::fs::read(path).unwrap();
        std::array::from_fn(|i| u64::from_le_bytes(bytes[i * 8..i * 8 + 8].try_into().unwrap()))
    }

    fn at(&self, i: u64) {
        let mut counts = self.counts.get();
        counts[0] = i;
        self.counts.set(counts);
        self.write();
    }

    fn count(&self, r: Reached) {
        let mut counts = self.counts.get();
        let each = [r.read, r.verified, r.compiled, r.engine, r.evaluator, r.heavy];
        counts[1..].iter_mut().zip(each).for_each(|(n, yes)| *n += u64::from(yes));
        self.counts.set(counts);
    }

    fn write(&self) {
        let bytes: Vec<u8> = self.counts.get().iter().flat_map(|n| n.to_le_bytes()).collect();
        self.file.write_all_at(&bytes, 0).unwrap();
    }
}
