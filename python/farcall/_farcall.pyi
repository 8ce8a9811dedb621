"""The native module. Use the package `farcall`."""

import os
import pathlib
from collections.abc import Callable, Sequence
from typing import Any, final

import numpy as np
from typing_extensions import Buffer

__version__: str

@final
class Scope:
    ATTRIBUTE: str
    def __init__(self, registry: Registry, owner: Any) -> None: ...
    @property
    def number(self) -> int: ...

@final
class Executable:
    @property
    def inputs(self) -> list[tuple[str, list[int]]]: ...
    @property
    def outputs(self) -> list[tuple[str, list[int]]]: ...
    @property
    def plan(self) -> str: ...
    @property
    def memory(self) -> tuple[int, int, int]: ...
    @property
    def blocks(self) -> list[tuple[str, str, list[tuple[str, str, str]], str | None, str]]: ...
    def run(self, inputs: Sequence[tuple[str, Sequence[int], Buffer | np.ndarray[Any, Any]]]) -> list[np.ndarray[Any, Any]]: ...
    def run_arrays(self, inputs: Sequence[Any]) -> list[np.ndarray[Any, Any]] | None: ...
    @property
    def grid(self) -> tuple[int, int]: ...
    @property
    def is_divided(self) -> bool: ...
    def run_on_devices(
        self, inputs: Sequence[Sequence[tuple[str, Sequence[int], Buffer | np.ndarray[Any, Any]]]]
    ) -> list[list[np.ndarray[Any, Any]]]: ...
    def profile(
        self, inputs: Sequence[tuple[str, Sequence[int], Buffer | np.ndarray[Any, Any]]], runs: int
    ) -> tuple[
        list[float],
        list[tuple[int, int | None, str, list[tuple[str, list[int]]], str, int, float, float, int, int]],
    ]: ...

@final
class Polymorphic:
    @property
    def inputs(self) -> list[tuple[str, tuple[str, list[str]]]]: ...
    @property
    def outputs(self) -> list[tuple[str, list[str]]]: ...
    @property
    def constraints(self) -> list[str]: ...
    def for_types(self, types: Sequence[tuple[str, Sequence[int]]]) -> Executable: ...
    def run(
        self, inputs: Sequence[tuple[str, Sequence[int], Buffer | np.ndarray[Any, Any]]]
    ) -> list[np.ndarray[Any, Any]]: ...

@final
class Target:
    """A function that custom calls can name."""

    @property
    def name(self) -> str:
        """Name that programs call."""

    @property
    def platform(self) -> str:
        """Platform of the handlers, by its canonical name: `Host`, `CUDA`."""

    @property
    def typed(self) -> bool:
        """True for XLA's FFI, false for the older C interface."""

    @property
    def api_version(self) -> tuple[int, int] | None:
        """Version of XLA's FFI that the handlers were built for, as (major, minor); `None` if untyped."""

    @property
    def stages(self) -> list[str]:
        """Names of the stages for which the target has a handler."""

    @property
    def traits(self) -> list[str]:
        """Names of the target's traits."""

    @property
    def origin(self) -> str:
        """Description of the target's origin."""

    @property
    def docs(self) -> str:
        """Description; may be empty."""

    def op(self) -> Op | None:
        """Returns the op that the author declared, if the target has a signature."""

@final
class Attributes:
    """Attributes of a call, with the declared types and defaults. Two objects are equal if their values have
    equal bits."""

    @property
    def text(self) -> str:
        """Text in StableHLO syntax."""

@final
class Call:
    """Inference results for one call. A layout lists dimensions from the fastest-varying in memory to the
    slowest."""

    operand_slots: list[int]
    operand_layouts: list[list[int]]
    result_slots: list[int]
    results: list[tuple[str, list[int], list[int]]]
    aliases: list[tuple[int, int]]
    has_batch: list[bool]
    batch_rank: int
    batch_split: tuple[int, int]

_Types = Sequence[tuple[str, Sequence[int]]]

_DerivativeCall = tuple[str, Attributes, list[tuple[str, Any]], list[int | None]]

@final
class Linear:
    """The derivative of one call with respect to some of its operands, as a linear map. The map takes the
    saved values, then the tangents of these operands."""

    forward: tuple[str, Attributes] | None
    result_count: int
    moving: list[int]
    zero: list[int]
    results: list[int]
    result_types: list[tuple[str, list[int]]]
    saved: list[tuple[str, int]]

    def tangent(self) -> _DerivativeCall: ...
    def backward(self, zero: Sequence[bool]) -> _DerivativeCall: ...
    def transpose(self, zero: Sequence[bool]) -> _DerivativeCall: ...
    def second(self) -> None: ...
    def batch(self, mapped: Sequence[bool], size: int) -> tuple[list[bool], list[tuple[str, list[int]]]] | None: ...

