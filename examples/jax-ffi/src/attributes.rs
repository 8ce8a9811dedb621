//! Attributes of variable number or size.

use farcall_ffi::prelude::*;

/// Returns the sum of an array attribute.
#[handler(name = "array_attr")]
pub fn array_attr(array: &[i32], sum: &mut Buffer<i32, 0>) -> Result<()> {
    sum[0] = array.iter().copied().fold(0, i32::wrapping_add);
    Ok(())
}

/// Returns the attribute `secret`, and the number of attributes.
#[handler(name = "dictionary_attr")]
pub fn dictionary_attr(attrs: &Attrs, secret: &mut Buffer<i32, 0>, count: &mut Buffer<i32, 0>) -> Result<()> {
    secret[0] = i32::try_from(attrs.get::<i64>("secret")?)?;
    count[0] = i32::try_from(attrs.len())?;
    Ok(())
}
