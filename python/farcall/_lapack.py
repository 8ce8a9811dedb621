"""jaxlib's LAPACK handlers for the engine.

JAX programs call LAPACK by names such as `lapack_sgetrf_ffi`. jaxlib has handlers with these names, which
call routines of SciPy. The handlers are registered only on request: a program runs only handlers that its
user has registered.
"""

from farcall import _farcall
from farcall._engine import Registry


def register_lapack(registry: Registry | None = None) -> list[_farcall.Target]:
    """Registers all LAPACK handlers of jaxlib, for programs that use `jax.numpy.linalg` and
    `jax.scipy.linalg`.

    Args:
      registry: the registry to use; by default, the registry of the process.

    Returns:
      The targets.

    Raises:
      ImportError: if jaxlib or SciPy is not installed.
      ValueError: if other functions are registered under these names.
    """
    try:
        import scipy.linalg  # noqa: F401
        from jaxlib import lapack
    except ImportError as error:
        raise ImportError(
            f"the LAPACK handlers are jaxlib's, and call routines of SciPy: pip install jaxlib scipy ({error})"
        ) from error
    # `initialize` finds the routines in SciPy.
    lapack._lapack.initialize()
    registry = registry or Registry.process()
    handlers = lapack.registrations()["cpu"]
    return [registry.register(name, capsule, "cpu", api_version) for name, capsule, api_version in handlers]
