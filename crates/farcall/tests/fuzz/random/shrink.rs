//! Makes a failing program smaller, as long as it still fails.

use std::time::{Duration, Instant};

use farcall::ir::module::{Rewriter, ValueMap};
use farcall::ir::{AttrDict, Func, FuncId, InstId, Literal, Module, Op, TensorType, ValueId, text, verify};

use super::check;
use super::generate::Program;

/// Maximum duration of shrinking.
const MAX_TIME: Duration = Duration::from_secs(20);

/// Returns the smallest failing program found.
pub(crate) fn shrink(p: &Program, fails: &dyn Fn(&Program) -> bool) -> Program {
    let (mut best, begin) = (p.clone(), Instant::now());
    loop {
        let before = text::print(&best.module).len();
        for step in [dead, results, calls, values, inputs] {
            step(&mut best, &|p: &Program| {
                begin.elapsed() < MAX_TIME && verify::verify(&p.module).is_ok() && fails(p)
            });
        }
        if text::print(&best.module).len() >= before || begin.elapsed() > MAX_TIME {
            return best;
        }
    }
}

type Fails<'a> = dyn Fn(&Program) -> bool + 'a;

/// Returns the id of the entry.
fn main_id(module: &Module) -> FuncId {
    module.func_id("main").unwrap_or(FuncId::new(0))
}

/// Replaces the best program if the new one fails, too.
fn take(best: &mut Program, new: Program, fails: &Fails<'_>) -> bool {
    let taken = fails(&new);
    if taken {
        *best = new;
    }
    taken
}

fn with_returned(p: &Program, returned: Vec<ValueId>, exact: Vec<bool>) -> Program {
    let mut new = Program { exact, ..p.clone() };
    let id = main_id(&new.module);
    let main = new.module.func_mut(id);
    let old = main.body().returned().to_vec();
    let attrs = returned.iter().map(|value| {
        let place = old.iter().position(|own| own == value);
        place.and_then(|i| main.result_attrs().get(i)).cloned().unwrap_or_default()
    });
    let attrs: Vec<AttrDict> = attrs.collect();
    if let Some(end) = main.body().terminator().map(|i| i.id()) {
        *main.operands_mut(end) = returned.into();
    }
    main.infer_result_types();
    main.set_result_attrs(attrs);
    new
}

/// Removes dead instructions one by one. An instruction is kept if the program fails only with it.
fn dead(best: &mut Program, fails: &Fails<'_>) {
    let mut skip = 0;
    loop {
        let id = main_id(&best.module);
        let main = &best.module[id];
        let mut used = vec![false; main.value_count()];
        let mut insts = Vec::new();
        main.walk(&mut |inst| {
            inst.operands().iter().for_each(|v| used[v.index()] = true);
            insts.push(inst);
        });
        insts.retain(|i| *i.op() != Op::Return && i.results().iter().all(|v| !used[v.index()]));
        let Some(inst) = insts.len().checked_sub(skip + 1).map(|i| insts[i].id()) else { return };
        let mut new = best.clone();
        new.module.func_mut(id).detach(inst);
        if !take(best, new, fails) {
            skip += 1;
        }
    }
}

/// Keeps only one result, or removes results one by one.
fn results(best: &mut Program, fails: &Fails<'_>) {
    let returned = |p: &Program| p.module[main_id(&p.module)].body().returned().to_vec();
    let all = returned(best);
    for (value, exact) in all.iter().zip(best.exact.clone()) {
        if all.len() > 1 && take(best, cleaned(&with_returned(best, vec![*value], vec![exact])), fails) {
            return;
        }
    }
    let mut i = 0;
    while i < best.exact.len() && best.exact.len() > 1 {
        let (mut values, mut exact) = (returned(best), best.exact.clone());
        values.remove(i);
        exact.remove(i);
        if !take(best, cleaned(&with_returned(best, values, exact)), fails) {
            i += 1;
        }
    }
}

/// Inlines calls.
fn calls(best: &mut Program, fails: &Fails<'_>) {
    let mut new = best.clone();
    let id = main_id(&new.module);
    let mut found = Vec::new();
    new.module[id].walk(&mut |inst| {
        if let [callee] = inst.op().callees() {
            found.push((inst.id(), *callee));
        }
    });
    for (inst, callee) in found {
        let callee = new.module[callee].clone();
        Rewriter::new(new.module.func_mut(id)).inline(inst, &callee);
    }
    let small = cleaned(&new);
    if !take(best, small, fails) {
        take(best, new, fails);
    }
}

