//! `farcall compile`: compiles a program to a plan in a file. `run` shares the compilation code.

use std::io::Write;

use anyhow::{Context, Result, bail, ensure};
use farcall::device::Device;
use farcall::devices::Grid;
use farcall::explain::Explanation;
use farcall::ir::interface::Interface;
use farcall::ir::literal::Literal;
use farcall::ir::middle::passes;
use farcall::ir::middle::pipeline::Pipeline;
use farcall::ir::module::Func;
use farcall::ir::refine::{self, RefineError};
use farcall::ir::verify::{StaticModule, entry, verify, verify_owned};
use farcall::ir::{elided, text};
use farcall::registry::Platform;
use farcall::{CompileOptions, Executable, MEMORY_PASSES, Registry, Stage, ValidPlan, compile_static};

use crate::args::{CompileArgs, Dump, HowArgs, InputArgs};
use crate::execute::refused;
use crate::program::{self, Code, Program};
use crate::stats::Stats;
use crate::{devices, file, inputs, load, terminal};

/// Compiles a program and writes its plan.
pub(crate) fn compile(args: &CompileArgs) -> Result<()> {
    let mut stats = Stats::default();
    let code = match stats.take("read", || program::open(&args.program))? {
        Program::Code(code) => code,
        Program::Plan(_) => bail!("{} is a compiled plan already", args.program.display()),
    };
    let Some(front) = front(&code, &args.how, &args.inputs, &mut stats)? else { return Ok(()) };
    front.check(&args.inputs)?;
    let registry = stats.take("load", || load::registry(&args.load, &[]))?;
    let Some(plan) = plan(&front, &args.how, &registry, &mut stats)? else { return Ok(()) };
    if let Some(path) = &args.output {
        stats.take("write", || file::write(path, |out| Ok(plan.write_to(out)?)))?;
    }
    if args.stats {
        stats.print(Some(&plan))?;
    }
    Ok(())
}

/// A program that is ready to be compiled.
pub(crate) struct FrontProgram {
    pub(crate) module: StaticModule<'static>,
    /// Interface of the program.
    pub(crate) interface: Interface,
    /// The entry function.
    pub(crate) entry: String,
    /// The arguments, if refinement needed them.
    pub(crate) arguments: Option<Vec<Literal>>,
    /// Arguments whose elements determine sizes. The program is compiled for these elements; see
    /// [`CompileOptions::known`].
    known: Vec<Option<Literal>>,
    /// The grid of devices that the program is compiled for.
    pub(crate) grid: Grid,
}

impl FrontProgram {
    pub(crate) fn func(&self) -> Result<&Func> {
        Ok(entry(&self.module, Some(&self.entry))?)
    }

    /// Rejects inputs that do not fit, even if the program's sizes do not depend on them.
    pub(crate) fn check(&self, given: &InputArgs) -> Result<()> {
        if self.arguments.is_none() && !given.inputs.is_empty() {
            inputs::arguments(self.func()?, &self.interface, given)?;
        }
        Ok(())
    }

    /// Returns the compiler options.
    fn options(&self, how: &HowArgs) -> CompileOptions {
        CompileOptions::new()
            .entry(&self.entry)
            .numerics(how.numerics)
            .known(self.known.iter().cloned())
            .passes(how.passes.clone().unwrap_or_default())
            .grid(self.grid)
            .partitioned(
                how.devices.are_given() && devices::states_shardings(&self.module)
                    || self.grid.partitions > 1 && devices::computes_on_parts(&self.module),
            )
    }
}

/// Parses, verifies and refines a program for this platform. Returns `None` if `--dump` ended the command.
pub(crate) fn front(
    code: &Code,
    how: &HowArgs,
    given: &InputArgs,
    stats: &mut Stats,
) -> Result<Option<FrontProgram>> {
    front_for(Device::default().platform(), code, how, given, stats)
}

/// Like [`front`], for another platform.
pub(crate) fn front_for(
    platform: &Platform,
    code: &Code,
    how: &HowArgs,
    given: &InputArgs,
    stats: &mut Stats,
) -> Result<Option<FrontProgram>> {
    let (mut module, interface) = stats.take("parse", || code.program(platform))?;
    if how.dump == Some(Dump::Text) {
        return dump(&text::print(&module)).map(|()| None);
    }
    if let Some(how) = how.elided {
        stats.take("elided", || elided::fill(&mut module, how.elements()))?;
    }
    if how.dump == Some(Dump::Verified) {
        verify(&module)?;
        return dump(&text::print(&module)).map(|()| None);
    }
    let module = stats.take("verify", || verify_owned(module))?;
    // The inputs determine the dynamic sizes of parameters; other sizes may depend on elements of the inputs.
    let func = entry(&module, how.entry.as_deref())?;
    let interface = interface.filter(|_| how.entry.is_none()).unwrap_or_else(|| Interface::of(func));
    let made = |func| {
        let arguments = inputs::arguments(func, &interface, given)?;
        interface.solve(&arguments.iter().map(Literal::ty).collect::<Vec<_>>())?;
        anyhow::Ok(arguments)
    };
    let mut early = if program::is_open(func) { Some(stats.take("inputs", || made(func))?) } else { None };
    let name = func.name.clone();
    let (module, known) = if refine::is_needed(&module) {
        let (module, known) = match program::specialized(&module, func, early.as_deref()) {
            Err(RefineError::UnknownShape(error)) if early.is_none() => {
                early = Some(stats.take("inputs", || made(func)).map_err(|_| error)?);
                program::specialized(&module, func, early.as_deref())?
            }
            specialized => specialized?,
        };
        (module.into_owned(), known)
    } else {
        (module.into_static()?, Vec::new())
    };
    if how.dump == Some(Dump::Refined) {
        return dump(&text::print(&module)).map(|()| None);
    }
    let grid = how.devices.grid(Grid::of(&module.attrs), devices::states_shardings(&module))?;
    Ok(Some(FrontProgram { module, interface, entry: name, arguments: early, known, grid }))
}

