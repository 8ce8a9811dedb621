"""Instructions that move elements: reshapes, transposes, slices, gathers and scatters."""

import math
from collections.abc import Sequence
from typing import Any

from farcall.xla_client._builder import XlaBuilder, XlaComputation, XlaOp
from farcall.xla_client._errors import XlaRuntimeError
from farcall.xla_client._shapes import Shape
from farcall.xla_client.ops._arguments import Ops, listed, typed
from farcall.xla_client.ops._attributes import ints_text


@typed
def Reshape(operand: XlaOp, *sizes: Any, **kwargs: Any) -> XlaOp:
    """Rearranges the elements into other dimensions: `Reshape(operand, new_sizes)`. In calls written for
    older versions, the order in which the dimensions are read precedes `new_sizes`."""
    *before, new_sizes = [*sizes, *(kwargs[key] for key in ("dimensions", "new_sizes") if key in kwargs)]
    order = before[0] if before else None
    if order is not None and list(order) != list(range(len(operand.shape.dimensions()))):
        operand = Transpose(operand, order)
    result = Shape.array_shape(operand.shape.xla_element_type(), new_sizes)
    if math.prod(result.dimensions()) != math.prod(operand.shape.dimensions()):
        raise XlaRuntimeError(f"INVALID_ARGUMENT: Reshape: {operand.shape} and {result} have different numbers of elements")
    return operand._builder._add("reshape", [operand], result)


@typed
def Collapse(operand: XlaOp, dimensions: Sequence[int]) -> XlaOp:
    """Merges neighboring dimensions into one."""
    dims, sizes = list(dimensions), list(operand.shape.dimensions())
    if not dims:
        return operand
    if dims != list(range(dims[0], dims[0] + len(dims))) or dims[-1] >= len(sizes):
        raise XlaRuntimeError(f"INVALID_ARGUMENT: Collapse: {dims} are not neighboring dimensions of {operand.shape}")
    merged = math.prod(sizes[dim] for dim in dims)
    return Reshape(operand, [*sizes[: dims[0]], merged, *sizes[dims[-1] + 1 :]])


@typed
def Transpose(operand: XlaOp, permutation: Sequence[int]) -> XlaOp:
    """Permutes the dimensions."""
    return operand._builder._add("transpose", [operand], attributes=[("dimensions", ints_text(permutation))])


@typed
def Rev(operand: XlaOp, dimensions: Sequence[int]) -> XlaOp:
    """Reverses the elements along dimensions."""
    return operand._builder._add("reverse", [operand], attributes=[("dimensions", ints_text(dimensions))])


@typed
def Slice(operand: XlaOp, start_indices: Sequence[int], limit_indices: Sequence[int], strides: Sequence[int]) -> XlaOp:
    """Takes every `stride`-th element along each dimension, from a start index to before a limit."""
    ranges = ", ".join(f"[{a}:{b}:{s}]" for a, b, s in zip(start_indices, limit_indices, strides, strict=True))
    return operand._builder._add("slice", [operand], attributes=[("slice", f"{{{ranges}}}")])


@typed
def SliceInDim(operand: XlaOp, start_index: int, limit_index: int, stride: int, dimno: int) -> XlaOp:
    """Takes a slice along one dimension."""
    sizes = list(operand.shape.dimensions())
    starts, strides = [0] * len(sizes), [1] * len(sizes)
    starts[dimno], sizes[dimno], strides[dimno] = start_index, limit_index, stride
    return Slice(operand, starts, sizes, strides)


@typed
def ConcatInDim(builder: XlaBuilder, operands: Sequence[XlaOp], dimension: int) -> XlaOp:
    """Concatenates arrays."""
    return builder._add("concatenate", operands, attributes=[("dimensions", ints_text([dimension]))])


@typed
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


@typed
def GetDimensionSize(operand: XlaOp, index: int) -> XlaOp:
    """Returns the size of a dimension as an `s32`."""
    return operand._builder._add("get-dimension-size", [operand], attributes=[("dimensions", ints_text([index]))])


@typed
def DynamicSlice(operand: XlaOp, start_indices: Sequence[XlaOp], slice_sizes: Sequence[int]) -> XlaOp:
    """Takes a slice of these sizes at computed start indices."""
    attributes = [("dynamic_slice_sizes", ints_text(slice_sizes))]
    return operand._builder._add("dynamic-slice", [operand, *start_indices], attributes=attributes)


@typed
def DynamicUpdateSlice(operand: XlaOp, update: XlaOp, start_indices: Sequence[XlaOp]) -> XlaOp:
    """Replaces a slice of the operand."""
    return operand._builder._add("dynamic-update-slice", [operand, update, *start_indices])


@typed
def Gather(
    a: XlaOp, start_indices: XlaOp, dimension_numbers: Any, slice_sizes: Sequence[int], indices_are_sorted: bool = False
) -> XlaOp:
    """Takes slices at computed indices. `dimension_numbers` are `GatherDimensionNumbers`."""
    attributes = [(key, ints_text(getattr(dimension_numbers, key))) for key in ("offset_dims", "collapsed_slice_dims", "start_index_map")]
    attributes += [("index_vector_dim", dimension_numbers.index_vector_dim), ("slice_sizes", ints_text(slice_sizes))]
    attributes += [("indices_are_sorted", "true")] if indices_are_sorted else []
    return a._builder._add("gather", [a, start_indices], attributes=attributes)


@typed
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
    inputs, new = listed(input), listed(updates)
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
