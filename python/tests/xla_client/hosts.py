"""Runs programs in farcall and in jaxlib."""

import numpy as np
import pytest

from farcall import xla_client

F32 = np.dtype(np.float32)
Shape = xla_client.Shape
SCALAR = Shape.array_shape(F32, (), ())


def run(builder, *arguments, root=None):
    client = xla_client.make_cpu_client()
    return xla_client.execute_with_python_values(client.compile(builder.build(root)), arguments, backend=client)


def in_jaxlib(text, arguments):
    """Runs a program, given as HLO text, in XLA. Returns the results."""
    jax = pytest.importorskip("jax")
    from jaxlib import xla_client as theirs
    from jaxlib._jax import mlir

    module = theirs.hlo.hlo_module_from_text(text)
    computation = theirs.XlaComputation(module.as_serialized_hlo_module_proto())
    device = jax.devices()[0]
    program = mlir.xla_computation_to_mlir_module(computation)
    devices = theirs.DeviceList((device,))
    executable = device.client.compile_and_load(program, devices, theirs.CompileOptions())
    with jax.enable_x64(True):
        return [np.asarray(x) for x in executable.execute([jax.device_put(a, device) for a in arguments])]
