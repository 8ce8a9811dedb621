//! Code that a kernel's author may omit: clearing of accumulators, results that are always `Ok`, and names of
//! tangents.

use expect_test::expect;
use farcall_ffi::descriptor::{LibraryOp, OpDescriptor};
use farcall_ffi::dot;
use farcall_ffi::prelude::*;
use farcall_ffi::testing::Call;

/// Accumulates into its results. One result is also an operand, and there is a further result for each
/// variadic operand.
#[handler(name = "sums", zeroed)]
#[signature((total: f32[], xs: f32[n]...) -> (sum: f32[] aliases total, ys: f32[n]...))]
fn sums() {
    for (x, y) in zip!(xs.iter(), ys.iter_mut()) {
        zip!(x.iter(), y.iter_mut()).for_each(|(x, y)| *y += 2.0 * x);
        total[0] += x.iter().sum::<f32>();
    }
}

/// Accumulates into its result and into its residual.
#[handler(name = "squares", zeroed)]
#[signature((x: T[*], labels: s32[*]) -> (y: T[]) where T: f32 | f64; *: sum)]
#[vjp(residuals(count: s64[1]), backward = squares_bwd)]
#[jvp(tangent = squares_jvp, tangent(y) = v, tangent(_) = t_)]
fn squares<T: Float>() {
    for (&x, &label) in zip!(x.iter(), labels.iter()) {
        y[0] += x * x;
        count[0] += i64::from(label);
    }
}

#[handler(name = "squares_bwd")]
#[signature((x: T[*], count: s64[1], dy: T[]) -> (dx: T[*]) where T: f32 | f64)]
fn squares_bwd<T: Float>() -> Result<()> {
    ensure!(count[0] >= 0, "{count:?}");
    zip!(x.iter(), dx.iter_mut()).for_each(|(&x, dx)| *dx = T::of(2) * x * dy[0]);
    Ok(())
}

/// The integers have no tangent, and the tangent of `y` has an explicit name.
#[handler(name = "squares_jvp")]
#[signature((x: T[*], tx: T[*]) -> (v: T[]) where T: f32 | f64; *: sum)]
fn squares_jvp<T: Float>() {
    v[0] = T::of(2) * dot(x, tx);
}

/// An op that is its own tangent op and its own transpose.
#[handler(name = "reversed")]
#[signature((x: T[*, n]) -> (y: T[*, n]) where T: f32 | f64)]
#[transpose(reversed, cotangent(y) = x, cotangent(x) = y)]
fn reversed<T: Float>() {
    for (x, y) in zip!(x.rows(), y.rows_mut()) {
        zip!(x.iter().rev(), y).for_each(|(&x, y)| *y = x);
    }
}

// No other list contains these ops, and an op that no list contains is an error.
const _: &[&OpDescriptor] = ops![sums, squares, reversed];

#[test]
fn results_are_zeros_before_the_call() {
    let (mut total, mut ys) = ([1f32], [[7f32; 2]; 2]);
    let [first, second] = &mut ys;
    let call =
        Call::to::<sums>().in_place(&mut total, &[]).operand(&[1f32, 2.0], &[2]).operand(&[3f32, 4.0], &[2]);
    call.result(first, &[2]).result(second, &[2]).run().unwrap();
    assert_eq!((total, ys), ([11.0], [[2.0, 4.0], [6.0, 8.0]]));
}

#[test]
fn so_are_residuals() {
    let call = || Call::to::<squares>().operand(&[1f64, 2.0], &[2]).operand(&[1i32, 2], &[2]);
    let forward = || Call::to::<farcall_ffi::testing::Forward<squares>>();
    let (mut y, mut count) = ([5f64], [5i64]);
    call().result(&mut y, &[]).run().unwrap();
    assert_eq!(y, [5.0]);
    for _ in 0..2 {
        let call = forward().operand(&[1f64, 3.0], &[2]).operand(&[1i32, 2], &[2]);
        call.result(&mut y, &[]).result(&mut count, &[1]).run().unwrap();
        assert_eq!((y, count), ([10.0], [3]));
    }
}

#[test]
fn an_op_is_its_own_transpose() {
    let mut y = [0f32; 4];
    Call::to::<reversed>().operand(&[1f32, 2.0, 3.0, 4.0], &[2, 2]).result(&mut y, &[2, 2]).run().unwrap();
    assert_eq!(y, [2.0, 1.0, 4.0, 3.0]);
    let op = LibraryOp::of(<reversed as farcall_ffi::__private::HandlerOp>::DESCRIPTOR);
    assert_eq!(
        (op.transpose(), op.transpose_bindings()),
        (Some("reversed"), "cotangent(y) = x, cotangent(x) = y")
    );
}

#[test]
fn tangents_are_named_by_a_rule() {
    let op = LibraryOp::of(<squares as farcall_ffi::__private::HandlerOp>::DESCRIPTOR);
    expect!["tangent(y) = v, tangent(x) = tx"].assert_eq(op.jvp_bindings());
}
