//! Partitioning of programs whose custom calls are ops of a registry.

use farcall_host::registry::{Platform, Registry};
use farcall_ir::middle;
use farcall_ir::module::Inst;
use farcall_ir::op::{Binary, Op};
use farcall_ir::verify::StaticModule;
use farcall_ir::{Func, ProgramError};
use farcall_partition::Partitioned;
use farcall_partition::call::{CallFactor, CallFactors, CallRules};
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
