"""Compiles CUDA C++ to PTX with NVRTC, which needs no GPU.

Usage: compile.py LIBNVRTC SOURCE PTX [OPTION...]

Fails with the compiler's log if the source has errors.
"""

import ctypes
import sys
from pathlib import Path


def main() -> None:
    library, source, ptx, *options = sys.argv[1:]
    nvrtc = ctypes.CDLL(library)
    nvrtc.nvrtcGetErrorString.restype = ctypes.c_char_p

    def call(name: str, *args: object) -> None:
        if (status := getattr(nvrtc, name)(*args)) != 0:
            raise SystemExit(f"{name}: {nvrtc.nvrtcGetErrorString(status).decode()}")

    def text(of: str) -> str:
        size = ctypes.c_size_t()
        call(f"nvrtcGet{of}Size", program, ctypes.byref(size))
        buffer = ctypes.create_string_buffer(size.value)
        call(f"nvrtcGet{of}", program, buffer)
        return buffer.value.decode()

    program = ctypes.c_void_p()
    code, name = Path(source).read_bytes(), Path(source).name.encode()
    call("nvrtcCreateProgram", ctypes.byref(program), code, name, 0, None, None)
    arguments = (ctypes.c_char_p * len(options))(*map(str.encode, options))
    status = nvrtc.nvrtcCompileProgram(program, len(options), arguments)
    if log := text("ProgramLog").strip():
        print(log, file=sys.stderr)
    if status != 0:
        raise SystemExit(f"{source}: {nvrtc.nvrtcGetErrorString(status).decode()}")
    Path(ptx).write_text(text("PTX"))


main()
