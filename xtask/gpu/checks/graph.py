"""Ops in CUDA graphs, which XLA calls command buffers.

A call of a handler with the trait `command_buffer_compatible` is recorded once; later runs launch the graph
and do not call the handler. Two facts show that a graph contains the op. First, in later runs, the driver
launches graphs but no kernels, and most runs record nothing. (XLA records again if the addresses of buffers
have changed.) If the driver's calls cannot be counted, XLA's own list of steps must contain a command buffer.
Second, the results are right for two inputs that alternate, so no result is left from the run before.
"""

import ctypes
import glob
import os
import re
import site
import sys

import jax
import numpy as np

from checks import arrays, listing, samples, twins
from checks.library import HANDLERS
from checks.outcome import Skip, expect

#: Pairs of runs, one run for each of two inputs.
PAIRS = 10

#: Functions of the driver: launches of graphs, launches of kernels outside of recordings, recordings.
COUNTED = ("cuGraphLaunch", "cuLaunchKernel", "cuStreamBeginCapture", "cuGraphExecUpdate")


def run(recorder, platform):
    calls = None
    with recorder.case("the counter of driver calls compiles"):
        opened = open_counter(twins.build("driver_calls"), "/no/such/library")
        expect(
            opened is not None and "/no/such/library" in opened,
            f"a missing library is not an error: {opened}",
        )
    if platform == "cuda":
        jax.block_until_ready(jax.device_put(np.ones(3), arrays.device(platform)) + 1)
        with recorder.case("counting the driver's calls") as figures:
            calls = DriverCalls()
            figures["CUPTI"] = calls.path
    library = listing.library()
    for name in listing.op_names():
        for sample in samples.of(name) if platform == "cuda" else samples.of(name)[:1]:
            for is_gradient in [False, True] if sample.moving and sample.records_gradient else [False]:
                what = f"the gradient of {sample.name}" if is_gradient else sample.name
                with recorder.case(f"graph with {what}") as figures:
                    handler = HANDLERS[platform]
                    expect(handler in library[name].platforms, f"no handler for {handler}")
                    try_sample(library[name], sample, is_gradient, platform, calls, figures)


def try_sample(op, sample, is_gradient, platform, calls, figures):
    here = arrays.device(platform)
    rng = np.random.default_rng(5)
    dtype = jax.numpy.dtype(sample.dtypes[0])
    # The second input has the same indices as the first.
    first = list(sample.operands(rng, dtype))
    second = [np.flip(x) if x.dtype == dtype else x for x in first]
    given = [arrays.on(here, x) for x in (first, second)]
    name = ("gradient_" if is_gradient else "graph_") + re.sub(r"\W+", "_", sample.name)

    def forward(*operands):
        return samples.results(op(*operands, **sample.attributes))

    def gradients(*operands):
        partial, moving = sample.of_moving(forward, operands)
        results, pull = jax.vjp(partial, *moving)
        return pull(tuple(results))

    program = gradients if is_gradient else forward
    program.__name__ = name
    compiled = jax.jit(program)
    wanted = [program(*arrays.on(arrays.cpu(), x)) for x in (first, second)]
    for operands in given * 4:
        jax.block_until_ready(compiled(*operands))
    if calls is not None:
        calls.begin()
    errors = []
    for operands, results in zip(given * PAIRS, wanted * PAIRS):
        got = compiled(*operands)
        errors.append(max(arrays.error(g, w) for g, w in zip(got, results)))
        limit = max(sample.tolerance(g.dtype) for g in got)
        del got
    counts = calls.end() if calls is not None else {}
    figures["largest error"] = max(errors)
    figures.update(counts)
    steps = listed_steps(name)
    figures["XLA's steps"] = ", ".join(steps) or "no list"
    expect(max(errors) <= limit, f"a result has the error {max(errors):.2e}")
    if platform == "cpu":
        raise Skip("needs a GPU; on the CPU, the program runs, and XLA knows the flags")
    if calls is None:
        expect(any("CommandBuffer" in step for step in steps), "XLA's list of steps has no command buffer")
        return
    expect(
        counts["cuGraphLaunch"] >= 2 * PAIRS,
        f"{counts['cuGraphLaunch']} launches of graphs in {2 * PAIRS} runs",
    )
    outside, recordings = counts["cuLaunchKernel"], counts["cuStreamBeginCapture"]
    expect(outside == 0, f"{outside} kernels were launched outside of graphs")
    expect(recordings < PAIRS, f"{recordings} recordings in {2 * PAIRS} runs")


def listed_steps(name):
    """Returns the kinds of steps of a program, as XLA lists them beside its other dumps."""
    flag = next((f for f in os.environ.get("XLA_FLAGS", "").split() if f.startswith("--xla_dump_to=")), None)
    if flag is None:
        return []
    files = glob.glob(f"{glob.escape(flag.split('=', 1)[1])}/*{name}*thunk_sequence*.txt")
    words = [
        word.strip(":,") for path in files for line in open(path, encoding="utf-8") for word in line.split()
    ]
    return list(dict.fromkeys(word for word in words if word.startswith("k") and word[1:2].isupper()))


class DriverCalls:
    """Counts calls of the driver in this process."""

    def __init__(self):
        self._library = twins.build("driver_calls")
        self._library.driver_calls_of.restype = ctypes.c_int64
        failures = []
        for path in cupti():
            if (failure := open_counter(self._library, path)) is None:
                self.path = path
                return
            failures.append(f"{path}: {failure}")
        raise AssertionError(f"CUPTI cannot be used: {'; '.join(failures) or 'no libcupti.so is installed'}")

    def begin(self):
        self._library.driver_calls_count(1)

    def end(self):
        """Returns the number of calls since `begin` by function."""
        self._library.driver_calls_count(0)
        return {name: self._library.driver_calls_of(name.encode()) for name in COUNTED}


def open_counter(library, path):
    """Connects the counter to CUPTI. Returns `None`, or a message if that fails."""
    library.driver_calls_open.restype = ctypes.c_char_p
    failure = library.driver_calls_open(path.encode())
    return None if failure is None else failure.decode()


def cupti():
    """Returns the paths of CUPTI: first the library that this process has opened, then NVIDIA's packages,
    then the toolkit."""
    with open("/proc/self/maps", encoding="utf-8") as maps:
        opened = [line.split(maxsplit=5)[-1].strip() for line in maps if "libcupti" in line]
    places = [*site.getsitepackages(), *(path for path in sys.path if path.endswith("site-packages"))]
    packages = [path for place in places for path in glob.glob(f"{place}/nvidia/*/lib/libcupti.so*")]
    toolkit = glob.glob("/usr/local/cuda/lib64/libcupti.so*") + glob.glob(
        "/usr/local/cuda/extras/CUPTI/lib64/libcupti.so*"
    )
    return list(dict.fromkeys([*opened, *packages, *toolkit]))
