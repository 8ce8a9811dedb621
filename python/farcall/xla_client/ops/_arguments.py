"""Checks of arguments. `typed` checks them by their annotations: if an argument should be an `XlaOp` but is
not, the error names the argument."""

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

from farcall.xla_client._builder import XlaBuilder, XlaComputation, XlaOp
from farcall.xla_client._errors import XlaRuntimeError
from farcall.xla_client._shapes import Shape

#: Arguments that are one instruction or several.
Ops = XlaOp | Sequence[XlaOp]


def typed(function: Callable[..., XlaOp], title: str = "") -> Callable[..., XlaOp]:
    """Wraps a function so that it raises a `TypeError` for an argument that is not of its annotated type, if
    `_KINDS` has the type. Errors use the title, or by default the function's name."""
    signature = inspect.signature(function)
    checks = {name: _KINDS[p.annotation] for name, p in signature.parameters.items() if p.annotation in _KINDS}
    variadic = {name for name, p in signature.parameters.items() if p.kind is p.VAR_POSITIONAL}

    @functools.wraps(function)
    def checked(*args: Any, **kwargs: Any) -> XlaOp:
        try:
            given = signature.bind(*args, **kwargs).arguments
        except TypeError:
            given = {}  # Python reports missing arguments
        for name, value in given.items():
            if name in checks:
                what, fits = checks[name]
                for one in value if name in variadic else [value]:
                    if not fits(one):
                        raise TypeError(f"{title or function.__name__}: {name} is {what}, not {one!r}")
        return function(*args, **kwargs)

    return checked


def listed(given: Ops) -> list[XlaOp]:
    """Returns one instruction or several as a list."""
    return [given] if isinstance(given, XlaOp) else list(given)


def arrays_builder(title: str, *operands: XlaOp) -> XlaBuilder:
    """Returns the builder of an operation's operands, which must be arrays."""
    if not all(operand.shape.is_array() for operand in operands):
        shapes = ", ".join(str(operand.shape) for operand in operands)
        raise XlaRuntimeError(f"INVALID_ARGUMENT: {title}: operands are arrays, not {shapes}")
    builder = operands[0]._builder
    for operand in operands:
        builder._own(operand)
    return builder


def _is_op(value: Any) -> bool:
    return isinstance(value, XlaOp)


def _is_computation(value: Any) -> bool:
    # Older builders wrap computations.
    return isinstance(getattr(value, "computation", value), XlaComputation)


def _is_shape(value: Any) -> bool:
    return isinstance(value, Shape)


def _all(fits: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, Sequence) and all(map(fits, value))


#: By annotation: the expected type for messages, and a predicate for values.
_KINDS: dict[Any, tuple[str, Callable[[Any], bool]]] = {
    XlaOp: ("an XlaOp", _is_op),
    Sequence[XlaOp]: ("a sequence of XlaOps", _all(_is_op)),
    Ops: ("an XlaOp or a sequence of XlaOps", lambda value: _is_op(value) or _all(_is_op)(value)),
    XlaBuilder: ("an XlaBuilder", lambda value: isinstance(value, XlaBuilder)),
    XlaComputation: ("an XlaComputation", _is_computation),
    Sequence[XlaComputation]: ("a sequence of XlaComputations", _all(_is_computation)),
    Shape: ("a Shape", _is_shape),
    Sequence[Shape]: ("a sequence of Shapes", _all(_is_shape)),
}
