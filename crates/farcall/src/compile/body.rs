//! Converts regions to the form that kernels read.

use farcall_ir::middle::passes::fuse;
use farcall_ir::{Inst, Op, Region, ValueId, reducer};
use rustc_hash::FxHashMap;

use crate::plan::{Body, BodyInst};

/// Most instructions of a region that a kernel is shown, but for fusions: what has a name is short.
const MAX_INSTS: usize = 256;

/// The regions of an instruction, whose last arguments are captured values; `None` if one is too long, or holds other
/// regions than those of reductions by one operation.
pub(super) fn bodies(inst: Inst<'_>) -> Option<Vec<Body>> {
    let most = if *inst.op() == Op::Fusion { fuse::LONGEST } else { MAX_INSTS };
    inst.regions().map(|region| body(region, most)).collect()
}

fn body(region: Region<'_>, most: usize) -> Option<Body> {
    let func = region.func();
    let last = region.terminator()?;
    let insts: Vec<Inst<'_>> = region.insts().take(most + 2).take_while(|i| i.id() != last.id()).collect();
    if insts.len() > most {
        return None;
    }
    let ty = |id: &ValueId| func.tensor(*id).cloned();
    let mut numbers: FxHashMap<ValueId, usize> = FxHashMap::default();
    numbers.reserve(region.args().len() + insts.len());
    numbers.extend(region.args().iter().copied().zip(0..));
    let numbered = |ids: &[ValueId], numbers: &FxHashMap<ValueId, usize>| {
        ids.iter().map(|id| numbers.get(id).copied()).collect::<Option<Vec<usize>>>()
    };
    let mut body = Body {
        args: region.args().iter().map(ty).collect::<Option<_>>()?,
        insts: Vec::with_capacity(insts.len()),
        returned: Vec::new(),
    };
    for inst in insts {
        let [result] = inst.results()[..] else { return None };
        let reducer = match (inst.op(), inst.regions().next()) {
            (_, None) => None,
            (Op::Reduce { .. }, Some(region)) => Some(reducer::of(region)?.inst.op().clone()),
            _ => return None,
        };
        let operands = numbered(inst.operands(), &numbers)?;
        numbers.insert(result, body.args.len() + body.insts.len());
        body.insts.push(BodyInst { op: inst.op().clone(), operands, ty: ty(&result)?, reducer });
    }
    body.returned = numbered(last.operands(), &numbers)?;
    Some(body)
}
