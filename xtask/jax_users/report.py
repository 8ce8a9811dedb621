"""The table of programs, and the lines about disagreements and failures."""

import statistics

from jax_tests.backends import REFERENCE

from jax_users.comparison import disagreements, largest_difference
from jax_users.runner import SUBJECT, Runs

_COLUMNS = f"{REFERENCE.label:>11}{SUBJECT.label:>9}"


def heading() -> str:
    """Returns the lines above the table."""
    return (
        f"{'':46}{'wall time, s':>20}{'':7}{'CPU time, s':>20}{'':7}{'first step, s':>20}\n"
        f"{'program':24}{'numbers':22}{_COLUMNS}{'ratio':>7}{_COLUMNS}{'ratio':>7}{_COLUMNS}"
    )


def problems(runs: Runs) -> list[str]:
    """Returns the texts about failures and disagreements of a program, without repetitions."""
    found = [run.failure for results in runs.by_backend.values() for run in results if run.record is None]
    for reference, subject in runs.pairs:
        if reference.record is not None and subject.record is not None:
            lines = disagreements(reference.record, subject.record)
            found += [
                f"{runs.program}: {REFERENCE.label} and {SUBJECT.label} disagree: {line}" for line in lines
            ]
    return list(dict.fromkeys(found))


def row(runs: Runs) -> str:
    """Returns the line of a program: medians of its runs. The times of the first step are CPU times
    from the end of the imports to the first result, which are mostly compilation."""
    crashed = [
        backend.label
        for backend in (REFERENCE, SUBJECT)
        if any(run.record is None for run in runs.by_backend[backend.name])
    ]
    if crashed:
        return f"{runs.program:24}fails on {' and '.join(crashed)}"
    if problems(runs):
        outcome = "disagree"
    else:
        part = max(largest_difference(one.record, other.record) for one, other in runs.pairs)
        outcome = f"agree ({part:.0%} of limit)"
    line = f"{runs.program:24}{outcome:22}"
    for clock in ("wall", "cpu"):
        one, other = (_median(runs, backend.name, "last step", clock) for backend in (REFERENCE, SUBJECT))
        line += f"{one:11.1f}{other:9.1f}{other / one:7.2f}"
    one, other = (
        _median(runs, backend.name, "first step", "cpu") - _median(runs, backend.name, "imports", "cpu")
        for backend in (REFERENCE, SUBJECT)
    )
    return line + f"{one:11.1f}{other:9.1f}"


def _median(runs: Runs, backend: str, step: str, clock: str) -> float:
    return statistics.median(run.seconds(step, clock) for run in runs.by_backend[backend])
