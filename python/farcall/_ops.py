"""The ops of a library as functions.

An op is called with arrays; what it runs on follows from them. NumPy arrays run in farcall's own engine,
at once. With JAX arrays, or under one of JAX's transformations, the call is an operation of JAX
(`farcall._jax`). Either way the signature of the op says what fits, and what is wrong is said in its words.
"""

import difflib
import functools
import inspect
import os
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

from farcall import _farcall
from farcall._arrays import TensorType, dtype_name, from_engine, in_engine_order, numbers, tensor_type
from farcall._engine import Registry


class Library:
    """The ops of a library, each an attribute: `ops.rms_norm(x, scale, eps=1e-6)`.

    `dir(ops)` and `for op in ops` list them.
    """

    def __init__(self, path: str, ops: "dict[str, Op]") -> None:
        self.__path = path
        self.__ops = ops

    @property
    def disabled_checks(self) -> list[Any]:
        """What `jax.export.export` is given as `disabled_checks`, so that it lets calls of these ops pass."""
        from jax.export import DisabledSafetyCheck

        return [DisabledSafetyCheck.custom_call(name) for name in self.__ops]

    def __getattr__(self, name: str) -> "Op":
        if name.startswith("__"):
            raise AttributeError(name)
        try:
            return self.__ops[name]
        except KeyError:
            near = difflib.get_close_matches(name, self.__ops)
            hint = f"did you mean {' or '.join(near)}?" if near else f"there is {', '.join(self.__ops) or 'none'}"
            raise AttributeError(f"{self.__path} declares no op {name}; {hint}") from None

    __getitem__ = __getattr__

    def __iter__(self) -> "Iterator[Op]":
        return iter(self.__ops.values())

    def __len__(self) -> int:
        return len(self.__ops)

    def __dir__(self) -> list[str]:
        return sorted(self.__ops)

    def __repr__(self) -> str:
        derivatives = {name for op in self for name in op.derivatives}
        return f"<farcall.Library {self.__path}: {', '.join(name for name in self.__ops if name not in derivatives)}>"


class Op:
    """An op of a library: a function of arrays.

    Operands come by position or by name, attributes by name. One result is an array, several are a tuple, an
    op without results gives `None`.

    On NumPy arrays, lists and numbers it runs at once in farcall's engine, and gives NumPy arrays. If there is
    a JAX array among the operands, it is an operation of JAX.
    """

    def __init__(self, platforms: dict[str, _farcall.Op], library: "dict[str, Op]", registry: Registry) -> None:
        native = platforms.get("Host") or next(iter(platforms.values()))
        self._native = native
        self._platforms = platforms
        self._library = library
        self._registry = registry
        self._operands = native.operands
        self._single = len(native.results) == 1 and not native.has_variadic_result
        self._executable = functools.lru_cache(maxsize=256)(self._compile)
        self.__name__ = self.__qualname__ = native.name
        self.__module__ = "farcall"
        self.__signature__ = _signature(native)
        self.__doc__ = f"{native.docs.strip()}\n\n{native.markdown}".strip() + "\n"

    @property
    def signature(self) -> str:
        """What the op declares, in farcall's signature language."""
        return self._native.signature

    @property
    def batching(self) -> str:
        """What `jax.vmap` makes of it, in words: `native`, or a loop and why."""
        return self._native.batching

    @property
    def derivatives(self) -> list[str]:
        """The ops of its library that are its derivatives."""
        forward, backward = self._native.vjp[:2] if self._native.vjp else (None, None)
        tangent = self._native.jvp[0] if self._native.jvp else None
        return [name for name in (forward, backward, tangent) if name is not None]

    @property
    def platforms(self) -> list[str]:
        """The platforms that it has handlers for: `Host`, `CUDA`."""
        return list(self._platforms)

    def __call__(self, *operands: Any, **named: Any) -> Any:
        given, attributes = self._arguments(operands, named)
        if _is_for_jax(given, self._native.has_side_effect):
            from farcall import _jax

            results = _jax.call(self, given, attributes)
        else:
            results = self._run(given, attributes)
        if self._single:
            return results[0]
        return tuple(results) if self._native.results else None

    def _arguments(self, operands: tuple[Any, ...], named: dict[str, Any]) -> tuple[list[Any], _farcall.Attributes]:
        """The operands that are given, in order, and the attributes."""
        declared = self._operands
        variadic = bool(declared) and declared[-1][1] == "variadic"
        given = list(operands)
        if not variadic and len(given) > len(declared):
            names = ", ".join(name for name, _, _ in declared)
            attributes = [name for name, *_ in self._native.attributes]
            hint = f"; attributes are given by name: {attributes[0]}=…" if attributes else ""
            raise TypeError(f"{self.__name__}: takes {_count(len(declared), 'operand')} ({names}), but is given {len(given)}{hint}")
        attributes = dict(named)
        if named:
            for i, (name, arity, _) in enumerate(declared):
                if name in attributes and arity != "variadic":
                    if i < len(given):
                        raise TypeError(f"{self.__name__}: {name} is given twice, by position and by name")
                    given.extend([None] * (i - len(given)))
                    given.append(attributes.pop(name))
        for (name, arity, _), value in zip(declared, given):
            if value is None and arity == "required":
                raise TypeError(f"{self.__name__}: operand {name} is missing")
        if not variadic:
            while given and given[-1] is None:
                given.pop()
        for i, value in enumerate(given):
            if value is None:
                raise TypeError(f"{self.__name__}: {declared[min(i, len(declared) - 1)][0]} must be given if a later operand is")
        missing = [name for name, arity, _ in declared[len(given) :] if arity == "required"]
        if missing:
            are = "operand" if len(missing) == 1 else "operands"
            raise TypeError(f"{self.__name__}: {are} missing: {', '.join(missing)}")
        return given, self._native.convert(attributes)

    def _run(self, operands: list[Any], attributes: _farcall.Attributes) -> list[np.ndarray]:
        if "Host" not in self._platforms:
            raise RuntimeError(f"{self.__name__} has no handler for the CPU, only for {', '.join(self._platforms)}")
        given = [self._tensor(value, i, operands) for i, value in enumerate(operands)]
        executable, outputs = self._executable(tuple((dtype, shape) for dtype, shape, _ in given), attributes)
        return [from_engine(e, ty) for e, ty in zip(executable.run(given), outputs)]

    def _compile(
        self, types: tuple[tuple[str, tuple[int, ...]], ...], attributes: _farcall.Attributes
    ) -> tuple[_farcall.Executable, list[TensorType]]:
        executable = self._native.compile(types, attributes, self._registry._native)
        return executable, [tensor_type(*ty) for ty in executable.outputs]

    def _tensor(self, value: Any, index: int, operands: list[Any]) -> tuple[str, tuple[int, ...], np.ndarray]:
        """Element type, shape and bytes of an operand."""
        if hasattr(value, "dtype"):
            array = np.asarray(value)
        else:
            array = self.number(value, index, operands)
        array = in_engine_order(array)
        name = dtype_name(array.dtype)
        if name is None:
            raise TypeError(f"{self.__name__}: {self._name(index)} is an array of {array.dtype}, which is no tensor's element type")
        return name, array.shape, array.reshape(-1).view(np.uint8)

    def number(self, value: Any, index: int, operands: list[Any]) -> np.ndarray:
        """Python's numbers, and lists of them: as an array of a type that the operand can have."""
        last = len(self._operands) - 1
        known = [
            (min(i, last), name)
            for i, other in enumerate(operands)
            if (dtype := getattr(other, "dtype", None)) is not None and (name := dtype_name(np.dtype(dtype)))
        ]
        types = self._native.operand_types(min(index, last), known)
        array = np.asarray(value)
        if dtype_name(array.dtype) in types or not types:
            return array
        wrong = None
        for ty in types:
            try:
                return numbers(value, tensor_type(ty, list(array.shape)), f"{self.__name__}: {self._name(index)}")
            except (TypeError, ValueError) as error:
                wrong = wrong or error
        raise wrong

    def _name(self, index: int) -> str:
        name, arity, _ = self._operands[min(index, len(self._operands) - 1)]
        return f"{name}[{index - len(self._operands) + 1}]" if arity == "variadic" else name

    def __repr__(self) -> str:
        return f"<farcall.Op {self.__name__}{self.signature}>"


