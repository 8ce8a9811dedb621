"""Runs HLO texts in farcall, one after another, and reports whether each agrees with jaxlib's results.

If jaxlib can read a text but not run it, farcall must be able to parse the text, verify it and write it as
StableHLO.
"""

import dataclasses
import re
import sys
import time
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
sys.path.append(str(HERE.parent / "jax_suite"))

import farcall
from store import Program, Store
from texts import path_of
from worker import Worker, message, serve, stage

# Matches the result types of the entry function in a program as jaxlib prints it.
_RESULTS = re.compile(r"func\.func (?:public )?@main\(.*\) -> (.*) \{$", re.MULTILINE)


class TextWorker(Worker):
    """The worker of the JAX suite, adapted to HLO texts."""

    def source(self, program: Program) -> str:
        return path_of(self.store.root, program.name).read_text(encoding="utf-8")

    def compare(self, program: Program, outputs: list[np.ndarray]) -> dict:
        """Compares results of bounded sizes with the elements that XLA wrote. These are the first elements of
        XLA's array, which has the maximum size; farcall's result has the actual size."""
        results = _RESULTS.search(program.text)
        if results and "#stablehlo.bounds" in results[1] and len(outputs) == len(program.outputs):
            written = [_first(want, got.shape) for got, want in zip(outputs, program.outputs)]
            program = dataclasses.replace(program, outputs=written)
        return super().compare(program, outputs)

    def judge(self, name: str) -> dict:
        if name in self.store:
            return super().judge(name)
        text = path_of(self.store.root, name).read_text(encoding="utf-8")
        try:
            stage("read")
            started = time.monotonic()
            farcall.convert(text, "stablehlo-generic")
            return {"verdict": "agrees", "by": "reading", "seconds": round(time.monotonic() - started, 4)}
        except Exception as error:
            return {"verdict": "not read", "detail": message(error)}


def _first(array: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Returns the first elements of an array in this shape, or the array if the shape does not fit."""
    fits = len(shape) == array.ndim and all(size <= bound for size, bound in zip(shape, array.shape))
    return array.ravel()[: int(np.prod(shape))].reshape(shape) if fits else array


if __name__ == "__main__":
    serve(TextWorker)
