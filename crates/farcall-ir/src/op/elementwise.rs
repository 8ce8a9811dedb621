//! Operations on corresponding elements.

/// One operand. StableHLO's and CHLO's functions of one variable.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[expect(missing_docs, reason = "each variant is the operation of the same name")]
pub enum Unary {
    Abs,
    Cbrt,
    Ceil,
    CountLeadingZeros,
    Cosine,
    Exponential,
    ExponentialMinusOne,
    Floor,
    /// Imaginary part: complex to real.
    Imag,
    /// To `pred`.
    IsFinite,
    Log,
    LogPlusOne,
    Logistic,
    Negate,
    Not,
    Popcnt,
    /// Real part: complex to real.
    Real,
    /// Half away from zero.
    RoundNearestAfz,
    RoundNearestEven,
    Rsqrt,
    Sign,
    Sine,
    Sqrt,
    Tan,
    Tanh,
    // CHLO
    Acos,
    Acosh,
    Asin,
    Asinh,
    Atan,
    Atanh,
    BesselI1e,
    /// Complex conjugate.
    Conj,
    Cosh,
    Digamma,
    Erf,
    ErfInv,
    Erfc,
    /// To `pred`.
    IsInf,
    /// To `pred`.
    IsNegInf,
    /// To `pred`.
    IsPosInf,
    Lgamma,
    Sinh,
    Square,
    /// `chlo.tan`
    ChloTan,
}

/// Two operands of one type.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[expect(missing_docs, reason = "each variant is the operation of the same name")]
pub enum Binary {
    Add,
    And,
    Atan2,
    /// Real and imaginary part to complex.
    Complex,
    Divide,
    Maximum,
    Minimum,
    Multiply,
    Or,
    Power,
    Remainder,
    ShiftLeft,
    ShiftRightArithmetic,
    ShiftRightLogical,
    Subtract,
    Xor,
    // CHLO
    /// The upper half of the product of two integers.
    MulHi,
    NextAfter,
    Polygamma,
    Zeta,
}

/// `compare`
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Compare {
    /// Which relation.
    pub direction: Direction,
    /// How numbers are ordered; `None` if the text does not say.
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

/// How a comparison orders numbers.
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

impl Unary {
    /// Every unary operation.
    pub const ALL: [Unary; 45] = {
        use Unary::*;
        [
            Abs,
            Cbrt,
            Ceil,
            CountLeadingZeros,
            Cosine,
            Exponential,
            ExponentialMinusOne,
            Floor,
            Imag,
            IsFinite,
            Log,
            LogPlusOne,
            Logistic,
            Negate,
            Not,
            Popcnt,
            Real,
            RoundNearestAfz,
            RoundNearestEven,
            Rsqrt,
            Sign,
            Sine,
            Sqrt,
            Tan,
            Tanh,
            Acos,
            Acosh,
            Asin,
            Asinh,
            Atan,
            Atanh,
            BesselI1e,
            Conj,
            Cosh,
            Digamma,
            Erf,
            ErfInv,
            Erfc,
            IsInf,
            IsNegInf,
            IsPosInf,
            Lgamma,
            Sinh,
            Square,
            ChloTan,
        ]
    };

    /// Name with dialect.
    pub const fn name(self) -> &'static str {
        match self {
            Unary::Abs => "stablehlo.abs",
            Unary::Cbrt => "stablehlo.cbrt",
            Unary::Ceil => "stablehlo.ceil",
            Unary::CountLeadingZeros => "stablehlo.count_leading_zeros",
            Unary::Cosine => "stablehlo.cosine",
            Unary::Exponential => "stablehlo.exponential",
            Unary::ExponentialMinusOne => "stablehlo.exponential_minus_one",
            Unary::Floor => "stablehlo.floor",
            Unary::Imag => "stablehlo.imag",
            Unary::IsFinite => "stablehlo.is_finite",
            Unary::Log => "stablehlo.log",
            Unary::LogPlusOne => "stablehlo.log_plus_one",
            Unary::Logistic => "stablehlo.logistic",
            Unary::Negate => "stablehlo.negate",
            Unary::Not => "stablehlo.not",
            Unary::Popcnt => "stablehlo.popcnt",
            Unary::Real => "stablehlo.real",
            Unary::RoundNearestAfz => "stablehlo.round_nearest_afz",
            Unary::RoundNearestEven => "stablehlo.round_nearest_even",
            Unary::Rsqrt => "stablehlo.rsqrt",
            Unary::Sign => "stablehlo.sign",
            Unary::Sine => "stablehlo.sine",
            Unary::Sqrt => "stablehlo.sqrt",
            Unary::Tan => "stablehlo.tan",
            Unary::Tanh => "stablehlo.tanh",
            Unary::Acos => "chlo.acos",
            Unary::Acosh => "chlo.acosh",
            Unary::Asin => "chlo.asin",
            Unary::Asinh => "chlo.asinh",
            Unary::Atan => "chlo.atan",
            Unary::Atanh => "chlo.atanh",
            Unary::BesselI1e => "chlo.bessel_i1e",
            Unary::Conj => "chlo.conj",
            Unary::Cosh => "chlo.cosh",
            Unary::Digamma => "chlo.digamma",
            Unary::Erf => "chlo.erf",
            Unary::ErfInv => "chlo.erf_inv",
            Unary::Erfc => "chlo.erfc",
            Unary::IsInf => "chlo.is_inf",
            Unary::IsNegInf => "chlo.is_neg_inf",
            Unary::IsPosInf => "chlo.is_pos_inf",
            Unary::Lgamma => "chlo.lgamma",
            Unary::Sinh => "chlo.sinh",
            Unary::Square => "chlo.square",
            Unary::ChloTan => "chlo.tan",
        }
    }
}

