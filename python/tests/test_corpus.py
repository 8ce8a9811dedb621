"""The corpus' programs that call LAPACK, with jaxlib's handlers, judged as `compare.py` judges."""

import numpy as np
import pytest
from conftest import corpus_cases

import farcall

CASES = [
    case
    for case in corpus_cases()
    if case.get("custom_calls") and all(t.startswith("lapack_") for t in case["custom_calls"])
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_gives_the_outputs_of_xla(case, corpus, lapack):
    root, compare = corpus
    folder = root / "cases" / case["name"]
    executable = farcall.compile(
        folder / "program.mlir", lapack, denormals=case.get("denormals", "ieee")
    )
    outputs = executable.run([np.load(folder / i["file"]) for i in case["inputs"]])
    for output, spec in zip(outputs, case["outputs"], strict=True):
        want = compare.load(folder / spec["file"], spec)
        ok, error = compare.check(output, want, spec)
        assert ok, f"{spec['file']}: {error} times the tolerance"
