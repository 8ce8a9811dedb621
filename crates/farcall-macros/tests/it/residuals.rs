//! Residuals that an op's own function returns.

use expect_test::expect;
use farcall_ffi::descriptor::{LibraryOp, OpDescriptor};
use farcall_ffi::prelude::*;
use farcall_ffi::testing::{Call, Forward};

/// Divides each row by its length.
#[handler(name = "unit")]
#[signature((x: T[*, n], label: str = "") -> (y: T[*, n]) where T: f32 | f64)]
#[vjp(residuals(length: acc(T)[*], count: s64[*, 1]), backward = unit_bwd)]
pub(crate) fn unit<T: Float<Acc = T>>() -> Result<()> {
    ensure!(label != "refuse", "there is no length");
    for (x, y, length) in zip!(x.rows(), y.rows_mut(), length.iter_mut()) {
        *length = x.iter().map(|&x| x * x).sum::<T>().sqrt();
        zip!(x, y).for_each(|(&x, y)| *y = x / *length);
    }
    count.fill(x.last_dims::<1>()?[0] as i64);
    Ok(())
}

#[handler(name = "unit_bwd")]
#[signature((y: T[*, n], length: acc(T)[*], count: s64[*, 1], dy: T[*, n]) -> (dx: T[*, n]) where T: f32 | f64)]
fn unit_bwd<T: Float<Acc = T>>() -> Result<()> {
    ensure!(count.len() == length.len(), "{count:?}");
    for (y, &length, dy, dx) in zip!(y.rows(), length.iter(), dy.rows(), dx.rows_mut()) {
        let along = zip!(y, dy).map(|(&y, &dy)| y * dy).sum::<T>();
        zip!(y, dy, dx).for_each(|(&y, &dy, dx)| *dx = (dy - y * along) / length);
    }
    Ok(())
}

/// The parameter for the residual is between parameters of other kinds. The residual has another name in the
/// backward op, and its size is an attribute.
#[handler(name = "first")]
#[signature((x: f32[n], k: i64) -> (y: f32[k]) where k <= n)]
#[vjp(backward = first_bwd, residuals(at: s32[k]), residual(at) = places)]
fn first(
    host: &Context,
    k: i64,
    y: &mut Buffer<f32>,
    at: &mut Buffer<i32, 1>,
    x: &Buffer<f32>,
) -> Result<()> {
    ensure!(at.len() == k as usize && host.host_version().0 == 0, "{at:?}");
    y.copy_from_slice(&x[..k as usize]);
    zip!(at.iter_mut(), 0..k as i32).for_each(|(at, i)| *at = i);
    Ok(())
}

#[handler(name = "first_bwd")]
#[signature((x: f32[n], places: s32[k], dy: f32[k]) -> (dx: f32[n]))]
fn first_bwd(x: &Buffer<f32>, places: &Buffer<i32>, dy: &Buffer<f32>, dx: &mut Buffer<f32>) -> Result<()> {
    ensure!(x.len() == dx.len(), "x is {x:?}");
    dx.fill(0.0);
    zip!(places.iter(), dy.iter()).for_each(|(&at, &dy)| dx[at as usize] += dy);
    Ok(())
}

const OPS: &[&OpDescriptor] = ops![unit, unit_bwd, first, first_bwd];

// A list that names `unit` also contains its forward op.
farcall_ffi::library!("residuals", [unit, unit_bwd], register: manual);

