//! Iotas that are not materialized. Some kernels, such as those of `argmax` and `argsort`, can compute
//! indices instead of reading them. An iota is not materialized if such kernels compute all instructions that
//! take it.

use farcall_ir::{Func, Inst, InstId, Op, ValueId};
use rustc_hash::FxHashMap;

use super::choices::{self, Choice};
use super::order;
use farcall_kernels::{KernelId, PreparedKernel};
use farcall_plan::Body;

/// Maximum number of rounds in which the materialization of one iota is propagated to others. Few programs
/// have instructions that take two iotas.
const MAX_ROUNDS: usize = 8;

/// Returns the choices for iotas that are not materialized, and for the instructions that take them. Other
/// instructions are not in the result.
pub(super) fn choose(func: &Func) -> FxHashMap<InstId, Choice> {
    let mut iotas: FxHashMap<ValueId, usize> = FxHashMap::default();
    for inst in order::instructions(func) {
        if let (Op::Iota { dim }, [result]) = (inst.op(), inst.results())
            && func.tensor(*result).is_some_and(|t| t.dtype.is_integer())
        {
            iotas.insert(*result, *dim);
        }
    }
    if iotas.is_empty() {
        return FxHashMap::default();
    }
    let mut users: Vec<(Inst<'_>, Option<FoundKernel>)> = Vec::new();
    for inst in order::instructions(func) {
        if inst.operands().iter().any(|v| iotas.contains_key(v)) {
            users.push((inst, kernel(inst, &iotas)));
        }
    }
    // An iota is materialized if any instruction that takes it has to read it from memory. An instruction
    // that takes one materialized iota reads all of its iotas from memory, so these are materialized as well.
    for round in 0.. {
        if round == MAX_ROUNDS {
            return FxHashMap::default();
        }
        let before = iotas.len();
        for (inst, found) in &mut users {
            let is_iota =
                |v: &ValueId| matches!(func.defining_inst(*v).map(|i| i.op()), Some(Op::Iota { .. }));
            if found.is_none() || inst.operands().iter().any(|v| is_iota(v) && !iotas.contains_key(v)) {
                *found = None;
                inst.operands().iter().for_each(|v| {
                    iotas.remove(v);
                });
            }
        }
        if iotas.len() == before {
            break;
        }
    }
    let made_by =
        |(value, dim): (&ValueId, &usize)| Some((func.defining_inst(*value)?.id(), Choice::Iota(*dim)));
    let mut chosen: FxHashMap<InstId, Choice> = iotas.iter().filter_map(made_by).collect();
    for (inst, found) in users {
        if let Some((kernel, bodies, prepared)) = found {
            chosen.insert(inst.id(), Choice::kernel(kernel, bodies, prepared));
        }
    }
    chosen
}

/// A kernel that [`choices::kernel`] found.
type FoundKernel = (KernelId, Vec<Body>, PreparedKernel);

/// Returns a kernel that runs an instruction and computes these iotas instead of reading them, if there is
/// one.
fn kernel(inst: Inst<'_>, iotas: &FxHashMap<ValueId, usize>) -> Option<FoundKernel> {
    let op = inst.op();
    if !(op.is_sort() || matches!(op, Op::Reduce { .. })) || !inst.captures().is_empty() {
        return None;
    }
    let dims: Vec<Option<usize>> = inst.operands().iter().map(|v| iotas.get(v).copied()).collect();
    choices::kernel(inst, &dims)
}
