"""Runs HLO texts in farcall, one after another, and reports whether each agrees with jaxlib's results.

A text that jaxlib can only read must be readable here: it is parsed, verified and written as StableHLO.
"""

import sys
import time
from pathlib import Path

HERE = Path(__file__).parent
sys.path.append(str(HERE.parent / "jax_suite"))

import farcall
from store import Program, Store
from texts import path_of
from worker import Worker, message, serve, stage


class TextWorker(Worker):
    """The worker of the JAX suite, adapted to HLO texts."""

    def source(self, program: Program) -> str:
        return path_of(self.store.root, program.name).read_text(encoding="utf-8")

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


if __name__ == "__main__":
    serve(TextWorker)
