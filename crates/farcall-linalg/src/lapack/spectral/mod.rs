//! Spectral decompositions: eigenvalues, singular values, Schur forms, and the reductions to condensed forms.
//!
//! ```text
//! symmetric     ops: syevd, heevd, sytrd, hetrd, Eigh
//! general       ops: geev, gees, gehrd
//! singular      ops: gesdd, gesvd
//! scale         scaling of matrices with extreme entries
//! residual      checks of decompositions
//! balance       permutations and scalings before geev and gees
//! hessenberg    reduction of general matrices
//! tridiagonal   reduction of Hermitian matrices
//! schur         QR iterations for Hessenberg matrices
//! eigenvectors  eigenvectors of Schur forms
//! reflect       Householder reflections
//! square        square matrices in column-major order
//! field         loops over columns, and products of blocks
//! ```
//!
//! The eigenproblem of tridiagonal matrices and singular value decompositions are `faer`'s. The other
//! algorithms are here, since the results have LAPACK's forms.

mod balance;
mod eigenvectors;
mod field;
pub(super) mod general;
mod hessenberg;
mod reflect;
mod residual;
mod scale;
mod schur;
pub(super) mod singular;
mod square;
pub(crate) mod symmetric;
mod tridiagonal;

#[cfg(test)]
mod tests;
