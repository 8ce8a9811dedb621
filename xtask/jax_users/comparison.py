"""The comparison of two records of a program, with the tolerances that the program states."""

import math
from collections.abc import Iterator
from typing import Any

#: Largest difference of two estimates, in standard errors of the difference. By chance, one of a million
#: estimates differs by more.
MAX_STANDARD_ERRORS = 5.0
#: Largest ratio of the standard errors of two estimates. A chain that mixes badly has a large one.
MAX_ERROR_RATIO = 3.0


def disagreements(reference: dict[str, Any], subject: dict[str, Any]) -> list[str]:
    """Returns a line for each entry of the records in which they disagree."""
    entries = reference["numbers"], subject["numbers"]
    names = [[entry["name"] for entry in numbers] for numbers in entries]
    if names[0] != names[1]:
        return [f"the runs recorded different numbers: {names[0]} and {names[1]}"]
    return [line for one, other in zip(*entries, strict=True) for line in _different(one, other)]


def _different(one: dict[str, Any], other: dict[str, Any]) -> Iterator[str]:
    name, values = one["name"], (one["values"], other["values"])
    if len(values[0]) != len(values[1]):
        yield f"{name}: {len(values[0])} and {len(values[1])} values"
        return
    if not all(math.isfinite(value) for value in (*values[0], *values[1])):
        yield f"{name}: not all values are finite: {_shown(values[0])} and {_shown(values[1])}"
        return
    if one["kind"] == "estimate":
        yield from _different_estimates(one, other)
        return
    for index, (a, b) in enumerate(zip(*values, strict=True)):
        if abs(a - b) > one["atol"] + one["rtol"] * max(abs(a), abs(b)):
            tolerance = f"tolerance: {one['rtol']:g} of the value, plus {one['atol']:g}"
            yield f"{name}: value {index} is {a:.9g} and {b:.9g} ({tolerance})"
            return


def _different_estimates(one: dict[str, Any], other: dict[str, Any]) -> Iterator[str]:
    name, errors = one["name"], (one["error"], other["error"])
    [a], [b] = one["values"], other["values"]
    shown = f"{name}: {a:.6g} ± {errors[0]:.2g} and {b:.6g} ± {errors[1]:.2g}"
    if not all(math.isfinite(error) and error > 0 for error in errors):
        yield f"{shown} (a standard error is not positive)"
    elif abs(a - b) > MAX_STANDARD_ERRORS * math.hypot(*errors):
        yield f"{shown} (more than {MAX_STANDARD_ERRORS:g} standard errors apart)"
    elif max(errors) > MAX_ERROR_RATIO * min(errors):
        yield f"{shown} (the standard errors differ by a factor over {MAX_ERROR_RATIO:g})"


def _shown(values: list[float]) -> str:
    return "[" + ", ".join(f"{value:.6g}" for value in values) + "]"


def largest_difference(reference: dict[str, Any], subject: dict[str, Any]) -> float:
    """Returns the largest difference of corresponding values, as a fraction of what their tolerance allows.
    Values without any tolerance do not count."""
    fractions = [0.0]
    for one, other in zip(reference["numbers"], subject["numbers"], strict=True):
        for a, b in zip(one["values"], other["values"], strict=True):
            if one["kind"] == "estimate":
                allowed = MAX_STANDARD_ERRORS * math.hypot(one["error"], other["error"])
            else:
                allowed = one["atol"] + one["rtol"] * max(abs(a), abs(b))
            if allowed > 0:
                fractions.append(abs(a - b) / allowed)
    return max(fractions)
