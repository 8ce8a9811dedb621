//! Runs one task and judges its outcome, in a worker.

use std::cell::RefCell;
use std::collections::HashMap;
use std::io::{BufRead, Write};
use std::panic;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use anyhow::{Context, Result};
use farcall::Registry;
use farcall::custom_call::{RunContext, ThreadPool};
use farcall::ffi::unwind::catch;
use farcall::ir::Literal;
use farcall::ir::diag::Source;
use farcall::ir::eval::{Numerics, Semantics};
use farcall::ir::module::{Func, Module};
use farcall::ir::verify::{entry, verify};
use farcall::ir::{Op, ProgramError, Type, hlo, text};

use super::pool::MARK;
use super::{Outcome, Reply, Task};
use crate::args::TestArgs;
use crate::compare::difference;
use crate::corpus::{Case, Manifest};
use crate::execute::Ready;
use crate::library::LoadArgs;
use crate::program::{Code, Program};
use crate::{check_targets, load, program};

/// Reads tasks from the standard input and answers them, until the input ends.
pub(super) fn serve(args: &TestArgs) -> Result<()> {
    panic::set_hook(Box::new(|info| {
        let place = info.location().map(|l| format!("{}:{}", l.file(), l.line()));
        PANIC_PLACE.with_borrow_mut(|p| *p = place);
    }));
    let mut judge = Judge { args, manifests: HashMap::new(), registry: None };
    for line in std::io::stdin().lock().lines() {
        let task: Task = serde_json::from_str(&line?)?;
        let reply = judge.answer(&task);
        let mut out = std::io::stdout().lock();
        // A handler might have printed text without a line break at its end.
        writeln!(out, "\n{MARK}{}", serde_json::to_string(&reply)?)?;
        out.flush()?;
    }
    Ok(())
}

thread_local! {
    /// Position of the last panic.
    static PANIC_PLACE: RefCell<Option<String>> = const { RefCell::new(None) };
}

struct Judge<'a> {
    args: &'a TestArgs,
    manifests: HashMap<PathBuf, (Rc<Manifest>, Registry)>,
    /// Registry for programs that are not corpus cases.
    registry: Option<Registry>,
}

impl Judge<'_> {
    fn answer(&mut self, task: &Task) -> Reply {
        let answered = catch(|| match task {
            Task::Programs { path } => {
                let registry = match self.registry() {
                    Ok(registry) => registry,
                    Err(e) => return Reply::Fatal(format!("{e:#}")),
                };
                Reply::Done(programs(path, &registry, self.args))
            }
            Task::Case { manifest, name } => {
                let (corpus, registry) = match self.corpus(manifest) {
                    Ok(found) => found,
                    Err(e) => return Reply::Fatal(format!("{e:#}")),
                };
                let folder = manifest.parent().unwrap_or(Path::new("."));
                let outcome = match corpus.case(name) {
                    Ok(found) => case(found, folder, &registry, self.args),
                    Err(e) => failure("", &e),
                };
                Reply::Done(outcome)
            }
        });
        answered.unwrap_or_else(|payload| {
            let place = PANIC_PLACE.take().unwrap_or_default();
            let cause = format!("internal error: {} ({place})", payload.message().unwrap_or("panic"));
            Reply::Done(Outcome::failed(cause.clone(), cause))
        })
    }

    fn registry(&mut self) -> Result<Registry> {
        if self.registry.is_none() {
            self.registry = Some(load::registry(&self.args.load, &[])?);
        }
        self.registry.clone().context("no registry")
    }

    fn corpus(&mut self, path: &Path) -> Result<(Rc<Manifest>, Registry)> {
        if let Some((manifest, registry)) = self.manifests.get(path) {
            return Ok((Rc::clone(manifest), registry.clone()));
        }
        let manifest = Rc::new(Manifest::read(path)?);
        // Targets on the command line replace all targets of the corpus.
        let LoadArgs { target, .. } = &self.args.load;
        let offered = if target.is_empty() { manifest.targets()? } else { Vec::new() };
        let registry = load::registry(&self.args.load, &offered)?;
        self.manifests.insert(path.to_owned(), (Rc::clone(&manifest), registry.clone()));
        Ok((manifest, registry))
    }
}

