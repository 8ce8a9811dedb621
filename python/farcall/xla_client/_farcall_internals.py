"""The undocumented parts of farcall that this package uses.

**Invariant.** Other modules of this package import only documented names of farcall, from `farcall`. The rest
of farcall imports nothing from this package, and runs without it.

- The extension module checks one instruction (`infer_root`) or a program (`verify_program`), reads a
  program's interface (`entry_types`) and its custom calls (`custom_calls`), and converts programs without the
  conveniences of `farcall.convert` (`convert_content`).
- `ExtensionRegistry` registers C functions of all interfaces. `capsule` wraps the address of a function, and
  `address_of` finds the address of a function of ctypes, CFFI or Numba.
- `fail_run` and `forget_raised` report what a Python function raised in a call by the engine.
- `watchers` are called with each program that `farcall.compile` has compiled, unless it is divided among
  devices.
- `register_partitioner_functions` and `inspect_sharding_config` take functions for programs that are divided
  among devices.
- `dtype_name`, `dtype_of` and `is_element_type` relate NumPy's types to names of element types.
"""

from farcall._arrays import dtype_name, dtype_of, is_element_type
from farcall._engine import watchers
from farcall._farcall import Registry as ExtensionRegistry
from farcall._farcall import (
    capsule,
    custom_calls,
    entry_types,
    fail_run,
    forget_raised,
    infer_root,
    inspect_sharding_config,
    is_artifact,
    register_partitioner_functions,
    verify_program,
)
from farcall._farcall import convert as convert_content
from farcall._handlers import address_of

__all__ = [
    "ExtensionRegistry",
    "address_of",
    "capsule",
    "convert_content",
    "custom_calls",
    "dtype_name",
    "dtype_of",
    "entry_types",
    "fail_run",
    "forget_raised",
    "infer_root",
    "inspect_sharding_config",
    "is_artifact",
    "is_element_type",
    "register_partitioner_functions",
    "verify_program",
    "watchers",
]
