"""Runs of programs as processes, on the backends alternately."""

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jax_tests.backends import BACKENDS, REFERENCE, Backend, clean_environment
from jax_tests.endings import describe

from jax_users.record import PREFIX

#: The backend that is compared with XLA:CPU.
SUBJECT = BACKENDS["farcall"]
#: Number of lines of a failing program's output that are printed.
_LAST_LINES = 25


@dataclass(frozen=True)
class Run:
    """The outcome of one process: a record or a failure."""

    record: dict[str, Any] | None
    failure: str = ""

    def seconds(self, step: str, clock: str) -> float:
        """Returns the time of a step, by the clock `wall` or `cpu`."""
        assert self.record is not None
        return self.record["times"][step][clock]


@dataclass
class Runs:
    """All runs of a program, by the backend's name. The runs of a pair have the same index."""

    program: str
    by_backend: dict[str, list[Run]] = field(default_factory=dict)

    @property
    def pairs(self) -> list[tuple[Run, Run]]:
        return list(zip(*(self.by_backend[backend.name] for backend in (REFERENCE, SUBJECT)), strict=True))


@dataclass(frozen=True)
class Runner:
    """Runs programs with a package under test.

    Args:
      package: the folder with the package under test.
      test_seconds: the time limit of a process.
      modules: the Python package that contains the programs.
    """

    package: Path
    test_seconds: float
    modules: str = "jax_users.programs"

    def run_all(self, programs: list[str], pairs: int) -> Iterator[Runs]:
        """Runs each program `pairs` times on each backend. The backend that runs first alternates."""
        for program in programs:
            runs = Runs(program)
            for pair in range(pairs):
                order = (REFERENCE, SUBJECT) if pair % 2 == 0 else (SUBJECT, REFERENCE)
                for backend in order:
                    runs.by_backend.setdefault(backend.name, []).append(self.run(program, backend))
            yield runs

    def run(self, program: str, backend: Backend) -> Run:
        """Runs a program in a process of its own, in an empty folder."""
        environment = clean_environment() | backend.variables(self.package, None)
        command = [sys.executable, "-P", "-m", f"{self.modules}.{program}"]
        with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile() as output:
            try:
                code = subprocess.run(
                    command,
                    cwd=folder,
                    env=environment,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    timeout=self.test_seconds,
                ).returncode
            except subprocess.TimeoutExpired:
                code = None
            output.seek(0)
            lines = output.read().decode(errors="replace").splitlines()
        records = [line.removeprefix(PREFIX) for line in lines if line.startswith(PREFIX)]
        if code == 0 and len(records) == 1:
            return Run(json.loads(records[0]))
        if code is None:
            ending = f"took more than {self.test_seconds:g} s"
        elif code == 0:
            ending = "printed no record"
        else:
            ending = describe(code)
        last = "".join(f"\n    {line}" for line in lines[-_LAST_LINES:])
        return Run(None, f"{program} on {backend.label}: the process {ending}{last}")
