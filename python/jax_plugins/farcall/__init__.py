"""JAX's backend `farcall`. JAX imports the modules of this namespace package whenever it starts its backends. This one
registers a factory, which imports the engine; JAX calls it unless `JAX_PLATFORMS` leaves the backend out."""

from typing import Any

__all__ = ["initialize"]

NAME = "farcall"


def initialize() -> None:
    """Registers the backend with a priority below that of every other one, so that it is the default only if
    `JAX_PLATFORMS` names it. An error of its start is reported only to users who ask for it."""
    from jax._src import xla_bridge

    xla_bridge.register_backend_factory(NAME, _client, priority=-1, fail_quietly=True, experimental=False)


def _client() -> Any:
    from farcall._jax_backend import client

    return client(NAME)
