"""The list of expected failures, `expected.toml`.

The list is a table of groups, each with one reason:

    cases = 10                        # value of --cases that the names belong to

    [[group]]
    reason = "the plugin has one device"
    x64 = false                       # only in x32 mode; without the key, in both modes
    jax = "0.10"                      # only for versions of JAX with this prefix
    tests = ["pmap_test.py::*", "api_test.py::APITest::test_vmap_in_axes_list"]
"""

import fnmatch
import json
import tomllib
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from jax_tests.results import Mode

PATH = Path(__file__).with_name("expected.toml")

_HEADER = """\
# Tests of JAX that XLA:CPU passes and farcall does not, grouped by reason. `expected.py` describes the keys.
# Names may have the wildcards of fnmatch. A listed test that passes fails the run; `--update` removes it.
# The names of generated tests depend on the number of cases.
"""


@dataclass(frozen=True)
class Group:
    """Tests that fail for one reason."""

    reason: str
    tests: tuple[str, ...]
    x64: bool | None = None
    jax: str = ""

    def applies(self, mode: Mode) -> bool:
        return (self.x64 is None or self.x64 == mode.x64) and mode.jax.startswith(self.jax)


@dataclass
class Expected:
    """The list of expected failures."""

    cases: int = 10
    groups: list[Group] = field(default_factory=list)

    @staticmethod
    def load(path: Path = PATH) -> "Expected":
        table = tomllib.loads(path.read_text(encoding="utf-8"))
        groups = [Group(**{**group, "tests": tuple(group["tests"])}) for group in table.get("group", [])]
        return Expected(table["cases"], groups)

    def save(self, path: Path = PATH) -> None:
        lines = [_HEADER, f"cases = {self.cases}\n"]
        for group in self.groups:
            lines.append(f"\n[[group]]\nreason = {_quoted(group.reason)}\n")
            if group.x64 is not None:
                lines.append(f"x64 = {str(group.x64).lower()}\n")
            if group.jax:
                lines.append(f"jax = {_quoted(group.jax)}\n")
            tests = "".join(f"    {_quoted(test)},\n" for test in group.tests)
            lines.append(f"tests = [\n{tests}]\n")
        path.write_text("".join(lines), encoding="utf-8")

    def strict(self, mode: Mode) -> bool:
        """Returns true if the names of generated tests mean the same cases in this mode."""
        return mode.cases == self.cases

    def patterns(self, mode: Mode, files: list[str]) -> "Patterns":
        """Returns the listed names that belong to these files in this mode."""
        names = {
            test: group.reason
            for group in self.groups
            if group.applies(mode)
            for test in group.tests
            if test.split("::")[0] in files
        }
        if not self.strict(mode):
            names = {_any_case(name): reason for name, reason in names.items()}
        return Patterns(names)

    def remove(self, mode: Mode, names: dict[str, list[str]]) -> None:
        """Replaces listed names by others, which may be none, in this mode. A group for both modes is split,
        because the other mode's results are unknown."""
        groups = []
        for group in self.groups:
            changed = [test for test in group.tests if test in names]
            if not changed or not group.applies(mode):
                groups.append(group)
                continue
            kept = [other for test in group.tests for other in names.get(test, [test])]
            if group.x64 is None:
                same = [test for test in group.tests if test not in names]
                groups.append(replace(group, tests=tuple(same)))
                other_mode = tuple(changed)
                groups.append(replace(group, tests=other_mode, x64=not mode.x64))
                here = tuple(other for test in changed for other in names[test])
                groups.append(replace(group, tests=here, x64=mode.x64))
            else:
                groups.append(replace(group, tests=tuple(kept)))
        self.groups = merged(groups)

    def add(self, reason: str, names: list[str]) -> None:
        """Lists names under a reason, for both modes."""
        self.groups = merged([*self.groups, Group(reason, tuple(names))])


@dataclass(frozen=True)
class Patterns:
    """Listed names and their reasons."""

    names: dict[str, str]

    def match(self, test: str) -> str | None:
        """Returns the listed name that matches a test."""
        if test in self.names:
            return test
        return next((name for name in self.wild if fnmatch.fnmatchcase(test, name)), None)

    @cached_property
    def wild(self) -> list[str]:
        """Names with wildcards."""
        return [name for name in self.names if any(c in name for c in "*?[")]


def merged(groups: list[Group]) -> list[Group]:
    """Joins groups that differ in their tests only, and drops empty ones."""
    joined: dict[Group, list[str]] = {}
    for group in groups:
        joined.setdefault(replace(group, tests=()), []).extend(group.tests)
    return [replace(key, tests=tuple(sorted(set(tests)))) for key, tests in joined.items() if tests]


def _any_case(name: str) -> str:
    """Returns a pattern for all generated cases of a test: JAX numbers them."""
    stem = name.rstrip("0123456789")
    return name if stem == name else f"{stem}*"


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
