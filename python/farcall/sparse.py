"""Sparse matrices on NumPy and JAX arrays, computed by the ops of the library `farcall-sparse`.

>>> import farcall.sparse
>>> farcall.sparse.load("target/release/libfarcall_sparse.so")
>>> a = farcall.sparse.from_dense(x, entries=100)
>>> y = farcall.sparse.csr_matmul(*a, b)

The package does not contain the library. Call `load` once in a process: then the library's ops are attributes
of this module (`csr_matmul`, `csr_matvec`, …), and the functions below can be called. On NumPy arrays, ops run
in farcall's engine; on JAX arrays, they are operations of JAX.

Derivatives exist for the values of a matrix. The number of entries of a result depends on the operands, but
sizes in a program are fixed, so callers pass `entries`, the maximum number. Unused entries belong to no row.
"""

import os
from typing import Any, NamedTuple

from farcall._ops import Library
from farcall._ops import load as _load

__all__ = ["Csr", "add", "from_dense", "load", "matmul", "to_dense", "transpose"]

_library: Library | None = None


class Csr(NamedTuple):
    """A matrix in CSR format. JAX treats it as a pytree of three arrays."""

    values: Any
    """Values of the entries, row by row: `[..., entries]`."""
    columns: Any
    """Column of each entry."""
    starts: Any
    """Index of each row's first entry, followed by the end of the last row."""


def load(path: str | os.PathLike[str], *, namespace: str | None = None) -> Library:
    """Loads the library, and returns its ops.

    Args:
      path: the library's file, `libfarcall_sparse.so`.
      namespace: a prefix of the targets' names, as for `farcall.load`, if another library has the same names.

    Raises:
      OSError: if the file cannot be opened.
      ValueError: if the file is another library.
    """
    global _library
    library = _load(path, namespace=namespace)
    if "csr_matmul" not in dir(library):
        raise ValueError(f"{os.fspath(path)} is not the library farcall-sparse: it declares no op csr_matmul")
    _library = library
    return library


def __getattr__(name: str) -> Any:
    """Returns an op of the library.

    Raises:
      AttributeError: if the library is not loaded, or has no such op.
    """
    if name.startswith("_"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if _library is None:
        raise AttributeError(f"{name} is an op of the library farcall-sparse: call farcall.sparse.load(PATH) first")
    return getattr(_library, name)


_op = __getattr__


def __dir__() -> list[str]:
    return sorted({*globals(), *(() if _library is None else dir(_library))})


def from_dense(x: Any, *, entries: int) -> Csr:
    """Returns a dense matrix `[m, k]` in CSR: its nonzero elements.

    Raises:
      RuntimeError: if there are more nonzero elements than `entries`.
    """
    columns, starts = _op("dense_to_csr_pattern")(x, entries=entries)
    return Csr(_op("csr_from_dense")(x, columns, starts, k=x.shape[-1]), columns, starts)


def to_dense(a: Csr, *, k: int) -> Any:
    """Returns a CSR matrix of `k` columns as a dense matrix `[..., m, k]`. Repeated entries add up."""
    return _op("csr_to_dense")(*a, k=k)


def transpose(a: Csr, *, k: int) -> Csr:
    """Returns the transpose of a matrix of `k` columns."""
    order, rows, starts = _op("csr_to_csc_pattern")(a.columns, a.starts, k=k)
    return Csr(_op("sparse_permute")(a.values, order), rows, starts)


def add(a: Csr, b: Csr, *, k: int, entries: int) -> Csr:
    """Returns the sum of two matrices of `k` columns.

    Raises:
      RuntimeError: if the sum has more than `entries` entries.
    """
    columns, starts = _op("csr_add_pattern")(*a[1:], *b[1:], k=k, entries=entries)
    return Csr(_op("csr_add")(*a, *b, columns, starts, k=k), columns, starts)


def matmul(a: Csr, b: Csr, *, k: int, entries: int) -> Csr:
    """Returns the product of two matrices, where `b` has `k` columns. For the product with a dense matrix `x`, call
    `csr_matmul(*a, x)`.

    Raises:
      RuntimeError: if the product has more than `entries` entries.
    """
    columns, starts = _op("csr_csr_matmul_pattern")(*a[1:], *b[1:], k=k, entries=entries)
    return Csr(_op("csr_csr_matmul")(*a, *b, columns, starts, k=k), columns, starts)
