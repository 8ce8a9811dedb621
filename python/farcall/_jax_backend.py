"""The engine as a backend of JAX: `JAX_PLATFORMS=farcall python train.py`.

JAX finds the backend through the package `jax_plugins.farcall`. Its name is `farcall`, but its devices belong
to the platform `cpu`: programs are lowered as for XLA's CPU backend, with the same custom calls.

The backend uses undocumented parts of JAX, all of them in this module.
"""

import os
from collections.abc import Sequence
from typing import Any

NAME = "farcall"

#: Environment variable for the number of devices. Each device has its own queue of runs; all of them use the
#: processors of this machine.
NUM_DEVICES = "FARCALL_NUM_DEVICES"


_FORKED = (
    "this process was forked after JAX had started its threads, which the new process lacks. Start processes with "
    'multiprocessing.get_context("spawn"), or fork before the first use of JAX'
)


def initialize() -> None:
    """Registers the backend. Its library is loaded when JAX creates the backend.

    The priority is below that of every other backend, so farcall is only the default if it is named in
    `JAX_PLATFORMS`, or there is no other backend.
    """
    from jax._src import xla_bridge

    xla_bridge.register_backend_factory(NAME, _client, priority=-1, fail_quietly=False, experimental=False)


def _client() -> Any:
    """Creates the backend."""
    import jax
    from jax._src import xla_bridge
    from jax._src.lib import xla_client

    from farcall import _farcall

    if not xla_client.pjrt_plugin_loaded(NAME):
        xla_client.load_pjrt_plugin_dynamically(NAME, _farcall.__file__)
        _share_registrations()
        _share_callbacks()
    client = xla_bridge.make_pjrt_c_api_client(NAME, {"num_devices": _num_devices()})
    # JAX looks for devices of the platform `cpu`, for example to call Python functions.
    if "cpu" not in (jax.config.jax_platforms or "cpu").split(","):
        xla_bridge._backends["cpu"] = client
    return client


def _num_devices() -> int:
    given = os.environ.get(NUM_DEVICES, "1")
    try:
        return int(given)
    except ValueError:
        raise ValueError(f"{NUM_DEVICES} is {given!r}; it must be a number of devices") from None


def _share_registrations() -> None:
    """Registers the custom-call targets and types of JAX's CPU backend with farcall, too: those that exist,
    and those that are registered later. farcall's own linear algebra takes precedence over jaxlib's."""
    from jax._src.lib import xla_client

    from farcall._engine import Registry, register_type
    from farcall._handlers import NumberedCallbacks

    registry = Registry.process()
    built_in = {target.name for target in registry.built_ins()}
    xla = xla_client._xla

    def share(name: str, functions: Any, api_version: int, traits: Any) -> None:
        if name in built_in:
            return
        try:
            registry.register(name, functions, "cpu", api_version, int(getattr(traits, "value", traits) or 0))
        except ValueError:
            # farcall has another handler of this name, for example of a library that it loaded.
            pass

    def register_target(name: Any, functions: Any, platform: str, api_version: int = 0, traits: Any = 0) -> None:
        xla.register_custom_call_target(name, functions, platform, api_version, traits)
        share(name.decode() if isinstance(name, bytes) else name, functions, api_version, traits)

    def share_type(name: str, type_registration: Any) -> None:
        xla.register_custom_type(name, type_registration)
        if isinstance(type_registration, dict):
            register_type(name, type_registration)

    # JAX keeps registrations until a backend of the platform exists.
    xla_client.register_custom_call_handler("cpu", xla.register_custom_call_target)
    xla_client.register_custom_type_handler("cpu", xla.register_custom_type)
    platform = xla_client.xla_platform_names.get("cpu", "cpu")
    xla_client._custom_callback_handler[platform] = register_target
    xla_client._custom_type_id_handler[platform] = share_type
    for name, functions in xla.custom_call_targets("cpu").items():
        if name not in NumberedCallbacks.TARGETS:
            share(name, functions, 1 if isinstance(functions, dict) else 0, 0)


def _share_callbacks() -> None:
    """Lets programs call Python functions: `jax.pure_callback`, `io_callback`, `jax.debug.callback`. A program
    refers to its functions by their indices, so each program is compiled with handlers of its own."""
    from jax._src import compiler
    from jaxlib.mlir import ir

    from farcall import _farcall
    from farcall._engine import Registry
    from farcall._handlers import NumberedCallbacks

    of_xla = compiler.backend_compile_and_load
    process = os.getpid()

    def compile_and_load(backend: Any, module: Any, devices: Any, options: Any, host_callbacks: Sequence[Any]) -> Any:
        # jaxlib adds a line to the version of a plugin.
        is_farcall = backend.platform_version.rpartition("\n")[2].startswith(NAME)
        if is_farcall and os.getpid() != process:
            # jaxlib would wait for its threads, which the new process lacks.
            raise RuntimeError(_FORKED)
        if not host_callbacks or not is_farcall:
            return of_xla(backend, module, devices, options, host_callbacks)
        callbacks = NumberedCallbacks(list(host_callbacks))
        scope = _farcall.Scope(callbacks.registry(Registry.process()._native), callbacks)
        with module.context:
            number = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), scope.number)
            module.operation.attributes[scope.ATTRIBUTE] = number
            try:
                # jaxlib's own handler of `buffer_callback` takes the functions from jaxlib. They make each run
                # synchronous.
                is_buffer_callback = any(f.__module__ == "jax._src.buffer_callback" for f in host_callbacks)
                return of_xla(backend, module, devices, options, host_callbacks if is_buffer_callback else [])
            finally:
                del module.operation.attributes[scope.ATTRIBUTE]

    compiler.backend_compile_and_load = compile_and_load
