"""The engine as a backend of JAX: `JAX_PLATFORMS=farcall python train.py`.

JAX finds the backend through the package `jax_plugins.farcall`. Its name is `farcall`, but its devices belong
to the platform `cpu`: programs are lowered as for XLA's CPU backend, with the same custom calls.
"""

import os
from typing import Any

NAME = "farcall"

#: Environment variable for the number of devices. Each device has its own queue of runs; all of them use the
#: processors of this machine.
NUM_DEVICES = "FARCALL_NUM_DEVICES"


def initialize() -> None:
    """Registers the backend. Its library is loaded when JAX creates the backend.

    The priority is below that of every other backend, so farcall is only the default if it is named in
    `JAX_PLATFORMS`, or there is no other backend.
    """
    from jax._src import xla_bridge

    xla_bridge.register_backend_factory(NAME, _client, priority=-1, fail_quietly=False, experimental=False)


def _client() -> Any:
    from jax._src import xla_bridge
    from jax._src.lib import xla_client

    from farcall import _farcall

    if not xla_client.pjrt_plugin_loaded(NAME):
        xla_client.load_pjrt_plugin_dynamically(NAME, _farcall.__file__)
    return xla_bridge.make_pjrt_c_api_client(NAME, {"num_devices": _num_devices()})


def _num_devices() -> int:
    given = os.environ.get(NUM_DEVICES, "1")
    try:
        return int(given)
    except ValueError:
        raise ValueError(f"{NUM_DEVICES} is {given!r}; it must be a number of devices") from None
