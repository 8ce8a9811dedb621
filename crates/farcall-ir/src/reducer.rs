//! Regions that apply one operation to their two arguments and do nothing else. Most reductions in programs
//! use such a region, and kernels are specialized for them.

use crate::module::{Inst, Region};

/// A region that applies one operation to its two arguments.
#[derive(Clone, Copy, Debug)]
pub struct BinaryRegion<'a> {
    /// The operation.
    pub inst: Inst<'a>,
    /// True if the operation takes the second argument first.
    pub swapped: bool,
}

/// Returns the operation that the region applies to its two arguments. `None` if the region does anything
/// else.
pub fn of(region: Region<'_>) -> Option<BinaryRegion<'_>> {
    let [inst, _] = region.exactly()?;
    let swapped = order(region.args(), inst.operands(), inst.results(), region.returned())?;
    inst.region_ids().is_empty().then_some(BinaryRegion { inst, swapped })
}

/// Recognizes a region that applies one operation to its two arguments. The region may have any
/// representation, since only its values are given: its arguments, the operands and results of its only
/// instruction, and the values that it returns. Returns `Some(true)` if the instruction takes the second
/// argument first, and `None` for any other region.
pub fn order<V: PartialEq>(args: &[V], operands: &[V], results: &[V], returned: &[V]) -> Option<bool> {
    let ([a, b], [x, y], [_]) = (args, operands, results) else { return None };
    let swapped = [x, y] == [b, a];
    ((swapped || [x, y] == [a, b]) && returned == results).then_some(swapped)
}
