"""Runs programs with shardings on 8 devices of XLA:CPU and of farcall, both through JAX, and compares the results.

Verdicts:

- `agrees`: the results of both agree.
- `not run by XLA`: jaxlib cannot read, compile or run the program.
- `uneven`: a parameter or result is divided unevenly, which JAX's arrays do not support.
- `XLA differs`: farcall agrees with the evaluator, which ran the program on one device, and XLA does not.
- `refused`: farcall fails.
- `differs`: farcall's results are wrong, or all three differ.
"""

import os
import sys
from pathlib import Path

DEVICES = 8
os.environ["JAX_PLATFORMS"] = "cpu,farcall"
os.environ["FARCALL_NUM_DEVICES"] = str(DEVICES)

HERE = Path(__file__).parent
sys.path.append(str(HERE.parent / "jax_suite"))

import jax
import numpy as np
from jax._src import compiler, op_shardings, sharding_impls
from jax._src.interpreters import mlir
from jax._src.lib import xla_client
from jax._src.lib.mlir import ir

import farcall
from agreement import first_difference
from store import Store
from worker import message, serve, stage

jax.config.update("jax_enable_x64", True)
jax.config.update("jax_num_cpu_devices", DEVICES)


class Uneven(Exception):
    """A dimension of a parameter or result cannot be divided into equal parts."""


class ShardedWorker:
    """The worker of the JAX suite for programs on several devices."""

    def __init__(self, store: Store) -> None:
        self.folder = store.root

    def judge(self, name: str) -> dict:
        """Returns the verdict on a program."""
        text = (self.folder / f"{name}.mlir").read_text(encoding="utf-8")
        # farcall and jaxlib write a slice of a scalar with two commas, but jaxlib reads it with one only.
        text = text.replace(", , sizes = []", ", sizes = []")
        if ("chlo.scan" in text or "chlo.ragged_dot" in text) and "complex" in text:
            return {"verdict": "not run by XLA", "detail": "jaxlib's conversion of complex numbers for plugins crashes"}
        inputs, expected = (self._values(f"{name}.{kind}.mlir") for kind in ("inputs", "results"))
        shapes = [array.shape for array in expected]
        try:
            stage("XLA:CPU", {"verdict": "not run by XLA", "detail": "no answer"})
            xla = run(text, inputs, "cpu", shapes)
        except Uneven as error:
            return {"verdict": "uneven", "detail": str(error)}
        except Exception as error:
            return {"verdict": "not run by XLA", "detail": message(error)}
        try:
            stage("farcall", {"verdict": "refused", "detail": "no answer"})
            found = run(text, inputs, "farcall", shapes)
        except Uneven as error:
            return {"verdict": "uneven", "detail": str(error)}
        except Exception as error:
            # jaxlib converts a program for plugins to StableHLO, and does not convert all operations of other dialects.
            is_of_jaxlib = "CHLO => [StableHLO+Shape] => StableHLO failed" in message(error)
            verdict = "not run by XLA" if is_of_jaxlib else "refused"
            return {"verdict": verdict, "detail": message(error)}
        difference = first_difference(found, xla)
        if difference is None:
            return {"verdict": "agrees"}
        own = first_difference(found, expected)
        verdict = "XLA differs" if own is None else "differs"
        return {"verdict": verdict, "detail": difference.detail, "from the evaluator": own and own.detail}

    def _values(self, file: str) -> list[np.ndarray]:
        return farcall.compile((self.folder / file).read_text(encoding="utf-8")).run([])


def run(text: str, inputs: list[np.ndarray], platform: str, shapes: list[tuple[int, ...]]) -> list[np.ndarray]:
    """Runs a program on the devices of a platform, and returns its complete results, which have these shapes."""
    devices = jax.devices(platform)
    backend = devices[0].client
    options = compiler.get_compile_options(
        num_replicas=1,
        num_partitions=DEVICES,
        device_assignment=np.arange(DEVICES).reshape(1, DEVICES),
        backend=backend,
    )
    options.executable_build_options.use_shardy_partitioner = "sdy." in text
    device_list = xla_client.DeviceList(tuple(devices))
    with mlir.make_ir_context() as context:
        context.allow_unregistered_dialects = True
        module = ir.Module.parse(text)
        executable = backend.compile_and_load(module, executable_devices=device_list, compile_options=options)

    def sharding(stated):
        return sharding_impls.GSPMDSharding(device_list, stated)

    whole = xla_client.HloSharding.replicate()
    stated = executable.get_parameter_shardings() or [whole] * len(inputs)
    arguments = []
    for array, of in zip(inputs, stated, strict=True):
        try:
            sharding(of).shard_shape(array.shape)
        except ValueError as error:
            raise Uneven(str(error)) from error
        arguments.append(jax.device_put(array, sharding(of)))
    results = executable.execute_sharded(arguments).disassemble_into_single_device_arrays()
    stated = executable.get_output_shardings() or [whole] * len(results)
    return [joined(parts, sharding(of), shape) for parts, of, shape in zip(results, stated, shapes, strict=True)]


def joined(parts: list[jax.Array], sharding: jax.sharding.Sharding, shape: tuple[int, ...]) -> np.ndarray:
    """Returns the complete tensor of the parts of all devices."""
    part = np.asarray(parts[0])
    tiles = op_shardings.get_num_ways_dim_sharded(sharding._hlo_sharding)[0] or [1] * part.ndim
    if shape != tuple(size * n for size, n in zip(part.shape, tiles, strict=True)):
        raise Uneven(f"{sharding} divides {shape} unevenly")
    whole = np.empty(shape, part.dtype)
    indices = sharding.devices_indices_map(whole.shape)
    for part in parts:
        whole[indices[part.device]] = np.asarray(part)
    return whole


if __name__ == "__main__":
    serve(ShardedWorker)
