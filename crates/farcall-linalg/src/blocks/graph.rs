//! Operations for building default bodies, with inferred result types.

use farcall_ir::builder::Builder;
use farcall_ir::module::{Func, NewInst, RegionId, ValueId};
use farcall_ir::op::{
    Binary, Compare, CompareKind, ComparisonDirection, DotGeneral, Op, Precision, Slice, Unary,
};
use farcall_ir::{DType, Diagnostic, Literal, Scalar, TensorType, Type};
use num_complex::Complex;

/// Result of building an operation. An error is a bug in the body that is being built.
pub(super) type Build<T> = Result<T, Vec<Diagnostic>>;

/// The operations of a region, in sequence.
pub(super) struct Graph<'f> {
    b: Builder<'f>,
}

impl<'f> Graph<'f> {
    pub(super) fn new(b: Builder<'f>) -> Graph<'f> {
        Graph { b }
    }

    pub(super) fn ty(&self, value: ValueId) -> TensorType {
        // All values in default bodies are tensors.
        self.b.built().tensor(value).cloned().unwrap_or_else(|| TensorType::scalar(DType::Pred))
    }

    pub(super) fn dtype(&self, value: ValueId) -> DType {
        self.ty(value).dtype
    }

    pub(super) fn dims(&self, value: ValueId) -> Vec<usize> {
        self.ty(value).sizes().to_vec()
    }

    // ---- constants

    /// Returns a tensor filled with one number.
    pub(super) fn fill(&mut self, dtype: DType, dims: &[usize], value: f64) -> Build<ValueId> {
        let value = match dtype {
            dtype if dtype.is_integer() => Scalar::Signed(value as i64),
            dtype if dtype.is_complex() => Scalar::Complex(Complex::new(value, 0.0)),
            _ => Scalar::Float(value),
        };
        let constant = Literal::splat(dtype, dims.to_vec(), value);
        self.b.value_of(Op::Constant(constant), [], TensorType::new(dtype, dims))
    }

    /// Returns a tensor filled with one number, with the type and sizes of `other`.
    pub(super) fn like(&mut self, other: ValueId, value: f64) -> Build<ValueId> {
        self.fill(self.dtype(other), &self.dims(other), value)
    }

    /// Returns the indices along a dimension.
    pub(super) fn iota(&mut self, dims: &[usize], dim: usize) -> Build<ValueId> {
        self.b.value_of(Op::Iota { dim }, [], TensorType::new(DType::S32, dims))
    }

    // ---- elements

    pub(super) fn binary(&mut self, op: Binary, a: ValueId, b: ValueId) -> Build<ValueId> {
        self.b.value(Op::Binary(op), [a, b])
    }

    pub(super) fn add(&mut self, a: ValueId, b: ValueId) -> Build<ValueId> {
        self.binary(Binary::Add, a, b)
    }

    pub(super) fn sub(&mut self, a: ValueId, b: ValueId) -> Build<ValueId> {
        self.binary(Binary::Subtract, a, b)
    }

    pub(super) fn mul(&mut self, a: ValueId, b: ValueId) -> Build<ValueId> {
        self.binary(Binary::Multiply, a, b)
    }

    pub(super) fn div(&mut self, a: ValueId, b: ValueId) -> Build<ValueId> {
        self.binary(Binary::Divide, a, b)
    }

    pub(super) fn unary(&mut self, op: Unary, x: ValueId) -> Build<ValueId> {
        self.b.value(Op::Unary(op), [x])
    }

    pub(super) fn square(&mut self, x: ValueId) -> Build<ValueId> {
        self.mul(x, x)
    }

    /// Returns the absolute values, which are real.
    pub(super) fn abs(&mut self, x: ValueId) -> Build<ValueId> {
        self.unary(Unary::Abs, x)
    }

    pub(super) fn real(&mut self, x: ValueId) -> Build<ValueId> {
        if self.dtype(x).is_complex() { self.unary(Unary::Real, x) } else { Ok(x) }
    }

    pub(super) fn conj(&mut self, x: ValueId) -> Build<ValueId> {
        if !self.dtype(x).is_complex() {
            return Ok(x);
        }
        let [re, im] = [self.unary(Unary::Real, x)?, self.unary(Unary::Imag, x)?];
        let im = self.unary(Unary::Negate, im)?;
        self.binary(Binary::Complex, re, im)
    }

    pub(super) fn convert(&mut self, x: ValueId, dtype: DType) -> Build<ValueId> {
        if self.dtype(x) == dtype {
            return Ok(x);
        }
        self.b.value_of(Op::Convert, [x], TensorType::new(dtype, self.dims(x)))
    }

    pub(super) fn compare(
        &mut self,
        direction: ComparisonDirection,
        a: ValueId,
        b: ValueId,
    ) -> Build<ValueId> {
        let kind = if self.dtype(a).is_integer() { CompareKind::Signed } else { CompareKind::Float };
        self.b.value(Op::Compare(Compare { direction, kind: Some(kind) }), [a, b])
    }

    pub(super) fn select(&mut self, pred: ValueId, yes: ValueId, no: ValueId) -> Build<ValueId> {
        self.b.value(Op::Select, [pred, yes, no])
    }

    // ---- shapes

    /// Broadcasts `x`: dimension `i` becomes dimension `at[i]` of the result.
    pub(super) fn broadcast(&mut self, x: ValueId, at: &[usize], dims: &[usize]) -> Build<ValueId> {
        let ty = TensorType::new(self.dtype(x), dims);
        self.b.value_of(Op::BroadcastInDim { dims: at.to_vec() }, [x], ty)
    }

    pub(super) fn reshape(&mut self, x: ValueId, dims: &[usize]) -> Build<ValueId> {
        if self.dims(x) == dims {
            return Ok(x);
        }
        self.b.value_of(Op::Reshape, [x], TensorType::new(self.dtype(x), dims))
    }

    pub(super) fn transpose(&mut self, x: ValueId, permutation: &[usize]) -> Build<ValueId> {
        self.b.value(Op::Transpose { permutation: permutation.to_vec() }, [x])
    }

    /// Returns the entries from index `start` up to `limit` along a dimension.
    pub(super) fn slice(&mut self, x: ValueId, dim: usize, start: usize, limit: usize) -> Build<ValueId> {
        let mut slice = Slice { start: vec![], limit: self.dims(x), strides: vec![] };
        slice.start.resize(slice.limit.len(), 0);
        slice.strides.resize(slice.limit.len(), 1);
        (slice.start[dim], slice.limit[dim]) = (start, limit);
        self.b.value(Op::Slice(slice), [x])
    }

    pub(super) fn concatenate(&mut self, parts: &[ValueId], dim: usize) -> Build<ValueId> {
        self.b.value(Op::Concatenate { dim }, parts.iter().copied())
    }

    /// Returns the entries at one index of a dimension, which keeps size 1.
    pub(super) fn at(&mut self, x: ValueId, dim: usize, index: ValueId) -> Build<ValueId> {
        let mut sizes = self.dims(x);
        sizes[dim] = 1;
        let starts = self.starts(dim, index, sizes.len())?;
        self.b.value(Op::DynamicSlice { sizes }, [vec![x], starts].concat())
    }

    /// Returns `x` with `update` at one index of a dimension.
    pub(super) fn put(&mut self, x: ValueId, update: ValueId, dim: usize, index: ValueId) -> Build<ValueId> {
        let starts = self.starts(dim, index, self.dims(x).len())?;
        self.b.value(Op::DynamicUpdateSlice, [vec![x, update], starts].concat())
    }

    fn starts(&mut self, dim: usize, index: ValueId, rank: usize) -> Build<Vec<ValueId>> {
        let zero = self.fill(DType::S32, &[], 0.0)?;
        Ok((0..rank).map(|d| if d == dim { index } else { zero }).collect())
    }

    // ---- sums and products

    /// Returns sums, maxima or minima over a dimension.
    pub(super) fn reduce(&mut self, x: ValueId, dim: usize, by: Binary) -> Build<ValueId> {
        let dtype = self.dtype(x);
        let init = match by {
            Binary::Maximum => f64::NEG_INFINITY,
            Binary::Minimum => f64::from(i32::MAX),
            _ => 0.0,
        };
        let init = self.fill(dtype, &[], init)?;
        let region = self.region([TensorType::scalar(dtype), TensorType::scalar(dtype)], |g, args| {
            Ok(vec![g.binary(by, args[0], args[1])?])
        })?;
        let new = NewInst::new(Op::Reduce { dims: vec![dim] }, [x, init]).with_regions([region]);
        let reduced = self.b.inst(new)?;
        Ok(self.b.built().inst(reduced).results()[0])
    }

    /// Returns the product of each pair of matrices `[b, m, k]·[b, k, n]`, or, with a vector `[b, k]` on the
    /// left, `[b, n]`.
    pub(super) fn product(&mut self, a: ValueId, b: ValueId) -> Build<ValueId> {
        let op = DotGeneral {
            lhs_batch: vec![0],
            rhs_batch: vec![0],
            lhs_contract: vec![self.dims(a).len() - 1],
            rhs_contract: vec![1],
            precision: vec![Precision::Highest; 2],
            algorithm: None,
        };
        let (left, right) = (self.dims(a), self.dims(b));
        let dims = [&left[..left.len() - 1], &right[2..]].concat();
        self.b.value_of(Op::DotGeneral(Box::new(op)), [a, b], TensorType::new(self.dtype(a), dims))
    }

    // ---- control

    /// Repeats `body` while `condition` holds.
    pub(super) fn repeat(
        &mut self,
        inits: Vec<ValueId>,
        condition: impl FnOnce(&mut Graph<'_>, &[ValueId]) -> Build<ValueId>,
        body: impl FnOnce(&mut Graph<'_>, &[ValueId]) -> Build<Vec<ValueId>>,
    ) -> Build<Vec<ValueId>> {
        let types: Vec<TensorType> = inits.iter().map(|value| self.ty(*value)).collect();
        let condition = self.region(types.clone(), |g, state| Ok(vec![condition(g, state)?]))?;
        let body = self.region(types, body)?;
        let repeated = self.b.inst(NewInst::new(Op::While, inits).with_regions([condition, body]))?;
        Ok(self.b.built().inst(repeated).results().to_vec())
    }

    /// Sorts the keys `w` (`[b, n]`) in ascending order, and the columns of `v` (`[b, n, n]`) accordingly.
    pub(super) fn sort_columns(&mut self, w: ValueId, v: ValueId) -> Build<[ValueId; 2]> {
        let dims = self.dims(v);
        let keys = self.broadcast(w, &[0, 2], &dims)?;
        let [key, entry] = [w, v].map(|x| TensorType::scalar(self.dtype(x)));
        let less = self.region([key.clone(), key, entry.clone(), entry], |g, args| {
            Ok(vec![g.compare(ComparisonDirection::Lt, args[0], args[1])?])
        })?;
        let sort = Op::Sort { dim: 2, is_stable: true };
        let sorted = self.b.inst(NewInst::new(sort, [keys, v]).with_regions([less]))?;
        let [keys, v] = [0, 1].map(|i| self.b.built().inst(sorted).results()[i]);
        let keys = self.slice(keys, 1, 0, 1)?;
        Ok([self.reshape(keys, &[dims[0], dims[2]])?, v])
    }

    /// Ends the region by returning values.
    pub(super) fn give_back(&mut self, values: &[ValueId]) -> Build<()> {
        self.b.inst(NewInst::new(Op::Return, values.iter().copied())).map(|_| ())
    }

    fn region(
        &mut self,
        types: impl IntoIterator<Item = TensorType>,
        fill: impl FnOnce(&mut Graph<'_>, &[ValueId]) -> Build<Vec<ValueId>>,
    ) -> Build<RegionId> {
        let func: &mut Func = self.b.func();
        let region = func.new_region();
        let args: Vec<ValueId> = types.into_iter().map(|ty| func.add_arg(region, Type::from(ty))).collect();
        let mut inside = Graph { b: self.b.inside(region) };
        let values = fill(&mut inside, &args)?;
        inside.give_back(&values)?;
        Ok(region)
    }
}
