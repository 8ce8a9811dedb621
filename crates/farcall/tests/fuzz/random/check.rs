//! Properties that every program must have: printing and parsing it gives the same program, it is valid in
//! every form, and it has the same results wherever it runs.

use std::sync::Arc;
use std::time::{Duration, Instant};

use farcall::device::DeviceBuffer;
use farcall::interrupt::{self, Interrupt};
use farcall::ir::eval::{self, EvalValue, NoHost, Numerics, Semantics, eval_form};
use farcall::ir::middle::pipeline::{self, Pipeline};
use farcall::ir::middle::{self, passes};
use farcall::ir::verify::StaticModule;
use farcall::ir::{DType, Literal, Module, Scalar, Source, text, verify};
use farcall::{CompileOptions, Executable, Profile, Registry, Stage, compile_static};
use num_complex::Complex;

use super::generate::Program;
use farcall_testing::SplitMix;
use farcall_testing::compare::Tolerance;

/// Outcome for a program in which no defect of the engine was found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Outcome {
    Same,
    /// The program is invalid, or the evaluator reports an error.
    Refused,
}

/// The numerics of a program.
pub(crate) fn numerics(p: &Program) -> Numerics {
    // With XLA's semantics, the engine has excess precision, which the evaluator does not have.
    Numerics { denormals: p.denormals, semantics: Semantics::StableHlo }
}

/// Evaluates a program in the evaluator.
pub(crate) fn evaluated(module: &Module, inputs: &[Literal], n: Numerics) -> Result<Vec<Literal>, String> {
    let main = module.entry().ok_or("no entry")?;
    let inputs: Vec<EvalValue> = inputs.iter().cloned().map(EvalValue::Tensor).collect();
    // A shrunk program may have an endless loop.
    let end = Instant::now() + Duration::from_secs(10);
    let hurry = Arc::new(Interrupt::asking(move || Instant::now() > end));
    let values = interrupt::during(&hurry, || eval_form(module, main, &inputs, &NoHost, n));
    let values = values.map_err(|e| e.to_string())?.map_err(|e| e.to_string())?;
    Ok(eval::tensors(&values))
}

/// Runs a program in every way. `seed` determines the passes that run on the middle form, and their order.
/// The error tells what differs.
pub(crate) fn check(p: &Program, seed: u64, registry: &Registry) -> Result<Outcome, String> {
    let module = match verify::verify(&p.module) {
        Ok(module) => module,
        Err(error) => {
            say(&format!("invalid: {error}"));
            return Ok(Outcome::Refused);
        }
    };
    reads_as_itself(&p.module)?;
    let wanted = match evaluated(&p.module, &p.inputs, numerics(p)) {
        Ok(wanted) => wanted,
        Err(error) => {
            say(&format!("the evaluator: {error}"));
            // The engine may return results nevertheless, since it removes dead values that cause an error.
            return Ok(Outcome::Refused);
        }
    };
    let module = module.into_static().map_err(|e| e.to_string())?;
    forms(p, &module, seed, &wanted)?;
    engine(p, &module, &wanted, registry)?;
    Ok(Outcome::Same)
}

/// Prints why a program is refused, if `FARCALL_FUZZ_REFUSED` is set.
#[expect(clippy::print_stdout, reason = "FARCALL_FUZZ_REFUSED asks for this output")]
fn say(words: &str) {
    if std::env::var_os("FARCALL_FUZZ_REFUSED").is_some() {
        println!("{words}");
    }
}

fn reads_as_itself(module: &Module) -> Result<(), String> {
    let printed = text::print(module);
    let again =
        text::parse(&Source::new("printed", &printed)).map_err(|e| format!("print and parse: {e}"))?;
    if again.funcs() == module.funcs() && again.attrs == module.attrs {
        return Ok(());
    }
    Err("print and parse: the printed program is read as a different program".to_owned())
}

/// Checks that the middle form has the same results, both as built and after passes in a random order.
fn forms(p: &Program, module: &StaticModule<'_>, seed: u64, wanted: &[Literal]) -> Result<(), String> {
    let main = module.entry().ok_or("no entry")?;
    let mut form = middle::build(module, main).map_err(|e| format!("build: {e:?}"))?;
    same_form(p, &form, wanted, "build")?;
    let cx = passes::PassOptions::new(numerics(p));
    let mut r = SplitMix::new(seed ^ 0x5eed);
    let mut done = "build".to_owned();
    for _ in 0..4 {
        let pass = r.pick(passes::PASSES);
        pipeline::run(&mut form, &[pass], &cx, &mut |_, _| {});
        done = format!("{done},{}", pass.name);
        same_form(p, &form, wanted, &done)?;
    }
    reads_as_itself(&form).map_err(|e| format!("{done}: {e}"))
}

