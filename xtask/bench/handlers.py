"""Overhead of a handler written in Python, in farcall's engine and in XLA, compared with the overhead of
`jax.pure_callback`.

The values are medians. The cost of a call is the difference between the times of a program with many
successive calls and of a program with a single call, divided by the number of additional calls. With `--bar`,
a cost of more than `BAR` in farcall's engine is an error.
"""

import statistics
import sys
import time

import jax
import numpy as np

import farcall

SHAPE = jax.ShapeDtypeStruct((8,), np.float32)
X = np.ones(8, np.float32)
MANY = 101
#: Maximum cost of a handler's call in microseconds.
BAR = 5


@farcall.handler
def nothing(x, y):
    pass


@farcall.handler
def copy(x, y):
    y[:] = x


@farcall.handler
def scale(x, y, *, factor):
    np.multiply(x, factor, out=y)


def median(function, *args, repeated=501):
    """Returns the median time of a call in microseconds."""
    times = []
    for _ in range(repeated):
        start = time.perf_counter_ns()
        function(*args)
        times.append(time.perf_counter_ns() - start)
    return statistics.median(times) / 1e3


def per_call(calls):
    """Returns the cost of a call in microseconds. `calls(n)` creates a program with `n` calls."""
    one, many = calls(1), calls(MANY)
    for run in (one, many):
        run(X)
    return (median(many, X) - median(one, X)) / (MANY - 1)


def chain(call):
    """Returns a function of `count`, which creates a program of `count` calls, each on the last result."""

    def of(count):
        def run(x):
            for _ in range(count):
                x = call(x)
            return x

        return jax.jit(run)

    return of


def blocking(function):
    return lambda x: function(x).block_until_ready()


def main():
    cases = {
        "a handler that does nothing": jax.ffi.ffi_call("nothing", SHAPE),
        "one that copies 8 numbers": jax.ffi.ffi_call("copy", SHAPE),
        "one that multiplies them by an attribute": lambda x: jax.ffi.ffi_call("scale", SHAPE)(x, factor=np.float32(2)),
        "jax.pure_callback": lambda x: jax.pure_callback(lambda x: x, SHAPE, x),
    }
    for handler in (nothing, copy, scale):
        jax.ffi.register_ffi_target(handler.name, handler.capsule)
    print(f"{'microseconds per call':42}{'farcall':>9}{'XLA':>9}")
    missed = []
    for name, call in cases.items():
        jitted = chain(call)
        ours = per_call(lambda count: farcall.compile(jitted(count).lower(X)))
        theirs = per_call(lambda count: blocking(jitted(count)))
        has_bar = name != "jax.pure_callback"
        bar = f"   bar {BAR} µs: {'met' if ours <= BAR else 'missed'}" if has_bar else ""
        print(f"{name:42}{ours:9.2f}{theirs:9.2f}{bar}")
        if has_bar and ours > BAR:
            missed.append(name)
    if missed and "--bar" in sys.argv[1:]:
        sys.exit(f"more than {BAR} µs a call: {', '.join(missed)}")


if __name__ == "__main__":
    main()
