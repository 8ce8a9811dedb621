//! Generic handlers: one function, and a kernel for each type that its signature lists.

use farcall_ffi::prelude::*;
use farcall_ffi::testing::Call;

#[handler(name = "scaled")]
#[signature((x: T[*, n], factor: f32 = 2.0) -> (y: T[*, n]) where T: f32 | f64)]
fn scaled<T: Float>(x: &Buffer<T>, factor: f32, y: &mut Buffer<T>) -> Result<()> {
    y.iter_mut().zip(x.iter()).for_each(|(y, x)| *y = *x * T::of(factor));
    Ok(())
}

/// The operand that determines the variable `T` has the type `real(T)`.
#[handler(name = "lengths")]
#[signature((weights: real(T)[*], z: T[*]) -> (r: real(T)[*]) where T: c64 | c128)]
fn lengths<T: Parts>(weights: &Buffer<T::Real>, z: &Buffer<T>, r: &mut Buffer<T::Real>) -> Result<()>
where
    T::Real: Float,
{
    (0..z.len()).for_each(|i| r[i] = weights[i] * z[i].length());
    Ok(())
}

trait Parts: Element {
    type Real: Float;
    fn length(self) -> Self::Real;
}

impl<T: Real> Parts for Complex<T> {
    type Real = T;
    fn length(self) -> T {
        self.re.hypot(self.im)
    }
}

/// Has two type variables and four kernels. A third variable is not a type parameter.
#[handler(name = "gather")]
#[signature((x: T[n], at: I[k], rest: U[]) -> (y: T[k]) where T: f32 | s32; I: s32 | s64; U: any)]
fn gather<T: Element, I: Element + TryInto<usize>>(
    x: &Buffer<T, 1>,
    at: &Buffer<I, 1>,
    rest: &AnyBuffer,
    y: &mut Buffer<T, 1>,
) -> Result<()> {
    ensure!(rest.len() == 1, "a scalar");
    for (y, at) in y.iter_mut().zip(at.iter()) {
        let at = (*at).try_into().map_err(|_| Error::invalid_argument("a negative index"))?;
        *y = x[at];
    }
    Ok(())
}

/// Takes any number of operands, all of the same type.
#[handler(name = "sum")]
#[signature((xs: T[*]...) -> (y: T[*]) where T: f32 | f64)]
fn sum<T: Float>(xs: &RestOperands<Buffer<T>>, y: &mut Buffer<T>) -> Result<()> {
    (0..y.len()).for_each(|i| y[i] = xs.iter().map(|x| x[i]).sum());
    Ok(())
}

/// Updates an operand in place, and takes optional operands.
#[handler(name = "increment")]
#[signature((x: T[*], by: T[*]?) -> (y: T[*] aliases x) where T: u8 | f64)]
fn increment<T: Element + std::ops::AddAssign + From<u8>>(
    x: &mut InOut<Buffer<T>>,
    by: Option<&Buffer<T>>,
) -> Result<()> {
    for i in 0..x.len() {
        x[i] += by.map_or(1.into(), |by| by[i]);
    }
    Ok(())
}

#[test]
fn the_operands_choose_the_kernel() {
    let (mut single, mut double) = ([0f32; 2], [0f64; 2]);
    Call::to::<scaled>()
        .operand(&[1f32, 2.0], &[2])
        .attr("factor", 3f32)
        .result(&mut single, &[2])
        .run()
        .unwrap();
    Call::to::<scaled>()
        .operand(&[1f64, 2.0], &[2])
        .attr("factor", 3f32)
        .result(&mut double, &[2])
        .run()
        .unwrap();
    assert_eq!((single, double), ([3.0, 6.0], [3.0, 6.0]));
}

#[test]
fn a_type_may_follow_from_another() {
    let (z, mut r) = ([Complex::new(3f64, 4.0)], [0f64; 1]);
    let call = Call::to::<lengths>().operand(&[10f64], &[1]).operand(&z, &[1]);
    call.result(&mut r, &[1]).run().unwrap();
    assert_eq!(r, [50.0]);
}