#[test]
fn both_ops_are_listed() {
    let lines = OPS.iter().map(|op| {
        let op = LibraryOp::of(op);
        let forward = op.vjp_forward().map_or(String::new(), |forward| format!("\n    forward {forward}"));
        let params: Vec<&str> = op.params().map(|param| param.name()).collect();
        format!("{}{}{forward}\n    {}", op.name(), op.signature().unwrap_or_default(), params.join(", "))
    });
    expect![[r#"
        unit(x: T[*, n], label: str = "") -> (y: T[*, n]) where T: f32 | f64
            forward unit_fwd
            x, label, y
        unit_fwd(x: T[*, n], label: str = "") -> (y: T[*, n], length: acc(T)[*], count: s64[*, 1]) where T: f32 | f64
            x, label, y, length, count
        unit_bwd(y: T[*, n], length: acc(T)[*], count: s64[*, 1], dy: T[*, n]) -> (dx: T[*, n]) where T: f32 | f64
            y, length, count, dy, dx
        first(x: f32[n], k: i64) -> (y: f32[k]) where k <= n
            forward first_fwd
            host, k, y, x
        first_fwd(x: f32[n], k: i64) -> (y: f32[k], at: s32[k]) where k <= n
            host, k, y, at, x
        first_bwd(x: f32[n], places: s32[k], dy: f32[k]) -> (dx: f32[n])
            x, places, dy, dx"#]].assert_eq(&lines.collect::<Vec<_>>().join("\n"));
}

#[test]
fn residuals_are_returned_only_if_they_are_asked_for() {
    let x = [3.0f64, 4.0, 0.0, 5.0];
    let (mut y, mut again, mut length, mut count) = ([0.0f64; 4], [0.0f64; 4], [0.0f64; 2], [0i64; 2]);
    Call::to::<unit>().operand(&x, &[2, 2]).attr("label", "").result(&mut y, &[2, 2]).run().unwrap();
    let forward = Call::to::<Forward<unit>>().operand(&x, &[2, 2]).attr("label", "");
    let forward = forward.result(&mut again, &[2, 2]).result(&mut length, &[2]).result(&mut count, &[2, 1]);
    forward.run().unwrap();
    assert_eq!((y, again), ([0.6, 0.8, 0.0, 1.0], y));
    assert_eq!((length, count), ([5.0, 5.0], [2, 2]));

    let (mut y, x) = ([0.0f32; 2], [1.0f32, 2.0, 3.0]);
    Call::to::<first>().operand(&x, &[3]).attr("k", 2i64).result(&mut y, &[2]).run().unwrap();
    assert_eq!(y, [1.0, 2.0]);

    // A batch without rows, and a row without batch dimensions.
    Call::to::<unit>()
        .operand(&[0.0f32; 0], &[0, 2])
        .attr("label", "")
        .result(&mut [0.0f32; 0], &[0, 2])
        .run()
        .unwrap();
    Call::to::<unit>().operand(&[2.0f32], &[1]).attr("label", "").result(&mut y[..1], &[1]).run().unwrap();
    assert_eq!(y[0], 1.0);
}

#[test]
fn errors_name_the_op_that_was_called() {
    let x = [1.0f32];
    let error = |call: Call<'_>| call.attr("label", "refuse").run().unwrap_err().message().to_owned();
    let (mut y, mut z, mut d) = ([0.0f32], [0.0f32], [0.0f64]);
    let errors = [
        error(Call::to::<unit>().operand(&x, &[1]).result(&mut y, &[1])),
        error(Call::to::<unit>().operand(&x, &[1])),
        error(Call::to::<unit>().operand(&x, &[1]).result(&mut y, &[1]).result(&mut z, &[1])),
        error(Call::to::<unit>().result(&mut y, &[1])),
        error(Call::to::<unit>().operand(&x, &[]).result(&mut y, &[1])),
        error(Call::to::<unit>().operand(&x, &[1]).result(&mut d, &[1])),
        error(Call::to::<unit>().operand(&[1i32], &[1]).result(&mut y, &[1])),
        error(Call::to::<Forward<unit>>().operand(&x, &[1]).result(&mut y, &[1])),
    ];
    expect![[r#"
        unit: there is no length
        unit: expected 1 result, found 0
        unit: expected 1 result, found 2
        unit: expected 1 operand (x), found 0
        unit: operand 0: expected at least 1 dimension, found 0
        unit: result 0 (y): expected f32, found f64
        unit: operand 0 (x): expected f32 or f64, found s32
        unit_fwd: expected 3 results (y, length, count), found 1"#]]
    .assert_eq(&errors.join("\n"));
}
