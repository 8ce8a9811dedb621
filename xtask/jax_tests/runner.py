"""Runs test files in worker processes with time limits.

A worker that crashes or exceeds a limit loses only the test that was running: that test gets the status
`crashed` or `timeout`, and a new worker runs the remaining tests. The event file decides what remains, so an
interrupted run is resumed in the same way.
"""

import collections
import fcntl
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

from jax_tests.backends import Backend, clean_environment
from jax_tests.endings import HUNG, describe, excerpt
from jax_tests.results import CRASHED, EventFile, Results, Store
from jax_tests.worker import Options, Worker, end_test

#: Maximum length of the output that is printed if JAX does not start.
_MAX_PROBE_CHARS = 3000


class Runner:
    """Runs test files in the mode of a store."""

    def __init__(self, options: Options, store: Store) -> None:
        self.options = options
        self.store = store
        self.identities: dict[str, dict[str, str]] = {}
        """`build` and `platform` of each backend."""
        self.stopping = threading.Event()

    def run(self, files: list[str], backends: list[Backend]) -> None:
        """Runs each file on each backend, and prints a line when one has run. Files with all results are
        left out."""
        jobs = [
            (file, backend)
            for file in files
            for backend in backends
            if not self.store.results(file, backend.name).complete
        ]
        for backend in {backend.name: backend for _, backend in jobs}.values():
            if backend.packaged and not self.options.package.is_dir():
                raise SystemExit(f"error: no package at {self.options.package}")
            identity = {"build": backend.build(self.options.package), "platform": self.probe(backend)}
            self.identities[backend.name] = identity
            print(f"{backend.label}: {identity['platform']}", flush=True)
        with ThreadPoolExecutor(self.options.jobs) as pool:
            try:
                for i, line in enumerate(pool.map(lambda job: self.run_file(*job), jobs), 1):
                    print(f"{i}/{len(jobs)} {line}", flush=True)
            except BaseException as error:
                self.stopping.set()
                pool.shutdown(cancel_futures=True)
                if isinstance(error, KeyboardInterrupt):
                    raise SystemExit("interrupted; the same command continues where it was") from None
                raise

    def probe(self, backend: Backend) -> str:
        """Returns the platform and devices of a backend. Ends the program if JAX cannot start it."""
        code = "import jax; d = jax.devices(); print(len(d), d[0].platform, d[0].client.platform_version)"
        devices = self.store.mode.devices
        environment = clean_environment() | backend.variables(self.options.package, devices)
        environment["JAX_NUM_CPU_DEVICES"] = str(devices or 1)
        python = [sys.executable, "-P", "-c", code]
        out = subprocess.run(
            python, env=environment, capture_output=True, text=True, timeout=300, check=False
        )
        if out.returncode:
            errors = out.stderr[-_MAX_PROBE_CHARS:]
            raise SystemExit(f"error: JAX does not start on the backend {backend.name}:\n{errors}")
        return " ".join(out.stdout.split())

    def run_file(self, file: str, backend: Backend) -> str:
        """Runs the tests of a file that have no result. Returns a line about all its results."""
        events = self.store.events(file, backend.name)
        events.path.parent.mkdir(parents=True, exist_ok=True)
        with events.path.open("ab") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return f"{file} {backend.label}: not run, because another run has it"
            self.settle(events)
            identity = self.identities.get(backend.name, {"build": "", "platform": ""})
            while not (before := events.results()).complete:
                Worker(file, backend, self.store.mode, events, self.options).run(identity, self.stopping)
                if self.stopping.is_set():
                    break
                self.settle(events)
                after = events.results()
                if not after.complete and len(after.outcomes) == len(before.outcomes):
                    reason = f"no test can run: the process {describe(after.exit_code)}"
                    events.append("broken", reason=reason, text=excerpt(events.log, 0))
            return f"{file} {backend.label}: {counts(events.results())}"

    def settle(self, events: EventFile) -> None:
        """Gives a result to the test during which a worker crashed. A test whose worker was killed at a time
        limit of another test, or together with its parent, runs again."""
        results = events.results()
        if results.running and results.exit_code not in (None, HUNG):
            end_test(events, results.running, CRASHED, describe(results.exit_code))


def counts(results: Results) -> str:
    """Formats the numbers of results by status, and the time."""
    if results.broken:
        return results.broken.reason
    by = collections.Counter(outcome.status for outcome in results.outcomes.values())
    numbers = ", ".join(f"{count} {status}" for status, count in by.most_common()) or "no tests"
    rest = f", {len(results.remaining)} not run" if results.remaining else ""
    return f"{numbers}{rest} in {results.seconds:.0f} s"
