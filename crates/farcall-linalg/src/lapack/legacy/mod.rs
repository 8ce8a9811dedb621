//! The targets of programs that JAX exported until 2024: the names of LAPACK's routines without the suffix
//! `_ffi`. Such calls pass sizes and options as operands, and workspaces as results.
//!
//! jaxlib registered 44 of these names: `trsm`, `potrf`, `getrf`, `geqrf` and `orgqr` ([`factors`]), and `gesdd`,
//! `syevd`, `sytrd`, `geev`, `gees` and `gehrd` ([`spectral`]), for each element type. The order of operands and
//! results is that of jaxlib's functions `*_hlo` in `jaxlib/lapack.py`.
//!
//! The calls use the untyped API (`api_version` 1 or 2) without a configuration, so typed handlers can run them.
//! Operands for sizes are `s32`, or `s64` in programs of some versions of JAX. The ops do not read them,
//! because the sizes follow from the shapes of the matrices. Workspaces are filled with zeros. Calls omit
//! attributes such as `work_len`; the signatures need them because no operand determines the size of a
//! workspace.

pub(crate) mod factors;
pub(crate) mod spectral;
