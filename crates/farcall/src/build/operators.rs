//! Rust operators on values, and broadcasting.

use std::cmp::Ordering;
use std::ops;
use std::panic::Location;

use farcall_ir::op::{Binary, Broadcasted, Broadcasting, Compare, Derived, Op, Unary};
use farcall_ir::{Diagnostic, TensorType, Type};

use super::error::Place;
use super::graph::Graph;
use super::number::Number;
use super::value::Value;

/// The right side of an operator: a value, or a Rust number, which becomes a constant of the left side's
/// element type.
#[derive(Clone, Copy, Debug)]
pub struct Operand<'g>(Side<'g>);

#[derive(Clone, Copy, Debug)]
enum Side<'g> {
    Value(Value<'g>),
    Number(Number),
}

impl<'g> From<Value<'g>> for Operand<'g> {
    fn from(value: Value<'g>) -> Operand<'g> {
        Operand(Side::Value(value))
    }
}

impl<'g> From<&Value<'g>> for Operand<'g> {
    fn from(value: &Value<'g>) -> Operand<'g> {
        Operand(Side::Value(*value))
    }
}

macro_rules! numbers {
    ($($ty:ty)*) => {$(
        impl From<$ty> for Operand<'_> {
            fn from(number: $ty) -> Self {
                Operand(Side::Number(number.into()))
            }
        }
    )*};
}

numbers! { bool i32 i64 u32 u64 usize f32 f64 num_complex::Complex<f64> Number }

impl<'g> Operand<'g> {
    /// The value, if the operand is one.
    pub(super) fn value(self) -> Option<Value<'g>> {
        match self.0 {
            Side::Value(value) => Some(value),
            Side::Number(_) => None,
        }
    }

    /// Returns the value. A number becomes a scalar constant of the element type of `beside`.
    pub(super) fn beside(self, place: Place, beside: Value<'g>) -> Value<'g> {
        let number = match self.0 {
            Side::Value(value) => return value,
            Side::Number(number) => number,
        };
        let Some(ty) = beside.ty() else { return beside.graph.poison() };
        match ty {
            Type::Tensor(ty) => beside.graph.number(place, number, &ty.with_sizes([])),
            other => beside.graph.wrong(
                place,
                "number",
                format!("a number cannot be combined with a value of type {other}"),
            ),
        }
    }
}

impl Graph {
    /// Adds a constant whose elements are all the same number.
    pub(super) fn number(&self, place: Place, number: Number, ty: &TensorType) -> Value<'_> {
        match number.literal(ty) {
            Ok(literal) => {
                let ty = literal.ty();
                self.at(place, Op::Constant(literal), ()).result(ty).value()
            }
            Err(message) => self.wrong(place, "number", message),
        }
    }

    /// Adds an operation on two values, which are broadcast if necessary.
    pub(super) fn pairwise<'g>(
        &'g self,
        place: Place,
        function: Broadcasted,
        [a, b]: [Value<'g>; 2],
    ) -> Value<'g> {
        let (Some(left), Some(right)) = (a.tensor(), b.tensor()) else {
            // The operation reports operands that are not tensors.
            return self.at(place, plain(function), [a, b]).value();
        };
        if left.dims().eq(right.dims()) {
            return self.at(place, plain(function), [a, b]).value();
        }
        match (left.static_sizes(), right.static_sizes()) {
            (Some(from), Some(to)) => {
                let Some(sizes) = broadcast_sizes(from, to) else {
                    let message =
                        format!("{left} and {right} cannot be broadcast together: sizes must be equal or 1");
                    let mut error = Diagnostic::global("broadcast", message);
                    error.notes.extend(alignment(from, to));
                    self.state().errors.push(place, error);
                    return self.poison();
                };
                let [a, b] = [a, b].map(|value| self.aligned(place, value, &sizes));
                self.at(place, plain(function), [a, b]).value()
            }
            // CHLO has operations that broadcast dynamic sizes.
            _ => {
                let op = Derived::Broadcasting(Broadcasting { function, dims: None });
                self.at(place, Op::Derived(op), [a, b]).value()
            }
        }
    }

    /// Broadcasts a value to these sizes. Aligned at the last dimension, each size of the value must be equal
    /// to the new size or 1.
    pub(super) fn aligned<'g>(&'g self, place: Place, value: Value<'g>, sizes: &[usize]) -> Value<'g> {
        let Some(ty) = value.tensor() else { return value };
        if ty.static_sizes() == Some(sizes) {
            return value;
        }
        let dims = (sizes.len().saturating_sub(ty.rank())..sizes.len()).collect();
        self.at(place, Op::BroadcastInDim { dims }, value).result(ty.with_sizes(sizes)).value()
    }
}

/// Returns the operation on operands that have the same shape.
fn plain(function: Broadcasted) -> Op {
    match function {
        Broadcasted::Binary(function) => Op::Binary(function),
        Broadcasted::Compare(compare) => Op::Compare(compare),
        Broadcasted::Select => Op::Select,
    }
}

