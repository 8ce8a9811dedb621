//! Divides a program among devices according to its shardings.
//!
//! ```text
//! middle form with shardings ──propagate──▶ a tiling for each value ──emit──▶ the program of each device
//!                               rule: factors of each operation      reshard: collectives
//! ```
//!
//! - `annotation` reads the attributes `sdy.sharding` and `mhlo.sharding`.
//! - [`grid`] names groups of devices by sub-axes, [`tiling`] the division of a tensor.
//! - [`partitioner`] has the host's functions that divide custom calls.
//! - `rule` describes how the dimensions of an operation's operands and results correspond.
//! - `rotation` finds concatenations that rotate a value.
//! - `propagate` gives every value a tiling.
//! - `choose` decides how devices divide an operation, `reshard` how a tensor's tiling changes, and `emit`
//!   writes the program of each device, with collectives.
//!
//! The methods come from GSPMD (Xu et al., *GSPMD: General and Scalable Parallelization for ML Computation
//! Graphs*, 2021) and Shardy: propagation by factors of operations, with user priorities.
//!
//! **Invariants.** Every device runs the same program. A device's number is its partition id. The result
//! equals the program's result, up to the order of floating-point sums.
#![forbid(unsafe_code)]

mod annotation;
mod choose;
mod emit;
pub mod grid;
mod local;
mod manual;
pub mod partitioner;
mod propagate;
pub mod report;
mod reshard;
mod rotation;
mod rule;
pub mod tiling;

pub use rule::{CallRules, NoRules};

use std::sync::Arc;

use farcall_ir::op::Op;
use farcall_ir::{
    AttrDict, Attribute, DType, Diagnostic, Func, Inst, InstId, Module, ProgramError, Span, TensorType, Type,
    ValueId,
};
use rustc_hash::FxHashMap;

use crate::annotation::{Annotation, Reader};
use crate::emit::Program;
use crate::grid::{DeviceGrid, SubAxis};
use crate::manual::Border;
use crate::propagate::{Shardings, StatedProgram};
use crate::report::{Report, ShardedValue};
use crate::tiling::Tiling;

/// A program divided among devices.
#[derive(Debug)]
pub struct Partitioned {
    /// The program of each device, in the middle form.
    pub module: Module,
    /// The devices.
    pub grid: DeviceGrid,
    /// Tilings of the parameters.
    pub inputs: Vec<Tiling>,
    /// Tilings of the results.
    pub outputs: Vec<Tiling>,
    /// Sub-axes along which the devices hold summands, for each parameter.
    pub unreduced_inputs: Vec<Vec<SubAxis>>,
    /// Sub-axes along which the devices hold summands, for each result.
    pub unreduced_outputs: Vec<Vec<SubAxis>>,
    /// Collectives that were added.
    pub report: Report,
}

