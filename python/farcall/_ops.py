"""The ops of a library as functions.

The type of the arrays determines where an op runs. With NumPy arrays, it runs immediately in farcall's own
engine. With JAX arrays, or under one of JAX's transformations, the call is an operation of JAX
(`farcall._jax`). Either way, the signature of the op determines valid arguments, and errors use its names.
"""

import difflib
import functools
import inspect
import keyword
import os
import re
import sys
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

import numpy as np

from farcall import _farcall
from farcall._arrays import KINDS, cast, dtype_name, dtype_of, in_engine_order, is_inexact, numbers
from farcall._engine import Registry


class Library:
    """The ops of a library, as attributes: `ops.rms_norm(x, scale, eps=1e-6)`.

    `dir(ops)` and `for op in ops` list them.
    """

    def __init__(
        self, path: str, registry: Registry | None, namespace: str | None, replace: bool, watch: bool
    ) -> None:
        self.__file = path
        self.__path = os.fsencode(path).decode("utf-8", "replace")
        self.__registry = registry
        self.__namespace = namespace
        self.__stamp = _stamp(path) if watch else None
        #: Ops by their names without the namespace.
        self.__ops = _load(path, registry, namespace, replace, stacklevel=4)

    def __refresh(self) -> None:
        """Loads the file again if it is watched and has changed."""
        if self.__stamp is not None and self.__stamp != (stamp := _stamp(self.__file)):
            self.__ops = _load(self.__file, self.__registry, self.__namespace, False, stacklevel=4)
            self.__stamp = stamp

    @property
    def disabled_checks(self) -> list[Any]:
        """Value of the argument `disabled_checks` of `jax.export.export` that allows calls of these ops."""
        from jax.export import DisabledSafetyCheck

        return [DisabledSafetyCheck.custom_call(op.__name__) for op in self]

    def __getattr__(self, name: str) -> "Op":
        if name.startswith(("__", "_Library__")):
            raise AttributeError(name)
        self.__refresh()
        found = self.__ops.get(name) or next((op for own, op in self.__ops.items() if _as_python([own]) == [name]), None)
        if found is not None:
            return found
        near = difflib.get_close_matches(name, self.__ops)
        hint = f"did you mean {' or '.join(near)}?" if near else f"there is {', '.join(self.__ops) or 'none'}"
        raise AttributeError(f"{self.__path} declares no op {name}; {hint}")

    __getitem__ = __getattr__

    def __iter__(self) -> "Iterator[Op]":
        return iter(self.__ops.values())

    def __len__(self) -> int:
        return len(self.__ops)

    def __dir__(self) -> list[str]:
        return sorted(_as_python(self.__ops))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickles by reference: unpickling loads the file."""
        options = {"namespace": self.__namespace, "watch": self.__stamp is not None}
        return functools.partial(load, **options), (self.__file, self.__registry)

    def __copy__(self) -> "Library":
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> "Library":
        return self

    def __repr__(self) -> str:
        # Derivatives are not listed, except for two ops that are derivatives of each other.
        of = {op.__name__: op.derivatives for op in self}
        derivatives = {name for op in self for name in op.derivatives if op.__name__ not in of[name]}
        return f"<farcall.Library {self.__path}: {', '.join(name for name in of if name not in derivatives)}>"


def _element_types(signature: str) -> str:
    """Returns a line with NumPy's names of the element types in a signature, if there are any."""
    names = dict.fromkeys(re.findall(r"\b(?:pred|bf16|[sufc]\d+)\b", signature))
    types = [f"{name} is {dtype_of(name)}" for name in names]
    return f"element types: {', '.join(types)}.\n" if types else ""


