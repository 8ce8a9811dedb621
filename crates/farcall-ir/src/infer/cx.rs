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
    /// The instruction is one of the middle form, which has no tokens.
    pub(crate) form: bool,
}

/// Small integer constants of a function: operands that some operations take instead of attributes.
#[derive(Default)]
pub(crate) struct Constants<'a> {
    by_value: FxHashMap<ValueId, &'a Literal>,
}

/// Elements of the largest constant that is worth a look: more than any tensor has dimensions.
const SMALL: usize = 64;

impl<'a> Constants<'a> {
    /// Those of a function.
    pub(crate) fn of(func: &'a Func) -> Constants<'a> {
        let mut by_value = FxHashMap::default();
        func.walk(&mut |inst| {
            if let (Op::Constant(literal), [result]) = (inst.op(), inst.results())
                && literal.dtype().is_integer()
                && literal.len() <= SMALL
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

    /// Reports a violation unless `ok`, which it returns.
    pub(crate) fn check(&mut self, ok: bool, code: &'static str, message: impl FnOnce() -> String) -> bool {
        if !ok {
            self.fail(code, message());
        }
        ok
    }

    /// Type of operand `i`, which [`super::arity`] found to be a tensor.
    pub(crate) fn t(&self, i: usize) -> &'a TensorType {
        self.func.tensor(self.inst.own_operands()[i]).expect("operands were checked to be tensors")
    }

    /// Types of a range of operands, which [`super::arity`] found to be tensors.
    pub(crate) fn tensors(&self, range: std::ops::Range<usize>) -> Vec<&'a TensorType> {
        range.map(|i| self.t(i)).collect()
    }

    /// Types of values.
    pub(crate) fn types(&self, values: &[ValueId]) -> TypeList {
        values.iter().map(|v| self.func.ty(*v).clone()).collect()
    }

    /// Number of operands.
    pub(crate) fn operand_count(&self) -> usize {
        self.inst.own_operands().len()
    }

    /// Region `i`, which [`super::arity`] found to be there and to return.
    pub(crate) fn region(&self, i: usize) -> Region<'a> {
        self.inst.region(i).expect("regions were counted")
    }

    /// Declared type of result `i`, which must be a tensor.
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

    /// The elements of operand `i`, if it is a small integer constant.
    pub(crate) fn constant(&self, i: usize) -> Option<Vec<i64>> {
        let literal = self.constants?.by_value.get(self.inst.own_operands().get(i)?)?;
        Some(literal.iter().map(|s| s.as_i64()).collect())
    }

    /// The element type of a tensor must belong to `allowed`.
    pub(crate) fn class(&mut self, code: &'static str, name: &str, ty: &TensorType, allowed: Class) -> bool {
        self.check(allowed.has(ty), code, || format!("{name} must be a tensor of {allowed}, found {ty}"))
    }

    /// A tensor must have rank 0.
    pub(crate) fn scalar(&mut self, code: &'static str, name: &str, ty: &TensorType) -> bool {
        self.check(ty.rank() == 0, code, || format!("{name} must have rank 0, found {ty}"))
    }

    /// A list must have `expected` entries, which `what` names.
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

    /// Dimension numbers must be less than `rank`.
    pub(crate) fn in_range(&mut self, code: &'static str, name: &str, dims: &[usize], rank: usize) -> bool {
        let bad = dims.iter().find(|d| **d >= rank);
        self.check(bad.is_none(), code, || {
            format!(
                "{name} must be in [0, {rank}), found {}",
                bad.map_or_else(String::new, ToString::to_string)
            )
        })
    }

    /// Dimension numbers must differ from each other.
    pub(crate) fn unique(&mut self, code: &'static str, name: &str, dims: &[usize]) -> bool {
        let mut sorted = SmallVec::<[usize; 8]>::from(dims);
        sorted.sort_unstable();
        let twice = sorted.windows(2).find(|w| w[0] == w[1]);
        self.check(twice.is_none(), code, || format!("{name} must be unique, found {dims:?}"))
    }

    /// Dimension numbers must not decrease.
    pub(crate) fn sorted(&mut self, code: &'static str, name: &str, dims: &[usize]) -> bool {
        self.check(dims.is_sorted(), code, || format!("{name} must be sorted, found {dims:?}"))
    }

    /// Every entry must be at least 1.
    pub(crate) fn positive(&mut self, code: &'static str, name: &str, values: &[usize]) -> bool {
        self.check(!values.contains(&0), code, || format!("{name} must be positive, found {values:?}"))
    }
}
