"""What runs of a program spend their time on."""

from collections.abc import Sequence
from dataclasses import dataclass

from farcall._arrays import TensorType

#: Rows of the table; what takes less time is summed up. Characters of its texts.
_ROWS, _WIDTH = 40, 60


@dataclass(frozen=True)
class StepTime:
    """The time of one step of a plan, in a run on average.

    Attributes:
      step: its number, from 0, as `farcall inspect --plan` has it.
      parent: the number of the loop or choice that it is a step of; `None` for a step of the program.
      operation: what it does: the kernel with what tells it from others of that, or the target of a custom call. Of a product,
        how many matrices there are, and their sizes: `dot 8x[64x32x16]` is of 64x32 and 32x16.
      results: types of its results.
      origin: where it comes from in the program: value, line and column, and the location that JAX noted, if the text has
        it (`lowered.as_text(debug_info=True)`); of operations that run as one, the last of them.
      calls: how often a run calls it.
      seconds: what a run spends on it, without the steps of a loop or choice.
      total_seconds: the same with them.
      bytes: what one call reads and writes at least.
      flops: operations on numbers in one call, as the program defines the result; a multiplication with an addition is two.
        Those of handlers are not known, and not counted.
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
    """What runs of a program spend their time on. As text, it is a table of the steps by their time.

    Attributes:
      run_seconds: what each run took, with what surrounds its steps.
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
        # Numbers to the right.
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
