//! The targets of StableHLO's interpreter, for its self-checking programs.
//!
//! | target | does |
//! | --- | --- |
//! | `interpreter.run_parallel` | runs the functions that `programs` names, one list for each replica with one function for each partition, as the processes of a grid. The operands are the inputs of all processes, the results their results. The functions that `infeed` names return the values that the processes take with `infeed`. |
//! | `interpreter.print` | nothing |
//! | `interpreter.probe` | returns its operand |
//!
//! Programs that call targets of this module themselves are evaluated, even if the others are compiled.
//!
//! The programs of a grid have no host: values that a process sends to the host go to the process that
//! receives from the host on the same channel.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use farcall_host::Registry;
use farcall_host::custom_call::RunContext;
use farcall_host::processes::Processes;
use farcall_host::transfers::Transfers;
use farcall_ir::eval::{self, EvalHost, EvalValue, HostCall, HostError, Numerics, tensors};
use farcall_ir::op::collective::Grid;
use farcall_ir::{Attribute, Func, Literal, Module, Op, TensorType, Type};
use farcall_runtime::Inputs;

use crate::devices::{Given, eval_each, run_each};
use crate::eval_host::RegistryHost;
use crate::{CompileOptions, Executable};

/// Target that runs functions as the processes of a grid.
const RUN_PARALLEL: &str = "interpreter.run_parallel";
const PRINT: &str = "interpreter.print";
const PROBE: &str = "interpreter.probe";

/// Returns true for the targets of this module.
pub fn is_target(name: &str) -> bool {
    matches!(name, RUN_PARALLEL | PRINT | PROBE)
}

/// Returns true if a module runs functions as the processes of a grid.
pub fn runs_in_parallel(module: &Module) -> bool {
    let mut found = false;
    for func in module.funcs() {
        func.walk(&mut |inst| {
            found |= matches!(inst.op(), Op::CustomCall(call) if call.target == RUN_PARALLEL);
        });
    }
    found
}

/// A host that runs the targets of this module, and all other custom calls on targets of a registry.
#[derive(Debug)]
pub struct InterpreterHost<'a> {
    registry: &'a Registry,
    numerics: Numerics,
    others: RegistryHost<'a>,
    programs: Programs<'a>,
    /// The next values for `infeed`.
    queue: Arc<Mutex<VecDeque<Vec<Literal>>>>,
}

/// The engine for the programs of a grid.
#[derive(Clone, Copy, Debug)]
pub enum Programs<'a> {
    /// The reference evaluator.
    Evaluated,
    /// Compiled, and run in this context.
    Compiled(Option<&'a RunContext>),
}

impl<'a> InterpreterHost<'a> {
    /// Creates a host whose programs run on the given engine.
    pub fn new(
        registry: &'a Registry,
        numerics: impl Into<Numerics>,
        programs: Programs<'a>,
    ) -> InterpreterHost<'a> {
        InterpreterHost::with_queue(registry, numerics.into(), programs, Arc::default())
    }

    fn with_queue(
        registry: &'a Registry,
        numerics: Numerics,
        programs: Programs<'a>,
        queue: Arc<Mutex<VecDeque<Vec<Literal>>>>,
    ) -> InterpreterHost<'a> {
        let others = RegistryHost::new(registry, numerics);
        InterpreterHost { registry, numerics, others, programs, queue }
    }

    fn run_parallel(&self, call: &HostCall<'_>, operands: &[EvalValue]) -> Result<Vec<EvalValue>, HostError> {
        let module = call.module;
        let (grid, programs) = grid(module, call.inst.attrs().get("programs"))?;
        let mut feeding = Vec::new();
        named(module, call.inst.attrs().get("infeed"), &mut feeding)?;
        let mut queue = VecDeque::new();
        for func in feeding {
            queue.push_back(tensors(&eval::eval_form(module, func, &[], self, self.numerics)?));
        }
        let mut of_process: Vec<(&Func, &[EvalValue])> = Vec::with_capacity(programs.len());
        let mut rest = operands;
        for func in programs {
            let own = rest.split_at_checked(func.params().len());
            let (own, others) = own.ok_or("there are fewer operands than inputs of the programs")?;
            of_process.push((func, own));
            rest = others;
        }
        if !rest.is_empty() {
            return Err("there are more operands than inputs of the programs".into());
        }
        let processes = Processes::isolated(grid);
        let results = match self.programs {
            // The engine has no targets of this module.
            Programs::Compiled(context)
                if !of_process.iter().any(|(func, _)| calls_targets(module, func)) =>
            {
                self.run_compiled(module, &processes, grid, &of_process, queue, context)?
            }
            Programs::Evaluated | Programs::Compiled(_) => {
                let queue = Arc::new(Mutex::new(queue));
                let (registry, numerics) = (self.registry, self.numerics);
                let host = |_| {
                    InterpreterHost::with_queue(registry, numerics, Programs::Evaluated, Arc::clone(&queue))
                };
                eval_each(module, &processes, &of_process, host, numerics)?
            }
        };
        Ok(results.into_iter().flatten().collect())
    }

    /// Compiles and runs one function for each process.
    fn run_compiled(
        &self,
        module: &Module,
        processes: &Arc<Processes>,
        grid: Grid,
        programs: &[(&Func, &[EvalValue])],
        queue: VecDeque<Vec<Literal>>,
        context: Option<&RunContext>,
    ) -> Result<Vec<Vec<EvalValue>>, HostError> {
        let mut compiled: HashMap<&str, Executable> = HashMap::new();
        for (func, _) in programs {
            if !compiled.contains_key(&*func.name) {
                let options = CompileOptions::new().entry(&func.name).numerics(self.numerics).grid(grid);
                compiled.insert(&func.name, Executable::compile(module, self.registry, &options)?);
            }
        }
        let transfers = Arc::new(Transfers::new());
        queue.into_iter().for_each(|values| transfers.feed(values));
        transfers.close();
        let new = RunContext::new();
        let context = context.unwrap_or(&new).with_the_transfers(transfers);
        let executables: Vec<&Executable> = programs.iter().map(|(func, _)| &compiled[&*func.name]).collect();
        let inputs: Vec<Given<'_>> =
            programs.iter().map(|(_, inputs)| Given::new(Inputs::Owned(tensors(inputs)))).collect();
        let results = run_each(processes, &executables, &inputs, &[context])?;
        let values = results.into_iter().zip(programs).map(|(results, (func, _))| {
            let types: Vec<&Type> = func.results().iter().collect();
            eval::values(types, results).ok_or_else(|| HostError::from("a program has other results"))
        });
        values.collect()
    }
}

