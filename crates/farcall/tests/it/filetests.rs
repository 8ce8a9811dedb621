//! Programs as text, with their results, their compiled form, or their errors.
//!
//! Every file of `filetests/` is a program with directives in comments:
//!
//! ```text
//! // run: dense<1> : tensor<i32> ; dense<2> : tensor<i32>     inputs of a run in evaluator and engine
//! // = dense<3> : tensor<i32>                                 one line per result
//! // fails: text                                              or: text in the errors of both
//! // denormals: flush                                         mode of all runs of the file
//! // plan                                                     the plan's dump follows
//! // | plan: arena 0 bytes, …
//! // error                                                    the compiler's diagnostics follow
//! // | error: …
//! ```
//!
//! A program with dynamic dimensions is compiled for the input types of each run; the evaluator runs the
//! refined program.
//!
//! Floats may differ from the written values by a few units in the last place. `FARCALL_BLESS=1` rewrites
//! expectations that do not hold: to the evaluator's results, or to the compiler's output.

use std::ffi::c_void;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use farcall::device::DeviceBuffer;
use farcall::eval_host::RegistryHost;
use farcall::ir::eval::{self, Denormals, EvalValue, eval};
use farcall::ir::verify::{StaticModule, verify};
use farcall::ir::{Attribute, Literal, Module, Scalar, Source, bounded, text};
use farcall::registry::{Platform, Target, TargetOrigin};
use farcall::sig::UnknownName;
use farcall::{CompileOptions, Executable, Plan, Registry};
use farcall_ffi::descriptor::OpDescriptor;
use farcall_testing::compare::Tolerance;
use farcall_testing::engine;

use crate::plugin::declared::{affine, affine_bwd};
use crate::plugin::ops::{count, panics, scale};

const OPS: &[&OpDescriptor] = farcall_ffi::ops![scale, panics, count, affine, affine_bwd];

#[test]
fn files() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("filetests");
    let mut paths: Vec<PathBuf> = std::fs::read_dir(&folder).unwrap().map(|e| e.unwrap().path()).collect();
    paths.retain(|p| p.extension().is_some_and(|e| e == "mlir"));
    paths.sort();
    assert!(!paths.is_empty(), "no files in {}", folder.display());
    let bless = std::env::var_os("FARCALL_BLESS").is_some();
    let mut failures = String::new();
    for path in &paths {
        let before = std::fs::read_to_string(path).unwrap();
        let name = path.file_name().unwrap().to_string_lossy();
        let after = match check(&name, &before, bless) {
            Ok(after) => after,
            Err(message) => {
                writeln!(failures, "{name}: {message}\n").unwrap();
                continue;
            }
        };
        if bless && before != after {
            std::fs::write(path, after).unwrap();
        }
    }
    assert!(failures.is_empty(), "\n{failures}{}", hint(bless));
}

/// Returns advice about failures. Failures that occur while expectations are rewritten have another cause, so
/// there is no advice.
fn hint(bless: bool) -> &'static str {
    if bless { "" } else { "(FARCALL_BLESS=1 rewrites expectations)" }
}

#[test]
fn blessing_is_not_recommended_while_blessing() {
    assert!(hint(false).contains("FARCALL_BLESS=1"));
    assert_eq!(hint(true), "");
}

/// Checks one file. Returns its text with the expectations that hold.
fn check(name: &str, text: &str, bless: bool) -> Result<String, String> {
    let registry = registry();
    let lines: Vec<&str> = text.lines().collect();
    let denormals = lines.iter().find_map(|l| l.strip_prefix("// denormals: ")).unwrap_or("ieee");
    let denormals: Denormals = denormals.parse().map_err(|e: UnknownName| e.to_string())?;
    let parsed = text::parse(&Source::new(name, text)).map_err(|e| e.to_string());
    let compile = |inputs: Option<&[Literal]>| {
        let mut options = CompileOptions::new().denormals(denormals);
        if let Some(inputs) = inputs {
            options = options.inputs(inputs.iter().map(Literal::ty));
        }
        compile(parsed.as_ref().map_err(Clone::clone)?, &registry, &options)
    };
    let open = parsed.as_ref().is_ok_and(is_open);
    let compiled = compile(None);
    let mut out = String::new();
    let mut checks = 0;
    let mut at = 0;
    while at < lines.len() {
        let line = lines[at];
        at += 1;
        writeln!(out, "{line}").unwrap();
        let mut expected = |prefixes: &[&str]| {
            let begin = at;
            while at < lines.len() && prefixes.iter().any(|p| lines[at].starts_with(p)) {
                at += 1;
            }
            lines[begin..at].join("\n")
        };
        let found = if line.starts_with("// run:") {
            let expected = expected(&["// = ", "// fails: "]);
            let inputs = inputs(line)?;
            let for_inputs = if open { Some(compile(Some(&inputs))) } else { None };
            let (module, executable) = match for_inputs.as_ref().unwrap_or(&compiled) {
                Ok(compiled) => compiled,
                Err(message)
                    if open && expected.strip_prefix("// fails: ").is_some_and(|e| message.contains(e)) =>
                {
                    writeln!(out, "{expected}").unwrap();
                    checks += 1;
                    continue;
                }
                Err(message) => return Err(message.clone()),
            };
            let found = run(line, module, executable, &registry, denormals, &expected, bless)?;
            writeln!(out, "{found}").unwrap();
            checks += 1;
            continue;
        } else if line == "// plan" {
            compiled.as_ref().map_err(Clone::clone)?.1.plan().to_string()
        } else if line == "// error" {
            match &compiled {
                Ok(_) => return Err("it compiles".to_owned()),
                Err(message) => message.clone(),
            }
        } else {
            continue;
        };
        checks += 1;
        let expected = expected(&["// |"]);
        let found: Vec<String> = found.lines().map(|l| format!("// | {l}").trim_end().to_owned()).collect();
        let found = found.join("\n");
        if !bless && found != expected {
            return Err(format!("expected\n{expected}\nfound\n{found}"));
        }
        writeln!(out, "{found}").unwrap();
    }
    if checks == 0 {
        return Err("the file has no directive".to_owned());
    }
    Ok(out)
}

