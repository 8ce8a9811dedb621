#![allow(unused_variables, reason = "the test is about declarations")]
use farcall_ffi::prelude::*;

type Rows = AnyBuffer;

#[handler(name = "shape")]
#[signature((x: T[*, n]) -> (y: T[*, n]) where T: f32 | f64)]
#[vjp(backward = shape_bwd)]
fn shape(x: &Rows, y: &mut Rows) -> Result<()> {
    Ok(())
}

// The cotangent `dy` has one dimension too few.
#[handler(name = "shape_bwd")]
#[signature((x: T[*, n], dy: T[*]) -> (dx: T[*, n]) where T: f32 | f64)]
fn shape_bwd(x: &Rows, dy: &Rows, dx: &mut Rows) -> Result<()> {
    Ok(())
}

#[handler(name = "dtype")]
#[signature((x: T[*]) -> (y: T[*]) where T: f32 | f64)]
#[vjp(backward = dtype_bwd)]
fn dtype(x: &Rows, y: &mut Rows) -> Result<()> {
    Ok(())
}

#[handler(name = "dtype_bwd")]
#[signature((x: f32[*], dy: f32[*]) -> (dx: f32[*]))]
fn dtype_bwd(x: &Rows, dy: &Rows, dx: &mut Rows) -> Result<()> {
    Ok(())
}

#[handler(name = "attribute")]
#[signature((x: f32[*], eps: f32) -> (y: f32[*]))]
#[jvp(tangent = attribute_jvp)]
fn attribute(x: &Rows, eps: f32, y: &mut Rows) -> Result<()> {
    Ok(())
}

#[handler(name = "attribute_jvp")]
#[signature((x: f32[*], dx: f32[*], eps: f64) -> (dy: f32[*]))]
fn attribute_jvp(x: &Rows, dx: &Rows, eps: f64, dy: &mut Rows) -> Result<()> {
    Ok(())
}

#[handler(name = "residual")]
#[signature((x: f32[*, n]) -> (y: f32[*, n]))]
#[vjp(forward = residual_fwd, backward = residual_bwd)]
fn residual(x: &Rows, y: &mut Rows) -> Result<()> {
    Ok(())
}

#[handler(name = "residual_fwd")]
#[signature((x: f32[*, n]) -> (y: f32[*, n], r: f32[*]))]
fn residual_fwd(x: &Rows, y: &mut Rows, r: &mut Rows) -> Result<()> {
    Ok(())
}

// The residual is one number for each row.
#[handler(name = "residual_bwd")]
#[signature((r: f32[*, n], dy: f32[*, n]) -> (dx: f32[*, n]))]
fn residual_bwd(r: &Rows, dy: &Rows, dx: &mut Rows) -> Result<()> {
    Ok(())
}

#[handler(name = "forward")]
#[signature((x: f32[*, n], w: f32[n]) -> (y: f32[*, n]))]
#[vjp(forward = forward_fwd, backward = forward_bwd)]
fn forward(x: &Rows, w: &Rows, y: &mut Rows) -> Result<()> {
    Ok(())
}

#[handler(name = "forward_fwd")]
#[signature((w: f32[n], x: f32[*, n]) -> (y: f32[*, n], r: f32[*]))]
fn forward_fwd(w: &Rows, x: &Rows, y: &mut Rows, r: &mut Rows) -> Result<()> {
    Ok(())
}

#[handler(name = "forward_bwd")]
#[signature((r: f32[*], dy: f32[*, n]) -> (dx: f32[*, n], dw: f32[n]) where *: sum)]
fn forward_bwd(r: &Rows, dy: &Rows, dx: &mut Rows, dw: &mut Rows) -> Result<()> {
    Ok(())
}

// The rows share `w`, so its cotangent is their sum.
#[handler(name = "sum")]
#[signature((x: f32[*, n], w: f32[n]) -> (y: f32[*, n]))]
#[vjp(backward = sum_bwd)]
fn sum(x: &Rows, w: &Rows, y: &mut Rows) -> Result<()> {
    Ok(())
}

#[handler(name = "sum_bwd")]
#[signature((x: f32[*, n], w: f32[n], dy: f32[*, n]) -> (dx: f32[*, n], dw: f32[n]) where *: max)]
fn sum_bwd(x: &Rows, w: &Rows, dy: &Rows, dx: &mut Rows, dw: &mut Rows) -> Result<()> {
    Ok(())
}

#[handler(name = "integers")]
#[signature((x: f32[*], at: s32[*]) -> (y: f32[*]))]
#[jvp(tangent = integers_jvp)]
fn integers(x: &Rows, at: &Rows, y: &mut Rows) -> Result<()> {
    Ok(())
}

#[handler(name = "integers_jvp")]
#[signature((dx: f32[*], dat: s32[*]) -> (dy: f32[*]))]
fn integers_jvp(dx: &Rows, dat: &Rows, dy: &mut Rows) -> Result<()> {
    Ok(())
}

#[handler(name = "constant")]
#[signature((x: f32[*], w: f32[*]) -> (y: f32[*]))]
#[vjp(backward = constant_bwd)]
#[nondiff(w)]
fn constant(x: &Rows, w: &Rows, y: &mut Rows) -> Result<()> {
    Ok(())
}

#[handler(name = "constant_bwd")]
#[signature((dy: f32[*]) -> (dx: f32[*], dw: f32[*]))]
fn constant_bwd(dy: &Rows, dx: &mut Rows, dw: &mut Rows) -> Result<()> {
    Ok(())
}

#[handler(name = "unsigned")]
#[signature((x: f32[*]) -> (y: f32[*]))]
#[vjp(backward = unsigned_bwd)]
fn unsigned(x: &Rows, y: &mut Rows) -> Result<()> {
    Ok(())
}

#[handler(name = "unsigned_bwd")]
fn unsigned_bwd(dy: &Rows, dx: &mut Rows) -> Result<()> {
    Ok(())
}

// The transpose of the tangent op does not take one of its tangents.
#[handler(name = "product")]
#[signature((x: f32[*], w: f32[*]) -> (y: f32[*]))]
#[jvp(tangent = product_jvp)]
fn product(x: &Rows, w: &Rows, y: &mut Rows) -> Result<()> {
    Ok(())
}

#[handler(name = "product_jvp")]
#[signature((x: f32[*], w: f32[*], dx: f32[*], dw: f32[*]) -> (dy: f32[*]))]
#[transpose(product_transpose)]
fn product_jvp(x: &Rows, w: &Rows, dx: &Rows, dw: &Rows, dy: &mut Rows) -> Result<()> {
    Ok(())
}

#[handler(name = "product_transpose")]
#[signature((x: f32[*], w: f32[*], dy: f32[*]) -> (dx: f32[*]))]
fn product_transpose(x: &Rows, w: &Rows, dy: &Rows, dx: &mut Rows) -> Result<()> {
    Ok(())
}

fn main() {}
