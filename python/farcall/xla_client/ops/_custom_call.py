"""Custom calls as instructions: `CustomCall`, `CustomCallWithLayout`, `CustomCallWithAliasing` of `ops`."""

import enum
import re
import sys
from collections.abc import Sequence
from typing import Any

from farcall.xla_client._builder import OpMetadata, XlaBuilder, XlaOp, metadata_text, quoted
from farcall.xla_client._errors import XlaRuntimeError
from farcall.xla_client._names import decoded
from farcall.xla_client._shapes import Shape, ShapeIndex
from farcall.xla_client.ops._arguments import typed


class CustomCallApiVersion(enum.IntEnum):
    """Calling convention of a custom call's function."""

    API_VERSION_UNSPECIFIED = 0
    #: `void f(void* out, const void** ins)`
    API_VERSION_ORIGINAL = 1
    #: the arguments of the original convention, and `XlaCustomCallStatus* status`
    API_VERSION_STATUS_RETURNING = 2
    #: like the previous one, with `const char* opaque, size_t opaque_len` before the status
    API_VERSION_STATUS_RETURNING_UNIFIED = 3
    #: a call frame
    API_VERSION_TYPED_FFI = 4


class CustomCallSchedule(enum.IntEnum):
    """Position of a custom call in the schedule, beyond the order required by its operands."""

    SCHEDULE_NONE = 0
    SCHEDULE_LATEST = 1
    SCHEDULE_EARLIEST = 2


@typed
def CustomCall(
    builder: XlaBuilder,
    call_target_name: str | bytes,
    operands: Sequence[XlaOp],
    shape: Shape,
    opaque: str | bytes = b"",
    has_side_effect: bool = False,
    schedule: CustomCallSchedule = CustomCallSchedule.SCHEDULE_NONE,
    api_version: CustomCallApiVersion = CustomCallApiVersion.API_VERSION_ORIGINAL,
) -> XlaOp:
    """Adds a call of a registered target.

    Args:
      builder: builder for the instruction.
      call_target_name: the target.
      operands: operands of any shape.
      shape: the shape of the result; a tuple for several results.
      opaque: bytes for the function; for a typed target, its attributes as a dictionary in MLIR syntax:
        `{eps = 1.0e-5 : f32}`.
      has_side_effect: the call is made even if its result is unused.
      schedule: position of the call in the schedule.
      api_version: calling convention of the function.
    """
    return _custom_call(builder, call_target_name, operands, shape, None, opaque, has_side_effect, (), schedule, api_version)


@typed
def CustomCallWithLayout(
    builder: XlaBuilder,
    call_target_name: str | bytes,
    operands: Sequence[XlaOp],
    shape_with_layout: Shape,
    operand_shapes_with_layout: Sequence[Shape],
    opaque: str | bytes = b"",
    has_side_effect: bool = False,
    schedule: CustomCallSchedule = CustomCallSchedule.SCHEDULE_NONE,
    api_version: CustomCallApiVersion = CustomCallApiVersion.API_VERSION_ORIGINAL,
) -> XlaOp:
    """Adds a call whose function receives operands in the layouts of these shapes, and writes the result in
    the layout of its shape."""
    return CustomCallWithAliasing(
        builder,
        call_target_name,
        operands,
        shape_with_layout,
        operand_shapes_with_layout,
        opaque,
        has_side_effect,
        schedule=schedule,
        api_version=api_version,
    )


@typed
def CustomCallWithAliasing(
    builder: XlaBuilder,
    call_target_name: str | bytes,
    operands: Sequence[XlaOp],
    shape_with_layout: Shape,
    operand_shapes_with_layout: Sequence[Shape],
    opaque: str | bytes = b"",
    has_side_effect: bool = False,
    output_operand_aliasing: Sequence[tuple[ShapeIndex, tuple[int, ShapeIndex]]] = (),
    literal: Any = None,
    schedule: CustomCallSchedule = CustomCallSchedule.SCHEDULE_NONE,
    api_version: CustomCallApiVersion = CustomCallApiVersion.API_VERSION_ORIGINAL,
) -> XlaOp:
    """Like `CustomCallWithLayout`, for a function whose results share the memory of operands. Each alias has
    the index of a part of the result, the operand's number, and the index of a part of the operand."""
    if literal is not None:
        raise XlaRuntimeError("UNIMPLEMENTED: CustomCallWithAliasing: literal is not supported")
    return _custom_call(
        builder,
        call_target_name,
        operands,
        shape_with_layout,
        operand_shapes_with_layout,
        opaque,
        has_side_effect,
        output_operand_aliasing,
        schedule,
        api_version,
    )


