"""The pytest plugin that sets the number of devices to the environment variable `JAX_TESTS_DEVICES`. Test
files that request another number of CPU devices do not get it."""

import os

import jax
from jax._src import test_util


def pytest_configure() -> None:
    jax.config.update("jax_num_cpu_devices", int(os.environ["JAX_TESTS_DEVICES"]))
    test_util.request_cpu_devices = lambda _: None
