"""Registration of custom-call targets, of types of state and of partitioners, as `jaxlib.xla_client` has it.

A registration is for a platform and goes to the platform's handler. The one of the CPU is farcall's engine: its targets are in
the registry of the process, which `farcall.compile` uses, too. What is registered for other platforms waits for a handler.
"""

import ctypes
import enum
import itertools
import logging
import threading
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol

from farcall import _farcall
from farcall._engine import register_type, watchers
from farcall._handlers import Handler, address_of
from farcall.xla_client._names import decoded
from farcall.xla_client._sharding import HloSharding

logger = logging.getLogger(__name__)

#: XLA's names of platforms, by those that JAX has.
xla_platform_names = {"cpu": "Host", "gpu": "CUDA"}


class CustomCallTargetTraits(enum.IntFlag):
    """What holds of the calls of a target."""

    DEFAULT = 0
    #: A call launches the same operations of its device each time, so that these can be recorded. Typed handlers only.
    COMMAND_BUFFER_COMPATIBLE = 1


class CustomCallHandler(Protocol):
    """What registers the targets of a platform."""

    def __call__(
        self, name: str, fn: Any, platform: str, /, api_version: int = ..., traits: CustomCallTargetTraits = ...
    ) -> None: ...


class CustomTypeIdHandler(Protocol):
    """What registers the types of a platform."""

    def __call__(self, type_name: str, type_id: Any, /) -> None: ...


