#!/usr/bin/env python3
"""Compares farcall's products of sparse matrices with SciPy's and JAX's, and with the bandwidth of the memory.

    python sparse.py FOLDER [--filter TEXT] [--seconds N] [--rows N]

All sides multiply the same matrix, alternately in one process, on two processors. SciPy has one thread. In JAX, a
matrix is a `BCSR`, whose products are calls of jaxlib's own handler. A time is the shortest of at least five runs. A
ratio is the other side's time divided by farcall's: above 1, farcall is faster.

The bandwidth is that of `a = b + c` for arrays that no cache holds, in two threads, measured beside the products. A
product moves at least the matrix, the operand and the result, each once; its share of the bandwidth is the time in
which that many bytes could move, divided by its own time.

The tables are written to FOLDER/sparse.md.
"""

import argparse
import concurrent.futures
import os
import pathlib
import time

# All sides count the processors when they start their threads.
THREADS = 2
os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:THREADS])

import jax  # noqa: E402
import numpy as np  # noqa: E402
import scipy.sparse  # noqa: E402
from jax.experimental import sparse as jax_sparse  # noqa: E402
from machine import geometric_mean, processor  # noqa: E402

from farcall import sparse  # noqa: E402

DTYPES = {"f32": np.float32, "f64": np.float64}
COLUMNS = [1, 16, 64]


def banded(rows):
    """Returns a matrix with 13 diagonals."""
    offsets = range(-6, 7)
    return scipy.sparse.diags([np.full(rows - abs(offset), 1.0 + offset) for offset in offsets], offsets, format="csr")


def power_law(rows):
    """Returns a matrix whose rows have lengths of a power law, and entries in random columns."""
    random = np.random.default_rng(1)
    lengths = (2 / np.sqrt(random.random(rows) + 1e-4)).astype(np.int64) + 2
    starts = np.concatenate([[0], np.cumsum(lengths)])
    columns = random.integers(0, rows, starts[-1], dtype=np.int32)
    matrix = scipy.sparse.csr_matrix((random.standard_normal(starts[-1]), columns, starts), shape=(rows, rows))
    matrix.sum_duplicates()
    return matrix


def blocks(rows):
    """Returns a matrix of dense blocks of 8×8 elements, two in each row of blocks."""
    count = rows // 8
    columns = np.stack([np.arange(count), (np.arange(count) + 5) % count], 1).ravel()
    values = np.random.default_rng(2).standard_normal((2 * count, 8, 8))
    return scipy.sparse.bsr_matrix((values, columns, 2 * np.arange(count + 1)), shape=(8 * count, 8 * count))


MATRICES = {"banded": banded, "power-law": power_law, "block": blocks}


def as_type(matrix, dtype):
    """Returns the matrix with elements of this type, and indices of 32 bits."""
    matrix = matrix.astype(dtype)
    matrix.indices, matrix.indptr = matrix.indices.astype(np.int32), matrix.indptr.astype(np.int32)
    return matrix


def sides(matrix, x):
    """Returns the product as a function of each side."""
    is_vector = x.ndim == 1
    kind = "bsr" if matrix.format == "bsr" else "csr"
    product = getattr(sparse, f"{kind}_{'matvec' if is_vector else 'matmul'}")
    in_jax = jax_sparse.BCSR.from_scipy_sparse(matrix.tocsr())
    own, device_x = jax.jit(lambda matrix, x: matrix @ x), jax.device_put(x)
    return {
        "farcall": lambda: product(matrix.data, matrix.indices, matrix.indptr, x),
        "SciPy": lambda: matrix @ x,
        "JAX": lambda: own(in_jax, device_x).block_until_ready(),
    }


class Bandwidth:
    """The bandwidth of the memory in bytes per second, by additions in two threads."""

    def __init__(self, length=1 << 25):
        self.arrays = [np.ones(length), np.ones(length), np.ones(length)]
        self.pool = concurrent.futures.ThreadPoolExecutor(THREADS)

    def run(self):
        """Adds two arrays. Returns the bandwidth."""
        parts = [np.array_split(array, THREADS) for array in self.arrays]
        start = time.perf_counter()
        list(self.pool.map(lambda a, b, c: np.add(b, c, out=a), *parts))
        return sum(array.nbytes for array in self.arrays) / (time.perf_counter() - start)


def measure(runs, bandwidth, seconds):
    """Returns the shortest time of each side in seconds, and the highest bandwidth."""
    results = {name: np.asarray(run()) for name, run in runs.items()}
    for name, result in results.items():
        np.testing.assert_allclose(result, results["SciPy"], rtol=1e-4, atol=1e-3, err_msg=name)
    del results
    times, highest, begin = {name: [] for name in runs}, 0, time.perf_counter()
    while len(times["farcall"]) < 5 or time.perf_counter() - begin < seconds:
        highest = max(highest, bandwidth.run())
        for name, run in runs.items():
            start = time.perf_counter()
            run()
            times[name].append(time.perf_counter() - start)
    return {name: min(taken) for name, taken in times.items()}, highest


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--filter", default="", help="only cases whose names contain this text: `banded f32 16`")
    parser.add_argument("--seconds", type=float, default=3, help="time for the runs of a case")
    parser.add_argument("--rows", type=int, default=1 << 21, help="rows of a matrix")
    args = parser.parse_args()
    jax.config.update("jax_enable_x64", True)
    lines = [
        "# Products of sparse matrices: farcall, SciPy and JAX",
        "",
        f"{processor()}, {THREADS} threads, jaxlib {jax.lib.__version__}, SciPy {scipy.__version__}, farcall",
        f"{os.environ.get('FARCALL_COMMIT', '')}, {time.strftime('%Y-%m-%d %H:%M UTC', time.gmtime())}. Matrices have {args.rows} rows.",
        "",
        "| matrix, columns of the operand | farcall | share of the bandwidth | SciPy's time / farcall's | JAX's time / farcall's |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    print("\n".join(lines))
    bandwidth, ratios = Bandwidth(), {"SciPy": [], "JAX": []}
    for name, make in MATRICES.items():
        for element, dtype in DTYPES.items():
            for n in COLUMNS:
                case = f"{name} {element} {n}"
                if args.filter not in case:
                    continue
                matrix = as_type(make(args.rows), dtype)
                shape = (matrix.shape[1],) if n == 1 else (matrix.shape[1], n)
                x = np.random.default_rng(3).standard_normal(shape).astype(dtype)
                times, highest = measure(sides(matrix, x), bandwidth, args.seconds)
                bytes_moved = sum(part.nbytes for part in (matrix.data, matrix.indices, matrix.indptr)) + 2 * x.nbytes
                own = times["farcall"]
                for side, found in ratios.items():
                    found.append(times[side] / own)
                row = f"| {name} {element}, {n} | {own * 1e3:.1f} ms | {bytes_moved / own / highest:.0%} of {highest / 1e9:.1f} GB/s "
                lines.append(row + "".join(f"| {times[side] / own:.2f} " for side in ratios) + "|")
                print(lines[-1], flush=True)
    means = " ".join(f"{side} {geometric_mean(found):.2f}," for side, found in ratios.items()).rstrip(",")
    lines += ["", f"Geometric means of the ratios: {means}.", ""]
    print("\n".join(lines[-3:]))
    path = args.folder / "sparse.md"
    path.write_text("\n".join(lines))
    print(f"wrote {path}")


if __name__ == "__main__":
    main()
