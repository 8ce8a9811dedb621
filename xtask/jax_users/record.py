"""The record of one run of a program: its numbers, with their tolerances, and its times.

A program creates the record before it imports JAX, so that the times include the imports. Each time is taken
as wall time and as CPU time of the process, which other programs on the machine disturb less.
"""

import json
import math
import time
from collections.abc import Iterable
from typing import Any

#: Start of the line that contains the record.
PREFIX = "record: "


class Record:
    """The numbers and times of a run. Times are in seconds since the creation of the record."""

    def __init__(self) -> None:
        self._start = time.perf_counter(), time.process_time()
        self._times: dict[str, dict[str, float]] = {}
        self._numbers: list[dict[str, Any]] = []

    def imported(self) -> None:
        """Notes the time at which all imports are done."""
        self._times["imports"] = self._now()

    def first_step(self) -> None:
        """Notes the time at which the first step of the first loop has its result; later calls do nothing.
        The time from the imports to this point is mostly compilation."""
        self._times.setdefault("first step", self._now())

    def numbers(self, name: str, values: Iterable[Any], *, rtol: float, atol: float = 0.0) -> None:
        """Adds numbers that are deterministic except for rounding. Two runs agree if corresponding numbers
        differ by at most `atol` plus `rtol` times the larger magnitude."""
        self._add(kind="numbers", name=name, values=[float(value) for value in values], rtol=rtol, atol=atol)

    def estimate(self, name: str, value: Any, error: Any) -> None:
        """Adds a statistic of random draws, with its standard error. Two runs agree if they differ by few
        standard errors, and the errors are of similar size."""
        self._add(kind="estimate", name=name, values=[float(value)], error=float(error))

    def mean(self, name: str, draws: Any, effective: Any) -> None:
        """Adds the mean of draws of a Markov chain as an estimate. `effective` is the number of independent
        draws with the same standard error."""
        self.estimate(f"mean of {name}", draws.mean(), draws.std() / math.sqrt(float(effective)))

    def finish(self) -> None:
        """Prints the record as the program's last step."""
        self._times["last step"] = self._now()
        print(PREFIX + json.dumps({"times": self._times, "numbers": self._numbers}), flush=True)

    def _now(self) -> dict[str, float]:
        wall, cpu = self._start
        return {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu}

    def _add(self, **entry: Any) -> None:
        self._numbers.append(entry)