#[test]
fn several_variables() {
    let (any, mut y) = ([Pred::from(true)], [0i32; 3]);
    let call = Call::to::<gather>().operand(&[5i32, 6], &[2]).operand(&[1i64, 0, 1], &[3]);
    call.operand(&any, &[]).result(&mut y, &[3]).run().unwrap();
    assert_eq!(y, [6, 5, 6]);
    let mut y = [0f32; 1];
    let call = Call::to::<gather>().operand(&[5f32, 6.0], &[2]).operand(&[1i32], &[1]);
    call.operand(&[0u64], &[]).result(&mut y, &[1]).run().unwrap();
    assert_eq!(y, [6.0]);
}

#[test]
fn variadic_and_optional_operands() {
    let mut y = [0f64; 2];
    let call = Call::to::<sum>().operand(&[1f64, 2.0], &[2]).operand(&[10f64, 20.0], &[2]);
    call.result(&mut y, &[2]).run().unwrap();
    assert_eq!(y, [11.0, 22.0]);
    // Without operands, the type is undetermined, and no result requires a specific type.
    Call::to::<sum>().result(&mut [0f32; 1], &[1]).run().unwrap();

    let mut x = [1u8, 2];
    Call::to::<increment>().in_place(&mut x, &[2]).run().unwrap();
    assert_eq!(x, [2, 3]);
    let by = [10f64];
    let mut x = [1f64];
    let (x_copy, mut y) = (x, [0f64]);
    Call::to::<increment>().in_place(&mut x, &[1]).operand(&by, &[1]).run().unwrap();
    Call::to::<increment>().operand(&x_copy, &[1]).operand(&by, &[1]).result(&mut y, &[1]).run().unwrap();
    assert_eq!((x, y), ([11.0], [11.0]));
}

#[test]
fn what_does_not_fit_is_said() {
    let error = |call: Call<'_>| call.run().unwrap_err().message().to_owned();
    let (mut y, mut wide) = ([0f32; 1], [0f64; 1]);
    let call = Call::to::<scaled>().operand(&[1i32], &[1]).result(&mut y, &[1]);
    assert_eq!(error(call), "scaled: operand 0 (x): expected f32 or f64, found s32");
    let call = Call::to::<scaled>().operand(&[1f32], &[1]).attr("factor", 1f32).result(&mut wide, &[1]);
    assert_eq!(error(call), "scaled: result 0 (y): expected f32, found f64");
    let call = Call::to::<lengths>().operand(&[1f64], &[1]).operand(&[1f64], &[1]).result(&mut wide, &[1]);
    assert_eq!(error(call), "lengths: operand 1 (z): expected c128, found f64");
    let call = Call::to::<lengths>().operand(&[1i32], &[1]).operand(&[1f64], &[1]).result(&mut wide, &[1]);
    assert_eq!(error(call), "lengths: operand 0 (weights): expected f32 or f64, found s32");
    let call = Call::to::<gather>().operand(&[1f32], &[1]).operand(&[1f32], &[1]).operand(&[1f32], &[]);
    assert_eq!(error(call.result(&mut y, &[1])), "gather: operand 1 (at): expected s32 or s64, found f32");
    let call = Call::to::<sum>().operand(&[1f64], &[1]).operand(&[1f32], &[1]).result(&mut wide, &[1]);
    assert_eq!(error(call), "sum: operand 1 (xs): expected f64, found f32");
}

/// A function whose parameters, except for the host's, come from the signature.
#[handler(name = "clipped")]
#[signature((x: T[*], limit: T[], low: f32 = 0.0, mask: pred[*]?) -> (y: T[*] aliases x, over: pred[*]) where T: f32 | f64)]
fn clipped<T: Float>(host: &Context) -> Result<()> {
    ensure!(host.num_threads() > 0 && mask.is_none(), "a pool, and no mask");
    for (x, over) in zip!(x.iter_mut(), over.iter_mut()) {
        *over = (*x > limit[0]).into();
        *x = x.min(limit[0]).max(T::of(low));
    }
    Ok(())
}

#[test]
fn parameters_from_the_signature() {
    let (x, mut y, mut over) = ([-1.0, 0.5, 3.0], [0.0; 3], [Pred::from(false); 3]);
    let call = Call::to::<clipped>().operand(&x, &[3]).operand(&[1.0], &[]).attr("low", 0.0f32);
    call.result(&mut y, &[3]).result(&mut over, &[3]).run().unwrap();
    assert_eq!((y, over), ([0.0, 0.5, 1.0], [false, false, true].map(Pred::from)));
}
