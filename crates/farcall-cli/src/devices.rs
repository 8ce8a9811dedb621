//! Runs on several devices: the inputs of each device, and the results.

use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use farcall::devices::{Grid, eval_on_devices};
use farcall::eval_host::RegistryHost;
use farcall::ir::eval;
use farcall::ir::interface::Interface;
use farcall::ir::literal::Literal;
use farcall::ir::module::Module;
use farcall::ir::op::Traits;
use farcall::ir::op::collective::Process;
use farcall::ir::sharding::borders;
use farcall::ir::types::Type;
use farcall::ir::{AttrDict, Op};
use serde_json::json;

use crate::args::RunArgs;
use crate::device_args::DeviceArgs;
use crate::execute::Ready;
use crate::stats::Stats;
use crate::{inputs, results, terminal};

/// Returns the grid of a run on several devices; `None` if the program runs on one device. A program that
/// names several devices but computes the same on each, such as one that is not partitioned, runs on one,
/// unless options ask for more.
pub(crate) fn of_run(ready: &Ready<'_>, args: &DeviceArgs, grid: Grid) -> Option<Grid> {
    let depends = match ready {
        // Such a program takes complete inputs.
        Ready::Engine(executable) if executable.plan().sharding().is_some() => return None,
        Ready::Engine(executable) => executable.plan().depends_on_device(),
        Ready::Evaluator { module, .. } => depends_on_device(module),
        Ready::Interpreter { .. } | Ready::Plugin { .. } => return None,
    };
    (grid.processes() > 1 && (args.are_given() || depends)).then_some(grid)
}

/// Returns true if a program states shardings.
pub(crate) fn states_shardings(module: &Module) -> bool {
    let is_stated =
        |attrs: &AttrDict| attrs.contains_key("mhlo.sharding") || attrs.contains_key("sdy.sharding");
    !module.meshes.is_empty()
        || module.funcs().iter().any(|func| {
            let mut found = func.param_attrs().iter().chain(func.result_attrs()).any(is_stated);
            func.walk(&mut |inst| found |= is_stated(inst.attrs()));
            found
        })
}

/// Returns true if the results of a program may depend on the device that runs it.
pub(crate) fn depends_on_device(module: &Module) -> bool {
    any_op(module, |op| op.info().is(Traits::COLLECTIVE) || matches!(op, Op::PartitionId | Op::ReplicaId))
}

/// Returns true if a program converts complete values to the parts of a device, as `shard_map` does. Such a
/// program runs on the devices that it is for only.
pub(crate) fn computes_on_parts(module: &Module) -> bool {
    let enters = |target: &str| matches!(target, borders::GLOBAL_TO_LOCAL | borders::FULL_TO_SHARD);
    any_op(module, |op| matches!(op, Op::CustomCall(call) if enters(&call.target)))
}

/// Refuses the options that record a run, for a run on these devices.
pub(crate) fn refuse_records(args: &RunArgs, grid: Grid) -> Result<()> {
    if args.profile.is_some() || args.trace.is_some() {
        bail!("--profile and --trace record runs on one device; this run is on {grid}");
    }
    Ok(())
}

/// Warns of a collective that names several devices in a program that runs on one: as in XLA, the device
/// takes part alone.
pub(crate) fn warn_of_absent(module: &Module, grid: Grid) {
    let names_several = |op: &Op| match op {
        Op::AllReduce(groups) => groups.ids.len() > 1,
        Op::CollectivePermute(op) => {
            let role = op.role(Process { grid: Grid::ONE, number: 0 });
            role.connected.len() < 2 && op.pairs.iter().any(|id| id.as_i64() > 0)
        }
        _ => false,
    };
    if grid == Grid::ONE && any_op(module, names_several) {
        anstream::eprintln!(
            "warning: collectives of the program name several devices, but it runs on one, which takes part alone; \
             --devices N runs it on several"
        );
    }
}

fn any_op(module: &Module, is_it: impl Fn(&Op) -> bool) -> bool {
    let mut found = false;
    module.funcs().iter().for_each(|func| func.walk(&mut |inst| found |= is_it(inst.op())));
    found
}

/// A run of a program on all devices of a grid.
pub(crate) struct DeviceRun<'a> {
    pub(crate) args: &'a RunArgs,
    pub(crate) ready: &'a Ready<'a>,
    pub(crate) grid: Grid,
    pub(crate) interface: &'a Interface,
}

impl DeviceRun<'_> {
    /// Runs the program on arguments for parameters of these types, shows the results, and writes them if
    /// requested.
    pub(crate) fn run(&self, params: &[&Type], stats: &mut Stats) -> Result<()> {
        let args = self.args;
        refuse_records(args, self.grid)?;
        let count = self.grid.processes();
        let arguments =
            stats.take("inputs", || inputs::on_devices(self.interface, params, &args.inputs, count))?;
        let mut results = Vec::new();
        for _ in 0..args.repeat {
            let start = Instant::now();
            results = self.once(&arguments)?;
            stats.runs.push(start.elapsed());
        }
        if let Some(folder) = &args.output_dir {
            stats.take("write", || write(folder, &results))?;
        }
        if args.json {
            let types = |of: &Vec<Literal>| of.iter().map(results::as_json).collect::<Vec<_>>();
            let types: Vec<_> = results.iter().map(types).collect();
            let value = json!({ "devices": types });
            return results::print_json(value, args.stats.then_some(&*stats), self.ready);
        }
        if !args.quiet {
            self.print(&results)?;
        }
        if args.stats {
            stats.print(self.ready.plan())?;
        }
        Ok(())
    }

    fn once(&self, arguments: &[Vec<Literal>]) -> Result<Vec<Vec<Literal>>> {
        match self.ready {
            Ready::Engine(executable) => Ok(executable.run_on_devices(arguments)?),
            Ready::Evaluator { module, func, registry, numerics } => {
                let values = |inputs: &Vec<Literal>| {
                    let params = func.params().iter().map(|p| func.ty(*p));
                    eval::values(params, inputs.clone()).context("a wrong number of inputs")
                };
                let values = arguments.iter().map(values).collect::<Result<Vec<_>>>()?;
                let host = |_| RegistryHost::new(registry, *numerics);
                let results = eval_on_devices(module, func, self.grid, &values, host, *numerics)?;
                Ok(results.iter().map(|of| eval::tensors(of)).collect())
            }
            Ready::Interpreter { .. } | Ready::Plugin { .. } => {
                bail!("this program does not run on several devices")
            }
        }
    }

    /// Prints the results of each device. A result that is the same on all devices is printed once.
    fn print(&self, results: &[Vec<Literal>]) -> Result<()> {
        let mut out = terminal::stdout();
        let count = results.first().map_or(0, Vec::len);
        for i in 0..count {
            let first = &results[0][i];
            if results.iter().all(|of| of[i].dims() == first.dims() && of[i].bytes() == first.bytes()) {
                let note = format!("the same on all {} devices", results.len());
                results::print(&mut out, &format!("out{i}"), Some(&note), first)?;
                continue;
            }
            for (device, of) in results.iter().enumerate() {
                results::print(&mut out, &format!("out{i} on device {device}"), None, &of[i])?;
            }
        }
        Ok(())
    }
}

/// Writes the results of each device to a folder of its own: `device0/out0.npy`, ….
fn write(folder: &Path, results: &[Vec<Literal>]) -> Result<()> {
    for (device, of) in results.iter().enumerate() {
        results::write(&folder.join(format!("device{device}")), of)?;
    }
    Ok(())
}
