"""Functions that add instructions to the builder of their operands or to a given builder, with the names of
XLA's C++ interface.

An instruction's shape follows from its operands. As in XLA's builder, instructions with two operands
broadcast a scalar, an operand with fewer dimensions if `broadcast_dimensions` maps its dimensions, and
dimensions of size 1.
"""

import inspect
import math
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from farcall.xla_client._arguments import Ops, typed
from farcall.xla_client._attributes import (
    FftType,
    PrecisionConfig_Precision,
    RandomAlgorithm,
    TriangularSolveOptions_Transpose,
    flag_text,
    ints_text,
    labels_text,
    precision_attributes,
    window_text,
)
from farcall.xla_client._builder import XlaBuilder, XlaComputation, XlaOp, constant_text, quoted
from farcall.xla_client._custom_call import (
    CustomCall,
    CustomCallApiVersion,
    CustomCallSchedule,
    CustomCallWithAliasing,
    CustomCallWithLayout,
)
from farcall.xla_client._errors import XlaRuntimeError
from farcall.xla_client._names import decoded
from farcall.xla_client._shapes import PrimitiveType, Shape, ShapeIndex, primitive_type


# --- elementwise


def _unary(opcode: str, title: str) -> Callable[..., XlaOp]:
    def op(operand: XlaOp, result_accuracy: Any = None) -> XlaOp:
        del result_accuracy  # the engine's functions have a single accuracy
        return _builder_of(title, operand)._add(opcode, [operand])

    op.__name__, op.__doc__ = title, f"The instruction `{opcode}`."
    return op


_UNARY = {
    "Abs": "abs",
    "Acos": "acos",
    "Acosh": "acosh",
    "Asin": "asin",
    "Asinh": "asinh",
    "Atanh": "atanh",
    "Cbrt": "cbrt",
    "Ceil": "ceil",
    "Clz": "count-leading-zeros",
    "Cos": "cosine",
    "Cosh": "cosh",
    "Erf": "erf",
    "Exp": "exponential",
    "Expm1": "exponential-minus-one",
    "Floor": "floor",
    "Imag": "imag",
    "IsFinite": "is-finite",
    "Log": "log",
    "Log1p": "log-plus-one",
    "Logistic": "logistic",
    "Neg": "negate",
    "Not": "not",
    "PopulationCount": "popcnt",
    "Real": "real",
    "Round": "round-nearest-afz",
    "RoundNearestEven": "round-nearest-even",
    "Rsqrt": "rsqrt",
    "Sign": "sign",
    "Sin": "sine",
    "Sinh": "sinh",
    "Sqrt": "sqrt",
    "Tan": "tan",
    "Tanh": "tanh",
}


def _binary(opcode: str, title: str, direction: str | None = None) -> Callable[..., XlaOp]:
    def op(lhs: XlaOp, rhs: XlaOp, broadcast_dimensions: Sequence[int] = ()) -> XlaOp:
        lhs, rhs = _broadcast(title, lhs, rhs, tuple(broadcast_dimensions or ()))
        attributes = [] if direction is None else [("direction", direction)]
        return lhs._builder._add(opcode, [lhs, rhs], attributes=attributes)

    op.__name__ = title
    op.__doc__ = f"The instruction `{opcode}`{'' if direction is None else f' with direction {direction}'}."
    return op


_BINARY = {
    "Add": "add",
    "And": "and",
    "Atan2": "atan2",
    "Complex": "complex",
    "Div": "divide",
    "Max": "maximum",
    "Min": "minimum",
    "Mul": "multiply",
    "Or": "or",
    "Pow": "power",
    "Rem": "remainder",
    "ShiftLeft": "shift-left",
    "ShiftRightArithmetic": "shift-right-arithmetic",
    "ShiftRightLogical": "shift-right-logical",
    "Sub": "subtract",
    "Xor": "xor",
}

_COMPARE = ("Eq", "Ne", "Ge", "Gt", "Le", "Lt")

#: Functions of CHLO. XLA expands them into graphs of other instructions; here they are custom calls by name,
#: which farcall runs.
_CHLO = {
    "BesselI1e": "chlo.bessel_i1e",
    "Digamma": "chlo.digamma",
    "Erfc": "chlo.erfc",
    "ErfInv": "chlo.erf_inv",
    "Lgamma": "chlo.lgamma",
}
_CHLO_BINARY = {"NextAfter": "chlo.next_after", "Zeta": "chlo.zeta"}


def _chlo(target: str, title: str) -> Callable[..., XlaOp]:
    def op(*operands: XlaOp) -> XlaOp:
        shape = operands[0].shape
        return operands[0]._builder._add("custom-call", operands, shape, attributes=[("custom_call_target", quoted(target))])

    op.__name__, op.__doc__ = title, f"The function `{target}`, which farcall runs and XLA does not know by this name."
    return op


_module = sys.modules[__name__]
for _title, _name in _UNARY.items():
    setattr(_module, _title, _unary(_name, _title))
for _title, _name in _BINARY.items():
    setattr(_module, _title, _binary(_name, _title))
