//! Constants, and operations that move elements.

use std::panic::Location;

use farcall_ir::op::{Derived, Op, Pad, Slice};
use farcall_ir::{DType, Dim, Literal, TensorType, Type};

use super::graph::Graph;
use super::number::Number;
use super::operators::Operand;
use super::value::{Value, Values};

impl Graph {
    /// Adds a `constant`.
    #[track_caller]
    pub fn constant(&self, value: Literal) -> Value<'_> {
        let ty = value.ty();
        self.instruction(Op::Constant(value), ()).result(ty).value()
    }

    /// Adds a scalar constant: `graph.scalar(DType::F32, 0.5)`.
    #[track_caller]
    pub fn scalar(&self, dtype: DType, number: impl Into<Number>) -> Value<'_> {
        self.number(Location::caller(), number.into(), &TensorType::scalar(dtype))
    }

    /// Adds a constant whose elements are all the same number.
    #[track_caller]
    pub fn full(&self, ty: TensorType, number: impl Into<Number>) -> Value<'_> {
        self.number(Location::caller(), number.into(), &ty)
    }

    /// Adds an `iota`: indices along dimension `dim`.
    #[track_caller]
    pub fn iota(&self, ty: TensorType, dim: usize) -> Value<'_> {
        self.instruction(Op::Iota { dim }, ()).result(ty).value()
    }

    /// Adds a `dynamic_iota`. `shape` holds the sizes of the dimensions that are dynamic in `ty`.
    #[track_caller]
    pub fn dynamic_iota<'g>(&'g self, shape: Value<'g>, ty: TensorType, dim: usize) -> Value<'g> {
        self.instruction(Op::DynamicIota { dim }, shape).result(ty).value()
    }

    /// Adds a `concatenate` along dimension `dim`.
    #[track_caller]
    pub fn concatenate<'g>(&'g self, values: impl Values<'g>, dim: usize) -> Value<'g> {
        self.instruction(Op::Concatenate { dim }, values).value()
    }
}

