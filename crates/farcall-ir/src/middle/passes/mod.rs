//! Passes over the middle form, one file each.
//!
//! A pass rewrites a program in the middle form to a program that computes the same bits in every result
//! (except [`excess_precision`], which adds precision). Each pass has a [`Pass`] entry, which [`PASSES`]
//! lists, and filetests in `filetests/passes`.

pub mod buffer_fills;
pub mod canonicalize;
pub mod constant_folding;
pub mod cse;
pub mod dce;
pub mod double_buffering;
pub mod excess_precision;
pub mod expand;
pub mod fuse;
pub mod if_conversion;
pub mod layouts;
pub mod licm;
pub mod movement_fusion;
pub mod negative_indices;
pub mod outer_products;
pub mod product_fusion;
pub mod region_loops;
pub mod rematerialization;
pub mod scatter_updates;
pub mod simplify;
pub mod sink;
pub mod slices;
pub mod transpose_folding;
pub mod unroll;
pub mod widen;

use crate::eval::Numerics;
use crate::module::{Func, Inst, InstId, Region, RegionId, Rewriter, ValueId};
use crate::op::{Op, Traits};
use crate::types::TensorType;
use farcall_sig::DType;
use smallvec::SmallVec;

/// A pass. Pipelines and `--dump` refer to a pass by its name.
#[derive(Debug)]
pub struct Pass {
    /// Name of the pass and of its file.
    pub name: &'static str,
    /// Description of the pass, in one line.
    pub about: &'static str,
    /// Runs the pass over the only function of a module.
    pub run: fn(&mut Func, &PassOptions),
}

