//! Expressions over corresponding elements: what a loop computes for each element.
//!
//! ```text
//! operand 0 ─┬─ multiply ── add ─▶ result        An expression is a list of nodes. Each node applies an
//!            ╰────────╯      │                   operation to operands, constants and earlier nodes.
//!              constant ─────╯
//! ```
//!
//! A single operation is an expression of one node. An expression of several nodes computes the same bits as
//! its operations one after another, with one exception: an operation on two NaNs may return either.

use farcall_ir::op::{Binary, Compare, Unary};
use farcall_ir::{DType, Op};
use smallvec::{SmallVec, smallvec};

/// Maximum number of operands of an expression, besides constants.
pub(crate) const MAX_OPERANDS: usize = 3;

/// An operation on single elements of fixed types.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ScalarOp {
    Binary(Binary, DType),
    Unary(Unary, DType),
    /// Rotation of words to the left, by amounts below their size in bits.
    RotateLeft,
    Compare(Compare, DType),
    /// Selection of elements of this number of bytes.
    Select(usize),
    Convert(DType, DType),
}

impl ScalarOp {
    /// Returns the operation on elements of these types, if expressions can contain it.
    pub(crate) fn new(op: &Op, dtypes: &[DType], to: DType) -> Option<ScalarOp> {
        match (op, dtypes) {
            (Op::Binary(op), [x, y]) if x == y => Some(ScalarOp::Binary(*op, *x)),
            (Op::Unary(op), [x]) => Some(ScalarOp::Unary(*op, *x)),
            (Op::Compare(c), [x, y]) if x == y => Some(ScalarOp::Compare(*c, *x)),
            (Op::Select, _) => Some(ScalarOp::Select(to.size())),
            (Op::Convert, [x]) => Some(ScalarOp::Convert(*x, to)),
            _ => None,
        }
    }

    /// Number of operands.
    fn arity(self) -> usize {
        match self {
            ScalarOp::Unary(..) | ScalarOp::Convert(..) => 1,
            ScalarOp::Binary(..) | ScalarOp::Compare(..) | ScalarOp::RotateLeft => 2,
            ScalarOp::Select(_) => 3,
        }
    }
}

/// An expression over the corresponding elements of its operands. The last node is the result.
#[derive(Clone, Debug)]
pub(crate) struct Expr {
    pub(crate) nodes: SmallVec<[Node; 2]>,
}

/// A node of an expression.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) op: ScalarOp,
    pub(crate) operands: SmallVec<[Leaf; MAX_OPERANDS]>,
}

/// An operand of a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Leaf {
    /// An operand of the expression.
    Operand(usize),
    /// The bytes of an element, padded with zeros.
    Constant([u8; 8]),
    /// The result of an earlier node.
    Node(usize),
}

/// For each operand and each node, the last node that uses it.
pub(crate) struct LastUses {
    pub(crate) operands: [usize; MAX_OPERANDS],
    /// A node that no other node uses is listed with its own number.
    pub(crate) nodes: SmallVec<[usize; 2]>,
}

impl Expr {
    /// Creates the expression of one operation on the operands in order.
    pub(crate) fn single(op: ScalarOp) -> Expr {
        Expr { nodes: smallvec![Node { op, operands: (0..op.arity()).map(Leaf::Operand).collect() }] }
    }

    /// Creates the expression `second(first(a, b), c)`, or `second(c, first(a, b))` if `swapped`. `None` if
    /// the operations do not have these operands. (A second operation of one operand has no `c`.)
    pub(crate) fn pair(first: ScalarOp, second: ScalarOp, swapped: bool) -> Option<Expr> {
        let mut operands: SmallVec<[Leaf; MAX_OPERANDS]> = smallvec![Leaf::Node(0), Leaf::Operand(2)];
        operands.truncate(second.arity());
        if first.arity() != 2 || second.arity() > 2 {
            return None;
        }
        if swapped {
            operands.reverse();
        }
        let mut expr = Expr::single(first);
        expr.nodes.push(Node { op: second, operands });
        Some(expr)
    }

    /// Returns the operation, if the expression has only one.
    pub(crate) fn op(&self) -> Option<ScalarOp> {
        if let [node] = &self.nodes[..] { Some(node.op) } else { None }
    }

    /// Returns the last use of each operand and each node.
    #[cfg_attr(
        not(all(target_arch = "x86_64", unix)),
        expect(dead_code, reason = "only called where machine code is generated")
    )]
    pub(crate) fn last_uses(&self) -> LastUses {
        let mut last = LastUses { operands: [0; MAX_OPERANDS], nodes: (0..self.nodes.len()).collect() };
        for (i, node) in self.nodes.iter().enumerate() {
            for leaf in &node.operands {
                match *leaf {
                    Leaf::Operand(x) => last.operands[x] = i,
                    Leaf::Node(x) => last.nodes[x] = i,
                    Leaf::Constant(_) => {}
                }
            }
        }
        last
    }
}
