"""Compares products of sparse and dense matrices with SciPy and with jax.experimental.sparse.

    cargo build --release --package farcall-sparse-library
    python crates/farcall-sparse/benches/compare.py target/release/libfarcall_sparse.so [ROWS]

Each line has the time of the fastest of interleaved calls, in milliseconds, and the bandwidth that the call of
this library reaches, next to that of `a = b + c` on arrays of the same size (STREAM's *add*), in GB/s. The ops
run in XLA, on the same threads as JAX's own operations.
"""

import sys
import time

import farcall
import jax
import numpy as np
import scipy.sparse
from jax.experimental import sparse

REPETITIONS = 15


def banded(rows, _):
    offsets = range(-6, 7)
    return scipy.sparse.diags_array([np.ones(rows)] * 13, offsets=list(offsets), shape=(rows, rows), format="csr")


def blocks(rows, _):
    """Dense blocks of 8×8 elements, two in each row of blocks."""
    count = rows // 8
    first = np.arange(count)
    columns = np.sort(np.stack([first, (first + 5) % count], 1), 1).reshape(-1)
    a = scipy.sparse.bsr_array((np.ones((2 * count, 8, 8)), columns, np.arange(0, 2 * count + 1, 2)), shape=(8 * count,) * 2)
    return a.tocsr()


def power_law(rows, rng):
    counts = (2 / np.sqrt(rng.random(rows) + 1e-4)).astype(np.int64) + 2
    starts = np.concatenate([[0], np.cumsum(counts)])
    columns = rng.integers(0, rows, starts[-1])
    return scipy.sparse.csr_array((np.ones(starts[-1]), columns, starts), shape=(rows, rows))


def seconds(functions):
    """Returns the time of the fastest call of each function. The calls are interleaved."""
    best = [float("inf")] * len(functions)
    for function in functions:
        function()
    for _ in range(REPETITIONS):
        for i, function in enumerate(functions):
            start = time.perf_counter()
            function()
            best[i] = min(best[i], time.perf_counter() - start)
    return best


def main():
    ops = farcall.load(sys.argv[1])
    rows = int(sys.argv[2]) if len(sys.argv) > 2 else 1 << 20
    jax.config.update("jax_enable_x64", True)
    print("matrix          type   n |  farcall    SciPy      JAX |  GB/s    add")
    for make in (banded, blocks, power_law):
        a = make(rows, np.random.default_rng(0))
        for dtype in (np.float32, np.float64):
            for n in (1, 16):
                line(ops, make.__name__, a, dtype, n)


def line(ops, name, a, dtype, n):
    shape = (a.shape[1],) if n == 1 else (a.shape[1], n)
    a = scipy.sparse.csr_array((a.data.astype(dtype), a.indices.astype(np.int32), a.indptr.astype(np.int32)), shape=a.shape)
    x = np.ones(shape, dtype)
    csr, b = [jax.numpy.asarray(part) for part in (a.data, a.indices, a.indptr)], jax.numpy.asarray(x)
    bcsr = sparse.BCSR(tuple(csr), shape=a.shape)
    ours = jax.jit(ops.csr_matvec if n == 1 else ops.csr_matmul)
    theirs = jax.jit(lambda bcsr, b: bcsr @ b)
    size = a.data.nbytes + a.indices.nbytes + a.indptr.nbytes + x.nbytes + a.shape[0] * n * x.itemsize
    first, second = np.ones(size // 24), np.ones(size // 24)
    total = np.empty_like(first)
    np.testing.assert_allclose(ours(*csr, b), a @ x, rtol=1e-4)
    calls = [
        lambda: jax.block_until_ready(ours(*csr, b)),
        lambda: a @ x,
        lambda: jax.block_until_ready(theirs(bcsr, b)),
        lambda: np.add(first, second, out=total),
    ]
    times = seconds(calls)
    milliseconds = " ".join(f"{1e3 * t:8.3f}" for t in times[:3])
    print(f"{name:12} {np.dtype(dtype).name} {n:3} | {milliseconds} | {size / times[0] / 1e9:5.1f}  {24 * len(first) / times[3] / 1e9:5.1f}", flush=True)


if __name__ == "__main__":
    main()
