//! Fusion of products with their users. A product, the fusion that uses its result, and the products that use
//! the fusion's results become one instruction if the engine can compute such an instruction by blocks of
//! rows. The intermediate results are then never materialized. A transpose after the last product may be
//! included; the result is then written in transposed order.
//!
//! ```text
//! scores = dot(q, k);  weights = fusion(scores);  out = dot(weights, v)
//!     ──▶  out = fusion(q, k, v) { dot, the operations of the fusion, dot }
//! ```

use super::{Pass, PassOptions, each_inst, is_applied_to_elements};
use crate::module::{Func, InstId, NewInst, RegionId, Rewriter, ValueId, ValueMap};
use crate::op::{FormOp, Op};
use crate::types::Type;

/// The product fusion pass.
pub static PASS: Pass =
    Pass { name: "product_fusion", about: "fuses products with their users, by blocks of rows", run };

/// Maximum number of products and fusions that become one instruction.
const MAX_STEPS: usize = 8;

fn run(func: &mut Func, cx: &PassOptions) {
    each_inst(func, |r, region, inst| {
        let mut chain = chain(r, region, inst);
        while chain.len() > 1 && !join(r, &chain, cx) {
            chain.pop();
            drop_trailing_reshapes(r, &mut chain);
        }
    });
}

/// A product and the chain of its users in a region, where each result has a single user. There may be
/// reshapes between these instructions, and the last product may be transposed.
fn chain(r: &Rewriter<'_>, region: RegionId, product: InstId) -> Vec<InstId> {
    let op = |id: &InstId| r.func().inst(*id).op();
    let is_product = |op: &Op| matches!(op, Op::DotGeneral(_));
    let mut chain: Vec<InstId> = Vec::new();
    let is_first = is_product(op(&product)) && !is_applied_to_elements(r.func(), region);
    let mut next = Some(product).filter(|_| is_first);
    while let Some(id) = next {
        let inst = r.func().inst(id);
        if inst.parent().map(|p| p.id()) != Some(region) {
            break;
        }
        let mut computing = chain.iter().rev().map(op).filter(|op| **op != Op::Reshape);
        let last = computing.next();
        if last.is_some() && computing.count() + 1 == MAX_STEPS {
            break;
        }
        match inst.op() {
            Op::Reshape => {}
            Op::Transpose { .. } if chain.last().is_some_and(|last| is_product(op(last))) => {
                chain.push(id);
                break;
            }
            this @ (Op::DotGeneral(_) | Op::Form(FormOp::Fusion))
                if last.is_none_or(|last| is_product(this) != is_product(last)) => {}
            _ => break,
        }
        chain.push(id);
        next = match inst.results() {
            [only] => match r.users(*only) {
                [user] => Some(*user),
                _ => None,
            },
            _ => None,
        };
    }
    drop_trailing_reshapes(r, &mut chain);
    chain
}

fn drop_trailing_reshapes(r: &Rewriter<'_>, chain: &mut Vec<InstId>) {
    while chain.last().is_some_and(|last| *r.func().inst(*last).op() == Op::Reshape) {
        chain.pop();
    }
}

/// Joins a chain of instructions into a fusion in place of the last instruction. All instructions but the
/// last are used only by later instructions of the chain. Returns false and changes nothing if the engine
/// does not compute such a fusion.
pub(super) fn join(r: &mut Rewriter<'_>, chain: &[InstId], cx: &PassOptions) -> bool {
    let func = r.func();
    let Some(last) = chain.last().map(|id| func.inst(*id)) else { return false };
    let made = |v: &ValueId| func.defining_inst(*v).is_some_and(|i| chain.contains(&i.id()));
    let mut operands: Vec<ValueId> = Vec::new();
    for v in chain.iter().flat_map(|id| func.inst(*id).operands()).filter(|v| !made(v)) {
        if !operands.contains(v) {
            operands.push(*v);
        }
    }
    let results = last.results().to_vec();
    let types: Vec<Type> = results.iter().map(|v| func.ty(*v).clone()).collect();
    let (id, span, loc) = (last.id(), last.span(), last.loc().cloned());
    let region = r.new_region(|func, region| fill(func, region, chain, &operands, &results));
    let new = NewInst::new(FormOp::Fusion.into(), operands).with_regions([region]).at(span, loc);
    let joined = r.insert_before(id, new, types);
    if !(cx.computes)(r.func().inst(joined)) {
        r.erase(joined);
        return false;
    }
    for (i, old) in results.into_iter().enumerate() {
        let new = r.func().inst(joined).results()[i];
        r.replace_uses(old, new);
    }
    chain.iter().rev().for_each(|id| r.erase(*id));
    true
}

/// Copies the instructions of a chain, and the contents of its fusions, into a region.
fn fill(func: &mut Func, region: RegionId, chain: &[InstId], operands: &[ValueId], results: &[ValueId]) {
    let mut map = ValueMap::default();
    for v in operands {
        let ty = func.ty(*v).clone();
        map.insert(*v, func.add_arg(region, ty));
    }
    for id in chain {
        let inst = func.inst(*id);
        let Some(inside) = inst.region(0).filter(|_| inst.op().is_fusion()) else {
            let copy = func.clone_inst(*id, &mut map);
            func.append(region, copy);
            continue;
        };
        map.extend(
            inside.args().iter().zip(inst.operands()).map(|(arg, v)| (*arg, map[v])).collect::<Vec<_>>(),
        );
        let made: Vec<(ValueId, ValueId)> =
            inst.results().iter().copied().zip(inside.returned().iter().copied()).collect();
        let members: Vec<InstId> = inside.insts().filter(|i| *i.op() != Op::Return).map(|i| i.id()).collect();
        for member in members {
            let copy = func.clone_inst(member, &mut map);
            func.append(region, copy);
        }
        for (result, returned) in made {
            let inside = map[&returned];
            map.insert(result, inside);
        }
    }
    let returned: Vec<ValueId> = results.iter().map(|v| map[v]).collect();
    func.push(region, NewInst::new(Op::Return, returned), []);
}
