"""The machine on which a benchmark runs, and means of its ratios."""

import pathlib
import platform
import statistics


def processor():
    """Returns the name of the processor."""
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def geometric_mean(ratios):
    """Returns the geometric mean, or NaN for an empty list."""
    return statistics.geometric_mean(ratios) if ratios else float("nan")
