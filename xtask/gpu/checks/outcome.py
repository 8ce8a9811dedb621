"""Results of a check: PASS, FAIL or SKIP, a reason, and figures. Each result is written to a file at once, so
the results before a crash are kept."""

import contextlib
import json
import math
import traceback


class Skip(Exception):
    """The check does not apply to this machine; the text says why."""


class Recorder:
    def __init__(self, path):
        self._file = open(path, "a", encoding="utf-8")

    def add(self, outcome, name, reason="", **figures):
        # JSON has no number for NaN and infinity.
        figures = {
            key: str(value) if isinstance(value, float) and not math.isfinite(value) else value
            for key, value in figures.items()
        }
        entry = {"name": name, "outcome": outcome, "reason": reason, "figures": figures}
        self._file.write(json.dumps(entry) + "\n")
        self._file.flush()
        print(f"{outcome} {name}: {reason} {figures}", flush=True)

    @contextlib.contextmanager
    def case(self, name):
        """Records the block as a result: FAIL with the exception that it raises, SKIP for `Skip`, otherwise
        PASS with the figures that it adds to the dictionary."""
        figures = {}
        try:
            yield figures
        except Skip as skip:
            self.add("SKIP", name, str(skip), **figures)
        except Exception as error:
            traceback.print_exc()
            text = next(iter(str(error).strip().splitlines()), "")
            kind = "" if isinstance(error, AssertionError) and text else f"{type(error).__name__}: "
            self.add("FAIL", name, f"{kind}{text}"[:600], **figures)
        else:
            self.add("PASS", name, **figures)


def expect(condition, message):
    """Raises an exception with the message unless the condition holds."""
    if not condition:
        raise AssertionError(message)
