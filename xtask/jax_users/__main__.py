"""`python -m jax_users`: see `cargo xtask help`, task `jax-users`."""

import argparse
import fnmatch
import importlib.metadata
import platform
import sys
from pathlib import Path

from jax_users.report import heading, problems, row
from jax_users.runner import Runner

_PROGRAMS = Path(__file__).parent / "programs"
#: Packages whose versions are printed.
LIBRARIES = ("jax", "jaxlib", "flax", "optax", "equinox", "numpyro", "diffrax", "blackjax", "numpy", "scipy")


def parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="cargo xtask jax-users",
        allow_abbrev=False,
        description="Runs training and sampling programs of JAX's users on XLA:CPU and on farcall, and"
        " compares their numbers and times. Fails if a program fails or the numbers disagree.",
    )
    parser.add_argument(
        "names",
        nargs="*",
        help=f"programs or their libraries; all if none is given: {', '.join(available())}",
    )
    parser.add_argument(
        "--package",
        type=Path,
        default=Path("target/python"),
        metavar="DIR",
        help="folder with the package under test (default: built in release mode)",
    )
    parser.add_argument(
        "--pairs",
        type=int,
        default=1,
        metavar="N",
        help="runs on each backend; times are medians (default: 1)",
    )
    parser.add_argument(
        "--test-seconds", type=float, default=600, metavar="N", help="time limit of a run (default: 600)"
    )
    return parser


def available() -> list[str]:
    """Returns the names of all programs."""
    return sorted(path.stem for path in _PROGRAMS.glob("[!_]*.py"))


def chosen(names: list[str]) -> list[str]:
    """Returns the programs that names, patterns or names of libraries select."""
    found = []
    for name in names or ["*"]:
        matches = [p for p in available() if fnmatch.fnmatchcase(p, name) or p.split("_")[0] == name]
        if not matches:
            raise SystemExit(f"error: no program matches `{name}`; there are {', '.join(available())}")
        found += matches
    return list(dict.fromkeys(found))


def main() -> None:
    args = parser().parse_args()
    programs = chosen(args.names)
    if args.pairs < 1:
        raise SystemExit("error: --pairs must be at least 1")
    package = args.package.resolve()
    if not (package / "farcall").is_dir():
        raise SystemExit(f"error: {package} has no package `farcall`")
    versions = [f"{name} {importlib.metadata.version(name)}" for name in LIBRARIES]
    print(f"Python {platform.python_version()}, {', '.join(versions)}\n\n{heading()}", flush=True)
    found = []
    for runs in Runner(package, args.test_seconds).run_all(programs, args.pairs):
        print(row(runs), flush=True)
        for problem in problems(runs):
            print(problem, flush=True)
            found.append(problem)
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
