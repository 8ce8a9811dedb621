"""How well a program determines its results: how far XLA's own move when its inputs move by a rounding error.

A vector of a null space, the last digits of an adaptive ODE solver or of an iteration that stops by chance are
not determined to the precision of their type: every change in the order of operations gives another answer.
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
    """Whether results are at most twice as far from XLA's as XLA's are from each other."""
    base = run(inputs)
    random = np.random.default_rng(0)
    others = [run([_moved(a, random) for a in inputs]) for _ in range(RUNS)]
    for i, (g, w) in enumerate(zip(got, want, strict=True)):
        if not is_float(g.dtype):
            if not np.array_equal(g, w):
                return False
            continue
        g, w, centre = wide(g), wide(w), wide(base[i])
        unequal = differing(g, w, tolerances[got[i].dtype])
        with np.errstate(all="ignore"):
            spread = max((_largest(np.abs(wide(o[i]) - centre)) for o in [*others, want]), default=0.0)
            apart = np.abs(g - w)
        if not (apart[unequal] <= 2 * spread).all():
            return False
    return True


def _largest(array: np.ndarray) -> float:
    return float(array[np.isfinite(array)].max(initial=0.0))


def _moved(array: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Each float one unit in the last place up or down, or where it was; zeros stay."""
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
