"""Blocks: composites of a program, and lowerings that replace them by custom calls when the program is
compiled."""

import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any

import numpy as np

from farcall._arrays import TensorType, dtype_name, is_element_type, tensor_type


@dataclass(frozen=True)
class Attr:
    """An attribute as text in MLIR syntax: `Attr("42 : i64")`."""

    text: str
    """The text."""


@dataclass(frozen=True)
class Client:
    """The target of a compilation: platform, engine and options."""

    platform: str
    """The platform of the device: `"Host"`, `"CUDA"`."""
    engine: str
    """Name of the engine: `"farcall"`."""
    version: str
    """Version of the engine."""
    options: Mapping[str, str]
    """Options of the engine: `"denormals"`, `"semantics"`."""


@dataclass(frozen=True)
class Block:
    """A block to be lowered: a composite, created by `jax.lax.composite`, with static shapes."""

    tag: str
    """Name of the composite, which identifies the block's meaning."""
    version: int
    """Version of the tag's meaning."""
    options: Mapping[str, Any]
    """Options: numbers, strings, tuples of numbers, dictionaries; an `Attr` for values without a Python
    form."""
    operands: Sequence[TensorType]
    """Types of the inputs."""
    results: Sequence[TensorType]
    """Types of the outputs."""
    client: Client
    """Target of the compilation."""


@dataclass(frozen=True)
class Skip:
    """Answer of a lowering that leaves the block to the next lowering for its tag, or to its default body."""

    reason: str
    """Reason, for people."""


@dataclass(frozen=True)
class Call:
    """Answer of a lowering that replaces the block by a custom call.

    By default, the call takes the block's operands and returns its results, with the block's types and
    row-major layouts. If the target is not registered, or the call does not fit its signature, the block
    counts as skipped.
    """

    target: str
    """Name of the target."""
    attributes: Mapping[str, Any] = field(default_factory=dict)
    """Attributes, in addition to the block's options that the target declares by the same names: numbers,
    strings, lists of numbers, dictionaries, or text in MLIR syntax (`Attr`). Numbers are converted to the
    types that the target declares; without a declaration, they are `i64` and `f64`."""
    operand_types: Sequence[Any] = ()
    """Element types that operands are converted to: `np.float32` or `"f32"`, `None` for an unchanged
    operand."""
    result_types: Sequence[Any] = ()
    """Element types of the target's results, which are converted to the block's types."""
    operand_layouts: Sequence[Sequence[int] | None] = ()
    """Layouts of operands: dimensions from the fastest in memory to the slowest, `None` for row-major."""
    result_layouts: Sequence[Sequence[int] | None] = ()
    """Layouts of results."""
    aliases: Mapping[int, int] = field(default_factory=dict)
    """Results that share memory with operands, as a map from result index to operand index."""
    has_side_effect: bool = False
    """True if the call has an effect besides computing its results."""


Lowering = Callable[[Block], Skip | Call]


@dataclass(frozen=True)
class Skipped:
    """A lowering that skipped a block."""

    rank: str
    """`"application"`, `"library"` or `"built-in"`."""
    origin: str
    """Origin of the lowering: a library's file, or this program."""
    reason: str
    """Reason."""


@dataclass(frozen=True)
class BlockDecision:
    """The compiler's decision about a block, with its reason."""

    tag: str
    """Name of the composite."""
    place: str
    """Source location of the block: `file:line:column`."""
    skipped: Sequence[Skipped]
    """The lowerings that skipped the block, in the order in which they were tried."""
    target: str | None
    """Target of the custom call that replaced the block; `None` if its default body was compiled."""
    reason: str
    """The lowering that decided, or the reason for compiling the default body."""


def native(lowering: Lowering) -> Callable[..., Any]:
    """Wraps a lowering for the native module, which expects a reason or the parts of a call."""

    def lower(
        tag: str,
        version: int,
        options: dict[str, Any],
        operands: list[tuple[str, list[int]]],
        results: list[tuple[str, list[int]]],
        client: tuple[str, str, str, dict[str, str]],
    ) -> Any:
        types = [[tensor_type(*ty) for ty in side] for side in (operands, results)]
        options = {name: Attr(value) if is_text else value for name, (value, is_text) in options.items()}
        answer = lowering(Block(tag, version, options, *types, Client(*client)))
        if isinstance(answer, Skip):
            return answer.reason
        if not isinstance(answer, Call):
            raise TypeError(f"a lowering returns farcall.Skip or farcall.Call, not {type(answer).__name__}")
        return (
            answer.target,
            [(name, *_attribute(value)) for name, value in answer.attributes.items()],
            [(i, _element_type(ty)) for i, ty in enumerate(answer.operand_types) if ty is not None],
            [(i, _element_type(ty)) for i, ty in enumerate(answer.result_types) if ty is not None],
            [(i, list(order)) for i, order in enumerate(answer.operand_layouts) if order is not None],
            [(i, list(order)) for i, order in enumerate(answer.result_layouts) if order is not None],
            list(answer.aliases.items()),
            bool(answer.has_side_effect),
        )

    return lower


def explain(error: BaseException, trace: TracebackType | None) -> str:
    """Returns the message for an exception of a lowering: the exception, then its traceback without the
    frames of this module."""
    frames = [frame for frame in traceback.extract_tb(trace) if frame.filename != __file__]
    lines = ["".join(traceback.format_exception_only(error)).strip()]
    if frames:
        lines += ["Traceback (most recent call last):", *"".join(traceback.format_list(frames)).splitlines()]
    return "\n".join(lines)


def _attribute(value: Any) -> tuple[Any, bool]:
    return (value.text, True) if isinstance(value, Attr) else (value, False)


def _element_type(ty: Any) -> str:
    """Returns the engine's name of an element type, given by that name or as a NumPy type."""
    if isinstance(ty, str) and is_element_type(ty):
        return ty
    name = dtype_name(np.dtype(ty))
    if name is None:
        raise TypeError(f"{ty!r} is not an element type of the engine")
    return name
