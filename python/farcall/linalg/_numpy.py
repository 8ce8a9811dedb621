"""The functions of `farcall.linalg` on NumPy arrays, computed by LAPACK handlers in farcall's engine.

A handler's signature determines the shapes, layouts and valid arguments of its calls, so this module only
chooses routines and converts LAPACK's results. `farcall.linalg` has checked the arguments: operands have two
dimensions or more, and one of LAPACK's four element types.
"""

from typing import Any

import numpy as np

from farcall._ops import built_in

#: Functions that convert their operands themselves: none.
TAKES_ALL_TYPES: frozenset[str] = frozenset()

_LETTERS = {"float32": "s", "float64": "d", "complex64": "c", "complex128": "z"}
#: Names of routines for complex matrices that differ from those for real matrices.
_COMPLEX = {"orgqr": "ungqr", "syevd": "heevd"}

#: Minimum magnitude of an entry that determines an eigenvector's sign, as in `farcall.linalg._bodies`.
_DECISIVE = 0.6


def asarray(value: Any) -> np.ndarray:
    array = np.asarray(value)
    return array.astype(array.dtype.newbyteorder("="), copy=False)


def _lapack(routine: str, *operands: np.ndarray, **options: str | int) -> Any:
    """Calls a LAPACK routine, whose name is given without the letter of the element type. Options are letters,
    as in LAPACK, or numbers."""
    dtype = operands[0].dtype
    routine = _COMPLEX.get(routine, routine) if dtype.kind == "c" else routine
    op = built_in(f"lapack_{_LETTERS[dtype.name]}{routine}_ffi")
    attributes = {name: ord(value) if isinstance(value, str) else value for name, value in options.items()}
    return op(*operands, **attributes)


def _if_successful(info: np.ndarray, *results: np.ndarray) -> tuple[np.ndarray, ...]:
    """Returns the results, with NaNs for each matrix that LAPACK could not factorize."""
    if not info.any():
        return results
    failed = [(info != 0).reshape(info.shape + (1,) * (y.ndim - info.ndim)) for y in results]
    return tuple(np.where(mask, y.dtype.type(np.nan), y) for mask, y in zip(failed, results))


def _adjoint(x: np.ndarray) -> np.ndarray:
    return np.conj(np.swapaxes(x, -1, -2))


def cholesky(x: np.ndarray, *, upper: bool) -> np.ndarray:
    factor, info = _lapack("potrf", x, uplo="U" if upper else "L")
    [factor] = _if_successful(info, factor)
    return np.triu(factor) if upper else np.tril(factor)


