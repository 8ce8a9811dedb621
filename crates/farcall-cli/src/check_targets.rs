//! The targets of self-checking programs: ordinary custom calls with ordinary handlers.
//!
//! | target | condition on every element of `actual` |
//! | --- | --- |
//! | `check.expect_eq` | equals the element of `expected`; -0 equals 0, and NaN equals NaN |
//! | `check.expect_almost_eq` | is within `tolerance` (0.001) of the element of `expected`, or both are NaN |
//! | `check.expect_close` | is `min_ulp_difference` (0) to `max_ulp_difference` (3) representable numbers away from the element of `expected`, or both are NaN |
//! | `check.eq` | equals the element of `expected` if both are integers or booleans; otherwise, is within 0.0001 of it. Returns a `pred` |
//!
//! Numbers in parentheses are defaults. The StableHLO project's interpreter has targets of the same names
//! and meanings, with one exception: to that interpreter, NaN does not equal NaN. There, a program with NaN
//! in a recorded result never passes.

use farcall::ffi::descriptor::OpDescriptor;
use farcall::ffi::prelude::*;
use farcall::ir::literal::Literal;
use farcall::ir::scalar::Scalar;

use crate::compare::index;
use crate::show::{element, short_type};

/// All check targets.
pub(crate) const OPS: &[&OpDescriptor] =
    farcall::ffi::ops![expect_eq, expect_almost_eq, expect_close, check_eq];

/// Comparison of each pair of elements.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Check {
    Equal,
    Within { tolerance: f64 },
    Ulps { min: u64, max: u64 },
}

/// Returns true if a target of this name is a check.
pub(crate) fn is_check(target: &str) -> bool {
    OPS.iter().any(|op| farcall::ffi::descriptor::LibraryOp::of(op).name() == target)
}

/// Checks that `actual` equals `expected`.
#[handler(name = "check.expect_eq", crate = farcall::ffi)]
fn expect_eq(actual: &AnyBuffer, expected: &AnyBuffer, holds: Option<&mut Buffer<Pred>>) -> Result<()> {
    verdict(actual, expected, Check::Equal, holds)
}

/// Checks that `actual` is near `expected`.
#[handler(name = "check.expect_almost_eq", crate = farcall::ffi)]
fn expect_almost_eq(
    actual: &AnyBuffer,
    expected: &AnyBuffer,
    attrs: &Attrs,
    holds: Option<&mut Buffer<Pred>>,
) -> Result<()> {
    let tolerance = match attrs.get_opt::<f64>("tolerance") {
        Ok(tolerance) => tolerance,
        Err(_) => Some(f64::from(attrs.get::<f32>("tolerance")?)),
    };
    verdict(actual, expected, Check::Within { tolerance: tolerance.unwrap_or(1e-3) }, holds)
}

/// Checks that `actual` and `expected` are at most a few representable numbers apart.
#[handler(name = "check.expect_close", crate = farcall::ffi)]
fn expect_close(
    actual: &AnyBuffer,
    expected: &AnyBuffer,
    attrs: &Attrs,
    holds: Option<&mut Buffer<Pred>>,
) -> Result<()> {
    let max = ulps(attrs, "max_ulp_difference")?.unwrap_or(3);
    let min = ulps(attrs, "min_ulp_difference")?.unwrap_or(0);
    verdict(actual, expected, Check::Ulps { min, max }, holds)
}

/// Checks that `actual` equals `expected`, or is close to it if the elements are not integers.
#[handler(name = "check.eq", crate = farcall::ffi)]
fn check_eq(actual: &AnyBuffer, expected: &AnyBuffer, holds: Option<&mut Buffer<Pred>>) -> Result<()> {
    let exact = expected.dtype().is_integer() || expected.dtype().is_bool();
    let check = if exact { Check::Equal } else { Check::Within { tolerance: 1e-4 } };
    verdict(actual, expected, check, holds)
}