impl<'g> Value<'g> {
    /// Adds a `broadcast_in_dim`: dimension `i` becomes dimension `dims[i]` of a tensor of these sizes.
    #[track_caller]
    pub fn broadcast_in_dim(self, dims: impl Into<Vec<usize>>, sizes: impl Into<Vec<usize>>) -> Value<'g> {
        let op = Op::BroadcastInDim { dims: dims.into() };
        self.graph.instruction(op, self).result_if_known(self.sized(sizes)).value()
    }

    /// Adds a `dynamic_broadcast_in_dim` to the sizes in `shape`. `ty` has the sizes that are known
    /// statically.
    #[track_caller]
    pub fn dynamic_broadcast_in_dim(
        self,
        shape: Value<'g>,
        dims: impl Into<Vec<usize>>,
        ty: TensorType,
    ) -> Value<'g> {
        let op = Op::DynamicBroadcastInDim { dims: dims.into() };
        self.graph.instruction(op, [self, shape]).result(ty).value()
    }

    /// Adds a `broadcast`: dimensions of these sizes are inserted before the existing dimensions.
    #[track_caller]
    pub fn broadcast(self, sizes: impl Into<Vec<usize>>) -> Value<'g> {
        let op = Derived::Broadcast { sizes: sizes.into() };
        self.graph.instruction(Op::Derived(op), self).value()
    }

    /// Adds a `chlo.constant_like`: a tensor of this value's type whose elements are all the same number.
    #[track_caller]
    pub fn constant_like(self, number: impl Into<Number>) -> Value<'g> {
        let place = Location::caller();
        let Some(ty) = self.tensor() else {
            // The operation reports an operand that is not a tensor.
            let one = Literal::zeros(DType::Pred, []);
            return self.graph.at(place, Op::Derived(Derived::ConstantLike(one)), self).value();
        };
        match number.into().literal(&ty.with_sizes([])) {
            Ok(one) => self.graph.at(place, Op::Derived(Derived::ConstantLike(one)), self).value(),
            Err(message) => self.graph.wrong(place, "number", message),
        }
    }

    /// Adds a `reshape` to these sizes, which keeps the elements in row-major order.
    #[track_caller]
    pub fn reshape(self, sizes: impl Into<Vec<usize>>) -> Value<'g> {
        self.graph.instruction(Op::Reshape, self).result_if_known(self.sized(sizes)).value()
    }

    /// Adds a `dynamic_reshape` to the sizes in `shape`. `ty` has the sizes that are known statically.
    #[track_caller]
    pub fn dynamic_reshape(self, shape: Value<'g>, ty: TensorType) -> Value<'g> {
        self.graph.instruction(Op::DynamicReshape, [self, shape]).result(ty).value()
    }

    /// Adds a `transpose`: dimension `i` of the result is dimension `permutation[i]` of this value.
    #[track_caller]
    pub fn transpose(self, permutation: impl Into<Vec<usize>>) -> Value<'g> {
        self.graph.instruction(Op::Transpose { permutation: permutation.into() }, self).value()
    }

    /// Adds a `slice`: the elements from `start` up to, but excluding, `limit` in each dimension.
    #[track_caller]
    pub fn slice(self, start: impl Into<Vec<usize>>, limit: impl Into<Vec<usize>>) -> Value<'g> {
        let start: Vec<usize> = start.into();
        let strides = vec![1; start.len()];
        self.strided_slice(start, limit, strides)
    }

    /// Adds a `slice` with strides: the elements `start[d]`, `start[d] + strides[d]`, … below `limit[d]`.
    #[track_caller]
    pub fn strided_slice(
        self,
        start: impl Into<Vec<usize>>,
        limit: impl Into<Vec<usize>>,
        strides: impl Into<Vec<usize>>,
    ) -> Value<'g> {
        let slice = Slice { start: start.into(), limit: limit.into(), strides: strides.into() };
        self.graph.instruction(Op::Slice(slice), self).value()
    }

    /// Adds a `pad`, which inserts a value (a scalar, or a number) before, after and between the elements of
    /// each dimension. Negative amounts before and after remove elements.
    #[track_caller]
    pub fn pad(
        self,
        value: impl Into<Operand<'g>>,
        low: impl Into<Vec<i64>>,
        high: impl Into<Vec<i64>>,
        interior: impl Into<Vec<i64>>,
    ) -> Value<'g> {
        let place = Location::caller();
        let pad = Pad { low: low.into(), high: high.into(), interior: interior.into() };
        let value = value.into().beside(place, self);
        self.graph.at(place, Op::Pad(pad), [self, value]).value()
    }

    /// Adds a `dynamic_pad`: like [`pad`](Value::pad), with amounts that the program computes as vectors of
    /// integers.
    #[track_caller]
    pub fn dynamic_pad(
        self,
        value: impl Into<Operand<'g>>,
        [low, high, interior]: [Value<'g>; 3],
    ) -> Value<'g> {
        let place = Location::caller();
        let value = value.into().beside(place, self);
        let instruction = self.graph.at(place, Op::DynamicPad, [self, value, low, high, interior]);
        instruction.result_if_known(self.open()).value()
    }

    /// Adds a `reverse`, which reverses the order of elements along these dimensions.
    #[track_caller]
    pub fn reverse(self, dims: impl Into<Vec<usize>>) -> Value<'g> {
        self.graph.instruction(Op::Reverse { dims: dims.into() }, self).value()
    }

    /// Adds a `get_dimension_size`: the size of a dimension, as a scalar of type `s32`.
    #[track_caller]
    pub fn get_dimension_size(self, dim: usize) -> Value<'g> {
        self.graph.instruction(Op::GetDimensionSize { dim }, self).value()
    }

    /// Adds a `set_dimension_size`: the first `size` elements along a dimension, which becomes dynamic.
    #[track_caller]
    pub fn set_dimension_size(self, size: Value<'g>, dim: usize) -> Value<'g> {
        self.graph.instruction(Op::SetDimensionSize { dim }, [self, size]).value()
    }

    /// Returns the type of this value with other sizes.
    fn sized(self, sizes: impl Into<Vec<usize>>) -> Option<Type> {
        let ty = self.ty()?;
        Some(ty.tensor().map_or_else(|| ty.clone(), |t| t.with_sizes(sizes.into()).into()))
    }

    /// Returns the type of this value with all sizes dynamic.
    pub(super) fn open(self) -> Option<Type> {
        let ty = self.ty()?;
        Some(ty.tensor().map_or_else(|| ty.clone(), |t| t.with_dims(t.dims().map(|_| Dim::UNBOUNDED)).into()))
    }
}
