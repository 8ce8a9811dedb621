"""Time of a launch, compared with the same handler written with XLA's C++ header.

First, both handlers run alternately on one call frame that XLA made, without XLA in between. Then two
programs of many calls run alternately.
"""

import ctypes
import statistics
import time

import jax
import numpy as np

import farcall
from checks import arrays, listing, twins
from checks.library import HANDLERS
from checks.outcome import expect

#: Maximum time of a launch, relative to C++.
BAR = 1.10

#: Number of calls in a program.
CHAIN = 200

TARGETS = {"cuda": "twin_scale", "cpu": "twin_scale_on_cpu"}


def run(recorder, platform):
    here = arrays.device(platform)
    x = jax.device_put(np.arange(24, dtype=np.float32), here)
    shape, by = jax.ShapeDtypeStruct(x.shape, x.dtype), np.float32(2.5)
    probe = farcall.load(listing.PROBE)
    state = {}

    with recorder.case("the handler in C++ compiles") as figures:
        begin = time.perf_counter()
        library = state["library"] = twins.build("launch")
        figures["seconds"] = time.perf_counter() - begin
    if not state:
        return
    library.twin_set_ptx(listing.PROBE_PTX.read_bytes())
    stages = {} if platform == "cpu" else {"initialize": jax.ffi.pycapsule(library.twin_load)}
    for name in (TARGETS[platform], "twin_time"):
        functions = {**stages, "execute": jax.ffi.pycapsule(getattr(library, name))}
        # XLA's name of the platform: JAX passes on its own name `cuda` unchanged.
        jax.ffi.register_ffi_target(name, functions, platform={"cpu": "cpu", "cuda": "CUDA"}[platform])
    ours = lambda x: probe.probe_scale(x, by=by)
    theirs = lambda x: jax.ffi.ffi_call(TARGETS[platform], shape)(x, by=by)

    with recorder.case("both handlers compute the same result"):
        results = [np.asarray(jax.jit(f)(x)) for f in (ours, theirs)]
        expect(np.array_equal(results[0], np.asarray(x) * by), "farcall's handler is wrong")
        expect(np.array_equal(*results), "the handlers differ")
    with recorder.case("time to enqueue a launch") as figures:
        capsules = farcall.capsules(listing.PROBE, platform=platform)["probe_scale"]
        handlers = [twins.address(capsules["execute"]), address_of(getattr(library, TARGETS[platform]))]
        rounds, calls = (401, 100) if platform == "cuda" else (21, 20)
        library.twin_set_sides(*map(ctypes.c_void_p, handlers), rounds, calls)
        jax.block_until_ready(jax.jit(lambda x: jax.ffi.ffi_call("twin_time", shape)(x, by=by))(x))
        report(figures, *(recorded(library, side, rounds) for side in range(2)), platform)
    with recorder.case(f"time of a call in a program of {CHAIN}") as figures:
        sides = [chain(f) for f in (ours, theirs)]
        times = [[], []]
        for _ in range(101 if platform == "cuda" else 5):
            for side, of in zip(sides, times):
                begin = time.perf_counter()
                jax.block_until_ready(side(x))
                of.append((time.perf_counter() - begin) * 1e9 / CHAIN)
        report(figures, *times, platform)


def address_of(function):
    return ctypes.cast(function, ctypes.c_void_p).value


def chain(call):
    """Returns a program of many calls, each on the result of the call before."""

    def all_of_them(x):
        for _ in range(CHAIN):
            x = call(x)
        return x

    return jax.jit(all_of_them)


def recorded(library, side, rounds):
    """Returns the times of a handler in nanoseconds per call."""
    buffer = (ctypes.c_double * rounds)()
    count = library.twin_times(side, buffer, rounds)
    expect(count == rounds, f"{count} rounds were timed instead of {rounds}")
    return list(buffer)


def report(figures, ours, theirs, platform):
    """Adds the medians, and the median of the ratios of neighboring rounds, to the figures.

    Raises:
      AssertionError: if the ratio is above the limit.
    """
    ratio = statistics.median(a / b for a, b in zip(ours, theirs))
    figures["farcall, ns"], figures["C++, ns"] = statistics.median(ours), statistics.median(theirs)
    figures["ratio"] = ratio
    expect(
        platform == "cpu" or ratio <= BAR,
        f"farcall takes {ratio:.2f} times as long as C++; the limit is {BAR}",
    )


assert set(TARGETS) == set(HANDLERS)
