"""The interface of `jaxlib.xla_client`, on farcall's engine: `from farcall import xla_client` replaces
`from jaxlib import xla_client`.

The module has the names of jaxlib 0.10 and of earlier versions: registration of custom-call targets
(`register_custom_call_target`), builders of computations (`XlaBuilder` with `ops`, `ComputationBuilder`),
shapes, and a client that compiles and runs built computations, or programs in StableHLO and HLO. jaxlib is
not needed.

>>> import numpy as np
>>> from farcall import xla_client
>>> c = xla_client.XlaBuilder("example")
>>> x = xla_client.ops.Parameter(c, 0, xla_client.Shape.array_shape(np.dtype(np.float32), (2,)))
>>> y = xla_client.ops.Mul(x, xla_client.ops.Constant(c, np.float32(3)))
>>> executable = xla_client.make_cpu_client().compile(c.build())
>>> xla_client.execute_with_python_values(executable, [np.array([1, 2], np.float32)])
[array([3., 6.], dtype=float32)]

Clients have one device, the host's CPU; `farcall.compile(partitioned=True)` divides programs with registered
partitioners. Errors are `XlaRuntimeError`s with XLA's status codes.

The modules, each of which builds on those before it:

- `_farcall_internals`: the undocumented parts of farcall that this package uses
- `_errors`, `_absent`: errors with status codes, and names of jaxlib that this package lacks
- `_names`, `_protobuf`, `_layouts`, `_shapes`, `_sharding`: shapes, as text and as protocol buffers
- `_builder`: computations, built one instruction at a time
- `ops`: functions that add an instruction, a family of instructions in each module
- `_dimensions`: dimension numbers and other arguments of instructions
- `_registration`: targets of custom calls
- `_client`: clients, devices, buffers and executables
- `_computation_builder`: the builder of the first versions, on top of `ops`
- `hlo`, `mlir`: modules of the same names in jaxlib

The tests are in `python/tests/xla_client`.
"""

import enum
import types
from typing import Any

import numpy as np

from farcall.xla_client import hlo, mlir, ops
from farcall.xla_client._absent import ABSENT
from farcall.xla_client._builder import HloModule, OpMetadata, XlaBuilder, XlaComputation, XlaOp
from farcall.xla_client._client import (
    Buffer,
    Client,
    CompileOptions,
    Device,
    DeviceAssignment,
    DeviceList,
    Executable,
    ExecutableBuildOptions,
    LoadedExecutable,
    LocalExecutable,
    execute_with_python_values,
    execute_with_python_values_replicated,
    get_local_backend,
    make_cpu_client,
)
from farcall.xla_client._computation_builder import Computation, ComputationBuilder
from farcall.xla_client._dimensions import (
    ConvolutionDimensionNumbers,
    CurrentSourceInfoMetadata,
    DotDimensionNumbers,
    GatherDimensionNumbers,
    PaddingConfig,
    PaddingConfigDimension,
    PaddingType,
    PrecisionConfig,
    ReplicaGroup,
    ScatterDimensionNumbers,
    make_convolution_dimension_numbers,
    make_dot_dimension_numbers,
    make_padding_config,
    make_replica_groups,
    window_padding_type_to_pad_values,
)
from farcall.xla_client._errors import XlaRuntimeError
from farcall.xla_client._registration import (
    CustomCallHandler,
    CustomCallPartitioner,
    CustomCallTargetTraits,
    CustomTypeIdHandler,
    batch_partitionable_custom_calls,
    custom_call_partitioners,
    custom_call_targets,
    encode_inspect_sharding_callback,
    register_cpu_custom_call_target,
    register_custom_call_as_batch_partitionable,
    register_custom_call_handler,
    register_custom_call_partitioner,
    register_custom_call_target,
    register_custom_type,
    register_custom_type_handler,
    register_custom_type_id,
    register_custom_type_id_handler,
    xla_platform_names,
)
from farcall.xla_client._layouts import Layout
from farcall.xla_client._shapes import (
    ELEMENT_TYPES,
    PrimitiveType,
    ProgramShape,
    Shape,
    ShapeIndex,
    primitive_type,
    shape_from_pyval,
)
from farcall.xla_client._sharding import HloSharding, OpSharding
from farcall.xla_client.ops import FftType

