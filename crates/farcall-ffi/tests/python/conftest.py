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
    """The library, with every target registered by its C symbol."""
    if not LIBRARY:
        pytest.exit("set FARCALL_JAX_FFI_LIB to the path of libjax_ffi_ops.so", returncode=2)
    library = ctypes.CDLL(LIBRARY)
    for name in STATELESS:
        target = jax.ffi.pycapsule(getattr(library, name))
        jax.ffi.register_ffi_target(name, target, platform="cpu")
    stages = {
        "instantiate": jax.ffi.pycapsule(library.call_count_new),
        "execute": jax.ffi.pycapsule(library.call_count),
    }
    jax.ffi.register_ffi_target("call_count", stages, platform="cpu")
    return library


STATELESS = [
    "rms_norm",
    "rms_norm_fwd",
    "rms_norm_bwd",
    "array_attr",
    "dictionary_attr",
    "counter",
    "aliasing",
]