def load(path: str | os.PathLike[str], registry: Registry | None = None) -> Library:
    """Loads a library of ops.

    Loading runs the library's code: only load what you trust. A library stays loaded until the process ends.

    Args:
      path: the shared library, made with farcall's SDK.
      registry: where its targets are registered, so that programs can call them too (`farcall.compile`); the
        registry of the process if none is given.

    Returns:
      Its ops, each an attribute.

    Raises:
      FileNotFoundError: if there is no such file.
      OSError: if it cannot be opened; the message says why.
      ValueError: if it declares no ops, or other functions are registered under their names.
    """
    registry = registry or Registry.process()
    by_name: dict[str, dict[str, _farcall.Op]] = {}
    for target in registry.load(path):
        op = target.op()
        if op is not None:
            by_name.setdefault(op.name, {})[op.platform] = op
    if not by_name:
        raise ValueError(
            f"{os.fspath(path)} declares no ops: its targets have no signatures. Registry.load registers them for programs"
        )
    ops: dict[str, Op] = {}
    for name, platforms in by_name.items():
        ops[name] = Op(platforms, ops, registry)
    return Library(os.fspath(path), ops)


def _signature(native: _farcall.Op) -> inspect.Signature:
    kinds = inspect.Parameter
    parameters = []
    for name, arity, _ in native.operands:
        kind = kinds.VAR_POSITIONAL if arity == "variadic" else kinds.POSITIONAL_OR_KEYWORD
        default = None if arity == "optional" else kinds.empty
        parameters.append(inspect.Parameter(name, kind, default=default))
    for name, _, required, default in native.attributes:
        parameters.append(inspect.Parameter(name, kinds.KEYWORD_ONLY, default=kinds.empty if required else default))
    return inspect.Signature(parameters)


def _is_for_jax(operands: list[Any], has_side_effect: bool) -> bool:
    """True for JAX's arrays. What JAX does not see of a function that it traces runs once, while it is traced: NumPy
    arrays are constants there, but a side effect is none."""
    jax = sys.modules.get("jax")
    if jax is None or not hasattr(jax, "Array"):
        return False
    if any(isinstance(value, jax.Array) for value in operands):
        return True
    if not has_side_effect and any(isinstance(value, np.ndarray) for value in operands):
        return False
    try:
        from farcall import _jax
    except ImportError:  # a JAX that is too old, of which we are given nothing
        return False
    return _jax.is_tracing()


def _count(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"
