"""farcall: custom calls of compiled tensor graphs, and an engine of their own for the graphs.

A program is StableHLO text, as JAX prints it. Compile it, then call it on NumPy arrays:

>>> import farcall, numpy as np
>>> double = farcall.compile('''
... func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
...   %0 = stablehlo.add %x, %x : tensor<3xf32>
...   return %0 : tensor<3xf32>
... }''')
>>> [y] = double(np.array([1, 2, 3], np.float32))
>>> y
array([2., 4., 6.], dtype=float32)

Custom calls in it are bound to the targets of a `Registry`: handlers in libraries (`Registry.load`)
or in capsules, as for `jax.ffi.register_ffi_target` (`Registry.register`).

Errors are Python's own, with the engine's words: `ValueError` for a program, name or shape that is
wrong, `TypeError` for arguments of another number or element type, `RuntimeError` for a handler that
fails, `OSError` for a library that cannot be opened. Compiling and running release the interpreter's
lock; an executable can be run by several threads at once.
"""

from farcall._arrays import TensorType
from farcall._engine import Executable, Registry, StaleLibraryWarning, compile, register_type
from farcall._farcall import Target, __version__
from farcall._ops import Library, Op, load

__all__ = [
    "Executable",
    "Library",
    "Op",
    "Registry",
    "StaleLibraryWarning",
    "Target",
    "TensorType",
    "__version__",
    "compile",
    "load",
    "register_type",
]
