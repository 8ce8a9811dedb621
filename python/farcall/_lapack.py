"""jaxlib's LAPACK handlers for the engine.

JAX programs call LAPACK by names such as `lapack_sgetrf_ffi`. farcall has handlers with these names, and so
has jaxlib, whose handlers call routines of SciPy. jaxlib's are registered only on request.
"""

from farcall import _farcall
from farcall._engine import Registry


def register_lapack(registry: Registry | None = None) -> list[_farcall.Target]:
    """Registers all LAPACK handlers of jaxlib, which take precedence over farcall's own. Results of
    `jax.numpy.linalg` and `jax.scipy.linalg` then have the same bits as in XLA.

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
