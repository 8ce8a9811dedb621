//! Linear algebra, Fourier transforms, normalization over a batch, random numbers.

use farcall_ir::TensorType;
use farcall_ir::op::{BatchNorm, Derived, FftKind, Op, RngAlgorithm, RngDistribution, TriangularSolve};

use super::graph::Graph;
use super::value::Value;

impl<'g> Value<'g> {
    /// `cholesky` of matrices `[…, n, n]`: the lower or the upper factor.
    #[track_caller]
    pub fn cholesky(self, lower: bool) -> Value<'g> {
        self.graph.instruction(Op::Cholesky { lower }, self).value()
    }

    /// `triangular_solve` with this matrix for the right side `b`.
    #[track_caller]
    pub fn triangular_solve(self, b: Value<'g>, solve: TriangularSolve) -> Value<'g> {
        self.graph.instruction(Op::TriangularSolve(solve), [self, b]).value()
    }

    /// `fft` over the last dimensions; `length` are the sizes of the transformed ones.
    #[track_caller]
    pub fn fft(self, kind: FftKind, length: impl Into<Vec<usize>>) -> Value<'g> {
        self.graph.instruction(Op::Fft { kind, length: length.into() }, self).value()
    }

    /// `batch_norm_inference` with vectors of one element for each feature.
    #[track_caller]
    pub fn batch_norm_inference(
        self,
        scale: Value<'g>,
        offset: Value<'g>,
        [mean, variance]: [Value<'g>; 2],
        norm: BatchNorm,
    ) -> Value<'g> {
        let op = Op::Derived(Derived::BatchNormInference(norm));
        self.graph.instruction(op, [self, scale, offset, mean, variance]).value()
    }

    /// `batch_norm_training`: the output, and mean and variance of the batch.
    #[track_caller]
    pub fn batch_norm_training(self, scale: Value<'g>, offset: Value<'g>, norm: BatchNorm) -> [Value<'g>; 3] {
        let op = Op::Derived(Derived::BatchNormTraining(norm));
        self.graph.instruction(op, [self, scale, offset]).values()
    }

    /// `batch_norm_grad`: the gradients of operand, scale and offset.
    #[track_caller]
    pub fn batch_norm_grad(
        self,
        scale: Value<'g>,
        [mean, variance]: [Value<'g>; 2],
        grad_output: Value<'g>,
        norm: BatchNorm,
    ) -> [Value<'g>; 3] {
        let op = Op::Derived(Derived::BatchNormGrad(norm));
        self.graph.instruction(op, [self, scale, mean, variance, grad_output]).values()
    }

    /// `rng_bit_generator` with this state (a vector of `u64`): the new state, and random bits of a type.
    #[track_caller]
    pub fn rng_bit_generator(self, algorithm: RngAlgorithm, ty: TensorType) -> [Value<'g>; 2] {
        let instruction = self.graph.instruction(Op::RngBitGenerator(algorithm), self);
        instruction.result_if_known(self.ty()).result(ty).values()
    }
}

impl Graph {
    /// `rng`: random numbers, other ones in each run. `a` and `b` are the bounds of a uniform distribution, mean and standard
    /// deviation of a normal one; `ty` is the type of the result, whose sizes `shape` holds.
    #[track_caller]
    pub fn rng<'g>(
        &'g self,
        a: Value<'g>,
        b: Value<'g>,
        shape: Value<'g>,
        distribution: RngDistribution,
        ty: TensorType,
    ) -> Value<'g> {
        self.instruction(Op::Rng(distribution), [a, b, shape]).result(ty).value()
    }
}
