//! Regions as data, in which kernels recognize reducers and comparators.

use farcall_ir::{Op, TensorType, reducer};

/// A region that takes and returns tensors, without nested regions and calls.
///
/// Values are numbered: first the arguments, then the result of each instruction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Body {
    /// Types of the arguments.
    pub args: Vec<TensorType>,
    /// Instructions in order, each with one result. Operands are earlier values.
    pub insts: Vec<BodyInst>,
    /// The returned values.
    pub returned: Vec<usize>,
}

/// An instruction of a [`Body`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BodyInst {
    /// The operation.
    pub op: Op,
    /// Numbers of the operands.
    pub operands: Vec<usize>,
    /// Type of the result.
    pub ty: TensorType,
    /// The operation that combines two elements, if the instruction is a reduction.
    pub reducer: Option<Op>,
}

impl Body {
    /// Returns the instruction of a region that only applies one instruction to its two arguments, in either
    /// order, and returns the result. `None` for other regions.
    pub fn reducer(&self) -> Option<&BodyInst> {
        let ([_, _], [only]) = (&self.args[..], &self.insts[..]) else { return None };
        reducer::order(&[0, 1], &only.operands, &[2], &self.returned).map(|_| only)
    }

    /// Returns the instruction that produces a value; `None` for an argument.
    pub fn inst(&self, value: usize) -> Option<&BodyInst> {
        self.insts.get(value.checked_sub(self.args.len())?)
    }

    /// Returns the type of a value, if a value with this number exists.
    pub fn ty(&self, value: usize) -> Option<&TensorType> {
        self.args.get(value).or_else(|| self.inst(value).map(|inst| &inst.ty))
    }

    /// Returns true if every number refers to a value, and every operand precedes its user.
    pub(super) fn is_sound(&self) -> bool {
        let before = |(i, inst): (usize, &BodyInst)| inst.operands.iter().all(|x| *x < self.args.len() + i);
        let count = self.args.len() + self.insts.len();
        self.insts.iter().enumerate().all(before) && self.returned.iter().all(|x| *x < count)
    }
}