def _getrf(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns both factors in one matrix, and LAPACK's pivots."""
    factors, pivots, _ = _lapack("getrf", x)
    return factors, pivots


def _order(pivots: np.ndarray, rows: int) -> np.ndarray:
    """Returns the order of the rows of the factored matrix: `x[order] = l @ u`."""
    order = np.broadcast_to(np.arange(rows), (*pivots.shape[:-1], rows)).copy()
    for i in range(pivots.shape[-1]):
        other = pivots[..., i, None].astype(np.intp) - 1
        moved = np.take_along_axis(order, other, -1)
        np.put_along_axis(order, other, order[..., i, None], -1)
        order[..., i] = moved[..., 0]
    return order


def lu(x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    factors, pivots = _getrf(x)
    order = _order(pivots, x.shape[-2])
    m, k = x.shape[-2], min(x.shape[-2:])
    # Column `i` of the permutation is the unit vector of row `order[i]`.
    p = order[..., None, :] == np.arange(m)[:, None]
    lower = np.tril(factors[..., :k], -1) + np.eye(m, k, dtype=x.dtype)
    return p.astype(x.real.dtype), lower, np.triu(factors[..., :k, :])


def qr(x: np.ndarray, *, mode: str, eps: float) -> tuple[np.ndarray, np.ndarray]:
    del eps  # an option of the default body
    m, n = x.shape[-2:]
    k = m if mode == "complete" else min(m, n)
    factors, tau = _lapack("geqrf", x)
    columns = np.zeros((*x.shape[:-1], k), x.dtype)
    columns[..., : min(k, n)] = factors[..., : min(k, n)]
    return _lapack("orgqr", columns, tau), np.triu(factors[..., :k, :])


def eigh(x: np.ndarray, *, max_iter: int, eps: float | None) -> tuple[np.ndarray, np.ndarray]:
    del max_iter, eps  # options of the default body
    v, w, info = _lapack("syevd", x, mode="V", uplo="L")
    w, v = _if_successful(info, w, v)
    return w, _with_signs(v)


def _with_signs(v: np.ndarray) -> np.ndarray:
    """Scales eigenvectors like `farcall.linalg._bodies.with_signs`."""
    if not v.size:
        return v
    sizes = np.abs(v)
    first = np.argmax(sizes >= _DECISIVE * np.max(sizes, -2, keepdims=True), -2, keepdims=True)
    entry = np.take_along_axis(v, first, -2)
    with np.errstate(invalid="ignore"):  # NaNs from failed factorizations
        return v * (np.conj(entry) / np.abs(entry))


def eigvalsh(x: np.ndarray) -> np.ndarray:
    _, w, info = _lapack("syevd", x, mode="N", uplo="L")
    return _if_successful(info, w)[0]


def _geev(x: np.ndarray, vectors: str) -> tuple[np.ndarray, np.ndarray]:
    *w, _, v, info = _lapack("geev", x, compute_left="N", compute_right=vectors)
    w, v = _if_successful(info, w[0] if len(w) == 1 else w[0] + v.dtype.type(1j) * w[1], v)
    return w, v


def eig(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    w, v = _geev(x, "V")
    return w, _with_signs(v)


def eigvals(x: np.ndarray) -> np.ndarray:
    return _geev(x, "N")[0]


def svd(x: np.ndarray, *, full_matrices: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    columns, rows = x.shape[-2:] if full_matrices else (0, 0)
    _, s, u, vh, info = _lapack("gesdd", x, mode="A" if full_matrices else "S", columns=columns, rows=rows)
    u, s, vh = _if_successful(info, u, s, vh)
    return u, s, vh


def svdvals(x: np.ndarray) -> np.ndarray:
    _, s, _, _, info = _lapack("gesdd", x, mode="N")
    return _if_successful(info, s)[0]


def solve(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    factors, pivots = _getrf(a)
    order = _order(pivots, a.shape[-2])
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    b, order = (np.broadcast_to(x, batch + x.shape[-2:]) for x in (b, order[..., None]))
    b = np.take_along_axis(b, order, -2)
    y = solve_triangular(factors, b, trans="N", lower=True, unit_diagonal=True)
    return solve_triangular(factors, y, trans="N", lower=False, unit_diagonal=False)


def solve_triangular(a: np.ndarray, b: np.ndarray, *, trans: str, lower: bool, unit_diagonal: bool) -> np.ndarray:
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    a, b = (np.broadcast_to(x, batch + x.shape[-2:]) for x in (a, b))
    uplo, diag = "L" if lower else "U", "U" if unit_diagonal else "N"
    return _lapack("trsm", a, b, side="L", uplo=uplo, trans_x=trans, diag=diag)


def inv(x: np.ndarray) -> np.ndarray:
    return solve(x, np.eye(x.shape[-1], dtype=x.dtype))


def _diagonal(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns the diagonal of the factor `u`, and the sign of the permutation."""
    factors, pivots = _getrf(x)
    swaps = np.sum(pivots != np.arange(1, x.shape[-1] + 1), -1)
    return np.diagonal(factors, axis1=-2, axis2=-1), np.where(swaps % 2, -1, 1).astype(x.dtype)


def det(x: np.ndarray) -> np.ndarray:
    diagonal, sign = _diagonal(x)
    return np.prod(diagonal, -1) * sign


def slogdet(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    diagonal, sign = _diagonal(x)
    sizes = np.abs(diagonal)
    with np.errstate(divide="ignore"):
        logarithm = np.sum(np.log(sizes), -1)
    units = np.divide(diagonal, sizes, out=np.zeros_like(diagonal), where=sizes != 0)
    return np.prod(units, -1) * sign, logarithm


def _divided(x: np.ndarray, rtol: float | None) -> tuple[Any, ...]:
    """Returns the singular vectors, the reciprocals of the singular values, where small ones are 0, the ranks and
    the singular values."""
    u, s, vh = svd(x, full_matrices=False)
    rtol = max(x.shape[-2:]) * float(np.finfo(s.dtype).eps) if rtol is None else rtol
    # A NaN is not small: it must reach the result.
    small = s <= rtol * np.max(s, -1, keepdims=True, initial=0)
    with np.errstate(over="ignore"):
        inverses = np.where(small, 0, 1 / np.where(small, 1, s))
    return u, inverses, vh, np.sum(~small, -1, dtype=np.int32), s


def pinv(x: np.ndarray, *, rtol: float | None) -> np.ndarray:
    u, inverses, vh, _, _ = _divided(x, rtol)
    return _adjoint(vh) @ (inverses[..., None] * _adjoint(u))


def lstsq(a: np.ndarray, b: np.ndarray, *, rcond: float | None) -> tuple[np.ndarray, ...]:
    u, inverses, vh, rank, s = _divided(a, rcond)
    x = _adjoint(vh) @ (inverses[..., None] * (_adjoint(u) @ b))
    return x, np.sum(np.abs(b - a @ x) ** 2, -2), rank, s
