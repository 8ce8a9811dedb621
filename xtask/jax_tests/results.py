"""Results on disk: one file of events for each test file, backend and mode.

    0.10.2/x32-10-cases/cpu/api_test.jsonl     events, in the order of time
    0.10.2/x32-10-cases/cpu/api_test.log       output of the last worker

Events are lines of JSON. Both the worker and the process that started it append events, and nothing is ever
rewritten, so a process that is killed loses nothing. `at` is the time of an event in seconds.

    worker     a worker starts: `build`, `platform`, `command`, `checkout`
    collected  names of all tests of the file, if they differ from the previous ones
    broken     the tests cannot be collected: `reason`, `text`
    start      a test starts: `test`, `log` (size of the log)
    end        a test ends: `test`, `status`, `seconds`, `cpu`, `reason`, `text`
    exit       a worker has ended: `code` (null if the run was interrupted), `seconds`, `cpu`
    forget     results that no longer count: `tests`, `broken`
"""

import json
import os
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

PASSED, FAILED, SKIPPED, CRASHED, TIMEOUT = "passed", "failed", "skipped", "crashed", "timeout"


@dataclass(frozen=True)
class Outcome:
    """Result of one test."""

    status: str
    seconds: float = 0.0
    reason: str = ""
    """Type of the error and the first line of its message, or the reason for skipping."""
    text: str = ""
    """End of the traceback, or the output of a crashed process."""
    build: str = ""


@dataclass
class Results:
    """Results of one test file on one backend."""

    tests: list[str] | None = None
    """Names of all tests; `None` before the first collection."""
    outcomes: dict[str, Outcome] = field(default_factory=dict)
    running: dict | None = None
    """Event of the test that has started and not ended."""
    broken: Outcome | None = None
    """Reason for which no test can run."""
    exit_code: int | None = None
    """Exit code of the last worker that has ended."""
    seconds: float = 0.0
    """Wall time of the workers from start to exit. Repetitions of single tests do not count."""
    cpu: float = 0.0
    """CPU time of the workers, as `seconds`."""
    worker: dict = field(default_factory=dict)
    """Event of the last worker."""

    @property
    def remaining(self) -> list[str] | None:
        """Tests without a result; `None` before the first collection."""
        if self.tests is None:
            return None
        return [test for test in self.tests if test not in self.outcomes]

    @property
    def complete(self) -> bool:
        return self.broken is not None or self.remaining == []

    def outcome(self, test: str) -> Outcome | None:
        """Returns the result of a test; `None` if it has not run yet."""
        if found := self.outcomes.get(test):
            return found
        if self.broken:
            return self.broken
        if self.tests is not None and test not in self.tests:
            return Outcome(FAILED, reason="the file has no such test on this backend")
        return None


def fold(events: Iterable[dict]) -> Results:
    """Returns the results that a sequence of events describes."""
    results = Results()
    repeated = False
    # Times of a worker without an exit event: it was killed together with its parent.
    unfinished, unfinished_cpu = 0.0, 0.0
    for event in events:
        kind = event["event"]
        if kind == "worker":
            results.seconds += unfinished
            results.cpu += unfinished_cpu
            results.worker, results.exit_code, results.running = event, None, None
            unfinished, unfinished_cpu = 0.0, 0.0
        elif kind == "collected":
            results.tests, results.broken = event["tests"], None
        elif kind == "broken":
            results.broken = Outcome(FAILED, reason=event["reason"], text=event["text"])
        elif kind == "start":
            results.running = event
        elif kind == "end":
            results.running = None
            results.outcomes[event["test"]] = Outcome(
                event["status"],
                event["seconds"],
                event["reason"],
                event["text"],
                results.worker.get("build", ""),
            )
        elif kind == "exit":
            results.exit_code = event["code"]
            unfinished, unfinished_cpu = 0.0, 0.0
            if not repeated:
                results.seconds += event["seconds"]
                results.cpu += event["cpu"]
        elif kind == "forget":
            repeated = True
            for test in event["tests"]:
                results.outcomes.pop(test, None)
            if event["broken"]:
                results.broken = None
        if kind in ("collected", "broken", "start", "end") and not repeated:
            unfinished = event["at"] - results.worker["at"]
            unfinished_cpu += event.get("cpu", 0.0)
    results.seconds += unfinished
    results.cpu += unfinished_cpu
    return results


class EventFile:
    """The events of one test file on one backend."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> Iterator[dict]:
        """Yields all events. A line that a killed process left incomplete is not an event."""
        if self.path.is_file():
            for line in self.path.read_bytes().splitlines():
                try:
                    yield json.loads(line)
                except ValueError:
                    continue

    def results(self) -> Results:
        return fold(self.read())

    def append(self, event: str, **fields) -> None:
        """Appends one event with a single write, so that events of two processes do not mix."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        line = json.dumps({"event": event, "at": round(time.time(), 3), **fields}).encode() + b"\n"
        file = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o666)
        try:
            size = os.fstat(file).st_size
            if size and os.pread(file, 1, size - 1) != b"\n":
                line = b"\n" + line
            os.write(file, line)
        finally:
            os.close(file)

    def forget(self, tests: list[str], broken: bool = False) -> None:
        """Makes these tests run again in the next run."""
        self.append("forget", tests=tests, broken=broken)

    def remove(self) -> None:
        """Removes all results, so that the next run starts from nothing."""
        self.path.unlink(missing_ok=True)

    @property
    def log(self) -> Path:
        return self.path.with_suffix(".log")


@dataclass(frozen=True)
class Mode:
    """Settings that change the tests or their computations. Results of different modes are kept apart."""

    jax: str
    """Version of JAX."""
    x64: bool = False
    cases: int = 10
    """Value of `JAX_NUM_GENERATED_CASES`."""
    devices: int | None = 1
    """Number of devices; `None` leaves the number to each test file."""

    @property
    def precision(self) -> str:
        return "x64" if self.x64 else "x32"

    def __str__(self) -> str:
        devices = {1: "", None: "-any-devices"}.get(self.devices, f"-{self.devices}-devices")
        return f"{self.precision}-{self.cases}-cases{devices}"


class Store:
    """The folder of the results in one mode."""

    def __init__(self, root: Path, mode: Mode) -> None:
        self.root = root / mode.jax / str(mode)
        self.mode = mode

    def events(self, file: str, backend: str) -> EventFile:
        """Returns the events of a test file, such as `api_test.py`, on a backend."""
        return EventFile(self.root / backend / Path(file).with_suffix(".jsonl").name)

    def results(self, file: str, backend: str) -> Results:
        return self.events(file, backend).results()

    def files(self, backend: str) -> list[str]:
        """Returns the test files that have results on a backend."""
        return sorted(path.with_suffix(".py").name for path in (self.root / backend).glob("*.jsonl"))
