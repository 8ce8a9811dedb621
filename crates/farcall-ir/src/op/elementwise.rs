//! Operations on corresponding elements.

use farcall_sig::DType;

use super::Class;
use super::info::{OpInfo, Traits};
use crate::types::TensorType;

/// Relation between the element types of the result and the operands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ResultRule {
    /// The operand's type.
    Same,
    /// The type of a complex number's parts; real types stay unchanged.
    Real,
    /// `pred`
    Pred,
    /// The complex type whose parts have the operand's type.
    Complex,
}

impl ResultRule {
    /// Returns the element type of the result; `None` if the operands cannot have this type.
    pub fn dtype(self, operand: DType) -> Option<DType> {
        match self {
            ResultRule::Same => Some(operand),
            ResultRule::Real => Some(operand.real()),
            ResultRule::Pred => Some(DType::Pred),
            ResultRule::Complex => operand.complex(),
        }
    }

    /// Returns the type of the result for operands of a type. Quantized types stay quantized, unless the
    /// result is `pred`.
    pub(crate) fn of(self, operand: &TensorType) -> Option<TensorType> {
        match self {
            ResultRule::Same => Some(operand.clone()),
            ResultRule::Real if operand.quant.is_some() => Some(operand.clone()),
            _ => Some(operand.with_dtype(self.dtype(operand.dtype)?)),
        }
    }
}

/// The declaration of a function of one variable, or of two variables of one type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FunctionInfo {
    /// Name, arity and traits, as for all operations.
    pub op: OpInfo,
    /// Declaration of the CHLO form with operands of different shapes, which most binary functions have.
    pub broadcasting: OpInfo,
    /// Element types that the function accepts.
    pub operand: Class,
    /// Element type of the result.
    pub result: ResultRule,
    /// The specification's names of the constraints.
    pub(crate) codes: Codes,
}

/// The specification's names for the constraints of an elementwise operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Codes {
    /// Type of the first operand.
    pub(crate) i1: &'static str,
    /// Type of the second operand.
    pub(crate) i2: &'static str,
    /// Operands and result have the same type, or the same shape.
    pub(crate) c1: &'static str,
    /// Element type of the result, where the specification has a separate constraint for it.
    pub(crate) c2: &'static str,
    /// Constraint that only some operations have (`complex_c3`).
    pub(crate) c3: &'static str,
}

/// Prefix of an operation's name in the names of its constraints.
macro_rules! prefix {
    (stablehlo) => {
        ""
    };
    (chlo) => {
        "chlo_"
    };
}

