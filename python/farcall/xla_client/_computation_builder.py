"""`ComputationBuilder`, the builder of jaxlib before 0.1.47: its methods add instructions, `Build().Compile()` makes them run."""

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
    """A computation that can be compiled, or applied by another one."""

    def __init__(self, computation: XlaComputation, backend: Any = None) -> None:
        self._computation, self._backend = computation, backend

    @property
    def computation(self) -> XlaComputation:
        """The computation as newer versions have it."""
        return self._computation

    def Compile(self, argument_shapes: Any = None, compile_options: Any = None, backend: Any = None) -> LoadedExecutable:
        """Compiles the computation. `execute_with_python_values` returns the executable's result as it is: an array, or a tuple of
        arrays if the result is a tuple."""
        options = compile_options or CompileOptions()
        if argument_shapes:
            options.argument_layouts = list(argument_shapes)
        executable = (backend or self._backend or get_local_backend()).compile(self._computation, options)
        executable._is_old = True
        return executable

    def GetHloText(self) -> str:
        """The computation as HLO text."""
        return self._computation.as_hlo_text()

    def GetHloDotGraph(self) -> str:
        """The instructions as a graph for Graphviz."""
        return self._computation.as_hlo_dot_graph()

    def GetSerializedProto(self) -> bytes:
        """Not supported."""
        return self._computation.as_serialized_hlo_module_proto()

    def GetProgramShape(self) -> ProgramShape:
        """The shapes of parameters and result."""
        return self._computation.program_shape()

    def GetReturnValueShape(self) -> Shape:
        """The shape of the result."""
        return self._computation.program_shape().result_shape()

    def Hash(self) -> int:
        """A number that is the same for computations of the same instructions."""
        return self._computation.hash()


