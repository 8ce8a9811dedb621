//! The context of the checks of one instruction: the instruction, its types, and the violations found so far.

use smallvec::SmallVec;

use crate::diag::Diagnostic;
use crate::literal::Literal;
use crate::module::{Func, Inst, Region, ValueId};
use crate::op::Class;
use crate::op::Op;
use crate::types::{TensorType, TypeList};
use rustc_hash::FxHashMap;

/// An instruction under inspection.
pub(crate) struct Cx<'a> {
    pub(crate) func: &'a Func,
    pub(crate) inst: Inst<'a>,
    pub(crate) diagnostics: Vec<Diagnostic>,
    constants: Option<&'a Constants<'a>>,
    /// True in the middle form, whose instructions have no tokens.
    pub(crate) form: bool,
}

/// Small integer constants of a function, which some operations take as operands instead of attributes.
#[derive(Default)]
pub(crate) struct Constants<'a> {
    by_value: FxHashMap<ValueId, &'a Literal>,
}

/// Maximum number of elements of a recorded constant. Most of these constants have one element per dimension
/// of a tensor, and no tensor has more dimensions than this.
const MAX_CONSTANT_ELEMENTS: usize = 64;

impl<'a> Constants<'a> {
    /// Collects the constants of a function.
    pub(crate) fn of(func: &'a Func) -> Constants<'a> {
        let mut by_value = FxHashMap::default();
        func.walk(&mut |inst| {
            if let (Op::Constant(literal), [result]) = (inst.op(), inst.results())
                && literal.dtype().is_integer()
                && literal.len() <= MAX_CONSTANT_ELEMENTS
            {
                by_value.insert(*result, literal);
            }
        });
        Constants { by_value }
    }
}

impl<'a> Cx<'a> {
    pub(crate) fn new(inst: Inst<'a>, constants: Option<&'a Constants<'a>>) -> Cx<'a> {
        Cx { func: inst.func(), inst, diagnostics: Vec::new(), constants, form: false }
    }

    /// Reports a violation.
    pub(crate) fn fail(&mut self, code: &'static str, message: impl Into<String>) {
        self.diagnostics.push(Diagnostic::new(code, self.inst.span(), message));
    }

    /// Reports a violation unless `ok`. Returns `ok`.
    pub(crate) fn check(&mut self, ok: bool, code: &'static str, message: impl FnOnce() -> String) -> bool {
        if !ok {
            self.fail(code, message());
        }
        ok
    }

    /// Returns the type of operand `i`, which [`super::arity`] has checked to be a tensor.
    pub(crate) fn t(&self, i: usize) -> &'a TensorType {
        self.func.tensor(self.inst.own_operands()[i]).expect("operands were checked to be tensors")
    }

    /// Returns the types of a range of operands, which [`super::arity`] has checked to be tensors.
    pub(crate) fn tensors(&self, range: std::ops::Range<usize>) -> Vec<&'a TensorType> {
        range.map(|i| self.t(i)).collect()
    }

    /// Returns the types of values.
    pub(crate) fn types(&self, values: &[ValueId]) -> TypeList {
        values.iter().map(|v| self.func.ty(*v).clone()).collect()
    }

    /// Number of operands.
    pub(crate) fn operand_count(&self) -> usize {
        self.inst.own_operands().len()
    }

    /// Returns region `i`. [`super::arity`] has checked that it exists and has a terminator.
    pub(crate) fn region(&self, i: usize) -> Region<'a> {
        self.inst.region(i).expect("regions were counted")
    }

    /// Returns the declared type of result `i`, which must be a tensor.
    pub(crate) fn declared(&mut self, i: usize) -> Option<&'a TensorType> {
        let Some(value) = self.inst.results().get(i) else {
            let name = self.inst.op().name();
            self.fail("result-count", format!("{name} has no result {i}"));
            return None;
        };
        let ty = self.func.ty(*value);
        if ty.tensor().is_none() {
            self.fail("result-kind", format!("result {i} must be a tensor, found {ty}"));
        }
        ty.tensor()
    }

    /// Returns the elements of operand `i`, if it is a small integer constant.
    pub(crate) fn constant(&self, i: usize) -> Option<Vec<i64>> {
        let literal = self.constants?.by_value.get(self.inst.own_operands().get(i)?)?;
        Some(literal.iter().map(|s| s.as_i64()).collect())
    }

    /// Checks that the element type of a tensor belongs to `allowed`.
    pub(crate) fn class(&mut self, code: &'static str, name: &str, ty: &TensorType, allowed: Class) -> bool {
        self.check(allowed.has(ty), code, || format!("{name} must be a tensor of {allowed}, found {ty}"))
    }

    /// Checks that a tensor has rank 0.
    pub(crate) fn scalar(&mut self, code: &'static str, name: &str, ty: &TensorType) -> bool {
        self.check(ty.rank() == 0, code, || format!("{name} must have rank 0, found {ty}"))
    }

    /// Checks that a list has `expected` entries. `what` describes the entries.
    pub(crate) fn length(
        &mut self,
        code: &'static str,
        name: &str,
        found: usize,
        expected: usize,
        what: &str,
    ) -> bool {
        self.check(found == expected, code, || {
            format!("{name} must have {expected} entries ({what}), found {found}")
        })
    }

    /// Checks that dimension numbers are less than `rank`.
    pub(crate) fn in_range(&mut self, code: &'static str, name: &str, dims: &[usize], rank: usize) -> bool {
        let bad = dims.iter().find(|d| **d >= rank);
        self.check(bad.is_none(), code, || {
            format!(
                "{name} must be in [0, {rank}), found {}",
                bad.map_or_else(String::new, ToString::to_string)
            )
        })
    }

    /// Checks that dimension numbers are distinct.
    pub(crate) fn unique(&mut self, code: &'static str, name: &str, dims: &[usize]) -> bool {
        let mut sorted = SmallVec::<[usize; 8]>::from(dims);
        sorted.sort_unstable();
        let twice = sorted.windows(2).find(|w| w[0] == w[1]);
        self.check(twice.is_none(), code, || format!("{name} must be unique, found {dims:?}"))
    }

    /// Checks that dimension numbers do not decrease.
    pub(crate) fn sorted(&mut self, code: &'static str, name: &str, dims: &[usize]) -> bool {
        self.check(dims.is_sorted(), code, || format!("{name} must be sorted, found {dims:?}"))
    }

    /// Checks that every entry is at least 1.
    pub(crate) fn positive(&mut self, code: &'static str, name: &str, values: &[usize]) -> bool {
        self.check(!values.contains(&0), code, || format!("{name} must be positive, found {values:?}"))
    }
}
