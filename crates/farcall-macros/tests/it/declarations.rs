//! Every kind of parameter that a signature can have, and the resulting descriptor.

#![allow(unused_variables, reason = "only the declarations of these kernels are tested")]

use expect_test::expect;
use farcall_ffi::descriptor::{LibraryOp, OpDescriptor};
use farcall_ffi::prelude::*;

/// Takes tensors of two element types, as `&AnyBuffer`.
#[handler(name = "axpy")]
#[signature((a: T[], x: T[*], y: T[*]) -> (z: T[*]) where T: f32 | f64)]
#[vjp(backward = axpy_bwd)]
#[jvp(tangent = axpy_jvp)]
#[nondiff(a)]
fn axpy(a: &AnyBuffer, x: &AnyBuffer, y: &AnyBuffer, z: &mut AnyBuffer) -> Result<()> {
    Ok(())
}

#[handler(name = "axpy_bwd")]
#[signature((a: T[], x: T[*], dz: T[*]) -> (dx: T[*], dy: T[*]) where T: f32 | f64)]
fn axpy_bwd(
    a: &AnyBuffer,
    x: &AnyBuffer,
    dz: &AnyBuffer,
    dx: &mut AnyBuffer,
    dy: &mut AnyBuffer,
) -> Result<()> {
    Ok(())
}

#[handler(name = "axpy_jvp")]
#[signature((a: T[], dx: T[*], dy: T[*]) -> (dz: T[*]) where T: f32 | f64)]
fn axpy_jvp(a: &AnyBuffer, dx: &AnyBuffer, dy: &AnyBuffer, dz: &mut AnyBuffer) -> Result<()> {
    Ok(())
}

/// Updates an operand in place. Parameters of the host are not in the signature, and attributes may have any
/// order.
#[handler(name = "scatter_add")]
#[signature(
    (base: f32[n, d], at: s32[k], rows: f32[k, d], wrap: bool = false, sizes: [i64]) -> (out: f32[n, d] aliases base)
    where d: map
)]
fn scatter_add(
    ctx: &Context,
    sizes: &[i64],
    base: &mut InOut<Buffer<f32, 2>>,
    at: &Buffer<i32, 1>,
    rows: &Buffer<f32>,
    wrap: bool,
) -> Result<()> {
    Ok(())
}

/// Takes an optional operand and a string, and has an optional result.
#[handler(name = "masked")]
#[signature(
    (x: c64[*, n], mask: pred[*, n]?, side: "left" | "right" = "left", axis: i64?, label: str = "")
    -> (y: c64[*, n], count: s32[*] if mask) where side_effect
)]
fn masked(
    x: &Buffer<Complex<f32>>,
    mask: Option<&Buffer<Pred>>,
    side: &str,
    axis: Option<i64>,
    label: &str,
    y: &mut Buffer<Complex<f32>>,
    count: Option<&mut Buffer<i32>>,
) -> Result<()> {
    Ok(())
}

/// Takes variadic operands. The function `plan` of the instantiate stage takes the attribute.
#[handler(name = "concat", instantiate = plan)]
#[signature("(xs: T[*, n..., d]..., k: i64) -> (ys: T[*, n..., d]...) where T: any; d: map")]
fn concat(xs: &RestOperands, plan: &State<i64>, ys: &mut RestResults) -> Result<()> {
    Ok(())
}

#[stage(instantiate)]
fn plan(k: i64) -> Result<i64> {
    Ok(k)
}

/// Takes all attributes at once.
#[handler(name = "generic")]
#[signature = "(x: f32[*], k: i64, options: dict?) -> (y: f32[*])"]
fn generic(x: &Buffer<f32>, attrs: &Attrs, y: &mut AnyBuffer) -> Result<()> {
    Ok(())
}

#[handler(name = "undeclared")]
fn undeclared(x: &Buffer<f32>) -> Result<()> {
    Ok(())
}

const OPS: &[&OpDescriptor] =
    farcall_ffi::ops![axpy, axpy_bwd, axpy_jvp, scatter_add, masked, concat, generic, undeclared];

#[test]
fn descriptors_have_declarations() {
    let lines = OPS.iter().map(|op| {
        let op = LibraryOp::of(op);
        let mut line = format!("{}{}", op.name(), op.signature().unwrap_or(" –"));
        let derivatives =
            [("forward", op.vjp_forward()), ("backward", op.vjp_backward()), ("tangent", op.jvp_tangent())];
        for (what, name) in derivatives {
            line += &name.map(|name| format!("\n    {what} {name}")).unwrap_or_default();
        }
        op.non_differentiable().fold(line, |line, name| format!("{line}\n    nondiff {name}"))
    });
    expect![[r#"
        axpy(a: T[], x: T[*], y: T[*]) -> (z: T[*]) where T: f32 | f64
            backward axpy_bwd
            tangent axpy_jvp
            nondiff a
        axpy_bwd(a: T[], x: T[*], dz: T[*]) -> (dx: T[*], dy: T[*]) where T: f32 | f64
        axpy_jvp(a: T[], dx: T[*], dy: T[*]) -> (dz: T[*]) where T: f32 | f64
        scatter_add(base: f32[n, d], at: s32[k], rows: f32[k, d], wrap: bool = false, sizes: [i64]) -> (out: f32[n, d] aliases base) where d: map
        masked(x: c64[*, n], mask: pred[*, n]?, side: "left" | "right" = "left", axis: i64?, label: str = "") -> (y: c64[*, n], count: s32[*] if mask) where side_effect
        concat(xs: T[*, n..., d]..., k: i64) -> (ys: T[*, n..., d]...) where T: any; d: map
        generic(x: f32[*], k: i64, options: dict?) -> (y: f32[*])
        undeclared –"#]].assert_eq(&lines.collect::<Vec<_>>().join("\n"));
}
