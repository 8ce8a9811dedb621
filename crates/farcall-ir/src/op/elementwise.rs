//! Operations on corresponding elements.

use farcall_sig::DType;

use super::Class;
use super::info::{Count, Formats, Kind, OpInfo, Release, Traits, V1, arity, name_in_hlo};
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
    /// The columns that all operations have.
    pub op: OpInfo,
    /// Declaration of the CHLO form with operands of different shapes.
    pub broadcasting: OpInfo,
    /// True if CHLO has the form with operands of different shapes, as for most binary functions.
    pub broadcasts: bool,
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

/// The forms of a function besides the one in StableHLO text.
#[derive(Clone, Copy)]
struct Forms {
    formats: Formats,
    /// True if the function has the attribute `result_accuracy`.
    accuracy: bool,
    broadcasts: bool,
}

/// Forms of StableHLO's functions.
const HLO_VHLO: Forms = Forms { formats: Formats::HLO_VHLO, accuracy: false, broadcasts: true };
/// Forms of CHLO's functions.
const TEXT: Forms = Forms { formats: Formats::TEXT, ..HLO_VHLO };
/// Forms of CHLO's functions that HLO has.
const HLO: Forms = Forms { formats: Formats::HLO, ..HLO_VHLO };

/// Forms of StableHLO's functions that have the attribute `result_accuracy`. In artifacts, the second version
/// of such a function adds the attribute; `versions` has the release of each version.
const fn accuracy(versions: &'static [Release]) -> Forms {
    Forms { formats: Formats::HLO_VHLO.versions(versions), accuracy: true, ..HLO_VHLO }
}

/// Declares the operands and the result of a function of `operands` variables.
const fn function(operands: usize) -> OpInfo {
    arity(Count::Exactly(operands), Kind::Tensors, Count::Exactly(0), Count::Exactly(1))
}

