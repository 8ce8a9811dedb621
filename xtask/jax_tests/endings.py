"""The ways in which worker processes end, and the output that explains them."""

import re
import signal
from pathlib import Path

#: Stored instead of an exit code if a worker exceeded a time limit.
HUNG = "hung"

#: Exit codes of pytest for: all passed, some failed, nothing to run.
_COMPLETE = (0, 1, 5)
#: Characters of a crashed worker's output that are kept from its start, and from its end.
_MAX_LOG_CHARS = 4000

# Lines of a crashed worker's output that tell the cause: Rust, XLA, glibc, the C++ runtime.
_CAUSES = (
    re.compile(r"panicked at .*\n.*"),
    re.compile(r"^F\d{4} .*|Check failed: .*", re.MULTILINE),
    re.compile(r"^(?:terminate called|\s+what\(\)|free\(\)|malloc\(\)|double free).*", re.MULTILINE),
    re.compile(r"^(?:fatal runtime error|memory allocation of).*", re.MULTILINE),
)
# Stacks as faulthandler writes them.
_INNERMOST = re.compile(r'^Current thread .*\n  File ".*", line \d+ in (.*)', re.MULTILINE)


def excerpt(log: Path, offset: int) -> str:
    """Returns the beginning and the end of a log from an offset on."""
    with log.open("rb") as file:
        file.seek(offset)
        text = file.read().decode(errors="replace")
    if len(text) <= 2 * _MAX_LOG_CHARS:
        return text
    return f"{text[:_MAX_LOG_CHARS]}\n[…]\n{text[-_MAX_LOG_CHARS:]}"


def cause_of(text: str) -> str:
    """Returns the line of a process's output that names the cause of its end: an error message, otherwise the
    innermost Python function. Empty if there is neither."""
    for pattern in _CAUSES:
        if found := pattern.search(text):
            return " ".join(found[0].split())
    found = _INNERMOST.search(text)
    return f"in {found[1]}" if found else ""


def describe(code: int | str | None) -> str:
    """Describes the way in which a process ended."""
    if code == HUNG:
        return "hung"
    if isinstance(code, int) and code < 0:
        return f"was killed by {signal.Signals(-code).name}"
    return f"ended with exit code {code}"


def ended_well(code: int | str | None) -> bool:
    """Returns true for the exit code of a worker that ran all its tests."""
    return code in _COMPLETE
