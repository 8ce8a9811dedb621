"""`ComputationBuilder`, the builder of jaxlib before 0.1.47: its methods add instructions, and
`Build().Compile()` returns an executable."""

import itertools
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from farcall.xla_client import ops
from farcall.xla_client._builder import XlaBuilder, XlaComputation, XlaOp
from farcall.xla_client._client import CompileOptions, LoadedExecutable, get_local_backend
from farcall.xla_client._dimensions import (
    PaddingType,
    make_convolution_dimension_numbers,
    make_dot_dimension_numbers,
    make_replica_groups,
    window_padding_type_to_pad_values,
)
from farcall.xla_client._shapes import ProgramShape, Shape, shape_from_pyval


class Computation:
    """A computation that can be compiled, or applied by another computation."""

    def __init__(self, computation: XlaComputation, backend: Any = None) -> None:
        self._computation, self._backend = computation, backend

    @property
    def computation(self) -> XlaComputation:
        """The computation in the form of newer versions."""
        return self._computation

    def Compile(self, argument_shapes: Any = None, compile_options: Any = None, backend: Any = None) -> LoadedExecutable:
        """Compiles the computation. `execute_with_python_values` returns the executable's result itself: an
        array, or a tuple of arrays if the result is a tuple."""
        options = compile_options or CompileOptions()
        if argument_shapes:
            options.argument_layouts = list(argument_shapes)
        executable = (backend or self._backend or get_local_backend()).compile(self._computation, options)
        executable._is_old = True
        return executable

    def GetHloText(self) -> str:
        """Returns the computation as HLO text."""
        return self._computation.as_hlo_text()

    def GetHloDotGraph(self) -> str:
        """Returns the instructions as a graph for Graphviz."""
        return self._computation.as_hlo_dot_graph()

    def GetSerializedProto(self) -> bytes:
        """Not supported."""
        return self._computation.as_serialized_hlo_module_proto()

    def GetProgramShape(self) -> ProgramShape:
        """Returns the shapes of the parameters and the result."""
        return self._computation.program_shape()

    def GetReturnValueShape(self) -> Shape:
        """Returns the shape of the result."""
        return self._computation.program_shape().result_shape()

    def Hash(self) -> int:
        """Returns a number that is equal for computations with the same instructions."""
        return self._computation.hash()