/// Generates an enum of functions with `VARIANTS`, `info` and `name` from rows of variant, name, accepted element
/// types, relation of the result's element type, and traits.
macro_rules! functions {
    (
        $(#[$about:meta])*
        $Name:ident of $operands:literal, $count:literal;
        $($dialect:ident { $($(#[$doc:meta])* $variant:ident $name:literal $class:expr => $rule:ident, $traits:expr;)* })*
    ) => {
        $(#[$about])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        #[expect(missing_docs, reason = "each variant is the operation of the same name")]
        pub enum $Name {
            $($($(#[$doc])* $variant,)*)*
        }

        impl $Name {
            /// All variants.
            pub const VARIANTS: [$Name; $count] = [$($($Name::$variant,)*)*];

            /// Returns the declaration of the function.
            pub const fn info(self) -> &'static FunctionInfo {
                match self {
                    $($($Name::$variant => {
                        static INFO: FunctionInfo = FunctionInfo {
                            op: OpInfo::of(concat!(stringify!($dialect), ".", $name), $operands, $traits),
                            broadcasting: OpInfo::of(concat!("chlo.broadcast_", $name), $operands, $traits),
                            operand: $class,
                            result: ResultRule::$rule,
                            codes: Codes {
                                i1: concat!(prefix!($dialect), $name, "_i1"),
                                i2: concat!(prefix!($dialect), $name, "_i2"),
                                c1: concat!(prefix!($dialect), $name, "_c1"),
                                c2: concat!(prefix!($dialect), $name, "_c2"),
                                c3: concat!(prefix!($dialect), $name, "_c3"),
                            },
                        };
                        &INFO
                    })*)*
                }
            }

            /// Returns the name with its dialect.
            pub const fn name(self) -> &'static str {
                self.info().op.name
            }

            /// Returns true if the function belongs to CHLO rather than StableHLO.
            pub fn is_chlo(self) -> bool {
                self.name().starts_with("chlo.")
            }
        }
    };
}

const PRED: Class = Class::PRED;
const SIGNED: Class = Class::SIGNED;
const INT: Class = Class::INT;
const FLOAT: Class = Class::FLOAT;
const COMPLEX: Class = Class::COMPLEX;
const QUANT: Class = Class::QUANT;
const TENSOR: Class = Class::TENSOR;
const ANY: Class = Class::ANY;

const ARITHMETIC: Traits = Traits::ARITHMETIC;
const COMMUTATIVE: Traits = Traits::COMMUTATIVE;
const ASSOCIATIVE: Traits = Traits::ASSOCIATIVE;
const IDEMPOTENT: Traits = Traits::IDEMPOTENT;

functions! {
    /// Functions of one variable of StableHLO and CHLO.
    Unary of 1, 46;
    stablehlo {
        Abs "abs" SIGNED.or(FLOAT).or(COMPLEX).or(QUANT) => Real, ARITHMETIC.and(IDEMPOTENT);
        Cbrt "cbrt" FLOAT.or(COMPLEX).or(QUANT) => Same, ARITHMETIC;
        Ceil "ceil" FLOAT.or(QUANT) => Same, ARITHMETIC.and(IDEMPOTENT);
        CountLeadingZeros "count_leading_zeros" INT => Same, ARITHMETIC;
        Cosine "cosine" FLOAT.or(COMPLEX).or(QUANT) => Same, ARITHMETIC;
        Exponential "exponential" FLOAT.or(COMPLEX).or(QUANT) => Same, ARITHMETIC;
        ExponentialMinusOne "exponential_minus_one" FLOAT.or(COMPLEX).or(QUANT) => Same, ARITHMETIC;
        Floor "floor" FLOAT.or(QUANT) => Same, ARITHMETIC.and(IDEMPOTENT);
        /// Imaginary part: complex to real.
        Imag "imag" FLOAT.or(COMPLEX) => Real, ARITHMETIC;
        /// Returns `pred`.
        IsFinite "is_finite" FLOAT.or(QUANT) => Pred, ARITHMETIC;
        Log "log" FLOAT.or(COMPLEX).or(QUANT) => Same, ARITHMETIC;
        LogPlusOne "log_plus_one" FLOAT.or(COMPLEX).or(QUANT) => Same, ARITHMETIC;
        Logistic "logistic" FLOAT.or(COMPLEX).or(QUANT) => Same, ARITHMETIC;
        Negate "negate" INT.or(FLOAT).or(COMPLEX).or(QUANT) => Same, ARITHMETIC;
        Not "not" PRED.or(INT) => Same, ARITHMETIC;
        Popcnt "popcnt" INT => Same, ARITHMETIC;
        /// Real part: complex to real.
        Real "real" FLOAT.or(COMPLEX) => Real, ARITHMETIC;
        /// Half away from zero.
        RoundNearestAfz "round_nearest_afz" FLOAT.or(QUANT) => Same, ARITHMETIC.and(IDEMPOTENT);
        RoundNearestEven "round_nearest_even" FLOAT.or(QUANT) => Same, ARITHMETIC.and(IDEMPOTENT);
        Rsqrt "rsqrt" FLOAT.or(COMPLEX).or(QUANT) => Same, ARITHMETIC;
        Sign "sign" SIGNED.or(FLOAT).or(COMPLEX).or(QUANT) => Same, ARITHMETIC.and(IDEMPOTENT);
        Sine "sine" FLOAT.or(COMPLEX).or(QUANT) => Same, ARITHMETIC;
        Sqrt "sqrt" FLOAT.or(COMPLEX).or(QUANT) => Same, ARITHMETIC;
        Tan "tan" FLOAT.or(COMPLEX).or(QUANT) => Same, ARITHMETIC;
        Tanh "tanh" FLOAT.or(COMPLEX).or(QUANT) => Same, ARITHMETIC;
    }
    chlo {
        /// Common part `w` of the inverse sine and cosine of `z`. The inverse sine has the real part
        /// `atan2(re z, re w)` and, up to the sign, the imaginary part `im w`.
        AsinAcosKernel "_asin_acos_kernel" COMPLEX => Same, ARITHMETIC;
        Acos "acos" FLOAT.or(COMPLEX) => Same, ARITHMETIC;
        Acosh "acosh" FLOAT.or(COMPLEX) => Same, ARITHMETIC;
        Asin "asin" FLOAT.or(COMPLEX) => Same, ARITHMETIC;
        Asinh "asinh" FLOAT.or(COMPLEX) => Same, ARITHMETIC;
        Atan "atan" FLOAT.or(COMPLEX) => Same, ARITHMETIC;
        Atanh "atanh" FLOAT.or(COMPLEX) => Same, ARITHMETIC;
        BesselI1e "bessel_i1e" FLOAT => Same, ARITHMETIC;
        /// Complex conjugate.
        Conj "conj" FLOAT.or(COMPLEX) => Same, ARITHMETIC;
        Cosh "cosh" FLOAT.or(COMPLEX) => Same, ARITHMETIC;
        Digamma "digamma" FLOAT => Same, ARITHMETIC;
        Erf "erf" FLOAT => Same, ARITHMETIC;
        ErfInv "erf_inv" FLOAT => Same, ARITHMETIC;
        Erfc "erfc" FLOAT => Same, ARITHMETIC;
        /// Returns `pred`.
        IsInf "is_inf" FLOAT => Pred, ARITHMETIC;
        /// Returns `pred`.
        IsNegInf "is_neg_inf" FLOAT => Pred, ARITHMETIC;
        /// Returns `pred`.
        IsPosInf "is_pos_inf" FLOAT => Pred, ARITHMETIC;
        Lgamma "lgamma" FLOAT => Same, ARITHMETIC;
        Sinh "sinh" FLOAT.or(COMPLEX) => Same, ARITHMETIC;
        Square "square" FLOAT.or(COMPLEX) => Same, ARITHMETIC;
        /// `chlo.tan`
        ChloTan "tan" FLOAT.or(COMPLEX) => Same, ARITHMETIC;
    }
}

functions! {
    /// Functions of two operands of one type.
    Binary of 2, 20;
    stablehlo {
        Add "add" ANY => Same, ARITHMETIC.and(COMMUTATIVE).and(ASSOCIATIVE);
        And "and" PRED.or(INT) => Same, ARITHMETIC.and(COMMUTATIVE).and(ASSOCIATIVE).and(IDEMPOTENT);
        Atan2 "atan2" FLOAT.or(COMPLEX).or(QUANT) => Same, ARITHMETIC;
        /// Real and imaginary part to complex.
        Complex "complex" FLOAT => Complex, ARITHMETIC;
        Divide "divide" INT.or(FLOAT).or(COMPLEX).or(QUANT) => Same, ARITHMETIC;
        Maximum "maximum" TENSOR => Same, ARITHMETIC.and(COMMUTATIVE).and(ASSOCIATIVE).and(IDEMPOTENT);
        Minimum "minimum" TENSOR => Same, ARITHMETIC.and(COMMUTATIVE).and(ASSOCIATIVE).and(IDEMPOTENT);
        Multiply "multiply" TENSOR => Same, ARITHMETIC.and(COMMUTATIVE).and(ASSOCIATIVE);
        Or "or" PRED.or(INT) => Same, ARITHMETIC.and(COMMUTATIVE).and(ASSOCIATIVE).and(IDEMPOTENT);
        Power "power" INT.or(FLOAT).or(COMPLEX).or(QUANT) => Same, ARITHMETIC;
        Remainder "remainder" INT.or(FLOAT).or(COMPLEX).or(QUANT) => Same, ARITHMETIC;
        ShiftLeft "shift_left" INT => Same, ARITHMETIC;
        ShiftRightArithmetic "shift_right_arithmetic" INT => Same, ARITHMETIC;
        ShiftRightLogical "shift_right_logical" INT => Same, ARITHMETIC;
        Subtract "subtract" INT.or(FLOAT).or(COMPLEX).or(QUANT) => Same, ARITHMETIC;
        Xor "xor" PRED.or(INT) => Same, ARITHMETIC.and(COMMUTATIVE).and(ASSOCIATIVE);
    }
    chlo {
        /// The upper half of the product of two integers.
        MulHi "mulhi" INT => Same, ARITHMETIC.and(COMMUTATIVE);
        NextAfter "next_after" FLOAT => Same, ARITHMETIC;
        Polygamma "polygamma" FLOAT => Same, ARITHMETIC;
        Zeta "zeta" FLOAT => Same, ARITHMETIC;
    }
}

/// `compare`
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Compare {
    /// The relation.
    pub direction: Direction,
    /// Ordering of numbers; `None` if the text does not specify it.
    pub kind: Option<CompareKind>,
}

/// The relation of a comparison.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[expect(missing_docs, reason = "named as in the specification")]
pub enum Direction {
    Eq,
    Ne,
    Ge,
    Gt,
    Le,
    Lt,
}

/// Orderings of numbers in comparisons.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum CompareKind {
    /// IEEE 754 comparison.
    Float,
    /// `-NaN < -inf < … < -0 < +0 < … < inf < NaN`
    TotalOrder,
    /// Signed integers.
    Signed,
    /// Unsigned integers and `pred`.
    Unsigned,
}

impl Direction {
    /// Returns the direction of the same comparison with its operands exchanged.
    pub fn mirrored(self) -> Direction {
        match self {
            Direction::Lt => Direction::Gt,
            Direction::Gt => Direction::Lt,
            Direction::Le => Direction::Ge,
            Direction::Ge => Direction::Le,
            same @ (Direction::Eq | Direction::Ne) => same,
        }
    }

    /// All directions.
    pub const VARIANTS: [Direction; 6] =
        [Direction::Eq, Direction::Ne, Direction::Ge, Direction::Gt, Direction::Le, Direction::Lt];

    /// Returns the spelling in StableHLO text.
    pub const fn name(self) -> &'static str {
        match self {
            Direction::Eq => "EQ",
            Direction::Ne => "NE",
            Direction::Ge => "GE",
            Direction::Gt => "GT",
            Direction::Le => "LE",
            Direction::Lt => "LT",
        }
    }
}

impl CompareKind {
    /// All kinds.
    pub const VARIANTS: [CompareKind; 4] =
        [CompareKind::Float, CompareKind::TotalOrder, CompareKind::Signed, CompareKind::Unsigned];

    /// Returns the spelling in StableHLO text.
    pub const fn name(self) -> &'static str {
        match self {
            CompareKind::Float => "FLOAT",
            CompareKind::TotalOrder => "TOTALORDER",
            CompareKind::Signed => "SIGNED",
            CompareKind::Unsigned => "UNSIGNED",
        }
    }
}
