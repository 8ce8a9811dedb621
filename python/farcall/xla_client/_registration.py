"""Registration of custom-call targets, of state types and of partitioners, with the interface of
`jaxlib.xla_client`.

A registration is for a platform and is passed to the platform's handler. The CPU's handler is farcall's
engine, which puts targets into the process-wide registry that `farcall.compile` also uses. Registrations for
other platforms wait until a handler is registered.
"""

import ctypes
import enum
import logging
import threading
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol

from farcall import Handler, register_type
from farcall.xla_client._farcall_internals import (
    ExtensionRegistry,
    address_of,
    capsule,
    custom_calls,
    fail_run,
    forget_raised,
    inspect_sharding_config,
    register_partitioner_functions,
    watchers,
)
from farcall.xla_client._names import decoded
from farcall.xla_client._shapes import Shape, shape_of_type
from farcall.xla_client._sharding import HloSharding

logger = logging.getLogger(__name__)

#: XLA's names of platforms, by JAX's names.
xla_platform_names = {"cpu": "Host", "gpu": "CUDA"}


class CustomCallTargetTraits(enum.IntFlag):
    """Properties of a target's calls."""

    DEFAULT = 0
    #: A call launches the same operations on its device each time, so they can be recorded. Only typed
    #: handlers can have this trait.
    COMMAND_BUFFER_COMPATIBLE = 1


class CustomCallHandler(Protocol):
    """Handler that registers the targets of a platform."""

    def __call__(
        self, name: str, fn: Any, platform: str, /, api_version: int = ..., traits: CustomCallTargetTraits = ...
    ) -> None: ...


class CustomTypeIdHandler(Protocol):
    """Handler that registers the types of a platform."""

    def __call__(self, type_name: str, type_id: Any, /) -> None: ...


