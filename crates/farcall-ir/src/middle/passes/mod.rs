//! The passes of the middle form, one file each.
//!
//! A pass rewrites a program in the form to one that computes the same bits in every result (except [`excess`], which
//! adds precision). It has a [`Pass`] entry, which [`ALL`] lists, and filetests in `filetests/passes`.

pub mod canonicalize;
pub mod cse;
pub mod dce;
pub mod double;
pub mod excess;
pub mod expand;
pub mod fills;
pub mod fold;
pub mod folds;
pub mod fuse;
pub mod layouts;
pub mod licm;
pub mod moves;
pub mod outer;
pub mod products;
pub mod recompute;
pub mod regions;
pub mod simplify;
pub mod sink;
pub mod slices;
pub mod transposes;
pub mod unroll;
pub mod updates;
pub mod widen;
pub mod wraps;

use crate::eval::Numerics;
use crate::module::{Func, Inst, InstId, Region, RegionId, Rewriter, ValueId};
use crate::op::{Op, Traits};
use crate::types::TensorType;
use farcall_sig::DType;
use smallvec::SmallVec;

/// A pass, as pipelines and `--dump` name it.
#[derive(Debug)]
pub struct Pass {
    /// Its name: that of its file.
    pub name: &'static str,
    /// What it does, in one line.
    pub about: &'static str,
    /// Runs it over the only function of a module.
    pub run: fn(&mut Func, &Context),
}

/// What passes may want to know.
#[derive(Clone, Copy, Debug)]
pub struct Context {
    /// How the program computes.
    pub numerics: Numerics,
    /// Elements of the largest constant that [`fold`] makes.
    pub fold_limit: usize,
    /// Says which operations, on operands of these types, [`fuse`] may compute together: what has a kernel for tiles.
    pub fuses: fn(&Op, &[&TensorType], &TensorType) -> bool,
    /// Says which operations of two elements of a type can reduce the rows of what [`fuse`] computes together.
    pub reduces: fn(&Op, DType) -> bool,
    /// True for the fusions of [`products`] and [`moves`] that have a kernel, and for the reductions and
    /// sorts that have one without being rewritten by [`folds`] and [`regions`].
    pub computes: fn(Inst<'_>) -> bool,
    /// Called with the name of each rule of [`simplify`] that has been applied, for tests.
    pub on_rule: fn(&'static str),
}

impl Context {
    /// For a way to compute, with the usual limits.
    pub fn new(numerics: impl Into<Numerics>) -> Context {
        Context {
            numerics: numerics.into(),
            fold_limit: 1024,
            fuses: |_, _, _| false,
            reduces: |_, _| false,
            computes: |_| false,
            on_rule: |_| {},
        }
    }
}

/// Every pass.
pub static ALL: &[&Pass] = &[
    &canonicalize::PASS,
    &cse::PASS,
    &dce::PASS,
    &double::PASS,
    &excess::PASS,
    &expand::PASS,
    &fills::PASS,
    &fold::PASS,
    &folds::PASS,
    &fuse::PASS,
    &layouts::PASS,
    &licm::PASS,
    &moves::PASS,
    &outer::PASS,
    &products::PASS,
    &recompute::PASS,
    &regions::PASS,
    &simplify::PASS,
    &sink::PASS,
    &slices::PASS,
    &transposes::PASS,
    &unroll::PASS,
    &updates::PASS,
    &widen::PASS,
    &wraps::PASS,
];

/// The pass with a name.
pub fn named(name: &str) -> Option<&'static Pass> {
    ALL.iter().copied().find(|p| p.name == name)
}

/// True if dropping, duplicating or moving an instruction cannot be observed: nothing in it has a side effect,
/// and its results follow from its operands.
pub(crate) fn is_pure(inst: Inst<'_>) -> bool {
    let mut pure = own_purity(inst);
    inst.regions().for_each(|r| r.walk(&mut |i| pure &= own_purity(i)));
    pure
}

fn own_purity(inst: Inst<'_>) -> bool {
    match inst.op() {
        Op::CustomCall(call) => !call.has_side_effect && !inst.results().is_empty(),
        op => !op.info().is(Traits::SIDE_EFFECT) && !op.info().is(Traits::OPAQUE),
    }
}

/// Visits each instruction with its region, in the order of [`regions_inside_out`]: those that stand in a region when its
/// turn comes, and have not been erased since.
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

/// Takes out the instruction that makes a value, if nobody takes what it makes and it may go, and what only that took, on
/// the same terms.
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

/// True for regions that kernels read: reducers, comparators.
pub(crate) fn is_applied_to_elements(func: &Func, region: RegionId) -> bool {
    let owner = func.region(region).owner();
    owner.is_some_and(|inst| !matches!(inst.op(), Op::While | Op::If | Op::Case))
}

/// The regions of a function, those of an instruction before the one that it stands in.
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

/// Regions of a function. Most have few, and most passes ask for them.
pub(crate) type Regions = SmallVec<[RegionId; 8]>;
