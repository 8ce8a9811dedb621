"""The reference: jaxlib's handlers, and XLA itself."""

import importlib
import os
from collections.abc import Callable
from typing import Any

# The flags are set before JAX starts. XLA fuses a multiplication and an addition if the instruction set has
# an instruction for both, and AVX has none.
os.environ["XLA_FLAGS"] = "--xla_cpu_max_isa=AVX"

import jax
import numpy as np
from jaxlib import xla_client

import farcall
from literal import literal as literal_text


def targets() -> farcall.Registry:
    """Returns a registry with the handlers in the jaxlib wheel. If the environment variable
    `JAX_SUITE_HANDLERS` is `built-in`, XLA alone uses these handlers."""
    registry = farcall.Registry()
    for module in ("jaxlib.lapack", "jaxlib.cpu_sparse"):
        handlers: Any = importlib.import_module(module)
        if module == "jaxlib.lapack":
            # `initialize` finds the LAPACK routines of SciPy, which the handlers call.
            handlers._lapack.initialize()
        if os.environ.get("JAX_SUITE_HANDLERS") == "built-in":
            continue
        for name, capsule, api_version in handlers.registrations()["cpu"]:
            registry.register(name, capsule, "cpu", api_version)
    return registry


class Xla:
    """XLA, for running programs other than the captured ones, such as rewritten programs."""

    def run(self, text: str, inputs: list[np.ndarray], *, literal: bool = False) -> list[np.ndarray]:
        """Compiles and runs a program."""
        return self.compile(text, literal=literal)(inputs)

    def compile(self, text: str, *, literal: bool = False) -> Callable[[list[np.ndarray]], list[np.ndarray]]:
        """Compiles a program to a function of arrays.

        With `literal`, XLA follows the program exactly where it usually has freedom: a result is rounded to
        its type even if it is widened again (no excess precision), and `literal.py` rewrites the program. A
        multiplication and an addition are never fused here.
        """
        options = xla_client.CompileOptions()
        if literal:
            options.env_option_overrides = [("xla_allow_excess_precision", "False")]
            text = literal_text(text)
        device = jax.devices("cpu")[0]
        with jax.enable_x64(True):
            executable = device.client.compile_and_load(text, xla_client.DeviceList((device,)), options)

        def call(inputs: list[np.ndarray]) -> list[np.ndarray]:
            with jax.enable_x64(True):
                results = executable.execute_sharded([jax.device_put(a, device) for a in inputs])
                return [np.asarray(r[0]) for r in results.disassemble_into_single_device_arrays()]

        return call