/// Partitions a program in the middle form. `calls` knows the ops that custom calls may call. Returns `None`
/// if the program states no sharding, or only shardings for one device.
///
/// # Errors
/// With the code `sharding`: a stated sharding is wrong or not supported. With other codes: an operation
/// cannot be divided as its sharding requires.
pub fn partition(form: &Module, calls: &dyn CallRules) -> Result<Option<Partitioned>, ProgramError> {
    let failed = |diagnostics: Vec<Diagnostic>| ProgramError {
        source: Arc::clone(&form.source),
        diagnostics,
        omitted: 0,
    };
    let [func] = form.funcs() else { return Ok(None) };
    let grid = match grid_of(form, func) {
        None => return Ok(None),
        Some(Err((span, problem))) => return Err(failed(vec![sharding_error(span, problem)])),
        Some(Ok(grid)) => grid,
    };
    if grid.devices() == 1 {
        return Ok(None);
    }
    let reader = Reader { grid: &grid, meshes: &form.meshes };
    let mut shardings = Shardings::new(func);
    let Stated { params, results, borders } = stated(&reader, func, &mut shardings).map_err(failed)?;
    let outputs = shardings
        .propagate(&StatedProgram {
            grid: &grid,
            func,
            results: &results,
            borders: &borders,
            calls,
            uses_shardy: uses_shardy(form, func),
        })
        .map_err(failed)?;
    let of_input = |(value, stated): (&ValueId, &Option<Annotation>)| {
        shardings.of(*value).interface_tiling(&grid, stated.as_ref())
    };
    let inputs: Vec<Tiling> = func.params().iter().zip(&params).map(of_input).collect();
    let unreduced_axes =
        |stated: &Option<Annotation>| stated.as_ref().map_or_else(Vec::new, |s| s.unreduced.clone());
    let unreduced: Vec<Vec<SubAxis>> = params.iter().map(unreduced_axes).collect();
    let unreduced_outputs: Vec<Vec<SubAxis>> = results.iter().map(unreduced_axes).collect();
    let program = Program {
        grid: &grid,
        func,
        shardings: &shardings,
        borders: &borders,
        calls,
        meshes: &form.meshes,
        inputs: &inputs,
        outputs: &outputs,
        unreduced_inputs: &unreduced,
        unreduced_outputs: &unreduced_outputs,
    };
    let (local, mut report) = program.emit(next_channel(func)).map_err(failed)?;
    report.values = values(func, &shardings);
    let mut module = Module::new(Arc::clone(&form.source));
    module.name.clone_from(&form.name);
    module.attrs.clone_from(&form.attrs);
    let count = i128::try_from(grid.devices()).unwrap_or(i128::MAX);
    let count = Attribute::Int(count, farcall_ir::attr::IntKind::Typed(DType::S32));
    module.attrs.insert("mhlo.num_partitions".to_owned(), count);
    module.add_func(local);
    let unreduced_inputs = unreduced;
    Ok(Some(Partitioned { module, grid, inputs, outputs, unreduced_inputs, unreduced_outputs, report }))
}

/// Returns true if a program states shardings in Shardy's form.
fn uses_shardy(form: &Module, func: &Func) -> bool {
    let is_stated = |attrs: &AttrDict| attrs.contains_key("sdy.sharding");
    let mut found =
        !form.meshes.is_empty() || func.param_attrs().iter().chain(func.result_attrs()).any(is_stated);
    func.walk(&mut |inst| found |= is_stated(inst.attrs()));
    found
}

fn sharding_error(span: Span, problem: String) -> Diagnostic {
    Diagnostic::new("sharding", span, problem)
}

/// Returns the devices of a program: the devices of its first mesh or tile assignment.
fn grid_of(form: &Module, func: &Func) -> Option<Result<DeviceGrid, (Span, String)>> {
    let meshes = form.meshes.iter().find(|mesh| !mesh.mesh.axes.is_empty());
    if let Some(mesh) = meshes {
        return Some(DeviceGrid::of_mesh(&mesh.mesh).map_err(|problem| (func.span, problem)));
    }
    let of = |attrs: &AttrDict, span: Span| {
        annotation::first_grid(&form.meshes, attrs).map(|grid| grid.map_err(|problem| (span, problem)))
    };
    let mut found =
        func.param_attrs().iter().chain(func.result_attrs()).find_map(|attrs| of(attrs, func.span));
    func.walk(&mut |inst| {
        if found.is_none() {
            found = of(inst.attrs(), inst.span());
        }
    });
    found
}

/// Statements of a program about its shardings that do not belong to one value.
struct Stated {
    /// Shardings of the parameters.
    params: Vec<Option<Annotation>>,
    /// Shardings of the results.
    results: Vec<Option<Annotation>>,
    /// Calls that convert between complete values and the parts with which the program itself computes.
    borders: FxHashMap<InstId, Border>,
}