impl EvalHost for InterpreterHost<'_> {
    fn custom_call(&self, call: &HostCall<'_>, operands: &[EvalValue]) -> Result<Vec<EvalValue>, HostError> {
        match &*call.call.target {
            RUN_PARALLEL => self.run_parallel(call, operands),
            PRINT => Ok(Vec::new()),
            PROBE => Ok(operands.to_vec()),
            _ => self.others.custom_call(call, operands),
        }
    }

    fn infeed(&self, _: &str, _: &[TensorType]) -> Result<Vec<Literal>, HostError> {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        queue.pop_front().ok_or_else(|| "the infeed is empty".into())
    }

    /// Drops the values: no program reads them.
    fn outfeed(&self, _: &str, _: Vec<Literal>) -> Result<(), HostError> {
        Ok(())
    }
}

/// Returns true if a function calls targets of this module, directly or through other functions.
fn calls_targets(module: &Module, func: &Func) -> bool {
    let (mut open, mut seen, mut found) = (vec![func], HashSet::new(), false);
    while let Some(func) = open.pop() {
        func.walk(&mut |inst| {
            found |= matches!(inst.op(), Op::CustomCall(call) if is_target(&call.target));
            let new = inst.op().callees().iter().filter(|id| seen.insert(**id));
            open.extend(new.filter_map(|id| module.get(*id)));
        });
    }
    found
}

/// Returns the functions of a grid, from a list for each replica with a name for each partition.
fn grid<'m>(module: &'m Module, attr: Option<&Attribute>) -> Result<(Grid, Vec<&'m Func>), HostError> {
    let Some(Attribute::Array(rows)) = attr else {
        return Err("`programs` must be a list of functions for each replica".into());
    };
    let mut programs = Vec::new();
    named(module, attr, &mut programs)?;
    let is_row = |row: &Attribute| match row {
        Attribute::Array(row) => rows.len() * row.len() == programs.len(),
        _ => false,
    };
    if programs.is_empty() || !rows.iter().all(is_row) {
        return Err("`programs` must name as many functions for each replica".into());
    }
    Ok((Grid { replicas: rows.len(), partitions: programs.len() / rows.len() }, programs))
}

/// Collects the functions that an attribute names: one symbol, or a list of such attributes.
fn named<'m>(module: &'m Module, attr: Option<&Attribute>, to: &mut Vec<&'m Func>) -> Result<(), HostError> {
    match attr {
        None => Ok(()),
        Some(Attribute::Symbol(name)) => {
            let func = module.func(name);
            to.push(func.ok_or_else(|| HostError::from(format!("there is no function @{name}")))?);
            Ok(())
        }
        Some(Attribute::Array(items)) => items.iter().try_for_each(|item| named(module, Some(item), to)),
        Some(other) => Err(format!("{other} names no function").into()),
    }
}