/// Returns the sizes that two shapes are broadcast to, aligned at the last dimension.
pub(super) fn broadcast_sizes(a: &[usize], b: &[usize]) -> Option<Vec<usize>> {
    let rank = a.len().max(b.len());
    let at = |sizes: &[usize], d: usize| (d + sizes.len()).checked_sub(rank).map_or(1, |i| sizes[i]);
    let size = |d: usize| match (at(a, d), at(b, d)) {
        (1, size) | (size, 1) => Some(size),
        (left, right) => (left == right).then_some(left),
    };
    (0..rank).map(size).collect()
}

/// Describes how shapes of different ranks are aligned, and to which sizes the operand of lower rank could be
/// reshaped so that the operands match.
fn alignment(a: &[usize], b: &[usize]) -> Option<String> {
    let (which, low, high) = match a.len().cmp(&b.len()) {
        Ordering::Less => ("first", a, b),
        Ordering::Equal => return None,
        Ordering::Greater => ("second", b, a),
    };
    let rule = "sizes are aligned at the last dimension";
    Some(match spread(low, high) {
        Some(sizes) => format!("{rule}; to align them otherwise, reshape the {which} to {sizes:?}"),
        None => rule.to_owned(),
    })
}

/// Inserts dimensions of size 1 between and after the sizes `low`, so that they match the sizes `high` of a
/// higher rank; `None` if the order of the sizes does not allow this.
fn spread(low: &[usize], high: &[usize]) -> Option<Vec<usize>> {
    let mut left = low.iter().rev().copied().peekable();
    let mut sizes = Vec::new();
    for size in high.iter().rev().copied() {
        if left.peek().is_none() {
            break;
        }
        sizes.push(left.next_if(|low| *low == size || *low == 1 || size == 1).unwrap_or(1));
    }
    sizes.reverse();
    left.next().is_none().then_some(sizes)
}

impl<'g> Value<'g> {
    /// Adds a binary operation on this value and another operand.
    pub(super) fn with(self, place: Place, function: Binary, other: Operand<'g>) -> Value<'g> {
        self.graph.pairwise(place, Broadcasted::Binary(function), [self, other.beside(place, self)])
    }

    /// Adds a comparison with another operand.
    pub(super) fn against(self, place: Place, compare: Compare, other: Operand<'g>) -> Value<'g> {
        self.graph.pairwise(place, Broadcasted::Compare(compare), [self, other.beside(place, self)])
    }

    fn is_unsigned(self) -> bool {
        self.tensor().is_some_and(|ty| ty.dtype.is_unsigned_integer())
    }
}

/// Defines an operator on a value and any right side, and on a number and a value.
macro_rules! operators {
    ($($Trait:ident $method:ident |$left:ident| $function:expr;)*) => {$(
        impl<'g, R: Into<Operand<'g>>> ops::$Trait<R> for Value<'g> {
            type Output = Value<'g>;

            #[track_caller]
            fn $method(self, right: R) -> Value<'g> {
                let $left = self;
                self.with(Location::caller(), $function, right.into())
            }
        }

        impl<'g, R: Into<Operand<'g>>> ops::$Trait<R> for &Value<'g> {
            type Output = Value<'g>;

            #[track_caller]
            fn $method(self, right: R) -> Value<'g> {
                ops::$Trait::$method(*self, right)
            }
        }

        operators! { @numbers $Trait $method |$left| $function; f32 f64 i32 i64 }
    )*};
    (@numbers $Trait:ident $method:ident |$left:ident| $function:expr; $($number:ty)*) => {$(
        impl<'g> ops::$Trait<Value<'g>> for $number {
            type Output = Value<'g>;

            #[track_caller]
            fn $method(self, right: Value<'g>) -> Value<'g> {
                let place = Location::caller();
                let $left = Operand::from(self).beside(place, right);
                $left.with(place, $function, right.into())
            }
        }

        impl<'g> ops::$Trait<&Value<'g>> for $number {
            type Output = Value<'g>;

            #[track_caller]
            fn $method(self, right: &Value<'g>) -> Value<'g> {
                ops::$Trait::$method(self, *right)
            }
        }
    )*};
}

operators! {
    Add add |_left| Binary::Add;
    Sub sub |_left| Binary::Subtract;
    Mul mul |_left| Binary::Multiply;
    Div div |_left| Binary::Divide;
    Rem rem |_left| Binary::Remainder;
    BitAnd bitand |_left| Binary::And;
    BitOr bitor |_left| Binary::Or;
    BitXor bitxor |_left| Binary::Xor;
    Shl shl |_left| Binary::ShiftLeft;
    Shr shr |left| if left.is_unsigned() { Binary::ShiftRightLogical } else { Binary::ShiftRightArithmetic };
}

macro_rules! unary_operators {
    ($($Trait:ident $method:ident $function:ident;)*) => {$(
        impl<'g> ops::$Trait for Value<'g> {
            type Output = Value<'g>;

            #[track_caller]
            fn $method(self) -> Value<'g> {
                self.graph.instruction(Op::Unary(Unary::$function), self).value()
            }
        }

        impl<'g> ops::$Trait for &Value<'g> {
            type Output = Value<'g>;

            #[track_caller]
            fn $method(self) -> Value<'g> {
                ops::$Trait::$method(*self)
            }
        }
    )*};
}

unary_operators! {
    Neg neg Negate;
    Not not Not;
}
