"""What the tests share: jaxlib's LAPACK handlers, and the folder `shared` beside the checkout, where it exists."""

import json
import pathlib
import sys

import pytest

import farcall

ROOT = pathlib.Path(__file__).resolve().parents[2]
CORPUS = ROOT.parent / "shared" / "corpus"


def corpus_cases() -> list[dict]:
    """The corpus' cases; none where there is no corpus."""
    manifest = CORPUS / "cases" / "manifest.json"
    return json.loads(manifest.read_text())["cases"] if manifest.is_file() else []


@pytest.fixture(scope="session")
def corpus():
    """The corpus' folder and its judge, the module `compare`."""
    if not CORPUS.is_dir():
        pytest.skip("there is no folder `shared` beside the checkout")
    sys.path.insert(0, str(CORPUS))
    try:
        import compare
    finally:
        sys.path.remove(str(CORPUS))
    return CORPUS, compare


@pytest.fixture(scope="session")
def lapack() -> farcall.Registry:
    """A registry with the LAPACK handlers that the jaxlib wheel brings, as they are."""
    handlers = pytest.importorskip("jaxlib.lapack")
    # Finds SciPy's LAPACK routines, which the handlers call.
    handlers._lapack.initialize()
    registry = farcall.Registry()
    for name, capsule, api_version in handlers.registrations()["cpu"]:
        registry.register(name, capsule, "cpu", api_version)
    return registry
