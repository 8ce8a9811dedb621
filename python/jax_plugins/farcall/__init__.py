"""JAX's backend `farcall`. JAX imports the modules of this namespace package whenever it starts its backends, so this
one imports the engine only if the backend is used."""

from typing import Any

__all__ = ["initialize"]

NAME = "farcall"


def initialize() -> None:
    """Registers the backend with a priority below that of every other one, so that it is the default only if
    `JAX_PLATFORMS` names it. An error of its start is reported only to users who ask for it."""
    import jax
    from jax._src import xla_bridge

    quiet = NAME not in (jax.config.jax_platforms or "").split(",")
    xla_bridge.register_backend_factory(NAME, _client, priority=-1, fail_quietly=quiet, experimental=False)


def _client() -> Any:
    from farcall._jax_backend import client

    return client(NAME)
