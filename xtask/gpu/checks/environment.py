"""The machine. Each thing that all checks need and this machine lacks is a failure that names it."""

import ctypes
import json
import os
import platform as host
import re
import shutil
import subprocess
import sys
from importlib import metadata

from checks import listing
from checks.outcome import Skip, expect


def first_line(command, pattern=""):
    """Returns the first line of a program's output that matches; `None` if the program is missing or
    fails."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return next(
        (line.strip() for line in done.stdout.splitlines() if re.search(pattern, line) and line.strip()), None
    )


def tool(name):
    """Returns the path of a tool of CUDA; `None` if it is not installed."""
    places = [os.environ.get("CUDA_HOME"), "/usr/local/cuda"]
    known = [
        f"{place}/{folder}/{name}"
        for place in filter(None, places)
        for folder in ("bin", "compute-sanitizer")
    ]
    return shutil.which(name) or next((path for path in known if os.access(path, os.X_OK)), None)


def version(package):
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def run(recorder, platform):
    pack = json.loads((listing.HERE / "pack.json").read_text())
    machine = {
        "processor": processor(),
        "cores": os.cpu_count(),
        "system": f"{host.system()} {host.release()}",
    }
    machine["Python"] = f"{host.python_version()}, {sys.executable}"
    with recorder.case("Python and the C library") as figures:
        figures["machine"] = machine
        libc, found = host.libc_ver()
        machine["C library"] = f"{libc} {found}"
        numbers = lambda text: tuple(map(int, re.findall(r"\d+", text)[:2]))
        expect(sys.version_info >= (3, 11), f"Python {host.python_version()} is too old: 3.11 is needed")
        needed = pack["glibc"]
        expect(
            libc != "glibc" or numbers(found) >= numbers(needed),
            f"glibc {found} is too old: the libraries need {needed}",
        )
        expect(
            host.machine() == pack["machine"],
            f"the libraries are for {pack['machine']}, but this machine is {host.machine()}",
        )
    with recorder.case("JAX") as figures:
        try:
            import jax
            import jaxlib
            import numpy
        except ImportError as error:
            raise AssertionError(f"missing: {error.name}, for {sys.executable}") from error
        figures["machine"] = {
            "JAX": f"{jax.__version__}, jaxlib {jaxlib.__version__}, NumPy {numpy.__version__}"
        }
    if platform == "cuda":
        cuda(recorder)


def cuda(recorder):
    with recorder.case("GPU") as figures:
        names = "name,driver_version,memory.total,compute_cap"
        gpu = first_line(["nvidia-smi", f"--query-gpu={names}", "--format=csv,noheader"])
        figures["machine"] = {
            "GPU (name, driver, memory, compute capability)": gpu or "nvidia-smi reports none"
        }
        plugins = {
            name: version(name)
            for name in ("jax-cuda13-plugin", "jax-cuda12-plugin", "jax-cuda13-pjrt", "jax-cuda12-pjrt")
        }
        figures["machine"]["CUDA plugin of JAX"] = (
            ", ".join(f"{k} {v}" for k, v in plugins.items() if v) or "none"
        )
        try:
            import jax

            devices = jax.devices("cuda")
        except (ImportError, RuntimeError) as error:
            missing = [] if any(plugins.values()) else ["JAX's CUDA plugin (the package jax-cuda13-plugin)"]
            missing += [] if has_driver() else ["NVIDIA's driver (libcuda.so.1)"]
            missing += [] if gpu else ["a GPU that nvidia-smi lists"]
            text = " ".join(str(error).split())
            raise AssertionError(
                f"missing: {', '.join(missing)}" if missing else f"JAX finds no GPU: {text}"
            ) from error
        figures["machine"]["devices in JAX"] = ", ".join(f"{d} ({d.device_kind})" for d in devices)
        figures["machine"]["XLA's platform version"] = " ".join(devices[0].client.platform_version.split())
    # Only some checks need these tools.
    for name, pattern in [("nvcc", "release"), ("compute-sanitizer", "ersion"), ("g++", "")]:
        with recorder.case(name) as figures:
            path = tool(name)
            figures["machine"] = {
                name: (path and first_line([path, "--version"], pattern)) or "not installed"
            }
            if path is None:
                raise Skip(f"{name} is not installed")


def has_driver():
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    return True


def processor():
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            return next(
                (line.split(":", 1)[1].strip() for line in file if line.startswith("model name")),
                host.machine(),
            )
    except OSError:
        return host.machine()
