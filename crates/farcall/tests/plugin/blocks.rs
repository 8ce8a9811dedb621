//! Ops that lower blocks by their signature and by a function.
//!
//! `my.scale` is lowered by two handlers, one for each element type. `my.twice` is `y = 2 x` of any type.

use farcall_ffi::prelude::*;

/// y = factor · x
#[handler(name = "scale_f32")]
#[signature((x: f32[*], factor: f32 = 2.0) -> (y: f32[*]))]
#[lowers("my.scale")]
pub(crate) fn scale_f32(x: &Buffer<f32>, factor: f32, y: &mut Buffer<f32>) -> Result<()> {
    x.iter().zip(y.iter_mut()).for_each(|(x, y)| *y = factor * x);
    Ok(())
}

/// y = factor · x
#[handler(name = "scale_f64")]
#[signature((x: f64[*], factor: f64 = 2.0) -> (y: f64[*]))]
#[lowers("my.scale")]
pub(crate) fn scale_f64(x: &Buffer<f64>, factor: f64, y: &mut Buffer<f64>) -> Result<()> {
    x.iter().zip(y.iter_mut()).for_each(|(x, y)| *y = factor * x);
    Ok(())
}

/// y = 2 x
#[handler(name = "twice_f32")]
#[lowers("my.twice", with = lower_twice)]
pub(crate) fn twice_f32(x: &Buffer<f32>, y: &mut Buffer<f32>) -> Result<()> {
    x.iter().zip(y.iter_mut()).for_each(|(x, y)| *y = 2.0 * x);
    Ok(())
}

/// Lowers blocks of any real type, with conversions to `f32` and back.
fn lower_twice(block: &Block<'_>) -> Result<Lowered> {
    assert_ne!(block.version(), 13, "thirteen is no version");
    let [x] = block.operands() else { return Ok(Lowered::skip("it takes one operand")) };
    if x.dtype.is_complex() {
        return Ok(Lowered::skip(format!("there is no handler for {}", x.dtype)));
    }
    ensure!(block.client().platform() == "Host", "the lowering must be asked only for the platform Host");
    let call = TargetCall::new("twice_f32");
    Ok(match x.dtype {
        DType::F32 => call.into(),
        _ => call.operand_type(0, DType::F32).result_type(0, DType::F32).into(),
    })
}
