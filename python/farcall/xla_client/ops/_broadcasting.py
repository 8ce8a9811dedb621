"""Broadcasts: instructions that broadcast explicitly, and the implicit broadcasts of instructions with
several operands."""

from collections.abc import Sequence

from farcall.xla_client._builder import XlaOp
from farcall.xla_client._errors import XlaRuntimeError
from farcall.xla_client._shapes import Shape
from farcall.xla_client.ops._arguments import arrays_builder, typed
from farcall.xla_client.ops._attributes import ints_text
from farcall.xla_client.ops._movement import Reshape


@typed
def Broadcast(operand: XlaOp, sizes: Sequence[int]) -> XlaOp:
    """Repeats the operand along new leading dimensions."""
    dims = operand.shape.dimensions()
    return BroadcastInDim(operand, [*sizes, *dims], range(len(sizes), len(sizes) + len(dims)))


@typed
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


def _check_broadcast(operand: XlaOp, sizes: Sequence[int], dims: Sequence[int]) -> None:
    if any(operand.shape.dimensions()[i] != sizes[dim] for i, dim in enumerate(dims)) or len(set(dims)) != len(dims):
        raise XlaRuntimeError(f"INVALID_ARGUMENT: {operand.shape} cannot be broadcast to {list(sizes)} along {list(dims)}")


def expand(op: XlaOp, sizes: Sequence[int], dims: Sequence[int]) -> XlaOp:
    """Broadcasts a scalar, or an operand with fewer dimensions, to these sizes."""
    return op if len(op.shape.dimensions()) == len(sizes) else BroadcastInDim(op, sizes, dims)


def broadcast(title: str, lhs: XlaOp, rhs: XlaOp, dims: tuple[int, ...]) -> tuple[XlaOp, XlaOp]:
    """Broadcasts two operands to the same sizes."""
    arrays_builder(title, lhs, rhs)
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
