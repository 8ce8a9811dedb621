#!/usr/bin/env python3
"""Times programs in farcall and in XLA:CPU (jaxlib), in turn, in one sitting.

    python peer.py FARCALL MANIFEST [--load LIB] [--rounds N] [--filter TEXT]

Per case and round: farcall compiles the program and runs it, then XLA does. What is compared are medians
over the rounds. `compile`: program text to executable. `run`: one call with inputs at hand until all
outputs are ready; farcall is called from Rust, XLA through `execute_sharded` from Python, which costs
4 to 9 us a call by itself. Cases that call targets which jaxlib does not have are left out, and said so.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import time

import jax
import jax.extend
import ml_dtypes
import numpy as np
from jaxlib import _jax

VIEWS = {"bfloat16": ml_dtypes.bfloat16, "float8_e4m3fn": ml_dtypes.float8_e4m3fn, "float8_e5m2": ml_dtypes.float8_e5m2}


def load_input(path, spec):
    array = np.load(path)
    return array.view(VIEWS[spec["dtype"]]) if spec["dtype"] in VIEWS else array


def xla_once(backend, text, inputs, repeat):
    """-> (seconds to compile, median seconds of a run)"""
    start = time.perf_counter()
    executable = backend.compile_and_load(text, _jax.DeviceList(tuple(backend.local_devices()[:1])))
    compiled = time.perf_counter() - start
    runs = []
    for _ in range(repeat + 1):
        # Fresh each time: a program may have been exported with donated inputs.
        arguments = jax.block_until_ready([jax.device_put(a) for a in inputs])
        start = time.perf_counter()
        for shards in executable.execute_sharded(arguments).disassemble_into_single_device_arrays():
            for shard in shards:
                shard.block_until_ready()
        runs.append(time.perf_counter() - start)
    return compiled, statistics.median(runs[1:])


def farcall_once(farcall, program, files, library, flush, repeat):
    """-> (seconds to compile, median seconds of a run)"""
    command = [farcall, "run", str(program), "--quiet", "--stats", "--json", "--repeat", str(repeat)]
    for file in files:
        command += ["--input", str(file)]
    if library:
        command += ["--load", library]
    if flush:
        command += ["--denormals", "flush"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip().splitlines()[0] if done.stderr else "farcall failed")
    stats = json.loads(done.stdout)["stats"]
    stages = {stage["stage"]: stage["seconds"] for stage in stats["stages"]}
    return stages["read"] + stages["compile"], stats["run_seconds"]["median"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("farcall")
    parser.add_argument("manifest", type=pathlib.Path)
    parser.add_argument("--load")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--repeat", type=int, default=20)
    parser.add_argument("--filter", default="")
    args = parser.parse_args()
    backend = jax.extend.backend.get_backend("cpu")

    rows = []
    print(f"{'case':32} {'compile, ms':>22} {'':>8} {'run, us':>22} {'':>8}")
    print(f"{'':32} {'farcall':>11}{'XLA':>11} {'ratio':>8} {'farcall':>11}{'XLA':>11} {'ratio':>8}")
    for case in json.loads(args.manifest.read_text())["cases"]:
        if args.filter not in case["name"] or "expect_error" in case:
            continue
        program = args.manifest.parent / case["program"]
        files = [program.parent / i["file"] for i in case["inputs"]]
        inputs = [load_input(f, i) for f, i in zip(files, case["inputs"])]
        flush = case.get("denormals") == "flush"
        ours, theirs = [], []
        try:
            with jax.enable_x64(True):
                for _ in range(args.rounds):
                    ours.append(farcall_once(args.farcall, program, files, args.load, flush, args.repeat))
                    theirs.append(xla_once(backend, program.read_text(), inputs, args.repeat))
        except Exception as error:
            print(f"{case['name']:32} left out: {str(error).splitlines()[0][:90]}")
            continue
        (fc, fr), (xc, xr) = (tuple(statistics.median(v) for v in zip(*side)) for side in (ours, theirs))
        rows.append((xc / fc, xr / fr))
        print(f"{case['name']:32} {fc * 1e3:11.3f}{xc * 1e3:11.1f} {xc / fc:7.0f}x {fr * 1e6:11.1f}{xr * 1e6:11.1f} {xr / fr:7.2f}x")
    if rows:
        compile_ratio, run_ratio = (statistics.median(column) for column in zip(*rows))
        print(f"median of {len(rows)} cases: XLA takes {compile_ratio:.0f} times as long to compile, {run_ratio:.2f} times as long to run")


if __name__ == "__main__":
    main()
