//! Values, and structures of values.

use std::fmt;
use std::panic::Location;

use farcall_ir::{Dim, FuncId, TensorType, Type, ValueId};

use super::error::Place;
use super::graph::Graph;

/// A result of an instruction in a [`Graph`], or a parameter. Values are tensors, except for the results of
/// some operations.
///
/// An invalid operation returns a value without a type. Further operations on such a value report no errors.
#[derive(Clone, Copy)]
pub struct Value<'g> {
    pub(super) graph: &'g Graph,
    /// The value's function, and the value's number in it. `None` for a value without a type.
    pub(super) at: Option<(FuncId, ValueId)>,
}

impl<'g> Value<'g> {
    /// Returns the type; `None` if the operation that made the value is invalid, or the graph is finished.
    pub fn ty(self) -> Option<Type> {
        let (func, id) = self.at?;
        let state = self.graph.state();
        let func = state.module.get(func)?;
        (id.index() < func.value_count()).then(|| func.ty(id).clone())
    }

    /// Returns the type, if the value is a tensor.
    pub fn tensor(self) -> Option<TensorType> {
        self.ty()?.tensor().cloned()
    }

    /// Returns the number of dimensions; 0 if the value is not a tensor.
    pub fn rank(self) -> usize {
        self.tensor().map_or(0, |ty| ty.rank())
    }

    /// Returns the size of a dimension. If the dimension does not exist or its size is not known, an error is
    /// recorded and the result is 1.
    #[track_caller]
    pub fn size(self, dim: usize) -> usize {
        let place = Location::caller();
        let Some(ty) = self.ty() else { return 1 };
        match ty.tensor().and_then(|ty| ty.get_dim(dim)).and_then(Dim::size) {
            Some(size) => size,
            None => {
                self.graph.fail(place, "size", format!("{ty} has no dimension {dim} of known size"));
                1
            }
        }
    }

    /// Names the value for readers of the program's text: `%gemm = …`. Names have no effect on the program. A
    /// name that is already in use gets a number at its end.
    #[must_use]
    pub fn named(self, name: &str) -> Value<'g> {
        if let Some((func, id)) = self.at {
            let mut state = self.graph.state();
            if state.module.get(func).is_some() {
                state.module.func_mut(func).set_name(id, name);
            }
        }
        self
    }
}

impl Graph {
    /// Returns a value of a function.
    pub(super) fn value(&self, func: FuncId, value: ValueId) -> Value<'_> {
        Value { graph: self, at: Some((func, value)) }
    }

    /// Returns a value without a type, as the result of an invalid operation.
    pub(super) fn poison(&self) -> Value<'_> {
        Value { graph: self, at: None }
    }

    /// Records an error and returns a value without a type.
    pub(super) fn wrong(&self, place: Place, code: &'static str, message: impl Into<String>) -> Value<'_> {
        self.fail(place, code, message);
        self.poison()
    }
}

impl fmt::Debug for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.ty() {
            Some(ty) => write!(f, "Value({ty})"),
            None => f.write_str("Value(without a type)"),
        }
    }
}

/// One or more values: a [`Value`], or an array, vector or tuple of values, nested in any way.
///
/// Values that are carried by loops, or passed to and returned from regions, keep the structure in which they
/// are given.
pub trait Values<'g>: Sized {
    /// The values, in order.
    fn values(&self) -> Vec<Value<'g>>;

    /// Arranges other values in the same structure. Each call of `next` returns the next value.
    fn like(&self, next: &mut dyn FnMut() -> Value<'g>) -> Self;
}

impl<'g> Values<'g> for Value<'g> {
    fn values(&self) -> Vec<Value<'g>> {
        vec![*self]
    }

    fn like(&self, next: &mut dyn FnMut() -> Value<'g>) -> Self {
        next()
    }
}

impl<'g, V: Values<'g>> Values<'g> for Vec<V> {
    fn values(&self) -> Vec<Value<'g>> {
        self.iter().flat_map(Values::values).collect()
    }

    fn like(&self, next: &mut dyn FnMut() -> Value<'g>) -> Self {
        self.iter().map(|part| part.like(next)).collect()
    }
}

impl<'g, V: Values<'g>, const N: usize> Values<'g> for [V; N] {
    fn values(&self) -> Vec<Value<'g>> {
        self.iter().flat_map(Values::values).collect()
    }

    fn like(&self, next: &mut dyn FnMut() -> Value<'g>) -> Self {
        self.each_ref().map(|part| part.like(next))
    }
}

macro_rules! tuples {
    ($(($($part:ident)*))*) => {$(
        #[expect(non_snake_case, reason = "parts are named as their types")]
        impl<'g, $($part: Values<'g>),*> Values<'g> for ($($part,)*) {
            fn values(&self) -> Vec<Value<'g>> {
                let ($($part,)*) = self;
                [$($part.values()),*].concat()
            }

            fn like(&self, next: &mut dyn FnMut() -> Value<'g>) -> Self {
                let ($($part,)*) = self;
                ($($part.like(next),)*)
            }
        }
    )*};
}

tuples! { (A) (A B) (A B C) (A B C D) (A B C D E) (A B C D E F) (A B C D E F G) (A B C D E F G H) }

impl<'g> Values<'g> for () {
    fn values(&self) -> Vec<Value<'g>> {
        Vec::new()
    }

    fn like(&self, _: &mut dyn FnMut() -> Value<'g>) -> Self {}
}

/// Arranges values in the structure of other values. Missing values have no type.
pub(super) fn shaped<'g, V: Values<'g>>(graph: &'g Graph, like: &V, values: Vec<Value<'g>>) -> V {
    let mut values = values.into_iter();
    like.like(&mut || values.next().unwrap_or_else(|| graph.poison()))
}