for _title in _COMPARE:
    setattr(_module, _title, _binary("compare", _title, _title.upper()))
for _title, _name in (_CHLO | _CHLO_BINARY).items():
    setattr(_module, _title, _chlo(_name, _title))

_FUNCTIONS: dict[str, Callable[..., XlaOp]] = {
    name: getattr(_module, name) for name in (*_UNARY, *_BINARY, *_COMPARE, *_CHLO, *_CHLO_BINARY)
}


def __getattr__(name: str) -> Any:
    raise AttributeError(f"farcall.xla_client.ops has no operation {name}: it is not supported")


def Atan(operand: XlaOp) -> XlaOp:
    """Returns the arc tangent."""
    return _FUNCTIONS["Atan2"](operand, _like(operand, 1))


def Square(operand: XlaOp) -> XlaOp:
    """Returns the square."""
    return _FUNCTIONS["Mul"](operand, operand)


def Reciprocal(operand: XlaOp) -> XlaOp:
    """Returns the reciprocal."""
    return _FUNCTIONS["Div"](_like(operand, 1), operand)


def Conj(operand: XlaOp) -> XlaOp:
    """Returns the complex conjugate."""
    real, imag = _FUNCTIONS["Real"](operand), _FUNCTIONS["Imag"](operand)
    return _FUNCTIONS["Complex"](real, _FUNCTIONS["Neg"](imag))


def Select(pred: XlaOp, on_true: XlaOp, on_false: XlaOp) -> XlaOp:
    """Selects elements of `on_true` where `pred` is true, and of `on_false` elsewhere. Scalars are
    broadcast."""
    builder = _builder_of("Select", pred, on_true, on_false)
    largest = max((pred, on_true, on_false), key=lambda op: len(op.shape.dimensions()))
    operands = [_expand(op, largest.shape.dimensions(), ()) for op in (pred, on_true, on_false)]
    return builder._add("select", operands)


def Clamp(min: XlaOp, operand: XlaOp, max: XlaOp) -> XlaOp:
    """Limits the operand's elements to two bounds. A scalar bound applies to all elements."""
    return _builder_of("Clamp", min, operand, max)._add("clamp", [min, operand, max])


def ConvertElementType(operand: XlaOp, new_element_type: PrimitiveType) -> XlaOp:
    """Converts elements to another type with the same numbers."""
    return operand._builder._add("convert", [operand], _with_type(operand.shape, new_element_type))


