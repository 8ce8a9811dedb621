//! Dead code elimination: drops instructions whose results are unused, and unused carried values and
//! captures.
//!
//! Results without elements are replaced by constants, so a call is dropped if all its other results are
//! dead. (JAX's decompositions of empty matrices rely on this.)

use smallvec::SmallVec;

use super::{Pass, PassOptions, own_purity};
use crate::literal::Literal;
use crate::module::{Func, Inst, InstId, RegionId, Rewriter, ValueDef, ValueId, ValueIds, kept};
use crate::op::Op;
use crate::types::Type;

/// The dead code elimination pass.
pub static PASS: Pass =
    Pass { name: "dce", about: "drops instructions, carried values and captures that are never read", run };

fn run(func: &mut Func, _: &PassOptions) {
    let (mut empty, mut effects) = (Vec::new(), Vec::new());
    func.walk(&mut |inst| {
        if has_empty_result(inst) {
            empty.push(inst.id());
        }
        if *inst.op() != Op::Return && !own_purity(inst) {
            effects.push(inst.id());
        }
    });
    replace_empty_results(func, empty);
    let live = Live::of(func, &effects);
    sweep(func, Func::BODY, &live);
}

fn has_empty_result(inst: Inst<'_>) -> bool {
    let is_empty = |v: &ValueId| inst.func().tensor(*v).is_some_and(|t| t.elements() == Some(0));
    !matches!(inst.op(), Op::Constant(_) | Op::While) && inst.results().iter().any(is_empty)
}

/// Replaces results without elements by constants, so that they keep no instruction alive.
fn replace_empty_results(func: &mut Func, found: Vec<InstId>) {
    if found.is_empty() {
        return;
    }
    let mut r = Rewriter::new(func);
    for inst in found {
        let results = r.func().inst(inst).results().to_vec();
        for result in results {
            let Type::Tensor(ty) = r.func().ty(result).clone() else { continue };
            if ty.elements() == Some(0) && ty.quant.is_none() && r.is_used(result) {
                let literal = Literal::zeros(ty.dtype, ty.sizes());
                let constant = r.value_before(inst, Op::Constant(literal), [], ty);
                r.replace_uses(result, constant);
            }
        }
    }
}

/// Live values and instructions.
struct Live {
    values: Vec<bool>,
    /// Live instructions: instructions with side effects or live results, and the instructions that contain
    /// them.
    insts: Vec<bool>,
}

impl Live {
    /// Computes liveness; `effects` lists the instructions that themselves have side effects.
    fn of(func: &Func, effects: &[InstId]) -> Live {
        let mut live =
            Live { values: vec![false; func.value_count()], insts: vec![false; func.inst_count()] };
        let mut todo: Vec<ValueId> = func.body().returned().to_vec();
        effects.iter().for_each(|inst| live.keep(func.inst(*inst), &mut todo));
        while let Some(value) = todo.pop() {
            if !std::mem::replace(&mut live.values[value.index()], true) {
                live.reads_of(func, value, &mut todo);
            }
        }
        live
    }

    /// Marks an instruction as live, with the values that it always reads.
    fn keep(&mut self, inst: Inst<'_>, todo: &mut Vec<ValueId>) {
        if std::mem::replace(&mut self.insts[inst.id().index()], true) {
            return;
        }
        match inst.op() {
            // A `while` always reads its condition, and an `if` or `case` its predicate. Which other values
            // these operations read depends on which of their results are live.
            Op::While => todo.extend(inst.region(0).and_then(|r| r.returned().first())),
            Op::If | Op::Case => todo.extend(inst.own_operands()),
            _ => {
                todo.extend(inst.own_operands());
                inst.regions().for_each(|r| todo.extend(r.returned()));
            }
        }
        if let Some(owner) = inst.parent().and_then(|r| r.owner()) {
            self.keep(owner, todo);
        }
    }

