//! Equality of functions as programs, regardless of the ids of their values.

use std::collections::HashMap;

use super::{Func, Inst, Region, ValueId};

impl PartialEq for Func {
    fn eq(&self, other: &Func) -> bool {
        self.name == other.name
            && self.public == other.public
            && self.param_attrs() == other.param_attrs()
            && self.results() == other.results()
            && self.result_attrs() == other.result_attrs()
            && self.attrs == other.attrs
            && Correspondence::default().region(self.body(), other.body())
    }
}

/// Maps values of one function to the corresponding values of the other.
#[derive(Default)]
struct Correspondence(HashMap<ValueId, ValueId>);

impl Correspondence {
    fn region(&mut self, a: Region<'_>, b: Region<'_>) -> bool {
        let (mut left, mut right) = (a.insts(), b.insts());
        if !self.define((a.func(), a.args()), (b.func(), b.args())) {
            return false;
        }
        loop {
            match (left.next(), right.next()) {
                (None, None) => return true,
                (Some(a), Some(b)) if self.inst(a, b) => {}
                _ => return false,
            }
        }
    }

    fn inst(&mut self, a: Inst<'_>, b: Inst<'_>) -> bool {
        let uses = |(a, b): (&ValueId, &ValueId)| self.0.get(a).is_none_or(|known| known == b);
        a.op() == b.op()
            && a.attrs() == b.attrs()
            && a.captures().len() == b.captures().len()
            && a.operands().len() == b.operands().len()
            && a.operands().iter().zip(b.operands()).all(uses)
            && a.regions().len() == b.regions().len()
            && a.regions().zip(b.regions()).all(|(a, b)| self.region(a, b))
            && self.define((a.func(), a.results()), (b.func(), b.results()))
    }

    fn define(&mut self, (f, a): (&Func, &[ValueId]), (g, b): (&Func, &[ValueId])) -> bool {
        self.0.extend(a.iter().copied().zip(b.iter().copied()));
        a.len() == b.len() && a.iter().zip(b).all(|(a, b)| f.ty(*a) == g.ty(*b))
    }
}
