//! Partitioning of programs whose custom calls are ops of a registry.

use farcall_host::registry::{Platform, Registry};
use farcall_ir::diag::Diagnostics;
use farcall_ir::module::Inst;
use farcall_ir::op::collective::Grid;
use farcall_ir::op::{Binary, Op};
use farcall_ir::sharding::ProgramSharding;
use farcall_ir::verify::StaticModule;
use farcall_ir::{Diagnostic, Func, Module, ProgramError, middle};
use farcall_partition::Partitioned;
use farcall_partition::call::{CallFactor, CallFactors, CallRules};
use farcall_partition::tiling::Tiling;
use farcall_sig::signature::{FactorKind, Reducer};

use crate::blocks::Blocks;
use crate::program::CompileOptions;
use crate::{declared, resolve};

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
        let found = declared::factors(declaration, call, &operands, &results)?;
        let factor = |kind: FactorKind| match kind {
            FactorKind::Split => (true, None),
            FactorKind::Whole => (false, None),
            FactorKind::Reduce(reducer) => (true, Some(function(reducer))),
        };
        let factors = found.factors.iter().map(|found| {
            let (is_divisible, combine) = factor(found.kind);
            Some(CallFactor { size: usize::try_from(found.size).ok()?, is_divisible, combine })
        });
        Some(CallFactors {
            factors: factors.collect::<Option<_>>()?,
            operands: found.operands,
            results: found.results,
            offsets: found.offsets,
        })
    }
}

/// Returns the function that combines the partial results of a reduced factor.
fn function(reducer: Reducer) -> Binary {
    match reducer {
        Reducer::Sum => Binary::Add,
        Reducer::Prod => Binary::Multiply,
        Reducer::Max => Binary::Maximum,
        Reducer::Min => Binary::Minimum,
        Reducer::And => Binary::And,
        Reducer::Or => Binary::Or,
    }
}

/// Divides a program in the middle form among the partitions of its grid. Returns the program of each device, and
/// how the devices divide the inputs and results; `None` if the program states no sharding.
///
/// # Errors
/// The errors of [`farcall_partition::partition`]; shardings for another number of devices.
pub(crate) fn partition_form(
    form: &Module,
    registry: &Registry,
    platform: &Platform,
) -> Result<Option<(Module, ProgramSharding)>, Diagnostics> {
    let grid = Grid::of(&form.attrs);
    let found = farcall_partition::partition(form, &Signatures { registry, platform });
    let found = found.map_err(|error| error.diagnostics.into_iter().collect::<Diagnostics>())?;
    let Some(Partitioned { mut module, grid: devices, inputs, outputs, .. }) = found else { return Ok(None) };
    if devices.devices() != grid.partitions || grid.replicas != 1 {
        let message =
            format!("the shardings are for {} partitions, but the program is for {grid}", devices.devices());
        return Err(Diagnostics::from_iter([Diagnostic::global("sharding", message)]));
    }
    module.attrs.clone_from(&form.attrs);
    let assignments =
        |tilings: &[Tiling]| tilings.iter().map(|tiling| tiling.assignment(&devices)).collect::<Vec<_>>();
    let sharding = ProgramSharding { inputs: assignments(&inputs), results: assignments(&outputs) };
    Ok(Some((module, sharding)))
}

/// Divides `entry`, a function of the module, among the devices of its shardings. Returns `None` if the program
/// states no sharding, or only shardings for one device.
///
/// # Errors
/// The errors of [`farcall_partition::partition`], and of the lowerings of the program's composites.
pub fn partition(
    module: &StaticModule<'_>,
    entry: &Func,
    registry: &Registry,
    options: &CompileOptions,
) -> Result<Option<Partitioned>, ProgramError> {
    let options = options.stage_options();
    let mut blocks = Blocks::new(&module.source, registry, &options);
    let form = middle::build_lowered(module, entry, &mut blocks);
    let form = form.map_err(|diagnostic| ProgramError::new(&module.source, diagnostic))?;
    farcall_partition::partition(&form, &Signatures { registry, platform: options.platform })
}
