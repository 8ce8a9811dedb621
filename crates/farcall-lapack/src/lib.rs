//! LAPACK and BLAS routines of a library that is opened at run time: OpenBLAS, MKL, BLIS with LAPACK,
//! Accelerate. Nothing is linked.
//!
//! At most one library is open in a process. [`open`] opens it, or the environment variable
//! `FARCALL_LINALG=system` or `FARCALL_LINALG=system=PATH` does when [`routines`] is first called.
//!
//! ```no_run
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // SAFETY: the library's initializers are trusted, and its routines are LAPACK's.
//! unsafe { farcall_lapack::open(None)? };
//! let lapack = farcall_lapack::routines::<f64>()?.expect("a library is open");
//! let mut a = [4.0, 2.0, 2.0, 5.0];
//! assert_eq!(lapack.potrf(b'L', 2, &mut a), 0);
//! assert_eq!([a[0], a[1], a[3]], [2.0, 1.0, 2.0]);
//! # Ok(())
//! # }
//! ```
//!
//! - `library` finds and opens a library, and looks its routines up.
//! - `routines` has a safe function for each routine. Matrices are column-major slices, whose lengths are
//!   checked. Options are LAPACK's letters. Workspaces are allocated as large as LAPACK asks.
//!
//! Integers have 32 bits (the *LP64* interface). Fortran's hidden lengths of strings are omitted, as usual in
//! C.

mod library;
mod names;
mod routines;

pub use library::{OpenError, open, path, use_built_in};
pub use routines::{Eigenvalues, MatrixElement, Routines, routines};
