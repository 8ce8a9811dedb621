"""Runs the corpus' programs that call LAPACK, with jaxlib's handlers. The corpus' `compare.py` judges the
outputs.

The corpus is in the folder `shared` beside the checkout, if it exists.
"""

import json
import pathlib

import numpy as np
import pytest

import farcall

CORPUS = pathlib.Path(__file__).resolve().parents[3] / "shared" / "corpus"


def cases() -> list[dict]:
    """Returns the cases whose custom calls all go to LAPACK; none if the corpus is missing."""
    manifest = CORPUS / "cases" / "manifest.json"
    found = json.loads(manifest.read_text())["cases"] if manifest.is_file() else []
    calls = [(case, case.get("custom_calls", ())) for case in found]
    return [case for case, targets in calls if targets and all(t.startswith("lapack_") for t in targets)]


@pytest.mark.parametrize("case", cases(), ids=lambda case: case["name"])
def test_gives_the_outputs_of_xla(case, compare, lapack):
    folder = CORPUS / "cases" / case["name"]
    denormals = case.get("denormals", "ieee")
    executable = farcall.compile(folder / "program.mlir", lapack, denormals=denormals)
    outputs = executable.run([np.load(folder / i["file"]) for i in case["inputs"]])
    for output, spec in zip(outputs, case["outputs"], strict=True):
        want = compare.load(folder / spec["file"], spec)
        ok, error = compare.check(output, want, spec)
        assert ok, f"the output differs from {spec['file']} by {error} times the tolerance"