class ComputationBuilder:
    """Builder whose methods add instructions. The methods have the names of XLA's C++ interface."""

    def __init__(self, name: str) -> None:
        self._builder = XlaBuilder(name)
        self._parameter_numbering = itertools.count()

    def Build(self, root: XlaOp | None = None, backend: Any = None) -> Computation:
        """Returns the computation. Its result is the result of `root`, or of the last instruction."""
        return Computation(self._builder.build(root), backend)

    def GetShape(self, operand: XlaOp) -> Shape:
        """Returns the shape of an instruction's result."""
        return self._builder.get_shape(operand)

    def GetProgramShape(self, root: XlaOp | None = None) -> ProgramShape:
        """Returns the shapes of the parameters and the result."""
        return self._builder.get_program_shape(root)

    def SetUpAlias(self, output_index: Iterable[int], param_number: int, param_index: Iterable[int]) -> None:
        """Allows a part of the result to share the memory of a part of a parameter."""
        self._builder.setup_alias(output_index, param_number, param_index)

    def SetOpMetadata(self, op_metadata: Any) -> None:
        """Sets the source of the following instructions."""
        self._builder.set_op_metadata(op_metadata)

    def ClearOpMetadata(self) -> None:
        """Ends `SetOpMetadata`: the following instructions have no source."""
        self._builder.clear_op_metadata()

    def SetSharding(self, sharding: Any) -> None:
        """Sets the sharding of the following instructions."""
        self._builder.set_sharding(sharding)

    def ClearSharding(self) -> None:
        """Ends `SetSharding`: the following instructions have no sharding."""
        self._builder.clear_sharding()

    def IsConstant(self, operand: XlaOp) -> bool:
        """Returns true if an instruction does not depend on parameters."""
        return self._builder.is_constant(operand)

    # --- parameters and constants

    def ParameterWithShape(
        self, shape: Shape, name: str | None = None, parameter_num: int | None = None, replicated: Any = None
    ) -> XlaOp:
        """Adds a parameter. Without a number, the parameter gets the next number."""
        number = next(self._parameter_numbering) if parameter_num is None else parameter_num
        return ops.Parameter(self._builder, number, shape.with_major_to_minor_layout_if_absent(), name or "", replicated or ())

    def ParameterFromNumpy(self, value: Any, name: str | None = None, parameter_num: int | None = None) -> XlaOp:
        """Adds a parameter with the shape of a value: an array, or a tuple of such values."""
        return self.ParameterWithShape(shape_from_pyval(value), name, parameter_num)

    def Constant(self, value: Any) -> XlaOp:
        """Adds a constant: a NumPy array."""
        return ops.Constant(self._builder, value)

    def ConstantF32Scalar(self, value: float) -> XlaOp:
        """Adds a constant `f32[]`."""
        return self.Constant(np.array(value, np.float32))

    def ConstantF64Scalar(self, value: float) -> XlaOp:
        """Adds a constant `f64[]`."""
        return self.Constant(np.array(value, np.float64))

    def ConstantS32Scalar(self, value: int) -> XlaOp:
        """Adds a constant `s32[]`."""
        return self.Constant(np.array(value, np.int32))

    def ConstantS64Scalar(self, value: int) -> XlaOp:
        """Adds a constant `s64[]`."""
        return self.Constant(np.array(value, np.int64))

    def ConstantPredScalar(self, value: bool) -> XlaOp:
        """Adds a constant `pred[]`."""
        return self.Constant(np.array(value, np.bool_))

    def Iota(self, dtype: Any, size: int) -> XlaOp:
        """Adds consecutive integers, starting at 0."""
        return ops.Iota(self._builder, np.dtype(dtype), size)

    def BroadcastedIota(self, dtype: Any, shape: Sequence[int], dimension: int) -> XlaOp:
        """Adds consecutive integers along one of several dimensions, starting at 0."""
        return ops.Iota(self._builder, Shape.array_shape(np.dtype(dtype), shape), dimension)

    # --- calls

    def CustomCall(
        self,
        call_target_name: str | bytes,
        operands: Iterable[XlaOp],
        shape: Shape | None = None,
        operand_shapes_with_layout: Iterable[Shape] | None = None,
        opaque: str | bytes | None = None,
        *,
        shape_with_layout: Shape | None = None,
        has_side_effect: bool = False,
        api_version: ops.CustomCallApiVersion = ops.CustomCallApiVersion.API_VERSION_ORIGINAL,
    ) -> XlaOp:
        """Adds a call of a registered target.

        Args:
          call_target_name: the target.
          operands: operands of any shape.
          shape: the shape of the result; with a layout, if the operands' shapes are given.
          operand_shapes_with_layout: the operands' shapes, with the layouts that the function expects.
          opaque: bytes for the function.
          shape_with_layout: the older name of `shape`.
          has_side_effect: the call is made even if its result is unused.
          api_version: calling convention of the function.
        """
        result = shape if shape is not None else shape_with_layout
        if result is None:
            raise TypeError("CustomCall needs the shape of its result: shape, or shape_with_layout")
        given = list(operands)
        if operand_shapes_with_layout is None:
            return ops.CustomCall(
                self._builder, call_target_name, given, result, opaque or b"", has_side_effect, api_version=api_version
            )
        return ops.CustomCallWithLayout(
            self._builder,
            call_target_name,
            given,
            result,
            list(operand_shapes_with_layout),
            opaque or b"",
            has_side_effect,
            api_version=api_version,
        )

    CustomCallWithLayout = CustomCall

    def Call(self, computation_to_apply: Any, operands: Iterable[XlaOp]) -> XlaOp:
        """Applies a computation to these operands."""
        return ops.Call(self._builder, computation_to_apply, list(operands))

    def Map(self, operands: Iterable[XlaOp], computation_to_apply: Any, dimensions: Sequence[int]) -> XlaOp:
        """Applies a computation to the elements at each position."""
        return ops.Map(self._builder, list(operands), computation_to_apply, dimensions)

    def Reduce(self, operand: XlaOp, init_value: XlaOp, computation_to_apply: Any, dimensions: Sequence[int]) -> XlaOp:
        """Reduces elements along dimensions."""
        return ops.Reduce(self._builder, [operand], [init_value], computation_to_apply, dimensions)

    def ReduceWindow(
        self,
        operand: XlaOp,
        init_value: XlaOp,
        computation_to_apply: Any,
        window_dimensions: Sequence[int],
        window_strides: Sequence[int],
        padding: PaddingType | str,
    ) -> XlaOp:
        """Reduces elements in windows."""
        sizes = self.GetShape(operand).dimensions()
        pads = window_padding_type_to_pad_values(padding, sizes, window_dimensions, window_strides)
        return ops.ReduceWindowWithGeneralPadding(
            operand, init_value, computation_to_apply, window_dimensions, window_strides, (), (), pads
        )

    def SelectAndScatter(
        self,
        operand: XlaOp,
        select: Any,
        window_dimensions: Sequence[int],
        window_strides: Sequence[int],
        padding: PaddingType | str,
        source: XlaOp,
        init_value: XlaOp,
        scatter: Any,
    ) -> XlaOp:
        """Selects an element of each window, and adds an element of the source at the position of the
        selected element."""
        sizes = self.GetShape(operand).dimensions()
        pads = window_padding_type_to_pad_values(padding, sizes, window_dimensions, window_strides)
        return ops.SelectAndScatterWithGeneralPadding(
            operand, select, window_dimensions, window_strides, pads, source, init_value, scatter
        )

    def Sort(
        self, operands: Any, dimension: int = -1, comparator: Any = None, is_stable: bool = False
    ) -> XlaOp:
        """Sorts arrays by a comparison of their elements."""
        given = [operands] if isinstance(operands, XlaOp) else list(operands)
        return ops.Sort(self._builder, given, comparator, dimension, is_stable)

    def SortKeyVal(self, keys: XlaOp, values: XlaOp, dimension: int = -1, is_stable: bool = False) -> XlaOp:
        """Sorts keys, and values in the same order."""
        return ops.Sort(self._builder, [keys, values], None, dimension, is_stable)

    # --- data

    def Tuple(self, *elems: XlaOp) -> XlaOp:
        """Creates a tuple."""
        return ops.Tuple(self._builder, list(elems))

    def Concatenate(self, operands: Iterable[XlaOp], dimension: int) -> XlaOp:
        """Concatenates arrays."""
        return ops.ConcatInDim(self._builder, list(operands), dimension)

    def Reshape(self, operand: XlaOp, dimensions: Sequence[int] | None, new_sizes: Sequence[int]) -> XlaOp:
        """Rearranges the elements into other dimensions. `dimensions` is the order in which the operand's
        dimensions are read."""
        return ops.Reshape(operand, dimensions, new_sizes)

    def Trans(self, operand: XlaOp) -> XlaOp:
        """Transposes a matrix."""
        return ops.Transpose(operand, [1, 0])

    def Slice(
        self, operand: XlaOp, start_indices: Iterable[int], limit_indices: Iterable[int], strides: Iterable[int] | None = None
    ) -> XlaOp:
        """Takes every `stride`-th element along each dimension, from a start index to before a limit."""
        starts = list(start_indices)
        return ops.Slice(operand, starts, list(limit_indices), [1] * len(starts) if strides is None else list(strides))

    def DynamicSlice(self, operand: XlaOp, start_indices: Any, slice_sizes: Sequence[int]) -> XlaOp:
        """Takes a slice at computed start indices: scalars, or an array of indices."""
        return ops.DynamicSlice(operand, _scalars(start_indices), slice_sizes)

    def DynamicUpdateSlice(self, operand: XlaOp, update: XlaOp, start_indices: Any) -> XlaOp:
        """Replaces a slice of the operand at computed start indices: scalars, or an array of indices."""
        return ops.DynamicUpdateSlice(operand, update, _scalars(start_indices))

    # --- products, systems, random numbers

    def DotGeneral(self, lhs: XlaOp, rhs: XlaOp, dimension_numbers: Any, precision_config: Any = None) -> XlaOp:
        """Multiplies arrays, along `((lhs_contracting, rhs_contracting), (lhs_batch, rhs_batch))`."""
        return ops.DotGeneral(lhs, rhs, make_dot_dimension_numbers(dimension_numbers), precision_config)

    def Conv(
        self,
        lhs: XlaOp,
        rhs: XlaOp,
        window_strides: Sequence[int],
        padding: PaddingType | str,
        feature_group_count: int = 1,
        batch_group_count: int = 1,
        precision_config: Any = None,
    ) -> XlaOp:
        """Adds a convolution."""
        sizes = self.GetShape(lhs).dimensions()[2:], self.GetShape(rhs).dimensions()[2:]
        pads = window_padding_type_to_pad_values(padding, *sizes, window_strides)
        return self.ConvGeneralDilated(
            lhs, rhs, window_strides, pads, (), (), None, feature_group_count, batch_group_count, precision_config
        )

    def ConvWithGeneralPadding(
        self,
        lhs: XlaOp,
        rhs: XlaOp,
        window_strides: Sequence[int],
        padding: Sequence[tuple[int, int]],
        lhs_dilation: Sequence[int],
        rhs_dilation: Sequence[int],
        feature_group_count: int = 1,
        batch_group_count: int = 1,
        precision_config: Any = None,
    ) -> XlaOp:
        """Adds a convolution with explicit padding."""
        return self.ConvGeneralDilated(
            lhs, rhs, window_strides, padding, lhs_dilation, rhs_dilation, None, feature_group_count, batch_group_count, precision_config
        )

    def ConvGeneralDilated(
        self,
        lhs: XlaOp,
        rhs: XlaOp,
        window_strides: Sequence[int],
        padding: Sequence[tuple[int, int]],
        lhs_dilation: Sequence[int],
        rhs_dilation: Sequence[int],
        dimension_numbers: Any = None,
        feature_group_count: int = 1,
        batch_group_count: int = 1,
        precision_config: Any = None,
    ) -> XlaOp:
        """Adds a convolution. The dimensions are `ConvolutionDimensionNumbers`, or three strings such as
        `("NHWC", "HWIO", "NHWC")`."""
        numbers = make_convolution_dimension_numbers(dimension_numbers, len(window_strides))
        return ops.ConvGeneralDilated(
            lhs,
            rhs,
            window_strides,
            padding,
            lhs_dilation,
            rhs_dilation,
            numbers,
            feature_group_count,
            batch_group_count,
            precision_config,
        )

    def TriangularSolve(
        self,
        a: XlaOp,
        b: XlaOp,
        left_side: bool = False,
        lower: bool = False,
        transpose_a: bool = False,
        conjugate_a: bool = False,
        unit_diagonal: bool = False,
    ) -> XlaOp:
        """Solves triangular systems."""
        kinds = ops.TriangularSolveOptions_Transpose
        kind = kinds.NO_TRANSPOSE if not transpose_a else kinds.ADJOINT if conjugate_a else kinds.TRANSPOSE
        matrix = ops.Conj(a) if conjugate_a and not transpose_a else a
        return ops.TriangularSolve(matrix, b, left_side, lower, unit_diagonal, kind)

    def RngNormal(self, mu: XlaOp, sigma: XlaOp, dims: Sequence[int]) -> XlaOp:
        """Generates random numbers with a normal distribution."""
        return ops.RngNormal(mu, sigma, Shape.array_shape(self.GetShape(mu).xla_element_type(), dims))

    def RngUniform(self, a: XlaOp, b: XlaOp, dims: Sequence[int]) -> XlaOp:
        """Generates random numbers with a uniform distribution between two bounds."""
        return ops.RngUniform(a, b, Shape.array_shape(self.GetShape(a).xla_element_type(), dims))

    # --- tokens, queues, devices

    def CreateToken(self) -> XlaOp:
        """Creates a token."""
        return ops.CreateToken(self._builder)

    def AfterAll(self, tokens: Sequence[XlaOp]) -> XlaOp:
        """Returns a token that is ordered after other tokens."""
        return ops.AfterAll(self._builder, tokens)

    def Infeed(self, shape: Shape, token: XlaOp | None = None) -> XlaOp:
        """Returns a tuple of a value from the host and a token."""
        return ops.InfeedWithToken(token or self.CreateToken(), shape.with_major_to_minor_layout_if_absent())

    def Outfeed(self, operand: XlaOp, token: XlaOp | None = None) -> XlaOp:
        """Passes a value to the host, and returns a token."""
        return ops.OutfeedWithToken(operand, token or self.CreateToken(), self.GetShape(operand))

    def ReplicaId(self) -> XlaOp:
        """Returns the number of the running replica: 0."""
        return ops.ReplicaId(self._builder)

    def AllReduce(self, operand: XlaOp, computation: Any, replica_groups: Any = None) -> XlaOp:
        """Combines the operands of all devices in a group."""
        return ops.AllReduce(operand, computation, make_replica_groups(replica_groups))

    def CrossReplicaSum(self, operand: XlaOp, replica_groups: Any = None) -> XlaOp:
        """Adds the operands of all devices in a group."""
        return ops.CrossReplicaSum(operand, make_replica_groups(replica_groups))

    def __getattr__(self, name: str) -> Any:
        """Returns functions of `ops` for instructions whose operands determine the builder."""
        if name.startswith("_") or not callable(function := getattr(ops, name, None)):
            raise AttributeError(f"ComputationBuilder has no method {name}")
        return function


def _scalars(indices: Any) -> list[XlaOp]:
    """Returns the elements of an array of indices."""
    if not isinstance(indices, XlaOp):
        return list(indices)
    [count] = indices.shape.dimensions()
    return [ops.Reshape(ops.Slice(indices, [i], [i + 1], [1]), []) for i in range(count)]
