"""Captured programs on disk: one folder for each program, named by the hash of its text.

    ab/ab34…/program.mlir   the program that was passed to XLA
    ab/ab34…/program.json   its origin, and the types of its inputs and outputs
    ab/ab34…/arrays.npz     in0, in1, … and XLA's out0, out1, …

Element types that NumPy lacks are stored as raw bits (`uint8` or `uint16`) under their own name.
"""

import hashlib
import json
import os
import re
from dataclasses import dataclass
from pathlib import Path

import ml_dtypes
import numpy as np

# Names and annotations that do not affect the results of a program.
_MODULE_NAME = re.compile(r"^module @\S+", re.MULTILINE)
_RESULT_INFO = re.compile(r'jax\.(?:result_info|arg_info) = "(?:[^"\\]|\\.)*"(?:, )?')


def identity(text: str) -> str:
    """Returns the name that equal programs share."""
    text = _MODULE_NAME.sub("module", text)
    text = _RESULT_INFO.sub("", text).replace(" {}", "")
    return hashlib.sha256(text.encode()).hexdigest()[:24]


@dataclass
class Program:
    """A program with its inputs and XLA's outputs."""

    name: str
    text: str
    origin: dict
    """`file`, `test` and `x64`: the first test that compiled the program."""
    inputs: list[np.ndarray]
    outputs: list[np.ndarray]


class Store:
    """The folder of all programs."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def folder(self, name: str) -> Path:
        """Returns the folder of a program, which need not exist."""
        return self.root / name[:2] / name

    def names(self, files: list[str] | None = None) -> list[str]:
        """Returns the names of all programs, or of the programs that some test files compiled first,
        sorted."""
        names = sorted(p.parent.name for p in self.root.glob("??/*/program.json"))
        if not files:
            return names
        files = [f.removeprefix("tests/") for f in files]
        return [name for name in names if self.origin(name)["file"] in files]

    def __contains__(self, name: str) -> bool:
        return (self.folder(name) / "program.json").is_file()

    def save(self, program: Program) -> None:
        """Writes a program. The description is written last, because a program without it does not count."""
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
        """Returns the origin of a program."""
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
    """Returns the array, or its raw bits if NumPy lacks the element type."""
    if array.dtype.isbuiltin == 1:
        return array
    return array.view(f"uint{8 * array.dtype.itemsize}")


def _as(array: np.ndarray, dtype: str) -> np.ndarray:
    """Restores an array that was stored by `bits`."""
    kind = np.dtype(getattr(ml_dtypes, dtype)) if hasattr(ml_dtypes, dtype) else np.dtype(dtype)
    return array if array.dtype == kind else array.view(kind)
