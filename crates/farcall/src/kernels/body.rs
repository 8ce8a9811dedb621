//! Regions as data, in which kernels recognize reducers and comparators.

use farcall_ir::{Op, TensorType, reducer};

/// A region that takes and returns tensors, without regions and calls in it.
///
/// Its values are numbered: first the arguments, then the result of each instruction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Body {
    /// Types of the arguments.
    pub args: Vec<TensorType>,
    /// Instructions of one result each, in order. An operand is a value before.
    pub insts: Vec<BodyInst>,
    /// The values that are returned.
    pub returned: Vec<usize>,
}

/// An instruction of a [`Body`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BodyInst {
    /// What it does.
    pub op: Op,
    /// Numbers of the values that it takes.
    pub operands: Vec<usize>,
    /// Type of its result.
    pub ty: TensorType,
    /// Of a reduction: the operation on two elements that it reduces by.
    pub reducer: Option<Op>,
}

impl Body {
    /// The only instruction, if it is applied to the two arguments, in either order.
    pub fn reducer(&self) -> Option<&BodyInst> {
        let ([_, _], [only]) = (&self.args[..], &self.insts[..]) else { return None };
        reducer::order(&[0, 1], &only.operands, &[2], &self.returned).map(|_| only)
    }

    /// The instruction that makes a value; `None` for an argument.
    pub fn inst(&self, value: usize) -> Option<&BodyInst> {
        self.insts.get(value.checked_sub(self.args.len())?)
    }

    /// The type of a value, if there is one of this number.
    pub fn ty(&self, value: usize) -> Option<&TensorType> {
        self.args.get(value).or_else(|| self.inst(value).map(|inst| &inst.ty))
    }

    /// True if every number is that of a value, and operands come before what they are operands of.
    pub(super) fn is_sound(&self) -> bool {
        let before = |(i, inst): (usize, &BodyInst)| inst.operands.iter().all(|x| *x < self.args.len() + i);
        let count = self.args.len() + self.insts.len();
        self.insts.iter().enumerate().all(before) && self.returned.iter().all(|x| *x < count)
    }
}