class _Deliveries:
    """Registrations of one kind. Each is passed to its platform's handler once, in order, as soon as a
    handler exists."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._lock = threading.RLock()
        self._handlers: dict[str, Callable[..., None]] = {}
        self._waiting: dict[str, list[tuple[Any, ...]]] = {}

    def add(self, platform: str, registration: tuple[Any, ...]) -> None:
        with self._lock:
            handler = self._handlers.get(platform)
            if handler is None:
                self._waiting.setdefault(platform, []).append(registration)
            else:
                handler(*registration)

    def handle(self, platform: str, handler: Callable[..., None]) -> None:
        if not callable(handler):
            raise TypeError(f"a {self._what} handler is a function, not {handler!r}")
        with self._lock:
            if platform in self._handlers:
                logger.debug("%s has a %s handler already; the new one is ignored", platform, self._what)
                return
            refused = None
            waiting = self._waiting.get(platform, [])
            while waiting:
                # An exception that is not an `Exception`, such as `KeyboardInterrupt`, leaves the remaining
                # registrations for the next attempt.
                registration = waiting.pop(0)
                try:
                    handler(*registration)
                except Exception as error:
                    refused = refused or error  # the remaining registrations are not at fault
            self._waiting.pop(platform, None)
            self._handlers[platform] = handler
            if refused is not None:
                raise refused

    def waiting(self, platform: str) -> list[tuple[Any, ...]]:
        with self._lock:
            return list(self._waiting.get(platform, ()))

    def platforms(self, name: str) -> list[str]:
        """Returns the platforms for which a registration of this name is waiting."""
        with self._lock:
            return [platform for platform, waiting in self._waiting.items() if any(given == name for given, *_ in waiting)]


_calls = _Deliveries("custom call")
_types = _Deliveries("custom type")


def register_custom_call_target(
    name: str | bytes,
    fn: Any,
    platform: str = "cpu",
    api_version: int = 0,
    traits: CustomCallTargetTraits = CustomCallTargetTraits.DEFAULT,
) -> None:
    """Registers a custom-call target.

    Args:
      name: the name that programs call.
      fn: the function: a capsule with its address, a function or an address of `ctypes`, or a `cfunc` of
        Numba. With `api_version=1`, it may also be a dictionary of these by stage (`"instantiate"`,
        `"prepare"`, `"initialize"`, `"execute"`), or a tuple in this order, with `None` for a missing
        stage. It may also be a Python function. With `api_version=1`, the Python function receives NumPy
        arrays and attributes, as in `farcall.handler`. With `api_version=0`, it receives two addresses: of the
        result (for several results, of an array of their addresses), and of an array of the operands'
        addresses. `fn` is kept until the process ends.
      platform: the platform: `"cpu"`, `"gpu"` or XLA's name of a platform. Targets for `"cpu"` are registered
        immediately; targets for other platforms wait for `register_custom_call_handler`.
      api_version: 0 for a C function of pointers, 1 for a handler of the typed FFI.
      traits: the traits of a typed handler.

    Raises:
      ValueError: if other functions have the same name, a pointer is null, a stage is unknown, the execute
        stage has no handler, or the function is known to use the other interface.
      TypeError: if `fn` has another type.
    """
    platform = xla_platform_names.get(platform, platform)
    _calls.add(platform, (decoded(name), fn, platform, api_version, traits))


#: Name in older versions.
register_cpu_custom_call_target = register_custom_call_target


def register_custom_call_handler(platform: str, handler: CustomCallHandler) -> None:
    """Registers a handler that registers the targets of a platform. Waiting targets are registered
    immediately, in order. A second handler for a platform is ignored; the CPU already has a handler.

    Args:
      platform: the platform.
      handler: called as `handler(name, fn, platform, api_version, traits)`, with the platform's name in XLA.
        If it raises an exception for a waiting target, the exception is raised here, after the remaining
        targets have been registered. An exception that is not an `Exception`, such as `KeyboardInterrupt`, is
        raised immediately, and the remaining targets keep waiting.
    """
    _calls.handle(xla_platform_names.get(platform, platform), handler)


def custom_call_targets(platform: str) -> dict[str, Any]:
    """Returns the targets of a platform by name: dictionaries of capsules by stage, or capsules for untyped
    functions. For a platform without a handler, returns the waiting targets."""
    platform = xla_platform_names.get(platform, platform)
    targets: dict[str, Any] = ExtensionRegistry.process().capsules(platform)
    return {name: fn for name, fn, *_ in _calls.waiting(platform)} | targets


def waiting_platforms(name: str) -> list[str]:
    """Returns the platforms without a handler for which a target of this name was registered."""
    return _calls.platforms(name)


def register_custom_type(type_name: str, type_id: Any, platform: str = "cpu") -> None:
    """Registers a type of handler state.

    Args:
      type_name: the type's name.
      type_id: a capsule with the address of an `XLA_FFI_TypeId`; or a dictionary of capsules: `"type_id"`,
        and the optional `"type_info"`.
      platform: the platform.

    Raises:
      ValueError: if the registration is invalid.
    """
    _types.add(xla_platform_names.get(platform, platform), (decoded(type_name), type_id))


#: Name in older versions.
register_custom_type_id = register_custom_type


def register_custom_type_handler(platform: str, handler: CustomTypeIdHandler) -> None:
    """Registers a handler that registers the types of a platform, like `register_custom_call_handler`:
    `handler(type_name, type_id)`."""
    _types.handle(xla_platform_names.get(platform, platform), handler)


#: Name in older versions.
register_custom_type_id_handler = register_custom_type_handler


# --- registration with farcall's engine


def _register_target(
    name: str, fn: Any, platform: str, api_version: int, traits: CustomCallTargetTraits = CustomCallTargetTraits.DEFAULT
) -> None:
    functions = _functions(name, fn, api_version)
    ExtensionRegistry.process().register(
        name, functions, platform=platform, api_version=api_version, traits=int(traits), replace=False
    )


def _register_type(name: str, type_id: Any) -> None:
    register_type(name, type_id if isinstance(type_id, Mapping) else {"type_id": type_id})


_calls.handle("Host", _register_target)
_types.handle("Host", _register_type)

#: The stages of a tuple, in order.
_STAGES = ("instantiate", "prepare", "initialize", "execute")

#: `void f(void* out, const void** ins)`
_C_FUNCTION = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p))

#: Objects that own the code of registered targets. They live forever, since targets are never unregistered.
_kept: list[Any] = []


def _functions(name: str, fn: Any, api_version: int) -> Any:
    """Returns a capsule, or capsules by stage."""
    if isinstance(fn, (tuple, list)):
        if len(fn) != len(_STAGES):
            raise ValueError(f"`{name}`: a tuple has a function for each of {', '.join(_STAGES)}, but this one has {len(fn)}")
        fn = {stage: function for stage, function in zip(_STAGES, fn) if function is not None}
    if isinstance(fn, Mapping):
        return {stage: None if f is None else _capsule(f"{name}: {stage}", f, api_version) for stage, f in fn.items()}
    return _capsule(name, fn, api_version)


def _capsule(what: str, fn: Any, api_version: int) -> Any:
    if isinstance(fn, Handler):
        return fn.capsule
    if type(fn).__name__ == "PyCapsule":
        return fn
    address = _address(fn)
    if address is None and callable(fn):
        if api_version == 1:
            return Handler(what, fn).capsule
        fn = _C_FUNCTION(_entry(what, fn))
        address = address_of(fn)
    if address is None:
        raise TypeError(
            f"`{what}`: a function is a PyCapsule, a function or an address of ctypes, a cfunc of Numba or a function of Python, "
            f"not a {type(fn).__name__}"
        )
    if address == 0:
        raise ValueError(f"`{what}`: the function is a null pointer")
    _kept.append(fn)
    return capsule(address)


def _address(fn: Any) -> int | None:
    """Returns the address of a C function; `None` for other values."""
    if isinstance(fn, (bool, str, bytes)):
        return None  # for a string, ctypes would return the address of its characters
    if isinstance(getattr(fn, "address", None), int) and hasattr(fn, "ctypes"):
        return int(fn.address)  # a cfunc of Numba
    try:
        return address_of(fn)
    except TypeError:
        return None


def _entry(name: str, function: Callable[..., Any]) -> Callable[..., None]:
    def enter(out: int | None, ins: Any) -> None:
        try:
            function(out, ins)
        except BaseException as error:
            fail_run(name, error)  # the C function cannot report its failure
        finally:
            forget_raised()

    return enter


# --- partitioners


class CustomCallPartitioner(NamedTuple):
    """The registered partitioning functions of a target, which work on shardings."""

    prop_user_sharding: Callable[..., Any]
    partition: Callable[..., Any]
    infer_sharding_from_operands: Callable[..., Any]
    can_side_effecting_have_replicated_sharding: bool


_partitioners: dict[str, CustomCallPartitioner] = {}
_batch_partitionable: set[str] = set()


def register_custom_call_partitioner(
    name: str,
    prop_user_sharding: Callable[..., Any],
    partition: Callable[..., Any],
    infer_sharding_from_operands: Callable[..., Any],
    can_side_effecting_have_replicated_sharding: bool = False,
    c_api: Any | None = None,
) -> None:
    """Registers how the calls of a target are divided among the devices of a program with shardings. Shapes are
    of the type `Shape`, shardings of the type `HloSharding`, and configurations are bytes. If a call returns
    several results, their shape and sharding are tuples. As in XLA, `prop_user_sharding` and
    `infer_sharding_from_operands` propagate `mhlo.sharding`; Shardy's shardings are propagated by the call's
    `sdy.sharding_rule`.

    Args:
      name: the target.
      prop_user_sharding: takes the sharding that users of the result want, the result's shape, and the
        configuration. Returns the result's sharding.
      partition: takes the operands' shapes, the operands' shardings, the result's shape, the result's
        sharding, and the configuration. Returns the program of each device (StableHLO as text or bytecode),
        the shardings of its operands, and the sharding of its result.
      infer_sharding_from_operands: takes the operands' shapes, the operands' shardings, the result's shape,
        and the configuration. Returns the result's sharding, or `None`.
      can_side_effecting_have_replicated_sharding: calls with side effects may run on every device.
      c_api: ignored; the interface of a plugin.
    """
    del c_api
    functions = (prop_user_sharding, partition, infer_sharding_from_operands)
    for function in functions:
        if not callable(function):
            raise TypeError(f"a partitioner of `{decoded(name)}` is three functions, and {function!r} is not one")
    target = decoded(name)
    _partitioners[target] = CustomCallPartitioner(*functions, bool(can_side_effecting_have_replicated_sharding))
    register_partitioner_functions(
        target,
        lambda operands, results, config: _divided(partition, operands, results, config),
        lambda operands, results, config: _inferred(infer_sharding_from_operands, operands, results, config),
        lambda _, results, config: _propagated(prop_user_sharding, results, config),
        bool(can_side_effecting_have_replicated_sharding),
    )


#: A tensor of a call that is divided: element type, sizes and division. A division is the number of parts of
#: each dimension, the number of devices with the same part, and the devices.
_Division = tuple[list[int], int, list[int]]
_Tensor = tuple[str, list[int], _Division]


def _divided(
    partition: Callable[..., Any], operands: list[_Tensor], results: list[_Tensor], config: bytes
) -> tuple[bytes, list[_Division], list[_Division]]:
    answer = partition(*_described(operands), *_as_one(results), config)
    if not isinstance(answer, tuple) or len(answer) != 3 or not isinstance(answer[0], (bytes, str)):
        raise TypeError(f"`partition` must return (program, operand shardings, result sharding), not {answer!r}")
    program, of_operands, of_result = answer
    if len(of_operands) != len(operands):
        raise ValueError(f"`partition` returned {len(of_operands)} shardings for {len(operands)} operands")
    divisions = [_division("partition", sharding, tensor) for sharding, tensor in zip(of_operands, operands)]
    content = program.encode() if isinstance(program, str) else program
    return content, divisions, _of_one("partition", of_result, results)


def _inferred(
    infer: Callable[..., Any], operands: list[_Tensor], results: list[_Tensor], config: bytes
) -> list[_Division] | None:
    shape, _ = _as_one(results)
    answer = infer(*_described(operands), shape, config)
    return None if answer is None else _of_one("infer_sharding_from_operands", answer, results)


def _propagated(propagate: Callable[..., Any], results: list[_Tensor], config: bytes) -> list[_Division]:
    shape, sharding = _as_one(results)
    return _of_one("prop_user_sharding", propagate(sharding, shape, config), results)


def _described(tensors: list[_Tensor]) -> tuple[list[Shape], list[HloSharding]]:
    """Returns the shapes and shardings of tensors."""
    shapes = [shape_of_type((name, sizes)) for name, sizes, _ in tensors]
    return shapes, [HloSharding._of_division(*division) for _, _, division in tensors]


def _as_one(results: list[_Tensor]) -> tuple[Shape, HloSharding]:
    """Returns the shape and sharding of a result, or of the tuple of several."""
    shapes, shardings = _described(results)
    if len(results) == 1:
        return shapes[0], shardings[0]
    shape = Shape.tuple_shape(shapes)
    return shape, HloSharding.tuple_sharding(shape, shardings)


def _of_one(function: str, sharding: Any, results: list[_Tensor]) -> list[_Division]:
    """Returns the divisions of the results from the sharding of a result, or of the tuple of several."""
    if len(results) == 1:
        return [_division(function, sharding, results[0])]
    if isinstance(sharding, HloSharding) and sharding.is_replicated():
        return [_division(function, sharding, tensor) for tensor in results]
    parts = sharding.tuple_elements() if isinstance(sharding, HloSharding) else []
    if len(parts) != len(results):
        raise ValueError(f"`{function}` must return the sharding of a tuple of {len(results)} results, not {sharding!r}")
    return [_division(function, part, tensor) for part, tensor in zip(parts, results)]


def _division(function: str, sharding: Any, tensor: _Tensor) -> _Division:
    if not isinstance(sharding, HloSharding):
        raise TypeError(f"`{function}` must return shardings of the type HloSharding, not {sharding!r}")
    _, sizes, (_, _, devices) = tensor
    try:
        return sharding._division(len(sizes), devices)
    except ValueError as error:
        raise ValueError(f"`{function}`: {error}") from None


def custom_call_partitioners() -> dict[str, CustomCallPartitioner]:
    """Returns the partitioners by target."""
    return dict(_partitioners)


def register_custom_call_as_batch_partitionable(target_name: str, c_api: Any | None = None) -> None:
    """Registers that the calls of a target may be split along their leading dimensions."""
    del c_api
    _batch_partitionable.add(decoded(target_name))


def batch_partitionable_custom_calls() -> set[str]:
    """Returns the targets that were registered as batch partitionable."""
    return set(_batch_partitionable)


_inspectors: dict[bytes, Callable[[HloSharding], None]] = {}


def encode_inspect_sharding_callback(handler: Callable[[HloSharding], None]) -> bytes:
    """Returns the configuration (`opaque`) for a custom call of `InspectSharding`. When a program with such a
    call is compiled, `handler` is called with the sharding of the call's operand. It is replicated, unless the
    program is divided among devices."""
    if not callable(handler):
        raise TypeError(f"the callback of InspectSharding is a function, not {handler!r}")
    config = bytes(inspect_sharding_config(lambda *division: handler(HloSharding._of_division(*division))))
    _inspectors[config] = handler
    return config


def _inspect_shardings(program: bytes, name: str) -> None:
    """Calls the callbacks of the `InspectSharding` calls of an undivided program.

    Raises:
      ValueError: if a call's configuration was not created by `encode_inspect_sharding_callback`.
    """
    if b"InspectSharding" not in program:
        return
    for target, config in custom_calls(program, name):
        if target == "InspectSharding":
            if config not in _inspectors:
                raise ValueError(
                    f"{name}: InspectSharding: the configuration of the call is not one that "
                    "farcall.xla_client.encode_inspect_sharding_callback has returned"
                )
            _inspectors[config](HloSharding.replicate())


watchers.append(_inspect_shardings)
if not any(target.name == "InspectSharding" and not target.typed for target in ExtensionRegistry.process().targets()):
    # The call does nothing when the program runs.
    _register_target("InspectSharding", lambda out, ins: None, "Host", 0)