/// Records the shardings that a program states for its values.
fn stated(reader: &Reader<'_>, func: &Func, shardings: &mut Shardings) -> Result<Stated, Vec<Diagnostic>> {
    let rank = |v: &ValueId| func.tensor(*v).map_or(0, TensorType::rank);
    let mut errors = Vec::new();
    let mut params = Vec::new();
    for (i, (param, attrs)) in func.params().iter().zip(func.param_attrs()).enumerate() {
        match reader.read(attrs, &[rank(param)]) {
            Ok(stated) => {
                let stated = stated.into_iter().next().flatten();
                stated.iter().for_each(|stated| shardings.state(*param, stated));
                params.push(stated);
            }
            Err(problem) => errors.push(sharding_error(func.span, format!("parameter {i}: {problem}"))),
        }
    }
    let mut borders = FxHashMap::default();
    func.walk(&mut |inst| {
        let found = match Border::of(inst, reader) {
            Ok(Some(_)) if !propagate::is_divided(inst) => {
                Err("each device computes the complete region around this computation on parts".to_owned())
            }
            Ok(Some(border)) => {
                let stated = match border.enters {
                    // The parts are divided by the other sub-axes.
                    true => (0..inst.results().len()).map(|i| Some(border.part_annotation(i))).collect(),
                    false => border.shardings.iter().cloned().map(Some).collect(),
                };
                borders.insert(inst.id(), border);
                Ok(stated)
            }
            Ok(None) => read_results(reader, inst),
            Err(problem) => Err(problem),
        };
        match found {
            Ok(stated) => {
                for (value, stated) in inst.results().iter().zip(stated) {
                    if let Some(stated) = stated {
                        shardings.state(*value, &stated);
                    }
                }
            }
            Err(problem) => errors.push(sharding_error(inst.span(), problem)),
        }
    });
    let mut results = Vec::new();
    for (i, (value, attrs)) in func.body().returned().iter().zip(func.result_attrs()).enumerate() {
        match reader.read(attrs, &[rank(value)]) {
            Ok(stated) => results.extend(stated),
            Err(problem) => errors.push(sharding_error(func.span, format!("result {i}: {problem}"))),
        }
    }
    if errors.is_empty() { Ok(Stated { params, results, borders }) } else { Err(errors) }
}

/// Reads the shardings that an instruction states for its results. A custom call also states one for each
/// token that it returns in the program; the middle form has no tokens.
fn read_results(reader: &Reader<'_>, inst: Inst<'_>) -> Result<Vec<Option<Annotation>>, String> {
    let types = match inst.op() {
        Op::CustomCall(call) => call.types.as_ref().map(|types| types.results.as_slice()),
        _ => None,
    };
    let Some(types) = types.filter(|types| types.contains(&Type::Token)) else {
        let rank = |v: &ValueId| inst.func().tensor(*v).map_or(0, TensorType::rank);
        return reader.read(inst.attrs(), &inst.results().iter().map(rank).collect::<Vec<_>>());
    };
    let ranks: Vec<usize> = types.iter().map(|ty| ty.tensor().map_or(0, TensorType::rank)).collect();
    let stated = reader.read(inst.attrs(), &ranks)?;
    let of_tensors = stated.into_iter().zip(types).filter(|(_, ty)| **ty != Type::Token);
    Ok(of_tensors.map(|(stated, _)| stated).collect())
}

/// Returns the tensors of a function with their divisions.
fn values(func: &Func, shardings: &Shardings) -> Vec<ShardedValue> {
    let mut values = Vec::new();
    let mut add = |value: ValueId, defined_by: String, span: Span| {
        let Some(ty) = func.tensor(value) else { return };
        let group = shardings.of(value);
        let (ty, tiling) = (ty.clone(), group.tiling.clone());
        values.push(ShardedValue { defined_by, span, ty, tiling, source: group.source });
    };
    for (i, param) in func.params().iter().enumerate() {
        let name = func.param_name(i).map_or_else(String::new, |name| format!(" {name}"));
        add(*param, format!("parameter {i}{name}"), func.span);
    }
    func.walk(&mut |inst| {
        for result in inst.results().iter().filter(|_| propagate::is_divided(inst)) {
            add(*result, inst.op().name().to_owned(), inst.span());
        }
    });
    values
}

/// Returns a channel number that the program does not use.
fn next_channel(func: &Func) -> i64 {
    let mut last = 0;
    func.walk(&mut |inst| {
        let channel = match inst.op() {
            Op::AllGather(op) => op.groups.channel_id(),
            Op::AllReduce(groups) => groups.channel_id(),
            Op::ReduceScatter(op) => op.groups.channel_id(),
            Op::AllToAll(op) => op.groups.channel_id(),
            Op::CollectiveBroadcast(op) | Op::CollectiveReduce(op) => op.groups.channel_id(),
            Op::CollectivePermute(op) => op.channel.map_or(0, |channel| channel.handle),
            _ => 0,
        };
        // Channels near the maximum leave no room for new ones after them.
        if channel < i64::MAX / 2 {
            last = last.max(channel);
        }
    });
    last + 1
}