    /// Visits the values that a live value is computed from.
    fn reads_of(&mut self, func: &Func, value: ValueId, todo: &mut Vec<ValueId>) {
        match func.def(value) {
            ValueDef::Result(inst, i) => {
                let inst = func.inst(inst);
                self.keep(inst, todo);
                let i = i as usize;
                match inst.op() {
                    Op::While => {
                        todo.extend(inst.own_operands().get(i));
                        todo.extend(inst.region(1).and_then(|body| body.returned().get(i)));
                        inst.regions().for_each(|r| todo.extend(r.args().get(i)));
                    }
                    Op::If | Op::Case => inst.regions().for_each(|r| todo.extend(r.returned().get(i))),
                    _ => {}
                }
            }
            ValueDef::Arg(region, i) => {
                let region = func.region(region);
                let Some(owner) = region.owner() else { return };
                let (i, own) = (i as usize, region.own_args().len());
                if i >= own {
                    todo.extend(owner.captures().get(i - own));
                } else if *owner.op() == Op::While {
                    // A carried value is also a result of the loop.
                    todo.extend(owner.results().get(i));
                }
            }
            ValueDef::Nowhere => {}
        }
    }

    fn is_read(&self, value: &ValueId) -> bool {
        self.values[value.index()]
    }
}

fn sweep(func: &mut Func, region: RegionId, live: &Live) {
    let insts: SmallVec<[InstId; 16]> = func.region(region).insts().map(|i| i.id()).collect();
    for id in insts {
        let inst = func.inst(id);
        if *inst.op() == Op::Return {
            continue;
        }
        if !live.insts[id.index()] {
            func.detach(id);
            continue;
        }
        if inst.region_ids().is_empty() {
            continue;
        }
        let regions = SmallVec::<[RegionId; 2]>::from(inst.region_ids());
        drop_captures(func, id, live);
        match func.inst(id).op() {
            Op::While => drop_carried(func, id, live),
            Op::If | Op::Case => drop_chosen(func, id, live),
            _ => {}
        }
        regions.into_iter().for_each(|r| sweep(func, r, live));
    }
}

/// Drops captures whose arguments are dead in every region.
fn drop_captures(func: &mut Func, inst: InstId, live: &Live) {
    let view = func.inst(inst);
    let own = view.own_operands().len();
    let keep: Vec<bool> = (0..view.captures().len())
        .map(|i| view.regions().any(|r| live.is_read(&r.captured_args()[i])))
        .collect();
    if keep.iter().all(|k| *k) {
        return;
    }
    let kept = |list: &[ValueId], own: usize| {
        let mut all = ValueIds::from_slice(&list[..own]);
        all.extend(kept(&list[own..], &keep));
        all
    };
    let args: Vec<(RegionId, ValueIds)> =
        view.regions().map(|r| (r.id(), kept(r.args(), r.own_args().len()))).collect();
    let operands = kept(view.operands(), own);
    args.into_iter().for_each(|(region, args)| func.set_args(region, args));
    let captures = operands.len() - own;
    func.set_captures(inst, operands, captures);
}

/// Drops dead carried values of a loop.
fn drop_carried(func: &mut Func, inst: InstId, live: &Live) {
    let view = func.inst(inst);
    let keep: Vec<bool> = view
        .results()
        .iter()
        .enumerate()
        .map(|(i, v)| live.is_read(v) || view.regions().any(|r| live.is_read(&r.args()[i])))
        .collect();
    if keep.contains(&false) {
        func.keep_carried(inst, &keep);
    }
}

/// Drops dead results of branches.
fn drop_chosen(func: &mut Func, inst: InstId, live: &Live) {
    let view = func.inst(inst);
    let keep: Vec<bool> = view.results().iter().map(|v| live.is_read(v)).collect();
    if keep.iter().all(|k| *k) {
        return;
    }
    let results = kept(view.results(), &keep);
    let returns: Vec<(InstId, ValueIds)> =
        view.regions().filter_map(|r| r.terminator()).map(|t| (t.id(), kept(t.operands(), &keep))).collect();
    for (id, returned) in returns {
        *func.operands_mut(id) = returned;
    }
    func.keep_results(inst, results);
}
