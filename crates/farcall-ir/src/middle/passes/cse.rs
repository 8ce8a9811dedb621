//! Common subexpressions: of equal operations on equal operands in one region, the first serves all.

use std::collections::HashMap;

use super::{Context, Pass, is_pure, regions_inside_out};
use crate::attr::AttrDict;
use crate::module::{Func, Inst, InstId, Rewriter, ValueId};
use crate::op::Op;
use crate::types::Type;

/// Common subexpressions.
pub static PASS: Pass =
    Pass { name: "cse", about: "of equal operations on equal operands, the first serves all", run };

/// What makes two instructions equal.
#[derive(PartialEq, Eq, Hash)]
struct Key {
    op: Op,
    operands: Vec<ValueId>,
    types: Vec<Type>,
    attrs: AttrDict,
}

#[expect(clippy::mutable_key_type, reason = "what changes in a literal is how it is kept, not what it is")]
fn run(func: &mut Func, _: &Context) {
    let regions = regions_inside_out(func);
    let mut r = Rewriter::new(func);
    for region in regions {
        let insts: Vec<InstId> = r.func().region(region).insts().map(|i| i.id()).collect();
        let mut seen: HashMap<Key, InstId> = HashMap::with_capacity(insts.len());
        for id in insts {
            let inst = r.func().inst(id);
            if !serves_all(inst) {
                continue;
            }
            let key = Key {
                op: inst.op().clone(),
                operands: inst.operands().to_vec(),
                types: inst.results().iter().map(|v| r.func().ty(*v).clone()).collect(),
                attrs: inst.attrs().clone(),
            };
            match seen.get(&key) {
                Some(first) => {
                    let values = r.func().inst(*first).results().to_vec();
                    r.replace(id, &values);
                }
                None => drop(seen.insert(key, id)),
            }
        }
    }
}

/// True for instructions of which one is as good as two. Regions are not compared, and a target is called as
/// often as the program says.
fn serves_all(inst: Inst<'_>) -> bool {
    is_pure(inst)
        && inst.region_ids().is_empty()
        && !inst.results().is_empty()
        && !matches!(inst.op(), Op::CustomCall(_))
}