class _Deliveries:
    """Registrations of one kind: each goes to its platform's handler, as soon as there is one, once and in order."""

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
                # What is no `Exception`, such as a `KeyboardInterrupt`, leaves the others for the next attempt.
                registration = waiting.pop(0)
                try:
                    handler(*registration)
                except Exception as error:
                    refused = refused or error  # the others are not to blame
            self._waiting.pop(platform, None)
            self._handlers[platform] = handler
            if refused is not None:
                raise refused

    def waiting(self, platform: str) -> list[tuple[Any, ...]]:
        with self._lock:
            return list(self._waiting.get(platform, ()))

    def platforms(self, name: str) -> list[str]:
        """Those for which a registration of this name waits."""
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
      fn: the function: a capsule with its address, a function or an address of `ctypes`, or a `cfunc` of Numba. With
        `api_version=1` also a dictionary of these by stage (`"instantiate"`, `"prepare"`, `"initialize"`, `"execute"`), or a tuple
        of them in this order, `None` for a stage that is missing. Or a Python function, which is called with what the C function
        would be called with: NumPy arrays and attributes, as in `farcall.handler`, if `api_version` is 1; if it is 0, the address
        of the result (of an array of their addresses, if there are several), and an array of the operands' addresses.
        Whatever is registered is kept until the process ends.
      platform: where it runs: `"cpu"`, `"gpu"` or a name of XLA's. What is registered for `"cpu"` is in the registry of the
        process at once; for others it waits for `register_custom_call_handler`.
      api_version: 0 for a C function of pointers, 1 for a handler of the typed FFI.
      traits: the traits of a typed handler.

    Raises:
      ValueError: if other functions have that name, a pointer is null, a stage is unknown, there is no handler for the execute
        stage, or the function is known to be of the other interface.
      TypeError: if `fn` is something else.
    """
    platform = xla_platform_names.get(platform, platform)
    _calls.add(platform, (decoded(name), fn, platform, api_version, traits))


#: The older name.
register_cpu_custom_call_target = register_custom_call_target


def register_custom_call_handler(platform: str, handler: CustomCallHandler) -> None:
    """Registers what registers the targets of a platform. Those that wait for it are registered at once, in order. A second handler
    of a platform is ignored; the CPU has one.

    Args:
      platform: the platform.
      handler: called as `handler(name, fn, platform, api_version, traits)`, with the platform's name in XLA. What it raises for one
        that has waited is raised here, after the others; what is no `Exception`, such as a `KeyboardInterrupt`, at once, and the others
        wait on.
    """
    _calls.handle(xla_platform_names.get(platform, platform), handler)


def custom_call_targets(platform: str) -> dict[str, Any]:
    """The targets of a platform by name: dictionaries of capsules by stage, or capsules for functions of pointers. For a platform
    without a handler, what waits for one."""
    platform = xla_platform_names.get(platform, platform)
    targets: dict[str, Any] = _farcall.Registry.process().capsules(platform)
    return {name: fn for name, fn, *_ in _calls.waiting(platform)} | targets


def waiting_platforms(name: str) -> list[str]:
    """The platforms for which a target of this name was registered, and which have no handler."""
    return _calls.platforms(name)


def register_custom_type(type_name: str, type_id: Any, platform: str = "cpu") -> None:
    """Registers a type that handlers keep state in.

    Args:
      type_name: the type's name.
      type_id: a capsule with the address of an `XLA_FFI_TypeId`; or a dictionary of capsules: `"type_id"`, and `"type_info"`, which
        may be missing.
      platform: the platform.

    Raises:
      ValueError: if the registration is invalid.
    """
    _types.add(xla_platform_names.get(platform, platform), (decoded(type_name), type_id))


#: The older name.
register_custom_type_id = register_custom_type


def register_custom_type_handler(platform: str, handler: CustomTypeIdHandler) -> None:
    """Registers what registers the types of a platform, as `register_custom_call_handler` does: `handler(type_name, type_id)`."""
    _types.handle(xla_platform_names.get(platform, platform), handler)


#: The older name.
register_custom_type_id_handler = register_custom_type_handler


# --- what farcall's engine does with them


def _register_target(
    name: str, fn: Any, platform: str, api_version: int, traits: CustomCallTargetTraits = CustomCallTargetTraits.DEFAULT
) -> None:
    functions = _functions(name, fn, api_version)
    _farcall.Registry.process().register(
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

#: What owns the code of targets. They are never taken back.
_kept: list[Any] = []


def _functions(name: str, fn: Any, api_version: int) -> Any:
    """A capsule, or capsules by stage."""
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
    return _farcall.capsule(address)


def _address(fn: Any) -> int | None:
    """The address of a C function; `None` for what is not one."""
    if isinstance(fn, (bool, str, bytes)):
        return None  # ctypes takes the address of a string
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
            _farcall.fail_run(name, error)  # the C function has no way to say that it failed
        finally:
            _farcall.forget_raised()

    return enter


# --- partitioners


class CustomCallPartitioner(NamedTuple):
    """What was registered for a target: functions of shardings."""

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
    """Registers how the calls of a target are partitioned among devices. farcall's engine has one device and asks nobody:
    `custom_call_partitioners` lists what was registered.

    Args:
      name: the target.
      prop_user_sharding: from the result's sharding to the operands'.
      partition: from shardings to the partitioned program and its shardings.
      infer_sharding_from_operands: from the operands' shardings to the result's.
      can_side_effecting_have_replicated_sharding: calls with side effects may be replicated.
      c_api: the interface of a plugin, which does not matter here.
    """
    del c_api
    functions = (prop_user_sharding, partition, infer_sharding_from_operands)
    for function in functions:
        if not callable(function):
            raise TypeError(f"a partitioner of `{decoded(name)}` is three functions, and {function!r} is not one")
    _partitioners[decoded(name)] = CustomCallPartitioner(*functions, bool(can_side_effecting_have_replicated_sharding))


def custom_call_partitioners() -> dict[str, CustomCallPartitioner]:
    """The partitioners by target."""
    return dict(_partitioners)


def register_custom_call_as_batch_partitionable(target_name: str, c_api: Any | None = None) -> None:
    """Registers that the calls of a target may be split along their leading dimensions."""
    del c_api
    _batch_partitionable.add(decoded(target_name))


def batch_partitionable_custom_calls() -> set[str]:
    """The targets that were registered as batch partitionable."""
    return set(_batch_partitionable)


_inspectors: dict[bytes, Callable[[HloSharding], None]] = {}
_numbers = itertools.count()


def encode_inspect_sharding_callback(handler: Callable[[HloSharding], None]) -> bytes:
    """The configuration (`opaque`) of a custom call `InspectSharding`: when a program with the call is compiled, the function is
    called with the sharding of the call's operand. On one device, that is a replicated one."""
    if not callable(handler):
        raise TypeError(f"the callback of InspectSharding is a function, not {handler!r}")
    key = b"farcall.inspect_sharding.%d" % next(_numbers)
    _inspectors[key] = handler
    return key


def _inspect_shardings(program: bytes, name: str) -> None:
    """Calls the functions that a program's calls of `InspectSharding` name.

    Raises:
      ValueError: if a call's configuration is not one of `encode_inspect_sharding_callback`.
    """
    if b"InspectSharding" not in program:
        return
    for target, config in _farcall.custom_calls(program, name):
        if target == "InspectSharding":
            if config not in _inspectors:
                raise ValueError(
                    f"{name}: InspectSharding: the configuration of the call is not one that "
                    "farcall.xla_client.encode_inspect_sharding_callback has returned"
                )
            _inspectors[config](HloSharding.replicate())


watchers.append(_inspect_shardings)
if not any(target.name == "InspectSharding" and not target.typed for target in _farcall.Registry.process().targets()):
    # Nothing is left to do when the program runs.
    _register_target("InspectSharding", lambda out, ins: None, "Host", 0)