/// Replaces values by zeros or inputs.
fn values(best: &mut Program, fails: &Fails<'_>) {
    let mut skip = 0;
    loop {
        let main = &best.module[main_id(&best.module)];
        let mut insts = Vec::new();
        main.walk(&mut |inst| {
            let zero = matches!(inst.op(), Op::Constant(l) if is_zero(l));
            if *inst.op() != Op::Return && !zero {
                insts.push(inst.id());
            }
        });
        // Go from the last instruction to the first, since later values depend on earlier values.
        let Some(inst) = insts.len().checked_sub(skip + 1).map(|i| insts[i]) else { return };
        let smaller = [zeroed(best, inst), as_input(best, inst)];
        let mut some = smaller.into_iter().flatten();
        if !some.any(|new| take(best, cleaned(&new), fails) || take(best, new, fails)) {
            skip += 1;
        }
    }
}

fn is_zero(l: &Literal) -> bool {
    l.is_splat() && l.iter().next().is_none_or(|x| !x.as_bool())
}

/// Replaces the results of an instruction by zeros.
fn zeroed(p: &Program, inst: InstId) -> Option<Program> {
    let mut new = p.clone();
    let id = main_id(&new.module);
    let main = new.module.func_mut(id);
    let types: Option<Vec<TensorType>> =
        main.inst(inst).results().iter().map(|v| main.tensor(*v).cloned()).collect();
    let types = types?;
    if types.iter().any(|t| t.quant.is_some() || !t.is_static()) {
        return None;
    }
    let mut r = Rewriter::new(main);
    let values: Vec<ValueId> = types
        .into_iter()
        .map(|ty| {
            let zeros = Literal::zeros(ty.dtype, ty.sizes());
            r.value_before(inst, Op::Constant(zeros), [], ty)
        })
        .collect();
    r.replace(inst, &values);
    Some(new)
}

/// Replaces the only result of an instruction by an input with the same value.
fn as_input(p: &Program, inst: InstId) -> Option<Program> {
    let id = main_id(&p.module);
    let view = p.module[id].inst(inst);
    let [value] = view.results() else { return None };
    let ty = p.module[id].tensor(*value).filter(|t| t.quant.is_none())?.clone();
    if view.parent()?.id() != Func::BODY || matches!(view.op(), Op::Constant(_)) {
        return None;
    }
    let alone = with_returned(p, vec![*value], vec![true]);
    let known = check::evaluated(&alone.module, &p.inputs, check::numerics(p)).ok()?.pop()?;
    let mut new = p.clone();
    let main = new.module.func_mut(id);
    let param = main.add_arg(Func::BODY, ty.into());
    Rewriter::new(main).replace(inst, &[param]);
    new.inputs.push(known);
    Some(new)
}

/// Replaces inputs by zeros.
fn inputs(best: &mut Program, fails: &Fails<'_>) {
    for i in 0..best.inputs.len() {
        let mut new = best.clone();
        let old = &best.inputs[i];
        new.inputs[i] = Literal::zeros(old.dtype(), old.dims());
        if new.inputs[i] != *old {
            take(best, new, fails);
        }
    }
}

/// Removes unused instructions, parameters and functions.
fn cleaned(p: &Program) -> Program {
    let mut module = p.module.clone();
    let id = main_id(&module);
    let main = module.func_mut(id);
    loop {
        let mut used = vec![false; main.value_count()];
        let mut insts = Vec::new();
        main.walk(&mut |inst| {
            inst.operands().iter().for_each(|v| used[v.index()] = true);
            insts.push((inst.id(), *inst.op() == Op::Return, inst.results().to_vec()));
        });
        let dead = |(_, end, results): &&(InstId, bool, Vec<ValueId>)| {
            !end && results.iter().all(|v| !used[v.index()])
        };
        let dead: Vec<InstId> = insts.iter().filter(dead).map(|(id, ..)| *id).collect();
        if dead.is_empty() {
            break;
        }
        dead.into_iter().for_each(|i| main.detach(i));
    }
    let old = &module[id];
    let mut used = vec![false; old.value_count()];
    old.walk(&mut |inst| inst.operands().iter().for_each(|v| used[v.index()] = true));
    let mut new = Func::new("main", old.span);
    let (mut map, mut inputs, mut attrs) = (ValueMap::default(), Vec::new(), Vec::new());
    for (i, param) in old.params().iter().enumerate() {
        if used[param.index()] {
            map.insert(*param, new.add_arg(Func::BODY, old.ty(*param).clone()));
            attrs.push(old.param_attrs()[i].clone());
            inputs.push(p.inputs[i].clone());
        }
    }
    for inst in old.body().insts() {
        let copy = new.import_inst(inst, &mut map);
        new.append(Func::BODY, copy);
    }
    new.set_param_attrs(attrs);
    new.set_result_types(old.results().iter().cloned());
    new.set_result_attrs(old.result_attrs().iter().cloned());
    let mut called = false;
    new.walk(&mut |inst| called |= !inst.op().callees().is_empty());
    let meshes = module.meshes.clone();
    let mut module = if called { module } else { Module::new(module.source) };
    module.meshes = meshes;
    if called {
        *module.func_mut(id) = new;
    } else {
        module.add_func(new);
    }
    Program { module, inputs, ..p.clone() }
}
