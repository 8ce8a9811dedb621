//! Making instructions one after the other.

use farcall_sig::DType;

use crate::attr::AttrDict;
use crate::literal::Literal;
use crate::module::{Func, Inst, Region, ValueId};
use crate::op::{Binary, Compare, Direction, Op, Pad, Slice, Unary};
use crate::scalar::Scalar;
use crate::types::{TensorType, Type};

/// Appends instructions to a list; their values belong to a function.
pub(super) struct Builder<'a> {
    func: &'a mut Func,
    out: &'a mut Vec<Inst>,
    /// The instruction whose place they have.
    at: &'a Inst,
}

/// An instruction without regions and attributes, where another one stands.
pub(super) fn inst(op: Op, operands: Vec<ValueId>, results: Vec<ValueId>, at: &Inst) -> Inst {
    let (span, loc) = (at.span, at.loc.clone());
    Inst { op, operands, results, regions: Vec::new(), attrs: AttrDict::new(), span, loc }
}

impl<'a> Builder<'a> {
    pub(super) fn new(func: &'a mut Func, out: &'a mut Vec<Inst>, at: &'a Inst) -> Builder<'a> {
        Builder { func, out, at }
    }

    /// The type of a value, which is a tensor.
    pub(super) fn ty(&self, value: ValueId) -> TensorType {
        self.func.tensor(value).cloned().unwrap_or_else(|| TensorType::scalar(DType::Pred))
    }

    pub(super) fn emit(&mut self, op: Op, operands: &[ValueId], ty: TensorType) -> ValueId {
        let result = self.func.new_value(Type::Tensor(ty));
        self.out.push(inst(op, operands.to_vec(), vec![result], self.at));
        result
    }

    pub(super) fn constant(&mut self, value: Literal) -> ValueId {
        let ty = value.ty();
        self.emit(Op::Constant(value), &[], ty)
    }

    /// A number everywhere.
    pub(super) fn splat(&mut self, value: f64, dtype: DType, dims: &[usize]) -> ValueId {
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

    pub(super) fn unary(&mut self, op: Unary, x: ValueId) -> Option<ValueId> {
        let ty = op.info().result.of(&self.ty(x))?;
        Some(self.emit(Op::Unary(op), &[x], ty))
    }

    pub(super) fn binary(&mut self, op: Binary, a: ValueId, b: ValueId) -> Option<ValueId> {
        let ty = op.info().result.of(&self.ty(a))?;
        Some(self.emit(Op::Binary(op), &[a, b], ty))
    }

    pub(super) fn compare(&mut self, op: Compare, a: ValueId, b: ValueId) -> ValueId {
        let ty = self.ty(a).with_dtype(DType::Pred);
        self.emit(Op::Compare(op), &[a, b], ty)
    }

    pub(super) fn is(&mut self, direction: Direction, a: ValueId, b: ValueId) -> ValueId {
        self.compare(Compare { direction, kind: None }, a, b)
    }

    pub(super) fn select(&mut self, pred: ValueId, a: ValueId, b: ValueId) -> ValueId {
        let ty = self.ty(a);
        self.emit(Op::Select, &[pred, a, b], ty)
    }

    pub(super) fn convert(&mut self, x: ValueId, dtype: DType) -> ValueId {
        let ty = self.ty(x);
        if ty.dtype == dtype { x } else { self.emit(Op::Convert, &[x], ty.with_dtype(dtype)) }
    }

    /// Dimension `i` of the operand becomes dimension `dims[i]` of the result.
    pub(super) fn broadcast(&mut self, x: ValueId, dims: &[usize], to: &[usize]) -> ValueId {
        let ty = self.ty(x);
        if *ty.dims == *to && dims.iter().copied().eq(0..to.len()) {
            return x;
        }
        self.emit(Op::BroadcastInDim { dims: dims.to_vec() }, &[x], ty.with_dims(to))
    }

    pub(super) fn reshape(&mut self, x: ValueId, to: &[usize]) -> ValueId {
        let ty = self.ty(x);
        self.emit(Op::Reshape, &[x], ty.with_dims(to))
    }

    pub(super) fn transpose(&mut self, x: ValueId, permutation: Vec<usize>) -> ValueId {
        if permutation.is_sorted() {
            return x;
        }
        let ty = self.ty(x);
        let dims: Vec<usize> = permutation.iter().map(|d| ty.dims[*d]).collect();
        self.emit(Op::Transpose { permutation }, &[x], ty.with_dims(dims))
    }

    pub(super) fn iota(&mut self, dtype: DType, dims: &[usize], dim: usize) -> ValueId {
        self.emit(Op::Iota { dim }, &[], TensorType::new(dtype, dims))
    }

    /// Zeros behind the elements of the last dimension.
    pub(super) fn pad_last(&mut self, x: ValueId, high: usize) -> ValueId {
        let ty = self.ty(x);
        let zero = self.splat(0.0, ty.dtype, &[]);
        let mut dims = ty.dims.to_vec();
        let mut pads = vec![0; dims.len()];
        if let (Some(size), Some(pad)) = (dims.last_mut(), pads.last_mut()) {
            *size = size.saturating_add(high);
            *pad = i64::try_from(high).unwrap_or(i64::MAX);
        }
        let none = vec![0; dims.len()];
        let pad = Pad { low: none.clone(), high: pads, interior: none };
        self.emit(Op::Pad(pad), &[x, zero], ty.with_dims(dims))
    }

    /// The first element along the last dimension, which goes.
    pub(super) fn first_of_last(&mut self, x: ValueId) -> ValueId {
        let ty = self.ty(x);
        let mut limit = ty.dims.to_vec();
        if let Some(size) = limit.last_mut() {
            *size = 1;
        }
        let (rank, dims) = (limit.len(), limit.clone());
        let slice = Slice { start: vec![0; rank], limit, strides: vec![1; rank] };
        let first = self.emit(Op::Slice(slice), &[x], ty.with_dims(dims.clone()));
        self.reshape(first, &dims[..rank - 1])
    }

    /// The sum over dimensions.
    pub(super) fn sum(&mut self, x: ValueId, dims: &[usize]) -> ValueId {
        if dims.is_empty() {
            return x;
        }
        let ty = self.ty(x);
        let zero = self.splat(0.0, ty.dtype, &[]);
        let scalar = || Type::Tensor(ty.with_dims([]));
        let args: Vec<ValueId> = vec![self.func.new_value(scalar()), self.func.new_value(scalar())];
        let sum = self.func.new_value(scalar());
        let insts = vec![
            inst(Op::Binary(Binary::Add), args.clone(), vec![sum], self.at),
            inst(Op::Return, vec![sum], Vec::new(), self.at),
        ];
        let kept = (0..ty.rank()).filter(|d| !dims.contains(d)).map(|d| ty.dims[d]);
        let result = ty.with_dims(kept.collect::<Vec<_>>());
        let value = self.emit(Op::Reduce { dims: dims.to_vec() }, &[x, zero], result);
        if let Some(last) = self.out.last_mut() {
            last.regions.push(Region { args, insts });
        }
        value
    }
}