def _custom_call(
    builder: XlaBuilder,
    target: str | bytes,
    operands: Sequence[XlaOp],
    shape: Shape,
    operand_shapes: Sequence[Shape] | None,
    opaque: str | bytes | None,
    has_side_effect: bool,
    aliases: Sequence[tuple[Any, tuple[int, Any]]],
    schedule: CustomCallSchedule,
    api_version: CustomCallApiVersion,
) -> XlaOp:
    operands, version = list(operands), CustomCallApiVersion(api_version)
    attributes = [("custom_call_target", quoted(target))]
    if operand_shapes is not None:
        _check_shapes(decoded(target), operands, list(operand_shapes), shape)
        attributes.append(("operand_layout_constraints", f"{{{', '.join(map(str, operand_shapes))}}}"))
    if has_side_effect:
        attributes.append(("custom_call_has_side_effect", "true"))
    if aliases:
        pairs = [f"{ShapeIndex(out)}: ({int(number)}, {ShapeIndex(part)})" for out, (number, part) in aliases]
        attributes.append(("output_to_operand_aliasing", f"{{{', '.join(pairs)}}}"))
    if schedule:
        attributes.append(("schedule", CustomCallSchedule(schedule).name))
    if version != CustomCallApiVersion.API_VERSION_ORIGINAL:
        attributes.append(("api_version", version.name))
    if opaque:
        is_typed = version == CustomCallApiVersion.API_VERSION_TYPED_FFI
        attributes.append(("backend_config", _dictionary(decoded(target), opaque) if is_typed else quoted(opaque)))
    if builder._metadata is None:
        attributes.append(("metadata", _caller()))
    return builder._add("custom-call", operands, shape, attributes=attributes)


def _dictionary(name: str, opaque: str | bytes) -> str:
    """Returns the attributes of a typed target, which are copied verbatim: one dictionary without trailing
    text."""
    text = decoded(opaque).strip()
    # Quoted text must not count as braces.
    depth, rest = 0, re.sub(r'"(?:[^"\\]|\\.)*"', lambda quotes: " " * len(quotes[0]), text, flags=re.DOTALL)
    end = next((i for i, c in enumerate(rest) if (depth := depth + (c == "{") - (c == "}")) == 0), None)
    if not text.startswith("{") or end != len(text) - 1:
        raise XlaRuntimeError(
            f"INVALID_ARGUMENT: {name}: the opaque string of a typed target is a dictionary of attributes as MLIR writes it, such as "
            f"{{eps = 1.0e-5 : f32}}, not {text!r}"
        )
    return text


def _check_shapes(name: str, operands: Sequence[XlaOp], shapes: Sequence[Shape], result: Shape) -> None:
    if len(operands) != len(shapes):
        raise XlaRuntimeError(
            f"INVALID_ARGUMENT: {name}: Must specify a shape with layout for each operand for custom call with constrained layout; "
            f"given {len(shapes)} shapes, expected {len(operands)}"
        )
    for i, (operand, shape) in enumerate(zip(operands, shapes)):
        if operand.shape._text(layouts=False) != shape._text(layouts=False):
            raise XlaRuntimeError(f"INVALID_ARGUMENT: {name}: operand {i} is {operand.shape}, but its shape with layout is {shape}")
    for what, shape in [*((f"operand {i}", shape) for i, shape in enumerate(shapes)), ("the result", result)]:
        if any(leaf.is_array() and not leaf.layout()._is_order_only() for leaf in shape._leaves()):
            raise XlaRuntimeError(
                f"UNIMPLEMENTED: {name}: the layout of {what} is more than an order of dimensions, {shape}: functions on the "
                "processor take no tiles, memory spaces or element sizes"
            )


#: The names of this package and of `ops`, which is in it.
_PACKAGES = (__package__.rpartition(".")[0], __package__)


def _caller() -> str:
    """Returns the line that calls this package as metadata, for the positions of errors."""
    frame: Any = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__package__") in _PACKAGES:
        frame = frame.f_back
    return metadata_text(OpMetadata(source_file=frame.f_code.co_filename, source_line=frame.f_lineno))
