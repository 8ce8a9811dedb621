"""`python -m jax_tests`: see `cargo xtask help`, task `jax-tests`."""

import argparse
import fnmatch
import importlib.metadata
import os
import re
from pathlib import Path

from jax_tests.backends import BACKENDS, REFERENCE
from jax_tests.comparison import compare_files
from jax_tests.expected import PATH, Expected
from jax_tests.report import Report, details
from jax_tests.results import PASSED, SKIPPED, Mode, Store
from jax_tests.runner import Runner
from jax_tests.worker import Options

# Files that run no tests here: they need other hardware, several hosts or other frameworks.
_ELSEWHERE = re.compile(r"gpu|mosaic|tpu|triton|multiprocess|distributed|torch|local_wheel")


def parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="cargo xtask jax-tests",
        allow_abbrev=False,
        description="Runs JAX's own tests on XLA:CPU and on farcall, and compares the results.",
        epilog="Without --jax, only reports the stored results.",
    )
    run = parser.add_argument_group("what to run")
    run.add_argument(
        "files", nargs="*", help="test files, such as api_test.py, api or 'lax_*'; all if none is given"
    )
    run.add_argument(
        "--jax", type=Path, metavar="CHECKOUT", help="checkout of JAX at the tag of the installed version"
    )
    run.add_argument(
        "--package", type=Path, default=Path("target/python"), help="folder with the package under test"
    )
    run.add_argument("--backend", choices=BACKENDS, default="farcall", help="backend to compare with XLA:CPU")
    run.add_argument("--x64", action="store_true", help="with JAX_ENABLE_X64; the results are kept apart")
    run.add_argument(
        "--cases", type=int, default=10, help="number of generated cases for each test (default: 10)"
    )
    run.add_argument("--devices", type=int, default=1, help="number of devices (default: 1)")
    run.add_argument("--reference-only", action="store_true", help="run only XLA:CPU")
    run.add_argument(
        "--again",
        metavar="failed|all|PATTERN",
        help="forget results of the backend first: of failing tests, of all tests, or of tests with matching"
        " names; with --reference-only, of XLA:CPU. Otherwise a test with a result does not run again",
    )
    run.add_argument(
        "--jobs", type=int, default=os.cpu_count() or 1, help="number of processes (default: cores)"
    )
    run.add_argument("--test-seconds", type=float, default=120, help="time limit of a test (default: 120)")
    run.add_argument("--store", type=Path, default=Path("target/jax-tests"), help="folder of the results")
    show = parser.add_argument_group("what to print")
    show.add_argument(
        "--failures", action="store_true", help="group the failures by error, most frequent first"
    )
    show.add_argument(
        "--error", default="", metavar="TEXT", help="only failures with TEXT in the error or name"
    )
    show.add_argument(
        "--show", metavar="NAME", help="print errors and command of a test: name, pattern or part"
    )
    update = parser.add_argument_group("expected failures")
    update.add_argument("--list", type=Path, default=PATH, help="list of expected failures")
    update.add_argument("--update", action="store_true", help="remove tests that pass from the list")
    update.add_argument(
        "--add", metavar="REASON", help="list the unexpected failures; select them with --error"
    )
    return parser


def chosen_files(available: list[str], wanted: list[str]) -> list[str]:
    """Returns the files that names, paths or patterns select; by default all files for this hardware."""
    if not wanted:
        return [file for file in available if not _ELSEWHERE.search(file)]
    found = []
    for want in wanted:
        stem = Path(want).name.removesuffix(".py").removesuffix("_test")
        matches = [file for file in available if fnmatch.fnmatchcase(file, f"{stem}_test.py")]
        if not matches:
            raise SystemExit(f"error: no test file matches `{want}`")
        found += matches
    return list(dict.fromkeys(found))


def forget(store: Store, file: str, backend: str, what: str) -> None:
    """Forgets results on a backend, so that the tests run again."""
    events = store.events(file, backend)
    if what == "all":
        events.remove()
        return
    results = events.results()
    if what == "failed":
        reference = store.results(file, REFERENCE.name).outcomes
        passing = {test for test, outcome in reference.items() if outcome.status == PASSED}
        tests = [
            test
            for test, outcome in results.outcomes.items()
            if outcome.status != PASSED and (test in passing or outcome.status != SKIPPED)
        ]
    else:
        tests = [test for test in results.tests or [] if fnmatch.fnmatchcase(test, what)]
    if tests or results.broken:
        events.forget(tests, broken=True)


def main() -> None:
    args = parser().parse_intermixed_args()
    mode = Mode(importlib.metadata.version("jax"), args.x64, args.cases, args.devices)
    store = Store(args.store.resolve(), mode)
    backend = BACKENDS[args.backend]
    if args.show:
        print(details(args.show, store, backend))
        return
    if args.jax:
        available = sorted(path.name for path in (args.jax / "tests").glob("*_test.py"))
    else:
        available = sorted({*store.files(REFERENCE.name), *store.files(backend.name)})
    files = chosen_files(available, args.files)
    if args.jax:
        if args.again:
            forgotten = REFERENCE if args.reference_only else backend
            for file in files:
                forget(store, file, forgotten.name, args.again)
        options = Options(args.jax.resolve(), args.package.resolve(), args.jobs, args.test_seconds)
        Runner(options, store).run(files, [REFERENCE] if args.reference_only else [REFERENCE, backend])
        if args.reference_only:
            return
    expected = Expected.load(args.list)
    results = {
        file: tuple(store.results(file, name) for name in (REFERENCE.name, backend.name)) for file in files
    }
    report = Report(
        backend, compare_files(results, expected, mode), backend.build(args.package), expected.strict(mode)
    )
    if args.update or args.add:
        edit(args, expected, mode, report)
        report.comparisons = compare_files(results, expected, mode)
    summary = report.failures(args.error) if args.failures or args.error else report.summary()
    print(summary)
    if not (args.failures or args.error):
        store.root.mkdir(parents=True, exist_ok=True)
        (store.root / f"{backend.name}.txt").write_text(summary + "\n", encoding="utf-8")
        if not report.good:
            raise SystemExit(1)


def edit(args: argparse.Namespace, expected: Expected, mode: Mode, report: Report) -> None:
    """Changes the list of expected failures as the options say."""
    if not expected.strict(mode):
        raise SystemExit(f"error: the list is for --cases {expected.cases}")
    if args.update:
        for comparison in report.comparisons:
            expected.remove(mode, comparison.corrections())
    if args.add:
        expected.add(args.add, report.unexpected(args.error))
    expected.save(args.list)


if __name__ == "__main__":
    main()
