"""Handlers written in Python, and the Python functions that JAX programs call back.

For its host, a handler is a C function. ctypes creates it from `_farcall.Handler.enter`, which creates NumPy
arrays over the memory of the call, without copies, and calls the author's function.
"""

import ctypes
import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol, overload

import numpy as np

from farcall import _farcall

if TYPE_CHECKING:
    from farcall._engine import Registry

#: `XLA_FFI_Error* handler(XLA_FFI_CallFrame*)`. The C function acquires the interpreter's lock, on any
#: thread.
_C_HANDLER = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)


def address_of(function: Any) -> int:
    """Returns the address of a C function, given as a function of ctypes or as an address; 0 if it is null.

    Raises:
      TypeError: if `function` is of another type.
    """
    try:
        pointer = ctypes.c_void_p(function) if isinstance(function, int) else ctypes.cast(function, ctypes.c_void_p)
    except ctypes.ArgumentError:
        raise TypeError(f"a C function is a function of ctypes or an address, not a {type(function).__name__}") from None
    return pointer.value or 0


class _Entry:
    """The C function through which hosts call a Python function. It is freed together with this object."""

    def __init__(self, name: str, function: Callable[..., None], *, grouped: bool) -> None:
        native = _farcall.Handler(name, function, grouped=grouped)
        self._c_function = _C_HANDLER(native.enter)

    @property
    def address(self) -> int:
        return address_of(self._c_function)


class Handler:
    """A handler written in Python, created by `handler` from a function. Calling the handler calls the
    function.

    Programs of farcall's engine find the handler by its name. `capsule` is for other hosts of XLA's FFI:
    `jax.ffi.register_ffi_target(h.name, h.capsule)` registers it with JAX.
    """

    #: Handlers are kept forever, because hosts cannot report that they no longer need a handler.
    _kept: "list[Handler]" = []

    def __init__(self, name: str, function: Callable[..., None]) -> None:
        self._entry = _Entry(name, function, grouped=False)
        self._kept.append(self)
        self.name = name
        #: Capsule with the address of the handler's C function, for any host in this process.
        self.capsule = _farcall.handler_capsule(self._entry.address)
        functools.update_wrapper(self, function)

    def __call__(self, *buffers: np.ndarray, **attributes: Any) -> None:
        self.__wrapped__(*buffers, **attributes)

    def __repr__(self) -> str:
        return f"<farcall.Handler {self.name}>"


@overload
def handler(function: Callable[..., None], /) -> Handler: ...
@overload
def handler(
    *, name: str | None = None, registry: "Registry | None" = None, replace: bool = False
) -> Callable[[Callable[..., None]], Handler]: ...
def handler(
    function: Callable[..., None] | None = None,
    /,
    *,
    name: str | None = None,
    registry: "Registry | None" = None,
    replace: bool = False,
) -> Any:
    """Makes a handler of a Python function and registers it: `@farcall.handler`, or
    `@farcall.handler(name="scale")`.

    The function is called with a NumPy array for each operand, one for each result, and the attributes by
    name:

    >>> @farcall.handler
    ... def scale(x, y, *, factor):
    ...     np.multiply(x, factor, out=y)

    Operands are read-only. Results have unspecified contents and must be written. In farcall's engine,
    the arrays are the memory of the call, without copies. In another host of XLA's FFI, such as JAX, they
    are copies, because such a host reuses the memory of a call even if arrays still refer to it. A
    function that keeps an array, or a view of an array, makes the call fail; the function must copy the
    array instead. (After such a failure, the memory of the call stays alive, with its contents, as long
    as the array.) Tokens are left out. Attributes are Python numbers, booleans, strings, tuples of
    numbers and dictionaries; a string that is not UTF-8 is passed as bytes.

    An exception of the function becomes the call's error, with its traceback. The calling program raises
    a `RuntimeError` whose `__cause__` is the exception. The local variables of the functions in its
    traceback are cleared if the exception would otherwise keep arrays of the call alive. An exception
    that is not an `Exception`, such as `KeyboardInterrupt`, is raised unchanged by the program. The
    interpreter's lock is held only during the call.

    Args:
      function: the function; it returns nothing.
      name: the name that programs call; defaults to the function's name.
      registry: registry for the handler; defaults to the registry of the process.
      replace: replaces another handler of the same name.

    Returns:
      The `Handler`, which replaces the function. It is kept until the process ends.

    Raises:
      ValueError: if another handler has the same name, unless `replace=True`.
    """

    def registered(function: Callable[..., None]) -> Handler:
        made = Handler(name if name is not None else function.__name__, function)
        native = _farcall.Registry.process() if registry is None else registry._native
        native.register(made.name, made.capsule, platform="cpu", api_version=1, traits=0, replace=replace)
        return made

    return registered if function is None else registered(function)


