"""`farcall run` on a PJRT plugin: JAX's CUDA plugin or, on the CPU, farcall's own. The results are compared
with the results of farcall's engine."""

import importlib.util
import subprocess
import tempfile
from pathlib import Path

import numpy as np

from checks import listing
from checks.outcome import Skip, expect

#: Packages of JAX with a plugin for CUDA.
PACKAGES = ("jax_plugins.xla_cuda13", "jax_plugins.xla_cuda12")

PRODUCT = """
func.func @main(%x: tensor<64x32xf32>, %y: tensor<32x16xf32>) -> tensor<64x16xf32> {
  %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0]
    : (tensor<64x32xf32>, tensor<32x16xf32>) -> tensor<64x16xf32>
  %1 = stablehlo.tanh %0 : tensor<64x16xf32>
  return %1 : tensor<64x16xf32>
}
"""

NORM = """
func.func @main(%x: tensor<16x96xf32>, %scale: tensor<96xf32>) -> tensor<16x96xf32> {
  %0 = stablehlo.custom_call @rms_norm(%x, %scale)
    {api_version = 4 : i32, backend_config = {eps = 1.0e-5 : f32}}
    : (tensor<16x96xf32>, tensor<96xf32>) -> tensor<16x96xf32>
  return %0 : tensor<16x96xf32>
}
"""


def run(recorder, platform):
    engine = []
    with recorder.case("the plugin") as figures:
        path, options = plugin(platform)
        figures["plugin"] = path.name
        engine = [f"--engine=pjrt:{path}", *(f"--engine-option={option}" for option in options)]
    if not engine:
        return
    # CUDA may compute products with TF32, which has ten bits of precision.
    for name, program, tolerance in [("a product", PRODUCT, 5e-3), ("the call of an op", NORM, 1e-5)]:
        with recorder.case(name) as figures:
            results, expected = results_of(program, engine), results_of(program, [])
            figures["error"] = error = float(np.abs(results - expected).max())
            expect(error <= tolerance, f"results differ by {error:.1e}, more than {tolerance:.0e}")
    with recorder.case("a missing handler"):
        done = command(NORM.replace("@rms_norm", "@nobody"), engine)
        expect(done.returncode == 1, f"the command ended with status {done.returncode}")
        expect("nobody" in done.stderr, f"the error does not name the call: {done.stderr}")


def plugin(platform):
    """Returns the path of a plugin, and options of its client."""
    if platform == "cpu":
        if not listing.OWN_PLUGIN.exists():
            raise Skip(f"{listing.OWN_PLUGIN.name} is only in folders with debug builds")
        return listing.OWN_PLUGIN, []
    for package in PACKAGES:
        try:
            found = importlib.util.find_spec(package)
        except ModuleNotFoundError:
            continue
        for folder in (found.submodule_search_locations or []) if found is not None else []:
            path = Path(folder) / "xla_cuda_plugin.so"
            if path.exists():
                return path, ["preallocate=false"]
    raise Skip(f"none of the packages {', '.join(PACKAGES)} has xla_cuda_plugin.so")


def command(program, arguments):
    """Runs a program with the command `farcall run`."""
    given = ["run", "-", "--load", listing.LIBRARY, "--fill", "rand", *arguments]
    limit = listing.seconds_of_step(40)
    return subprocess.run(
        [listing.COMMAND, *given], input=program, capture_output=True, text=True, timeout=limit
    )


def results_of(program, arguments):
    """Returns the first result of a program."""
    with tempfile.TemporaryDirectory() as folder:
        done = command(program, [*arguments, "--quiet", "--output-dir", folder])
        expect(done.returncode == 0, " ".join(done.stderr.split()))
        return np.load(Path(folder) / "out0.npy")
