//! `y = x · s` with `s = 1 / sqrt(mean(x²) + eps)` over the last dimension; all other dimensions are batch
//! dimensions. Complex values are not conjugated.

use farcall_ffi::prelude::*;
use num_complex::{Complex, ComplexFloat};

/// Divides each row of `x` by its root mean square.
#[handler(name = "rms_norm")]
pub fn rms_norm(x: &AnyBuffer, eps: f32, y: &mut AnyBuffer) -> Result<()> {
    dispatch!(x.dtype(), T: f32 | f64 | Complex<f32> | Complex<f64> => {
        forward::<T>(x.typed()?, eps, y.typed_mut()?, None)
    })
}

/// `rms_norm` with an additional result for its gradient: `res`, the factor `s` of each row.
#[handler(name = "rms_norm_fwd")]
pub fn rms_norm_fwd(x: &AnyBuffer, eps: f32, y: &mut AnyBuffer, res: &mut AnyBuffer) -> Result<()> {
    dispatch!(x.dtype(), T: f32 | f64 | Complex<f32> | Complex<f64> => {
        forward::<T>(x.typed()?, eps, y.typed_mut()?, Some(res.typed_mut()?))
    })
}

/// Gradient of `rms_norm`, for a cotangent of `y`: `ct_x = s · ct_y - x · s³ / n · Σ (x · ct_y)`.
#[handler(name = "rms_norm_bwd")]
pub fn rms_norm_bwd(res: &AnyBuffer, x: &AnyBuffer, ct_y: &AnyBuffer, ct_x: &mut AnyBuffer) -> Result<()> {
    dispatch!(x.dtype(), T: f32 | f64 | Complex<f32> | Complex<f64> => {
        backward::<T>(res.typed()?, x.typed()?, ct_y.typed()?, ct_x.typed_mut()?)
    })
}

fn forward<T: Element + ComplexFloat>(
    x: &Buffer<T>,
    eps: f32,
    y: &mut Buffer<T>,
    mut res: Option<&mut Buffer<T>>,
) -> Result<()> {
    let n = row_length(x)?;
    ensure!(x.dims() == y.dims(), "x is {x:?}, but y is {y:?}");
    if let Some(res) = &res {
        ensure!(is_factor(res, x), "res is {res:?}, which is not one element per row of x, {x:?}");
    }
    for (i, (x, y)) in x.rows().zip(y.rows_mut()).enumerate() {
        let sum = x.iter().fold(T::zero(), |sum, &x| sum + x * x);
        let s = (sum / cast(n as f64)? + cast(eps.into())?).sqrt().recip();
        for (y, &x) in y.iter_mut().zip(x) {
            *y = x * s;
        }
        if let Some(res) = &mut res {
            res[i] = s;
        }
    }
    Ok(())
}

fn backward<T: Element + ComplexFloat>(
    res: &Buffer<T>,
    x: &Buffer<T>,
    ct_y: &Buffer<T>,
    ct_x: &mut Buffer<T>,
) -> Result<()> {
    let n = row_length(x)?;
    ensure!(is_factor(res, x), "res is {res:?}, which is not one element per row of x, {x:?}");
    ensure!(x.dims() == ct_y.dims(), "x is {x:?}, but ct_y is {ct_y:?}");
    ensure!(x.dims() == ct_x.dims(), "x is {x:?}, but ct_x is {ct_x:?}");
    for (((&s, x), ct_y), ct_x) in res.iter().zip(x.rows()).zip(ct_y.rows()).zip(ct_x.rows_mut()) {
        let dot = x.iter().zip(ct_y).fold(T::zero(), |dot, (&x, &ct)| dot + x * ct);
        let k = s * s * s / cast(n as f64)? * dot;
        for ((ct_x, &x), &ct) in ct_x.iter_mut().zip(x).zip(ct_y) {
            *ct_x = s * ct - k * x;
        }
    }
    Ok(())
}

fn row_length<T: Element>(x: &Buffer<T>) -> Result<usize> {
    match x.dims().last() {
        None => Err(Error::invalid_argument("x is a scalar")),
        Some(0) => Err(Error::invalid_argument(format!("the rows of x, {x:?}, are empty"))),
        Some(&n) => Ok(n),
    }
}

fn is_factor<T: Element>(res: &Buffer<T>, x: &Buffer<T>) -> bool {
    x.dims().split_last().is_some_and(|(_, batch)| res.dims() == batch)
}

fn cast<T: ComplexFloat>(value: f64) -> Result<T> {
    T::from(value).ok_or_else(|| Error::out_of_range("not representable in the element type of x"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use farcall_ffi::testing::Call;

    /// Compares the gradient with finite differences of the function.
    #[test]
    fn backward_is_the_derivative() {
        let x = [0.5f64, -1.0, 2.0];
        let ct = [1.0f64, 0.25, -3.0];
        let f = |x: &[f64]| {
            let (mut y, mut res) = ([0.0; 3], [0.0; 1]);
            let call = Call::to::<rms_norm_fwd>().operand(x, &[1, 3]).attr("eps", 1e-5f32);
            call.result(&mut y, &[1, 3]).result(&mut res, &[1]).run().unwrap();
            (y, res)
        };
        let mut ct_x = [0.0; 3];
        let (_, res) = f(&x);
        let call = Call::to::<rms_norm_bwd>().operand(&res, &[1]).operand(&x, &[1, 3]);
        call.operand(&ct, &[1, 3]).result(&mut ct_x, &[1, 3]).run().unwrap();
        for i in 0..3 {
            let moved = |by: f64| {
                let mut x = x;
                x[i] += by;
                f(&x).0.iter().zip(ct).map(|(y, ct)| y * ct).sum::<f64>()
            };
            let difference = (moved(1e-6) - moved(-1e-6)) / 2e-6;
            assert!((ct_x[i] - difference).abs() < 1e-7, "the gradient is {}, not {difference}", ct_x[i]);
        }
    }

    #[test]
    fn other_element_types_are_refused() {
        let mut y = [0i32];
        let call = Call::to::<rms_norm>().operand(&[1i32], &[1]).attr("eps", 0.0f32).result(&mut y, &[1]);
        assert_eq!(
            call.run().unwrap_err().message(),
            "rms_norm: expected f32 or f64 or c64 or c128, found s32"
        );
    }
}
