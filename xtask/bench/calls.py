#!/usr/bin/env python3
"""Overhead of a custom call, in farcall and in XLA:CPU (jaxlib), measured alternately in one session.

    python calls.py FARCALL LIBNOOP [--rounds N]

One program is a chain of 1,000 calls of a C handler that returns immediately (`noop.c`). The other program
has no calls. The difference of their times divided by 1,000 is the time to enter and leave a handler during a
run. The program without calls measures the overhead of a run: farcall is called from Rust, XLA through
`execute_sharded` from Python.
"""
import argparse
import ctypes
import json
import statistics
import subprocess
import tempfile
import time

import jax
import jax.extend
import numpy as np
from jaxlib import _jax

CALLS = 1000
TYPE = "tensor<8xf32>"


def program(calls):
    lines = [f"module @chain {{ func.func public @main(%v0: {TYPE}) -> {TYPE} {{"]
    for i in range(calls):
        lines.append(f"%v{i + 1} = stablehlo.custom_call @noop(%v{i}) {{api_version = 4 : i32, backend_config = {{}}}} : ({TYPE}) -> {TYPE}")
    lines.append(f"return %v{calls} : {TYPE} }} }}")
    return "\n".join(lines)


def farcall(binary, library, path):
    """Returns the median time of a run in seconds. Each measurement takes at least 20 µs, so the 30 ns for
    reading the clock do not matter."""
    command = [binary, "bench", path, "--load", library, "--target", "noop=NoOp", "--input", "ones"]
    command += ["--json", "--warm-up", "0.02", "--time", "0.1"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)["run_seconds"]["median"]


class Xla:
    def __init__(self, text):
        backend = jax.extend.backend.get_backend("cpu")
        self.executable = backend.compile_and_load(text, _jax.DeviceList(tuple(backend.local_devices()[:1])))
        self.argument = jax.block_until_ready(jax.device_put(np.ones(8, np.float32)))

    def median(self, repeat):
        times = []
        for _ in range(repeat):
            start = time.perf_counter()
            results = self.executable.execute_sharded([self.argument])
            results.disassemble_into_single_device_arrays()[0][0].block_until_ready()
            times.append(time.perf_counter() - start)
        return statistics.median(times)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("farcall")
    parser.add_argument("library")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--repeat", type=int, default=500, help="number of runs of XLA in each round, timed one by one")
    args = parser.parse_args()
    target = jax.ffi.pycapsule(ctypes.CDLL(args.library).NoOp)
    jax.ffi.register_ffi_target("noop", target, platform="cpu", api_version=1)

    ours, theirs = [], []
    with tempfile.TemporaryDirectory() as folder:
        paths = {}
        for calls in (0, CALLS):
            paths[calls] = f"{folder}/chain{calls}.mlir"
            with open(paths[calls], "w") as file:
                file.write(program(calls))
        xla = {calls: Xla(program(calls)) for calls in paths}
        for _ in range(args.rounds):
            ours.append([farcall(args.farcall, args.library, paths[calls]) for calls in (0, CALLS)])
            theirs.append([xla[calls].median(args.repeat) for calls in (0, CALLS)])

    def figures(rounds):
        return statistics.median(r[0] for r in rounds), statistics.median((r[1] - r[0]) / CALLS for r in rounds)

    (fe, fc), (xe, xc) = figures(ours), figures(theirs)
    print(f"{'':73} {'farcall':>10} {'XLA':>10} {'ratio':>8}")
    print(f"{'enter and leave a no-op handler, ns':73} {fc * 1e9:10.1f} {xc * 1e9:10.1f} {xc / fc:7.1f}x")
    print(f"{'run a program that does nothing (farcall from Rust, XLA from Python), ns':73} {fe * 1e9:10.0f} {xe * 1e9:10.0f}")


if __name__ == "__main__":
    main()
