//! Elementwise operations.

use std::panic::Location;

use farcall_ir::op::{
    Binary, Broadcasted, Broadcasting, Compare, CompareKind, ComparisonDirection, Derived, Op, Unary,
};
use farcall_ir::{DType, TensorType};

use super::graph::Graph;
use super::instruction::element;
use super::operators::{Operand, broadcast_sizes};
use super::value::Value;

/// Defines a method for each unary operation, under its name in StableHLO or CHLO.
macro_rules! unary {
    ($($method:ident $function:ident)*) => {
        impl<'g> Value<'g> {
            $(
                #[doc = concat!(
                    "Adds `", stringify!($method), "` of each element; the shape is unchanged. See [`Unary::",
                    stringify!($function), "`].",
                )]
                #[track_caller]
                pub fn $method(self) -> Value<'g> {
                    self.graph.instruction(Op::Unary(Unary::$function), self).value()
                }
            )*
        }
    };
}

unary! {
    abs Abs
    cbrt Cbrt
    ceil Ceil
    count_leading_zeros CountLeadingZeros
    cosine Cosine
    exponential Exponential
    exponential_minus_one ExponentialMinusOne
    floor Floor
    imag Imag
    is_finite IsFinite
    log Log
    log_plus_one LogPlusOne
    logistic Logistic
    popcnt Popcnt
    real Real
    round_nearest_afz RoundNearestAfz
    round_nearest_even RoundNearestEven
    rsqrt Rsqrt
    sign Sign
    sine Sine
    sqrt Sqrt
    tan Tan
    tanh Tanh
    asin_acos_kernel AsinAcosKernel
    acos Acos
    acosh Acosh
    asin Asin
    asinh Asinh
    atan Atan
    atanh Atanh
    bessel_i1e BesselI1e
    conj Conj
    cosh Cosh
    digamma Digamma
    erf Erf
    erf_inv ErfInv
    erfc Erfc
    is_inf IsInf
    is_neg_inf IsNegInf
    is_pos_inf IsPosInf
    lgamma Lgamma
    sinh Sinh
    square Square
    chlo_tan ChloTan
}

/// Defines a method for each binary operation that Rust has no operator for, under the operation's name.
macro_rules! binary {
    ($($method:ident $function:ident)*) => {
        impl<'g> Value<'g> {
            $(
                #[doc = concat!(
                    "Adds `", stringify!($method), "` of corresponding elements, broadcast as by operators. \
                     See [`Binary::", stringify!($function), "`].",
                )]
                #[track_caller]
                pub fn $method(self, other: impl Into<Operand<'g>>) -> Value<'g> {
                    self.with(Location::caller(), Binary::$function, other.into())
                }
            )*
        }
    };
}

binary! {
    atan2 Atan2
    complex Complex
    maximum Maximum
    minimum Minimum
    power Power
    shift_right_arithmetic ShiftRightArithmetic
    shift_right_logical ShiftRightLogical
    mulhi MulHi
    next_after NextAfter
    polygamma Polygamma
    zeta Zeta
}

/// Defines a method for each relation.
macro_rules! relations {
    ($($method:ident $direction:ident $sign:literal)*) => {
        impl<'g> Value<'g> {
            $(
                #[doc = concat!(
                    "Adds a `compare`, whose result is a `pred` that is true where `self ", $sign,
                    " other`. Operands are broadcast as by operators.",
                )]
                #[track_caller]
                pub fn $method(self, other: impl Into<Operand<'g>>) -> Value<'g> {
                    let compare = Compare { direction: ComparisonDirection::$direction, kind: None };
                    self.against(Location::caller(), compare, other.into())
                }
            )*
        }
    };
}

relations! {
    eq Eq "="
    ne Ne "≠"
    ge Ge "≥"
    gt Gt ">"
    le Le "≤"
    lt Lt "<"
}