fn same_form(p: &Program, form: &Module, wanted: &[Literal], what: &str) -> Result<(), String> {
    middle::verify(form).map_err(|e| format!("{what}: {e}\n{}", text::print(form)))?;
    let found = evaluated(form, &p.inputs, numerics(p));
    let found = found.map_err(|e| format!("{what}, evaluated: {e}\n{}", text::print(form)))?;
    let exact = vec![true; wanted.len()];
    compare(wanted, &found, &exact).map_err(|e| format!("{what}, evaluated: {e}\n{}", text::print(form)))
}

/// Checks that the engine has the same results with all passes, with each pass left out in turn, and with
/// only the necessary passes.
fn engine(
    p: &Program,
    module: &StaticModule<'_>,
    wanted: &[Literal],
    registry: &Registry,
) -> Result<(), String> {
    let all = Pipeline::default();
    let mut pipelines = vec![Pipeline::needed(), all.clone()];
    for pass in passes::PASSES {
        let without = all.without(pass.name);
        if without != all {
            pipelines.push(without);
        }
    }
    for passes in pipelines {
        let what = format!("engine with {passes}");
        let options = CompileOptions::new().numerics(numerics(p)).passes(passes);
        let mut last = None;
        let mut after = |stage: &Stage<'_>| {
            if stage.name == "assign" {
                last = Some(stage.form().into_owned());
            }
        };
        let executable = compile_static(module, registry, &options, &mut after)
            .and_then(|plan| Executable::from_plan(plan, registry))
            .map_err(|e| format!("{what}: {e}"))?;
        // After the engine's own passes, the form must still be a program that can be read and evaluated.
        if let Some(form) = last {
            reads_as_itself(&form).map_err(|e| format!("{what}, with places: {e}"))?;
            same_form(p, &form, wanted, &format!("{what}, with places"))?;
        }
        // Two runs: the state that a run leaves behind must not affect the next one.
        for inputs in [None, Some(p.inputs.clone())] {
            let found = match inputs {
                None => executable.run(&p.inputs),
                Some(given) => executable
                    .execute(given)
                    .map(|results| results.iter().filter_map(DeviceBuffer::host).cloned().collect()),
            };
            let found = found.map_err(|e| format!("{what}: {e}"))?;
            compare(wanted, &found, &p.exact).map_err(|e| format!("{what}: {e}\n{}", executable.plan()))?;
        }
        // A profiler sees thunks one by one; otherwise, adjacent thunks may run as one.
        let found = executable
            .run_with(&p.inputs, &mut Profile::new())
            .map_err(|e| format!("{what}, profiled: {e}"))?;
        compare(wanted, &found, &p.exact)
            .map_err(|e| format!("{what}, profiled: {e}\n{}", executable.plan()))?;
    }
    Ok(())
}

/// Compares results. The error names the first element that differs.
pub(crate) fn compare(wanted: &[Literal], found: &[Literal], exact: &[bool]) -> Result<(), String> {
    if wanted.len() != found.len() {
        return Err(format!("there are {} results, not {}", found.len(), wanted.len()));
    }
    for (i, (w, f)) in wanted.iter().zip(found).enumerate() {
        if w.ty() != f.ty() {
            return Err(format!("result {i} is {}, not {}", f.ty(), w.ty()));
        }
        let exact = exact.get(i).copied().unwrap_or(false);
        for e in 0..w.len() {
            let same = w.element(e) == f.element(e) || same_number(w.get(e), f.get(e), w.dtype(), exact);
            if !same {
                let (w, f) = (w.get(e), f.get(e));
                return Err(format!("result {i}, element {e} is {f:?}, not {w:?}"));
            }
        }
    }
    Ok(())
}

/// Compares two numbers. Two NaNs are equal. Other numbers must have the same bits or, unless `exact` is set,
/// be close to each other.
fn same_number(a: Scalar, b: Scalar, dtype: DType, exact: bool) -> bool {
    let same = |x: f64, y: f64| (x.is_nan() && y.is_nan()) || x.to_bits() == y.to_bits();
    let (x, y) = match (a, b) {
        (Scalar::Float(x), Scalar::Float(y)) => (Complex::new(x, 0.0), Complex::new(y, 0.0)),
        (Scalar::Complex(x), Scalar::Complex(y)) => (x, y),
        _ => return false,
    };
    (same(x.re, y.re) && same(x.im, y.im)) || (!exact && close(x, y, dtype))
}

fn close(x: Complex<f64>, y: Complex<f64>, dtype: DType) -> bool {
    if !x.is_finite() || !y.is_finite() {
        // Rounding may turn the largest numbers into infinity. If one part of a complex number is infinite,
        // both parts may differ.
        return dtype.is_complex() || (x.re - y.re).is_nan() || x.re.signum() == y.re.signum();
    }
    let epsilon = match dtype.real() {
        DType::F64 => 1e-11,
        DType::F32 => 1e-4,
        DType::F16 => 4e-3,
        DType::BF16 => 3e-2,
        _ => 0.6,
    };
    (x - y).norm() <= Tolerance::mixed(epsilon).of(x.norm())
}
