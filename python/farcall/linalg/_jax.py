"""The functions of `farcall.linalg` on JAX arrays.

Most functions call JAX's own, with JAX's derivatives; on a CPU, these call LAPACK routines by name, for which
XLA and farcall's engine have handlers. This module adds derivatives of eigenvectors and least squares, and the
blocks `qr` and `eigh`. `farcall.linalg` has checked the arguments: operands have two dimensions or more, and one
of LAPACK's four element types, except in functions of `TAKES_ALL_TYPES`.
"""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from farcall.linalg import _bodies

#: Functions that convert their operands themselves.
TAKES_ALL_TYPES = frozenset({"qr", "eigh", "eigvalsh"})


def asarray(value: Any) -> jax.Array:
    if isinstance(value, np.ndarray):
        # JAX refuses bytes in another order than the machine's.
        value = value.astype(value.dtype.newbyteorder("="), copy=False)
    return jnp.asarray(value)


_exact = functools.partial(jnp.matmul, precision=lax.Precision.HIGHEST)


def _adjoint(x: jax.Array) -> jax.Array:
    return jnp.conj(jnp.swapaxes(x, -1, -2))


def cholesky(x: jax.Array, *, upper: bool) -> jax.Array:
    if upper:
        return _adjoint(cholesky(_adjoint(x), upper=False))
    return lax.linalg.cholesky(_hermitian(x), symmetrize_input=False)


@jax.custom_jvp
def _hermitian(x: jax.Array) -> jax.Array:
    """Returns `x`, of which the caller reads only the lower triangle. Tangents become Hermitian."""
    return x


@_hermitian.defjvp
def _hermitian_jvp(primals: Any, tangents: Any) -> Any:
    [x], [dx] = primals, tangents
    return _hermitian(x), (dx + _adjoint(dx)) / 2


