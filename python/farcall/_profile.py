"""Profiles of a program's runs."""

from collections.abc import Sequence
from dataclasses import dataclass

from farcall._arrays import TensorType

#: Maximum number of rows in the table, and maximum number of characters in a cell. The remaining steps are
#: summed up in one row.
_ROWS, _WIDTH = 40, 60


@dataclass(frozen=True)
class StepTime:
    """The time of one step of a plan, averaged over runs.

    Attributes:
      step: number of the step, from 0, as shown by `farcall inspect --plan`.
      parent: number of the loop or conditional that contains the step; `None` for a step of the program.
      operation: the kernel with details, or the target of a custom call. A product is shown with the number
        and the sizes of its matrices: `dot 8x[64x32x16]` has 8 products of 64x32 and 32x16 matrices.
      results: types of the step's results.
      origin: source location in the program: value, line and column, and the location recorded by JAX if the
        text contains it (`lowered.as_text(debug_info=True)`). For fused operations, the location of the last
        of them.
      calls: number of calls in a run.
      seconds: time of the step in a run, without the steps that it contains.
      total_seconds: time of the step in a run, with the steps that it contains.
      bytes: minimum number of bytes that one call reads and writes.
      flops: number of arithmetic operations in one call, from the program's definition of the result; a
        multiplication with an addition counts as two. Operations of handlers are unknown and not counted.
    """

    step: int
    parent: int | None
    operation: str
    results: Sequence[TensorType]
    origin: str
    calls: float
    seconds: float
    total_seconds: float
    bytes: int
    flops: int


@dataclass(frozen=True)
class Profile:
    """The time of a program's runs, by step. It prints as a table of the steps, sorted by time.

    Attributes:
      run_seconds: time of each run, including the overhead around its steps.
      steps: all steps, in order.
    """

    run_seconds: Sequence[float]
    steps: Sequence[StepTime]

    def __str__(self) -> str:
        runs = sorted(self.run_seconds)
        mean = sum(runs) / len(runs)
        steps = sorted((step for step in self.steps if step.calls), key=lambda step: -step.seconds)
        rows = [["step", "time", "share", "calls", "operation", "results", "from"]]
        share = lambda seconds: f"{100 * seconds / mean:.1f} %"
        for step in steps[:_ROWS]:
            texts = [step.operation, ", ".join(map(str, step.results)), step.origin]
            rows.append(
                [str(step.step), _time(step.seconds), share(step.seconds), f"{step.calls:g}", *map(_shortened, texts)]
            )
        rest = sum(step.seconds for step in steps[_ROWS:])
        if len(steps) > _ROWS:
            rows.append(["", _time(rest), share(rest), "", f"{len(steps) - _ROWS} more steps", "", ""])
        between = max(0.0, mean - sum(step.seconds for step in steps))
        rows.append(["", _time(between), share(between), "", "(between steps: inputs, results, measuring)", "", ""])
        widths = [max(map(len, column)) for column in zip(*rows)]
        # Numbers are right-aligned.
        cell = lambda i, text: text.rjust(widths[i]) if i < 4 else text.ljust(widths[i])
        lines = ["  ".join(cell(i, text) for i, text in enumerate(row)).rstrip() for row in rows]
        head = f"{len(runs)} run{'s' * (len(runs) > 1)}, mean {_time(mean)}, median {_time(runs[len(runs) // 2])}"
        return "\n".join([head, *lines])


def _time(seconds: float) -> str:
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def _shortened(text: str) -> str:
    return text if len(text) <= _WIDTH else text[: _WIDTH - 1] + "…"
