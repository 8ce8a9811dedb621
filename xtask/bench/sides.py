"""farcall and XLA:CPU (jaxlib) side by side: the same program text, the same inputs, measured alternately.

Both are called from Python with arguments that are ready: farcall with NumPy arrays, XLA with arrays on its
device. XLA is called through `execute_sharded`, which has the least overhead from Python. Just before each
run, both sides copy the inputs, so that the cache contains the same part of them. A run ends when all results
are available.
"""

import signal
import statistics
import time

import jax
import jax.extend
import ml_dtypes
import numpy as np
from jaxlib import _jax

import farcall

BACKEND = jax.extend.backend.get_backend("cpu")


class Xla:
    """A program in XLA."""

    def __init__(self, text):
        devices = _jax.DeviceList(tuple(BACKEND.local_devices()[:1]))
        self.executable = BACKEND.compile_and_load(text, devices)

    def memory(self):
        """Returns the bytes of temporary values and of results that do not reuse memory of inputs. XLA does
        not report the size of constants."""
        stats = self.executable.get_compiled_memory_stats()
        return stats.temp_size_in_bytes + stats.output_size_in_bytes - stats.alias_size_in_bytes

    def prepare(self, inputs):
        # Each run gets fresh copies, because programs may donate their inputs.
        return jax.block_until_ready([jax.device_put(x) for x in inputs])

    def run(self, arguments):
        results = self.executable.execute_sharded(arguments).disassemble_into_single_device_arrays()
        for shards in results:
            for shard in shards:
                shard.block_until_ready()
        return [shards[0] for shards in results]


class Farcall:
    """A program in farcall."""

    def __init__(self, text, **options):
        self.executable = farcall.compile(text, **options)

    def memory(self):
        """Returns the bytes of temporary values and constants, and of results that do not reuse memory of
        inputs."""
        stats = self.executable.memory_analysis()
        own = stats.temp_size_in_bytes + stats.constant_size_in_bytes
        return own + stats.output_size_in_bytes - stats.alias_size_in_bytes

    def prepare(self, inputs):
        return [np.array(x) for x in inputs]

    def run(self, arguments):
        return self.executable.run(arguments)


class TooSlow(Exception):
    """A case exceeded its time limit."""


def limited(seconds, work):
    """Returns the result of `work`, unless it exceeds the time limit."""

    def over(*_):
        raise TooSlow(f"over {seconds} s")

    before = signal.signal(signal.SIGALRM, over)
    signal.alarm(seconds)
    try:
        return work()
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def unaligned(array):
    """Returns a copy that JAX has to copy again, because it begins 16 bytes after a multiple of 64. JAX uses
    aligned arrays directly."""
    array = np.asarray(array, order="C")
    memory = np.empty(array.nbytes + 128, np.uint8)
    start = -memory.ctypes.data % 64 + 16
    copy = memory[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy


def timed(work):
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


def figures(times):
    return {"median": statistics.median(times), "min": min(times), "count": len(times)}


def difference(ours, theirs):
    """Compares two lists of results. Returns the largest difference, relative to the largest element of the
    same result in `theirs`, and true if every difference is within the tolerance of the element type."""
    worst, agree = 0.0, True
    for a, b in zip(ours, theirs, strict=True):
        a, b = np.asarray(a), np.asarray(b)
        if b.dtype.kind in "biu":
            # Integers are compared directly, because the type used below does not have all 64-bit integers.
            agree, allowed = agree and np.array_equal(a, b), 0.0
        elif b.dtype.itemsize <= 2:
            allowed = 8 * float(ml_dtypes.finfo(b.dtype).eps)
        else:
            allowed = 1e-4
        if np.iscomplexobj(b):
            a, b = (np.stack([x.real, x.imag]) for x in (a, b))
        a, b = a.astype(np.float64), b.astype(np.float64)
        known = np.isfinite(b)
        if not np.array_equal(known, np.isfinite(a)) or not np.array_equal(a[~known], b[~known], equal_nan=True):
            return float("inf"), False
        if known.any():
            scale = max(np.abs(b[known]).max(), 1e-30)
            apart = float(np.abs(a[known] - b[known]).max() / scale)
            worst, agree = max(worst, apart), agree and apart <= allowed
    return worst, agree


def compare(text, inputs, *, seconds=1.5, compiles=3, limit=60, options=None):
    """Times both sides in seconds, and compares their results.

    Returns a dictionary. `compile`, `run` and `memory` have an entry for each side (`farcall` and `xla`). An
    entry of `compile` or `run` has the median, the minimum and the number of times. An entry of `memory` is a
    number of bytes. `difference` and `agree` are the outcome of the comparison.
    """
    inputs = [unaligned(x) for x in inputs]
    builds = {"farcall": lambda: Farcall(text, **(options or {})), "xla": lambda: Xla(text)}
    compiled, runs, sides = {name: [] for name in builds}, {name: [] for name in builds}, {}

    def all_of_it():
        begin = time.perf_counter()
        spent = lambda: time.perf_counter() - begin
        # A program is compiled at least `compiles` times unless that takes too long, because the first
        # compilation reads code from the disk.
        while (
            not sides
            or (len(compiled["xla"]) < compiles and spent() < 2 * seconds)
            or (len(compiled["xla"]) < 3 * compiles and spent() < seconds / 2)
        ):
            for name, build in builds.items():
                took, sides[name] = timed(build)
                compiled[name].append(took)
        first = {name: side.run(side.prepare(inputs)) for name, side in sides.items()}
        apart = difference(first["farcall"], first["xla"])
        del first
        begin = time.perf_counter()
        while len(runs["xla"]) < 5 or time.perf_counter() - begin < seconds:
            for name, side in sides.items():
                arguments = side.prepare(inputs)
                took, results = timed(lambda side=side, arguments=arguments: side.run(arguments))
                runs[name].append(took)
                del results
            if len(runs["xla"]) >= 3 and time.perf_counter() - begin > 8 * seconds:
                break
        return apart

    apart, agree = limited(limit, all_of_it)
    both = lambda times: {name: figures(values) for name, values in times.items()}
    memory = {name: side.memory() for name, side in sides.items()}
    return {"compile": both(compiled), "run": both(runs), "memory": memory, "difference": apart, "agree": agree}