/// Returns a program and its executable. If the inputs determine dynamic dimensions, the program is refined
/// first.
fn compile(
    module: &Module,
    registry: &Registry,
    options: &CompileOptions,
) -> Result<(StaticModule<'static>, Executable), String> {
    let executable = Executable::compile(module, registry, options).map_err(|e| e.to_string())?;
    let module = verify(module).map_err(|e| e.to_string())?;
    let module = farcall::specialize(module, options).map_err(|e| e.to_string())?;
    Ok((module.into_owned(), executable))
}

/// Returns true if the types of the entry's parameters have dynamic dimensions.
fn is_open(module: &Module) -> bool {
    let Some(entry) = module.entry() else { return false };
    entry.params().iter().any(|p| entry.tensor(*p).is_some_and(|t| !t.is_static()))
}

/// Parses the inputs of a run.
fn inputs(line: &str) -> Result<Vec<Literal>, String> {
    let inputs = line.trim_start_matches("// run:").split(" ; ").map(str::trim).filter(|s| !s.is_empty());
    inputs.map(literal).collect()
}

/// Runs a program in evaluator and engine. Returns the lines that describe the results.
fn run(
    line: &str,
    module: &StaticModule<'_>,
    executable: &Executable,
    registry: &Registry,
    denormals: Denormals,
    expected: &str,
    bless: bool,
) -> Result<String, String> {
    let inputs = inputs(line)?;
    let host = RegistryHost::new(registry, denormals);
    let entry = module.entry().ok_or("no entry")?;
    let params = entry.params().iter().map(|p| entry.ty(*p));
    let values = eval::values(params, inputs.clone());
    let values = values.unwrap_or_else(|| inputs.iter().cloned().map(EvalValue::Tensor).collect());
    let evaluated = eval(module, entry, &values, &host, denormals).map_err(|e| e.to_string());
    let evaluated: Result<Vec<Literal>, String> = evaluated.and_then(|values| {
        bounded::cut(&bounded::cuts(entry), eval::tensors(&values)).map_err(|e| e.to_string())
    });
    // Two runs: the state that a run leaves behind must not affect the next one.
    let first = executable.run(&inputs).map_err(|e| e.to_string());
    let second = executable.run(&inputs).map_err(|e| e.to_string());
    let read = from_file(executable, registry)?.run(&inputs).map_err(|e| e.to_string());
    let donated = donating(module, registry, denormals)?.execute(inputs.clone()).map_err(|e| e.to_string());
    let donated = donated.map(|results| results.iter().filter_map(DeviceBuffer::host).cloned().collect());
    let written: Result<Vec<Literal>, String> = if let Some(message) = expected.strip_prefix("// fails: ") {
        Err(message.to_owned())
    } else {
        let lines = expected.lines().map(|l| literal(l.trim_start_matches("// = ")));
        Ok(lines.collect::<Result<Vec<Literal>, String>>()?)
    };
    let stays = !expected.is_empty() && holds(&written, &evaluated);
    let wanted = if bless && !stays { evaluated.clone() } else { written };
    for (who, found) in [
        ("evaluator", &evaluated),
        ("engine", &first),
        ("engine, second run", &second),
        ("engine, with donated inputs", &donated),
        ("engine, with the plan from a file", &read),
    ] {
        match (&wanted, found) {
            (Err(message), Err(e)) if bless || e.contains(message.as_str()) => {}
            (Ok(wanted), Ok(found)) if wanted.len() == found.len() => {
                for (i, (w, f)) in wanted.iter().zip(found).enumerate() {
                    close(w, f).map_err(|e| format!("{line}\n{who}, result {i}: {e}"))?;
                }
            }
            _ => return Err(format!("{line}\n{who}: expected {wanted:?}, found {found:?}")),
        }
    }
    if stays {
        return Ok(expected.to_owned());
    }
    Ok(match wanted {
        Ok(literals) => {
            let lines: Vec<String> =
                literals.iter().map(|l| format!("// = {}", Attribute::Dense(l.clone()))).collect();
            lines.join("\n")
        }
        Err(message) => format!("// fails: {message}"),
    })
}

