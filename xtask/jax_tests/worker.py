"""A worker process: pytest with the plugin `streaming`, and the time limits that its parent enforces."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from jax_tests.backends import Backend, clean_environment
from jax_tests.endings import HUNG, cause_of, excerpt
from jax_tests.results import TIMEOUT, EventFile, Mode

_POLL_SECONDS = 0.05
#: Maximum time until a process that is about to be killed writes the stacks of its threads.
_STACKS_SECONDS = 5.0
#: Time for writing the stacks to their end.
_WRITING_SECONDS = 0.5


@dataclass(frozen=True)
class Options:
    """Settings of a run."""

    checkout: Path
    """Checkout of JAX."""
    package: Path
    """Folder of the package under test."""
    jobs: int = 1
    test_seconds: float = 120
    """Time limit of one test."""
    start_seconds: float = 600
    """Time limit between tests, before the first test and after the last one."""


class Worker:
    """One process that runs the remaining tests of a file."""

    def __init__(self, file: str, backend: Backend, mode: Mode, events: EventFile, options: Options) -> None:
        self.options = options
        self.events = events
        chosen = {
            **backend.variables(self.options.package, mode.devices),
            "JAX_ENABLE_X64": str(int(mode.x64)),
            "JAX_NUM_GENERATED_CASES": str(mode.cases),
            "JAX_SKIP_SLOW_TESTS": "1",
        }
        # -P keeps the checkout's own, incomplete packages off the path. Captured output would be lost in a
        # crash, and JAX's tests redirect the file of sys.stdout themselves.
        python = [sys.executable, "-P", "-m"]
        pytest = [*python, "pytest", "--capture=no", "--tb=native", "-p", "no:cacheprovider"]
        if mode.devices is not None:
            chosen["JAX_TESTS_DEVICES"] = str(mode.devices)
            pytest += ["-p", "jax_tests.devices"]
        self.description = {
            "checkout": str(options.checkout),
            "command": [*(f"{name}={value}" for name, value in chosen.items()), *pytest],
        }
        quiet = ["-q", "--no-header", "--no-summary"]
        self.command = [*pytest, "-p", "jax_tests.streaming", *quiet, f"tests/{file}"]
        settings = {"events": str(events.path.resolve()), "parent": os.getpid()}
        self.environment = {
            **clean_environment(),
            **chosen,
            "HYPOTHESIS_STORAGE_DIRECTORY": str(events.path.parent.resolve() / "hypothesis"),
            "JAX_TESTS_WORKER": json.dumps(settings),
        }

    def run(self, identity: dict[str, str], stopping: threading.Event) -> None:
        """Runs the process to its end, to a time limit, or until `stopping` is set. `identity` has the
        `build` and the `platform` of the backend."""
        self.events.append("worker", **identity, **self.description)
        tail = Tail(self.events.path)
        started = time.monotonic()
        with self.events.log.open("w") as log:
            process = subprocess.Popen(
                self.command,
                cwd=self.options.checkout,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        try:
            code, cpu = self.watch(process, tail, stopping)
        finally:
            # Also ends children of the worker.
            kill_group(process.pid)
        seconds = round(time.monotonic() - started, 2)
        self.events.append("exit", code=code, seconds=seconds, cpu=round(cpu, 2))

    def watch(
        self, process: subprocess.Popen, tail: "Tail", stopping: threading.Event
    ) -> tuple[int | str | None, float]:
        """Waits for the process, or ends it at a time limit or when the run stops. Returns its exit code, and
        its CPU time. The exit code is `None` if the run stops."""
        last_event = time.monotonic()
        while (ended := ended_process(process)) is None:
            if tail.read():
                last_event = time.monotonic()
            running = tail.running
            limit = self.options.test_seconds if running else self.options.start_seconds
            if stopping.is_set():
                return None, kill(process)
            if time.monotonic() - last_event > limit:
                write_stacks(process, self.events.log)
                cpu = kill(process)
                tail.read()
                # The test may have ended while the stacks were written.
                if running and running == tail.running:
                    end_test(self.events, running, TIMEOUT, f"over {limit:g} s", seconds=limit)
                return HUNG, cpu
            time.sleep(_POLL_SECONDS)
        return ended


class Tail:
    """Follows the events that a worker appends."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.offset = path.stat().st_size
        self.running: dict | None = None
        """Event of the test that has started and not ended."""

    def read(self) -> bool:
        """Reads new events. Returns true if there were any."""
        if self.path.stat().st_size == self.offset:
            return False
        with self.path.open("rb") as file:
            file.seek(self.offset)
            complete = file.read().rpartition(b"\n")[0]
        self.offset += len(complete) + bool(complete)
        for event in map(json.loads, complete.splitlines()):
            self.running = event if event["event"] == "start" else None
        return bool(complete)


def ended_process(process: subprocess.Popen, options: int = os.WNOHANG) -> tuple[int, float] | None:
    """Returns the exit code and the CPU time of a process; `None` if it runs."""
    pid, status, usage = os.wait4(process.pid, options)
    if not pid:
        return None
    process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, usage.ru_utime + usage.ru_stime


def write_stacks(process: subprocess.Popen, log: Path) -> None:
    """Lets a process write the stacks of its threads to its log."""
    size = log.stat().st_size
    process.send_signal(signal.SIGUSR1)
    deadline = time.monotonic() + _STACKS_SECONDS
    while log.stat().st_size == size and time.monotonic() < deadline:
        time.sleep(_POLL_SECONDS)
    time.sleep(_WRITING_SECONDS)


def kill(process: subprocess.Popen) -> float:
    """Kills a process and its children. Returns its CPU time."""
    kill_group(process.pid)
    return ended_process(process, options=0)[1]


def kill_group(pid: int) -> None:
    """Kills the processes of a worker's session that are left."""
    try:
        os.killpg(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def end_test(events: EventFile, start: dict, status: str, reason: str, seconds: float | None = None) -> None:
    """Stores the result of a test whose process ended, with the output since the start of the test."""
    text = excerpt(events.log, start["log"])
    if cause := cause_of(text):
        reason = f"{reason}: {cause}"
    if seconds is None:
        seconds = round(time.time() - start["at"], 2)
    events.append("end", test=start["test"], status=status, seconds=seconds, cpu=0, reason=reason, text=text)
