"""Blocks: composites of a program, and lowerings that replace them by custom calls when the program is compiled."""

import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any

import numpy as np

from farcall._arrays import TensorType, dtype_name, is_element_type, tensor_type


@dataclass(frozen=True)
class Attr:
    """An attribute as text in MLIR's syntax: `Attr("42 : i64")`."""

    text: str
    """The text."""


@dataclass(frozen=True)
class Client:
    """What a program is compiled for, and by whom."""

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
    """A block that a lowering is asked about: a composite, as `jax.lax.composite` makes it, with static shapes."""

    tag: str
    """What the block stands for: the name of the composite."""
    version: int
    """Version of the tag's meaning."""
    options: Mapping[str, Any]
    """Its options: numbers, strings, tuples of numbers, dictionaries; an `Attr` for what Python has no form for."""
    operands: Sequence[TensorType]
    """Types of the inputs."""
    results: Sequence[TensorType]
    """Types of the outputs."""
    client: Client
    """What the program is compiled for."""


@dataclass(frozen=True)
class Skip:
    """A lowering's answer: the block is left to the next lowering for its tag, or to its default body."""

    reason: str
    """Why, for people."""


@dataclass(frozen=True)
class Call:
    """A lowering's answer: a custom call takes the block's place.

    It takes the block's operands and gives its results, of the block's types and row-major, except where something else
    is said. Where the target is not registered, or the call does not fit its signature, the block counts as skipped.
    """

    target: str
    """Name of the target."""
    attributes: Mapping[str, Any] = field(default_factory=dict)
    """Attributes, besides the block's options that the target declares by the same names: numbers, strings, lists of numbers, dictionaries, or text in MLIR's syntax (`Attr`). Numbers are
    brought to the types that the target declares; without a declaration, they are `i64` and `f64`."""
    operand_types: Sequence[Any] = ()
    """Element types that operands are converted to: `np.float32` or `"f32"`, `None` for one that is left as it is."""
    result_types: Sequence[Any] = ()
    """Element types that the target gives results in; they are converted to the block's."""
    operand_layouts: Sequence[Sequence[int] | None] = ()
    """Layouts of operands: dimensions from the fastest in memory to the slowest, `None` for row-major."""
    result_layouts: Sequence[Sequence[int] | None] = ()
    """Layouts of results."""
    aliases: Mapping[int, int] = field(default_factory=dict)
    """Results that share memory with operands, by number: result to operand."""
    has_side_effect: bool = False
    """It does something besides computing its results."""


Lowering = Callable[[Block], Skip | Call]


@dataclass(frozen=True)
class Skipped:
    """A lowering that skipped a block."""

    rank: str
    """`"application"`, `"library"` or `"built-in"`."""
    origin: str
    """Where it comes from: a library's file, or this program."""
    reason: str
    """Why."""


@dataclass(frozen=True)
class BlockDecision:
    """What became of a block that the compiler met, and why."""

    tag: str
    """What the block stands for."""
    place: str
    """Where it stands in the program: `file:line:column`."""
    skipped: Sequence[Skipped]
    """The lowerings that were asked and skipped it, in this order."""
    target: str | None
    """The target of the custom call that took its place; `None` if its default body was compiled."""
    reason: str
    """Whose lowering said so, or why the default body was compiled."""


def native(lowering: Lowering) -> Callable[..., Any]:
    """The lowering as the native module calls it, which gives a reason or the parts of a call."""

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
    """The message for an exception of a lowering: what it is, then its traceback, without the frames of this module."""
    frames = [frame for frame in traceback.extract_tb(trace) if frame.filename != __file__]
    lines = ["".join(traceback.format_exception_only(error)).strip()]
    if frames:
        lines += ["Traceback (most recent call last):", *"".join(traceback.format_list(frames)).splitlines()]
    return "\n".join(lines)


def _attribute(value: Any) -> tuple[Any, bool]:
    return (value.text, True) if isinstance(value, Attr) else (value, False)


def _element_type(ty: Any) -> str:
    """The engine's name of an element type, which may be given by that name or as NumPy knows it."""
    if isinstance(ty, str) and is_element_type(ty):
        return ty
    name = dtype_name(np.dtype(ty))
    if name is None:
        raise TypeError(f"{ty!r} is not an element type of the engine")
    return name