/// Returns the executable of the program's plan after writing and reading it.
fn from_file(executable: &Executable, registry: &Registry) -> Result<Executable, String> {
    let bytes = executable.plan().to_bytes().map_err(|e| e.to_string())?;
    let plan = Plan::from_bytes(&bytes).map_err(|e| e.to_string())?;
    if *plan != *executable.plan() {
        return Err(format!("the plan that was read differs from the plan that was written:\n{plan}"));
    }
    if plan.to_bytes().ok().as_ref() != Some(&bytes) {
        return Err("the plan that was read is written as other bytes".to_owned());
    }
    Executable::from_plan(plan, registry).map_err(|e| e.to_string())
}

/// Compiles the program with all inputs donated.
fn donating(module: &Module, registry: &Registry, denormals: Denormals) -> Result<Executable, String> {
    let mut module = module.clone();
    let name = module.entry().ok_or("no entry")?.name.clone();
    let entry = module.func_id(&name).ok_or("no entry")?;
    for attrs in module.func_mut(entry).param_attrs_mut() {
        attrs.insert("jax.buffer_donor".to_owned(), Attribute::Bool(true));
    }
    let options = CompileOptions::new().denormals(denormals);
    Executable::compile(&module, registry, &options).map_err(|e| e.to_string())
}

/// Returns true if the results that the file states match the results found.
fn holds(written: &Result<Vec<Literal>, String>, found: &Result<Vec<Literal>, String>) -> bool {
    match (written, found) {
        (Ok(w), Ok(f)) => w.len() == f.len() && w.iter().zip(f).all(|(w, f)| close(w, f).is_ok()),
        (Err(w), Err(f)) => f.contains(w),
        _ => false,
    }
}

fn literal(text: &str) -> Result<Literal, String> {
    match text.parse::<Attribute>().map_err(|e| e.to_string())? {
        Attribute::Dense(l) => Ok(l),
        other => Err(format!("{other:?} is not a tensor")),
    }
}

/// Compares results. The relative difference of floats may be up to four times the epsilon of their type.
fn close(wanted: &Literal, found: &Literal) -> Result<(), String> {
    if wanted.ty() != found.ty() {
        return Err(format!("expected a {}, found a {}", wanted.ty(), found.ty()));
    }
    let tolerance = Tolerance::epsilons(4.0, wanted.dtype());
    let near = |wanted: f64, found: f64| {
        // The sign of a zero matters, the sign of a NaN does not.
        let same_sign = wanted != found || wanted.is_sign_negative() == found.is_sign_negative();
        same_sign && tolerance.holds(found, wanted)
    };
    for (i, (w, f)) in wanted.iter().zip(found.iter()).enumerate() {
        let same = match (w, f) {
            (Scalar::Float(a), Scalar::Float(b)) => near(a, b),
            (Scalar::Complex(a), Scalar::Complex(b)) => near(a.re, b.re) && near(a.im, b.im),
            (a, b) => a == b,
        };
        if !same {
            return Err(format!("element {i} is {f:?}, not {w:?}"));
        }
    }
    Ok(())
}

fn registry() -> Registry {
    let registry = engine::registry(OPS);
    for (name, function) in [("add_one", add_one as *const ()), ("transposed", transposed as *const ())] {
        // SAFETY: all function pointers have the same size, and the parameters are those of `api_version` 1.
        let function =
            unsafe { std::mem::transmute::<*const (), farcall::registry::UntypedHandler>(function) };
        // SAFETY: the parameters are those of `api_version` 1, and functions of this program are never
        // unloaded.
        let target = unsafe { Target::untyped(name, Platform::Host, function, TargetOrigin::program()) };
        registry.register(target.unwrap()).unwrap();
    }
    registry
}

/// `out = in + 1` for four `f32`, in place or not.
unsafe extern "C" fn add_one(out: *mut c_void, ins: *const *const c_void) {
    // SAFETY: the programs call this function with four elements.
    unsafe {
        let x = (*ins).cast::<[f32; 4]>().read();
        out.cast::<[f32; 4]>().write(x.map(|x| x + 1.0));
    }
}

/// Adds 100 times its position in memory to each of six elements.
unsafe extern "C" fn transposed(out: *mut c_void, ins: *const *const c_void) {
    // SAFETY: the programs call this function with six elements.
    unsafe {
        let x = (*ins).cast::<[f32; 6]>().read();
        out.cast::<[f32; 6]>().write(std::array::from_fn(|i| x[i] + 100.0 * i as f32));
    }
}