/// Compiles a program and prepares it to run. Returns `None` if `--dump` ended the command.
pub(crate) fn engine(
    front: &FrontProgram,
    how: &HowArgs,
    registry: &Registry,
    stats: &mut Stats,
) -> Result<Option<Executable>> {
    let Some(plan) = plan(front, how, registry, stats)? else { return Ok(None) };
    stats.take("bind", || Executable::from_plan(plan, registry).map_err(refused)).map(Some)
}

/// Compiles a program as `farcall run` does, and explains the compiler's decisions.
pub(crate) fn explained(
    front: &FrontProgram,
    how: &HowArgs,
    registry: &Registry,
) -> Result<(ValidPlan, Explanation)> {
    let mut explanation = None;
    let mut after = |stage: &Stage<'_>| explanation = stage.explain().or_else(|| explanation.take());
    let plan = compile_static(&front.module, registry, &front.options(how), &mut after);
    let plan = plan.map_err(refused)?;
    Ok((plan, explanation.context("the compiler did not reach its last stage; this is a bug in farcall")?))
}

/// Compiles a program. Returns `None` if `--dump` ended the command. No handler is called.
pub(crate) fn plan(
    front: &FrontProgram,
    how: &HowArgs,
    registry: &Registry,
    stats: &mut Stats,
) -> Result<Option<ValidPlan>> {
    let passes = how.passes.clone().unwrap_or_default();
    if let Some(Dump::Pass(name)) = how.dump {
        let always = MEMORY_PASSES.iter().any(|p| p.name == name);
        let runs = always || passes.passes().iter().any(|p| p.name == name);
        ensure!(runs, "the pass {name} does not run; the passes that run are {passes}");
    }
    let mut shown = FormDump { dump: how.dump, listed: passes.passes().len(), at: 0, text: String::new() };
    let options = front.options(how);
    let compiled = stats.take("compile", || {
        let mut after = |stage: &Stage<'_>| shown.after(stage);
        compile_static(&front.module, registry, &options, &mut after).map_err(refused)
    });
    if !shown.text.is_empty() {
        dump(&shown.text)?;
        // The dump succeeded, so errors of later stages do not matter.
        return compiled.map(|_| None);
    }
    let plan = compiled?;
    if how.dump == Some(Dump::Plan) {
        return dump(&plan.to_string()).map(|()| None);
    }
    Ok(Some(plan))
}

/// Collects the text of the middle form ([`farcall::ir::middle`]) for `--dump`.
struct FormDump {
    dump: Option<Dump>,
    /// Number of selected passes. The passes that always run come after them.
    listed: usize,
    /// Number of the last pass that has run.
    at: usize,
    text: String,
}

impl FormDump {
    fn after(&mut self, stage: &Stage<'_>) {
        let build = stage.name == "build";
        self.at += usize::from(!build);
        match self.dump {
            Some(Dump::Build) if build => self.text = text::print(&stage.form()),
            Some(Dump::Form) if self.at == self.listed => self.text = text::print(&stage.form()),
            Some(Dump::Pass(pass)) if pass == stage.name => {
                let gap = if self.text.is_empty() { "" } else { "\n" };
                let all = self.listed + MEMORY_PASSES.len();
                let place = format!("{gap}// after {pass}, pass {} of {all}\n", self.at);
                self.text.push_str(&place);
                self.text.push_str(&text::print(&stage.form()));
            }
            _ => {}
        }
    }
}

/// Prints the output of a stage.
pub(crate) fn dump(text: &str) -> Result<()> {
    let mut out = terminal::stdout();
    out.write_all(text.as_bytes())?;
    if !text.ends_with('\n') {
        out.write_all(b"\n")?;
    }
    Ok(())
}

/// `farcall passes`: lists all passes with descriptions, and the predefined lists of passes.
pub(crate) fn passes() -> Result<()> {
    let mut out = terminal::stdout();
    let mut table = terminal::table(&["pass", "what it does"]);
    for pass in passes::PASSES.iter().filter(|p| MEMORY_PASSES.iter().all(|m| m.name != p.name)) {
        table.add_row([pass.name, pass.about]);
    }
    for pass in MEMORY_PASSES {
        table.add_row([pass.name, pass.about]);
    }
    writeln!(out, "{}", table.trim_fmt())?;
    let always: Vec<&str> = MEMORY_PASSES.iter().map(|p| p.name).collect();
    writeln!(out, "\nrun by default  {}", Pipeline::default())?;
    writeln!(out, "needed          {}", Pipeline::needed())?;
    writeln!(out, "always last     {}", always.join(","))?;
    Ok(())
}
