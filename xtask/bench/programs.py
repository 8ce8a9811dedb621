#!/usr/bin/env python3
"""Times programs in farcall and in XLA:CPU (jaxlib), alternately in one session.

    python programs.py FAMILY OUT [--cache DIR] [--manifest FILE] [--load LIB] [--filter TEXT] [--seconds N]

FAMILY is `corpus` (the cases of the manifest) or one of the families of `shapes.py`. The figures are written
to OUT as JSON. Both sides call the same handlers: jaxlib's for LAPACK, and LIB's for other targets.
Cases for which one side lacks a handler are left out and reported.
"""

import argparse
import ctypes
import hashlib
import json
import math
import os
import pathlib
import platform
import sys
import time

import jax
import jaxlib
import ml_dtypes
import numpy as np
from jaxlib import lapack

import farcall
import shapes
from sides import compare

VIEWS = {"bfloat16": ml_dtypes.bfloat16, "float8_e4m3fn": ml_dtypes.float8_e4m3fn, "float8_e5m2": ml_dtypes.float8_e5m2}


def handlers(library, targets):
    """Returns a registry with jaxlib's handlers for LAPACK and the handlers of a library.

    The library's handlers are also registered with XLA if their symbols are the targets' names in camel case.
    This excludes handlers with state, which have a symbol for each stage: a state type cannot belong to both
    sides.
    """
    registry = farcall.Registry()
    lapack._lapack.initialize()
    for name, capsule, api_version in lapack.registrations()["cpu"]:
        registry.register(name, capsule, "cpu", api_version)
    if library:
        registry.load(library)
        symbols = ctypes.CDLL(library)
        for target in targets:
            symbol = getattr(symbols, target.title().replace("_", ""), None)
            if symbol is not None:
                jax.ffi.register_ffi_target(target, jax.ffi.pycapsule(symbol), platform="cpu")
    return registry


def corpus(args):
    """Yields (name, text, inputs, options) for the cases of the corpus."""
    cases = json.loads(args.manifest.read_text())["cases"]
    registry = handlers(args.load, sorted({target for case in cases for target in case.get("custom_calls", ())}))
    for case in cases:
        if args.filter not in case["name"]:
            continue
        # The results of a handler with state depend on the number of earlier calls.
        if "expect_error" in case or case.get("stateful"):
            continue
        program = args.manifest.parent / case["program"]
        inputs = []
        for spec in case["inputs"]:
            array = np.load(program.parent / spec["file"])
            inputs.append(array.view(VIEWS[spec["dtype"]]) if spec["dtype"] in VIEWS else array)
        flush = "flush" if case.get("denormals") == "flush" else "ieee"
        yield case["name"], program.read_text(), inputs, {"registry": registry, "denormals": flush}


def large(args):
    """Yields (name, text, inputs, options) for a family of large shapes. Lowered programs are cached."""
    args.cache.mkdir(parents=True, exist_ok=True)
    # A program is lowered again if JAX or the file with its source has changed.
    version = hashlib.sha256(pathlib.Path(shapes.__file__).read_bytes() + jax.__version__.encode()).hexdigest()[:12]
    for name in shapes.FAMILIES[args.family]:
        if args.filter not in name:
            continue
        function, inputs = shapes.case(args.family, name)
        file = args.cache / f"{name.replace(' ', '_').replace('/', '_')}.{version}.mlir"
        if not file.exists():
            part = file.with_suffix(".part")
            part.write_text(jax.jit(function, keep_unused=True).lower(*inputs).as_text())
            part.rename(file)
        flat = [np.asarray(x) for x in jax.tree_util.tree_leaves(inputs)]
        yield name, file.read_text(), flat, {}


def here():
    """Describes the time and the machine."""
    lines = pathlib.Path("/proc/cpuinfo").read_text().splitlines()
    value = lambda key: next((line.split(":", 1)[1].strip() for line in lines if line.startswith(key)), "unknown")
    flags = set(value("flags").split())
    caches = []
    for index in sorted(pathlib.Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        read = lambda name, index=index: (index / name).read_text().strip()
        if read("type") != "Instruction":
            caches.append(f"L{read('level')} {read('size')}")
    return {
        "when": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
        "commit": os.environ.get("FARCALL_COMMIT", ""),
        "processor": value("model name"),
        "family": f"family {value('cpu family')}, model {value('model')}" if value("cpu family") != "unknown" else "",
        "vectors": next((name for name in ("avx512f", "avx2", "asimd") if name in flags), "none"),
        "cores": len(os.sched_getaffinity(0)),
        "caches": ", ".join(caches),
        "load": os.getloadavg()[0],
        "versions": {"jaxlib": jaxlib.__version__, "numpy": np.__version__, "python": platform.python_version()},
    }


def progress(text):
    if sys.stderr.isatty():
        print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("family", choices=["corpus", *shapes.FAMILIES])
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--cache", type=pathlib.Path)
    parser.add_argument("--manifest", type=pathlib.Path)
    parser.add_argument("--load")
    parser.add_argument("--filter", default="")
    parser.add_argument("--seconds", type=float, default=1.5)
    args = parser.parse_args()
    if args.family == "corpus":
        # The corpus has 64-bit values.
        jax.config.update("jax_enable_x64", True)
    seconds = min(args.seconds, 0.3) if args.family == "corpus" else args.seconds

    rows, sitting = [], here()
    print(f"{'case':36} {'compile, ms':>18} {'':>8} {'run, ms':>22} {'':>8}")
    print(f"{'':36} {'farcall':>9}{'XLA':>9} {'ratio':>8} {'farcall':>11}{'XLA':>11} {'ratio':>8}")
    for name, text, inputs, options in (corpus if args.family == "corpus" else large)(args):
        progress(name)
        try:
            row = {"name": name, **compare(text, inputs, seconds=seconds, options=options)}
        except Exception as error:  # noqa: BLE001 - every failure becomes a row of the table
            row = {"name": name, "error": (str(error).splitlines() or [type(error).__name__])[0][:90]}
        rows.append(row)
        progress("")
        if "error" in row:
            print(f"{name:36} left out: {row['error']}", flush=True)
            continue
        (fc, xc), (fr, xr) = ([row[what][side]["median"] for side in ("farcall", "xla")] for what in ("compile", "run"))
        apart = f"  results differ by {row['difference']:.1e}" if not row["agree"] else ""
        print(
            f"{name:36} {fc * 1e3:9.2f}{xc * 1e3:9.0f} {xc / fc:7.0f}x {fr * 1e3:11.4f}{xr * 1e3:11.4f} {xr / fr:7.2f}x{apart}",
            flush=True,
        )
    args.out.write_text(json.dumps({**sitting, "rows": rows}, indent=1))
    ratios = [math.log(r["run"]["xla"]["median"] / r["run"]["farcall"]["median"]) for r in rows if "run" in r]
    if ratios:
        mean = math.exp(sum(ratios) / len(ratios))
        print(f"{args.family}: XLA takes {mean:.2f} times as long, in the geometric mean of {len(ratios)} cases")


if __name__ == "__main__":
    main()
