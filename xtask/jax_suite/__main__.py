"""`python xtask/jax_suite capture|compare`: see `cargo xtask jax-suite --help`."""

import argparse
import os
from pathlib import Path

from store import Store


def main() -> None:
    parser = argparse.ArgumentParser(prog="jax_suite", description="JAX's own tests as a test suite for farcall.")
    parser.add_argument("--store", type=Path, required=True, help="folder of captured programs")
    phases = parser.add_subparsers(dest="phase", required=True)
    phase = phases.add_parser("capture", help="run JAX's tests and keep the programs they compile")
    phase.add_argument("--jax", type=Path, required=True, help="checkout of JAX at the tag of the installed version")
    phase.add_argument("--modes", default="x32,x64", help="x32, x64 or both")
    phase.add_argument("--jobs", type=int, default=max(1, (os.cpu_count() or 2) // 2))
    phase.add_argument("--rounds", type=int, default=1, help="number of runs of each file, each in another order")
    phase.add_argument("--seconds", type=float, default=60, help="CPU time limit in seconds for one file in one mode")
    phase.add_argument("--programs", type=int, default=400, help="maximum number of programs from one file in one mode")
    phase.add_argument("--test-programs", type=int, default=40, help="maximum number of programs from one test, over all its parametrizations")
    phase.add_argument("--test-seconds", type=float, default=15, help="time limit in seconds for one test")
    phase.add_argument("--cases", type=int, default=10, help="value of JAX_NUM_GENERATED_CASES for the tests")
    phase.add_argument("--seed", type=int, default=0, help="seed of the order of the tests")
    phase.add_argument("files", nargs="*", help="test files; all if none is given")
    phase = phases.add_parser("compare", help="run the captured programs in farcall, and report")
    phase.add_argument("--jobs", type=int, default=max(1, (os.cpu_count() or 2) // 2))
    phase.add_argument("--timeout", type=float, default=30, help="time limit in seconds for one program")
    phase.add_argument("--memory", type=int, default=8, help="limit of the address space of one worker, in GiB")
    phase.add_argument("--file", dest="files", action="append", default=[], help="only programs of this test file")
    phase.add_argument("--pending", action="store_true", help="only programs that did not agree, or were not compared yet")
    phase.add_argument("names", nargs="*", help="programs; all if none is given")
    args = parser.parse_args()
    if args.phase == "capture":
        from capture import Options, capture

        options = vars(args) | {
            "modes": args.modes.split(","),
            "jax": args.jax.resolve(),
            "store": args.store.resolve(),
        }
        capture(Options(**{k: v for k, v in options.items() if k != "phase"}))
    elif args.phase == "compare":
        from compare import Options, compare, verdicts
        from report import Report

        root = args.store.resolve()
        names = args.names or Store(root).names(args.files)
        known = verdicts(root) if args.pending else {}
        pending = [name for name in names if known.get(name, {}).get("verdict") != "agrees"]
        known |= compare(Options(root, pending, args.jobs, args.timeout, args.memory << 30))
        if not Report.of(root, [known[name] for name in names]).write():
            raise SystemExit(1)


if __name__ == "__main__":
    main()
