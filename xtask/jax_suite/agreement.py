"""Criteria for the agreement of two results. Integers and booleans must be equal. Floats must be within the
default tolerance of JAX's own test utilities. If a more precise evaluation is available, an error of at most
twice XLA's error is also accepted.

NaNs agree regardless of their bits, and a complex number with a NaN part is a NaN.
"""

from dataclasses import dataclass

import numpy as np
from jax._src.public_test_util import default_tolerance


@dataclass
class Difference:
    """Reason why an output does not agree."""

    kind: str
    """`type`, `integers`, `nan` or `floats`."""
    output: int
    detail: str


def is_float(dtype: np.dtype) -> bool:
    """Returns true for types whose numbers are rounded: real and complex floats."""
    return dtype.kind in "fc" or (dtype.kind == "V" and "float" in dtype.name)


def wide(array: np.ndarray) -> np.ndarray:
    """Converts numbers to `float64` or `complex128`."""
    return array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)


def differing(got: np.ndarray, want: np.ndarray, tolerance: float) -> np.ndarray:
    """Returns a mask of the positions at which two arrays made by `wide` are not close."""
    with np.errstate(all="ignore"):
        close = np.abs(got - want) <= tolerance + tolerance * np.abs(want)
    finite = np.isfinite(got) & np.isfinite(want)
    same = (got == want) | (np.isnan(got) & np.isnan(want))
    return ~np.where(finite, close, same)


def first_difference(got: list[np.ndarray], want: list[np.ndarray]) -> Difference | None:
    """Describes the first output that does not agree; `None` if all agree."""
    if len(got) != len(want):
        return Difference("type", 0, f"{len(got)} outputs instead of {len(want)}")
    for i, (g, w) in enumerate(zip(got, want)):
        if g.dtype != w.dtype or g.shape != w.shape:
            return Difference("type", i, f"{g.dtype}{list(g.shape)} instead of {w.dtype}{list(w.shape)}")
        if difference := _difference(i, g, w):
            return difference
    return None


def _difference(i: int, got: np.ndarray, want: np.ndarray) -> Difference | None:
    if not is_float(got.dtype):
        unequal = np.asarray(got != want)
        return _describe("integers", i, got, want, unequal) if unequal.any() else None
    g, w = wide(got), wide(want)
    unequal = differing(g, w, default_tolerance()[got.dtype])
    if not unequal.any():
        return None
    kind = "nan" if (np.isnan(g) != np.isnan(w)).any() else "floats"
    return _describe(kind, i, got, want, unequal)


def _describe(kind: str, i: int, got: np.ndarray, want: np.ndarray, unequal: np.ndarray) -> Difference:
    at = tuple(int(x) for x in np.argwhere(unequal)[0])
    counted = f"{got.dtype.name}{list(got.shape)}: {int(unequal.sum())} of {got.size}"
    return Difference(kind, i, f"{counted}, first at {list(at)}: {got[at]} instead of {want[at]}")


def as_close_as_xla(got: list[np.ndarray], want: list[np.ndarray], truth: list[np.ndarray]) -> bool:
    """Returns true if every element that differs from XLA's element has an error of at most twice XLA's error
    in that output.

    XLA's error in an output is the largest finite error of XLA's elements.
    """
    return all(_as_close(*arrays) for arrays in zip(got, want, truth, strict=True))


def _as_close(got: np.ndarray, want: np.ndarray, truth: np.ndarray) -> bool:
    if not is_float(got.dtype):
        return np.array_equal(got, want)
    tolerance = default_tolerance()[got.dtype]
    g, w = wide(got), wide(want)
    unequal = differing(g, w, tolerance)
    if not unequal.any():
        return True
    # If the exact result overflows or rounds to zero in the output's type, infinity or zero is correct.
    with np.errstate(all="ignore"):
        rounded = wide(truth.astype(got.dtype))
    exact = np.where(np.isfinite(rounded), wide(truth), rounded)
    ours, theirs = _error(g, exact), _error(w, exact)
    finite = theirs[np.isfinite(theirs)]
    limit = 2 * finite.max(initial=0.0)
    # Where XLA's result is not finite but the truth is, only the truth is accepted.
    fine = ~differing(g, exact, tolerance) | (ours <= limit) & np.isfinite(theirs)
    return bool(fine[unequal].all())


def _error(array: np.ndarray, exact: np.ndarray) -> np.ndarray:
    with np.errstate(all="ignore"):
        error = np.abs(array - exact)
    same = (array == exact) | (np.isnan(array) & np.isnan(exact))
    return np.where(same, 0.0, np.where(np.isfinite(error), error, np.inf))
