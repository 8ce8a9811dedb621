"""Instructions for several devices, and for queues between the host and a device."""

from collections.abc import Sequence
from typing import Any

from farcall.xla_client._builder import XlaBuilder, XlaComputation, XlaOp, quoted
from farcall.xla_client._shapes import Shape
from farcall.xla_client.ops._arguments import typed
from farcall.xla_client.ops._attributes import ints_text
from farcall.xla_client.ops._elementwise import Add
from farcall.xla_client.ops._values import Parameter


@typed
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


@typed
def CrossReplicaSum(operand: XlaOp, replica_groups: Sequence[Any] = ()) -> XlaOp:
    """Adds the operands of all devices in a group."""
    builder = XlaBuilder("sum")
    scalar = Shape.scalar_shape(operand.shape.xla_element_type())
    Add(Parameter(builder, 0, scalar), Parameter(builder, 1, scalar))
    return AllReduce(operand, builder.build(), replica_groups)


@typed
def InfeedWithToken(token: XlaOp, shape: Shape, config: str | None = "") -> XlaOp:
    """Returns a tuple of a value from the host and a token."""
    result = Shape.tuple_shape([shape, Shape.token_shape()])
    attributes = [("infeed_config", quoted(config))] if config else []
    return token._builder._add("infeed", [token], result, attributes=attributes)


@typed
def OutfeedWithToken(operand: XlaOp, token: XlaOp, shape_with_layout: Shape, outfeed_config: str | None = "") -> XlaOp:
    """Passes a value to the host, and returns a token."""
    attributes = [("outfeed_shape", str(shape_with_layout))]
    attributes += [("outfeed_config", quoted(outfeed_config))] if outfeed_config else []
    return token._builder._add("outfeed", [operand, token], Shape.token_shape(), attributes=attributes)
