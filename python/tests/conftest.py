"""Fixtures that the test files share: the ops of an example, the comparison functions of the corpus, jaxlib's
LAPACK handlers, and C++ handlers that are compiled for the tests."""

import functools
import gc
import os
import pathlib
import shutil
import signal
import subprocess
import sys

import pytest
from libraries import example

import farcall

# Must be set before JAX starts. The sharding tests need eight devices; all other tests use the first one.
os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=8")


# A shell without job control makes background processes ignore interrupts. Some tests raise interrupts, so
# Python's handler is installed again.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="module", autouse=True)
def small_heap():
    """Before each test file, empties JAX's caches and hides all existing objects from the garbage collector.

    The engine runs the garbage collector after a call of a handler that seems to keep its arrays. If the
    collector had to visit the objects of a thousand earlier tests, it would take longer than the test.
    """
    if jax := sys.modules.get("jax"):
        jax.clear_caches()
    gc.unfreeze()
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def norm() -> farcall.Library:
    """Returns the ops of examples/rms-norm."""
    return farcall.load(example("rms_norm_ops"))


@pytest.fixture(scope="session")
def compare():
    """Returns the corpus' module of comparison functions, `shared/corpus/compare.py` beside the checkout."""
    corpus = str(pathlib.Path(__file__).resolve().parents[3] / "shared" / "corpus")
    sys.path.insert(0, corpus)
    try:
        import compare
    finally:
        sys.path.remove(corpus)
    return compare


@pytest.fixture(scope="session")
def lapack() -> farcall.Registry:
    """Returns a registry with the LAPACK handlers of the jaxlib wheel."""
    pytest.importorskip("jaxlib.lapack")
    pytest.importorskip("scipy")
    registry = farcall.Registry()
    farcall.register_lapack(registry)
    return registry


@pytest.fixture(scope="session")
def compiled_handlers(tmp_path_factory):
    """Returns a function that compiles `handlers.cc` with compiler flags, and returns the library's path."""
    ffi = pytest.importorskip("jax.ffi")
    compiler = shutil.which("c++")
    if compiler is None:
        pytest.skip("there is no C++ compiler")
    folder = tmp_path_factory.mktemp("handlers")
    source = pathlib.Path(__file__).with_name("handlers.cc")

    @functools.cache
    def library(*flags: str) -> pathlib.Path:
        path = folder / f"lib{'_'.join(['handlers', *(f.lstrip('-D').lower() for f in flags)])}.so"
        command = [compiler, "-std=c++17", "-w", "-shared", "-fPIC", f"-I{ffi.include_dir()}", *flags]
        subprocess.run([*command, "-o", path, source], check=True)
        return path

    return library
