"""farcall: custom calls for compiled tensor graphs, and an engine that runs such graphs.

A program is StableHLO text, as printed by JAX, or HLO text, as printed by XLA. Compile it, then call it on
NumPy arrays:

>>> import farcall, numpy as np
>>> double = farcall.compile('''
... func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
...   %0 = stablehlo.add %x, %x : tensor<3xf32>
...   return %0 : tensor<3xf32>
... }''')
>>> [y] = double(np.array([1, 2, 3], np.float32))
>>> y
array([2., 4., 6.], dtype=float32)

Custom calls in the program are bound to the targets of a `Registry`: handlers in libraries (`Registry.load`)
or in capsules, as for `jax.ffi.register_ffi_target` (`Registry.register`), or written in Python (`handler`).
`farcall.ffi` calls targets by name, like `jax.ffi`. `farcall.linalg` has linear algebra on NumPy and JAX
arrays. `use_lapack` makes the built-in LAPACK handlers call a library such as OpenBLAS, and `register_lapack`
registers jaxlib's handlers. Two modules must be imported explicitly: `farcall.sparse` has sparse matrices, and
`farcall.xla_client` has the interface of `jaxlib.xla_client`.

Errors are Python's built-in exceptions, with the engine's messages: `ValueError` for an invalid program,
name or shape (its subclass `MissingTargetError` for calls of unregistered targets), `TypeError` for a wrong
number of arguments or a wrong element type, `RuntimeError` for a handler that fails, `OSError` for a library
that cannot be opened. Compiling and running release the interpreter's lock; several threads can run an
executable at the same time.
"""

from farcall import ffi, linalg
from farcall._arrays import TensorType
from farcall._blocks import Attr, Block, BlockDecision, Call, Client, Skip, Skipped
from farcall._engine import (
    Executable,
    MemoryAnalysis,
    Polymorphic,
    Registry,
    StaleLibraryWarning,
    capsules,
    compile,
    convert,
    lowers,
    register_type,
)
from farcall._farcall import MissingTargetError, Target, __version__
from farcall._handlers import Handler, handler, report_crashes
from farcall._lapack import register_lapack, use_lapack
from farcall._limits import set_iteration_limit, set_memory_limit
from farcall._ops import Library, Op, load
from farcall._profile import Profile, StepTime

__all__ = [
    "Attr",
    "Block",
    "BlockDecision",
    "Call",
    "Client",
    "Executable",
    "Handler",
    "Library",
    "MemoryAnalysis",
    "MissingTargetError",
    "Op",
    "Polymorphic",
    "Profile",
    "Registry",
    "Skip",
    "Skipped",
    "StaleLibraryWarning",
    "StepTime",
    "Target",
    "TensorType",
    "__version__",
    "capsules",
    "compile",
    "convert",
    "ffi",
    "handler",
    "linalg",
    "load",
    "lowers",
    "register_lapack",
    "register_type",
    "report_crashes",
    "set_iteration_limit",
    "set_memory_limit",
    "use_lapack",
]
