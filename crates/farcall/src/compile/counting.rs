//! Iotas that are not made: all that takes them are kernels that count instead of reading them, as those of `argmax` and
//! `argsort` can.

use farcall_ir::{Func, Inst, InstId, Op, ValueId};
use rustc_hash::FxHashMap;

use super::choose::{self, Choice};
use super::order;
use crate::kernels::{KernelId, Prepared};
use crate::plan::Body;

/// How often it is looked at what an iota that is made means for others. Few programs have two that meet anywhere.
const ROUNDS: usize = 8;

/// How such iotas, and the instructions that take them, run. Others are not in the table.
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
    let mut users: Vec<(Inst<'_>, Option<Found>)> = Vec::new();
    for inst in order::instructions(func) {
        if inst.operands().iter().any(|v| iotas.contains_key(v)) {
            users.push((inst, kernel(inst, &iotas)));
        }
    }
    // Who reads one of its operands reads all of them, and what somebody reads is made.
    for round in 0.. {
        if round == ROUNDS {
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

/// What `choose` finds of a kernel.
type Found = (KernelId, Vec<Body>, Prepared);

/// The kernel that runs an instruction, if it counts instead of reading these operands.
fn kernel(inst: Inst<'_>, iotas: &FxHashMap<ValueId, usize>) -> Option<Found> {
    if !matches!(inst.op(), Op::Reduce { .. } | Op::Sort { .. }) || !inst.captures().is_empty() {
        return None;
    }
    let dims: Vec<Option<usize>> = inst.operands().iter().map(|v| iotas.get(v).copied()).collect();
    choose::kernel(inst, &dims)
}