/// Returns an attribute that counts representable numbers. The attribute may have any integer type.
fn ulps(attrs: &Attrs, name: &str) -> Result<Option<u64>> {
    if let Ok(value) = attrs.get_opt::<u64>(name) {
        return Ok(value);
    }
    let signed = match attrs.get::<i32>(name) {
        Ok(value) => i64::from(value),
        Err(_) => attrs.get::<i64>(name)?,
    };
    let value = u64::try_from(signed);
    value.map(Some).map_err(|_| Error::invalid_argument(format!("{name} must not be negative")))
}

fn verdict(
    actual: &AnyBuffer,
    expected: &AnyBuffer,
    check: Check,
    holds: Option<&mut Buffer<Pred>>,
) -> Result<()> {
    let literal = |buffer: &AnyBuffer| {
        Literal::from_bytes(buffer.dtype(), buffer.dims(), buffer.bytes())
            .map_err(|e| Error::invalid_argument(e.to_string()))
    };
    let mismatch = mismatch(&literal(actual)?, &literal(expected)?, check);
    if let Some(holds) = holds {
        holds.fill(Pred::from(mismatch.is_none()));
    }
    match mismatch {
        None => Ok(()),
        Some(message) => Err(Error::new(StatusCode::FailedPrecondition, message)),
    }
}

/// Describes the mismatch of `actual`: the first element that fails, and the number of failures.
pub(crate) fn mismatch(actual: &Literal, expected: &Literal, check: Check) -> Option<String> {
    if actual.ty() != expected.ty() {
        let (a, e) = (short_type(&actual.ty()), short_type(&expected.ty()));
        return Some(format!("a {a} is compared with a {e}"));
    }
    let dtype = expected.dtype();
    let holds = |i: usize| {
        let (a, e) = (actual.get(i), expected.get(i));
        match check {
            Check::Equal => equal(a, e),
            Check::Within { tolerance } => within(a, e, tolerance),
            Check::Ulps { min, max } => (min..=max).contains(&distance(actual, expected, i)),
        }
    };
    let mut bad = (0..expected.len()).filter(|i| !holds(*i));
    let first = bad.next()?;
    let count = bad.count() + 1;
    let (a, e) = (element(dtype, actual.get(first)), element(dtype, expected.get(first)));
    let more = match check {
        Check::Equal => String::new(),
        Check::Within { tolerance } => format!(" within {tolerance}"),
        Check::Ulps { min: 0, max } => format!(
            " within {max} representable numbers ({} lie between)",
            ulp_text(distance(actual, expected, first))
        ),
        Check::Ulps { min, max } => format!(
            " at a distance of {min} to {max} representable numbers (it is {})",
            ulp_text(distance(actual, expected, first))
        ),
    };
    let of = format!("{count} of {} elements differ", expected.len());
    let at = index(first, expected.dims());
    Some(format!("{of}; at {at:?} it is {a}, expected {e}{more}"))
}

fn ulp_text(distance: u64) -> String {
    if distance == u64::MAX { "countless".to_owned() } else { distance.to_string() }
}

fn equal(a: Scalar, e: Scalar) -> bool {
    let same = |a: f64, e: f64| a == e || (a.is_nan() && e.is_nan());
    match (a, e) {
        (Scalar::Complex(a), Scalar::Complex(e)) => same(a.re, e.re) && same(a.im, e.im),
        (Scalar::Float(a), Scalar::Float(e)) => same(a, e),
        (a, e) => a == e,
    }
}

fn within(a: Scalar, e: Scalar, tolerance: f64) -> bool {
    let near = |a: f64, e: f64| {
        if a == e || (a.is_nan() && e.is_nan()) {
            return true;
        }
        a.is_finite() && e.is_finite() && (a - e).abs() <= tolerance
    };
    match (a, e) {
        (Scalar::Complex(a), Scalar::Complex(e)) => near(a.re, e.re) && near(a.im, e.im),
        (Scalar::Float(a), Scalar::Float(e)) => near(a, e),
        (a, e) => a == e,
    }
}

