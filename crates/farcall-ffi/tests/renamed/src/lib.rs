//! Ops of a crate that depends on `farcall-ffi` under another name, like the users of an SDK that re-exports
//! `farcall-ffi`. Uses every macro, with `crate = …`.

/// An SDK that re-exports `farcall-ffi`.
pub mod sdk {
    pub use renamed as ffi;
}

use sdk::ffi::descriptor::OpDescriptor;
use sdk::ffi::prelude::*;

/// y = scale · x, where x has any dimensions.
#[handler(name = "scale", crate = crate::sdk::ffi)]
#[signature((x: T[..], scale: f32) -> (y: T[..]) where T: f32 | f64)]
#[vjp(backward = scale_bwd)]
#[shape(same)]
#[batch(in_front)]
pub fn scale<T: Float>(x: &Buffer<T>, scale: f32, y: &mut Buffer<T>) -> Result<()> {
    y.iter_mut().zip(x.iter()).for_each(|(y, x)| *y = *x * T::of(scale));
    Ok(())
}

/// The reverse derivative of `scale`.
#[handler(name = "scale_bwd", crate = renamed)]
#[signature((x: T[..], dy: T[..], scale: f32) -> (dx: T[..]) where T: f32 | f64)]
#[shape(same)]
pub fn scale_bwd<T: Float>(x: &Buffer<T>, dy: &Buffer<T>, scale: f32, dx: &mut Buffer<T>) -> Result<()> {
    ensure!(x.dims() == dy.dims(), "x is {x:?}, but dy is {dy:?}");
    dx.iter_mut().zip(dy.iter()).for_each(|(dx, dy)| *dx = *dy * T::of(scale));
    Ok(())
}

fn same(call: &ShapeCall<'_>) -> Result<Vec<i64>> {
    Ok(call.operand("x")?.dims.to_vec())
}

fn in_front(_: &BatchCall<'_>) -> Result<Batch> {
    Ok(Batch::once([Some(0)], [0]))
}

/// Options of a counter: its first number, and the distance to the next one.
#[derive(FromAttr, Debug)]
#[attr(crate = sdk::ffi)]
pub struct Steps {
    #[attr(name = "from")]
    start: i64,
    direction: Option<CountingDirection>,
    size: Option<StepSize>,
}

/// An enum that is read from a string.
#[derive(FromAttr, Debug, PartialEq)]
#[attr(crate = sdk::ffi)]
pub enum CountingDirection {
    /// `"up"`
    Up,
    /// `"down"`
    Down,
}

/// An enum that is read from an integer.
#[derive(FromAttr, Clone, Copy, Debug)]
#[attr(crate = sdk::ffi)]
pub enum StepSize {
    /// Every number.
    One = 1,
    /// Every second number.
    Two = 2,
}

/// State of a call site of `counter`.
#[derive(Debug)]
pub struct Counter {
    next: std::sync::atomic::AtomicI64,
    step: i64,
}

/// Makes the state of a call site of `counter`.
#[stage(instantiate, crate = sdk::ffi)]
pub fn counter_new(steps: Steps) -> Result<Counter> {
    let size = steps.size.unwrap_or(StepSize::One) as i64;
    let step = if steps.direction == Some(CountingDirection::Down) { -size } else { size };
    Ok(Counter { next: steps.start.into(), step })
}

/// Counts the runs of a call site.
#[handler(name = "counter", instantiate = counter_new, crate = sdk::ffi)]
pub fn counter(state: &State<Counter>, y: &mut Buffer<i64>) -> Result<()> {
    y.fill(state.next.fetch_add(state.step, std::sync::atomic::Ordering::Relaxed));
    Ok(())
}

/// Table of the differentiable op and its derivative.
pub const OPS: &[&OpDescriptor] = sdk::ffi::ops![scale, scale_bwd];

sdk::ffi::library!("renamed_ops", [..OPS, counter as renamed_counter]);

#[cfg(test)]
mod tests {
    use super::sdk::ffi::descriptor::LibraryOp;
    use super::sdk::ffi::testing::Call;

    #[test]
    fn ops_run() {
        let mut y = [0f32; 2];
        let call = Call::to::<super::scale>().operand(&[1f32, 2.0], &[2]).attr("scale", 3.0f32);
        call.result(&mut y, &[2]).run().unwrap();
        assert_eq!(y, [3.0, 6.0]);
    }

    #[test]
    fn the_library_lists_them() {
        let names: Vec<&str> = super::OPS.iter().map(|op| LibraryOp::of(op).name()).collect();
        assert_eq!(names, ["scale", "scale_bwd"]);
    }
}
