"""Sparse matrices on NumPy and JAX arrays, computed by farcall's own ops.

>>> import farcall.sparse
>>> a = farcall.sparse.from_dense(x, entries=100)
>>> y = farcall.sparse.csr_matmul(*a, b)

The ops are attributes of this module (`csr_matmul`, `csr_matvec`, …). On NumPy arrays, ops run in farcall's
engine; on JAX arrays, they are operations of JAX.

Derivatives exist for the values of a matrix. The number of entries of a result depends on the operands, but
sizes in a program are fixed, so callers pass `entries`, the maximum number. Unused entries belong to no row.
"""

import functools
from typing import Any, NamedTuple

from farcall._ops import Op, built_in

__all__ = ["Csr", "add", "from_dense", "matmul", "to_dense", "transpose"]

#: The ops, without those that compute derivatives.
_OPS = (
    "bsr_matmul",
    "bsr_matvec",
    "bsr_to_csr_pattern",
    "coo_matvec",
    "coo_to_csr_pattern",
    "csc_matmul",
    "csc_matvec",
    "csr_add",
    "csr_add_pattern",
    "csr_csr_matmul",
    "csr_csr_matmul_pattern",
    "csr_diagonal",
    "csr_from_dense",
    "csr_matmul",
    "csr_matvec",
    "csr_row_sums",
    "csr_sddmm",
    "csr_to_coo_pattern",
    "csr_to_csc_pattern",
    "csr_to_dense",
    "csr_triangular_solve",
    "dense_bsr_matmul",
    "dense_coo_matmul",
    "dense_csc_matmul",
    "dense_csr_matmul",
    "dense_to_csr_pattern",
    "sparse_matmul",
    "sparse_permute",
    "sparse_unpermute",
)


class Csr(NamedTuple):
    """A matrix in CSR format. JAX treats it as a pytree of three arrays."""

    values: Any
    """Values of the entries, row by row: `[..., entries]`."""
    columns: Any
    """Column of each entry."""
    starts: Any
    """Index of each row's first entry, followed by the end of the last row."""


def __getattr__(name: str) -> Any:
    """Returns an op, or `disabled_checks`: the value of the argument of `jax.export.export` of this name that
    allows calls of the ops. Reading `disabled_checks` also lets JAX write and read exported functions whose arguments
    or results are of the type `Csr`.

    Raises:
      AttributeError: for any other name.
    """
    if name == "disabled_checks":
        from jax.export import DisabledSafetyCheck

        _register_csr()
        return [DisabledSafetyCheck.custom_call(op.__name__) for op in _with_derivatives()]
    if name not in _OPS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return built_in(name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_OPS, "disabled_checks"})


@functools.cache
def _register_csr() -> None:
    from jax.export import register_namedtuple_serialization

    register_namedtuple_serialization(Csr, serialized_name="farcall.sparse.Csr")


def _with_derivatives() -> list[Op]:
    """Returns the ops and their derivative ops of every order."""
    names = list(_OPS)
    for name in names:
        names += [of for of in built_in(name).derivatives if of not in names]
    return [built_in(name) for name in names]


def from_dense(x: Any, *, entries: int) -> Csr:
    """Returns a dense matrix `[m, k]` in CSR: its nonzero elements.

    Raises:
      RuntimeError: if there are more nonzero elements than `entries`.
    """
    columns, starts = built_in("dense_to_csr_pattern")(x, entries=entries)
    return Csr(built_in("csr_from_dense")(x, columns, starts, k=x.shape[-1]), columns, starts)


def to_dense(a: Csr, *, k: int) -> Any:
    """Returns a CSR matrix of `k` columns as a dense matrix `[..., m, k]`. Repeated entries add up."""
    return built_in("csr_to_dense")(*a, k=k)


def transpose(a: Csr, *, k: int) -> Csr:
    """Returns the transpose of a matrix of `k` columns."""
    order, rows, starts = built_in("csr_to_csc_pattern")(a.columns, a.starts, k=k)
    return Csr(built_in("sparse_permute")(a.values, order), rows, starts)


def add(a: Csr, b: Csr, *, k: int, entries: int) -> Csr:
    """Returns the sum of two matrices of `k` columns.

    Raises:
      RuntimeError: if the sum has more than `entries` entries.
    """
    columns, starts = built_in("csr_add_pattern")(*a[1:], *b[1:], k=k, entries=entries)
    return Csr(built_in("csr_add")(*a, *b, columns, starts, k=k), columns, starts)


def matmul(a: Csr, b: Csr, *, k: int, entries: int) -> Csr:
    """Returns the product of two matrices, where `b` has `k` columns. For the product with a dense matrix `x`, call
    `csr_matmul(*a, x)`.

    Raises:
      RuntimeError: if the product has more than `entries` entries.
    """
    columns, starts = built_in("csr_csr_matmul_pattern")(*a[1:], *b[1:], k=k, entries=entries)
    return Csr(built_in("csr_csr_matmul")(*a, *b, columns, starts, k=k), columns, starts)
