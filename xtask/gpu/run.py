#!/usr/bin/env python3
"""Checks of farcall's ops for CUDA, on a machine with a GPU. Needs Python, JAX with its CUDA plugin, and
CUDA's tools; neither Rust nor a network.

Each check is a process with a time limit. Together, the limits fit in the time limit of the run: some time is
reserved for each later check, so slow checks do not use up all of it. Results are written after each check:
`results.json`, and `results.md` as a page.
"""

import argparse
import concurrent.futures
import fnmatch
import gzip
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from checks import listing, report  # noqa: E402

#: Exit status if the machine lacks something that all checks need.
INCOMPLETE_MACHINE = 2

#: Time limit of all checks together, in seconds.
TOTAL_SECONDS = 465

#: Maximum number of lines of each check in results.log.
LOG_LINES = 300


def arguments():
    parser = argparse.ArgumentParser(
        prog="run", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--list", action="store_true", help="list the checks with their maximum time limits, and exit"
    )
    parser.add_argument(
        "--only",
        action="append",
        metavar="NAME",
        help="run this check (patterns such as 'op-*' are allowed); may be repeated",
    )
    parser.add_argument(
        "--platform",
        choices=["cuda", "cpu"],
        default="cuda",
        help="where the ops run; cpu tests the checks themselves, with small inputs on JAX's CPU backend",
    )
    parser.add_argument(
        "--out",
        type=Path,
        default=HERE,
        metavar="DIR",
        help="folder for results.json, results.md and results.log (default: the folder of run)",
    )
    parser.add_argument(
        "--seconds",
        type=float,
        default=TOTAL_SECONDS,
        metavar="N",
        help=f"time limit of the whole run (default {TOTAL_SECONDS})",
    )
    return parser.parse_args()


def unpack():
    """Decompresses the programs and libraries of this folder, unless an earlier run has done so."""
    for packed in HERE.rglob("*.gz"):
        file = packed.with_suffix("")
        if not file.exists():
            # An interrupted run leaves no incomplete file.
            partial = packed.with_suffix(".partial")
            with gzip.open(packed) as source, open(partial, "wb") as out:
                shutil.copyfileobj(source, out)
            partial.chmod(0o755)
            partial.replace(file)


def chosen(patterns):
    """Returns the checks that match a pattern.

    Raises:
      SystemExit: if a pattern matches no check.
    """
    checks = listing.checks()
    for pattern in patterns or []:
        if not any(fnmatch.fnmatchcase(check.name, pattern) for check in checks):
            names = ", ".join(check.name for check in checks)
            sys.exit(f"error: no check is named {pattern}; the checks are {names}")
    return [
        check for check in checks if not patterns or any(fnmatch.fnmatchcase(check.name, p) for p in patterns)
    ]


def environment(check, platform, logs):
    """Returns the environment variables of a check's process."""
    env = dict(os.environ)
    env["PYTHONPATH"] = os.pathsep.join(
        [str(HERE / "python"), str(HERE), *filter(None, [env.get("PYTHONPATH")])]
    )
    env.update(
        PYTHONDONTWRITEBYTECODE="1",
        PYTHONUNBUFFERED="1",
        PYTHONFAULTHANDLER="1",
        JAX_TRACEBACK_FILTERING="off",
    )
    env.update(JAX_ENABLE_X64="1", JAX_PLATFORMS="cuda,cpu" if platform == "cuda" else "cpu")
    # Memory that XLA reserves in advance would hide accesses past the end of a buffer, and other processes
    # may use the GPU.
    env.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    flags = [env.get("XLA_FLAGS", ""), *check.xla_flags(logs)]
    if platform == "cpu":
        flags.append("--xla_force_host_platform_device_count=2")
    env["XLA_FLAGS"] = " ".join(filter(None, flags))
    # The libraries in NVIDIA's wheels, for the ops: JAX finds them by itself.
    folders = listing.nvidia_folders() if platform == "cuda" else []
    env["LD_LIBRARY_PATH"] = os.pathsep.join(filter(None, [env.get("LD_LIBRARY_PATH"), *map(str, folders)]))
    return env