class Op:
    """An op of a library: a function of arrays.

    Operands are passed by position or by name, attributes by name; `None` stands for an absent value.
    Parameter names that are keywords of Python get the suffix `_`: `lambda_`. A single result is an array,
    several results are a tuple, and an op without results returns `None`. The entries of a variadic operand
    are passed in sequence. If an op has several variadic operands, they are lists of the same length, and so are
    its variadic results.

    With NumPy arrays, lists and numbers, the op runs immediately in farcall's engine and returns NumPy
    arrays. If any operand is a JAX array, the call is an operation of JAX.

    Loading an unchanged file again returns the same ops. Copying an op returns the op itself. An op is
    pickled as the library's path and the op's name, and one of farcall's own ops as its name.
    """

    def __init__(self, platforms: dict[str, _farcall.Op], library: "dict[str, Op]") -> None:
        native = platforms.get("Host") or next(iter(platforms.values()))
        self._native = native
        self._platforms = platforms
        self._library = library
        declared = [name for name, *_ in native.operands] + [name for name, *_ in native.attributes]
        #: Parameter names in the signature, by their Python names.
        self._declared = dict(zip(_as_python(declared), declared))
        self._operands = [(name, *rest) for name, (_, *rest) in zip(self._declared, native.operands)]
        self._attributes = list(self._declared)[len(self._operands) :]
        #: The offset operands, with the dimensions that they are indices into. Callers pass offsets by name;
        #: the default is 0.
        self._offsets = {name: dim for name in self._declared for own, dim in native.offsets if own == self._declared[name]}
        #: Names of the variadic operands.
        self._lists = [name for name, arity in self._operands if arity == "variadic"]
        #: True if the op returns a single result, which is not wrapped in a tuple. A variadic result is
        #: itself a tuple.
        self._single = len(native.results) == 1 and (len(self._lists) > 1 or not native.variadic_results)
        self._executable = functools.lru_cache(maxsize=256)(native.compile)
        self.__name__ = self.__qualname__ = native.name
        self.__module__ = "farcall"
        self.__signature__ = self._signature()
        self.__doc__ = f"{native.docs.strip()}\n\n{native.markdown}{_element_types(native.signature)}".strip() + "\n"

    @property
    def signature(self) -> str:
        """The op's signature, in farcall's signature language."""
        return self._native.signature

    @property
    def batching(self) -> str:
        """Rule of the op for `jax.vmap`, as text: `native` for one call, `by hand` if the library has a
        batching function, or a loop, with the reason for the loop."""
        return self._native.batching

    @property
    def derivatives(self) -> list[str]:
        """Names of the ops in its library that compute its derivatives."""
        return self._native.derivatives

    @property
    def platforms(self) -> list[str]:
        """Platforms with handlers for the op: `Host`, `CUDA`."""
        return list(self._platforms)

    def __call__(self, /, *operands: Any, **named: Any) -> Any:
        if "out" in named and "out" not in self._declared:
            raise TypeError(
                f"{self.__name__} has no out=: its results are new arrays; y[...] = {self.__name__}(…) copies one into y"
            )
        if self._offsets:
            operands = self._with_offsets(operands, named)
        operands, entries = self._flat(operands, named)
        given, attributes = self._native.bind(operands, list(named.items()), self._declared)
        if _is_for_jax(given, self._native.has_side_effect):
            from farcall import _jax

            results = _jax.call(self, given, attributes)
        else:
            results = self._run(given, attributes)
        if len(self._lists) > 1:
            left, lists = iter(results), self._native.variadic_results
            results = [list(islice(left, entries)) if name in lists else next(left) for name in self._native.results]
        if self._single:
            return results[0]
        return tuple(results) if self._native.results else None

    def _with_offsets(self, operands: tuple[Any, ...], named: dict[str, Any]) -> tuple[Any, ...]:
        """Returns the operands by position, including offsets. Offsets after the given operands stay in
        `named`."""
        jax = sys.modules.get("jax")
        values = list(operands)
        for place, (name, _) in enumerate(self._operands):
            if name not in self._offsets:
                continue
            value = named.pop(name, None)
            if value is None:
                dim, value = self._offsets[name], 0
                if jax is not None and hasattr(jax, "Array") and jax.sharding.get_abstract_mesh().manual_axes:
                    raise TypeError(
                        f"{self.__name__}: in jax.shard_map, {name} must be given: the index at which this part of {dim} begins, "
                        f"such as {name}=jax.lax.axis_index(AXIS) * x.shape[0] where AXIS splits {dim}, or 0 where it is whole"
                    )
            if place <= len(values):
                values.insert(place, value)
            else:
                named[name] = value
        return tuple(values)

    def _flat(self, operands: tuple[Any, ...], named: dict[str, Any]) -> tuple[Sequence[Any], int]:
        """Returns the operands of a call as a flat list, and the number of entries in each list. A single
        variadic operand is given by position, or as a list by its name; several variadic operands are given
        as lists. Operands taken from `named` are removed from it."""
        given = {name for name, value in named.items() if value is not None}
        if not self._lists or (len(self._lists) == 1 and self._lists[0] not in given):
            return operands, 0
        wrong = lambda what: TypeError(f"{self.__name__}: {what}: {self.__name__}{self.__signature__}")
        names = [name for name, _ in self._operands]
        if twice := [name for name in names[: len(operands)] if name in given]:
            raise wrong(f"{twice[0]} is given twice")
        if len(operands) > len(names):
            raise wrong(f"{len(operands)} operands are given, but {' and '.join(self._lists)} are lists, and attributes are given by name")
        values = dict(zip(names, operands))
        for name in names[len(operands) :]:
            if (value := named.pop(name, None)) is not None:
                values[name] = value
        if missing := [name for name in names if values.get(name) is None]:
            raise wrong(f"missing {', '.join(missing)}")
        first = self._lists[0]
        for name in self._lists:
            if not isinstance(values[name], (list, tuple)):
                raise wrong(f"{name} is a list of operands, not {type(values[name]).__name__}")
            if len(values[name]) != len(values[first]):
                raise wrong(f"{first} has {len(values[first])} entries, but {name} has {len(values[name])}")
            if None in (kinds := [None if x is None else 0 for x in values[name]]):
                raise wrong(f"{name}[{kinds.index(None)}] is None")
        single = [values[name] for name in names if name not in self._lists]
        return [*single, *(x for name in self._lists for x in values[name])], len(values[first])

    def _run(self, operands: list[Any], attributes: _farcall.Attributes) -> list[np.ndarray]:
        if "Host" not in self._platforms:
            raise RuntimeError(f"{self.__name__} has no handler for the CPU, only for {', '.join(self._platforms)}")
        given = [self._tensor(value) for value in map(np.asarray, self.typed(operands))]
        types = tuple((dtype, shape) for dtype, shape, _ in given)
        results = self._executable(types, attributes).run(given)
        check_special(self.__name__, results)
        return results

    def _tensor(self, array: np.ndarray) -> tuple[str, tuple[int, ...], np.ndarray]:
        """Returns the element type, shape and bytes of an operand with a known element type."""
        array = in_engine_order(array)
        return dtype_name(array.dtype), array.shape, array.reshape(-1).view(np.uint8)

    def typed(
        self,
        operands: Sequence[Any],
        kinds: Sequence[str | None] | None = None,
        has: Callable[[str], bool] = lambda name: True,
    ) -> list[Any]:
        """Returns the operands as arrays. Operands without a fixed element type get one that the op supports.
        These operands are Python numbers and lists of numbers, arrays of NumPy's default integer type, and
        arrays with a kind of numbers in `kinds`. `has` returns true for available types.
        """
        values, said = list(operands), []
        for i, (value, kind) in enumerate(zip(operands, kinds or [None] * len(operands))):
            dtype = getattr(value, "dtype", None)
            if dtype is None:
                values[i], kind = numbers(value, self._what(i, len(operands)))
            elif kind is None:
                is_numpy = isinstance(value, (np.ndarray, np.generic))
                kind = "index" if is_numpy and dtype == np.int64 else dtype_name(dtype.newbyteorder("=") if is_numpy else dtype)
                if kind is None:
                    raise TypeError(f"{self._what(i, len(operands))} is an array of {dtype}, which is not a tensor element type")
            said.append(kind)
        if not _UNTYPED.intersection(said):
            return values
        for places, choices in self._native.number_types(said, _prefers_64_bits()):
            wrong = None
            for types in choices:
                try:
                    for place, name in zip(places, types):
                        if not has(name):
                            raise TypeError(f"{self._what(place, len(operands))} is {name}, which JAX has only with jax_enable_x64")
                    typed = [_typed(values[place], name, self._what(place, len(operands))) for place, name in zip(places, types)]
                    break
                except (TypeError, ValueError) as error:
                    wrong = wrong or error
            else:
                raise wrong
            for place, value in zip(places, typed):
                values[place] = value
        return values

    def _what(self, index: int, count: int) -> str:
        """Returns the name of operand `index` of a call with `count` operands, for messages."""
        single = sum(arity != "variadic" for _, arity in self._operands)
        if index < single:
            return f"{self.__name__}: {self._operands[index][0]}"
        each = -(-(count - single) // (len(self._operands) - single))
        before, entry = divmod(index - single, each)
        return f"{self.__name__}: {self._operands[single + before][0]}[{entry}]"

    def _signature(self) -> inspect.Signature:
        kinds = inspect.Parameter
        parameters = []
        offsets = [inspect.Parameter(name, kinds.KEYWORD_ONLY, default=0) for name in self._offsets]
        for name, arity in self._operands:
            if name in self._offsets:
                continue
            kind = kinds.VAR_POSITIONAL if self._lists == [name] else kinds.POSITIONAL_OR_KEYWORD
            default = None if arity == "optional" else kinds.empty
            parameters.append(inspect.Parameter(name, kind, default=default))
        parameters += offsets
        for name, (_, _, required, default) in zip(self._attributes, self._native.attributes):
            parameters.append(inspect.Parameter(name, kinds.KEYWORD_ONLY, default=kinds.empty if required else default))
        return inspect.Signature(parameters)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickles by reference: unpickling loads the library."""
        if self._library is _BUILT_INS:
            return built_in, (self.__name__,)
        if self._native.file is None:
            raise TypeError(f"{self.__name__} cannot be pickled: it is from no library's file")
        local = self._native.local_name
        namespace = self.__name__.removesuffix(local).removesuffix(".") or None
        return _op, (os.fspath(self._native.file), local, namespace)

    def __copy__(self) -> "Op":
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> "Op":
        return self

    def __repr__(self) -> str:
        return f"<farcall.Op {self.__name__}{self.signature}>"


class _BuiltIns(dict[str, Op]):
    """farcall's own ops by name. An op is created when it is first used."""

    def __missing__(self, name: str) -> Op:
        native = _farcall.built_in_op(name)
        if native is None:
            raise KeyError(name)
        return self.setdefault(name, Op({native.platform: native}, self))


_BUILT_INS = _BuiltIns()


def built_in(name: str) -> Op:
    """Returns one of farcall's own ops.

    Raises:
      KeyError: if farcall has no op of this name.
    """
    return _BUILT_INS[name]


def load(
    path: str | bytes | os.PathLike[str] | os.PathLike[bytes],
    registry: Registry | None = None,
    *,
    namespace: str | None = None,
    replace: bool = False,
    watch: bool = False,
) -> Library:
    """Loads a library of ops.

    Loading runs the library's code: only load libraries that you trust. A library stays loaded until the
    process ends. If its file has changed, loading it again returns the new ops: programs that are compiled or
    traced afterwards use them, while other programs keep the old ones. A `StaleLibraryWarning` lists ops that
    the new file lacks.

    Args:
      path: the shared library, built with farcall's SDK.
      registry: registry for the library's targets, so that programs can also call them (`farcall.compile`);
        defaults to the registry of the process.
      namespace: distinguishes the library's ops from ops of the same name in other libraries: `ops.rms_norm`
        is the target `NAMESPACE.rms_norm`. Defaults to the namespace chosen by the library's author, if any.
      replace: lets the library's ops replace registered ops of the same names. Compiled and traced programs
        keep the old ops.
      watch: if true, the library is loaded again when an op is accessed by name and the file has changed: in
        a notebook, `ops.name(x)` then calls the latest build. (Functions traced by JAX keep the old ops.)

    Returns:
      The ops, as attributes.

    Raises:
      FileNotFoundError: if the file does not exist.
      OSError: if the file cannot be opened; the message has the reason.
      ValueError: if the library declares no ops, or other functions are registered under their names.
    """
    return Library(os.fsdecode(path), registry, namespace, replace, watch)


def _load(
    path: str, registry: Registry | None, namespace: str | None, replace: bool, stacklevel: int
) -> dict[str, Op]:
    registry = registry or Registry.process()
    latest = _LATEST.setdefault(registry, {})
    if latest:
        # A registry of its own shows what the library declares. So if the library does not fit the ops of
        # other libraries, the error leaves none of its handlers in the caller's registry.
        targets, _ = Registry()._native.load(os.fsdecode(path), targets=[], namespace=namespace, replace=replace)
        for name, platforms in _by_name(targets).items():
            _extended(latest, name, platforms)
    by_name = _by_name(registry._load(path, namespace=namespace, replace=replace, stacklevel=stacklevel + 1))
    if not by_name:
        shown = os.fsencode(path).decode("utf-8", "replace")
        raise ValueError(
            f"{shown} declares no ops: its targets have no signatures. Registry.load registers them for programs"
        )
    ops: dict[str, Op] = {}
    for name, platforms in by_name.items():
        # Loading a library again returns the same ops, so that their users share JAX traces and compiled
        # programs.
        functions = tuple((platform, name, op.edition, *op.functions) for platform, op in sorted(platforms.items()))
        if (op := _extended(latest, name, platforms)) is not None:
            _extend(op, platforms)
        ops[name] = latest[name] = _OPS[functions] = op or _OPS.get(functions) or Op(platforms, ops)
    return {op._native.local_name: op for op in ops.values()}


def _by_name(targets: Iterable[_farcall.Target]) -> dict[str, dict[str, _farcall.Op]]:
    """Returns the ops among targets, by name and platform."""
    by_name: dict[str, dict[str, _farcall.Op]] = {}
    for target in targets:
        op = target.op()
        if op is not None:
            by_name.setdefault(op.name, {})[op.platform] = op
    return by_name


#: The ops of all libraries, which stay loaded, by name, edition and the addresses of their functions.
_OPS: dict[tuple[Any, ...], Op] = {}


#: The op of each name that was loaded last, by registry.
_LATEST: "weakref.WeakKeyDictionary[Registry, dict[str, Op]]" = weakref.WeakKeyDictionary()


def _extended(latest: dict[str, Op], name: str, platforms: dict[str, _farcall.Op]) -> Op | None:
    """Returns the op of another library that gets handlers for more platforms; `None` if there is no such op.

    Raises:
      ValueError: if the two libraries declare the op differently.
    """
    op = latest.get(name)
    if op is None or not op._platforms.keys().isdisjoint(platforms):
        return None
    native = next(iter(platforms.values()))
    for what, plural in (("signature", "signatures"), ("derivatives", "derivatives"), ("batching", "rules for vmap")):
        own, other = getattr(op._native, what), getattr(native, what)
        if own != other:
            raise ValueError(
                f"{name} has handlers for {', '.join(op._platforms)} in {op._native.file} and for {', '.join(platforms)} in "
                f"{native.file}, but their {plural} differ: {own} and {other}"
            )
    return op


def _extend(op: Op, platforms: dict[str, _farcall.Op]) -> None:
    """Adds the handlers of another library to an op. If XLA refuses them, the op stays as it is."""
    if (jax_ops := sys.modules.get("farcall._jax")) is not None:
        jax_ops.add_handlers(op, platforms)
    # With a handler for the host, the op also runs without JAX.
    op.__init__({**op._platforms, **platforms}, op._library)


def _op(path: str, name: str, namespace: str | None) -> Op:
    """Returns an op of a library's file, by its name without the namespace."""
    return load(path, namespace=namespace)[name]


def _stamp(path: str) -> tuple[int, ...]:
    """Returns values that change when a file changes."""
    stat = os.stat(path)
    return stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns


_UNTYPED = {"none", "index", *KINDS.values()}


def _typed(value: Any, name: str, what: str) -> Any:
    """Converts a value to an array of an element type that holds its kind of numbers."""
    return cast(value, name, what) if isinstance(value, (np.ndarray, np.generic)) else value.astype(dtype_of(name))


def _prefers_64_bits() -> bool:
    """Returns true if numbers have 64 bits, as configured in JAX; the default is 32 bits, as in JAX."""
    return _jax_option("jax_enable_x64")


def _jax_option(name: str) -> bool:
    """Returns the value of a boolean option of JAX; false if JAX is not imported."""
    jax = sys.modules.get("jax")
    return jax is not None and hasattr(jax, "config") and bool(getattr(jax.config, name, False))


def check_special(name: str, results: Iterable[np.ndarray]) -> None:
    """Checks the results of a call for NaN and infinity, if JAX's options request it.

    Raises:
      FloatingPointError: if there are such values, with JAX's message.
    """
    wanted = [("nan", np.isnan)] if _jax_option("jax_debug_nans") else []
    wanted += [("inf", np.isinf)] if _jax_option("jax_debug_infs") else []
    for what, is_special in wanted:
        for result in results:
            if is_inexact(result.dtype) and is_special(result).any():
                raise FloatingPointError(f"invalid value ({what}) encountered in {name}")


def _as_python(names: Iterable[str]) -> list[str]:
    """Returns the names, with `_` appended to keywords of Python."""
    names = list(names)
    for i, name in enumerate(names):
        while keyword.iskeyword(name) or (name != names[i] and name in names):
            name += "_"
        names[i] = name
    return names


def _is_for_jax(operands: list[Any], has_side_effect: bool) -> bool:
    """Returns true if JAX must make the call: if an operand is a JAX array, or while a function is traced.
    There is one exception: while a function is traced, a call on NumPy arrays runs immediately, and only
    once, in farcall's engine. Its operands are constants of the traced function. JAX still makes calls with a
    side effect, because the effect must occur in each run.
    """
    jax = sys.modules.get("jax")
    if jax is None or not hasattr(jax, "Array"):
        return False
    if any(isinstance(value, jax.Array) for value in operands):
        return True
    if not has_side_effect and any(isinstance(value, np.ndarray) for value in operands):
        return False
    try:
        from farcall import _jax
    except ImportError:  # this JAX is too old, so none of the operands is a JAX array
        return False
    return _jax.is_tracing()
