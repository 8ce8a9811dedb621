//! Partitioning of programs whose custom calls are ops of a registry.

use farcall_host::registry::{Platform, Registry};
use farcall_ir::diag::Diagnostics;
use farcall_ir::module::Inst;
use farcall_ir::op::Op;
use farcall_ir::op::collective::Grid;
use farcall_ir::sharding::{ProgramSharding, TileAssignment};
use farcall_ir::{Diagnostic, Module, TensorType, ValueId};
use farcall_partition::CallRules;
use farcall_partition::Partitioned;
use farcall_partition::grid::SubAxis;
use farcall_partition::tiling::Tiling;
use farcall_sig::signature::CallFactors;

use crate::{declared, resolve};

/// Targets that `jax.debug.callback(partitioned=True)` calls. Each device passes its parts.
const PARTITIONED_CALLBACKS: [&str; 2] =
    ["xla_ffi_partitioned_python_cpu_callback", "xla_ffi_partitioned_python_gpu_callback"];

/// The signatures of the ops that a program calls.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Signatures<'r> {
    pub(crate) registry: &'r Registry,
    pub(crate) platform: &'r Platform,
}

impl CallRules for Signatures<'_> {
    fn factors(&self, inst: Inst<'_>) -> Option<CallFactors> {
        let Op::CustomCall(call) = inst.op() else { return None };
        let target = self.registry.resolve(call, self.platform).ok()?;
        let declaration = target.declaration()?;
        let (operands, results) = resolve::types(inst, call);
        declared::factors(declaration, call, &operands, &results)
    }

    fn is_called_on_parts(&self, inst: Inst<'_>) -> bool {
        matches!(inst.op(), Op::CustomCall(call) if PARTITIONED_CALLBACKS.contains(&&*call.target))
    }
}

/// Divides a program in the middle form among the partitions of its grid. Returns the program of each device, and
/// how the devices divide the inputs and results; `None` for a single partition. If the program states no
/// sharding, every device computes everything, and the program stays as it is: `None` for the program.
///
/// # Errors
/// The errors of [`farcall_partition::partition`]; shardings for another number of devices.
pub(crate) fn partition_form(
    form: &Module,
    registry: &Registry,
    platform: &Platform,
) -> Result<Option<(Option<Module>, ProgramSharding)>, Diagnostics> {
    let grid = Grid::of(&form.attrs);
    let found = farcall_partition::partition(form, &Signatures { registry, platform });
    let found = found.map_err(|error| error.diagnostics.into_iter().collect::<Diagnostics>())?;
    let Some(found) = found else {
        return Ok((grid.partitions > 1).then(|| (None, replicated(form, grid))));
    };
    let Partitioned { module, grid: devices, .. } = found;
    if devices.devices() != grid.partitions || grid.replicas != 1 {
        let message =
            format!("the shardings need {} partitions, but the program is for {grid}", devices.devices());
        return Err(Diagnostics::from_iter([Diagnostic::global("sharding", message)]));
    }
    let func = &form.funcs()[0];
    let assignments = |values: &[ValueId],
                       tilings: &[Tiling],
                       unreduced: &[Vec<SubAxis>]|
     -> Vec<TileAssignment> {
        let sizes = values.iter().map(|v| func.tensor(*v).map_or(&[][..], TensorType::sizes));
        let tilings = tilings.iter().zip(unreduced).zip(sizes);
        tilings.map(|((tiling, unreduced), sizes)| tiling.assignment(&devices, sizes, unreduced)).collect()
    };
    let sharding = ProgramSharding {
        inputs: assignments(func.params(), &found.inputs, &found.unreduced_inputs),
        results: assignments(func.body().returned(), &found.outputs, &found.unreduced_outputs),
    };
    Ok(Some((Some(module), sharding)))
}

/// Returns the sharding of a program of which every device computes everything.
fn replicated(form: &Module, grid: Grid) -> ProgramSharding {
    let func = &form.funcs()[0];
    let whole = |value: &ValueId| {
        let sizes = func.tensor(*value).map_or(&[][..], TensorType::sizes).to_vec();
        TileAssignment::replicated(sizes, (0..grid.partitions).collect())
    };
    let returned = func.body().returned();
    ProgramSharding {
        inputs: func.params().iter().map(whole).collect(),
        results: returned.iter().map(whole).collect(),
    }
}
