//! Collectives of a partitioned program, and calls that every device computes completely.

use farcall_ir::{Span, TensorType};

use crate::tiling::Tiling;

/// Divisions of values, collectives, and complete computations in a partitioned program.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Report {
    /// The values of the program, in its order.
    pub values: Vec<ShardedValue>,
    /// The collectives, in program order.
    pub movements: Vec<Movement>,
    /// Custom calls without a rule whose operands are gathered: the target, the bytes of the gathered
    /// operands, and the position in the source.
    pub whole_calls: Vec<(String, usize, Span)>,
}

/// A value of a program, and its division.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ShardedValue {
    /// `parameter 0`, or the operation that computes the value.
    pub defined_by: String,
    /// Position of that operation in the source.
    pub span: Span,
    /// Type of the complete value.
    pub ty: TensorType,
    /// Division among the devices.
    pub tiling: Tiling,
    /// Source of the division.
    pub source: ShardingSource,
}

/// Source of a division.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ShardingSource {
    /// Nothing divides the value.
    Default,
    /// The program states the sharding.
    Stated,
    /// Propagation through an operation, given by its name and its position in the source.
    Operation(&'static str, Span),
    /// The sharding that the program states for the result with this index.
    ResultOf(usize),
}

/// A collective.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Movement {
    /// Name of the collective: `all_gather`.
    pub collective: &'static str,
    /// Size of its result on one device in bytes.
    pub bytes: usize,
    /// Operation of the program for which the collective was added.
    pub op: &'static str,
    /// Position of that operation in the source.
    pub span: Span,
}

impl Report {
    /// Returns the sum of the sizes of all collectives' results in bytes. Collectives in loops count once.
    pub fn bytes(&self) -> usize {
        self.movements.iter().map(|movement| movement.bytes).sum()
    }
}