def report_crashes() -> None:
    """Enables reports of crashes of handlers and libraries, as one line on the standard error.

    The line names the target, its library, and where the program calls it:

        error: custom call `f` of /ops/libops.so at model.mlir:3:8, in its execute stage, crashed: invalid
          memory access (SIGSEGV)

    Then the process ends as it would have without reports: earlier handlers of these signals, such as
    `faulthandler`'s, are called, and a core dump is written if enabled. Only signals are reported, and only
    on threads that run a handler or a library's code for farcall.
    """
    _farcall.report_crashes()


class Callbacks(Protocol):
    """Callbacks of a lowered program, for `jax.pure_callback`, `io_callback`, `jax.debug.callback` and
    `jax.debug.print`. They are kept as long as an executable that uses them."""

    def registry(self, native: _farcall.Registry) -> _farcall.Registry:
        """Returns a registry with the same targets and the callbacks."""
        ...


class NumberedCallbacks:
    """Python functions that a lowered program refers to by number.

    Args:
      functions: functions from arrays, with `None` for tokens, to a tuple of arrays. JAX checks the returned
        values.
    """

    #: Names of the callback targets in JAX. A call of the second target runs once on each device;
    #: farcall's engine has one device.
    TARGETS = ("xla_ffi_python_cpu_callback", "xla_ffi_partitioned_python_cpu_callback")

    def __init__(self, functions: Sequence[Callable[..., Sequence[Any]]]) -> None:
        def call(operands: Sequence[Any], results: Sequence[Any], attributes: dict[str, Any]) -> None:
            # JAX creates arrays from the function's arguments. The arrays may share memory with the arguments
            # and outlive the call, so the arguments are copies.
            arguments = [None if operand is None else operand.copy() for operand in operands]
            returned = functions[attributes["index"]](*arguments)
            for result, value in zip(results, returned, strict=True):
                if result is not None:
                    result[...] = value

        self._entries = {name: _Entry(name, call, grouped=True) for name in self.TARGETS}

    def registry(self, native: _farcall.Registry) -> _farcall.Registry:
        """See `Callbacks`."""
        return native.with_handlers([(name, entry.address) for name, entry in self._entries.items()])


class AddressedCallbacks:
    """Callbacks of a program lowered by JAX before 0.6. Each call has the address of a jaxlib object as its
    first operand. jaxlib's function `TARGET` calls the Python function in that object.

    Args:
      objects: Python objects that own the jaxlib objects and keep them alive.
    """

    TARGET = "xla_python_cpu_callback"

    def __init__(self, objects: Sequence[Any]) -> None:
        self._objects = objects

    def registry(self, native: _farcall.Registry) -> _farcall.Registry:
        """See `Callbacks`.

        Raises:
          ValueError: if jaxlib does not expose its function.
        """
        import jaxlib
        from jaxlib import xla_client

        # The first versions lack the attribute.
        targets = getattr(xla_client, "custom_call_targets", lambda platform: {})("Host")
        if self.TARGET not in targets:
            raise ValueError(
                f"the program's callbacks are calls of `{self.TARGET}`, a function of jaxlib that jaxlib {jaxlib.__version__} does not "
                "give out (jaxlib.xla_client.custom_call_targets lacks it): use a jaxlib that does (0.4.30, for example), or JAX 0.6 or "
                "later, whose callbacks need no function of jaxlib"
            )
        made = native.with_handlers([])
        made.register(self.TARGET, targets[self.TARGET], platform="cpu", api_version=0, traits=0, replace=True)
        return made