/// Judges every program of a file.
fn programs(path: &Path, registry: &Registry, args: &TestArgs) -> Outcome {
    let source = match program::open(path) {
        Ok(Program::Code(Code::Text(source))) if !hlo::is_hlo(source.text()) => source,
        // HLO text and artifacts contain a single program.
        Ok(Program::Code(code)) => {
            return match code.module().and_then(|module| one_program(module, registry, args)) {
                Ok(None) => Outcome::passed(),
                Ok(Some(reason)) => Outcome::skipped(reason),
                Err(e) => failure("", &e),
            };
        }
        Ok(Program::Plan(_)) => {
            return Outcome::failed(
                "it is a compiled plan; give the program".to_owned(),
                "it is a compiled plan".to_owned(),
            );
        }
        Err(e) => return failure("", &e),
    };
    let mut programs = text::split_programs(source.text());
    programs.retain(|(_, text)| has_code(text));
    let many = programs.len() > 1;
    let mut skipped = None;
    for (i, (lines_before, text)) in programs.iter().enumerate() {
        let which = if many { format!("program {}: ", i + 1) } else { String::new() };
        let part = Source::part(source.name(), *text, *lines_before);
        let outcome = text::parse(&part).map_err(anyhow::Error::from);
        match outcome.and_then(|module| one_program(module, registry, args)) {
            Ok(None) => {}
            Ok(Some(reason)) => skipped = skipped.or(Some(reason)),
            Err(e) => return failure(&which, &e),
        }
    }
    match (programs.is_empty(), skipped) {
        (true, _) => Outcome::skipped("it holds no program"),
        (false, Some(reason)) => Outcome::skipped(reason),
        (false, None) => Outcome::passed(),
    }
}

/// Returns true if the text contains more than comments.
fn has_code(text: &str) -> bool {
    text.lines().any(|l| !l.trim().is_empty() && !l.trim_start().starts_with("//"))
}

/// Converts an error to a failure with its cause.
fn failure(which: &str, error: &anyhow::Error) -> Outcome {
    let Some(program) = error.chain().find_map(|e| e.downcast_ref::<ProgramError>()) else {
        let reason = format!("{error:#}");
        return Outcome::failed(format!("{which}{reason}"), cause(&reason));
    };
    let (first, more) = match program.diagnostics.as_slice() {
        [] => (String::new(), String::new()),
        [one] => (one.render(&program.source, false), String::new()),
        [first, rest @ ..] => {
            let more = rest.len() + program.omitted;
            let errors = if more == 1 { "error" } else { "errors" };
            (first.render(&program.source, false), format!("\n… and {more} {errors} more"))
        }
    };
    let cause = program.diagnostics.first().map_or_else(String::new, |d| cause(&d.message));
    Outcome::failed(format!("{which}{first}{more}"), cause)
}

/// Returns the common cause of tests that fail alike: the first line of the reason, without the source
/// position and without details that differ between tests.
fn cause(reason: &str) -> String {
    let line = reason.lines().next().unwrap_or_default();
    for target in check_targets::OPS.iter().map(|op| farcall::ffi::descriptor::LibraryOp::of(op).name()) {
        if line.contains(target) {
            return format!("{target} does not hold");
        }
    }
    if line.contains("elements differ") {
        return "an output is not the expected one".to_owned();
    }
    let words = line.split(' ').filter(|w| !is_place(w.trim_end_matches(':'))).collect::<Vec<_>>();
    words.join(" ").replace(" at failed", " failed").chars().take(160).collect()
}

/// Returns true for `file:line:column`.
fn is_place(text: &str) -> bool {
    let mut parts = text.rsplitn(3, ':');
    let mut number = || parts.next().is_some_and(|p| p.parse::<u32>().is_ok());
    number() && number()
}

/// Verifies a program, prints it and parses the printed text, and runs the program if it contains checks.
/// Returns the reason if the program cannot run.
fn one_program(module: Module, registry: &Registry, args: &TestArgs) -> Result<Option<String>> {
    let verified = verify(&module)?;
    round_trip(&module)?;
    // In a verified module, checks are calls of the check targets.
    if !checks(&verified) {
        return Ok(None);
    }
    let semantics = args.semantics.unwrap_or(Semantics::StableHlo);
    let numerics = Numerics { semantics, ..Numerics::default() };
    let entries: Vec<&Func> = match verified.entry() {
        Some(func) => vec![func],
        // Without a main function, each public function is a test.
        None => verified.funcs().iter().filter(|f| f.public).collect(),
    };
    for func in entries {
        if func.params().iter().any(|p| *func.ty(*p) != Type::Token) {
            return Ok(Some(format!("its checks cannot run: @{} takes arguments", func.name)));
        }
        let (module, _) = program::specialized(&verified, func, None)?;
        let func = entry(&module, Some(&func.name))?;
        let ready = Ready::new(&module, func, registry, numerics, args.evaluator)?;
        run_on_each(&ready, &[], args)?;
    }
    Ok(None)
}

