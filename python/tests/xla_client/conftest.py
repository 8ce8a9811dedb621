"""Fixtures of these tests: C functions in capsules."""

import ctypes
import importlib.util
import pathlib
import shutil
import subprocess
import sysconfig

import pytest

import farcall
from farcall import xla_client


@pytest.fixture(scope="session")
def cython(tmp_path_factory):
    """Returns a module with capsules of C functions, in the form created by Cython."""
    compiler, headers = shutil.which("cc"), sysconfig.get_paths()["include"]
    if compiler is None or not pathlib.Path(headers, "Python.h").exists():
        pytest.skip("there is no C compiler, or Python's C headers are missing")
    path = tmp_path_factory.mktemp("module") / "custom_call_for_test.so"
    source = pathlib.Path(__file__).with_name("custom_call_for_test.c")
    subprocess.run([compiler, "-shared", "-fPIC", f"-I{headers}", "-o", path, source], check=True)
    spec = importlib.util.spec_from_file_location("custom_call_for_test", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def targets(cython):
    """Registers the functions of the Cython module in farcall and, if jaxlib is installed, in jaxlib."""
    for name, fn in cython.cpu_custom_call_targets.items():
        xla_client.register_custom_call_target(name, fn, platform="cpu")
    if importlib.util.find_spec("jaxlib") is not None:
        import jax
        from jaxlib import xla_client as theirs

        jax.devices()  # creates jaxlib's client, which then accepts registrations
        for name, fn in cython.cpu_custom_call_targets.items():
            theirs.register_custom_call_target(name.decode(), fn, platform="cpu")
    return {name.decode() for name in cython.cpu_custom_call_targets}


@pytest.fixture(scope="session")
def capsule(compiled_handlers):
    # These tests have their own copy of the library, because a state type is registered once in a process.
    opened = ctypes.CDLL(str(compiled_handlers("-DXLA_CLIENT")))
    return lambda symbol: farcall.ffi.pycapsule(getattr(opened, symbol))
