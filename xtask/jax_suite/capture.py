"""Runs JAX's test files with `hooks.py` loaded, one process for each file, in x32 and x64 mode."""

import collections
import json
import os
import re
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent

# Files that run no programs here: they need other hardware or several hosts, or do not use the compiler.
_ELSEWHERE = re.compile(r"gpu|mosaic|tpu|triton|multiprocess|distributed|torch|notebooks|local_wheel|profiler")


@dataclass
class Options:
    """Selection of the tests, and limits of their time."""

    jax: Path
    store: Path
    files: list[str]
    modes: list[str]
    jobs: int
    rounds: int
    seconds: float
    programs: int
    test_programs: int
    test_seconds: float
    cases: int
    seed: int


def test_files(jax: Path, wanted: list[str]) -> list[str]:
    """Returns the test files to run, relative to the checkout."""
    if wanted:
        found = [w if (jax / w).is_file() else f"tests/{w}" for w in wanted]
        missing = [f for f in found if not (jax / f).is_file()]
        if missing:
            raise SystemExit(f"error: {jax} has no {', '.join(missing)}")
        return found
    found = sorted(str(p.relative_to(jax)) for p in (jax / "tests").rglob("*_test.py"))
    return [f for f in found if not _ELSEWHERE.search(f)]


def capture(options: Options) -> None:
    """Runs all test files and prints a line for each. Writes the numbers of programs by outcome to
    `counts.json`."""
    files = test_files(options.jax, options.files)
    jobs = [(file, mode, r) for r in range(options.rounds) for mode in options.modes for file in files]
    counts_of: dict[str, dict[str, int]] = {}
    finished: set[tuple[str, str]] = set()
    (options.store / "logs").mkdir(parents=True, exist_ok=True)
    total = 0
    started = time.monotonic()
    with ThreadPoolExecutor(options.jobs) as pool:
        running = pool.map(lambda job: (job, _run(options, *job, finished)), jobs)
        for i, ((file, mode, round_), (counts, how, seconds)) in enumerate(running, 1):
            total += counts.get("kept", 0)
            counts_of[f"{file} {mode} {round_}"] = counts
            minutes = (time.monotonic() - started) / 60
            print(
                f"{i}/{len(jobs)} {file} {mode}: {counts.get('kept', 0)} kept of {counts.get('compiled', 0)} compiled,"
                f" {how} in {seconds:.0f} s; {total} new in {minutes:.0f} min",
                flush=True,
            )
            (options.store / "counts.json").write_text(json.dumps(counts_of, indent=1), encoding="utf-8")
    print(summary(counts_of))


def summary(counts_of: dict[str, dict[str, int]]) -> str:
    """Formats the numbers of compiled programs by outcome, summed over all files."""
    total: collections.Counter[str] = collections.Counter()
    for counts in counts_of.values():
        total.update(counts)
    return "\n".join(f"{count:8}  {what}" for what, count in total.most_common() if count)


def _run(options: Options, file: str, mode: str, round_: int, finished: set) -> tuple[dict[str, int], str, float]:
    """Runs one file in one mode. Returns the numbers of programs by outcome, the way in which the process
    ended, and the seconds."""
    if (file, mode) in finished:
        return {}, "complete already", 0
    stem = f"{file.replace('/', '.').removesuffix('.py')}.{mode}.{round_}"
    counts = options.store / "logs" / f"{stem}.json"
    log = options.store / "logs" / f"{stem}.log"
    counts.unlink(missing_ok=True)
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, [str(HERE), os.environ.get("PYTHONPATH")])),
        "PYTHONDONTWRITEBYTECODE": "1",
        "JAX_PLATFORMS": "cpu",
        "JAX_ENABLE_X64": str(int(mode == "x64")),
        "JAX_NUM_GENERATED_CASES": str(options.cases),
        "JAX_SKIP_SLOW_TESTS": "1",
        "JAX_SUITE_STORE": str(options.store),
        "JAX_SUITE_FILE": file.removeprefix("tests/"),
        "JAX_SUITE_COUNTS": str(counts),
        "JAX_SUITE_PROGRAMS": str(options.programs),
        "JAX_SUITE_SECONDS": str(options.seconds),
        "JAX_SUITE_TEST_PROGRAMS": str(options.test_programs),
        "JAX_SUITE_TEST_SECONDS": str(options.test_seconds),
        "JAX_SUITE_SEED": str(options.seed + round_),
    }
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "hooks",
        "-p",
        "no:cacheprovider",
        "-q",
        "--no-header",
        "--tb=line",
        file,
    ]
    started = time.monotonic()
    with log.open("w") as out:
        process = subprocess.Popen(
            command,
            cwd=options.jax,
            env=environment,
            stdout=out,
            stderr=out,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            code = process.wait(6 * options.seconds + 120)
            how = {0: "passed", 1: "some tests failed", 2: "stopped", 5: "no tests"}.get(code, f"exit code {code}")
            if code in (0, 1, 5) and "this file has contributed" not in log.read_text(errors="replace"):
                finished.add((file, mode))
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            how = "killed"
    seconds = time.monotonic() - started
    result = json.loads(counts.read_text()) if counts.is_file() else {}
    return result, how, seconds