def run(check, platform, logs, limit):
    """Runs a check in a separate process, for at most `limit` seconds. Returns its results and the time that
    it took."""
    results, log = logs / f"{check.name}.jsonl", logs / f"{check.name}.log"
    results.unlink(missing_ok=True)
    command = [sys.executable, "-m", "checks", check.name, "--platform", platform, "--results", str(results)]
    started = time.monotonic()
    with open(log, "wb") as out:
        process = subprocess.Popen(
            command,
            cwd=HERE,
            env={**environment(check, platform, logs), listing.LIMIT_VARIABLE: f"{limit:.1f}"},
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            status = process.wait(limit)
        except subprocess.TimeoutExpired:
            status = None
        except KeyboardInterrupt:
            end(process)
            raise
        finally:
            end(process)
    entries = read_results(results)
    if status is None:
        why = f"did not end within {limit:.0f} s"
    elif status < 0:
        why = f"ended by signal {signal.Signals(-status).name}"
    elif status != 0:
        why = f"ended with status {status}"
    else:
        why = None if entries else "recorded no results"
    if why is not None:
        last = [line for line in log.read_text(errors="replace").splitlines() if line.strip()][-1:]
        entries.append(
            {"name": check.name, "outcome": "FAIL", "reason": "; ".join([why, *last]), "figures": {}}
        )
    return entries, time.monotonic() - started


def read_results(path):
    """Returns the results in a file. If the check was killed, the last line may be incomplete."""
    entries = []
    for line in path.read_text(errors="replace").splitlines() if path.exists() else []:
        try:
            entries.append(json.loads(line))
        except ValueError:
            pass
    return entries


def write_log(path, logs, names):
    """Writes the last lines of each check's log to one file."""
    parts = []
    for name in names:
        log = logs / f"{name}.log"
        lines = log.read_text(errors="replace").splitlines() if log.exists() else []
        parts.append("\n".join([f"#### {name}", *lines[-LOG_LINES:], ""]))
    path.write_text("\n".join(parts))


def end(process):
    """Ends the process of a check, and the processes that it has started."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()


def main():
    args = arguments()
    unpack()
    checks = chosen(args.only)
    if args.list:
        width = max(len(check.name) for check in checks)
        for check in checks:
            print(f"{check.name:{width}}  {check.seconds:4} s  {check.about}")
        return 0
    # The folder `logs` may have many files, so it stays here. results.log has the last lines of each log.
    logs = HERE / "logs"
    for folder in (logs, args.out):
        folder.mkdir(parents=True, exist_ok=True)
    started = time.monotonic()
    page = report.Report(args.out, args.platform, json.loads((HERE / "pack.json").read_text()))

    # On a GPU, checks must not disturb each other's times.
    at_once = 1 if args.platform == "cuda" else os.cpu_count() or 1

    def timed(check):
        left = args.seconds - (time.monotonic() - started)
        limit = listing.limit(check, checks, left) if at_once == 1 else min(check.seconds, left)
        if limit >= 5:
            return check, *run(check, args.platform, logs, limit)
        return (
            check,
            [{"name": check.name, "outcome": "FAIL", "reason": "no time was left", "figures": {}}],
            0.0,
        )

    def done(check, entries, took):
        page.add(check, entries, took)
        write_log(args.out / "results.log", logs, page.names())
        passed = sum(entry["outcome"] == "PASS" for entry in entries)
        print(f"{check.name}: {passed} of {len(entries)} passed, {took:.1f} s")
        for entry in entries:
            if entry["outcome"] != "PASS":
                print(f"  {entry['outcome']}: {entry['name']}: {entry['reason']}", flush=True)

    machine, entries, took = timed(listing.ENVIRONMENT)
    done(machine, entries, took)
    # A case that failed says what the machine lacks. The entry of the check itself says only that its process
    # has crashed or took too long: the other checks may run all the same.
    named = [entry for entry in entries if entry["name"] != machine.name]
    if missing := [entry["reason"] for entry in named if entry["outcome"] == "FAIL"]:
        text = f"error: this machine cannot run the checks: {'; '.join(missing)}"
        print(text, file=sys.stderr, flush=True)
        print(page.summary())
        return INCOMPLETE_MACHINE
    with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
        for check, entries, took in pool.map(timed, [check for check in checks if check is not machine]):
            done(check, entries, took)
    print(f"\nwrote {args.out / 'results.md'} and results.json, in {time.monotonic() - started:.0f} s")
    print(page.summary())
    return 1 if page.count("FAIL") else 0


if __name__ == "__main__":
    sys.exit(main())
