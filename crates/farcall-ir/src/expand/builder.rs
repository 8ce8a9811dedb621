//! Builds instructions in sequence.

use farcall_sig::DType;

use crate::builder;
use crate::literal::Literal;
use crate::module::{Func, Inst, InstId, NewInst, RegionId, ValueId};
use crate::op::{Binary, Compare, ComparisonDirection, Op, Pad, Slice, Unary};
use crate::scalar::Scalar;
use crate::types::{TensorType, Type};

/// A [`builder::Builder`] with a method for each operation that definitions need. Result types are given, not
/// inferred, since the definitions are known to be correct.
pub(crate) struct Builder<'a> {
    at: builder::Builder<'a>,
}

impl<'a> Builder<'a> {
    /// Builds at the end of a function, with the location of an instruction of another function.
    pub(crate) fn at_end(func: &'a mut Func, at: Inst<'_>) -> Builder<'a> {
        let (span, loc) = (at.span(), at.loc().cloned());
        Builder { at: builder::Builder::at_end(func, Func::BODY).from_source(span, loc) }
    }

    /// Builds at the end of a region, with the location of an instruction of the same function.
    pub(crate) fn inside(func: &'a mut Func, region: RegionId, inst: InstId) -> Builder<'a> {
        let (span, loc) = (func.inst(inst).span(), func.inst(inst).loc().cloned());
        Builder { at: builder::Builder::at_end(func, region).from_source(span, loc) }
    }

    /// Builds at the end of a region, with the location of an instruction of another function.
    pub(crate) fn at_end_of(func: &'a mut Func, region: RegionId, at: Inst<'_>) -> Builder<'a> {
        let (span, loc) = (at.span(), at.loc().cloned());
        Builder { at: builder::Builder::at_end(func, region).from_source(span, loc) }
    }

    /// Builds before an instruction, with its location.
    pub(crate) fn before(func: &'a mut Func, inst: InstId) -> Builder<'a> {
        Builder { at: builder::Builder::before(func, inst) }
    }

    /// Returns the builder that inserts the instructions.
    pub(crate) fn inner(&mut self) -> &mut builder::Builder<'a> {
        &mut self.at
    }

    /// Adds a return.
    pub(crate) fn finish(mut self, returned: Vec<ValueId>) {
        self.at.unchecked(NewInst::new(Op::Return, returned), []);
    }

    /// The type of a value, which must be a tensor.
    pub(crate) fn ty(&self, value: ValueId) -> TensorType {
        self.at.built().tensor(value).cloned().unwrap_or_else(|| TensorType::scalar(DType::Pred))
    }

    pub(crate) fn emit(&mut self, op: Op, operands: &[ValueId], ty: TensorType) -> ValueId {
        self.put(NewInst::new(op, operands.iter().copied()), ty)
    }

    pub(crate) fn constant(&mut self, value: Literal) -> ValueId {
        let ty = value.ty();
        self.emit(Op::Constant(value), &[], ty)
    }

    /// A tensor whose elements all equal a number.
    pub(crate) fn splat(&mut self, value: f64, dtype: DType, dims: &[usize]) -> ValueId {
        let value = match Scalar::zero(dtype) {
            Scalar::Bool(_) => Scalar::Bool(value != 0.0),
            Scalar::Signed(_) => Scalar::Signed(value as i64),
            Scalar::Unsigned(_) => Scalar::Unsigned(value as u64),
            Scalar::Float(_) => Scalar::Float(value),
            Scalar::Complex(_) => Scalar::Complex(Scalar::Float(value).as_complex()),
        };
        let scalar = self.constant(Literal::scalar(dtype, value.round_to(dtype)));
        self.broadcast(scalar, &[], dims)
    }

    pub(crate) fn unary(&mut self, op: Unary, x: ValueId) -> Option<ValueId> {
        let ty = op.info().result.of(&self.ty(x))?;
        Some(self.emit(Op::Unary(op), &[x], ty))
    }

    pub(crate) fn binary(&mut self, op: Binary, a: ValueId, b: ValueId) -> Option<ValueId> {
        let ty = op.info().result.of(&self.ty(a))?;
        Some(self.emit(Op::Binary(op), &[a, b], ty))
    }

    pub(crate) fn compare(&mut self, op: Compare, a: ValueId, b: ValueId) -> ValueId {
        let ty = self.ty(a).with_dtype(DType::Pred);
        self.emit(Op::Compare(op), &[a, b], ty)
    }

    pub(crate) fn is(&mut self, direction: ComparisonDirection, a: ValueId, b: ValueId) -> ValueId {
        self.compare(Compare { direction, kind: None }, a, b)
    }

    pub(crate) fn select(&mut self, pred: ValueId, a: ValueId, b: ValueId) -> ValueId {
        let ty = self.ty(a);
        self.emit(Op::Select, &[pred, a, b], ty)
    }

    pub(crate) fn convert(&mut self, x: ValueId, dtype: DType) -> ValueId {
        let ty = self.ty(x);
        if ty.dtype == dtype { x } else { self.emit(Op::Convert, &[x], ty.with_dtype(dtype)) }
    }

    /// Broadcasts a tensor: dimension `i` of the operand becomes dimension `dims[i]` of the result.
    pub(crate) fn broadcast(&mut self, x: ValueId, dims: &[usize], to: &[usize]) -> ValueId {
        let ty = self.ty(x);
        if ty.sizes() == to && dims.iter().copied().eq(0..to.len()) {
            return x;
        }
        self.emit(Op::BroadcastInDim { dims: dims.to_vec() }, &[x], ty.with_sizes(to))
    }

    pub(crate) fn reshape(&mut self, x: ValueId, to: &[usize]) -> ValueId {
        let ty = self.ty(x);
        self.emit(Op::Reshape, &[x], ty.with_sizes(to))
    }

    pub(crate) fn transpose(&mut self, x: ValueId, permutation: Vec<usize>) -> ValueId {
        if permutation.is_sorted() {
            return x;
        }
        let ty = self.ty(x);
        let dims: Vec<usize> = permutation.iter().map(|d| ty.sizes()[*d]).collect();
        self.emit(Op::Transpose { permutation }, &[x], ty.with_sizes(dims))
    }

    pub(crate) fn iota(&mut self, dtype: DType, dims: &[usize], dim: usize) -> ValueId {
        self.emit(Op::Iota { dim }, &[], TensorType::new(dtype, dims))
    }

    /// Appends zeros along the last dimension.
    pub(crate) fn pad_last(&mut self, x: ValueId, high: usize) -> ValueId {
        let ty = self.ty(x);
        let zero = self.splat(0.0, ty.dtype, &[]);
        let mut dims = ty.sizes().to_vec();
        let mut pads = vec![0; dims.len()];
        if let (Some(size), Some(pad)) = (dims.last_mut(), pads.last_mut()) {
            *size = size.saturating_add(high);
            *pad = i64::try_from(high).unwrap_or(i64::MAX);
        }
        let none = vec![0; dims.len()];
        let pad = Pad { low: none.clone(), high: pads, interior: none };
        self.emit(Op::Pad(pad), &[x, zero], ty.with_sizes(dims))
    }

    /// Appends zeros along all dimensions, up to these sizes.
    pub(crate) fn pad_high(&mut self, x: ValueId, to: &[usize]) -> ValueId {
        let ty = self.ty(x);
        if ty.sizes() == to {
            return x;
        }
        let zero = self.splat(0.0, ty.dtype, &[]);
        let missing =
            |(to, size): (&usize, &usize)| i64::try_from(to.saturating_sub(*size)).unwrap_or(i64::MAX);
        let high = to.iter().zip(ty.sizes()).map(missing).collect();
        let none = vec![0; to.len()];
        let pad = Pad { low: none.clone(), high, interior: none };
        self.emit(Op::Pad(pad), &[x, zero], ty.with_sizes(to))
    }

    /// Takes the first element along the last dimension, and removes this dimension.
    pub(crate) fn first_of_last(&mut self, x: ValueId) -> ValueId {
        let ty = self.ty(x);
        let mut limit = ty.sizes().to_vec();
        if let Some(size) = limit.last_mut() {
            *size = 1;
        }
        let (rank, dims) = (limit.len(), limit.clone());
        let slice = Slice { start: vec![0; rank], limit, strides: vec![1; rank] };
        let first = self.emit(Op::Slice(slice), &[x], ty.with_sizes(dims.clone()));
        self.reshape(first, &dims[..rank - 1])
    }

    /// Sums over dimensions.
    pub(crate) fn sum(&mut self, x: ValueId, dims: &[usize]) -> ValueId {
        if dims.is_empty() {
            return x;
        }
        let ty = self.ty(x);
        let zero = self.splat(0.0, ty.dtype, &[]);
        let scalar = || Type::Tensor(ty.with_sizes([]));
        let func = self.at.func();
        let region = func.new_region();
        let args = [(); 2].map(|()| func.add_arg(region, scalar()));
        let mut inner = self.at.inside(region);
        let add = inner.unchecked(NewInst::new(Op::Binary(Binary::Add), args), [scalar()]);
        let sum = inner.func().inst(add).results().to_vec();
        inner.unchecked(NewInst::new(Op::Return, sum), []);
        let kept = (0..ty.rank()).filter(|d| !dims.contains(d)).map(|d| ty.sizes()[d]);
        let result = ty.with_sizes(kept.collect::<Vec<_>>());
        let reduce = NewInst::new(Op::Reduce { dims: dims.to_vec() }, [x, zero]).with_regions([region]);
        self.put(reduce, result)
    }

    /// Builds an instruction with one result.
    pub(crate) fn put(&mut self, new: NewInst, result: TensorType) -> ValueId {
        let inst = self.at.unchecked(new, [Type::Tensor(result)]);
        self.at.func().inst(inst).results()[0]
    }
}
