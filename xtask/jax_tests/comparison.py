"""Sets the results of a backend against XLA:CPU's and the list of expected failures."""

from dataclasses import dataclass, field

from jax_tests.endings import describe, ended_well
from jax_tests.expected import Expected, Patterns
from jax_tests.results import PASSED, Mode, Outcome, Results


@dataclass
class Comparison:
    """Results of one test file. Only tests that XLA:CPU passes count."""

    file: str
    reference: Results
    subject: Results
    passed: list[str] = field(default_factory=list)
    listed: dict[str, Outcome] = field(default_factory=dict)
    """Failures that the list expects."""
    unexpected: dict[str, Outcome] = field(default_factory=dict)
    """Failures that the list does not expect."""
    surprising: dict[str, list[str]] = field(default_factory=dict)
    """Tests that pass, by the listed name that expects a failure."""
    unused: list[str] = field(default_factory=list)
    """Listed names that match no counted test."""
    pending: list[str] = field(default_factory=list)
    """Tests that have not run on the backend."""

    @property
    def counted(self) -> int:
        """Number of tests that XLA:CPU passes."""
        return len(self.passed) + len(self.failures) + len(self.pending)

    @property
    def failures(self) -> dict[str, Outcome]:
        return {**self.listed, **self.unexpected}

    @property
    def finished(self) -> bool:
        """True if both backends have run all tests."""
        return self.reference.complete and not self.pending

    @property
    def exit_problem(self) -> str:
        """Description of a bad exit after all tests; empty after a good one."""
        code = self.subject.exit_code
        if (
            self.subject.broken
            or code is None
            or ended_well(code)
            or not ended_well(self.reference.exit_code)
        ):
            return ""
        return f"after its last test, the process {describe(code)}"

    def good(self, strict: bool) -> bool:
        """Returns true if everything has run and nothing differs from the list."""
        return (
            self.finished
            and not self.unexpected
            and not self.exit_problem
            and not (strict and (self.surprising or self.unused))
        )

    def corrections(self) -> dict[str, list[str]]:
        """Returns the failing tests that should replace listed names that match no test or a test that
        passes."""
        wrong = {name: [] for name in [*self.surprising, *self.unused]}
        patterns = Patterns(dict.fromkeys(wrong, ""))
        for test in self.listed:
            if name := patterns.match(test):
                wrong[name].append(test)
        return wrong


def compare(file: str, reference: Results, subject: Results, patterns: Patterns) -> Comparison:
    """Compares the results of one file."""
    comparison = Comparison(file, reference, subject)
    used = set()
    for test, outcome in reference.outcomes.items():
        if outcome.status != PASSED:
            continue
        found = subject.outcome(test)
        name = patterns.match(test)
        used.add(name)
        if found is None:
            comparison.pending.append(test)
        elif found.status == PASSED:
            comparison.passed.append(test)
            if name:
                comparison.surprising.setdefault(name, []).append(test)
        elif name:
            comparison.listed[test] = found
        else:
            comparison.unexpected[test] = found
    if comparison.finished:
        of_file = [name for name in patterns.names if name.split("::")[0] == file]
        comparison.unused = [name for name in of_file if name not in used]
    return comparison


def compare_files(
    results: dict[str, tuple[Results, Results]], expected: Expected, mode: Mode
) -> list[Comparison]:
    """Compares files: their results in XLA:CPU and on the backend."""
    patterns = expected.patterns(mode, list(results))
    return [compare(file, reference, subject, patterns) for file, (reference, subject) in results.items()]
