"""Default bodies of `farcall.linalg.qr` and `farcall.linalg.eigh`: decompositions made of ordinary operations.

They match the bodies in the crate `farcall-linalg` (`blocks::Qr`, `blocks::Eigh`), which provides the same
decompositions for programs made without JAX.
"""

import functools
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

#: Minimum magnitude of an entry that determines an eigenvector's sign, relative to the vector's largest
#: entry.
_DECISIVE = 0.6


def result_dtype(dtype: Any) -> Any:
    return jnp.dtype(jnp.float32) if jnp.issubdtype(dtype, jnp.integer) else dtype


def computed_in(dtype: Any) -> Any:
    """Returns the element type in which a default body computes."""
    return jnp.promote_types(result_dtype(dtype), jnp.float32)


def qr_body(x: jax.Array, *, mode: str, eps: float) -> tuple[jax.Array, jax.Array]:
    """Householder reflections as in LAPACK, first forward for `r`, then backward for `q`."""
    *batch, m, n = x.shape
    dtype = computed_in(x.dtype)
    reflections = min(m, n)
    k = m if mode == "complete" else reflections
    r = x.reshape(-1 if x.size else _count(batch), m, n).astype(dtype)
    count = r.shape[0]
    q = jnp.broadcast_to(jnp.eye(m, k, dtype=dtype), (count, m, k))
    if count and reflections:

        def forward(j: Any, state: Any) -> Any:
            r, v, tau = state
            v_j, tau_j = _reflector(lax.dynamic_index_in_dim(r, j, 2, keepdims=False), j, eps)
            r = _reflect(r, v_j, jnp.conj(tau_j))
            return r, lax.dynamic_update_index_in_dim(v, v_j, j, 2), lax.dynamic_update_index_in_dim(tau, tau_j, j, 1)

        def backward(i: Any, q: Any) -> Any:
            j = reflections - 1 - i
            v_j = lax.dynamic_index_in_dim(v, j, 2, keepdims=False)
            return _reflect(q, v_j, lax.dynamic_slice_in_dim(tau, j, 1, 1))

        v, tau = jnp.zeros((count, m, reflections), dtype), jnp.zeros((count, reflections), dtype)
        r, v, tau = lax.fori_loop(0, reflections, forward, (r, v, tau))
        q = lax.fori_loop(0, reflections, backward, q)
    result = result_dtype(x.dtype)
    r = jnp.triu(r[:, :k])
    return q.reshape(*batch, m, k).astype(result), r.reshape(*batch, k, n).astype(result)


def _count(batch: list[int]) -> int:
    return functools.reduce(lambda product, size: product * size, batch, 1)


def _reflector(column: jax.Array, j: Any, eps: float) -> tuple[jax.Array, jax.Array]:
    """Returns the vector `v` (`[b, m]`) and the factor `τ` (`[b, 1]`) of the reflection for column `j`, like
    LAPACK's `larfg`."""
    rows = lax.broadcasted_iota(jnp.int32, column.shape, 1)
    tail = jnp.where(rows > j, column, 0)
    alpha = lax.dynamic_slice_in_dim(column, j, 1, 1)
    tail_norm = _norm(tail)
    length = _norm(jnp.concatenate([tail_norm, jnp.abs(alpha)], 1))
    beta = jnp.where(jnp.real(alpha) < 0, length, -length)
    done = tail_norm <= eps
    if jnp.iscomplexobj(alpha):
        done = done & (jnp.abs(jnp.imag(alpha)) <= eps)
    v = tail / jnp.where(done, 1, alpha - beta)
    tau = jnp.where(done, 0, (beta - alpha) / jnp.where(done, 1, beta))
    return jnp.where(rows == j, 1, v), tau.astype(column.dtype)


def _norm(x: jax.Array) -> jax.Array:
    """Returns the length of vectors `[b, n]` as `[b, 1]`, without overflow."""
    size = jnp.abs(x)
    largest = jnp.max(size, 1, keepdims=True, initial=0)
    scale = jnp.where(largest == 0, 1, largest)
    return jnp.sqrt(jnp.sum((size / scale) ** 2, 1, keepdims=True)) * scale


def _reflect(x: jax.Array, v: jax.Array, tau: jax.Array) -> jax.Array:
    """Computes `x − τ·v·(vᴴ·x)`."""
    along = jnp.einsum("bm,bmn->bn", jnp.conj(v), x, precision=lax.Precision.HIGHEST)
    return x - (tau * v)[:, :, None] * along[:, None, :]