impl Binary {
    /// Every binary operation.
    pub const ALL: [Binary; 20] = {
        use Binary::*;
        [
            Add,
            And,
            Atan2,
            Complex,
            Divide,
            Maximum,
            Minimum,
            Multiply,
            Or,
            Power,
            Remainder,
            ShiftLeft,
            ShiftRightArithmetic,
            ShiftRightLogical,
            Subtract,
            Xor,
            MulHi,
            NextAfter,
            Polygamma,
            Zeta,
        ]
    };

    /// Name with dialect.
    pub const fn name(self) -> &'static str {
        match self {
            Binary::Add => "stablehlo.add",
            Binary::And => "stablehlo.and",
            Binary::Atan2 => "stablehlo.atan2",
            Binary::Complex => "stablehlo.complex",
            Binary::Divide => "stablehlo.divide",
            Binary::Maximum => "stablehlo.maximum",
            Binary::Minimum => "stablehlo.minimum",
            Binary::Multiply => "stablehlo.multiply",
            Binary::Or => "stablehlo.or",
            Binary::Power => "stablehlo.power",
            Binary::Remainder => "stablehlo.remainder",
            Binary::ShiftLeft => "stablehlo.shift_left",
            Binary::ShiftRightArithmetic => "stablehlo.shift_right_arithmetic",
            Binary::ShiftRightLogical => "stablehlo.shift_right_logical",
            Binary::Subtract => "stablehlo.subtract",
            Binary::Xor => "stablehlo.xor",
            Binary::MulHi => "chlo.mulhi",
            Binary::NextAfter => "chlo.next_after",
            Binary::Polygamma => "chlo.polygamma",
            Binary::Zeta => "chlo.zeta",
        }
    }
}

impl Direction {
    /// Every direction.
    pub const ALL: [Direction; 6] =
        [Direction::Eq, Direction::Ne, Direction::Ge, Direction::Gt, Direction::Le, Direction::Lt];

    /// Spelling in StableHLO text.
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
    /// Every kind.
    pub const ALL: [CompareKind; 4] =
        [CompareKind::Float, CompareKind::TotalOrder, CompareKind::Signed, CompareKind::Unsigned];

    /// Spelling in StableHLO text.
    pub const fn name(self) -> &'static str {
        match self {
            CompareKind::Float => "FLOAT",
            CompareKind::TotalOrder => "TOTALORDER",
            CompareKind::Signed => "SIGNED",
            CompareKind::Unsigned => "UNSIGNED",
        }
    }
}
