//! The reference evaluator: any module, one operation at a time, readable against the StableHLO
//! specification. It is the oracle that everything faster is tested against.

use crate::literal::Literal;

/// What a value is while a program is evaluated.
#[derive(Clone, PartialEq, Debug)]
pub enum Value {
    /// A tensor.
    Tensor(Literal),
    /// A token.
    Token,
    /// A tuple.
    Tuple(Vec<Value>),
}

/// What happens to subnormal numbers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Denormals {
    /// They are numbers like any other (IEEE 754).
    #[default]
    Ieee,
    /// They count as zero, as operands and as results.
    Flush,
}
