"""The pytest plugin that prepares JAX for its tests.

It sets the number of devices to the environment variable `JAX_TESTS_DEVICES`. Test files that request another
number of CPU devices do not get it. It loads modules that the tests import and JAX's wheel lacks from the
checkout, which is the current folder.
"""

import importlib.util
import os
import sys

import jax
from jax._src import test_util

_MODULES_OF_TESTS = ["hypothesis_test_util"]


def pytest_configure() -> None:
    jax.config.update("jax_num_cpu_devices", int(os.environ["JAX_TESTS_DEVICES"]))
    test_util.request_cpu_devices = lambda _: None
    for name in _MODULES_OF_TESTS:
        path = f"jax/_src/{name}.py"
        if importlib.util.find_spec(f"jax._src.{name}") is None and os.path.exists(path):
            spec = importlib.util.spec_from_file_location(f"jax._src.{name}", path)
            module = importlib.util.module_from_spec(spec)
            sys.modules[spec.name] = module
            spec.loader.exec_module(module)
            setattr(jax._src, name, module)