impl<'g> Value<'g> {
    /// Adds a `compare` with an explicit order of numbers, such as [`CompareKind::TotalOrder`].
    #[track_caller]
    pub fn compare(
        self,
        direction: ComparisonDirection,
        kind: CompareKind,
        other: impl Into<Operand<'g>>,
    ) -> Value<'g> {
        let compare = Compare { direction, kind: Some(kind) };
        self.against(Location::caller(), compare, other.into())
    }

    /// Adds a `select`: elements of `on_true` where this `pred` holds, and elements of `on_false` elsewhere.
    /// Either `on_true` or `on_false` may be a number, but not both. All operands are broadcast as by
    /// operators, except that a scalar `pred` chooses between whole tensors.
    #[track_caller]
    pub fn select(self, on_true: impl Into<Operand<'g>>, on_false: impl Into<Operand<'g>>) -> Value<'g> {
        let place = Location::caller();
        let (on_true, on_false) = (on_true.into(), on_false.into());
        let graph = self.graph;
        let (yes, no) = match (on_true.value(), on_false.value()) {
            (Some(yes), _) => (yes, on_false.beside(place, yes)),
            (None, Some(no)) => (on_true.beside(place, no), no),
            (None, None) => {
                let value = graph.wrong(
                    place,
                    "number",
                    "select between two numbers needs their type: make one of them a constant",
                );
                (value, value)
            }
        };
        let all = [self, yes, no].map(Value::tensor);
        let sizes: Option<Vec<&[usize]>> = all.iter().map(|ty| ty.as_ref()?.static_sizes()).collect();
        let Some([pred, left, right]) = sizes.as_deref().and_then(|all| <[&[usize]; 3]>::try_from(all).ok())
        else {
            return graph.at(place, Op::Select, [self, yes, no]).value();
        };
        let both = broadcast_sizes(left, right)
            .and_then(|both| if pred.is_empty() { Some(both) } else { broadcast_sizes(&both, pred) });
        let Some(sizes) = both else {
            // The operation reports the mismatch.
            return graph.at(place, Op::Select, [self, yes, no]).value();
        };
        let pred = if pred.is_empty() { self } else { graph.aligned(place, self, &sizes) };
        let [yes, no] = [yes, no].map(|value| graph.aligned(place, value, &sizes));
        graph.at(place, Op::Select, [pred, yes, no]).value()
    }

    /// Adds a `clamp`, which limits each element to the range from `min` to `max`. The bounds are scalars,
    /// numbers, or values of the same shape.
    #[track_caller]
    pub fn clamp(self, min: impl Into<Operand<'g>>, max: impl Into<Operand<'g>>) -> Value<'g> {
        let place = Location::caller();
        let [min, max] = [min.into(), max.into()].map(|bound| bound.beside(place, self));
        self.graph.at(place, Op::Clamp, [min, self, max]).value()
    }

    /// Adds a `convert` to another element type.
    #[track_caller]
    pub fn convert(self, dtype: DType) -> Value<'g> {
        self.graph.instruction(Op::Convert, self).result(element(dtype)).value()
    }

    /// Adds a `bitcast_convert`, which reinterprets the bits as elements of another type. If the new type has
    /// fewer bits, the parts of each element become a new last dimension; if it has more bits, the last
    /// dimension is removed.
    #[track_caller]
    pub fn bitcast_convert(self, dtype: DType) -> Value<'g> {
        self.graph.instruction(Op::BitcastConvert, self).result(element(dtype)).value()
    }

    /// Adds an `mhlo.copy`.
    #[track_caller]
    pub fn copy(self) -> Value<'g> {
        self.graph.instruction(Op::Copy, self).value()
    }

    /// Adds a `reduce_precision`, which rounds to a floating-point format with these numbers of bits and
    /// keeps the element type.
    #[track_caller]
    pub fn reduce_precision(self, exponent_bits: u32, mantissa_bits: u32) -> Value<'g> {
        self.graph.instruction(Op::ReducePrecision { exponent_bits, mantissa_bits }, self).value()
    }

    /// Adds a `uniform_quantize` to the element type and quantization of `ty`. The dimensions of `ty` are
    /// ignored.
    #[track_caller]
    pub fn uniform_quantize(self, ty: TensorType) -> Value<'g> {
        self.graph.instruction(Op::UniformQuantize, self).result(ty).value()
    }

    /// Adds a `uniform_dequantize`.
    #[track_caller]
    pub fn uniform_dequantize(self) -> Value<'g> {
        self.graph.instruction(Op::UniformDequantize, self).value()
    }

    /// Adds a `chlo.sin_cos`, which returns sine and cosine.
    #[track_caller]
    pub fn sin_cos(self) -> [Value<'g>; 2] {
        self.graph.instruction(Op::Derived(Derived::SinCos), self).values()
    }
}

impl Graph {
    /// Adds `chlo.broadcast_add` or another broadcasting operation, on operands whose shapes may differ and
    /// may have dynamic sizes. `dims` maps the dimensions of the operand of lower rank to dimensions of the
    /// result; `None` maps them to the last dimensions.
    #[track_caller]
    pub fn broadcasting<'g>(
        &'g self,
        function: Broadcasted,
        operands: impl super::Values<'g>,
        dims: Option<Vec<usize>>,
    ) -> Value<'g> {
        let op = Derived::Broadcasting(Broadcasting { function, dims });
        self.instruction(Op::Derived(op), operands).value()
    }
}
