//! Batch normalization, following the specification's Python definitions.

use super::builder::Builder;
use crate::module::ValueId;
use crate::op::{BatchNorm, Binary, Unary};

impl Builder<'_> {
    /// Broadcasts a vector of one number per feature to the shape of a tensor.
    fn per_feature(&mut self, norm: BatchNorm, x: ValueId, like: ValueId) -> ValueId {
        let ty = self.ty(like);
        self.broadcast(x, &[norm.feature], ty.sizes())
    }

    /// A constant in the shape of a tensor.
    fn everywhere(&mut self, x: f64, like: ValueId) -> ValueId {
        let ty = self.ty(like);
        self.splat(x, ty.dtype, ty.sizes())
    }

    fn sum_of_feature(&mut self, norm: BatchNorm, x: ValueId) -> ValueId {
        let dims: Vec<usize> = (0..self.ty(x).rank()).filter(|d| *d != norm.feature).collect();
        self.sum(x, &dims)
    }

    fn elements_per_feature(&self, norm: BatchNorm, x: ValueId) -> f64 {
        let ty = self.ty(x);
        let others = ty.sizes().iter().enumerate().filter(|(d, _)| *d != norm.feature);
        others.map(|(_, size)| *size as f64).product()
    }

    fn mean_of_feature(&mut self, norm: BatchNorm, x: ValueId) -> Option<ValueId> {
        let sum = self.sum_of_feature(norm, x);
        let count = self.everywhere(self.elements_per_feature(norm, x), sum);
        self.binary(Binary::Divide, sum, count)
    }

    /// `variance + epsilon`, and its square root.
    fn deviation(&mut self, norm: BatchNorm, variance: ValueId) -> Option<(ValueId, ValueId)> {
        let epsilon = self.everywhere(f64::from(norm.epsilon()), variance);
        let variance = self.binary(Binary::Add, variance, epsilon)?;
        Some((variance, self.unary(Unary::Sqrt, variance)?))
    }

    /// `batch_norm_inference`
    pub(super) fn normalized(
        &mut self,
        norm: BatchNorm,
        x: ValueId,
        scale: ValueId,
        offset: ValueId,
        mean: ValueId,
        variance: ValueId,
    ) -> Option<ValueId> {
        let [scale, offset, mean, variance] =
            [scale, offset, mean, variance].map(|v| self.per_feature(norm, v, x));
        let centered = self.binary(Binary::Subtract, x, mean)?;
        let (_, deviation) = self.deviation(norm, variance)?;
        let normalized = self.binary(Binary::Divide, centered, deviation)?;
        let scaled = self.binary(Binary::Multiply, scale, normalized)?;
        self.binary(Binary::Add, scaled, offset)
    }

    pub(super) fn batch_norm_training(
        &mut self,
        norm: BatchNorm,
        x: ValueId,
        scale: ValueId,
        offset: ValueId,
    ) -> Option<Vec<ValueId>> {
        let mean = self.mean_of_feature(norm, x)?;
        let means = self.per_feature(norm, mean, x);
        let centered = self.binary(Binary::Subtract, x, means)?;
        let squares = self.binary(Binary::Multiply, centered, centered)?;
        let variance = self.mean_of_feature(norm, squares)?;
        Some(vec![self.normalized(norm, x, scale, offset, mean, variance)?, mean, variance])
    }

    pub(super) fn batch_norm_grad(
        &mut self,
        norm: BatchNorm,
        x: ValueId,
        scale: ValueId,
        mean: ValueId,
        variance: ValueId,
        grad: ValueId,
    ) -> Option<Vec<ValueId>> {
        let [scale, mean, variance] = [scale, mean, variance].map(|v| self.per_feature(norm, v, x));
        let centered = self.binary(Binary::Subtract, x, mean)?;
        let (variance, deviation) = self.deviation(norm, variance)?;
        let normalized = self.binary(Binary::Divide, centered, deviation)?;
        let along = self.binary(Binary::Multiply, grad, normalized)?;
        let grad_scale = self.sum_of_feature(norm, along);
        let grad_offset = self.sum_of_feature(norm, grad);

        let count = self.everywhere(self.elements_per_feature(norm, x), x);
        let total = self.binary(Binary::Multiply, grad, count)?;
        let sum = self.per_feature(norm, grad_offset, x);
        let without_sum = self.binary(Binary::Subtract, total, sum)?;
        let moment = self.binary(Binary::Multiply, grad, centered)?;
        let moment = self.sum_of_feature(norm, moment);
        let moment = self.per_feature(norm, moment, x);
        let moment = self.binary(Binary::Multiply, moment, centered)?;
        let moment = self.binary(Binary::Divide, moment, variance)?;
        let inner = self.binary(Binary::Subtract, without_sum, moment)?;
        let factor = self.binary(Binary::Divide, scale, deviation)?;
        let factor = self.binary(Binary::Divide, factor, count)?;
        Some(vec![self.binary(Binary::Multiply, factor, inner)?, grad_scale, grad_offset])
    }
}
