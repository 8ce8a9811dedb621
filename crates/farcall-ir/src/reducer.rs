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
    let [inst, _] = region.exactly()?;
    let swapped = order(region.args(), inst.operands(), inst.results(), region.returned())?;
    inst.region_ids().is_empty().then_some(Reducer { inst, swapped })
}

/// The same for any kind of region, by its values: the arguments, what its only instruction takes and gives, and what
/// is returned. True if the instruction takes the second argument first.
pub fn order<V: PartialEq>(args: &[V], operands: &[V], results: &[V], returned: &[V]) -> Option<bool> {
    let ([a, b], [x, y], [_]) = (args, operands, results) else { return None };
    let swapped = [x, y] == [b, a];
    ((swapped || [x, y] == [a, b]) && returned == results).then_some(swapped)
}
