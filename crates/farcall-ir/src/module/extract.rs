//! Extraction of one instruction as a program.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::{Func, FuncId, Inst, Module, NewInst, Region, ValueId, ValueMap};
use crate::op::Op;

impl<'f> Inst<'f> {
    /// Returns the values from outside the instruction that its regions use and that are not its operands, in
    /// the order of first use.
    pub fn free_values(self) -> Vec<ValueId> {
        fn region(r: Region<'_>, inside: &mut FxHashSet<ValueId>, found: &mut Vec<ValueId>) {
            inside.extend(r.args());
            for inst in r.insts() {
                for operand in inst.operands() {
                    if !inside.contains(operand) && !found.contains(operand) {
                        found.push(*operand);
                    }
                }
                inst.regions().for_each(|r| region(r, inside, found));
                inside.extend(inst.results());
            }
        }
        let (mut inside, mut found) = (FxHashSet::default(), Vec::new());
        inside.extend(self.operands());
        self.regions().for_each(|r| region(r, &mut inside, &mut found));
        found
    }
}

impl Module {
    /// Creates a program of one instruction of this module. `main` takes the instruction's operands, then the
    /// outer values that its regions use ([`Inst::free_values`]), and returns its results. Functions that the
    /// instruction calls, directly or through others, are included.
    pub fn extract(&self, inst: Inst<'_>) -> Module {
        let mut program = Module::new(Arc::clone(&self.source));
        program.attrs = self.attrs.clone();
        program.meshes.clone_from(&self.meshes);
        program.add_func(main_of(inst));
        // Each called function is added once. Calls get the new numbers at the end.
        let mut numbers: FxHashMap<FuncId, FuncId> = FxHashMap::default();
        let mut next = 0;
        while let Some(func) = program.funcs.get(next) {
            let mut mentioned = Vec::new();
            func.walk(&mut |i| mentioned.extend_from_slice(i.op().callees()));
            for id in mentioned {
                if let Some(callee) = self.get(id)
                    && !numbers.contains_key(&id)
                {
                    let new = program.add_func(callee.clone());
                    numbers.insert(id, new);
                }
            }
            next += 1;
        }
        // A called function with the name `main` keeps its name, and the new entry gets another name.
        let taken = program.funcs[1..].iter().any(|f| f.name == "main");
        if taken {
            program.funcs[0].name = "main.entry".to_owned();
        }
        program.funcs[1..].iter_mut().for_each(|f| f.public = false);
        program.renumber_callees(&|id| numbers.get(&id).copied().unwrap_or(id));
        program
    }
}

/// Creates a function of one instruction.
fn main_of(inst: Inst<'_>) -> Func {
    let from = inst.func();
    let mut main = Func::new("main", inst.span());
    let mut map = ValueMap::default();
    let operands: Vec<ValueId> =
        inst.operands().iter().map(|v| main.add_arg(Func::BODY, from.ty(*v).clone())).collect();
    for value in inst.free_values() {
        map.insert(value, main.add_arg(Func::BODY, from.ty(value).clone()));
    }
    map.extend(inst.operands().iter().copied().zip(operands.iter().copied()));
    let copy = main.import_inst(inst, &mut map);
    // An operand that occurs twice becomes two parameters.
    main.operands_mut(copy).copy_from_slice(&operands);
    main.append(Func::BODY, copy);
    let returned = main.inst(copy).results().to_vec();
    main.push(Func::BODY, NewInst::new(Op::Return, returned).at(inst.span(), None), []);
    main.infer_result_types();
    main
}
