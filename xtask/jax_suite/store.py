"""Captured programs on disk: one folder a program, named by the hash of its text.

    ab/ab34…/program.mlir   the program as XLA was given it
    ab/ab34…/program.json   where it comes from, and the types of its inputs and outputs
    ab/ab34…/arrays.npz     in0, in1, … and out0, out1, …, which are XLA's

Element types that NumPy lacks are kept as raw bits (`uint8` or `uint16`) under their own name.
"""

import hashlib
import json
import os
import re
from dataclasses import dataclass
from pathlib import Path

import ml_dtypes
import numpy as np

# Names and remarks that do not change what a program does.
_MODULE_NAME = re.compile(r"^module @\S+", re.MULTILINE)
_RESULT_INFO = re.compile(r'jax\.(?:result_info|arg_info) = "(?:[^"\\]|\\.)*"(?:, )?')


def identity(text: str) -> str:
    """The name that equal programs share."""
    text = _MODULE_NAME.sub("module", text)
    text = _RESULT_INFO.sub("", text).replace(" {}", "")
    return hashlib.sha256(text.encode()).hexdigest()[:24]


@dataclass
class Program:
    """A program, its inputs and what XLA made of them."""

    name: str
    text: str
    origin: dict
    """`file`, `test` and `x64`: the test that compiled it first."""
    inputs: list[np.ndarray]
    outputs: list[np.ndarray]


class Store:
    """The folder of all programs."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def folder(self, name: str) -> Path:
        """Where a program lies, or would."""
        return self.root / name[:2] / name

    def names(self, files: list[str] | None = None) -> list[str]:
        """All programs, or those that some test files compiled first, sorted."""
        names = sorted(p.parent.name for p in self.root.glob("??/*/program.json"))
        if not files:
            return names
        files = [f.removeprefix("tests/") for f in files]
        return [name for name in names if self.origin(name)["file"] in files]

    def __contains__(self, name: str) -> bool:
        return (self.folder(name) / "program.json").is_file()

    def save(self, program: Program) -> None:
        """Writes a program. What describes it comes last, so that half a program is none."""
        folder = self.folder(program.name)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "program.mlir").write_text(program.text, encoding="utf-8")
        arrays = {f"in{i}": bits(a) for i, a in enumerate(program.inputs)}
        arrays |= {f"out{i}": bits(a) for i, a in enumerate(program.outputs)}
        np.savez(folder / "arrays.npz", **arrays)
        described = {
            **program.origin,
            "inputs": [a.dtype.name for a in program.inputs],
            "outputs": [a.dtype.name for a in program.outputs],
        }
        fresh = folder / f"program.json.{os.getpid()}"
        fresh.write_text(json.dumps(described, indent=1), encoding="utf-8")
        fresh.rename(folder / "program.json")

    def origin(self, name: str) -> dict:
        """Where a program comes from."""
        return json.loads((self.folder(name) / "program.json").read_text(encoding="utf-8"))

    def load(self, name: str) -> Program:
        """Reads a program."""
        folder = self.folder(name)
        origin = self.origin(name)
        inputs, outputs = origin.pop("inputs"), origin.pop("outputs")
        text = (folder / "program.mlir").read_text(encoding="utf-8")
        with np.load(folder / "arrays.npz") as arrays:
            return Program(
                name,
                text,
                origin,
                [_as(arrays[f"in{i}"], dtype) for i, dtype in enumerate(inputs)],
                [_as(arrays[f"out{i}"], dtype) for i, dtype in enumerate(outputs)],
            )


def bits(array: np.ndarray) -> np.ndarray:
    """The array itself, or its raw bits where NumPy has no such element type."""
    if array.dtype.isbuiltin == 1:
        return array
    return array.view(f"uint{8 * array.dtype.itemsize}")


def _as(array: np.ndarray, dtype: str) -> np.ndarray:
    """The array that was kept as `bits`."""
    kind = np.dtype(getattr(ml_dtypes, dtype)) if hasattr(ml_dtypes, dtype) else np.dtype(dtype)
    return array if array.dtype == kind else array.view(kind)
