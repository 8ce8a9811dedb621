"""Instructions that make values and tuples: parameters, constants, tokens, random numbers."""

from collections.abc import Sequence
from typing import Any

from farcall.xla_client._builder import XlaBuilder, XlaOp, constant_text
from farcall.xla_client._errors import XlaRuntimeError
from farcall.xla_client._names import decoded
from farcall.xla_client._shapes import Shape
from farcall.xla_client.ops._arguments import typed
from farcall.xla_client.ops._attributes import RandomAlgorithm


@typed
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


@typed
def Constant(builder: XlaBuilder, value: Any) -> XlaOp:
    """Adds a constant: a NumPy array, or a number."""
    shape, text = constant_text(value)
    return builder._add("constant", shape=shape, argument=text)


ConstantLiteral = Constant


@typed
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


@typed
def Tuple(builder: XlaBuilder, elements: Sequence[XlaOp]) -> XlaOp:
    """Creates a tuple."""
    return builder._add("tuple", elements, Shape.tuple_shape([element.shape for element in elements]))


@typed
def GetTupleElement(tuple_data: XlaOp, index: int) -> XlaOp:
    """Returns a part of a tuple."""
    parts = tuple_data.shape.tuple_shapes()
    if not 0 <= index < len(parts):
        raise XlaRuntimeError(f"INVALID_ARGUMENT: the tuple has {len(parts)} elements, none of index {index}")
    return tuple_data._builder._add("get-tuple-element", [tuple_data], parts[index], attributes=[("index", index)])


@typed
def CreateToken(builder: XlaBuilder) -> XlaOp:
    """Creates a token."""
    return AfterAll(builder, [])


@typed
def AfterAll(builder: XlaBuilder, tokens: Sequence[XlaOp]) -> XlaOp:
    """Returns a token that is ordered after other tokens."""
    return builder._add("after-all", tokens, Shape.token_shape())


@typed
def OptimizationBarrier(operand: XlaOp) -> XlaOp:
    """Returns the operand behind a barrier for optimizations."""
    return operand._builder._add("opt-barrier", [operand], operand.shape)


@typed
def ReplicaId(builder: XlaBuilder) -> XlaOp:
    """Returns the number of the running replica: 0."""
    return builder._add("replica-id")


@typed
def RngUniform(a: XlaOp, b: XlaOp, shape: Shape) -> XlaOp:
    """Generates random numbers with a uniform distribution between two bounds."""
    return a._builder._add("rng", [a, b], shape, attributes=[("distribution", "rng_uniform")])


@typed
def RngNormal(mu: XlaOp, sigma: XlaOp, shape: Shape) -> XlaOp:
    """Generates random numbers with a normal distribution."""
    return mu._builder._add("rng", [mu, sigma], shape, attributes=[("distribution", "rng_normal")])


@typed
def RngBitGenerator(algorithm: RandomAlgorithm, initial_state: XlaOp, shape: Shape) -> XlaOp:
    """Returns a tuple of the next state and random bits."""
    result = Shape.tuple_shape([initial_state.shape, shape])
    name = RandomAlgorithm(algorithm).name.lower()
    return initial_state._builder._add("rng-bit-generator", [initial_state], result, attributes=[("algorithm", name)])
