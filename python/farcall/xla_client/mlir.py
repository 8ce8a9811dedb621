"""Conversion of computations to MLIR modules and back, as text."""

from farcall import convert
from farcall.xla_client._builder import XlaComputation
from farcall.xla_client._errors import XlaRuntimeError, as_xla_errors


def xla_computation_to_mlir_module(computation: XlaComputation) -> str:
    """Returns the computation as StableHLO text."""
    with as_xla_errors():
        return convert(computation.as_hlo_text(), "stablehlo")


def mlir_module_to_xla_computation(mlir_module: str | bytes, use_tuple_args: bool = False, return_tuple: bool = False) -> XlaComputation:
    """Parses a computation from StableHLO text or from a portable artifact.

    Raises:
      XlaRuntimeError: if the program is invalid, or tuples are requested, which is not supported.
    """
    if use_tuple_args or return_tuple:
        raise XlaRuntimeError("UNIMPLEMENTED: mlir_module_to_xla_computation: use_tuple_args and return_tuple are not supported")
    with as_xla_errors():
        return XlaComputation(convert(mlir_module if isinstance(mlir_module, bytes) else mlir_module + "\n", "hlo"))
