"""The pytest plugin of a worker: appends each result to the event file as soon as it is known, and leaves out
the tests that have a result already.

The environment variable `JAX_TESTS_WORKER` is a JSON object: `events` (path of the event file) and `parent`
(process id).
"""

import faulthandler
import json
import os
import signal
import sys
import time
from pathlib import Path

import pytest

from jax_tests.results import FAILED, PASSED, SKIPPED, EventFile

#: Maximum length of a stored traceback. The end of a traceback says the most.
_MAX_TEXT_CHARS = 6000
#: Maximum length of the first line of an error message.
_MAX_REASON_CHARS = 300


def pytest_configure(config) -> None:
    settings = json.loads(os.environ["JAX_TESTS_WORKER"])
    # The parent sends this signal before it ends a process that exceeds its time limit.
    faulthandler.register(signal.SIGUSR1, file=sys.__stderr__, all_threads=True)
    config.pluginmanager.register(Streaming(EventFile(Path(settings["events"])), settings["parent"]))


def test_name(nodeid: str) -> str:
    """Returns the name of a test: its file, class and function."""
    return nodeid.removeprefix("tests/")


def reason_of(error: BaseException) -> str:
    """Returns the type of an error and the first line of its message."""
    lines = [line.strip() for line in str(error).splitlines()]
    first = next((line for line in lines if line), "")
    return f"{type(error).__name__}: {first}"[:_MAX_REASON_CHARS].removesuffix(": ")


class Streaming:
    """State of one worker."""

    def __init__(self, events: EventFile, parent: int) -> None:
        self.events = events
        self.parent = parent
        self.process = os.getpid()
        self.known = events.results()
        self.broken = False
        self.forget_test()

    def forget_test(self) -> None:
        """Resets the state of the running test."""
        self.status, self.reason, self.text = PASSED, "", ""
        self.started, self.cpu = time.monotonic(), time.process_time()

    def pytest_collectreport(self, report) -> None:
        if report.failed:
            self.broken = True
            text = report.longreprtext
            last = next((line for line in reversed(text.splitlines()) if line.strip()), "")
            reason = f"not collected: {last.removeprefix('E').strip()}"[:_MAX_REASON_CHARS]
            self.events.append("broken", reason=reason, text=text[-_MAX_TEXT_CHARS:])

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config, items) -> None:
        if self.broken:
            return
        names = [test_name(item.nodeid) for item in items]
        if names != self.known.tests:
            self.events.append("collected", tests=names)
        done = [item for item, name in zip(items, names) if name in self.known.outcomes]
        items[:] = [item for item, name in zip(items, names) if name not in self.known.outcomes]
        config.hook.pytest_deselected(items=done)

    def pytest_runtest_logstart(self, nodeid) -> None:
        if os.getppid() != self.parent:
            # Without the parent, no time limit holds, and a new run may have started.
            os._exit(1)
        self.forget_test()
        self.events.append("start", test=test_name(nodeid), log=os.fstat(2).st_size)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item, call):
        report = yield
        subtest = hasattr(report, "context")
        if report.failed and self.status != FAILED:
            self.status = FAILED
            error = call.excinfo.value if call.excinfo else None
            self.reason = reason_of(error) if error else report.longreprtext.strip()[:_MAX_REASON_CHARS]
            self.text = report.longreprtext[-_MAX_TEXT_CHARS:]
        elif report.skipped and not subtest and self.status == PASSED:
            self.status = SKIPPED
            skipped = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longreprtext
            expected = getattr(report, "wasxfail", None)
            self.reason = (f"expected failure {expected}" if expected is not None else skipped)[
                :_MAX_REASON_CHARS
            ]
        return report

    def pytest_runtest_logfinish(self, nodeid) -> None:
        # A child that a test has forked must not report.
        if os.getpid() == self.process:
            self.events.append(
                "end",
                test=test_name(nodeid),
                status=self.status,
                seconds=round(time.monotonic() - self.started, 4),
                cpu=round(time.process_time() - self.cpu, 4),
                reason=self.reason,
                text=self.text,
            )
