//! Products and convolutions. If the operation allows several element types for a result, the result has the
//! element type of the left operand. For another element type, use
//! [`Graph::instruction`](super::Graph::instruction), which takes a result type.

use std::panic::Location;

use farcall_ir::op::{Convolution, Derived, DotGeneral, Op, RaggedDot};

use super::operators::broadcast_sizes;
use super::value::Value;

impl<'g> Value<'g> {
    /// Multiplies matrices `[…, m, k] · […, k, n]`, whose batch dimensions `…` are broadcast as by operators.
    /// A vector on the left counts as a matrix with one row, a vector on the right as a matrix with one
    /// column; the result does not have the dimension of size 1 of such a matrix. Element types must be
    /// equal: if they differ, convert one of the operands, or use [`dot_general`](Self::dot_general).
    #[track_caller]
    pub fn matmul(self, rhs: Value<'g>) -> Value<'g> {
        let place = Location::caller();
        let graph = self.graph;
        let (Some(left), Some(right)) = (self.tensor(), rhs.tensor()) else {
            return graph
                .at(place, Op::DotGeneral(Box::new(product(0, 0, 0))), [self, rhs])
                .result_if_known(self.ty())
                .value();
        };
        let wrong = |what: &str| graph.wrong(place, "matmul", format!("{left} and {right} {what}"));
        if left.dtype != right.dtype {
            return wrong("have different element types: convert one of them, or use dot_general");
        }
        if left.rank() == 0 || right.rank() == 0 {
            return wrong("cannot be multiplied as matrices: a scalar has no dimension to contract; use *");
        }
        let batch = left.rank().max(right.rank()).saturating_sub(2);
        if batch == 0 || right.rank() == 1 {
            let op = product(0, left.rank() - 1, right.rank().saturating_sub(2));
            return graph.at(place, Op::DotGeneral(Box::new(op)), [self, rhs]).result(left).value();
        }
        let (Some(from), Some(to)) = (left.static_sizes(), right.static_sizes()) else {
            return wrong(
                "have batch dimensions and dynamic sizes, which matmul does not support together: use dot_general",
            );
        };
        let (outer, matrix) = from.split_at(from.len().saturating_sub(2));
        let (other, columns) = to.split_at(to.len() - 2);
        let Some(sizes) = broadcast_sizes(outer, other) else {
            return wrong("cannot be multiplied: batch dimensions must be equal or 1");
        };
        let lhs = graph.aligned(place, self, &[&sizes, matrix].concat());
        let rhs = graph.aligned(place, rhs, &[&sizes, columns].concat());
        let op = product(batch, batch + matrix.len() - 1, batch);
        graph.at(place, Op::DotGeneral(Box::new(op)), [lhs, rhs]).result_if_known(lhs.ty()).value()
    }

    /// Adds a `dot_general`. The result has the batching dimensions, then the free dimensions of this value,
    /// then the free dimensions of `rhs`.
    #[track_caller]
    pub fn dot_general(self, rhs: Value<'g>, dot: DotGeneral) -> Value<'g> {
        self.graph.instruction(Op::DotGeneral(Box::new(dot)), [self, rhs]).result_if_known(self.ty()).value()
    }

    /// Adds a `dot`: the product of two matrices, of a matrix and a vector, or of two vectors.
    #[track_caller]
    pub fn dot(self, rhs: Value<'g>) -> Value<'g> {
        let op = Derived::Dot { precision: Vec::new() };
        self.graph.instruction(Op::Derived(op), [self, rhs]).result_if_known(self.ty()).value()
    }

    /// Adds an `einsum`, as in `x.einsum(y, "ab,bc->ac")`.
    #[track_caller]
    pub fn einsum(self, rhs: Value<'g>, config: &str) -> Value<'g> {
        let op = Derived::Einsum { config: config.to_owned() };
        self.graph.instruction(Op::Derived(op), [self, rhs]).result_if_known(self.ty()).value()
    }

    /// Adds a `unary_einsum`, as in `x.unary_einsum("ab->a")`.
    #[track_caller]
    pub fn unary_einsum(self, config: &str) -> Value<'g> {
        let op = Derived::UnaryEinsum { config: config.to_owned() };
        self.graph.instruction(Op::Derived(op), self).result_if_known(self.ty()).value()
    }

    /// Adds a `chlo.ragged_dot`: a product in which each group of rows is multiplied by a different matrix.
    #[track_caller]
    pub fn ragged_dot(self, rhs: Value<'g>, group_sizes: Value<'g>, dot: RaggedDot) -> Value<'g> {
        let op = Op::Derived(Derived::RaggedDot(Box::new(dot)));
        self.graph.instruction(op, [self, rhs, group_sizes]).result_if_known(self.ty()).value()
    }

    /// Adds a `convolution` with a kernel.
    #[track_caller]
    pub fn convolution(self, kernel: Value<'g>, convolution: Convolution) -> Value<'g> {
        let op = Op::Convolution(Box::new(convolution));
        self.graph.instruction(op, [self, kernel]).result_if_known(self.ty()).value()
    }

    /// Adds a `dynamic_conv`: a convolution with padding that the program computes. [`Convolution::padding`]
    /// must be empty.
    #[track_caller]
    pub fn dynamic_conv(self, kernel: Value<'g>, padding: Value<'g>, convolution: Convolution) -> Value<'g> {
        let op = Op::DynamicConvolution(Box::new(convolution));
        self.graph.instruction(op, [self, kernel, padding]).result_if_known(self.open()).value()
    }
}

/// Describes a product with `batch` leading batch dimensions. `lhs` and `rhs` are the contracting dimensions
/// of the left and the right operand.
fn product(batch: usize, lhs: usize, rhs: usize) -> DotGeneral {
    DotGeneral {
        lhs_batch: (0..batch).collect(),
        rhs_batch: (0..batch).collect(),
        lhs_contract: vec![lhs],
        rhs_contract: vec![rhs],
        precision: Vec::new(),
        algorithm: None,
    }
}
