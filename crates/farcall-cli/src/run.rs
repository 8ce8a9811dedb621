//! `farcall run`: runs a program on given inputs.

use std::io::Write;
use std::sync::Arc;

use anyhow::{Result, bail};
use farcall::device::Device;
use farcall::interpreter;
use farcall::ir::literal::Literal;
use farcall::ir::module::Func;
use farcall::ir::types::Type;

use crate::args::RunArgs;
use crate::devices::{self, DeviceRun};
use crate::execute::Ready;
use crate::profile::RecordedRuns;
use crate::program::{self, Program};
use crate::stats::Stats;
use crate::{compile, engine, inputs, load, plan, results, terminal};

/// Runs a program or a plan, shows its results, and writes them if requested.
pub(crate) fn run(args: &RunArgs) -> Result<()> {
    let (mut stats, mut measured) = (Stats::default(), RecordedRuns::new(args)?);
    let numerics = &args.how.numerics;
    let of_farcall = [
        ("--profile", args.profile.is_some()),
        ("--trace", args.trace.is_some()),
        ("--passes", args.how.passes.is_some()),
        ("--denormals", numerics.denormals.is_some()),
        ("--semantics", numerics.semantics.is_some()),
        ("--devices", args.how.devices.devices.is_some()),
        ("--replicas", args.how.devices.replicas.is_some()),
        ("--partitions", args.how.devices.partitions.is_some()),
        ("--iteration-limit", farcall::iterations::limit() != u64::MAX),
    ];
    let client = engine::client(&args.engine, &of_farcall, &mut stats)?;
    let code = match stats.take("read", || program::open(&args.program))? {
        Program::Code(code) => code,
        Program::Plan(_) if client.is_some() => {
            bail!("{} is a compiled plan, which only farcall's engine runs", args.program.display())
        }
        Program::Plan(plan) => return plan::run(args, *plan, stats, measured),
    };
    let platform = client.as_ref().map_or_else(|| Device::default().platform().clone(), engine::platform);
    let front = compile::front_for(&platform, &code, &args.how, &args.inputs, &mut stats)?;
    let Some(front) = front else { return Ok(()) };
    if client.is_some() && args.how.dump.is_some() {
        bail!(
            "with a plugin, --dump shows the stages text, verified and refined; the others are of farcall's engine"
        );
    }
    if client.is_some()
        && front.grid.processes() > 1
        && (devices::depends_on_device(&front.module) || devices::computes_on_parts(&front.module))
    {
        bail!("the program is for {}; a plugin runs programs for one device", front.grid);
    }
    devices::warn_of_absent(&front.module, front.grid);
    let source = Arc::clone(&front.module.source);
    let registry = stats.take("load", || load::registry(&args.load, &[]))?;
    let func = front.func()?;
    let ready = if let Some(client) = &client {
        let entry = &func.name;
        let program = stats.take("compile", || engine::compile(client, &front.module, entry, &registry))?;
        Ready::Plugin { module: &front.module, program }
    } else if args.how.dump.is_none() && (args.evaluator || interpreter::runs_in_parallel(&front.module)) {
        let numerics = args.how.numerics.into();
        stats.take("compile", || Ready::new(&front.module, func, &registry, numerics, args.evaluator))?
    } else {
        match compile::engine(&front, &args.how, &registry, &mut stats)? {
            Some(executable) => Ready::Engine(executable),
            None => return Ok(()),
        }
    };
    ready.require_elements()?;
    if let Ready::Engine(executable) = &ready
        && executable.plan().sharding().is_some()
    {
        devices::refuse_records(args, executable.grid())?;
    }
    if let Some(grid) = devices::of_run(&ready, &args.how.devices, front.grid) {
        let params: Vec<&Type> = func.params().iter().map(|p| func.ty(*p)).collect();
        let params: Vec<&Type> = params.into_iter().filter(|ty| **ty != Type::Token).collect();
        let run = DeviceRun { args, ready: &ready, grid, interface: &front.interface };
        return run.run(&params, &mut stats).map_err(|e| Ready::explain(e, &source));
    }
    let made;
    let arguments = match &front.arguments {
        Some(arguments) => arguments,
        None => {
            made = stats.take("inputs", || inputs::arguments(func, &front.interface, &args.inputs))?;
            &made
        }
    };

    let results = measured.run(&ready, arguments, &mut stats).map_err(|e| Ready::explain(e, &source))?;
    if let Some(folder) = &args.output_dir {
        stats.take("write", || results::write(folder, &results))?;
    }
    measured.finish(&ready, &results, &stats, || print(func, &results))
}

fn print(func: &Func, results: &[Literal]) -> Result<()> {
    let mut out = terminal::stdout();
    if results.is_empty() {
        writeln!(out, "@{} ran; it has no results", func.name)?;
    }
    let attrs = func.results().iter().zip(func.result_attrs()).filter(|(ty, _)| **ty != Type::Token);
    let attrs: Vec<_> = attrs.map(|(_, attrs)| attrs).collect();
    for (i, result) in results.iter().enumerate() {
        let info = attrs.get(i).and_then(|a| a.get("jax.result_info")?.as_str());
        // JAX calls a single result `result` and the results of a tuple `result[0]`, …; these names carry no
        // information.
        let info = info.filter(|t| !t.is_empty() && *t != "result" && *t != format!("result[{i}]"));
        results::print(&mut out, &format!("out{i}"), info, result)?;
    }
    Ok(())
}
