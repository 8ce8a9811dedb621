//! Regions that apply one operation to their two arguments and do nothing else. Most programs reduce with these, and
//! kernels are written for them.

use crate::module::{Inst, Region};

/// A region that applies one operation to its two arguments.
#[derive(Clone, Copy, Debug)]
pub struct Reducer<'a> {
    /// The operation, on the arguments.
    pub inst: Inst<'a>,
    /// It takes the second argument first.
    pub swapped: bool,
}

/// What the region applies to its two arguments; `None` if it does anything else, or anything besides.
pub fn of(region: Region<'_>) -> Option<Reducer<'_>> {
    let ([a, b], [inst, _]) = (region.args(), region.exactly()?) else { return None };
    let swapped = inst.operands() == [*b, *a];
    let applies = (swapped || inst.operands() == [*a, *b])
        && inst.region_ids().is_empty()
        && inst.results().len() == 1
        && region.returned() == inst.results();
    applies.then_some(Reducer { inst, swapped })
}