fn distance(actual: &Literal, expected: &Literal, i: usize) -> u64 {
    actual.get(i).ulp_distance(expected.get(i), expected.dtype())
}

#[cfg(test)]
mod tests {
    use super::*;
    use num_complex::Complex;

    fn scalar(dtype: DType, value: Scalar) -> Literal {
        Literal::scalar(dtype, value)
    }

    fn f32s(values: &[f32]) -> Literal {
        Literal::from_slice(DType::F32, [values.len()], values)
    }

    #[test]
    fn equality_is_that_of_numbers() {
        assert_eq!(mismatch(&f32s(&[0.0, 1.0]), &f32s(&[-0.0, 1.0]), Check::Equal), None);
        assert_eq!(mismatch(&f32s(&[f32::NAN]), &f32s(&[-f32::NAN]), Check::Equal), None);
        assert!(mismatch(&f32s(&[f32::NAN]), &f32s(&[1.0]), Check::Equal).is_some());
        let message = mismatch(&f32s(&[1.0, 2.0, 4.0]), &f32s(&[1.0, 3.0, 5.0]), Check::Equal).unwrap();
        assert_eq!(message, "2 of 3 elements differ; at [1] it is 2.0, expected 3.0");
        let s4 = |x| scalar(DType::S4, Scalar::Signed(x));
        assert!(mismatch(&s4(-8), &s4(7), Check::Equal).is_some());
        let f6 = |x| scalar(DType::F6E3M2FN, Scalar::Float(x));
        assert_eq!(mismatch(&f6(1.5), &f6(1.5), Check::Equal), None);
    }

    #[test]
    fn nearness_is_absolute() {
        let near = Check::Within { tolerance: 1e-4 };
        assert_eq!(mismatch(&f32s(&[1.000_05, f32::NAN]), &f32s(&[1.0, f32::NAN]), near), None);
        assert!(mismatch(&f32s(&[f32::INFINITY]), &f32s(&[f32::MAX]), near).is_some());
        let z = |re, im| scalar(DType::C64, Scalar::Complex(Complex::new(re, im)));
        assert_eq!(mismatch(&z(1.0, 2.0), &z(1.0, 2.000_05), near), None);
        assert!(mismatch(&z(1.0, 2.0), &z(1.0, 2.01), near).is_some());
    }

    #[test]
    fn distances_count_representable_numbers() {
        let up = |x: f32, n: u32| f32::from_bits(x.to_bits() + n);
        let ulps = |a: f32, e: f32| distance(&f32s(&[a]), &f32s(&[e]), 0);
        assert_eq!(ulps(1.0, up(1.0, 3)), 3);
        assert_eq!(ulps(up(0.0, 2), -up(0.0, 1)), 3);
        assert_eq!(ulps(0.0, -0.0), 0);
        assert_eq!(ulps(f32::NAN, -f32::NAN), 0);
        assert_eq!(ulps(f32::INFINITY, f32::MAX), u64::MAX);
        let close = Check::Ulps { min: 0, max: 3 };
        assert_eq!(mismatch(&f32s(&[1.0]), &f32s(&[up(1.0, 3)]), close), None);
        let message = mismatch(&f32s(&[1.0]), &f32s(&[up(1.0, 4)]), close).unwrap();
        assert!(message.ends_with("within 3 representable numbers (4 lie between)"), "{message}");
        assert!(mismatch(&f32s(&[1.0]), &f32s(&[1.0]), Check::Ulps { min: 1, max: 3 }).is_some());
        let e8 = |x| scalar(DType::F8E8M0FNU, Scalar::Float(x));
        assert_eq!(distance(&e8(1.0), &e8(4.0), 0), 2);
        let bf = |x| scalar(DType::BF16, Scalar::Float(x));
        assert_eq!(distance(&bf(1.0), &bf(1.0078125), 0), 1);
    }
}