@final
class Op:
    """A declared op."""

    name: str
    platform: str
    docs: str
    origin: str
    file: os.PathLike[str] | None
    is_built_in: bool
    edition: int
    local_name: str
    functions: list[int]
    signature: str
    markdown: str
    batching: str
    operands: list[tuple[str, str]]
    offsets: list[tuple[str, str]]
    results: list[str]
    attributes: list[tuple[str, str, bool, Any]]
    variadic_results: list[str]
    has_side_effect: bool
    batch_partitionable: bool
    derivatives: list[str]
    forward: str | None
    is_generated: bool

    def number_types(self, given: Sequence[str], wide: bool) -> list[tuple[list[int], list[list[str]]]]: ...
    def bind(
        self, operands: Sequence[Any], named: Sequence[tuple[str, Any]], names: dict[str, str]
    ) -> tuple[list[Any], Attributes]: ...
    def infer(self, operands: _Types, attrs: Attributes) -> Call: ...
    def linear(self, operands: _Types, attrs: Attributes, moving: Sequence[int]) -> Linear: ...
    def batch_sharding_rule(self, operands: _Types, attrs: Attributes) -> str: ...
    def factors(
        self, operands: _Types, attrs: Attributes
    ) -> tuple[list[tuple[int, str]], list[list[int]], list[list[int]], list[tuple[int, int]]]: ...
    def batch_rule(self, operands: _Types, batched: Sequence[bool], attrs: Attributes) -> tuple[Any, ...]: ...
    def capsules(self) -> Any: ...
    def compile(self, operands: _Types, attrs: Attributes) -> Executable: ...

@final
class Registry:
    def __new__(cls, *, built_ins: bool) -> Registry: ...
    @staticmethod
    def process() -> Registry: ...
    def register(
        self,
        name: str,
        fn: Any,
        /,
        *,
        platform: str,
        api_version: int,
        traits: int,
        replace: bool,
        called_by_xla: bool = False,
    ) -> Target: ...
    def load(
        self, path: str | os.PathLike[str], *, targets: list[str], namespace: str | None, replace: bool
    ) -> tuple[list[Target], list[str]]: ...
    def lower(
        self, tag: str, function: Callable[..., Any], explain: Callable[..., str], /, *, replace: bool
    ) -> None: ...
    def with_handlers(self, handlers: Sequence[tuple[str, int]]) -> Registry: ...
    def targets(self) -> list[Target]: ...
    def built_ins(self) -> list[Target]: ...
    def is_built_in(self, name: str) -> bool: ...
    def capsules(self, platform: str) -> dict[str, Any]: ...
    def identity(self, name: str) -> int: ...

@final
class Handler:
    """A Python function that hosts can call as a handler, through a C function created from `enter`."""

    def __new__(cls, name: str, function: Callable[..., None], *, grouped: bool) -> Handler: ...
    def enter(self, frame: int | None) -> int: ...

def exact_attributes(entries: Sequence[tuple[str, Any]]) -> Attributes: ...
def compile_call(
    target: str,
    operands: _Types,
    results: _Types,
    *,
    registry: Registry,
    attributes: Attributes | None,
    opaque: bytes | None,
    api_version: int,
    has_side_effect: bool,
    operand_layouts: Sequence[Sequence[int]],
    result_layouts: Sequence[Sequence[int]],
    aliases: Sequence[tuple[int, int]],
) -> Executable: ...
class MissingTargetError(ValueError):
    """A program calls unregistered targets."""

def capsule(address: int) -> Any: ...
def handler_capsule(address: int) -> Any: ...
def fail_run(name: str, exception: BaseException) -> None: ...
def forget_raised() -> None: ...
def report_crashes() -> None: ...
def set_memory_limit(bytes: int | None) -> None: ...
def set_iteration_limit(iterations: int | None) -> None: ...
def infer_root(program: bytes) -> list[tuple[str, list[int]] | None]: ...
def verify_program(program: bytes) -> None: ...
def entry_types(
    program: bytes, name: str
) -> tuple[list[tuple[str, list[int]] | None], list[tuple[str, list[int]] | None]]: ...
def register_partitioner_functions(
    target: str,
    partition: Callable[..., Any],
    infer_sharding_from_operands: Callable[..., Any],
    propagate_user_sharding: Callable[..., Any],
    can_side_effecting_have_replicated_sharding: bool,
) -> None: ...
def inspect_sharding_config(function: Callable[..., Any]) -> bytes: ...
def custom_calls(program: bytes, name: str) -> list[tuple[str, bytes]]: ...
def compile(
    program: str | bytes,
    *,
    registry: Registry,
    name: str,
    entry: str | None,
    denormals: str,
    semantics: str,
    platforms: Sequence[str] | None = None,
    num_replicas: int | None = None,
    num_partitions: int | None = None,
    partitioned: bool = False,
) -> Executable | Polymorphic: ...
def convert(program: str | bytes, *, to: str, name: str) -> bytes: ...
def is_artifact(program: bytes) -> bool: ...
def is_plan(program: bytes) -> bool: ...
def trees(program: bytes) -> tuple[Any, Any, list[int], int] | None: ...
def element_types() -> list[tuple[str, str, int, tuple[int, int] | None]]: ...
def holds(dtype: str, kind: str) -> bool: ...
def set_dtypes(dtypes: Sequence[tuple[str, np.dtype[Any]]]) -> None: ...
def built_in_op(name: str, /) -> Op | None: ...
def open_lapack(path: str | os.PathLike[str] | None, /) -> pathlib.Path: ...
def wait_for_runs(seconds: float, /) -> bool: ...
def register_type(name: str, type_id: Any, type_info: Any | None, /) -> int: ...
