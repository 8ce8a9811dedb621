"""Conditioning of a program: how far XLA's results move when the inputs move by a rounding error.

Some results are not determined to the precision of their type: a vector of a null space, or the last digits
of an adaptive ODE solver or of an iteration with an unstable stopping criterion. Every change in the order of
operations gives another answer.
"""

from collections.abc import Callable

import numpy as np

from agreement import differing, is_float, wide

RUNS = 6


def within_spread(
    run: Callable[[list[np.ndarray]], list[np.ndarray]],
    inputs: list[np.ndarray],
    got: list[np.ndarray],
    want: list[np.ndarray],
    tolerances: dict,
) -> bool:
    """Returns true if `got` is at most twice as far from XLA's results as XLA's results move when the inputs
    move by a rounding error.

    `want` has XLA's results. The integers of all results must equal those of `want`, or those of another run
    of XLA on the same inputs.
    """
    base = run(inputs)
    random = np.random.default_rng(0)
    others = [want, *(run([_moved(a, random) for a in inputs]) for _ in range(RUNS))]
    spread = [
        max(_largest(np.abs(wide(o[i]) - wide(b))) for o in others) if is_float(b.dtype) else 0.0
        for i, b in enumerate(base)
    ]
    return any(_near(got, one, spread, tolerances) for one in (want, base))


def _near(got: list[np.ndarray], want: list[np.ndarray], spread: list[float], tolerances: dict) -> bool:
    for g, w, limit in zip(got, want, spread, strict=True):
        if not is_float(g.dtype):
            if not np.array_equal(g, w):
                return False
            continue
        unequal = differing(wide(g), wide(w), tolerances[g.dtype])
        with np.errstate(all="ignore"):
            if not (np.abs(wide(g) - wide(w))[unequal] <= 2 * limit).all():
                return False
    return True


def _largest(array: np.ndarray) -> float:
    """Returns the largest finite magnitude."""
    return float(array[np.isfinite(array)].max(initial=0.0))


def _moved(array: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Moves each float by one unit in the last place up or down, or leaves it unchanged; zeros stay."""
    if not is_float(array.dtype):
        return array
    if array.dtype.kind == "c":
        parts = array.reshape(-1).view(f"float{4 * array.dtype.itemsize}")
        return _moved(parts, random).view(array.dtype).reshape(array.shape)
    bits = np.ascontiguousarray(array).reshape(array.shape).view(f"int{8 * array.dtype.itemsize}")
    step = random.integers(-1, 2, array.shape).astype(bits.dtype)
    moved = (bits + step).view(array.dtype)
    fine = (wide(array) != 0) & np.isfinite(wide(array)) & np.isfinite(wide(moved))
    return np.where(fine, moved, array)
