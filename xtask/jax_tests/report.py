"""Reports: a table of files, groups of failures, and the details of one test."""

import collections
import fnmatch
import re
from dataclasses import dataclass

from jax_tests.backends import REFERENCE, Backend
from jax_tests.comparison import Comparison
from jax_tests.results import PASSED, Outcome, Store

#: Maximum number of names that a report lists under one heading.
_MAX_NAMES = 20
#: Maximum number of names under one group of failures.
_MAX_GROUP_NAMES = 4
#: Maximum number of tests that `details` describes.
_MAX_DETAILS = 5


@dataclass
class Report:
    """Comparisons of a backend with XLA:CPU in one mode."""

    backend: Backend
    comparisons: list[Comparison]
    build: str
    """Hash of the present package; empty without a package."""
    strict: bool
    """True if listed tests that pass are errors."""

    @property
    def good(self) -> bool:
        return all(comparison.good(self.strict) for comparison in self.comparisons)

    def summary(self) -> str:
        """Formats a table of files with totals, and the names that need attention."""
        shown = [c for c in self.comparisons if c.counted or not c.finished or c.subject.broken]
        rows = [row(c.file, [c]) for c in shown] + [row("total", shown)]
        labels = [REFERENCE.label, self.backend.label]
        head = [
            "",
            labels[0],
            labels[1],
            "%",
            "listed",
            "unexpected",
            "passes",
            *(f"{x} s" for x in labels),
            "ratio",
        ]
        lines = table([head, *rows])
        lines += self.totals(shown)
        lines += names("unexpected failures", [t for c in shown for t in c.unexpected])
        lines += names(
            "listed as failures, but passing",
            [t for c in shown for tests in c.surprising.values() for t in tests],
        )
        lines += names(f"listed, but not passing in {labels[0]}", [name for c in shown for name in c.unused])
        lines += names("not finished", [c.file for c in self.comparisons if not c.finished])
        lines += [f"{c.file}: {c.exit_problem}" for c in self.comparisons if c.exit_problem]
        broken = [(c.file, c.reference.broken) for c in self.comparisons if c.reference.broken]
        lines += [f"{file} does not run in {labels[0]}: {outcome.reason}" for file, outcome in broken]
        if stale := [c.file for c in shown if self.stale(c)]:
            lines += names("with results of another build; run with `--again all`", stale)
        return "\n".join(lines)

    def stale(self, comparison: Comparison) -> bool:
        """Returns true if some results come from another build than the present one."""
        return bool(self.build) and any(o.build != self.build for o in comparison.subject.outcomes.values())

    def totals(self, shown: list[Comparison]) -> list[str]:
        """Formats the times of both backends in three ways."""
        pairs = {
            "wall time of the files": [(c.reference.seconds, c.subject.seconds) for c in shown if c.finished],
            "CPU time of the files": [(c.reference.cpu, c.subject.cpu) for c in shown if c.finished],
            "wall time of the tests that both pass": [
                (c.reference.outcomes[test].seconds, c.subject.outcomes[test].seconds)
                for c in shown
                for test in c.passed
            ],
        }
        lines = [""]
        for what, times in pairs.items():
            reference, subject = (sum(column) for column in zip(*times)) if times else (0, 0)
            lines.append(
                f"{what}: {REFERENCE.label} {reference:.0f} s, {self.backend.label} {subject:.0f} s,"
                f" ratio {ratio(reference, subject)}"
            )
        return lines

    def failures(self, text: str) -> str:
        """Formats the failures by their reason, most frequent first. With `text`, only failures whose reason
        or name contains it, with all names."""
        groups: dict[str, list[tuple[str, bool]]] = collections.defaultdict(list)
        for comparison in self.comparisons:
            for test, outcome in comparison.failures.items():
                if selected(test, outcome, text):
                    groups[normalized(outcome)].append((test, test in comparison.listed))
        lines = []
        for reason, tests in sorted(groups.items(), key=lambda item: -len(item[1])):
            listed = sum(known for _, known in tests)
            lines.append(f"{len(tests):5}  {reason}" + (f" ({listed} listed)" if listed else ""))
            limit = len(tests) if text else _MAX_GROUP_NAMES
            lines += [f"         {test}" for test, _ in tests[:limit]]
            if len(tests) > limit:
                lines.append(f"         and {len(tests) - limit} more")
        lines.append(f"{sum(map(len, groups.values()))} failures in {len(groups)} groups")
        return "\n".join(lines)

    def unexpected(self, text: str) -> list[str]:
        """Returns the names of the unexpected failures that `failures` selects by `text`."""
        found = ((test, o) for c in self.comparisons for test, o in c.unexpected.items())
        return [test for test, outcome in found if selected(test, outcome, text)]


