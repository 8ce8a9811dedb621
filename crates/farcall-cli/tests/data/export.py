"""Exports a function that calls the ops of `tests/plugin/cuda.rs`, for CUDA and for two platforms.

Usage: python export.py libcli_cuda_ops.so
"""

import pathlib
import sys

import jax
import numpy as np

import farcall

# The exported files have the places of calls. The source is text here, so that they do not have the path of
# this file.
SOURCE = """\
def layer(x):
    return flipped(ops.scaled(x, by=3.0))


def exported(platforms):
    return jax.export.export(jax.jit(layer), platforms=platforms, disabled_checks=checks)(x)
"""

jax.config.update("jax_traceback_in_locations_limit", 1)
ops = farcall.load(sys.argv[1])
shape = jax.ShapeDtypeStruct((3, 2), np.float32)
names = {
    "checks": [*ops.disabled_checks, jax.export.DisabledSafetyCheck.custom_call("flipped")],
    "flipped": jax.ffi.ffi_call("flipped", shape, input_layouts=[(1, 0)], output_layouts=(1, 0)),
    "jax": jax,
    "ops": ops,
    "x": np.zeros((2, 3), np.float32),
}
exec(compile(SOURCE, "layer.py", "exec"), names)
for platforms in ["cuda"], ["cpu", "cuda"]:
    file = pathlib.Path(__file__).with_name(f"layer-{'-'.join(platforms)}.jax_export")
    file.write_bytes(names["exported"](platforms).serialize())
