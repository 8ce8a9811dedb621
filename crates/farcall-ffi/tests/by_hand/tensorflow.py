"""Tests that a library registers itself with TensorFlow, which exports the C++ symbol. Run by hand:

    pip download --no-deps --only-binary=:all: tensorflow-cpu && unzip tensorflow_cpu-*.whl 'tensorflow/lib*'
    cargo build -p jax-ffi-ops
    LD_LIBRARY_PATH=tensorflow python3 tensorflow.py tensorflow/libtensorflow_cc.so.2 target/debug/libjax_ffi_ops.so

Ends with "ok". No package has to be installed: the host is one shared library, loaded with local scope.
"""

import ctypes
import os
import shutil
import subprocess
import sys
import tempfile

host, library = sys.argv[1:3]
if "TWICE" not in os.environ:
    ctypes.CDLL(os.path.abspath(host), mode=os.RTLD_LOCAL)
    loaded = ctypes.CDLL(os.path.abspath(library))
    loaded.farcall_register_v1.restype = ctypes.c_size_t
    registered = loaded.farcall_register_v1()
    assert registered > 0, "no host was found"
    print(f"{registered} targets were registered when the library was loaded, and can be registered again")
    # A copy of the library has different functions under the same names, which the host rejects as duplicates.
    second = subprocess.run(
        [sys.executable, __file__, host, library], env={**os.environ, "TWICE": "1"}, capture_output=True, text=True
    )
    refused = [line for line in second.stderr.splitlines() if "Duplicate FFI handler registration" in line]
    assert len(refused) == registered, second.stderr
    print(f"the {registered} targets of a copy of the library are rejected as duplicates")
    print("ok")
else:
    with tempfile.TemporaryDirectory() as folder:
        copy = shutil.copy(library, folder)
        ctypes.CDLL(os.path.abspath(host), mode=os.RTLD_LOCAL)
        ctypes.CDLL(os.path.abspath(library))
        ctypes.CDLL(copy)
