"""Runs captured programs in farcall, one after another, and reports whether each agrees with XLA.

The worker reads one request per line from the standard input. For each request it writes one line per stage,
and one line with the verdict. A program may crash this process: `workers.py` then starts another process, and
knows from the last stage where the program failed.
"""

import json
import os
import resource
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path

import numpy as np
from jax._src.public_test_util import default_tolerance

import farcall
from agreement import as_close_as_xla, first_difference, is_float, wide
from conditioning import within_spread
from reference import Xla, targets
from shadow import narrowed, widened
from store import Program, Store

# Ratio of the rounding errors of f64 and f32.
_F64_BY_F32 = 2.0**-29
_DOUBLES = {np.dtype(np.float64): np.float32, np.dtype(np.complex128): np.complex64}


class Worker:
    """State that all programs share."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.registry = targets()
        self.xla = Xla()

    def source(self, program: Program) -> str:
        """Returns the text that farcall compiles."""
        return program.text

    def judge(self, name: str) -> dict:
        """Returns the verdict on a program."""
        program = self.store.load(name)
        try:
            stage("compile")
            executable = farcall.compile(self.source(program), self.registry, denormals="flush")
        except Exception as error:
            return {"verdict": "refused", "detail": message(error)}
        try:
            stage("run")
            started = time.monotonic()
            outputs = executable.run(program.inputs)
            seconds = time.monotonic() - started
        except Exception as error:
            return {"verdict": "failed", "detail": message(error)}
        return {"seconds": round(seconds, 4), **self.compare(program, outputs)}

    def compare(self, program: Program, outputs: list[np.ndarray]) -> dict:
        """Compares outputs with XLA's outputs. The first rule that accepts them decides."""
        difference = first_difference(outputs, program.outputs)
        if difference is None:
            return {"verdict": "agrees", "by": "tolerance"}
        stage("without flush")
        ieee = farcall.compile(self.source(program), self.registry, denormals="ieee").run(program.inputs)
        if first_difference(ieee, program.outputs) is None:
            return {"verdict": "agrees", "by": "denormals"}
        found = {"verdict": difference.kind, "output": difference.output, "detail": difference.detail}
        if difference.kind == "type":
            return found
        for name, rule in (
            ("literal", self.as_literal),
            ("f64", self.as_in_f64),
            ("conditioning", self.as_conditioned),
        ):
            try:
                stage(name, found)
                if by := rule(program, outputs):
                    return {"verdict": "agrees", "by": by, "was": difference.detail}
            except Exception as error:
                found[name] = f"cannot be judged: {message(error)[:200]}"
        return found

    def as_literal(self, program: Program, outputs: list[np.ndarray]) -> str | None:
        """Accepts outputs that agree with XLA's outputs if XLA follows the program exactly."""
        literal = self.xla.run(program.text, program.inputs, literal=True)
        return "literal" if first_difference(outputs, literal) is None else None

    def as_in_f64(self, program: Program, outputs: list[np.ndarray]) -> str | None:
        """Accepts outputs that are about as close to a more precise evaluation as XLA's outputs."""
        doubles = [g for g, w in zip(outputs, program.outputs) if g.dtype in _DOUBLES and first_difference([g], [w])]
        if doubles:
            return "scaled error" if self.within_scaled_error(program, outputs) else None
        return "shadow" if as_close_as_xla(outputs, program.outputs, self.shadow(program)) else None

    def as_conditioned(self, program: Program, outputs: list[np.ndarray]) -> str | None:
        """Accepts outputs that are at most twice as far from XLA's outputs as XLA's outputs are from each
        other when the inputs move by a rounding error."""
        run = self.xla.compile(program.text, literal=True)
        fine = within_spread(run, program.inputs, outputs, program.outputs, default_tolerance())
        return "conditioning" if fine else None

    def shadow(self, program: Program) -> list[np.ndarray]:
        """Returns the outputs of the program in `f64`, computed by XLA, so that a bug in farcall cannot
        confirm itself."""
        inputs = [wide(a) if is_float(a.dtype) else a for a in program.inputs]
        return self.xla.run(widened(program.text), inputs, literal=True)

    def within_scaled_error(self, program: Program, outputs: list[np.ndarray]) -> bool:
        """Rule for programs that are already in `f64`. XLA's error in `f32` is measured against `f64` on the
        same inputs. This error times the ratio of the precisions is an estimate of XLA's error in `f64`. If
        farcall's error is at most twice the estimate, and XLA's error is at most the estimate, then the two
        results differ by at most three times the estimate.
        """
        rounded = [a.astype(_DOUBLES.get(a.dtype, a.dtype)) for a in program.inputs]
        in_f32 = self.xla.run(narrowed(program.text), rounded)
        in_f64 = self.xla.run(program.text, [r.astype(a.dtype) for r, a in zip(rounded, program.inputs)])
        for got, want, single, double in zip(outputs, program.outputs, in_f32, in_f64, strict=True):
            if not is_float(got.dtype):
                if not np.array_equal(got, want):
                    return False
                continue
            if got.dtype not in _DOUBLES:
                if first_difference([got], [want]):
                    return False
                continue
            with np.errstate(all="ignore"):
                error = np.abs(wide(single) - double)
                error = error[np.isfinite(error)].max(initial=0.0) * _F64_BY_F32
                apart = np.abs(got - want)
            same = (got == want) | (np.isnan(got) & np.isnan(want)) | (apart <= 3 * error)
            if not (same | (apart <= 1e-15 + 1e-15 * np.abs(want))).all():
                return False
        return True


def message(error: BaseException) -> str:
    """Returns the text of an error."""
    return str(error) or type(error).__name__


def stage(name: str, so_far: dict | None = None) -> None:
    """Reports the next stage, and the verdict to use if the worker exceeds the time limit of that stage."""
    say({"stage": name, "so far": so_far})


def say(what: dict) -> None:
    os.write(REPLIES, (json.dumps(what) + "\n").encode())


# Programs and handlers may print, and their output must not be mistaken for a reply.
REPLIES = os.dup(1)
os.dup2(2, 1)


def serve(start: Callable[[Store], Worker]) -> None:
    """Answers requests until the input ends, with the worker for the store named on the command line."""
    store, memory = Store(Path(sys.argv[1])), int(sys.argv[2])
    worker = start(store)
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    say({"ready": True})
    for line in sys.stdin:
        name = line.strip()
        try:
            verdict = worker.judge(name)
        except Exception:
            verdict = {"verdict": "error in this tool", "detail": traceback.format_exc()}
        say({"name": name, **verdict})


if __name__ == "__main__":
    serve(Worker)
