//! Tests buffers as views of `ndarray`.
#![cfg(feature = "ndarray")]

use farcall_ffi::ndarray::Axis;
use farcall_ffi::prelude::*;
use farcall_ffi::testing::Call;

/// Computes the transposed sums of all windows of three rows, and the sum of all elements.
#[handler(name = "windows")]
fn windows(x: &Buffer<f32, 2>, y: &mut Buffer<f32, 2>, all: &mut Buffer<f32, 0>) -> Result<()> {
    let x = x.view();
    for (window, mut column) in
        x.axis_windows(Axis(0), 3).into_iter().zip(y.view_mut().axis_iter_mut(Axis(1)))
    {
        column.assign(&window.sum_axis(Axis(0)));
    }
    all.view_mut().fill(x.sum());
    Ok(())
}

#[test]
fn strides_and_axes() {
    let x: Vec<f32> = (0..10).map(|i| i as f32).collect();
    let (mut y, mut all) = ([0.0f32; 6], [0.0f32]);
    let call = Call::to::<windows>().operand(&x, &[5, 2]).result(&mut y, &[2, 3]).result(&mut all, &[]);
    assert_eq!(call.run(), Ok(()));
    assert_eq!((y, all), ([6.0, 12.0, 18.0, 9.0, 15.0, 21.0], [45.0]));
}

/// Reverses all axes of a buffer of any rank.
#[handler(name = "reversed")]
fn reversed(x: &Buffer<i32>, y: &mut Buffer<i32>) -> Result<()> {
    let mut x = x.view();
    (0..x.ndim()).for_each(|axis| x.invert_axis(Axis(axis)));
    y.view_mut().assign(&x);
    Ok(())
}

#[test]
fn any_rank() {
    for dims in [vec![], vec![3], vec![2, 3, 4], vec![2, 0]] {
        let n = dims.iter().product::<usize>();
        let x: Vec<i32> = (0..n as i32).collect();
        let mut y = vec![0; n];
        assert_eq!(Call::to::<reversed>().operand(&x, &dims).result(&mut y, &dims).run(), Ok(()));
        assert!(y.iter().eq(x.iter().rev()), "{y:?} is not the reverse");
    }
}
