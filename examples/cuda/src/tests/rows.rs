use farcall_ffi::Float;
use farcall_ffi::half::{bf16, f16};
use farcall_ffi::testing::Call;

use super::device::{Array, on_device, set_up};
use super::{Numbers, assert_close, assert_within, epsilon};
use crate::rms_norm::{self, cuda};

/// Calls the handlers of both platforms for `rows` rows of `n` elements. On the device, `x` begins `shift`
/// elements after a multiple of 256 bytes.
fn check<T: Float<Acc = f32> + cuda::RmsNormElement>(rows: usize, n: usize, shift: usize) {
    set_up();
    let what = format!("{} [{rows}, {n}]", T::DTYPE);
    let mut numbers = Numbers((rows * n) as u64);
    let (x, scale, dy): (Vec<T>, Vec<T>, Vec<T>) =
        (numbers.vec(rows * n), numbers.vec(n), numbers.vec(rows * n));
    let (dims, eps) = ([rows, n], 1e-3f32);

    let [mut y, mut dx] = [vec![T::ZERO; rows * n], vec![T::ZERO; rows * n]];
    let mut dscale = vec![T::ZERO; n];
    let call = Call::to::<rms_norm::rms_norm>().operand(&x, &dims).operand(&scale, &[n]);
    call.attr("eps", eps).result(&mut y, &dims).run().unwrap();
    let call = Call::to::<rms_norm::rms_norm_bwd>().operand(&x, &dims).operand(&scale, &[n]);
    let call = call.operand(&dy, &dims).attr("eps", eps);
    call.result(&mut dx, &dims).result(&mut dscale, &[n]).run().unwrap();

    let [values, scale_values, dy_values] = [x, scale, dy];
    let [x, scale, dy] = [(&values, shift), (&scale_values, 0), (&dy_values, 0)]
        .map(|(all, shift)| Array::shifted(all, shift));
    let result = Array::new(&vec![T::ONE; rows * n]);
    let found_scale = Array::new(&vec![T::ONE; n]);
    // The platforms add the numbers in different orders.
    let of_sums = (n.max(rows) as f64).sqrt() * f64::from(f32::EPSILON);
    let tolerance = 4.0 * epsilon::<T>() + of_sums;

    let call = Call::to::<cuda::rms_norm>().gpu_operand::<T>(x.address(), &dims);
    let call = call.gpu_operand::<T>(scale.address(), &[n]).attr("eps", eps);
    on_device(call.gpu_result::<T>(result.address(), &dims)).unwrap();
    assert_close(&result.read(), &y, tolerance, &what);

    let call = Call::to::<cuda::rms_norm_bwd>().gpu_operand::<T>(x.address(), &dims);
    let call = call.gpu_operand::<T>(scale.address(), &[n]).attr("eps", eps);
    let call = call.gpu_operand::<T>(dy.address(), &dims).gpu_result::<T>(result.address(), &dims);
    on_device(call.gpu_result::<T>(found_scale.address(), &[n])).unwrap();
    // An element of `dx` is the difference of `r·scale·dy` and a second term. Errors of `r`, the inverse root
    // mean square, are relative to the terms, which may almost cancel.
    let wide = |all: &[T]| all.iter().map(|&x| x.into()).collect::<Vec<f64>>();
    let [xs, scales, dys] = [&values, &scale_values, &dy_values].map(|all| wide(all));
    let terms = (0..rows * n).map(|i| {
        let row = &xs[i / n * n..][..n];
        let mean_square = row.iter().map(|x| x * x).sum::<f64>() / n as f64;
        (scales[i % n] * dys[i]).abs() / (mean_square + f64::from(eps)).sqrt()
    });
    let largest = terms.fold(0.0, f64::max);
    assert_within(&wide(&result.read()), &wide(&dx), tolerance * largest, &what);
    assert_close(&found_scale.read(), &dscale, tolerance, &what);
}

fn check_all(rows: usize, n: usize, shift: usize) {
    check::<f32>(rows, n, shift);
    check::<f16>(rows, n, shift);
    check::<bf16>(rows, n, shift);
}

#[test]
fn short_rows_share_a_block() {
    for (rows, n) in [(1, 1), (3, 8), (17, 32), (9, 100), (3, 501), (20, 512)] {
        check_all(rows, n, 0);
    }
}

#[test]
fn a_block_has_a_long_row() {
    for (rows, n) in [(3, 520), (2, 1024), (1, 2049), (2, 4096)] {
        check_all(rows, n, 0);
    }
}

#[test]
fn rows_that_do_not_fit_into_registers() {
    check::<f32>(2, 8200, 0);
    check::<f32>(1, 16388, 0);
    check::<f32>(2, 4099, 0);
    check::<bf16>(2, 16392, 0);
}

#[test]
fn rows_that_are_not_aligned() {
    check_all(3, 64, 1);
    check_all(2, 1024, 3);
}

#[test]
fn workers_have_several_rows() {
    // There are 2112 and 132 workers.
    check::<f32>(2120, 8, 0);
    check::<f32>(134, 8200, 0);
}

#[test]
fn no_rows_or_no_columns() {
    check_all(0, 8, 0);
    check_all(3, 0, 0);
}
