//! Linear algebra, Fourier transforms, batch normalization, random numbers.

use farcall_ir::TensorType;
use farcall_ir::op::{BatchNorm, Derived, FftKind, Op, RngAlgorithm, RngDistribution, TriangularSolve};

use super::graph::Graph;
use super::value::Value;

impl<'g> Value<'g> {
    /// Adds a `cholesky` of matrices `[…, n, n]`: the lower or the upper factor.
    #[track_caller]
    pub fn cholesky(self, lower: bool) -> Value<'g> {
        self.graph.instruction(Op::Cholesky { lower }, self).value()
    }

    /// Adds a `triangular_solve` with this matrix and the right-hand side `b`.
    #[track_caller]
    pub fn triangular_solve(self, b: Value<'g>, solve: TriangularSolve) -> Value<'g> {
        self.graph.instruction(Op::TriangularSolve(solve), [self, b]).value()
    }

    /// Adds an `fft` over the last dimensions. `length` has the sizes of the transformed dimensions.
    #[track_caller]
    pub fn fft(self, kind: FftKind, length: impl Into<Vec<usize>>) -> Value<'g> {
        self.graph.instruction(Op::Fft { kind, length: length.into() }, self).value()
    }

    /// Adds a `batch_norm_inference`. The other operands are vectors with one element for each feature.
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

    /// Adds a `batch_norm_training`, which returns the output, and the mean and variance of the batch.
    #[track_caller]
    pub fn batch_norm_training(self, scale: Value<'g>, offset: Value<'g>, norm: BatchNorm) -> [Value<'g>; 3] {
        let op = Op::Derived(Derived::BatchNormTraining(norm));
        self.graph.instruction(op, [self, scale, offset]).values()
    }

    /// Adds a `batch_norm_grad`, which returns the gradients with respect to operand, scale and offset.
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

    /// Adds an `rng_bit_generator` with this state (a vector of `u64`), which returns the new state, and
    /// random bits of the given type.
    #[track_caller]
    pub fn rng_bit_generator(self, algorithm: RngAlgorithm, ty: TensorType) -> [Value<'g>; 2] {
        let instruction = self.graph.instruction(Op::RngBitGenerator(algorithm), self);
        instruction.result_if_known(self.ty()).result(ty).values()
    }
}

impl Graph {
    /// Adds an `rng`: random numbers from a fixed key, so the same inputs give the same numbers in every run.
    /// `a` and `b` are the bounds of a uniform distribution, or the mean and standard deviation of a normal
    /// distribution. `ty` is the type of the result, and `shape` holds its sizes.
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
