"""Instructions that apply computations: reductions, sorting, control flow."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from farcall.xla_client._builder import XlaBuilder, XlaComputation, XlaOp
from farcall.xla_client._errors import XlaRuntimeError
from farcall.xla_client._shapes import PrimitiveType, Shape
from farcall.xla_client.ops._arguments import Ops, listed, typed
from farcall.xla_client.ops._attributes import ints_text, window_text
from farcall.xla_client.ops._values import Parameter


@typed
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


@typed
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


@typed
def ReduceAll(operand: XlaOp, init_value: XlaOp, computation: XlaComputation) -> XlaOp:
    """Reduces all elements."""
    return Reduce(operand._builder, [operand], [init_value], computation, range(len(operand.shape.dimensions())))


@typed
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
    arrays, values = listed(operand), listed(init_value)
    window = window_text(window_dimensions, window_strides, padding, base_dilations, window_dilations)
    return arrays[0]._builder._add(
        "reduce-window",
        [*arrays, *values],
        results=len(arrays),
        attributes=[("window", window)],
        computations=[("to_apply", [computation])],
    )


@typed
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
    """Selects an element of each window, and adds an element of the source at the position of the selected
    element."""
    return operand._builder._add(
        "select-and-scatter",
        [operand, source, init_value],
        attributes=[("window", window_text(window_dimensions, window_strides, padding))],
        computations=[("select", [select]), ("scatter", [scatter])],
    )


@typed
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


@typed
def TopK(input: XlaOp, k: int) -> XlaOp:
    """Returns a tuple of the largest elements along the last dimension and their indices."""
    return input._builder._add("topk", [input], results=2, attributes=[("k", int(k)), ("largest", "true")])


@typed
def Call(builder: XlaBuilder, computation: XlaComputation, operands: Sequence[XlaOp]) -> XlaOp:
    """Applies a computation to these operands."""
    result = _applied(computation, [[operand] for operand in operands], "Call")
    return builder._add("call", list(operands), result, computations=[("to_apply", [computation])])


@typed
def While(condition: XlaComputation, body: XlaComputation, init: XlaOp) -> XlaOp:
    """Applies the body as long as the condition holds."""
    _applied(condition, [[init]], "While")
    _applied(body, [[init]], "While")
    return init._builder._add("while", [init], init.shape, computations=[("condition", [condition]), ("body", [body])])


@typed
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
