"""JAX's backend `farcall`: JAX imports the modules of this namespace package when it looks for backends."""

from farcall._jax_backend import initialize

__all__ = ["initialize"]
