"""Libraries in C++, which are compiled on the machine that runs them."""

import ctypes
import subprocess

import jax
import jaxlib

from checks import environment, listing
from checks.outcome import expect


def build(name):
    """Compiles `twins/NAME.cc` with XLA's headers, unless that has been done. Returns the library.

    The compiler is g++ or c++, or else nvcc, which calls another compiler.

    Raises:
      AssertionError: with the compiler's messages, if the file does not compile.
    """
    source = listing.HERE / "twins" / f"{name}.cc"
    folder = listing.HERE / "build"
    folder.mkdir(exist_ok=True)
    output = folder / f"lib{name}-jaxlib-{jaxlib.__version__}.so"
    if not output.exists() or output.stat().st_mtime < source.stat().st_mtime:
        fresh = output.with_suffix(".new")
        command = compiler() + ["-I", jax.ffi.include_dir(), str(source), "-o", str(fresh), "-ldl"]
        print(" ".join(command), flush=True)
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        expect(done.returncode == 0, f"{source.name} does not compile: {done.stdout}{done.stderr}")
        fresh.replace(output)
    return ctypes.CDLL(str(output))


def compiler():
    """Returns the command that compiles C++ code to a shared library.

    Raises:
      AssertionError: if no compiler is installed.
    """
    common = ["-std=c++17", "-O2", "-shared", "-w"]
    for name, extra in [
        ("g++", ["-fPIC"]),
        ("c++", ["-fPIC"]),
        ("nvcc", ["-x", "c++", "-Xcompiler", "-fPIC"]),
    ]:
        if (path := environment.tool(name)) is not None:
            return [path, *common, *extra]
    raise AssertionError("no C++ compiler: neither g++ nor nvcc is installed")


def address(capsule):
    """Returns the address of the function in a capsule."""
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return get(capsule, None)
