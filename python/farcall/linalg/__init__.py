"""Linear algebra on NumPy and JAX arrays, with the names of `numpy.linalg` and `scipy.linalg`.

>>> import farcall.linalg, numpy as np
>>> farcall.linalg.solve(np.array([[2.0, 0.0], [0.0, 4.0]]), np.array([1.0, 1.0]))
array([0.5 , 0.25])

The type of the arrays determines where a function runs:

- NumPy arrays: immediately, by the built-in LAPACK handlers of farcall's engine (`farcall.linalg._numpy`).
  JAX is not imported.
- JAX arrays and tracers: as operations of JAX (`farcall.linalg._jax`), with `jit`, `grad`, `vmap` and
  shardings. On a CPU, most operations call LAPACK by name; XLA finds these handlers in jaxlib, and farcall's
  engine has built-in ones. `qr` and `eigh` are blocks: composites with a default body, which XLA runs without
  LAPACK.

This module checks the arguments for both. All functions accept any number of batch dimensions, and matrices
without rows or columns. Elements are `float32`, `float64`, `complex64` or `complex128`. Integers become
`float32`. Functions compute smaller floating-point types in `float32` and round the results. A matrix whose
factorization fails gives NaNs or infinite numbers, and does not affect the rest of its batch.

On JAX arrays, the functions have first and second derivatives, forward and in reverse. Each function states
when they exist.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from farcall._arrays import is_inexact, is_number
from farcall._ops import _is_for_jax
from farcall.linalg import _numpy

__all__ = [
    "cholesky",
    "det",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "inv",
    "lstsq",
    "lu",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "solve_triangular",
    "svd",
    "svdvals",
]

#: A NumPy or JAX array, depending on the arguments.
Array = Any


def cholesky(x: Any, *, upper: bool = False) -> Array:
    """Returns the Cholesky factor `c` of Hermitian positive definite matrices: `x = c @ cᴴ`.

    Only one triangle is read. Derivatives assume Hermitian changes of `x`.

    Args:
      x: matrices `[..., n, n]`.
      upper: whether to read the upper triangle and return the upper triangular `c` with `x = cᴴ @ c`.
        Otherwise, the lower triangle is read, and `c` is lower triangular.

    Returns:
      `c`, `[..., n, n]`; NaNs for matrices that are not positive definite.

    Raises:
      ValueError: for matrices that are not square, or fewer than two dimensions.
      TypeError: for elements that are not numbers.
    """
    return _call("cholesky", {"x": x}, square=True, upper=bool(upper))


def lu(x: Any) -> tuple[Array, Array, Array]:
    """Returns the LU decomposition with partial pivoting, `x = p @ l @ u`.

    Derivatives exist if no pivot is zero.

    Args:
      x: matrices `[..., m, n]`.

    Returns:
      With `k = min(m, n)`: the permutation matrix `p`, `[..., m, m]`, real; the unit lower triangular `l`,
      `[..., m, k]`; the upper triangular `u`, `[..., k, n]`.

    Raises:
      ValueError: for fewer than two dimensions.
      TypeError: for elements that are not numbers.
    """
    return _call("lu", {"x": x})


def qr(x: Any, *, mode: str = "reduced", eps: float = 0.0) -> tuple[Array, Array]:
    """Returns the QR decomposition `x = q @ r` of matrices: the columns of `q` are orthonormal, `r` is upper
    triangular.

    Derivatives exist if the first `k` columns of `x` are linearly independent, where `k` is the number of
    columns of `q`.

    Args:
      x: matrices `[..., m, n]`.
      mode: `"reduced"`, for `q` with `min(m, n)` columns, or `"complete"`, for `m` columns.
      eps: the default body skips the reflection of a column if the length of its part below the diagonal is
        at most `eps`.

    Returns:
      `q`, `[..., m, k]`, and `r`, `[..., k, n]`. As in NumPy, the diagonal of `r` is real, and may be negative.

    Raises:
      ValueError: for another mode, or fewer than two dimensions.
      TypeError: for elements that are not numbers.
      NotImplementedError: if a complete decomposition with more columns than `x` is differentiated.
    """
    if mode not in ("reduced", "complete"):
        raise ValueError(f'mode must be "reduced" or "complete", but is {mode!r}')
    return _call("qr", {"x": x}, mode=mode, eps=float(eps))


def eigh(x: Any, *, max_iter: int = 100, eps: float | None = None) -> tuple[Array, Array]:
    """Returns the eigenvalues `w`, in ascending order, and eigenvectors `v` of Hermitian matrices: `x @ v = v
    * w`.

    Each eigenvector is scaled so that its first large entry, of at least 0.6 times the largest magnitude, is
    positive. Derivatives assume Hermitian changes of `x`, and exist if all eigenvalues differ.

    Args:
      x: matrices `[..., n, n]`. Only the lower triangle is read.
      max_iter: maximum number of sweeps of rotations in the default body.
      eps: the default body stops once the Frobenius norm of the off-diagonal entries is at most this fraction
        of the norm of the matrix; defaults to the type's machine epsilon.

    Returns:
      `w`, `[..., n]`, real, and `v`, `[..., n, n]`.

    Raises:
      ValueError: for matrices that are not square, or fewer than two dimensions.
      TypeError: for elements that are not numbers.
    """
    return _call("eigh", {"x": x}, square=True, max_iter=int(max_iter), eps=None if eps is None else float(eps))


def eigvalsh(x: Any) -> Array:
    """Returns the eigenvalues of Hermitian matrices `[..., n, n]`, real and in ascending order, as `[..., n]`.

    Only the lower triangle is read. Derivatives assume Hermitian changes of `x`. Second derivatives exist if
    all eigenvalues differ.

    Raises:
      ValueError: for matrices that are not square, or fewer than two dimensions.
      TypeError: for elements that are not numbers.
    """
    return _call("eigvalsh", {"x": x}, square=True)


def eig(x: Any) -> tuple[Array, Array]:
    """Returns the eigenvalues `w` and right eigenvectors `v` of matrices: `x @ v = v * w`.

    Each eigenvector has length 1 and is scaled so that its first large entry is positive, as in `eigh`.
    Derivatives exist if all eigenvalues differ.

    Args:
      x: matrices `[..., n, n]`.

    Returns:
      `w`, `[..., n]`, in no particular order, and `v`, `[..., n, n]`; both complex, also for real matrices.

    Raises:
      ValueError: for matrices that are not square, or fewer than two dimensions.
      TypeError: for elements that are not numbers.
    """
    return _call("eig", {"x": x}, square=True)


def eigvals(x: Any) -> Array:
    """Returns the eigenvalues of matrices `[..., n, n]` as complex numbers `[..., n]`, in no particular order.

    Derivatives exist if all eigenvalues differ.

    Raises:
      ValueError: for matrices that are not square, or fewer than two dimensions.
      TypeError: for elements that are not numbers.
    """
    return _call("eigvals", {"x": x}, square=True)


def svd(x: Any, *, full_matrices: bool = True) -> tuple[Array, Array, Array]:
    """Returns the singular value decomposition `x = (u * s) @ vh` of matrices.

    Derivatives exist if all singular values differ and none is zero.

    Args:
      x: matrices `[..., m, n]`.
      full_matrices: whether `u` and `vh` are square. Otherwise, they have `k = min(m, n)` columns and rows.

    Returns:
      `u`, `[..., m, m]` or `[..., m, k]`; `s`, `[..., k]`, real and in descending order; `vh`, `[..., n, n]`
      or `[..., k, n]`.

    Raises:
      ValueError: for fewer than two dimensions.
      TypeError: for elements that are not numbers.
      NotImplementedError: if full matrices of an `x` that is not square are differentiated.
    """
    return _call("svd", {"x": x}, full_matrices=bool(full_matrices))


def svdvals(x: Any) -> Array:
    """Returns the singular values of matrices `[..., m, n]`, in descending order, as `[..., min(m, n)]`.

    Second derivatives exist if all singular values differ and none is zero.

    Raises:
      ValueError: for fewer than two dimensions.
      TypeError: for elements that are not numbers.
    """
    return _call("svdvals", {"x": x})


def solve(a: Any, b: Any) -> Array:
    """Returns the solution of `a @ x = b`, by LU decomposition.

    Args:
      a: matrices `[..., n, n]`.
      b: a vector `[n]`, or matrices `[..., n, k]`. Batch dimensions of `a` and `b` are broadcast.

    Returns:
      `x`, `[..., n]` or `[..., n, k]`; infinities or NaNs for singular matrices.

    Raises:
      ValueError: for matrices that are not square, or shapes that do not match.
      TypeError: for elements that are not numbers.
    """
    return _system("solve", a, b, square=True)


def solve_triangular(
    a: Any, b: Any, *, trans: int | str = 0, lower: bool = False, unit_diagonal: bool = False
) -> Array:
    """Returns the solution of `a @ x = b` for triangular matrices.

    Args:
      a: matrices `[..., n, n]`. Only one triangle is read.
      b: a vector `[n]`, or matrices `[..., n, k]`. Batch dimensions of `a` and `b` are broadcast.
      trans: 0 or `"N"` to solve with `a`, 1 or `"T"` with `aᵀ`, 2 or `"C"` with `aᴴ`.
      lower: whether to read the lower triangle of `a` instead of the upper triangle.
      unit_diagonal: whether the diagonal of `a` is taken to be 1 and not read.

    Returns:
      `x`, `[..., n]` or `[..., n, k]`.

    Raises:
      ValueError: for matrices that are not square, shapes that do not match, or another `trans`.
      TypeError: for elements that are not numbers.
    """
    if trans not in (0, 1, 2, "N", "T", "C"):
        raise ValueError(f'trans must be 0, 1, 2, "N", "T" or "C", but is {trans!r}')
    letter = trans if isinstance(trans, str) else "NTC"[trans]
    options = {"trans": letter, "lower": bool(lower), "unit_diagonal": bool(unit_diagonal)}
    return _system("solve_triangular", a, b, square=True, **options)


def inv(x: Any) -> Array:
    """Returns the inverses of matrices `[..., n, n]`; infinities or NaNs for singular matrices.

    Raises:
      ValueError: for matrices that are not square, or fewer than two dimensions.
      TypeError: for elements that are not numbers.
    """
    return _call("inv", {"x": x}, square=True)


def det(x: Any) -> Array:
    """Returns the determinants of matrices `[..., n, n]` as `[...]`.

    Raises:
      ValueError: for matrices that are not square, or fewer than two dimensions.
      TypeError: for elements that are not numbers.
    """
    return _call("det", {"x": x}, square=True)


def slogdet(x: Any) -> tuple[Array, Array]:
    """Returns the signs of determinants and the logarithms of their absolute values.

    Derivatives exist for matrices that are not singular.

    Args:
      x: matrices `[..., n, n]`.

    Returns:
      `sign`, `[...]`, of absolute value 1, and `logabsdet`, `[...]`, real. The determinant is `sign *
      exp(logabsdet)`. For a determinant of 0, `sign` is 0 and `logabsdet` is negative infinity.

    Raises:
      ValueError: for matrices that are not square, or fewer than two dimensions.
      TypeError: for elements that are not numbers.
    """
    return _call("slogdet", {"x": x}, square=True)


def pinv(x: Any, *, rtol: float | None = None) -> Array:
    """Returns the Moore-Penrose inverses of matrices, by singular value decomposition.

    Derivatives assume changes of `x` that preserve its rank.

    Args:
      x: matrices `[..., m, n]`.
      rtol: singular values up to this fraction of the largest one count as zero; defaults to `max(m, n)`
        times the machine epsilon.

    Returns:
      The inverses, `[..., n, m]`.

    Raises:
      ValueError: for fewer than two dimensions.
      TypeError: for elements that are not numbers.
    """
    return _call("pinv", {"x": x}, rtol=None if rtol is None else float(rtol))


def lstsq(a: Any, b: Any, *, rcond: float | None = None) -> tuple[Array, Array, Array, Array]:
    """Returns the shortest vectors `x` that minimize the length of `b - a @ x`, by singular value
    decomposition.

    Derivatives assume changes of `a` that preserve its rank.

    Args:
      a: matrices `[..., m, n]`.
      b: a vector `[m]`, or matrices `[..., m, k]`. Batch dimensions of `a` and `b` are broadcast.
      rcond: singular values up to this fraction of the largest one count as zero; defaults to `max(m, n)`
        times the machine epsilon.

    Returns:
      `x`, `[..., n]` or `[..., n, k]`; the squared lengths of `b - a @ x`, `[...]` or `[..., k]`, even where
      NumPy returns an empty array; the ranks of `a`, `int32`; the singular values of `a`, `[..., min(m, n)]`.

    Raises:
      ValueError: for shapes that do not match.
      TypeError: for elements that are not numbers.
    """
    return _system("lstsq", a, b, rcond=None if rcond is None else float(rcond))


def _system(function: str, a: Any, b: Any, **options: Any) -> Any:
    """Calls a function that solves `a @ x = b`, where `b` is a vector or a batch of matrices."""
    b = b if hasattr(b, "ndim") else np.asarray(b)
    if b.ndim != 1:
        return _call(function, {"a": a, "b": b}, **options)
    shape = np.shape(a)
    if len(shape) >= 2 and shape[-2] != b.shape[0]:
        rows = f"the matrices of a have {shape[-2]} rows, and b {b.shape[0]}"
        raise ValueError(f"{_shapes(function, shape, b.shape)}: {rows}")
    results = _call(function, {"a": a, "b": b[:, None]}, **options)
    if not isinstance(results, tuple):
        return results[..., 0]
    x, residuals, *rest = results
    return x[..., 0], residuals[..., 0], *rest


def _call(function: str, matrices: dict[str, Any], *, square: bool = False, **options: Any) -> Any:
    """Checks the matrices, and calls the function for NumPy or JAX arrays.

    Args:
      function: the function's name, also for error messages.
      matrices: the operands: `x`, or `a` and `b`.
      square: whether the first operand must have square matrices.
      options: the function's other arguments.
    """
    module: Any = _numpy
    if _is_for_jax(list(matrices.values()), False):
        from farcall.linalg import _jax

        module = _jax
    operands = [module.asarray(value) for value in matrices.values()]
    for name, x in zip(matrices, operands):
        if x.ndim < 2:
            raise ValueError(f"{function}: {name} has the shape {x.shape}: a matrix has two dimensions")
        if not is_number(x.dtype):
            raise TypeError(f"{function}: {name} has elements of {x.dtype}, which are not numbers")
    first, *others = operands
    if square and first.shape[-1] != first.shape[-2]:
        name = next(iter(matrices))
        raise ValueError(f"{function}: {name} has the shape {first.shape}: its matrices are not square")
    for other in others:
        _check_right_side(function, first.shape, other.shape)
    run = getattr(module, function)
    if function in module.TAKES_ALL_TYPES:
        return run(*operands, **options)
    dtype = np.result_type(*(x.dtype if x.dtype in _LAPACK_TYPES else np.float32 for x in operands))
    results = run(*(x.astype(dtype) for x in operands), **options)
    if first.dtype in _LAPACK_TYPES or not is_inexact(first.dtype) or any(x.dtype != first.dtype for x in others):
        return results
    rounded = lambda y: y.astype(first.dtype) if y.dtype == np.float32 else y
    return tuple(map(rounded, results)) if isinstance(results, tuple) else rounded(results)


_LAPACK_TYPES = frozenset(map(np.dtype, ("float32", "float64", "complex64", "complex128")))


def _check_right_side(function: str, a: Sequence[Any], b: Sequence[Any]) -> None:
    """Checks that the matrices of `a` and `b` have equal numbers of rows, and compatible batch dimensions."""
    if a[-2] != b[-2]:
        raise ValueError(f"{_shapes(function, a, b)}: the matrices of a have {a[-2]} rows, and b {b[-2]}")
    for i, j in zip(reversed(a[:-2]), reversed(b[:-2])):
        if i != j and i != 1 and j != 1:
            raise ValueError(f"{_shapes(function, a, b)}: their batch dimensions do not match")


def _shapes(function: str, a: Sequence[Any], b: Sequence[Any]) -> str:
    return f"{function}: a has the shape {tuple(a)} and b the shape {tuple(b)}"
