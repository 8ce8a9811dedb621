//! Handlers with parameters of every kind, which read and write everything that they get.

use farcall_ffi::prelude::*;
use farcall_ffi::{RestOperands, RestResults};

#[handler(name = "typed")]
pub(crate) fn typed(
    x: &Buffer<f32>,
    i: &Buffer<i64, 1>,
    by: f32,
    bias: Option<i32>,
    y: &mut Buffer<f32>,
) -> Result<()> {
    let sum: i64 = i.iter().fold(0, |a, b| a.wrapping_add(*b));
    let first = x.iter().fold(0.0, |a, b| a + b);
    y.iter_mut().for_each(|y| *y = first * by + (sum ^ i64::from(bias.unwrap_or(1))) as f32);
    Ok(())
}

#[handler(name = "variadic")]
pub(crate) fn variadic(
    context: &Context,
    x: &AnyBuffer,
    more: &RestOperands,
    attrs: &Attrs,
    y: &mut AnyBuffer,
    rest: &mut RestResults,
) -> Result<()> {
    let mut sum = x.bytes().iter().fold(0u8, |a, b| a.wrapping_add(*b));
    for i in 0..more.len() {
        let bytes = more.get(i).map_or(&[][..], AnyBuffer::bytes);
        sum = bytes.iter().fold(sum, |a, b| a.wrapping_add(*b));
    }
    y.bytes_mut().fill(sum);
    for buffer in rest.iter_mut() {
        buffer.bytes_mut().fill(sum);
    }
    for (name, value) in attrs.iter() {
        sum = sum.wrapping_add(name.len() as u8 ^ format!("{value:?}").len() as u8);
    }
    let _outcomes = (context.run_id(), context.device_ordinal(), context.stream(), context.num_threads());
    context.parallel_for(usize::from(sum % 2), |_| {});
    Ok(())
}

#[handler(name = "attributes")]
#[expect(clippy::too_many_arguments, reason = "one parameter of each kind")]
pub(crate) fn attributes(
    array: &[i64],
    bytes: &[u8],
    dict: &Dict,
    flag: bool,
    flags: &[bool],
    maybe: Option<&str>,
    name: &str,
    wide: Complex<f64>,
    xy: &mut InOut<Buffer<f32>>,
) -> Result<()> {
    let mut sum = array.iter().fold(0, |a: i64, b| a.wrapping_add(*b)) as f64;
    sum += bytes.iter().map(|b| f64::from(*b)).sum::<f64>();
    sum += flags.iter().filter(|f| **f).count() as f64 + f64::from(u8::from(flag));
    sum += (name.len() + maybe.map_or(0, |m| m.chars().count())) as f64 + wide.re;
    for (name, value) in dict.iter() {
        sum += (name.len() + format!("{value:?}").len()) as f64;
    }
    sum += dict.get_opt::<f64>("k")?.unwrap_or(1.0);
    let inner: Option<&Dict> = dict.get_opt("inner")?;
    sum += inner.map_or(0, |d| d.len()) as f64;
    xy.iter_mut().for_each(|v| *v += sum as f32);
    Ok(())
}

pub(crate) struct Start(i64);

#[stage(instantiate)]
pub(crate) fn start_new(start: i64) -> Result<Start> {
    Ok(Start(start))
}

#[handler(name = "stateful", instantiate = start_new)]
pub(crate) fn stateful(state: &State<Start>, y: &mut Buffer<i64, 0>) -> Result<()> {
    y.fill(state.0);
    Ok(())
}