def eigh_body(x: jax.Array, *, max_iter: int, eps: float) -> tuple[jax.Array, jax.Array]:
    """Jacobi's method: each round performs half as many rotations as there are columns, in the order of Brent
    and Luk.

    Columns `i` and `h + i` of `2·h` form a pair. After each round of rotations all columns except the first
    move on by one position. In a sweep of `2·h − 1` rounds, each column is paired with every other column and
    returns to its position.
    """
    *batch, n, _ = x.shape
    dtype, result = computed_in(x.dtype), result_dtype(x.dtype)
    real = jnp.finfo(result).dtype
    if x.size == 0:
        return jnp.zeros((*batch, n), real), jnp.zeros(x.shape, result)
    a = x.reshape(-1, n, n).astype(dtype)
    lower = jnp.tril(a, -1)
    diagonal = jnp.real(jnp.diagonal(a, axis1=1, axis2=2))
    a = jnp.where(jnp.eye(n, dtype=bool), diagonal[:, None, :].astype(dtype), lower + jnp.conj(lower.mT))
    largest = jnp.max(jnp.abs(a), (1, 2), keepdims=True)
    scale = jnp.where(largest == 0, 1, largest)
    # A zero row and column make the number of columns even; rotations do not change them.
    a = jnp.pad(a / scale, [(0, 0), (0, n % 2), (0, n % 2)])
    size = n + n % 2
    off = ~jnp.eye(size, dtype=bool)

    def is_coarse(state: Any) -> Any:
        sweep, a, _ = state
        squares = jnp.abs(a) ** 2
        coarse = jnp.sum(jnp.where(off, squares, 0), (1, 2)) > eps**2 * jnp.sum(squares, (1, 2))
        return (sweep < max_iter) & jnp.any(coarse)

    def swept(state: Any) -> Any:
        sweep, a, v = state
        return sweep + 1, *lax.fori_loop(0, size - 1, lambda _, state: _round(*state), (a, v))

    v = jnp.broadcast_to(jnp.eye(size, dtype=dtype), a.shape)
    _, a, v = lax.while_loop(is_coarse, swept, (jnp.int32(0), a, v))
    w = jnp.real(jnp.diagonal(a, axis1=1, axis2=2))[:, :n] * scale[:, :, 0]
    keys, v = lax.sort((jnp.broadcast_to(w[:, None, :], (len(w), n, n)), v[:, :n, :n]), dimension=2, num_keys=1)
    # Rotations end at once for matrices with NaNs.
    v = jnp.where(jnp.isfinite(largest), with_signs(v), jnp.nan)
    return keys[:, 0].reshape(*batch, n).astype(real), v.reshape(x.shape).astype(result)


def _round(a: jax.Array, v: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Rotates all pairs of columns and of rows, so that the entries where they intersect vanish, then moves
    the columns on."""
    size = a.shape[1]
    h = size // 2
    pairs = jnp.diagonal(a, h, 1, 2)
    diagonal = jnp.real(jnp.diagonal(a, axis1=1, axis2=2))
    cosine, sine, change = _rotation(pairs, diagonal[:, :h], diagonal[:, h:])
    a = _combine(a, 2, cosine, jnp.conj(sine), sine)
    a = _combine(a, 1, cosine, sine, jnp.conj(sine))
    v = _combine(v, 2, cosine, jnp.conj(sine), sine)
    # These are the exact values that the rotations are constructed to produce.
    diagonal = diagonal + jnp.concatenate([-change, change], 1)
    rows, columns = (lax.broadcasted_iota(jnp.int32, (size, size), i) for i in range(2))
    a = jnp.where(rows == columns, diagonal[:, None, :].astype(a.dtype), a)
    a = jnp.where(abs(rows - columns) == h, 0, a)
    return _moved(_moved(a, 2), 1), _moved(v, 2)


def _rotation(pairs: jax.Array, first: jax.Array, second: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Returns the cosine and sine of the rotations for entries `pairs`, where columns with diagonal entries
    `first` and `second` intersect, and the amount that moves from the first eigenvalue to the second."""
    size = jnp.abs(pairs)
    divisor = jnp.where(size == 0, 1, size)
    # The tangent of the angle is the smaller solution `t` of t² + 2·τ·t = 1.
    tau = (second - first) / (2 * divisor)
    t = 1 / (jnp.abs(tau) + jnp.sqrt(tau * tau + 1))
    t = jnp.where(size == 0, 0, jnp.where(tau < 0, -t, t))
    cosine = 1 / jnp.sqrt(t * t + 1)
    return cosine.astype(pairs.dtype), (t * cosine) * (pairs / divisor), t * size


def _combine(x: jax.Array, dim: int, cosine: jax.Array, left: jax.Array, right: jax.Array) -> jax.Array:
    """Computes `cosine·p − left·q` and `right·p + cosine·q` for each pair `p`, `q` along a dimension."""
    p, q = jnp.split(x, 2, dim)
    cosine, left, right = (jnp.expand_dims(factor, 3 - dim) for factor in (cosine, left, right))
    return jnp.concatenate([cosine * p - left * q, right * p + cosine * q], dim)


def _moved(x: jax.Array, dim: int) -> jax.Array:
    """Moves the entries at all positions except the first by one position: to the right in the first half, to
    the left in the second half, and from the end of each half into the other half."""
    size = x.shape[dim]
    h = size // 2
    if h == 1:
        return x
    ranges = [(0, 1), (h, h + 1), (1, h - 1), (h + 1, size), (h - 1, h)]
    return jnp.concatenate([lax.slice_in_dim(x, start, limit, axis=dim) for start, limit in ranges], dim)


def with_signs(v: jax.Array) -> jax.Array:
    """Scales the eigenvectors, which are the columns of `v`, so that the first large entry of each is
    positive."""
    entry = jnp.sum(jnp.where(is_decisive(v), v, 0), v.ndim - 2, keepdims=True)
    return v * (jnp.conj(entry) / jnp.abs(entry))


def is_decisive(v: jax.Array) -> jax.Array:
    """Returns true for the first large entry of each column of `v`, which determines the column's sign."""
    dim = v.ndim - 2
    sizes = jnp.abs(v)
    rows = lax.broadcasted_iota(jnp.int32, v.shape, dim)
    decides = sizes >= _DECISIVE * jnp.max(sizes, dim, keepdims=True)
    return rows == jnp.min(jnp.where(decides, rows, v.shape[dim]), dim, keepdims=True)