class ComputationBuilder:
    """Adds instructions by its methods, which have the names of XLA's C++ interface."""

    def __init__(self, name: str) -> None:
        self._builder = XlaBuilder(name)
        self._parameter_numbering = itertools.count()

    def Build(self, root: XlaOp | None = None, backend: Any = None) -> Computation:
        """The computation. Its result is that of `root`, or of the instruction that was added last."""
        return Computation(self._builder.build(root), backend)

    def GetShape(self, operand: XlaOp) -> Shape:
        """The shape of an instruction's result."""
        return self._builder.get_shape(operand)

    def GetProgramShape(self, root: XlaOp | None = None) -> ProgramShape:
        """The shapes of parameters and result."""
        return self._builder.get_program_shape(root)

    def SetUpAlias(self, output_index: Iterable[int], param_number: int, param_index: Iterable[int]) -> None:
        """A part of the result may have the memory of a part of a parameter."""
        self._builder.setup_alias(output_index, param_number, param_index)

    def SetOpMetadata(self, op_metadata: Any) -> None:
        """Where the instructions that are added next come from."""
        self._builder.set_op_metadata(op_metadata)

    def ClearOpMetadata(self) -> None:
        """The instructions that are added next come from nowhere in particular."""
        self._builder.clear_op_metadata()

    def SetSharding(self, sharding: Any) -> None:
        """The sharding of the instructions that are added next."""
        self._builder.set_sharding(sharding)

    def ClearSharding(self) -> None:
        """The instructions that are added next have no sharding."""
        self._builder.clear_sharding()

    def IsConstant(self, operand: XlaOp) -> bool:
        """True if an instruction does not depend on parameters."""
        return self._builder.is_constant(operand)

    # --- parameters and constants

    def ParameterWithShape(
        self, shape: Shape, name: str | None = None, parameter_num: int | None = None, replicated: Any = None
    ) -> XlaOp:
        """A parameter; the next one if no number is given."""
        number = next(self._parameter_numbering) if parameter_num is None else parameter_num
        return ops.Parameter(self._builder, number, shape.with_major_to_minor_layout_if_absent(), name or "", replicated or ())

    def ParameterFromNumpy(self, value: Any, name: str | None = None, parameter_num: int | None = None) -> XlaOp:
        """A parameter of the shape of this value: an array, or a tuple of such values."""
        return self.ParameterWithShape(shape_from_pyval(value), name, parameter_num)

    def Constant(self, value: Any) -> XlaOp:
        """A constant: a NumPy array."""
        return ops.Constant(self._builder, value)

    def ConstantF32Scalar(self, value: float) -> XlaOp:
        """A constant `f32[]`."""
        return self.Constant(np.array(value, np.float32))

    def ConstantF64Scalar(self, value: float) -> XlaOp:
        """A constant `f64[]`."""
        return self.Constant(np.array(value, np.float64))

    def ConstantS32Scalar(self, value: int) -> XlaOp:
        """A constant `s32[]`."""
        return self.Constant(np.array(value, np.int32))

    def ConstantS64Scalar(self, value: int) -> XlaOp:
        """A constant `s64[]`."""
        return self.Constant(np.array(value, np.int64))

    def ConstantPredScalar(self, value: bool) -> XlaOp:
        """A constant `pred[]`."""
        return self.Constant(np.array(value, np.bool_))

    def Iota(self, dtype: Any, size: int) -> XlaOp:
        """Numbers from 0 on."""
        return ops.Iota(self._builder, np.dtype(dtype), size)

    def BroadcastedIota(self, dtype: Any, shape: Sequence[int], dimension: int) -> XlaOp:
        """Numbers from 0 on along one dimension of several."""
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
        """A call of a registered target.

        Args:
          call_target_name: the target.
          operands: any.
          shape: the shape of the result; with a layout, if the operands' shapes are given.
          operand_shapes_with_layout: the operands' shapes, in the layouts that the function takes.
          opaque: bytes for the function.
          shape_with_layout: the older name of `shape`.
          has_side_effect: the call is made even if nobody uses its result.
          api_version: what the function is called with.
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
        """A computation of these operands."""
        return ops.Call(self._builder, computation_to_apply, list(operands))

    def Map(self, operands: Iterable[XlaOp], computation_to_apply: Any, dimensions: Sequence[int]) -> XlaOp:
        """A computation of the elements at each place."""
        return ops.Map(self._builder, list(operands), computation_to_apply, dimensions)

    def Reduce(self, operand: XlaOp, init_value: XlaOp, computation_to_apply: Any, dimensions: Sequence[int]) -> XlaOp:
        """Elements along dimensions, combined."""
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
        """Elements in windows, combined."""
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
        """An element of each window is selected, and an element of the source is added there."""
        sizes = self.GetShape(operand).dimensions()
        pads = window_padding_type_to_pad_values(padding, sizes, window_dimensions, window_strides)
        return ops.SelectAndScatterWithGeneralPadding(
            operand, select, window_dimensions, window_strides, pads, source, init_value, scatter
        )

    def Sort(
        self, operands: Any, dimension: int = -1, comparator: Any = None, is_stable: bool = False
    ) -> XlaOp:
        """Arrays, sorted by a comparison of their elements."""
        given = [operands] if isinstance(operands, XlaOp) else list(operands)
        return ops.Sort(self._builder, given, comparator, dimension, is_stable)

    def SortKeyVal(self, keys: XlaOp, values: XlaOp, dimension: int = -1, is_stable: bool = False) -> XlaOp:
        """Keys and values, sorted by the keys."""
        return ops.Sort(self._builder, [keys, values], None, dimension, is_stable)

    # --- data

    def Tuple(self, *elems: XlaOp) -> XlaOp:
        """A tuple."""
        return ops.Tuple(self._builder, list(elems))

    def Concatenate(self, operands: Iterable[XlaOp], dimension: int) -> XlaOp:
        """Arrays one after the other."""
        return ops.ConcatInDim(self._builder, list(operands), dimension)

    def Reshape(self, operand: XlaOp, dimensions: Sequence[int] | None, new_sizes: Sequence[int]) -> XlaOp:
        """The same elements, read in an order of the dimensions, in other dimensions."""
        return ops.Reshape(operand, dimensions, new_sizes)

    def Trans(self, operand: XlaOp) -> XlaOp:
        """The transpose of a matrix."""
        return ops.Transpose(operand, [1, 0])

    def Slice(
        self, operand: XlaOp, start_indices: Iterable[int], limit_indices: Iterable[int], strides: Iterable[int] | None = None
    ) -> XlaOp:
        """Every `stride`-th element from a start to before a limit."""
        starts = list(start_indices)
        return ops.Slice(operand, starts, list(limit_indices), [1] * len(starts) if strides is None else list(strides))

    def DynamicSlice(self, operand: XlaOp, start_indices: Any, slice_sizes: Sequence[int]) -> XlaOp:
        """A slice from computed indices on: scalars, or an array of them."""
        return ops.DynamicSlice(operand, _scalars(start_indices), slice_sizes)

    def DynamicUpdateSlice(self, operand: XlaOp, update: XlaOp, start_indices: Any) -> XlaOp:
        """The operand with a slice replaced at computed indices: scalars, or an array of them."""
        return ops.DynamicUpdateSlice(operand, update, _scalars(start_indices))

    # --- products, systems, random numbers

    def DotGeneral(self, lhs: XlaOp, rhs: XlaOp, dimension_numbers: Any, precision_config: Any = None) -> XlaOp:
        """A product of arrays, along `((lhs_contracting, rhs_contracting), (lhs_batch, rhs_batch))`."""
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
        """A convolution."""
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
        """A convolution."""
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
        """A convolution. The dimensions are `ConvolutionDimensionNumbers`, or three strings such as `("NHWC", "HWIO", "NHWC")`."""
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
        """The solutions of triangular systems."""
        kinds = ops.TriangularSolveOptions_Transpose
        kind = kinds.NO_TRANSPOSE if not transpose_a else kinds.ADJOINT if conjugate_a else kinds.TRANSPOSE
        matrix = ops.Conj(a) if conjugate_a and not transpose_a else a
        return ops.TriangularSolve(matrix, b, left_side, lower, unit_diagonal, kind)

    def RngNormal(self, mu: XlaOp, sigma: XlaOp, dims: Sequence[int]) -> XlaOp:
        """Random numbers of a normal distribution."""
        return ops.RngNormal(mu, sigma, Shape.array_shape(self.GetShape(mu).xla_element_type(), dims))

    def RngUniform(self, a: XlaOp, b: XlaOp, dims: Sequence[int]) -> XlaOp:
        """Random numbers, equally likely between two bounds."""
        return ops.RngUniform(a, b, Shape.array_shape(self.GetShape(a).xla_element_type(), dims))

    # --- tokens, queues, devices

    def CreateToken(self) -> XlaOp:
        """A token."""
        return ops.CreateToken(self._builder)

    def AfterAll(self, tokens: Sequence[XlaOp]) -> XlaOp:
        """A token that comes after others."""
        return ops.AfterAll(self._builder, tokens)

    def Infeed(self, shape: Shape, token: XlaOp | None = None) -> XlaOp:
        """A value from the host and a token, as a tuple."""
        return ops.InfeedWithToken(token or self.CreateToken(), shape.with_major_to_minor_layout_if_absent())

    def Outfeed(self, operand: XlaOp, token: XlaOp | None = None) -> XlaOp:
        """Gives a value to the host; a token."""
        return ops.OutfeedWithToken(operand, token or self.CreateToken(), self.GetShape(operand))

    def ReplicaId(self) -> XlaOp:
        """The number of the replica that runs: 0."""
        return ops.ReplicaId(self._builder)

    def AllReduce(self, operand: XlaOp, computation: Any, replica_groups: Any = None) -> XlaOp:
        """The operands of all devices of a group, combined."""
        return ops.AllReduce(operand, computation, make_replica_groups(replica_groups))

    def CrossReplicaSum(self, operand: XlaOp, replica_groups: Any = None) -> XlaOp:
        """The sum of the operands of all devices of a group."""
        return ops.CrossReplicaSum(operand, make_replica_groups(replica_groups))

    def __getattr__(self, name: str) -> Any:
        """Instructions whose operands say whose they are: as in `ops`."""
        if name.startswith("_") or not callable(function := getattr(ops, name, None)):
            raise AttributeError(f"ComputationBuilder has no method {name}")
        return function


def _scalars(indices: Any) -> list[XlaOp]:
    """The elements of an array of indices."""
    if not isinstance(indices, XlaOp):
        return list(indices)
    [count] = indices.shape.dimensions()
    return [ops.Reshape(ops.Slice(indices, [i], [i + 1], [1]), []) for i in range(count)]
