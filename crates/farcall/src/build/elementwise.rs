//! Operations on corresponding elements.

use std::panic::Location;

use farcall_ir::op::{
    Binary, Broadcasted, Broadcasting, Compare, CompareKind, Derived, Direction, Op, Unary,
};
use farcall_ir::{DType, TensorType};

use super::graph::Graph;
use super::instruction::element;
use super::operators::{Operand, broadcast_sizes};
use super::value::Value;

/// A method for each function of one variable, by its name in StableHLO or CHLO.
macro_rules! unary {
    ($($method:ident $function:ident)*) => {
        impl<'g> Value<'g> {
            $(
                #[doc = concat!("`", stringify!($method), "` of each element; the shape stays. See [`Unary::", stringify!($function), "`].")]
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

/// A method for each function of two variables that Rust has no operator for, by its name.
macro_rules! binary {
    ($($method:ident $function:ident)*) => {
        impl<'g> Value<'g> {
            $(
                #[doc = concat!("`", stringify!($method), "` of corresponding elements, broadcast as by operators. See [`Binary::", stringify!($function), "`].")]
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

/// A method for each relation.
macro_rules! relations {
    ($($method:ident $direction:ident $sign:literal)*) => {
        impl<'g> Value<'g> {
            $(
                #[doc = concat!("`compare`: where elements are `", $sign, "` those of another operand, as `pred`; broadcast as by operators.")]
                #[track_caller]
                pub fn $method(self, other: impl Into<Operand<'g>>) -> Value<'g> {
                    let compare = Compare { direction: Direction::$direction, kind: None };
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
    /// `compare` with an order of numbers that is given: [`CompareKind::TotalOrder`], say.
    #[track_caller]
    pub fn compare(
        self,
        direction: Direction,
        kind: CompareKind,
        other: impl Into<Operand<'g>>,
    ) -> Value<'g> {
        let compare = Compare { direction, kind: Some(kind) };
        self.against(Location::caller(), compare, other.into())
    }

    /// `select`: elements of `on_true` where this `pred` holds, else those of `on_false`. One of both may be a number, unless
    /// the other is, too; all are broadcast as by operators, except that a scalar `pred` chooses between whole tensors.
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
            // The operation says what does not fit.
            return graph.at(place, Op::Select, [self, yes, no]).value();
        };
        let pred = if pred.is_empty() { self } else { graph.aligned(place, self, &sizes) };
        let [yes, no] = [yes, no].map(|value| graph.aligned(place, value, &sizes));
        graph.at(place, Op::Select, [pred, yes, no]).value()
    }

    /// `clamp`: each element, but at least `min` and at most `max`, which are scalars, numbers or of the same shape.
    #[track_caller]
    pub fn clamp(self, min: impl Into<Operand<'g>>, max: impl Into<Operand<'g>>) -> Value<'g> {
        let place = Location::caller();
        let [min, max] = [min.into(), max.into()].map(|bound| bound.beside(place, self));
        self.graph.at(place, Op::Clamp, [min, self, max]).value()
    }

    /// `convert` to another element type.
    #[track_caller]
    pub fn convert(self, dtype: DType) -> Value<'g> {
        self.graph.instruction(Op::Convert, self).result(element(dtype)).value()
    }

    /// `bitcast_convert`: the same bits as elements of another type. If that has fewer bits, the elements that one becomes
    /// are a new last dimension; if it has more, the last dimension goes.
    #[track_caller]
    pub fn bitcast_convert(self, dtype: DType) -> Value<'g> {
        self.graph.instruction(Op::BitcastConvert, self).result(element(dtype)).value()
    }

    /// `mhlo.copy`: the same value.
    #[track_caller]
    pub fn copy(self) -> Value<'g> {
        self.graph.instruction(Op::Copy, self).value()
    }

    /// `reduce_precision`: rounds to a floating-point format of so many bits; the element type stays.
    #[track_caller]
    pub fn reduce_precision(self, exponent_bits: u32, mantissa_bits: u32) -> Value<'g> {
        self.graph.instruction(Op::ReducePrecision { exponent_bits, mantissa_bits }, self).value()
    }

    /// `uniform_quantize` to the element type and quantization of `ty`, whose dimensions do not matter.
    #[track_caller]
    pub fn uniform_quantize(self, ty: TensorType) -> Value<'g> {
        self.graph.instruction(Op::UniformQuantize, self).result(ty).value()
    }

    /// `uniform_dequantize`
    #[track_caller]
    pub fn uniform_dequantize(self) -> Value<'g> {
        self.graph.instruction(Op::UniformDequantize, self).value()
    }

    /// `chlo.sin_cos`: sine and cosine.
    #[track_caller]
    pub fn sin_cos(self) -> [Value<'g>; 2] {
        self.graph.instruction(Op::Derived(Derived::SinCos), self).values()
    }
}

impl Graph {
    /// `chlo.broadcast_add` and the like: a function of operands whose shapes may differ, also in sizes that are not known.
    /// `dims` are the dimensions of the result that those of the operand of lower rank are; none: the last ones.
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