/// Facts about the engine and the numerics that passes depend on.
#[derive(Clone, Copy, Debug)]
pub struct PassOptions {
    /// Semantics of the program's arithmetic.
    pub numerics: Numerics,
    /// Maximum number of elements of a constant that [`constant_folding`] creates.
    pub fold_limit: usize,
    /// Returns true for operations, on operands and a result of these types, that [`fuse`] may put into a
    /// fusion. The engine computes a fusion tile by tile (a block of elements at a time), and needs a kernel
    /// for tiles of each operation.
    pub fuses: fn(&Op, &[&TensorType], &TensorType) -> bool,
    /// Returns true for operations, on operands and a result of these types, that [`fuse`] duplicates into
    /// every fusion that uses them: cheap values (constants of one number, iotas, broadcasts), and movements
    /// of values from outside the fusion.
    pub duplicates: fn(&Op, &[&TensorType], &TensorType) -> bool,
    /// Returns true for operations on two elements of a type that can reduce the rows of a fusion.
    pub reduces: fn(&Op, DType) -> bool,
    /// Maximum sizes of fusions.
    pub fusion_limits: FusionLimits,
    /// Returns true for instructions that have a kernel: fusions of [`product_fusion`] and
    /// [`movement_fusion`], and reductions and sorts that [`region_loops`] and [`if_conversion`] need not
    /// rewrite.
    pub computes: fn(Inst<'_>) -> bool,
    /// Called with the name of each applied rule of [`simplify`], for tests.
    pub on_rule: fn(&'static str),
}

/// Maximum sizes of the fusions that the engine has kernels for.
#[derive(Clone, Copy, Debug)]
pub struct FusionLimits {
    /// Maximum number of members: operations that a fusion does not duplicate.
    pub members: usize,
    /// Maximum number of operations, duplicated operations included.
    pub ops: usize,
    /// Maximum number of elements of a row that is reduced at once.
    pub row_elements: usize,
}

impl PassOptions {
    /// Creates options for an engine without fusions; the size of fusions is not limited.
    pub fn new(numerics: impl Into<Numerics>) -> PassOptions {
        PassOptions {
            numerics: numerics.into(),
            fold_limit: 1024,
            fuses: |_, _, _| false,
            duplicates: |_, _, _| false,
            reduces: |_, _| false,
            fusion_limits: FusionLimits { members: usize::MAX, ops: usize::MAX, row_elements: usize::MAX },
            computes: |_| false,
            on_rule: |_| {},
        }
    }
}

/// All passes.
pub static PASSES: &[&Pass] = &[
    &buffer_fills::PASS,
    &canonicalize::PASS,
    &constant_folding::PASS,
    &cse::PASS,
    &dce::PASS,
    &double_buffering::PASS,
    &excess_precision::PASS,
    &expand::PASS,
    &fuse::PASS,
    &if_conversion::PASS,
    &layouts::PASS,
    &licm::PASS,
    &movement_fusion::PASS,
    &negative_indices::PASS,
    &outer_products::PASS,
    &product_fusion::PASS,
    &region_loops::PASS,
    &rematerialization::PASS,
    &scatter_updates::PASS,
    &simplify::PASS,
    &sink::PASS,
    &slices::PASS,
    &transpose_folding::PASS,
    &unroll::PASS,
    &widen::PASS,
];

/// Returns the pass with a name.
pub fn named(name: &str) -> Option<&'static Pass> {
    PASSES.iter().copied().find(|p| p.name == name)
}

/// Returns true if dropping, duplicating or moving an instruction cannot be observed: nothing in it has a
/// side effect, and its results follow from its operands. The results of a collective depend on other
/// processes, which have to run the same collectives in the same order.
pub(crate) fn is_pure(inst: Inst<'_>) -> bool {
    let mut pure = own_purity(inst);
    inst.regions().for_each(|r| r.walk(&mut |i| pure &= own_purity(i)));
    pure
}

fn own_purity(inst: Inst<'_>) -> bool {
    match inst.op() {
        Op::CustomCall(call) => !call.has_side_effect && !inst.results().is_empty(),
        op => {
            let info = op.info();
            !info.is(Traits::SIDE_EFFECT) && !info.is(Traits::OPAQUE) && !info.is(Traits::COLLECTIVE)
        }
    }
}

/// Visits each instruction with its region, in the order of [`regions_inside_out`]. Visits only instructions
/// that exist when the visit of their region begins, and have not been erased since.
pub(crate) fn each_inst(func: &mut Func, mut visit: impl FnMut(&mut Rewriter<'_>, RegionId, InstId)) {
    let regions = regions_inside_out(func);
    let mut r = Rewriter::new(func);
    let mut insts: SmallVec<[InstId; 16]> = SmallVec::with_capacity(r.func().inst_count());
    for region in regions {
        insts.clear();
        insts.extend(r.func().region(region).insts().map(|i| i.id()));
        for id in insts.iter().copied() {
            if r.func().inst(id).parent().is_some() {
                visit(&mut r, region, id);
            }
        }
    }
}

/// Erases the instruction that computes a value, if the value is unused and `may_go` allows it. The
/// instruction's operands are treated in the same way.
pub(crate) fn erase_unused(r: &mut Rewriter<'_>, value: ValueId, may_go: impl Fn(Inst<'_>) -> bool) {
    let mut open = vec![value];
    while let Some(value) = open.pop() {
        if let Some(inst) = r.func().defining_inst(value).filter(|inst| may_go(*inst))
            && inst.parent().is_some()
            && !r.is_used(value)
        {
            let (id, operands) = (inst.id(), inst.operands().to_vec());
            r.erase(id);
            open.extend(operands);
        }
    }
}

/// The regions of a function whose instructions run one by one, in the order of [`regions_inside_out`].
pub(crate) fn running_regions(func: &Func) -> Regions {
    let mut regions = regions_inside_out(func);
    regions.retain(|region| !is_applied_to_elements(func, *region));
    regions
}

/// Returns true for regions that kernels interpret: reducers, comparators.
pub(crate) fn is_applied_to_elements(func: &Func, region: RegionId) -> bool {
    let owner = func.region(region).owner();
    owner.is_some_and(|inst| !matches!(inst.op(), Op::While | Op::If | Op::Case))
}

/// The regions of a function; the regions of an instruction come before the region that contains it.
pub(crate) fn regions_inside_out(func: &Func) -> Regions {
    fn visit(region: Region<'_>, out: &mut Regions) {
        for inst in region.insts() {
            inst.regions().for_each(|r| visit(r, out));
        }
        out.push(region.id());
    }
    let mut out = Regions::new();
    visit(func.body(), &mut out);
    out
}

/// Regions of a function. Most functions have few regions, and most passes list them.
pub(crate) type Regions = SmallVec<[RegionId; 8]>;
