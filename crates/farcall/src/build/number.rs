//! Rust numbers in the graph.

use farcall_ir::{DType, Literal, Scalar, TensorType};
use num_complex::Complex;

/// A number that becomes a constant, with the element type of the value that it is combined with.
///
/// Any real number can be an element of a floating-point or complex type, and is rounded. Elements of integer
/// types must be whole numbers in the type's range. Elements of `pred` must be booleans.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Number(Kind);

#[derive(Clone, Copy, PartialEq, Debug)]
enum Kind {
    Bool(bool),
    Int(i128),
    Float(f64),
    Complex(Complex<f64>),
}

macro_rules! from {
    ($($ty:ty => $kind:ident as $wide:ty;)*) => {$(
        impl From<$ty> for Number {
            fn from(value: $ty) -> Number {
                Number(Kind::$kind(value as $wide))
            }
        }
    )*};
}

from! {
    i32 => Int as i128;
    i64 => Int as i128;
    u32 => Int as i128;
    u64 => Int as i128;
    usize => Int as i128;
    f32 => Float as f64;
    f64 => Float as f64;
}

impl From<bool> for Number {
    fn from(value: bool) -> Number {
        Number(Kind::Bool(value))
    }
}

impl From<Complex<f64>> for Number {
    fn from(value: Complex<f64>) -> Number {
        Number(Kind::Complex(value))
    }
}

impl Number {
    /// Converts the number to an element of a type.
    pub(super) fn scalar(self, dtype: DType) -> Result<Scalar, String> {
        let wrong = || Err(format!("{} cannot be an element of type {dtype}", self.text()));
        match (self.0, Scalar::zero(dtype)) {
            (Kind::Bool(value), Scalar::Bool(_)) => Ok(Scalar::Bool(value)),
            (Kind::Float(value), Scalar::Float(_)) => Ok(Scalar::Float(value)),
            (Kind::Int(value), Scalar::Float(_)) => Ok(Scalar::Float(value as f64)),
            (Kind::Complex(value), Scalar::Complex(_)) => Ok(Scalar::Complex(value)),
            (Kind::Float(value), Scalar::Complex(_)) => Ok(Scalar::Complex(value.into())),
            (Kind::Int(value), Scalar::Complex(_)) => Ok(Scalar::Complex((value as f64).into())),
            (Kind::Int(value), zero @ (Scalar::Signed(_) | Scalar::Unsigned(_))) => {
                let scalar = match zero {
                    Scalar::Signed(_) => i64::try_from(value).map(Scalar::Signed),
                    _ => u64::try_from(value).map(Scalar::Unsigned),
                };
                // `round_to` wraps an integer that does not fit the type.
                scalar.ok().filter(|scalar| scalar.round_to(dtype) == *scalar).map_or_else(wrong, Ok)
            }
            (Kind::Float(value), Scalar::Signed(_) | Scalar::Unsigned(_))
                if value.fract() == 0.0 && value.abs() < 2f64.powi(100) =>
            {
                Number(Kind::Int(value as i128)).scalar(dtype)
            }
            _ => wrong(),
        }
    }

    /// Returns a tensor whose elements are all this number.
    pub(super) fn literal(self, ty: &TensorType) -> Result<Literal, String> {
        if ty.quant.is_some() {
            return Err(format!(
                "a number cannot be an element of {ty}: quantized constants are given as literals"
            ));
        }
        let sizes = ty
            .static_sizes()
            .ok_or_else(|| format!("a constant needs static sizes, but its type is {ty}"))?;
        let mut element = [0; 16];
        self.scalar(ty.dtype)?.write(ty.dtype, &mut element[..ty.dtype.size()]);
        Literal::splat_of(ty.dtype, sizes.into(), element).map_err(|error| error.to_string())
    }

    fn text(self) -> String {
        match self.0 {
            Kind::Bool(value) => value.to_string(),
            Kind::Int(value) => value.to_string(),
            Kind::Float(value) => format!("{value:?}"),
            Kind::Complex(value) => value.to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_elements_if_only_digits_are_lost() {
        let of = |number: Number, dtype| {
            number.scalar(dtype).map_err(|e| e.replace(" cannot be an element of type", ":"))
        };
        assert_eq!(of(0.1.into(), DType::F32), Ok(Scalar::Float(0.1)));
        assert_eq!(of(3.into(), DType::BF16), Ok(Scalar::Float(3.0)));
        assert_eq!(of(2.0.into(), DType::U8), Ok(Scalar::Unsigned(2)));
        assert_eq!(of(true.into(), DType::Pred), Ok(Scalar::Bool(true)));
        assert_eq!(of(1.into(), DType::C64), Ok(Scalar::Complex(Complex::new(1.0, 0.0))));
        assert_eq!(of((1u64 << 63).into(), DType::U64), Ok(Scalar::Unsigned(1 << 63)));
        let wrong: [(Number, DType, &str); 6] = [
            (0.5.into(), DType::S32, "0.5: s32"),
            (300.into(), DType::U8, "300: u8"),
            ((-1).into(), DType::U32, "-1: u32"),
            (1.into(), DType::Pred, "1: pred"),
            (true.into(), DType::F32, "true: f32"),
            (Complex::new(0.0, 1.0).into(), DType::F64, "0+1i: f64"),
        ];
        for (number, dtype, message) in wrong {
            assert_eq!(of(number, dtype), Err(message.to_owned()));
        }
    }
}