def BitcastConvertType(operand: XlaOp, new_element_type: PrimitiveType) -> XlaOp:
    """Converts elements to another type with the same bits. Wider elements absorb the last dimension,
    narrower ones add a dimension."""
    dims, new = list(operand.shape.dimensions()), primitive_type(new_element_type)
    sizes = [np.dtype(Shape.scalar_shape(kind).element_type()).itemsize for kind in (operand.shape.xla_element_type(), new)]
    if sizes[0] > sizes[1]:
        dims.append(sizes[0] // sizes[1])
    elif sizes[0] < sizes[1]:
        dims = dims[:-1]
    return operand._builder._add("bitcast-convert", [operand], Shape.array_shape(new, dims))


def ReducePrecision(operand: XlaOp, exponent_bits: int, mantissa_bits: int) -> XlaOp:
    """Rounds elements to a floating-point format with these numbers of bits."""
    attributes = [("exponent_bits", exponent_bits), ("mantissa_bits", mantissa_bits)]
    return operand._builder._add("reduce-precision", [operand], attributes=attributes)


# --- values


def Parameter(
    builder: XlaBuilder,
    parameter_number: int,
    shape: Shape,
    name: str | bytes = "",
    replicated_at_leaf_buffers: Sequence[bool] = (),
) -> XlaOp:
    """Adds a parameter of the computation."""
    del replicated_at_leaf_buffers  # there is one device
    number = str(int(parameter_number))
    if any(inst.opcode == "parameter" and inst.argument == number for inst in builder._instructions):
        raise XlaRuntimeError(f"INVALID_ARGUMENT: there is a parameter {number} already")
    return builder._add("parameter", shape=shape, argument=number, name=decoded(name))


def Constant(builder: XlaBuilder, value: Any) -> XlaOp:
    """Adds a constant: a NumPy array, or a number."""
    shape, text = constant_text(value)
    return builder._add("constant", shape=shape, argument=text)


ConstantLiteral = Constant


def Iota(builder: XlaBuilder, *args: Any, **kwargs: Any) -> XlaOp:
    """Adds consecutive integers, starting at 0: `Iota(builder, type, size)` in one dimension, `Iota(builder,
    shape, iota_dimension)` along one of several."""
    is_shape = "shape" in kwargs or (args and isinstance(args[0], Shape))
    return (_iota_of_shape if is_shape else _iota_of_size)(builder, *args, **kwargs)


def _iota_of_size(builder: XlaBuilder, type: Any, size: int) -> XlaOp:
    return _iota_of_shape(builder, Shape.array_shape(type, [size]), 0)


def _iota_of_shape(builder: XlaBuilder, shape: Shape, iota_dimension: int) -> XlaOp:
    if not shape.is_array():
        raise XlaRuntimeError(f"INVALID_ARGUMENT: Iota: the result is an array, not {shape}")
    return builder._add("iota", shape=shape, attributes=[("iota_dimension", iota_dimension)])


def Tuple(builder: XlaBuilder, elements: Sequence[XlaOp]) -> XlaOp:
    """Creates a tuple."""
    return builder._add("tuple", elements, Shape.tuple_shape([element.shape for element in elements]))


def GetTupleElement(tuple_data: XlaOp, index: int) -> XlaOp:
    """Returns a part of a tuple."""
    parts = tuple_data.shape.tuple_shapes()
    if not 0 <= index < len(parts):
        raise XlaRuntimeError(f"INVALID_ARGUMENT: the tuple has {len(parts)} elements, none of index {index}")
    return tuple_data._builder._add("get-tuple-element", [tuple_data], parts[index], attributes=[("index", index)])


def CreateToken(builder: XlaBuilder) -> XlaOp:
    """Creates a token."""
    return AfterAll(builder, [])


def AfterAll(builder: XlaBuilder, tokens: Sequence[XlaOp]) -> XlaOp:
    """Returns a token that is ordered after other tokens."""
    return builder._add("after-all", tokens, Shape.token_shape())


def OptimizationBarrier(operand: XlaOp) -> XlaOp:
    """Returns the operand behind a barrier for optimizations."""
    return operand._builder._add("opt-barrier", [operand], operand.shape)


def ReplicaId(builder: XlaBuilder) -> XlaOp:
    """Returns the number of the running replica: 0."""
    return builder._add("replica-id")


# --- data


def Broadcast(operand: XlaOp, sizes: Sequence[int]) -> XlaOp:
    """Repeats the operand along new leading dimensions."""
    dims = operand.shape.dimensions()
    return BroadcastInDim(operand, [*sizes, *dims], range(len(sizes), len(sizes) + len(dims)))


def BroadcastInDim(operand: XlaOp, shape: Sequence[int], broadcast_dimensions: Sequence[int]) -> XlaOp:
    """Broadcasts the operand to these sizes. The operand's dimensions become the `broadcast_dimensions` of
    the result; the operand is repeated along the other dimensions."""
    sizes, dims = list(shape), list(broadcast_dimensions)
    given = operand.shape.dimensions()
    if len(dims) != len(given) or any(not 0 <= dim < len(sizes) for dim in dims):
        raise XlaRuntimeError(
            f"INVALID_ARGUMENT: BroadcastInDim: broadcast_dimensions {dims} are not dimensions of {sizes} for those of {operand.shape}"
        )
    # In HLO, broadcasts do not stretch dimensions of size 1.
    stretched = [i for i, dim in enumerate(dims) if given[i] == 1 and sizes[dim] != 1]
    if stretched:
        kept = [i for i in range(len(dims)) if i not in stretched]
        operand, dims = Reshape(operand, [given[i] for i in kept]), [dims[i] for i in kept]
    result = Shape.array_shape(operand.shape.xla_element_type(), sizes)
    _check_broadcast(operand, sizes, dims)
    return operand._builder._add("broadcast", [operand], result, attributes=[("dimensions", ints_text(dims))])


def Reshape(operand: XlaOp, *sizes: Any, **kwargs: Any) -> XlaOp:
    """Rearranges the elements into other dimensions: `Reshape(operand, new_sizes)`. Older versions also take
    the order of dimensions first."""
    *before, new_sizes = [*sizes, *(kwargs[key] for key in ("dimensions", "new_sizes") if key in kwargs)]
    order = before[0] if before else None
    if order is not None and list(order) != list(range(len(operand.shape.dimensions()))):
        operand = Transpose(operand, order)
    result = Shape.array_shape(operand.shape.xla_element_type(), new_sizes)
    if math.prod(result.dimensions()) != math.prod(operand.shape.dimensions()):
        raise XlaRuntimeError(f"INVALID_ARGUMENT: Reshape: {operand.shape} and {result} have different numbers of elements")
    return operand._builder._add("reshape", [operand], result)


def Collapse(operand: XlaOp, dimensions: Sequence[int]) -> XlaOp:
    """Merges neighboring dimensions into one."""
    dims, sizes = list(dimensions), list(operand.shape.dimensions())
    if not dims:
        return operand
    if dims != list(range(dims[0], dims[0] + len(dims))) or dims[-1] >= len(sizes):
        raise XlaRuntimeError(f"INVALID_ARGUMENT: Collapse: {dims} are not neighboring dimensions of {operand.shape}")
    merged = math.prod(sizes[dim] for dim in dims)
    return Reshape(operand, [*sizes[: dims[0]], merged, *sizes[dims[-1] + 1 :]])


def Transpose(operand: XlaOp, permutation: Sequence[int]) -> XlaOp:
    """Permutes the dimensions."""
    return operand._builder._add("transpose", [operand], attributes=[("dimensions", ints_text(permutation))])


def Rev(operand: XlaOp, dimensions: Sequence[int]) -> XlaOp:
    """Reverses the elements along dimensions."""
    return operand._builder._add("reverse", [operand], attributes=[("dimensions", ints_text(dimensions))])


def Slice(operand: XlaOp, start_indices: Sequence[int], limit_indices: Sequence[int], strides: Sequence[int]) -> XlaOp:
    """Takes every `stride`-th element, from a start to before a limit."""
    ranges = ", ".join(f"[{a}:{b}:{s}]" for a, b, s in zip(start_indices, limit_indices, strides, strict=True))
    return operand._builder._add("slice", [operand], attributes=[("slice", f"{{{ranges}}}")])


def SliceInDim(operand: XlaOp, start_index: int, limit_index: int, stride: int, dimno: int) -> XlaOp:
    """Takes a slice along one dimension."""
    sizes = list(operand.shape.dimensions())
    starts, strides = [0] * len(sizes), [1] * len(sizes)
    starts[dimno], sizes[dimno], strides[dimno] = start_index, limit_index, stride
    return Slice(operand, starts, sizes, strides)


def ConcatInDim(builder: XlaBuilder, operands: Sequence[XlaOp], dimension: int) -> XlaOp:
    """Concatenates arrays."""
    return builder._add("concatenate", operands, attributes=[("dimensions", ints_text([dimension]))])


def Pad(operand: XlaOp, padding_value: XlaOp, padding_config: Any) -> XlaOp:
    """Pads the operand with a value around it and between its elements. The configuration is a
    `PaddingConfig`, or a list of triples: before, after, between elements."""
    if isinstance(padding_config, Sequence):
        triples = [tuple(triple) for triple in padding_config]
    else:
        dims = padding_config.dimensions
        triples = [(dim.edge_padding_low, dim.edge_padding_high, dim.interior_padding) for dim in dims]
    if not triples:
        return operand
    padding = "x".join("_".join(str(int(i)) for i in triple) for triple in triples)
    return operand._builder._add("pad", [operand, padding_value], attributes=[("padding", padding)])


def GetDimensionSize(operand: XlaOp, index: int) -> XlaOp:
    """Returns the size of a dimension as an `s32`."""
    return operand._builder._add("get-dimension-size", [operand], attributes=[("dimensions", ints_text([index]))])


def DynamicSlice(operand: XlaOp, start_indices: Sequence[XlaOp], slice_sizes: Sequence[int]) -> XlaOp:
    """Takes a slice of these sizes at computed start indices."""
    attributes = [("dynamic_slice_sizes", ints_text(slice_sizes))]
    return operand._builder._add("dynamic-slice", [operand, *start_indices], attributes=attributes)


def DynamicUpdateSlice(operand: XlaOp, update: XlaOp, start_indices: Sequence[XlaOp]) -> XlaOp:
    """Replaces a slice of the operand."""
    return operand._builder._add("dynamic-update-slice", [operand, update, *start_indices])


def Gather(
    a: XlaOp, start_indices: XlaOp, dimension_numbers: Any, slice_sizes: Sequence[int], indices_are_sorted: bool = False
) -> XlaOp:
    """Takes slices at computed indices. `dimension_numbers` are `GatherDimensionNumbers`."""
    attributes = [(key, ints_text(getattr(dimension_numbers, key))) for key in ("offset_dims", "collapsed_slice_dims", "start_index_map")]
    attributes += [("index_vector_dim", dimension_numbers.index_vector_dim), ("slice_sizes", ints_text(slice_sizes))]
    attributes += [("indices_are_sorted", "true")] if indices_are_sorted else []
    return a._builder._add("gather", [a, start_indices], attributes=attributes)


def Scatter(
    input: Ops,
    scatter_indices: XlaOp,
    updates: Ops,
    update_computation: XlaComputation,
    dimension_numbers: Any,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
) -> XlaOp:
    """Combines slices at computed indices with updates. `dimension_numbers` are `ScatterDimensionNumbers`."""
    inputs, new = _listed(input), _listed(updates)
    keys = ("update_window_dims", "inserted_window_dims", "scatter_dims_to_operand_dims")
    attributes = [(key, ints_text(getattr(dimension_numbers, key))) for key in keys]
    attributes += [("index_vector_dim", dimension_numbers.index_vector_dim)]
    attributes += [("indices_are_sorted", "true")] if indices_are_sorted else []
    attributes += [("unique_indices", "true")] if unique_indices else []
    return scatter_indices._builder._add(
        "scatter",
        [*inputs, scatter_indices, *new],
        results=len(inputs),
        attributes=attributes,
        computations=[("to_apply", [update_computation])],
    )


# --- instructions that apply computations


def Map(
    builder: XlaBuilder,
    operands: Sequence[XlaOp],
    computation: XlaComputation,
    dimensions: Sequence[int],
    static_operands: Sequence[XlaOp] = (),
) -> XlaOp:
    """Applies a computation to the elements at each position."""
    del static_operands
    return builder._add(
        "map", operands, attributes=[("dimensions", ints_text(dimensions))], computations=[("to_apply", [computation])]
    )


def Reduce(
    builder: XlaBuilder,
    operands: Sequence[XlaOp],
    init_values: Sequence[XlaOp],
    computation: XlaComputation,
    dimensions_to_reduce: Sequence[int],
) -> XlaOp:
    """Reduces elements along dimensions."""
    return builder._add(
        "reduce",
        [*operands, *init_values],
        results=len(operands),
        attributes=[("dimensions", ints_text(dimensions_to_reduce))],
        computations=[("to_apply", [computation])],
    )


def ReduceAll(operand: XlaOp, init_value: XlaOp, computation: XlaComputation) -> XlaOp:
    """Reduces all elements."""
    return Reduce(operand._builder, [operand], [init_value], computation, range(len(operand.shape.dimensions())))


def ReduceWindowWithGeneralPadding(*args: Any, **kwargs: Any) -> XlaOp:
    """Reduces elements in windows: `ReduceWindowWithGeneralPadding(operand, init_value, computation,
    window_dimensions, window_strides, base_dilations, window_dilations, padding)`. There may be several
    operands and initial values (`operands`, `init_values`)."""
    one_name = {"operands": "operand", "init_values": "init_value"}
    named = {one_name.get(name, name): value for name, value in kwargs.items()}
    return typed(_reduce_window, "ReduceWindowWithGeneralPadding")(*args, **named)


def _reduce_window(
    operand: Ops,
    init_value: Ops,
    computation: XlaComputation,
    window_dimensions: Sequence[int],
    window_strides: Sequence[int],
    base_dilations: Sequence[int],
    window_dilations: Sequence[int],
    padding: Sequence[tuple[int, int]],
) -> XlaOp:
    arrays, values = _listed(operand), _listed(init_value)
    window = window_text(window_dimensions, window_strides, padding, base_dilations, window_dilations)
    return arrays[0]._builder._add(
        "reduce-window",
        [*arrays, *values],
        results=len(arrays),
        attributes=[("window", window)],
        computations=[("to_apply", [computation])],
    )


def SelectAndScatterWithGeneralPadding(
    operand: XlaOp,
    select: XlaComputation,
    window_dimensions: Sequence[int],
    window_strides: Sequence[int],
    padding: Sequence[tuple[int, int]],
    source: XlaOp,
    init_value: XlaOp,
    scatter: XlaComputation,
) -> XlaOp:
    """Selects an element of each window, and adds an element of the source at its position."""
    return operand._builder._add(
        "select-and-scatter",
        [operand, source, init_value],
        attributes=[("window", window_text(window_dimensions, window_strides, padding))],
        computations=[("select", [select]), ("scatter", [scatter])],
    )


def Sort(
    builder: XlaBuilder,
    operands: Sequence[XlaOp],
    comparator: XlaComputation | None = None,
    dimension: int = -1,
    is_stable: bool = False,
) -> XlaOp:
    """Sorts arrays by a comparison of their elements; by default, in ascending order of the first array."""
    if comparator is None:
        comparator = _less_than([operand.shape.xla_element_type() for operand in operands])
    rank = len(operands[0].shape.dimensions())
    attributes = [("dimensions", ints_text([dimension % rank if -rank <= dimension < rank else dimension]))]
    attributes += [("is_stable", "true")] if is_stable else []
    return builder._add(
        "sort", operands, results=len(operands), attributes=attributes, computations=[("to_apply", [comparator])]
    )


def TopK(input: XlaOp, k: int) -> XlaOp:
    """Returns a tuple of the largest elements along the last dimension and their indices."""
    return input._builder._add("topk", [input], results=2, attributes=[("k", int(k)), ("largest", "true")])


def Call(builder: XlaBuilder, computation: XlaComputation, operands: Sequence[XlaOp]) -> XlaOp:
    """Applies a computation to these operands."""
    result = _applied(computation, [[operand] for operand in operands], "Call")
    return builder._add("call", list(operands), result, computations=[("to_apply", [computation])])


def While(condition: XlaComputation, body: XlaComputation, init: XlaOp) -> XlaOp:
    """Applies the body as long as the condition holds."""
    _applied(condition, [[init]], "While")
    _applied(body, [[init]], "While")
    return init._builder._add("while", [init], init.shape, computations=[("condition", [condition]), ("body", [body])])


def Conditional(*args: Any, **kwargs: Any) -> XlaOp:
    """Returns the result of one of several computations: `Conditional(branch_index, branch_computations,
    branch_operands)`, or `Conditional(predicate, true_operand, true_computation, false_operand,
    false_computation)`."""
    has_index = len(args) + len(kwargs) == 3
    return typed(_conditional_of_index if has_index else _conditional_of_predicate, "Conditional")(*args, **kwargs)


def _conditional_of_index(
    branch_index: XlaOp, branch_computations: Sequence[XlaComputation], branch_operands: Sequence[XlaOp]
) -> XlaOp:
    called = [("branch_computations", branch_computations)]
    return _conditional(branch_index, branch_computations, branch_operands, called)


def _conditional_of_predicate(
    predicate: XlaOp,
    true_operand: XlaOp,
    true_computation: XlaComputation,
    false_operand: XlaOp,
    false_computation: XlaComputation,
) -> XlaOp:
    computations = [true_computation, false_computation]
    called = [("true_computation", computations[:1]), ("false_computation", computations[1:])]
    return _conditional(predicate, computations, [true_operand, false_operand], called)


def _conditional(
    index: XlaOp,
    computations: Sequence[XlaComputation],
    operands: Sequence[XlaOp],
    called: Sequence[tuple[str, Sequence[XlaComputation]]],
) -> XlaOp:
    if len(computations) != len(operands) or not computations:
        raise XlaRuntimeError(f"INVALID_ARGUMENT: Conditional: {len(computations)} computations, {len(operands)} operands")
    results = [_applied(one, [[operand]], "Conditional") for one, operand in zip(computations, operands)]
    if any(result != results[0] for result in results):
        raise XlaRuntimeError(f"INVALID_ARGUMENT: Conditional: results of branches differ: {', '.join(map(str, results))}")
    return index._builder._add("conditional", [index, *operands], results[0], computations=called)


# --- linear algebra


def Dot(lhs: XlaOp, rhs: XlaOp, precision_config: Any = None, preferred_element_type: Any = None) -> XlaOp:
    """Multiplies vectors and matrices."""
    _builder_of("Dot", lhs, rhs)
    if not lhs.shape.dimensions() or not rhs.shape.dimensions():
        raise XlaRuntimeError(f"INVALID_ARGUMENT: Dot: operands are vectors or matrices, not {lhs.shape} and {rhs.shape}")

    class Numbers:
        lhs_contracting_dimensions = [len(lhs.shape.dimensions()) - 1]
        rhs_contracting_dimensions = [0]
        lhs_batch_dimensions: list[int] = []
        rhs_batch_dimensions: list[int] = []

    return DotGeneral(lhs, rhs, Numbers, precision_config, preferred_element_type)


def DotGeneral(
    lhs: XlaOp,
    rhs: XlaOp,
    dimensions_numbers: Any = None,
    precision_config: Any = None,
    preferred_element_type: Any = None,
    *,
    dimension_numbers: Any = None,
) -> XlaOp:
    """Multiplies arrays. The dimensions are `DotDimensionNumbers`."""
    numbers = dimension_numbers if dimensions_numbers is None else dimensions_numbers
    pairs = [("batch", "batch_dims"), ("contracting", "contracting_dims")]
    attributes = [
        (f"{side}_{key}", ints_text(getattr(numbers, f"{side}_{kind}_dimensions"))) for kind, key in pairs for side in ("lhs", "rhs")
    ]
    attributes = [(key, value) for key, value in attributes if value != "{}"]
    op = lhs._builder._add("dot", [lhs, rhs], attributes=attributes + precision_attributes(precision_config))
    return _preferred(op, "dot", [lhs, rhs], preferred_element_type)


def ConvGeneralDilated(
    lhs: XlaOp,
    rhs: XlaOp,
    window_strides: Sequence[int],
    padding: Sequence[tuple[int, int]],
    lhs_dilation: Sequence[int],
    rhs_dilation: Sequence[int],
    dimension_numbers: Any,
    feature_group_count: int = 1,
    batch_group_count: int = 1,
    precision_config: Any = None,
    preferred_element_type: Any = None,
    window_reversal: Sequence[bool] | None = None,
) -> XlaOp:
    """Adds a convolution. The dimensions are `ConvolutionDimensionNumbers`."""
    numbers = dimension_numbers
    sizes = [rhs.shape.dimensions()[dim] for dim in numbers.kernel_spatial_dimensions]
    window = window_text(sizes, window_strides, padding, lhs_dilation, rhs_dilation, window_reversal or ())
    labels = (
        labels_text("b", "f", numbers.input_batch_dimension, numbers.input_feature_dimension, numbers.input_spatial_dimensions),
        labels_text(
            "i", "o", numbers.kernel_input_feature_dimension, numbers.kernel_output_feature_dimension, numbers.kernel_spatial_dimensions
        ),
        labels_text("b", "f", numbers.output_batch_dimension, numbers.output_feature_dimension, numbers.output_spatial_dimensions),
    )
    attributes = [("window", window)] if sizes else []
    attributes += [("dim_labels", f"{labels[0]}_{labels[1]}->{labels[2]}")]
    attributes += [("feature_group_count", feature_group_count)] if feature_group_count != 1 else []
    attributes += [("batch_group_count", batch_group_count)] if batch_group_count != 1 else []
    op = lhs._builder._add("convolution", [lhs, rhs], attributes=attributes + precision_attributes(precision_config))
    return _preferred(op, "convolution", [lhs, rhs], preferred_element_type)


def Cholesky(a: XlaOp, lower: bool = True) -> XlaOp:
    """Computes the Cholesky decomposition of Hermitian matrices."""
    return a._builder._add("cholesky", [a], attributes=[("lower", flag_text(lower))])


def TriangularSolve(
    a: XlaOp, b: XlaOp, left_side: bool, lower: bool, unit_diagonal: bool, transpose_a: TriangularSolveOptions_Transpose
) -> XlaOp:
    """Solves triangular systems."""
    attributes = [("left_side", flag_text(left_side)), ("lower", flag_text(lower)), ("unit_diagonal", flag_text(unit_diagonal))]
    attributes += [("transpose_a", TriangularSolveOptions_Transpose(transpose_a).name)]
    return a._builder._add("triangular-solve", [a, b], attributes=attributes)


def Fft(operand: XlaOp, fft_type: FftType, fft_length: Sequence[int]) -> XlaOp:
    """Computes Fourier transforms along the last dimensions."""
    attributes = [("fft_type", FftType(fft_type).name), ("fft_length", ints_text(fft_length))]
    return operand._builder._add("fft", [operand], attributes=attributes)


# --- random numbers


def RngUniform(a: XlaOp, b: XlaOp, shape: Shape) -> XlaOp:
    """Generates random numbers with a uniform distribution between two bounds."""
    return a._builder._add("rng", [a, b], shape, attributes=[("distribution", "rng_uniform")])


def RngNormal(mu: XlaOp, sigma: XlaOp, shape: Shape) -> XlaOp:
    """Generates random numbers with a normal distribution."""
    return mu._builder._add("rng", [mu, sigma], shape, attributes=[("distribution", "rng_normal")])


def RngBitGenerator(algorithm: RandomAlgorithm, initial_state: XlaOp, shape: Shape) -> XlaOp:
    """Returns a tuple of the next state and random bits."""
    result = Shape.tuple_shape([initial_state.shape, shape])
    name = RandomAlgorithm(algorithm).name.lower()
    return initial_state._builder._add("rng-bit-generator", [initial_state], result, attributes=[("algorithm", name)])


# --- devices and queues


def AllReduce(
    operand: XlaOp,
    computation: XlaComputation,
    replica_groups: Sequence[Any] = (),
    channel_id: Any = None,
    shape_with_layout: Any = None,
) -> XlaOp:
    """Combines the operands of all devices in a group."""
    del channel_id, shape_with_layout
    groups = ", ".join(ints_text(getattr(group, "replica_ids", group)) for group in replica_groups or ())
    return operand._builder._add(
        "all-reduce",
        [operand],
        operand.shape,
        attributes=[("replica_groups", f"{{{groups}}}")],
        computations=[("to_apply", [computation])],
    )


def CrossReplicaSum(operand: XlaOp, replica_groups: Sequence[Any] = ()) -> XlaOp:
    """Adds the operands of all devices in a group."""
    builder = XlaBuilder("sum")
    scalar = Shape.scalar_shape(operand.shape.xla_element_type())
    _FUNCTIONS["Add"](Parameter(builder, 0, scalar), Parameter(builder, 1, scalar))
    return AllReduce(operand, builder.build(), replica_groups)


def InfeedWithToken(token: XlaOp, shape: Shape, config: str | None = "") -> XlaOp:
    """Returns a tuple of a value from the host and a token."""
    result = Shape.tuple_shape([shape, Shape.token_shape()])
    attributes = [("infeed_config", quoted(config))] if config else []
    return token._builder._add("infeed", [token], result, attributes=attributes)


def OutfeedWithToken(operand: XlaOp, token: XlaOp, shape_with_layout: Shape, outfeed_config: str | None = "") -> XlaOp:
    """Passes a value to the host, and returns a token."""
    attributes = [("outfeed_shape", str(shape_with_layout))]
    attributes += [("outfeed_config", quoted(outfeed_config))] if outfeed_config else []
    return token._builder._add("outfeed", [operand, token], Shape.token_shape(), attributes=attributes)


# --- construction of attributes and shapes


def _listed(given: Ops) -> list[XlaOp]:
    return [given] if isinstance(given, XlaOp) else list(given)


def _builder_of(title: str, *operands: XlaOp) -> XlaBuilder:
    """Returns the builder of an operation's operands, which must be arrays."""
    if not all(operand.shape.is_array() for operand in operands):
        shapes = ", ".join(str(operand.shape) for operand in operands)
        raise XlaRuntimeError(f"INVALID_ARGUMENT: {title}: operands are arrays, not {shapes}")
    builder = operands[0]._builder
    for operand in operands:
        builder._own(operand)
    return builder


def _like(operand: XlaOp, number: float) -> XlaOp:
    """Returns a constant with the operand's element type."""
    return Constant(operand._builder, np.array(number, operand.shape.element_type()))


def _with_type(shape: Shape, element_type: Any) -> Shape:
    return Shape.array_shape(primitive_type(element_type), shape.dimensions())


def _check_broadcast(operand: XlaOp, sizes: Sequence[int], dims: Sequence[int]) -> None:
    if any(operand.shape.dimensions()[i] != sizes[dim] for i, dim in enumerate(dims)) or len(set(dims)) != len(dims):
        raise XlaRuntimeError(f"INVALID_ARGUMENT: {operand.shape} cannot be broadcast to {list(sizes)} along {list(dims)}")


def _expand(op: XlaOp, sizes: Sequence[int], dims: Sequence[int]) -> XlaOp:
    """Broadcasts a scalar, or an operand with fewer dimensions, to these sizes."""
    return op if len(op.shape.dimensions()) == len(sizes) else BroadcastInDim(op, sizes, dims)


def _broadcast(title: str, lhs: XlaOp, rhs: XlaOp, dims: tuple[int, ...]) -> tuple[XlaOp, XlaOp]:
    """Broadcasts two operands to the same sizes."""
    _builder_of(title, lhs, rhs)
    ranks = [len(op.shape.dimensions()) for op in (lhs, rhs)]
    if ranks[0] == ranks[1] and dims not in ((), tuple(range(ranks[0]))):
        raise XlaRuntimeError(
            f"INVALID_ARGUMENT: {title}: broadcast_dimensions {list(dims)} of operands with the same number of dimensions, {lhs.shape} "
            f"and {rhs.shape}, are neither left out nor {list(range(ranks[0]))}"
        )
    if ranks[0] != ranks[1] and (dims or 0 in ranks):
        small, large = (lhs, rhs) if ranks[0] < ranks[1] else (rhs, lhs)
        given = small.shape.dimensions()
        if len(dims) != len(given) or any(not 0 <= dim < max(ranks) for dim in dims):
            raise XlaRuntimeError(
                f"INVALID_ARGUMENT: {title}: broadcast_dimensions {list(dims)} do not say which dimensions of {large.shape} are those "
                f"of {small.shape}"
            )
        sizes = list(large.shape.dimensions())
        for i, dim in enumerate(dims):
            # Dimensions of size 1 in the larger operand are stretched below.
            sizes[dim] = given[i] if sizes[dim] == 1 else sizes[dim]
        small = BroadcastInDim(small, sizes, dims)
        lhs, rhs = (small, large) if ranks[0] < ranks[1] else (large, small)
    elif ranks[0] != ranks[1]:
        raise XlaRuntimeError(
            f"INVALID_ARGUMENT: {title}: operands of different numbers of dimensions, {lhs.shape} and {rhs.shape}, need "
            "broadcast_dimensions"
        )
    pairs = list(zip(lhs.shape.dimensions(), rhs.shape.dimensions()))
    if all(a == b or 1 in (a, b) for a, b in pairs):
        sizes = [b if a == 1 else a for a, b in pairs]
        every = range(len(sizes))
        lhs, rhs = (op if list(op.shape.dimensions()) == sizes else BroadcastInDim(op, sizes, every) for op in (lhs, rhs))
    return lhs, rhs


def _preferred(op: XlaOp, opcode: str, operands: Sequence[XlaOp], element_type: Any) -> XlaOp:
    """Changes the last instruction to have results of another element type."""
    if element_type is None or primitive_type(element_type) == op.shape.xla_element_type():
        return op
    builder = op._builder
    last = builder._instructions.pop()
    attributes = [(key, value) for key, value in last.attributes if key not in ("sharding", "metadata")]
    return builder._add(opcode, operands, _with_type(last.shape, element_type), attributes=attributes)


def _less_than(kinds: Sequence[PrimitiveType]) -> XlaComputation:
    """Returns a comparison of the first two of its parameters, with two parameters for each element type."""
    builder = XlaBuilder("compare")
    parameters = [Parameter(builder, i, Shape.scalar_shape(kinds[i // 2])) for i in range(2 * len(kinds))]
    attributes = [("direction", "LT")]
    if np.dtype(parameters[0].shape.element_type()).kind not in "biu" and "int" not in parameters[0].shape.element_type().name:
        attributes.append(("type", "TOTALORDER"))
    return builder.build(builder._add("compare", parameters[:2], attributes=attributes))


def _applied(computation: Any, operands: Sequence[Sequence[XlaOp]], title: str) -> Shape:
    """Returns the shape of a computation's result.

    Raises:
      XlaRuntimeError: if its parameters do not match the operands.
    """
    shape = getattr(computation, "computation", computation).program_shape()
    wanted, given = shape.parameter_shapes(), [op.shape for ops in operands for op in ops]
    same = [a._text(layouts=False) == b._text(layouts=False) for a, b in zip(wanted, given)]
    if len(wanted) != len(given) or not all(same):
        raise XlaRuntimeError(
            f"INVALID_ARGUMENT: {title}: the computation's parameters are ({', '.join(map(str, wanted))}), but the operands are "
            f"({', '.join(map(str, given))})"
        )
    result: Shape = shape.result_shape()
    return result


# Functions of this module and of `_custom_call`.
for _name, _function in list(vars(_module).items()):
    if _name[0].isupper() and inspect.isfunction(_function):
        setattr(_module, _name, typed(_function))
