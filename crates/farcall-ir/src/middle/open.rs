//! Converts the middle form to a plain module, in which regions refer to outside values directly.

use crate::module::{FuncId, InstId, Module, RegionId, ValueIds, ValueMap};

/// Removes captures: regions use the outside values themselves instead of arguments for them. The result can be
/// printed as StableHLO for other systems.
pub fn open_regions(mut form: Module) -> Module {
    for id in form.func_ids() {
        open(&mut form, id);
    }
    form
}

fn open(form: &mut Module, id: FuncId) {
    let mut insts: Vec<(InstId, ValueIds)> = Vec::new();
    let mut regions: Vec<(RegionId, ValueIds)> = Vec::new();
    let mut outside = ValueMap::default();
    form[id].walk(&mut |inst| {
        if inst.captures().is_empty() {
            return;
        }
        insts.push((inst.id(), inst.own_operands().into()));
        for region in inst.regions() {
            regions.push((region.id(), region.own_args().into()));
            for (arg, value) in region.captured_args().iter().zip(inst.captures()) {
                // The walk visits an instruction before its regions, so the value of an outer capture is known.
                let value = outside.get(value).copied().unwrap_or(*value);
                outside.insert(*arg, value);
            }
        }
    });
    let func = form.func_mut(id);
    func.replace_operands(&outside);
    for (inst, operands) in insts {
        let operands = operands.iter().map(|v| outside.get(v).copied().unwrap_or(*v)).collect();
        func.set_captures(inst, operands, 0);
    }
    for (region, args) in regions {
        func.set_args(region, args);
    }
}