/// Runs a program on each requested number of threads. All results must have the same bits.
fn run_on_each(ready: &Ready<'_>, inputs: &[Literal], args: &TestArgs) -> Result<Vec<Literal>> {
    let Some((first, others)) = args.threads.split_first() else { return ready.run(inputs) };
    let run_on = |threads: u16| {
        let pool = Arc::new(ThreadPool::new(threads.into()));
        ready.run_in(inputs, Some(&RunContext::new().with_pool(pool)))
    };
    let results = run_on(*first)?;
    for threads in others {
        for (i, (got, want)) in run_on(*threads)?.iter().zip(&results).enumerate() {
            anyhow::ensure!(
                got.bytes() == want.bytes(),
                "out{i} on {threads} threads has other bits than on {first}"
            );
        }
    }
    Ok(results)
}

fn round_trip(module: &Module) -> Result<()> {
    let printed = text::print(module);
    let source = Source::new(format!("{} (printed)", module.source.name()), printed);
    let again = text::parse(&source)
        .map_err(|e| anyhow::anyhow!("the printed program cannot be parsed again:\n{e}"))?;
    anyhow::ensure!(*module == again, "the printed program parses to a different program");
    Ok(())
}

/// Returns true if a program checks its results.
fn checks(module: &Module) -> bool {
    let mut found = false;
    for func in module.funcs() {
        func.walk(&mut |inst| {
            found |= matches!(inst.op(), Op::CustomCall(call) if check_targets::is_check(&call.target));
        });
    }
    found
}

/// Judges a case of a corpus.
fn case(case: &Case, folder: &Path, registry: &Registry, args: &TestArgs) -> Outcome {
    let result = run_case(case, folder, registry, args);
    let Some(expected) = &case.expect_error else {
        return match result {
            Ok(()) => Outcome::passed(),
            Err(e) => failure("", &e),
        };
    };
    match result {
        Ok(()) => {
            let cause = "it should have failed, but did not";
            Outcome::failed(format!("{cause}; its message should contain {expected:?}"), cause)
        }
        Err(e) if format!("{e:#}").contains(expected) => Outcome::passed(),
        Err(e) => {
            let Outcome { reason, cause, .. } = failure("", &e);
            let reason = reason.unwrap_or_default();
            Outcome::failed(
                format!("it failed with another message than expected ({expected:?}): {reason}"),
                cause.unwrap_or_default(),
            )
        }
    }
}

fn run_case(case: &Case, folder: &Path, registry: &Registry, args: &TestArgs) -> Result<()> {
    let module = program::load(&case.program(folder))?;
    let func = entry(&module, None)?;
    let numerics =
        Numerics { denormals: case.denormals()?, semantics: args.semantics.unwrap_or(Semantics::Xla) };
    let inputs = case.inputs(folder)?;
    let (module, _) = program::specialized(&module, func, program::is_open(func).then_some(&inputs))?;
    let func = entry(&module, Some(&func.name))?;
    let ready = Ready::new(&module, func, registry, numerics, args.evaluator)?;
    let runs = case.repeat_outputs.as_ref().map_or(1, Vec::len);
    for run in 0..runs {
        // A case with several runs has a state, so no run may be repeated on other numbers of threads.
        let results = if runs > 1 { ready.run(&inputs)? } else { run_on_each(&ready, &inputs, args)? };
        if case.expect_error.is_some() {
            continue;
        }
        let expected = case.outputs(folder, run)?;
        anyhow::ensure!(
            results.len() == case.output_count(),
            "it has {} results, {} expected",
            results.len(),
            case.output_count()
        );
        for (i, (got, (want, tolerance))) in results.iter().zip(&expected).enumerate() {
            if let Some(difference) = difference(got, want, *tolerance) {
                let of = if runs > 1 { format!(" of run {run}") } else { String::new() };
                anyhow::bail!("out{i}{of}: {difference}");
            }
        }
    }
    Ok(())
}
