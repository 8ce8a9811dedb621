"""Whose LAPACK computes: farcall's own, jaxlib's, or the system's.

JAX programs call LAPACK by names such as `lapack_sgetrf_ffi`. farcall has handlers with these names. On
request, they call the routines of a LAPACK library. jaxlib has handlers with these names too, which call
routines of SciPy; they are registered only on request.
"""

import os

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


def use_lapack(path: str | os.PathLike[str] | None = None) -> str:
    """Makes farcall's own LAPACK handlers call the routines of a LAPACK library, such as OpenBLAS or MKL, in
    this process. Call it before the first linear algebra.

    Loading a library runs its code: only load libraries that you trust. Libraries whose integers have 64 bits
    (*ILP64*) are not supported.

    Args:
      path: the library; by default, the first that the system's dynamic linker finds.

    Returns:
      The path, or the name that the linker found.

    Raises:
      OSError: if there is no such library, if it lacks a routine, or if this process uses other routines
        already.
    """
    return os.fspath(_farcall.open_lapack(path))
