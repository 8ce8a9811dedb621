//! Roles of instructions in fusions: members, duplicated instructions, and all others.

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use crate::middle::passes::{PassOptions, is_pure, simplify};
use crate::middle::rows;
use crate::module::{Func, Inst, InstId, InstMap, ValueId};
use crate::op::Op;
use crate::reducer;
use crate::types::TensorType;

/// The role of an instruction in fusions.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::middle::passes) enum Role {
    /// Can be a member of a fusion over this number of elements, at this level.
    Member(usize, Level),
    /// Is duplicated into every fusion that uses it.
    Cheap,
    /// Is duplicated like [`Role::Cheap`], and repeats one element per row in a fusion over this number of
    /// elements.
    Repeat(usize),
    /// Cannot be part of a fusion.
    Other,
}

/// The elements that a member computes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::middle::passes) enum Level {
    /// All elements of the rows.
    Full,
    /// One element for each row.
    Row,
    /// One element for each position in a row, or a single element, combined from all rows.
    Column,
}

/// Roles of the instructions of the regions added so far.
pub(in crate::middle::passes) struct Roles {
    of: InstMap<Role>,
}

/// Facts about a region that decide the roles of its instructions.
struct RegionFacts {
    /// Row length of a fusion, by its number of elements. A row is a run of elements that a reduction
    /// combines into one element.
    rows: FxHashMap<usize, usize>,
    /// Comparisons that are recomputed in every fusion, since loading their mask would take as long (see
    /// [`masks`]).
    masks: FxHashSet<InstId>,
}

impl Roles {
    /// Creates an empty table; [`Roles::add`] fills in the roles.
    pub(in crate::middle::passes) fn new(func: &Func) -> Roles {
        Roles { of: InstMap::new(func) }
    }