def row(file: str, comparisons: list[Comparison]) -> list[str]:
    """Returns the cells of a row of the summary."""
    counted = sum(c.counted for c in comparisons)
    passed = sum(len(c.passed) for c in comparisons)
    reference, subject = (
        sum(getattr(c, side).seconds for c in comparisons) for side in ("reference", "subject")
    )
    return [
        file,
        str(counted),
        str(passed),
        f"{100 * passed / counted:.2f}" if counted else "",
        str(sum(len(c.listed) for c in comparisons)),
        str(sum(len(c.unexpected) for c in comparisons)),
        str(sum(len(tests) for c in comparisons for tests in c.surprising.values())),
        f"{reference:.1f}",
        f"{subject:.1f}",
        ratio(reference, subject),
    ]


def table(rows: list[list[str]]) -> list[str]:
    """Aligns cells: the first column to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(*rows)]
    return [
        "  ".join([cells[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(cells[1:], widths[1:]))]).rstrip()
        for cells in rows
    ]


def names(heading: str, found: list[str]) -> list[str]:
    """Formats a list of names, shortened."""
    if not found:
        return []
    more = [f"  and {len(found) - _MAX_NAMES} more"] if len(found) > _MAX_NAMES else []
    return [f"\n{len(found)} {heading}:", *(f"  {name}" for name in found[:_MAX_NAMES]), *more]


def ratio(reference: float, subject: float) -> str:
    return f"{subject / reference:.2f}" if reference else ""


def selected(test: str, outcome: Outcome, text: str) -> bool:
    """Returns true if a failure belongs to a report about `text`."""
    return text in test or text in normalized(outcome) or text in outcome.reason


def normalized(outcome: Outcome) -> str:
    """Returns the status and the reason of a failure without the parts that vary between tests."""
    reason = outcome.reason
    reason = re.sub(r"tensor<[^>]*>+", "tensor<…>", reason)
    reason = re.sub(r"\b(?:f|s|u|bf|c|i|float|int|uint|bfloat|complex)\d+\w*\[[^\]]*\]", "T[…]", reason)
    reason = re.sub(r"0x[0-9a-f]+|\d+", "N", reason)
    return f"{outcome.status}: {reason}"[:200]


def details(name: str, store: Store, backend: Backend) -> str:
    """Formats the results of the tests that a name selects: a full name, a pattern, or a part of a name."""
    sides = (REFERENCE, backend)
    files = sorted({file for side in sides for file in store.files(side.name)})
    file = name.split("::")[0]
    results = {
        f: [store.results(f, side.name) for side in sides] for f in ([file] if file in files else files)
    }
    tests = {test: both for both in results.values() for side in both for test in side.tests or []}
    exact = [test for test in tests if test == name]
    found = (
        exact
        or [test for test in tests if fnmatch.fnmatchcase(test, name)]
        or [t for t in tests if name in t]
    )
    if not found:
        return f"no results of a test with `{name}` in its name"
    lines = []
    for test in found[:_MAX_DETAILS]:
        lines.append(test)
        for side, of_side in zip(sides, tests[test]):
            outcome = of_side.outcome(test)
            if outcome is None:
                lines.append(f"  {side.label}: not run")
                continue
            lines.append(
                f"  {side.label}: {outcome.status} in {outcome.seconds:.2f} s {outcome.reason}".rstrip()
            )
            if outcome.status != PASSED and outcome.text:
                lines += [f"    {line}" for line in outcome.text.splitlines()]
        worker = tests[test][1].worker or tests[test][0].worker
        if worker:
            lines.append(f"  cd {worker['checkout']} && {' '.join(worker['command'])} 'tests/{test}'")
        lines.append("")
    if len(found) > _MAX_DETAILS:
        lines.append(f"and {len(found) - _MAX_DETAILS} more")
    return "\n".join(lines).rstrip()
