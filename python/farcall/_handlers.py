"""Handlers written in Python, and the Python functions that programs of JAX call back.

A handler is a C function for its host. ctypes makes one of `_farcall.Handler.enter`, which makes NumPy arrays over the
memory of the call, without copies, and calls the author's function.
"""

import ctypes
import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol, overload

import numpy as np

from farcall import _farcall

if TYPE_CHECKING:
    from farcall._engine import Registry

#: `XLA_FFI_Error* handler(XLA_FFI_CallFrame*)`. The C function takes the interpreter's lock, on whatever thread.
_C_HANDLER = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)


def address_of(function: Any) -> int:
    """The address of a C function, which is a function of ctypes or an address; 0 if it is null.

    Raises:
      TypeError: if it is something else.
    """
    try:
        pointer = ctypes.c_void_p(function) if isinstance(function, int) else ctypes.cast(function, ctypes.c_void_p)
    except ctypes.ArgumentError:
        raise TypeError(f"a C function is a function of ctypes or an address, not a {type(function).__name__}") from None
    return pointer.value or 0


class _Entry:
    """The C function through which hosts call a Python function. It is gone when this object is."""

    def __init__(self, name: str, function: Callable[..., None], *, grouped: bool) -> None:
        native = _farcall.Handler(name, function, grouped=grouped)
        self._c_function = _C_HANDLER(native.enter)

    @property
    def address(self) -> int:
        return address_of(self._c_function)


class Handler:
    """A handler written in Python; `handler` makes it of a function. Calling it calls the function.

    Programs of farcall's engine find it by its name. `capsule` is for other hosts of XLA's FFI:
    `jax.ffi.register_ffi_target(h.name, h.capsule)` registers it with JAX.
    """

    #: Hosts have no way to say that they are done with a handler.
    _kept: "list[Handler]" = []

    def __init__(self, name: str, function: Callable[..., None]) -> None:
        self._entry = _Entry(name, function, grouped=False)
        self._kept.append(self)
        self.name = name
        #: The address of the handler's C function, for any host in this process.
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
    """Makes a handler of a Python function and registers it: `@farcall.handler`, or `@farcall.handler(name="scale")`.

    The function is called with a NumPy array for each operand, one for each result, and the attributes by name:

    >>> @farcall.handler
    ... def scale(x, y, *, factor):
    ...     np.multiply(x, factor, out=y)

    The arrays are the memory of the call, without copies: operands are read-only, results have unspecified
    contents and must be written. (In another host of XLA's FFI, such as JAX, they are copies, since only
    farcall keeps memory that is still in use.) A function that keeps an array, or a view of it, makes the call
    fail: it must copy instead. (The memory then stays as long as the array does, and shows no other value.)
    Tokens are left out. Attributes are Python's numbers, booleans, strings, tuples of numbers and
    dictionaries; a string that
    is not UTF-8 is bytes.

    What the function raises becomes the call's error, with its traceback. `RuntimeError`s of the program that called it
    have it as their `__cause__`, without the local variables of its frames if these refer to arrays of the call. What is not
    an `Exception`, such as `KeyboardInterrupt`, is raised by the program as it is. The interpreter's lock is taken for the
    call only.

    Args:
      function: the function; it returns nothing.
      name: the name that programs call; the function's name if none is given.
      registry: where it is registered; the registry of the process if none is given.
      replace: replace another handler of that name.

    Returns:
      The `Handler`, in the place of the function. It is kept until the process ends.

    Raises:
      ValueError: if another handler has that name, unless `replace=True`.
    """

    def registered(function: Callable[..., None]) -> Handler:
        made = Handler(name if name is not None else function.__name__, function)
        native = _farcall.Registry.process() if registry is None else registry._native
        native.register(made.name, made.capsule, platform="cpu", api_version=1, traits=0, replace=replace)
        return made

    return registered if function is None else registered(function)


def report_crashes() -> None:
    """Turns on reports of crashes of handlers and libraries, in one line on the standard error.

    The line names the target, its library, and where the program calls it:

        error: custom call `f` of /ops/libops.so at model.mlir:3:8, in its execute stage, crashed: invalid memory access (SIGSEGV)

    Then the process ends as it would have: earlier handlers of these signals, such as `faulthandler`'s, are
    called, and a core dump is written if enabled. Only signals are reported, and only on threads that run a
    handler or a library's code for farcall.
    """
    _farcall.report_crashes()


class Callbacks(Protocol):
    """What a lowered program calls for `jax.pure_callback`, `io_callback`, `jax.debug.callback` and `jax.debug.print`. It is kept as
    long as an executable that uses it."""

    def registry(self, native: _farcall.Registry) -> _farcall.Registry:
        """A registry with the same targets, and the callbacks."""
        ...


class NumberedCallbacks:
    """The Python functions that a lowered program has by number.

    Args:
      functions: a function of arrays, `None` for tokens, that returns such a tuple. JAX checks what it returns.
    """

    #: What JAX calls them by. The second one is called once for each device, of which there is one.
    TARGETS = ("xla_ffi_python_cpu_callback", "xla_ffi_partitioned_python_cpu_callback")

    def __init__(self, functions: Sequence[Callable[..., Sequence[Any]]]) -> None:
        def call(operands: Sequence[Any], results: Sequence[Any], attributes: dict[str, Any]) -> None:
            # Copies: JAX makes arrays of its own of what the function gets, perhaps without copying, which outlive the call.
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
    """The callbacks of a program that JAX before 0.6 has lowered: each call has the address of an object of jaxlib as its first
    operand. jaxlib's own function, `TARGET`, calls the Python function that the object has.

    Args:
      objects: what owns these objects.
    """

    TARGET = "xla_python_cpu_callback"

    def __init__(self, objects: Sequence[Any]) -> None:
        self._objects = objects

    def registry(self, native: _farcall.Registry) -> _farcall.Registry:
        """See `Callbacks`.

        Raises:
          ValueError: if jaxlib does not give out its function.
        """
        import jaxlib
        from jaxlib import xla_client

        # The first versions lack it.
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
