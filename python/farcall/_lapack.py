"""Choice of LAPACK routines: farcall's own, jaxlib's, or the routines of a LAPACK library.

JAX programs call LAPACK by names such as `lapack_sgetrf_ffi`. farcall has built-in handlers with these names.
`use_lapack` makes these handlers call the routines of a LAPACK library. `register_lapack` registers jaxlib's
handlers of the same names, which call SciPy's routines.
"""

import os

from farcall import _farcall
from farcall._engine import Registry


def register_lapack(registry: Registry | None = None) -> list[_farcall.Target]:
    """Registers all of jaxlib's LAPACK handlers, which take precedence over farcall's own. Results of
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
    """Makes the engine's LAPACK handlers call the routines of a LAPACK library, such as OpenBLAS or MKL, from now
    on in this process. In programs that are compiled later, large products of matrices run in the library, too. (Ops
    of a loaded `libfarcall_linalg.so` follow only the environment variable `FARCALL_LINALG`.)

    Loading a library runs its code: only load libraries that you trust. Libraries with 64-bit integers
    (*ILP64*) are not supported.

    Args:
      path: the library's path; by default, the first library that the system's dynamic linker finds.

    Returns:
      The library's path, or its name if the linker found it.

    Raises:
      OSError: if the library cannot be opened, lacks a routine, or has 64-bit integers. The process then uses
        the same routines as before.
    """
    return os.fspath(_farcall.open_lapack(path))
