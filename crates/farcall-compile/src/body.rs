//! Converts regions to the form that kernels read.

use farcall_ir::{Inst, Op, Region, ValueId, reducer};
use farcall_kernels::FUSION_LIMITS;
use rustc_hash::FxHashMap;

use farcall_plan::{Body, BodyInst};

/// Maximum number of instructions of a region that is shown to a kernel, except for fusions: regions that
/// kernels recognize are short.
const MAX_REGION_INSTS: usize = 256;

/// Converts the regions of an instruction, whose last arguments are captured values. `None` if a region is
/// too long, or has an instruction with regions, unless this instruction is a reduction by a single
/// operation.
pub(super) fn bodies(inst: Inst<'_>) -> Option<Vec<Body>> {
    let max_insts = if inst.op().is_fusion() { FUSION_LIMITS.ops } else { MAX_REGION_INSTS };
    inst.regions().map(|region| body(region, max_insts)).collect()
}

fn body(region: Region<'_>, max_insts: usize) -> Option<Body> {
    let func = region.func();
    let last = region.terminator()?;
    let insts: Vec<Inst<'_>> =
        region.insts().take(max_insts + 2).take_while(|i| i.id() != last.id()).collect();
    if insts.len() > max_insts {
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