def lu(x: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
    factors, _, order = lax.linalg.lu(x)
    m, k = x.shape[-2], min(x.shape[-2:])
    # Column `i` of the permutation is the unit vector of row `order[i]`.
    p = order[..., None, :] == jnp.arange(m, dtype=order.dtype)[:, None]
    lower = jnp.tril(factors[..., :k], -1) + jnp.eye(m, k, dtype=x.dtype)
    return p.astype(jnp.finfo(x.dtype).dtype), lower, jnp.triu(factors[..., :k, :])


def qr(x: jax.Array, *, mode: str, eps: float) -> tuple[jax.Array, jax.Array]:
    return _qr(mode, eps, x)


def eigh(x: jax.Array, *, max_iter: int, eps: float | None) -> tuple[jax.Array, jax.Array]:
    return _eigh(max_iter, float(jnp.finfo(_bodies.computed_in(x.dtype)).eps) if eps is None else eps, x)


def eigvalsh(x: jax.Array) -> jax.Array:
    return eigh(x, max_iter=100, eps=None)[0]


@jax.custom_jvp
def eig(x: jax.Array) -> tuple[jax.Array, jax.Array]:
    w, v = jnp.linalg.eig(x)
    return w, _bodies.with_signs(v) if v.size else v


@eig.defjvp
def _eig_jvp(primals: Any, tangents: Any) -> Any:
    """Differentiates the eigendecomposition. With `d = v⁻¹·dx·v`, `dw` is the diagonal of `d`, and `dv = v·(d
    / (w[j] − w[i]) − c)`, where the diagonal matrix `c` keeps the vectors' lengths and their first large
    entries real."""
    w, v = eig(*primals)
    d = _turned(v, tangents[0])
    eye = jnp.eye(w.shape[-1], dtype=bool)
    dv = _exact(v, jnp.where(eye, 0, d / jnp.where(eye, 1, w[..., None, :] - w[..., :, None])))
    if v.size:
        entry, change = _decisive(v, dv)
        stretch = jnp.real(jnp.sum(jnp.conj(v) * dv, -2, keepdims=True))
        dv = dv - v * lax.complex(stretch, jnp.imag(change) / jnp.real(entry))
    return (w, v), (jnp.diagonal(d, axis1=-2, axis2=-1), dv)


def _decisive(v: jax.Array, dv: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Returns the first large entry of each eigenvector, which is positive, and its change."""
    entry, change = (jnp.sum(jnp.where(_bodies.is_decisive(v), y, 0), -2, keepdims=True) for y in (v, dv))
    return entry, change


@jax.custom_jvp
def eigvals(x: jax.Array) -> jax.Array:
    return jnp.linalg.eigvals(x)


@eigvals.defjvp
def _eigvals_jvp(primals: Any, tangents: Any) -> Any:
    w, v = eig(*primals)
    return w, jnp.diagonal(_turned(v, tangents[0]), axis1=-2, axis2=-1)


def _turned(v: jax.Array, dx: jax.Array) -> jax.Array:
    """Returns `v⁻¹·dx·v`."""
    return jnp.linalg.solve(v, _exact(dx.astype(v.dtype), v))


def svd(x: jax.Array, *, full_matrices: bool) -> tuple[jax.Array, jax.Array, jax.Array]:
    u, s, vh = jnp.linalg.svd(x, full_matrices=full_matrices)
    return u, s, vh


def svdvals(x: jax.Array) -> jax.Array:
    return jnp.linalg.svd(x, compute_uv=False)


def solve(a: jax.Array, b: jax.Array) -> jax.Array:
    return jnp.linalg.solve(a, b)


def solve_triangular(a: jax.Array, b: jax.Array, *, trans: str, lower: bool, unit_diagonal: bool) -> jax.Array:
    batch = jnp.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    a, b = (jnp.broadcast_to(x, batch + x.shape[-2:]) for x in (a, b))
    return lax.linalg.triangular_solve(
        a,
        b,
        left_side=True,
        lower=lower,
        transpose_a=trans != "N",
        conjugate_a=trans == "C",
        unit_diagonal=unit_diagonal,
    )


def inv(x: jax.Array) -> jax.Array:
    return jnp.linalg.inv(x)


def det(x: jax.Array) -> jax.Array:
    return jnp.linalg.det(x)


def slogdet(x: jax.Array) -> tuple[jax.Array, jax.Array]:
    sign, logarithm = jnp.linalg.slogdet(x)
    return sign, logarithm


def _relative(tolerance: float | None, x: jax.Array) -> float:
    return max(x.shape[-2:]) * float(jnp.finfo(x.dtype).eps) if tolerance is None else tolerance


def pinv(x: jax.Array, *, rtol: float | None) -> jax.Array:
    return jnp.linalg.pinv(x, rtol=_relative(rtol, x))


def lstsq(a: jax.Array, b: jax.Array, *, rcond: float | None) -> tuple[jax.Array, ...]:
    rcond = _relative(rcond, a)
    x, s = _lstsq(rcond, a, b)
    # As in NumPy's case, a NaN is not small.
    rank = jnp.sum(~(s <= rcond * jnp.max(s, -1, keepdims=True, initial=0)), -1, dtype=jnp.int32)
    return x, jnp.sum(jnp.abs(b - _exact(a, x)) ** 2, -2), rank, s


@functools.partial(jax.custom_jvp, nondiff_argnums=(0,))
def _lstsq(rcond: float, a: jax.Array, b: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Returns the solutions and the singular values."""
    u, s, vh = jnp.linalg.svd(a, full_matrices=False)
    small = s <= rcond * jnp.max(s, -1, keepdims=True, initial=0)
    scale = jnp.where(small, 0, 1 / jnp.where(small, 1, s))
    return _exact(_adjoint(vh), scale[..., None] * _exact(_adjoint(u), b)), s


@_lstsq.defjvp
def _lstsq_jvp(rcond: float, primals: Any, tangents: Any) -> Any:
    """Differentiates least squares of constant rank (Golub and Pereyra, *The differentiation of pseudo-inverses
    and nonlinear least squares problems whose variables separate*, 1973)."""
    (a, b), (da, db) = primals, tangents
    x, _ = _lstsq(rcond, a, b)
    s, ds = jax.jvp(svdvals, [a], [da])
    inverse = pinv(a, rtol=rcond)
    turn = _exact(_adjoint(da), _exact(_adjoint(inverse), x))
    dx = _exact(inverse, db - _exact(da, x)) + turn - _exact(inverse, _exact(a, turn))
    dx = dx + _exact(inverse, _exact(_adjoint(inverse), _exact(_adjoint(da), b - _exact(a, x))))
    return (x, s), (dx, ds)


def _block(body: Any, tag: str, x: jax.Array, **options: Any) -> Any:
    """Calls the composite with this tag. `vmap` adds a batch dimension to the operand."""

    @jax.custom_batching.custom_vmap
    def call(x: jax.Array) -> Any:
        return lax.composite(body, tag)(x, **options)

    @call.def_vmap
    def batched(axis_size: int, in_batched: list[bool], x: jax.Array) -> Any:
        return call(x), (True, True)

    return call(x)


@functools.partial(jax.custom_jvp, nondiff_argnums=(0, 1))
def _qr(mode: str, eps: float, x: jax.Array) -> tuple[jax.Array, jax.Array]:
    return _block(_bodies.qr_body, "farcall.qr", x, mode=mode, eps=eps)


@_qr.defjvp
def _qr_jvp(mode: str, eps: float, primals: Any, tangents: Any) -> Any:
    """Differentiates the QR decomposition. With `r = [u, v]` and `u` square: `dx·u⁻¹ = dq + q·(dr·u⁻¹)` for
    the leading columns, where `qᴴ·dq` is anti-Hermitian and `dr·u⁻¹` is upper triangular with a real
    diagonal."""
    q, r = _qr(mode, eps, *primals)
    k = q.shape[-1]
    if k > r.shape[-1]:
        raise NotImplementedError(
            f"qr: q has {k} columns and x has {r.shape[-1]}: the columns that complete q are not unique, and have no "
            'derivative; use mode="reduced"'
        )
    dtype = _bodies.computed_in(q.dtype)
    wide_q, wide_r, dx = (value.astype(dtype) for value in (q, r, tangents[0]))
    u, v = wide_r[..., :k], wide_r[..., k:]
    along = _divided(dx[..., :k], u)
    adjoint = _adjoint(wide_q)
    inside = _exact(adjoint, along)
    lower = jnp.tril(inside, -1)
    turn = lower - _adjoint(lower)
    if jnp.issubdtype(dtype, jnp.complexfloating):
        turn = turn + jnp.eye(k, dtype=dtype) * (inside - jnp.real(inside))
    dq = _exact(wide_q, turn - inside) + along
    du = jnp.triu(_exact(inside - turn, u))
    dv = _exact(adjoint, dx[..., k:]) - _exact(turn, v)
    dr = jnp.concatenate([du, dv], -1)
    return (q, r), (dq.astype(q.dtype), dr.astype(r.dtype))


def _divided(x: jax.Array, u: jax.Array) -> jax.Array:
    """Computes `x·u⁻¹` for upper triangular `u`, without LAPACK, since some compilers have no LAPACK."""

    def column(j: Any, divided: Any) -> Any:
        u_j = lax.dynamic_index_in_dim(u, j, -1, keepdims=False)
        before = jnp.einsum("...mk,...k->...m", divided, u_j, precision=lax.Precision.HIGHEST)
        rest = lax.dynamic_index_in_dim(x, j, -1, keepdims=False) - before
        return lax.dynamic_update_index_in_dim(divided, rest / lax.dynamic_slice_in_dim(u_j, j, 1, -1), j, -1)

    return lax.fori_loop(0, u.shape[-1], column, jnp.zeros_like(x)) if u.shape[-1] else x


@functools.partial(jax.custom_jvp, nondiff_argnums=(0, 1))
def _eigh(max_iter: int, eps: float, x: jax.Array) -> tuple[jax.Array, jax.Array]:
    return _block(_bodies.eigh_body, "farcall.eigh", x, max_iter=max_iter, eps=eps)


@_eigh.defjvp
def _eigh_jvp(max_iter: int, eps: float, primals: Any, tangents: Any) -> Any:
    """Differentiates the eigendecomposition. With `d = vᴴ·dx·v`, `dw` is the diagonal of `d`, and `dv = v·(d
    / (w[j] − w[i]) − c)` off the diagonal, where the diagonal matrix `c` keeps the first large entries of
    complex vectors real."""
    w, v = _eigh(max_iter, eps, *primals)
    dtype = _bodies.computed_in(v.dtype)
    wide_w, wide_v, dx = w.astype(jnp.finfo(dtype).dtype), v.astype(dtype), tangents[0].astype(dtype)
    inner = _exact(_adjoint(wide_v), _exact((dx + _adjoint(dx)) / 2, wide_v))
    eye = jnp.eye(w.shape[-1], dtype=bool)
    gaps = jnp.where(eye, 1, wide_w[..., None, :] - wide_w[..., :, None])
    dv = _exact(wide_v, jnp.where(eye, 0, inner / gaps))
    if jnp.iscomplexobj(wide_v) and v.size:
        entry, change = _decisive(wide_v, dv)
        dv = dv - wide_v * lax.complex(jnp.zeros_like(jnp.real(entry)), jnp.imag(change) / jnp.real(entry))
    dw = jnp.real(jnp.diagonal(inner, axis1=-2, axis2=-1))
    return (w, v), (dw.astype(w.dtype), dv.astype(v.dtype))