    /// Determines the roles of the instructions of a region.
    pub(in crate::middle::passes) fn add(&mut self, insts: &[Inst<'_>], cx: &PassOptions) {
        let mut rows: FxHashMap<usize, usize> = FxHashMap::default();
        for inst in insts {
            if let Some(Reduction { n, columns: Some(columns), .. }) = reduction(*inst, cx) {
                let least = rows.entry(n).or_insert(columns);
                *least = columns.min(*least);
            }
        }
        let facts = RegionFacts { masks: masks(insts, &rows, cx), rows };
        for inst in insts {
            self.of.insert(inst.id(), self.role(*inst, &facts, cx));
        }
    }

    fn role(
        &self,
        inst: Inst<'_>,
        RegionFacts { rows: lengths, masks }: &RegionFacts,
        cx: &PassOptions,
    ) -> Role {
        if let Some(Reduction { n, columns, accumulates }) = reduction(inst, cx) {
            return match (columns.is_some() && columns == lengths.get(&n).copied(), accumulates) {
                (true, _) => Role::Member(n, Level::Row),
                (false, true) => Role::Member(n, Level::Column),
                (false, false) => Role::Other,
            };
        }
        let role = own_role(inst, cx);
        let Some(ty) = inst.results().first().and_then(|r| inst.func().tensor(*r)) else { return role };
        let made = |v: &ValueId| inst.func().defining_inst(*v).and_then(|i| self.of.get(i.id()));
        // Number of elements of the fusion, if an operand has one element for each row.
        let of_rows = inst.operands().iter().find_map(|v| match made(v) {
            Some(Role::Member(n, Level::Row)) => Some(n),
            _ => None,
        });
        let rows = of_rows.and_then(|n| Some(n / lengths.get(&n)?));
        match (role, inst.op(), of_rows) {
            (Role::Member(m, _), _, Some(n)) if Some(m) == rows => Role::Member(n, Level::Row),
            (Role::Cheap, Op::BroadcastInDim { dims }, Some(n)) => {
                let from = inst.func().tensor(inst.operands()[0]);
                let columns = from.and_then(|from| rows::repeated(from, ty, dims));
                match columns == lengths.get(&n).copied() && ty.elements() == Some(n) {
                    true => Role::Repeat(n),
                    false if ty.elements() == rows => Role::Member(n, Level::Row),
                    false => Role::Cheap,
                }
            }
            // A view of a member is a member of the same fusion; a view of any other value is cheap.
            (Role::Member(n, _), Op::Reshape | Op::BitcastConvert, _)
                if made(&inst.operands()[0]) != Some(role) =>
            {
                debug_assert_eq!(ty.elements(), Some(n));
                Role::Cheap
            }
            (Role::Member(..), Op::Compare(_), _) if masks.contains(&inst.id()) => Role::Cheap,
            _ => role,
        }
    }

    /// The role of an instruction whose region has been added.
    pub(super) fn of(&self, inst: InstId) -> Role {
        self.of.get(inst).expect("an instruction of a region has a role")
    }

    /// The role of an instruction, if its region has been added.
    pub(in crate::middle::passes) fn get(&self, inst: InstId) -> Option<Role> {
        self.of.get(inst)
    }

    /// Returns true for instructions that are duplicated into the fusions that use them.
    pub(in crate::middle::passes) fn is_cheap(&self, inst: InstId) -> bool {
        matches!(self.of.get(inst), Some(Role::Cheap | Role::Repeat(_)))
    }

    /// The level of a member; `None` for other instructions.
    pub(super) fn level(&self, inst: InstId) -> Option<Level> {
        match self.of.get(inst)? {
            Role::Member(_, level) => Some(level),
            _ => None,
        }
    }
}

/// A reduction that can be a member of a fusion.
struct Reduction {
    /// Number of elements of the operand.
    n: usize,
    /// Number of elements in a row, if the reduction reduces rows.
    columns: Option<usize>,
    /// True if the reduction starts from a constant and combines either elements of different rows or all
    /// elements.
    accumulates: bool,
}

fn reduction(inst: Inst<'_>, cx: &PassOptions) -> Option<Reduction> {
    let (Op::Reduce { dims }, [x, init], [y]) = (inst.op(), inst.operands(), inst.results()) else {
        return None;
    };
    let func = inst.func();
    let constant = func.defining_inst(*init).is_some_and(|i| matches!(i.op(), Op::Constant(_)));
    let [x, init, y] = [func.tensor(*x)?, func.tensor(*init)?, func.tensor(*y)?];
    let combine = reducer::of(inst.region(0)?)?.inst;
    let of_elements = combine.results().iter().chain(combine.operands());
    let plain = [x, init, y].iter().all(|t| t.quant.is_none() && t.dtype == x.dtype)
        && of_elements.filter_map(|v| func.tensor(*v)).all(|t| t.dtype == x.dtype && t.rank() == 0);
    let is_short = |elements: &usize| *elements <= cx.fusion_limits.row_elements;
    let columns = rows::reduced(x, dims).filter(is_short);
    let accumulates = constant && rows::accumulated(x, dims).is_some_and(|kept| is_short(&kept));
    let n = x.elements().filter(|_| plain && (cx.reduces)(combine.op(), x.dtype))?;
    (columns.is_some() || accumulates).then_some(Reduction { n, columns, accumulates })
}

/// Comparisons of iotas and numbers that can be duplicated into every fusion that uses them. All users of
/// such a comparison operate on as many elements as the comparison has, so the mask need never be stored.
fn masks(insts: &[Inst<'_>], rows: &FxHashMap<usize, usize>, cx: &PassOptions) -> FxHashSet<InstId> {
    let elements = |inst: Inst<'_>| inst.func().tensor(*inst.results().first()?)?.elements();
    let of_rows = |m: usize| rows.iter().any(|(n, columns)| n / columns == m);
    let compared =
        insts.iter().filter(|inst| matches!(inst.op(), Op::Compare(_)) && compares_iotas_and_numbers(**inst));
    let mut masks: FxHashSet<InstId> =
        compared.filter(|inst| elements(**inst).is_some_and(|m| !of_rows(m))).map(|inst| inst.id()).collect();
    if masks.is_empty() {
        return masks;
    }
    for inst in insts {
        for mask in inst.operands().iter().filter_map(|v| inst.func().defining_inst(*v)) {
            let on_elements = || match (own_role(*inst, cx), inst.op()) {
                (Role::Member(..), Op::Reshape | Op::BitcastConvert) => false,
                (Role::Member(n, _), _) => elements(mask) == Some(n),
                _ => false,
            };
            if masks.contains(&mask.id()) && !on_elements() {
                masks.remove(&mask.id());
            }
        }
    }
    masks
}

/// Returns true if every operand is an iota, or a value whose elements are all equal.
fn compares_iotas_and_numbers(inst: Inst<'_>) -> bool {
    let func = inst.func();
    let is_iota = |v: ValueId| func.defining_inst(v).is_some_and(|from| matches!(from.op(), Op::Iota { .. }));
    inst.operands().iter().all(|v| is_iota(*v) || simplify::number(func, *v).is_some())
}

/// The role of an instruction, regardless of its operands' roles.
pub(super) fn own_role(inst: Inst<'_>, cx: &PassOptions) -> Role {
    let ([result], true) = (inst.results(), inst.region_ids().is_empty()) else { return Role::Other };
    let func = inst.func();
    let Some(ty) = func.tensor(*result) else { return Role::Other };
    let operands: Option<SmallVec<[&TensorType; 4]>> =
        inst.operands().iter().map(|v| func.tensor(*v)).collect();
    let (Some(operands), Some(n)) = (operands, ty.elements()) else { return Role::Other };
    if operands.iter().chain([&ty]).any(|t| t.quant.is_some()) || n == 0 {
        return Role::Other;
    }
    match inst.op() {
        op if (cx.duplicates)(op, &operands, ty) => Role::Cheap,
        op if is_view(op, &operands, ty) => Role::Member(n, Level::Full),
        op if is_pure(inst) && (cx.fuses)(op, &operands, ty) => Role::Member(n, Level::Full),
        _ => Role::Other,
    }
}

/// Returns true if the result has the same bits as the operand, in the same order.
fn is_view(op: &Op, operands: &[&TensorType], ty: &TensorType) -> bool {
    let bits = |t: &TensorType| t.dtype.bits();
    match op {
        Op::Reshape => true,
        Op::BitcastConvert => bits(ty) >= 8 && operands.iter().all(|t| bits(t) == bits(ty)),
        _ => false,
    }
}
