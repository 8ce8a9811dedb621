//! LAPACK and BLAS routines of a library that is opened at run time: OpenBLAS, MKL, BLIS with LAPACK, or
//! Accelerate. This crate links no such library.
//!
//! A process uses at most one library at a time: the one of the last call of [`open`], or the one that the first
//! call of [`routines`] opens if the environment variable `FARCALL_LINALG` is `system` or `system=PATH`.
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
//! - `library` finds and opens a library, and looks up the addresses of its routines.
//! - `routines` has a safe function for each routine. Matrices are column-major slices, whose lengths are
//!   checked. Options are LAPACK's letters.
//! - `workspace` has the memory that routines request.
//!
//! Integers have 32 bits (the *LP64* interface); a library with 64-bit integers is refused.

mod element;
mod library;
mod names;
mod routines;
mod workspace;

pub use element::MatrixElement;
pub use library::{LapackSource, OpenError, open, path, use_built_in};
pub use routines::{Eigenvalues, Routines, routines};
