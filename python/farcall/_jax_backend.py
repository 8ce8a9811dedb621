"""The engine as a backend of JAX: `JAX_PLATFORMS=farcall python train.py`.

JAX finds the backend through the package `jax_plugins.farcall`. Its name is `farcall`, but its devices belong
to the platform `cpu`: programs are lowered as for XLA's CPU backend, with the same custom calls.
"""

import atexit
import contextlib
import functools
import os
from collections.abc import Callable, Sequence
from typing import Any

from farcall import _farcall
from farcall._engine import Registry, register_type
from farcall._handlers import NumberedCallbacks
from farcall._jax_internals import Backend

#: Environment variable for the number of devices. Each device has its own queue of runs; all of them use the
#: processors of this machine.
NUM_DEVICES = "FARCALL_NUM_DEVICES"

_FORKED = (
    "this process was forked after JAX had started its threads, which the new process lacks. Start processes with "
    'multiprocessing.get_context("spawn"), or fork before the first use of JAX'
)


def client(name: str) -> Any:
    """Creates the client of the backend, which has this name."""
    Backend.load(name, _farcall.__file__)
    _prepare(name, os.getpid())
    return Backend.client(name, {"num_devices": _num_devices()})


@functools.cache
def _prepare(name: str, process: int) -> None:
    """Prepares a process for the backend, once."""
    _share_registrations()
    Backend.wrap_compile(_Compiler(name, process))
    # JAX's own functions for the end of the process are registered before, and called after this one.
    atexit.register(_finish)


def _finish() -> None:
    """Waits for runs before the interpreter ends, because runs may call Python functions."""
    while not _farcall.wait_for_runs(0.1):
        pass  # Python handles signals here


def _num_devices() -> int:
    given = os.environ.get(NUM_DEVICES, "1")
    try:
        return int(given)
    except ValueError:
        raise ValueError(f"{NUM_DEVICES} is {given!r}; it must be a number of devices") from None


def _share_registrations() -> None:
    """Registers the custom-call targets and types of JAX's CPU backend with farcall, too: those that exist,
    and those that are registered later. farcall's own linear algebra takes precedence over jaxlib's."""
    registry = _farcall.Registry.process()

    def share(name: str, functions: Any, api_version: int, traits: int) -> None:
        if registry.is_built_in(name) or name in NumberedCallbacks.TARGETS:
            return
        # farcall may have another handler of this name, for example of a library that it loaded.
        with contextlib.suppress(ValueError):
            registry.register(
                name,
                functions,
                platform="cpu",
                api_version=api_version,
                traits=traits,
                replace=False,
                # XLA calls the functions when JAX registers them.
                called_by_xla=True,
            )

    def share_type(name: str, registration: Any) -> None:
        if isinstance(registration, dict):
            with contextlib.suppress(ValueError):  # the type has another id in farcall
                register_type(name, registration)

    Backend.observe_registrations(share, share_type)


class _Compiler:
    """Compiles programs for JAX's backends. A program that calls Python functions (`jax.pure_callback`,
    `io_callback`, `jax.debug.callback`) refers to them by their indices, so it is compiled with handlers of its
    own.

    Args:
      name: the name of farcall's backend.
      process: the number of the process in which JAX has created the backend.
    """

    def __init__(self, name: str, process: int) -> None:
        self._name = name
        self._process = process

    def __call__(
        self,
        compile_and_load: Callable[..., Any],
        backend: Any,
        module: Any,
        executable_devices: Any,
        options: Any,
        host_callbacks: Sequence[Any],
    ) -> Any:
        def compiled(functions: Sequence[Any]) -> Any:
            return compile_and_load(backend, module, executable_devices, options, functions)

        if not Backend.is_of(backend, self._name):
            return compiled(host_callbacks)
        if os.getpid() != self._process:
            # jaxlib would wait for its threads.
            raise RuntimeError(_FORKED)
        if not host_callbacks:
            return compiled(host_callbacks)
        callbacks = NumberedCallbacks(list(host_callbacks))
        scope = _farcall.Scope(callbacks.registry(Registry.process()._native), callbacks)
        with Backend.module_attribute(module, scope.ATTRIBUTE, scope.number):
            # jaxlib's own handler of `buffer_callback` takes the functions from jaxlib. They make each run
            # synchronous.
            return compiled(host_callbacks if any(map(Backend.is_buffer_callback, host_callbacks)) else [])
