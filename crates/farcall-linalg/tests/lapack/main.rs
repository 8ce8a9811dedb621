//! Tests of the routines of LAPACK and of the BLAS, which are called as ops. The measure is LAPACK's own: an
//! error divided by the error that rounding explains (a *test ratio*), which must be below [`MAX_RATIO`].

mod batches;
mod blas;
mod cholesky;
mod legacy;
mod lu;
mod matrix;
mod pivoted_qr;
mod qr;
mod spectral;
mod triangular;
mod tridiagonal;

use farcall_ffi::descriptor::LibraryOp;
use farcall_ffi::descriptor::OpDescriptor;
use farcall_ffi::testing::Call;

use matrix::Number;

/// Largest test ratio of a correct result, as in LAPACK's tests.
const MAX_RATIO: f64 = 30.0;

/// Runs a generic test for each of LAPACK's four element types.
#[macro_export]
macro_rules! for_each_type {
    ($test:ident $(, $argument:expr)*) => {{
        $test::<f32>($($argument),*);
        $test::<f64>($($argument),*);
        $test::<num_complex::Complex<f32>>($($argument),*);
        $test::<num_complex::Complex<f64>>($($argument),*);
    }};
}

/// Prepares a call of the op `name`, in which `*` stands for the letter of the element type.
fn call<'a, T: Number>(name: &str) -> Call<'a> {
    Call::of(op(&name.replace('*', T::LETTER)))
}

/// Returns an op by its name.
fn op(name: &str) -> &'static OpDescriptor {
    let mut ops = farcall_linalg::lapack::OPS.iter();
    ops.find(|op| LibraryOp::of(op).name() == name).unwrap_or_else(|| panic!("there is no op {name}"))
}

/// Checks a test ratio. NaN is an error, too.
#[track_caller]
fn assert_ratio(ratio: f64, what: &str) {
    assert!(ratio < MAX_RATIO, "{what}: the test ratio is {ratio}");
}

/// Checks that an error of a call contains a text.
#[track_caller]
fn assert_error(result: farcall_ffi::Result<()>, part: &str) {
    let error = result.expect_err(part);
    assert!(error.message().contains(part), "{:?} does not contain {part:?}", error.message());
}
