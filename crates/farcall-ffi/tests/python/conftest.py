"""Registers the targets of a library built with farcall in the jaxlib under test.

FARCALL_JAX_FFI_LIB is the path of libjax_ffi_ops.so (cargo build -p jax-ffi-ops).
"""

import ctypes
import os

import jax
import pytest

LIBRARY = os.environ.get("FARCALL_JAX_FFI_LIB")


def pytest_report_header():
    return f"jaxlib {jax.lib.__version__}, library {LIBRARY}"


@pytest.fixture(scope="session", autouse=True)
def library():
    """Returns the library, after registering the targets in the dictionary that it exports."""
    if not LIBRARY:
        pytest.exit("set FARCALL_JAX_FFI_LIB to the path of libjax_ffi_ops.so", returncode=2)
    library = ctypes.PyDLL(LIBRARY)
    library.farcall_registrations_v1.restype = ctypes.py_object
    for name, target in library.farcall_registrations_v1(b"cpu").items():
        jax.ffi.register_ffi_target(name, target, platform="cpu")
    return library

