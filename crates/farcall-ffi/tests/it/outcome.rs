//! Checks the outcome of calls in tests.

use expect_test::Expect;
use farcall_ffi::Result;

/// Compares the outcome of a call with `ok`, or with the text of an error.
#[track_caller]
pub(crate) fn check(result: Result<()>, expected: Expect) {
    let text = match result {
        Ok(()) => String::from("ok"),
        Err(error) => format!("{error:?}"),
    };
    expected.assert_eq(&text);
}