/// Generates an enum of functions, with `VARIANTS`, `info` and `name`. A row has the variant, the name, the
/// accepted element types, the relation of the result's element type to these, the traits, and the forms.
macro_rules! functions {
    (
        $(#[$about:meta])*
        $Name:ident of $operands:literal;
        $($dialect:ident {
            $(
                $(#[$doc:meta])*
                $variant:ident $name:literal $class:expr => $rule:ident, $traits:expr, $forms:expr;
            )*
        })*
    ) => {
        $(#[$about])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        #[expect(missing_docs, reason = "each variant is the operation of the same name")]
        pub enum $Name {
            $($($(#[$doc])* $variant,)*)*
        }

        impl $Name {
            /// All variants.
            pub const VARIANTS: [$Name; [$($($Name::$variant,)*)*].len()] = [$($($Name::$variant,)*)*];

            /// Returns the declaration of the function.
            pub const fn info(self) -> &'static FunctionInfo {
                match self {
                    $($($Name::$variant => {
                        static INFO: FunctionInfo = FunctionInfo {
                            op: function($operands).row(
                                concat!(stringify!($dialect), ".", $name),
                                $traits.and(Traits::ELEMENTWISE),
                                if $forms.accuracy { &["result_accuracy?"] } else { &[] },
                                $forms.formats,
                                name_in_hlo!($name),
                            ),
                            broadcasting: function($operands).row(
                                concat!("chlo.broadcast_", $name),
                                $traits,
                                &["broadcast_dimensions?"],
                                Formats::TEXT,
                                $name,
                            ),
                            broadcasts: $forms.broadcasts,
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
const EXACT_REAL: Traits = Traits::EXACT_REAL;
const MAY_FAIL_ON_COMPLEX: Traits = Traits::MAY_FAIL_ON_COMPLEX;

functions! {
    /// StableHLO's and CHLO's functions of one variable.
    Unary of 1;
    stablehlo {
        Abs "abs" SIGNED.or(FLOAT).or(COMPLEX).or(QUANT) => Real,
            ARITHMETIC.and(IDEMPOTENT).and(EXACT_REAL), HLO_VHLO;
        Cbrt "cbrt" FLOAT.or(COMPLEX).or(QUANT) => Same, ARITHMETIC, accuracy(&[V1, (1, 10, 0)]);
        Ceil "ceil" FLOAT.or(QUANT) => Same, ARITHMETIC.and(IDEMPOTENT), HLO_VHLO;
        CountLeadingZeros "count_leading_zeros" INT => Same, ARITHMETIC, HLO_VHLO;
        Cosine "cosine" FLOAT.or(COMPLEX).or(QUANT) => Same, ARITHMETIC, accuracy(&[V1, (1, 10, 0)]);
        Exponential "exponential" FLOAT.or(COMPLEX).or(QUANT) => Same, ARITHMETIC, accuracy(&[V1, (1, 9, 0)]);
        ExponentialMinusOne "exponential_minus_one" FLOAT.or(COMPLEX).or(QUANT) => Same,
            ARITHMETIC, accuracy(&[V1, (1, 10, 0)]);
        Floor "floor" FLOAT.or(QUANT) => Same, ARITHMETIC.and(IDEMPOTENT), HLO_VHLO;
        /// Imaginary part: complex to real.
        Imag "imag" FLOAT.or(COMPLEX) => Real, ARITHMETIC, HLO_VHLO;
        /// Returns `pred`.
        IsFinite "is_finite" FLOAT.or(QUANT) => Pred, ARITHMETIC, HLO_VHLO;
        Log "log" FLOAT.or(COMPLEX).or(QUANT) => Same, ARITHMETIC, accuracy(&[V1, (1, 10, 0)]);
        LogPlusOne "log_plus_one" FLOAT.or(COMPLEX).or(QUANT) => Same,
            ARITHMETIC, accuracy(&[V1, (1, 10, 0)]);
        Logistic "logistic" FLOAT.or(COMPLEX).or(QUANT) => Same, ARITHMETIC, accuracy(&[V1, (1, 10, 0)]);
        Negate "negate" INT.or(FLOAT).or(COMPLEX).or(QUANT) => Same, ARITHMETIC.and(EXACT_REAL), HLO_VHLO;
        Not "not" PRED.or(INT) => Same, ARITHMETIC.and(EXACT_REAL), HLO_VHLO;
        Popcnt "popcnt" INT => Same, ARITHMETIC, HLO_VHLO;
        /// Real part: complex to real.
        Real "real" FLOAT.or(COMPLEX) => Real, ARITHMETIC, HLO_VHLO;
        /// Rounds to the nearest integer; ties round away from zero.
        RoundNearestAfz "round_nearest_afz" FLOAT.or(QUANT) => Same, ARITHMETIC.and(IDEMPOTENT), HLO_VHLO;
        RoundNearestEven "round_nearest_even" FLOAT.or(QUANT) => Same, ARITHMETIC.and(IDEMPOTENT), HLO_VHLO;
        Rsqrt "rsqrt" FLOAT.or(COMPLEX).or(QUANT) => Same, ARITHMETIC, accuracy(&[V1, (1, 10, 0)]);
        Sign "sign" SIGNED.or(FLOAT).or(COMPLEX).or(QUANT) => Same, ARITHMETIC.and(IDEMPOTENT), HLO_VHLO;
        Sine "sine" FLOAT.or(COMPLEX).or(QUANT) => Same, ARITHMETIC, accuracy(&[V1, (1, 10, 0)]);
        Sqrt "sqrt" FLOAT.or(COMPLEX).or(QUANT) => Same, ARITHMETIC, accuracy(&[V1, (1, 10, 0)]);
        Tan "tan" FLOAT.or(COMPLEX).or(QUANT) => Same, ARITHMETIC, accuracy(&[(1, 4, 0), (1, 10, 0)]);
        Tanh "tanh" FLOAT.or(COMPLEX).or(QUANT) => Same, ARITHMETIC, accuracy(&[V1, (1, 10, 0)]);
    }
    chlo {
        /// Common part `w` of the inverse sine and cosine of `z`. The inverse sine has the real part
        /// `atan2(re z, re w)` and, up to the sign, the imaginary part `im w`.
        AsinAcosKernel "_asin_acos_kernel" COMPLEX => Same, ARITHMETIC, TEXT;
        Acos "acos" FLOAT.or(COMPLEX) => Same, ARITHMETIC, HLO;
        Acosh "acosh" FLOAT.or(COMPLEX) => Same, ARITHMETIC, HLO;
        Asin "asin" FLOAT.or(COMPLEX) => Same, ARITHMETIC, HLO;
        Asinh "asinh" FLOAT.or(COMPLEX) => Same, ARITHMETIC, HLO;
        Atan "atan" FLOAT.or(COMPLEX) => Same, ARITHMETIC, TEXT;
        Atanh "atanh" FLOAT.or(COMPLEX) => Same, ARITHMETIC, HLO;
        BesselI1e "bessel_i1e" FLOAT => Same, ARITHMETIC, TEXT;
        /// Complex conjugate.
        Conj "conj" FLOAT.or(COMPLEX) => Same, ARITHMETIC, TEXT;
        Cosh "cosh" FLOAT.or(COMPLEX) => Same, ARITHMETIC, HLO;
        Digamma "digamma" FLOAT => Same, ARITHMETIC, TEXT;
        Erf "erf" FLOAT => Same, ARITHMETIC, HLO;
        ErfInv "erf_inv" FLOAT => Same, ARITHMETIC, TEXT;
        Erfc "erfc" FLOAT => Same, ARITHMETIC, TEXT;
        /// Returns `pred`.
        IsInf "is_inf" FLOAT => Pred, ARITHMETIC, TEXT;
        /// Returns `pred`.
        IsNegInf "is_neg_inf" FLOAT => Pred, ARITHMETIC, TEXT;
        /// Returns `pred`.
        IsPosInf "is_pos_inf" FLOAT => Pred, ARITHMETIC, TEXT;
        Lgamma "lgamma" FLOAT => Same, ARITHMETIC, TEXT;
        Sinh "sinh" FLOAT.or(COMPLEX) => Same, ARITHMETIC, HLO;
        Square "square" FLOAT.or(COMPLEX) => Same, ARITHMETIC, TEXT;
        /// `chlo.tan`
        ChloTan "tan" FLOAT.or(COMPLEX) => Same, ARITHMETIC, HLO;
    }
}

functions! {
    /// Functions of two operands of one type.
    Binary of 2;
    stablehlo {
        Add "add" ANY => Same, ARITHMETIC.and(COMMUTATIVE).and(ASSOCIATIVE).and(EXACT_REAL), HLO_VHLO;
        And "and" PRED.or(INT) => Same,
            ARITHMETIC.and(COMMUTATIVE).and(ASSOCIATIVE).and(IDEMPOTENT), HLO_VHLO;
        Atan2 "atan2" FLOAT.or(COMPLEX).or(QUANT) => Same, ARITHMETIC, HLO_VHLO;
        /// Real and imaginary part to complex.
        Complex "complex" FLOAT => Complex, ARITHMETIC, HLO_VHLO;
        Divide "divide" INT.or(FLOAT).or(COMPLEX).or(QUANT) => Same, ARITHMETIC, HLO_VHLO;
        Maximum "maximum" TENSOR => Same,
            ARITHMETIC.and(COMMUTATIVE).and(ASSOCIATIVE).and(IDEMPOTENT), HLO_VHLO;
        Minimum "minimum" TENSOR => Same,
            ARITHMETIC.and(COMMUTATIVE).and(ASSOCIATIVE).and(IDEMPOTENT), HLO_VHLO;
        Multiply "multiply" TENSOR => Same,
            ARITHMETIC.and(COMMUTATIVE).and(ASSOCIATIVE).and(EXACT_REAL), HLO_VHLO;
        Or "or" PRED.or(INT) => Same, ARITHMETIC.and(COMMUTATIVE).and(ASSOCIATIVE).and(IDEMPOTENT), HLO_VHLO;
        Power "power" INT.or(FLOAT).or(COMPLEX).or(QUANT) => Same, ARITHMETIC, HLO_VHLO;
        Remainder "remainder" INT.or(FLOAT).or(COMPLEX).or(QUANT) => Same,
            ARITHMETIC.and(MAY_FAIL_ON_COMPLEX), HLO_VHLO;
        ShiftLeft "shift_left" INT => Same, ARITHMETIC, HLO_VHLO;
        ShiftRightArithmetic "shift_right_arithmetic" INT => Same, ARITHMETIC, HLO_VHLO;
        ShiftRightLogical "shift_right_logical" INT => Same, ARITHMETIC, HLO_VHLO;
        Subtract "subtract" INT.or(FLOAT).or(COMPLEX).or(QUANT) => Same, ARITHMETIC.and(EXACT_REAL), HLO_VHLO;
        Xor "xor" PRED.or(INT) => Same, ARITHMETIC.and(COMMUTATIVE).and(ASSOCIATIVE), HLO_VHLO;
    }
    chlo {
        /// The upper half of the product of two integers.
        MulHi "mulhi" INT => Same, ARITHMETIC.and(COMMUTATIVE), Forms { broadcasts: false, ..HLO };
        NextAfter "next_after" FLOAT => Same, ARITHMETIC, TEXT;
        Polygamma "polygamma" FLOAT => Same, ARITHMETIC, TEXT;
        Zeta "zeta" FLOAT => Same, ARITHMETIC, TEXT;
    }
}

/// `compare`
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Compare {
    /// The relation.
    pub direction: ComparisonDirection,
    /// Ordering of numbers; `None` if the text does not specify it.
    pub kind: Option<CompareKind>,
}

/// The relation of a comparison.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[expect(missing_docs, reason = "named as in the specification")]
pub enum ComparisonDirection {
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

impl ComparisonDirection {
    /// Returns the direction of the same comparison with its operands exchanged.
    pub fn mirrored(self) -> ComparisonDirection {
        match self {
            ComparisonDirection::Lt => ComparisonDirection::Gt,
            ComparisonDirection::Gt => ComparisonDirection::Lt,
            ComparisonDirection::Le => ComparisonDirection::Ge,
            ComparisonDirection::Ge => ComparisonDirection::Le,
            same @ (ComparisonDirection::Eq | ComparisonDirection::Ne) => same,
        }
    }

    /// All directions.
    pub const VARIANTS: [ComparisonDirection; 6] = [
        ComparisonDirection::Eq,
        ComparisonDirection::Ne,
        ComparisonDirection::Ge,
        ComparisonDirection::Gt,
        ComparisonDirection::Le,
        ComparisonDirection::Lt,
    ];

    /// Returns the spelling in StableHLO text.
    pub const fn name(self) -> &'static str {
        match self {
            ComparisonDirection::Eq => "EQ",
            ComparisonDirection::Ne => "NE",
            ComparisonDirection::Ge => "GE",
            ComparisonDirection::Gt => "GT",
            ComparisonDirection::Le => "LE",
            ComparisonDirection::Lt => "LT",
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
