//! Tests the items that kernels for batches and for several element types use: `matrices`, `last_dims`,
//! `Float`.

use farcall_ffi::prelude::*;
use farcall_ffi::testing::Call;

/// Computes `y[b] = Σ x[b, i, j]·(1 + i)`, and the number of matrices.
#[handler(name = "weighted")]
#[signature((x: T[*, m, n]) -> (y: T[*], count: s32[]) where T: f32 | f64; *: sum)]
fn weighted<T: Float>(x: &Buffer<T>, y: &mut Buffer<T>, count: &mut Buffer<i32, 0>) -> Result<()> {
    let [m, n] = x.last_dims()?;
    y.fill(T::ZERO);
    for (x, y) in x.matrices().zip(y.iter_mut()) {
        assert_eq!(x.len(), m * n);
        *y = x.chunks_exact(n).zip(1..).map(|(row, i)| row.iter().sum::<T>() * T::of(f64::from(i))).sum();
    }
    count[0] = x.matrices().len() as i32;
    Ok(())
}

#[handler(name = "filled")]
#[signature((like: T[*, m, n]) -> (y: T[*, m, n]) where T: f32 | f64)]
fn filled<T: Float>(like: &Buffer<T>, y: &mut Buffer<T>) -> Result<()> {
    ensure!(like.dims() == y.dims(), "another shape");
    y.matrices_mut().zip(1..).for_each(|(y, i)| y.fill(T::of(f64::from(i))));
    Ok(())
}

#[test]
fn matrices_of_a_batch() {
    let x: Vec<f64> = (0..12).map(f64::from).collect();
    let (mut y, mut count) = ([0f64; 2], [0i32]);
    let call = Call::to::<weighted>().operand(&x, &[1, 2, 3, 2]).result(&mut y, &[1, 2]);
    call.result(&mut count, &[]).run().unwrap();
    assert_eq!((y, count), ([1.0 + 10.0 + 27.0, 13.0 + 34.0 + 63.0], [2]));

    let mut y = [0f32; 8];
    let call = Call::to::<filled>().operand(&[0f32; 8], &[2, 2, 2]).result(&mut y, &[2, 2, 2]);
    call.run().unwrap();
    assert_eq!(y, [1.0, 1.0, 1.0, 1.0, 2.0, 2.0, 2.0, 2.0]);
}

#[test]
fn no_elements_and_too_few_dimensions() {
    let mut count = [7i32];
    for dims in [&[3, 0, 2], &[0, 2, 2]] {
        let batch = dims[0];
        let mut y = vec![1f64; batch];
        let call = Call::to::<weighted>().operand(&[0f64; 0], dims).result(&mut y, &[batch]);
        call.result(&mut count, &[]).run().unwrap();
        assert_eq!((y, count), (vec![0.0; batch], [0]));
    }
    let mut none = [0f64; 0];
    let call = Call::to::<weighted>().operand(&[0f64; 2], &[2]).result(&mut none, &[0]);
    let call = call.result(&mut count, &[]);
    let error = call.run().unwrap_err();
    assert_eq!(error.message(), "weighted: expected at least 2 dimensions, found f64[2]");
}

/// Returns the mean of each row, summed and returned in the accumulator type.
#[cfg(feature = "half")]
#[handler(name = "mean")]
#[signature((x: T[*, n]) -> (y: acc(T)[*]) where T: f16 | bf16 | f32; n >= 1)]
fn mean<T: Float>(x: &Buffer<T>, y: &mut Buffer<T::Acc>) -> Result<()> {
    for (x, y) in x.rows().zip(y.iter_mut()) {
        *y = x.iter().map(|x| x.widen()).sum::<T::Acc>() / T::Acc::of(x.len() as f64);
    }
    Ok(())
}

#[cfg(feature = "half")]
#[test]
fn types_of_half_a_width() {
    let mut y = [0f32; 1];
    let x = [1.0, 2.0, 4.5].map(half::bf16::from_f32);
    Call::to::<mean>().operand(&x, &[1, 3]).result(&mut y, &[1]).run().unwrap();
    assert_eq!(y, [2.5]);
    let x = [1.0, 2.0, 6.0].map(half::f16::from_f32);
    Call::to::<mean>().operand(&x, &[1, 3]).result(&mut y, &[1]).run().unwrap();
    assert_eq!(y, [3.0]);
    let error = Call::to::<mean>().operand(&[1f64], &[1]).result(&mut y, &[]).run().unwrap_err();
    assert_eq!(error.message(), "mean: operand 0 (x): expected f16 or bf16 or f32, found f64");
}