__all__ = [
    "Array",
    "ArrayImpl",
    "Buffer",
    "Client",
    "CompileOptions",
    "Computation",
    "ComputationBuilder",
    "ConvolutionDimensionNumbers",
    "CurrentSourceInfoMetadata",
    "CustomCallHandler",
    "CustomCallPartitioner",
    "CustomCallTargetTraits",
    "CustomTypeIdHandler",
    "DTYPE_TO_XLA_ELEMENT_TYPE",
    "Device",
    "DeviceAssignment",
    "DeviceList",
    "DotDimensionNumbers",
    "Executable",
    "ExecutableBuildOptions",
    "FftType",
    "GatherDimensionNumbers",
    "HloModule",
    "HloSharding",
    "HostBufferSemantics",
    "Layout",
    "LoadedExecutable",
    "LocalExecutable",
    "OpMetadata",
    "OpSharding",
    "PaddingConfig",
    "PaddingConfigDimension",
    "PaddingType",
    "PrecisionConfig",
    "PrimitiveType",
    "ProgramShape",
    "ReplicaGroup",
    "ScatterDimensionNumbers",
    "Shape",
    "ShapeIndex",
    "XLA_ELEMENT_TYPE_TO_DTYPE",
    "XlaBuilder",
    "XlaComputation",
    "XlaOp",
    "XlaRuntimeError",
    "batch_partitionable_custom_calls",
    "bfloat16",
    "custom_call_partitioners",
    "custom_call_targets",
    "dtype_to_etype",
    "encode_inspect_sharding_callback",
    "execute_with_python_values",
    "execute_with_python_values_replicated",
    "get_cpu_client",
    "get_local_backend",
    "hlo",
    "make_convolution_dimension_numbers",
    "make_cpu_client",
    "make_dot_dimension_numbers",
    "make_padding_config",
    "make_replica_groups",
    "mlir",
    "ops",
    "register_cpu_custom_call_target",
    "register_custom_call_as_batch_partitionable",
    "register_custom_call_handler",
    "register_custom_call_partitioner",
    "register_custom_call_target",
    "register_custom_type",
    "register_custom_type_handler",
    "register_custom_type_id",
    "register_custom_type_id_handler",
    "shape_from_pyval",
    "window_padding_type_to_pad_values",
    "xla_platform_names",
]

#: Names in older versions.
Array = ArrayImpl = Buffer
get_cpu_client = make_cpu_client


class HostBufferSemantics(enum.IntEnum):
    """Permitted use of the array from which a buffer is created. The array is always copied."""

    IMMUTABLE_ONLY_DURING_CALL = 0
    IMMUTABLE_UNTIL_TRANSFER_COMPLETES = 1
    ZERO_COPY = 2


#: NumPy's types by XLA's element types, and XLA's element types by the names of NumPy's types.
XLA_ELEMENT_TYPE_TO_DTYPE = {
    **{kind: Shape.scalar_shape(kind).element_type() for kind in ELEMENT_TYPES},
    PrimitiveType.TUPLE: np.dtype(object),
    PrimitiveType.TOKEN: np.dtype(object),
}
DTYPE_TO_XLA_ELEMENT_TYPE = {
    str(dtype): kind for kind, dtype in XLA_ELEMENT_TYPE_TO_DTYPE.items() if dtype != np.dtype(object)
}
bfloat16 = XLA_ELEMENT_TYPE_TO_DTYPE[PrimitiveType.BF16].type


def dtype_to_etype(dtype: Any) -> PrimitiveType:
    """Returns XLA's element type for a NumPy type.

    Raises:
      TypeError: if no element type matches.
    """
    return primitive_type(dtype)


#: Names in jaxlib's inner module that user code accesses.
_xla = types.SimpleNamespace(mlir=mlir, ops=ops, Shape=Shape, XlaBuilder=XlaBuilder, XlaComputation=XlaComputation, XlaOp=XlaOp)


def __getattr__(name: str) -> Any:
    why = ABSENT.get(name, "this part of jaxlib.xla_client is not supported")
    raise AttributeError(f"farcall.xla_client has no {name}: {why}")
