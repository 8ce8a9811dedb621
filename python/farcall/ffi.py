"""Calls of targets by name with the interface of `jax.ffi`: `import farcall.ffi as ffi` replaces `import
jax.ffi as ffi`.

The arrays of a call determine where it runs: NumPy arrays in farcall's own engine, JAX arrays and tracers in
JAX, through `jax.ffi.ffi_call`. A target that is registered here is registered for both. Names of `jax.ffi`
that this module does not define are taken from JAX. Only these names and JAX arrays need JAX.
"""

import functools
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from farcall import _farcall
from farcall._arrays import dtype_name, in_engine_order, to_engine
from farcall._engine import Registry
from farcall._engine import register_type as _register_type
from farcall._handlers import Handler, address_of
from farcall._ops import _is_for_jax, check_special

__all__ = ["ffi_call", "include_dir", "pycapsule", "register_ffi_target", "register_ffi_type"]

#: Registrations for JAX that are pending because JAX has not been imported yet. Each is a function that takes
#: the module `jax.ffi`.
_for_jax: list[Callable[[Any], None]] = []


def __getattr__(name: str) -> Any:
    """Returns names that only JAX defines, such as `ffi_lowering` and
    `register_ffi_target_as_batch_partitionable`."""
    if name.startswith("_"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import jax.ffi

    _tell_jax()
    return getattr(jax.ffi, name)


def register_ffi_target(name: str, fn: Any, platform: str = "cpu", api_version: int = 1, **kwargs: Any) -> None:
    """Registers a target with farcall's process-wide registry, and with JAX once JAX is imported.

    Args:
      name: the name that calls use.
      fn: a capsule, a dictionary of capsules by stage, or a `farcall.Handler`.
      platform: platform of the handler. farcall's engine only calls targets of `"cpu"`.
      api_version: 1 for XLA's typed FFI, 0 for the older C functions.
      kwargs: other arguments of `jax.ffi.register_ffi_target` (`traits`); farcall only uses `traits`.

    Raises:
      ValueError: if other functions have the same name, or the handler is rejected.
      TypeError: if `fn` contains no capsules.
    """
    fn = fn.capsule if isinstance(fn, Handler) else fn
    Registry.process().register(name, fn, platform, api_version, int(kwargs.get("traits", 0)))
    _tell_jax(lambda ffi: ffi.register_ffi_target(name, fn, platform, api_version, **kwargs))


def register_ffi_type(name: str, type_registration: Mapping[str, Any], platform: str = "cpu") -> None:
    """Registers a type of handler state with farcall, and with JAX once JAX is imported.

    Hosts assign numeric ids to types. A type gets its id from farcall, unless it already has one, and JAX
    receives the same id.

    Args:
      name: the type's name.
      type_registration: capsules by name: `"type_id"`, and the optional `"type_info"`.
      platform: the platform, for JAX.

    Raises:
      ValueError: if the type's registration is invalid.
    """
    _register_type(name, type_registration)
    _tell_jax(lambda ffi: ffi.register_ffi_type(name, dict(type_registration), platform))


def pycapsule(funcptr: Any) -> Any:
    """Returns a capsule of a C function: `pycapsule(ctypes.CDLL("libops.so").RmsNorm)`. Keep the library
    open.

    Raises:
      TypeError: if `funcptr` is neither a function of ctypes nor an address.
      ValueError: if `funcptr` is null.
    """
    return _farcall.capsule(address_of(funcptr))


def include_dir() -> str:
    """Returns the folder of XLA's headers, which jaxlib contains.

    Raises:
      ImportError: if jaxlib is not installed.
    """
    import jaxlib

    return os.path.join(next(iter(jaxlib.__path__)), "include")


#: Default of an argument that must be given under one of two names.
_missing = object()


def ffi_call(
    target_name: str,
    result_shape_dtypes: Any = _missing,
    *deprecated_args: Any,
    has_side_effect: bool = False,
    vmap_method: str | None = None,
    input_layouts: Sequence[Any] | None = None,
    output_layouts: Any = None,
    input_output_aliases: Mapping[int, int] | None = None,
    custom_call_api_version: int = 4,
    legacy_backend_config: str | None = None,
    result_shape: Any = None,
    **deprecated_attributes: Any,
) -> Any:
    """Returns a function that calls a target, like `jax.ffi.ffi_call`: `ffi_call("scale", x)(x,
    factor=np.float32(2))`.

    The function takes arrays by position and attributes by name. With JAX arrays, or under a transformation
    of JAX, it is `jax.ffi.ffi_call`. Otherwise the call runs immediately in farcall's engine, on targets of
    the registry of the process, and the results are NumPy arrays.

    The type of an attribute is the type of its value: NumPy scalars and arrays keep their types, Python
    integers are `int64`, Python floats `float64`.

    Args:
      target_name: the target's name.
      result_shape_dtypes: an object with `shape` and `dtype`, or a sequence of such objects if there are
        several results.
      has_side_effect: the call runs even if its results are unused.
      vmap_method: the way in which `jax.vmap` batches the call, as in `jax.ffi.ffi_call`.
      input_layouts: for each operand, `None` (row-major) or its dimensions from the slowest in memory to the
        fastest.
      output_layouts: layouts of the results; a single layout if `result_shape_dtypes` is a single object.
      input_output_aliases: results that share the memory of operands: operand indices mapped to result
        indices.
      custom_call_api_version: 4 for the typed FFI; 1 to 3 for the older C functions.
      legacy_backend_config: the string that is passed to the older C functions.
      result_shape: `result_shape_dtypes` under its name in older versions of `jax.extend.ffi`.
      deprecated_args, deprecated_attributes: arguments in the form of the old `jax.extend.ffi.ffi_call`: if
        any are given, the call is made immediately, and its results are returned.

    Raises:
      ValueError: if layouts, aliases or the configuration are invalid; raised by the call if they depend on
        its arrays.
      TypeError: if `result_shape_dtypes` is missing; raised by the function for arrays or attributes of
        unsupported types.
    """
    if result_shape is not None:
        if result_shape_dtypes is not _missing:
            raise TypeError("ffi_call got both result_shape_dtypes and result_shape, which are the same")
        result_shape_dtypes = result_shape
    if result_shape_dtypes is _missing:
        raise TypeError(
            f"ffi_call({target_name!r}) needs result_shape_dtypes: an object with the shape and the dtype of the result, a sequence of "
            "such objects for several results, or () for no results"
        )
    call = _Call(
        target_name,
        result_shape_dtypes,
        has_side_effect,
        vmap_method,
        input_layouts,
        output_layouts,
        input_output_aliases,
        custom_call_api_version,
        legacy_backend_config,
    )
    return call(*deprecated_args, **deprecated_attributes) if deprecated_args or deprecated_attributes else call


class _Call:
    """The function returned by `ffi_call`."""

    def __init__(
        self,
        target: str,
        result_shape_dtypes: Any,
        has_side_effect: bool,
        vmap_method: str | None,
        input_layouts: Sequence[Any] | None,
        output_layouts: Any,
        aliases: Mapping[int, int] | None,
        api_version: int,
        legacy_backend_config: str | None,
    ) -> None:
        if vmap_method not in _VMAP_METHODS:
            raise ValueError(f"vmap_method is one of {', '.join(map(repr, _VMAP_METHODS))}, not {vmap_method!r}")
        if api_version >= 4 and legacy_backend_config is not None:
            raise ValueError(
                "legacy_backend_config is for targets of the older interface, custom_call_api_version < 4; "
                f"this call has custom_call_api_version={api_version}"
            )
        self._target = target
        self._result_shape_dtypes = result_shape_dtypes
        self._is_list = isinstance(result_shape_dtypes, Sequence)
        self._results = result_shape_dtypes if self._is_list else (result_shape_dtypes,)
        self._has_side_effect = has_side_effect
        self._vmap_method = vmap_method
        self._input_layouts = input_layouts
        self._output_layouts = output_layouts
        self._aliases = aliases
        self._api_version = api_version
        self._opaque = legacy_backend_config

    def __call__(self, *args: Any, **attributes: Any) -> Any:
        if attributes and self._api_version < 4:
            raise ValueError(
                "attributes are for targets of the typed FFI, custom_call_api_version=4; this call has "
                f"custom_call_api_version={self._api_version}"
            )
        if _is_for_jax(list(args), self._has_side_effect):
            return self._in_jax(args, attributes)
        return self._in_engine(args, attributes)

    def _in_jax(self, args: Sequence[Any], attributes: dict[str, Any]) -> Any:
        import jax

        _tell_jax()
        call = jax.ffi.ffi_call(
            self._target,
            self._result_shape_dtypes,
            has_side_effect=self._has_side_effect,
            vmap_method=self._vmap_method,
            input_layouts=self._input_layouts,
            output_layouts=self._output_layouts,
            input_output_aliases=None if self._aliases is None else dict(self._aliases),
            custom_call_api_version=self._api_version,
            legacy_backend_config=self._opaque,
        )
        return call(*args, **attributes)

    def _in_engine(self, args: Sequence[Any], attributes: dict[str, Any]) -> Any:
        given = [to_engine(_array(value), None, i) for i, value in enumerate(args)]
        operands = tuple((name, tuple(shape)) for name, shape, _ in given)
        results = tuple(map(self._result_type, range(len(self._results))))
        signature = _Signature(
            self._target,
            operands,
            results,
            None if self._api_version < 4 else _attributes(attributes),
            None if self._opaque is None else self._opaque.encode(),
            self._api_version,
            self._has_side_effect,
            self._layouts("input", self._input_layouts, [shape for _, shape in operands]),
            self._layouts("output", self._outputs_in_list(), [shape for _, shape in results]),
            self._checked_aliases(operands, results),
        )
        registry = _process_registry()
        arrays = _compiled(signature, registry, registry.identity(self._target)).run(given)
        check_special(self._target, arrays)
        if not self._is_list:
            return arrays[0]
        return tuple(arrays) if isinstance(self._result_shape_dtypes, tuple) else arrays

    def _result_type(self, i: int) -> "_Type":
        result = self._results[i]
        if not (hasattr(result, "shape") and hasattr(result, "dtype")):
            raise ValueError(
                f"All elements of result_shape_dtypes must have a shape and a dtype, but the one at position {i} is {result!r}"
            )
        name = dtype_name(np.dtype(result.dtype))
        if name is None:
            raise TypeError(f"{self._target}: result {i} is an array of {result.dtype}, which is not a tensor element type")
        return name, tuple(int(size) for size in result.shape)

    def _outputs_in_list(self) -> Sequence[Any] | None:
        if self._is_list or self._output_layouts is None:
            layouts: Sequence[Any] | None = self._output_layouts
            return layouts
        return (self._output_layouts,)

    def _layouts(self, what: str, layouts: Sequence[Any] | None, shapes: Sequence[Sequence[int]]) -> "_Layouts":
        """Converts layouts to XLA's order: dimensions from the fastest in memory to the slowest."""
        given: Sequence[Any] = [None] * len(shapes) if layouts is None else layouts
        if len(given) != len(shapes):
            raise ValueError(f"{self._target}: {_counted(len(shapes), what)}, but {_counted(len(given), what + ' layout')}")
        made = []
        for i, (layout, shape) in enumerate(zip(given, shapes)):
            if getattr(layout, "tiling", None) is not None:
                raise ValueError(f"{self._target}: the layout of {what} {i} has tiles, which the FFI does not support")
            order = tuple(getattr(layout, "major_to_minor", range(len(shape)) if layout is None else layout))
            if sorted(order) != list(range(len(shape))):
                raise ValueError(
                    f"{self._target}: the layout of {what} {i} is {order}, not an order of its {len(shape)} dimensions"
                )
            made.append(order[::-1])
        return tuple(made)

    def _checked_aliases(self, operands: Sequence["_Type"], results: Sequence["_Type"]) -> tuple[tuple[int, int], ...]:
        """Returns pairs of a result and an operand."""
        pairs = []
        for operand, result in sorted((int(i), int(o)) for i, o in (self._aliases or {}).items()):
            alias = f"{self._target}: input_output_aliases has {operand}: {result}, "
            if not 0 <= operand < len(operands):
                raise ValueError(f"{alias}with input index {operand} of {_counted(len(operands), 'input')}")
            if not 0 <= result < len(results):
                raise ValueError(f"{alias}with output index {result} of {_counted(len(results), 'output')}")
            if operands[operand] != results[result]:
                raise ValueError(
                    f"{alias}referring to an input of {_shown(operands[operand])} and an output of {_shown(results[result])}"
                )
            pairs.append((result, operand))
        return tuple(pairs)


_VMAP_METHODS = (None, "sequential", "sequential_unrolled", "expand_dims", "broadcast_all", "legacy_vectorized")

#: Name of the element type, and shape.
_Type = tuple[str, tuple[int, ...]]
_Layouts = tuple[tuple[int, ...], ...]


class _Signature(NamedTuple):
    """Everything that determines a program of one call."""

    target: str
    operands: tuple[_Type, ...]
    results: tuple[_Type, ...]
    attributes: _farcall.Attributes | None
    opaque: bytes | None
    api_version: int
    has_side_effect: bool
    operand_layouts: _Layouts
    result_layouts: _Layouts
    aliases: tuple[tuple[int, int], ...]


_process_registry = functools.cache(_farcall.Registry.process)


@functools.lru_cache(maxsize=256)
def _compiled(call: _Signature, registry: _farcall.Registry, target: int) -> _farcall.Executable:
    """Compiles the program of one call. `target` distinguishes targets that replaced each other under one
    name."""
    del target
    return _farcall.compile_call(**call._asdict(), registry=registry)


def _counted(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"


def _shown(ty: _Type) -> str:
    name, shape = ty
    return f"{name}[{', '.join(map(str, shape))}]"


def _array(value: Any) -> np.ndarray:
    """Returns the operand as an array. Without an element type, it gets JAX's default 32-bit type."""
    if hasattr(value, "dtype"):
        return np.asarray(value)
    array = np.asarray(value)
    narrow = {np.dtype(np.int64): np.int32, np.dtype(np.float64): np.float32, np.dtype(np.complex128): np.complex64}
    return array.astype(narrow.get(array.dtype, array.dtype))


def _attributes(attributes: Mapping[str, Any]) -> _farcall.Attributes:
    return _farcall.exact_attributes([(name, _attribute(name, value)) for name, value in sorted(attributes.items())])


def _attribute(name: str, value: Any) -> Any:
    """Converts an attribute for the native module: values with a NumPy type become tuples."""
    if isinstance(value, Mapping):
        return {key: _attribute(f"{name}.{key}", entry) for key, entry in value.items()}
    if isinstance(value, tuple):
        return list(value)
    if isinstance(value, (np.ndarray, np.generic)):
        array = in_engine_order(np.asarray(value))
        dtype = dtype_name(array.dtype)
        if dtype is None:
            raise TypeError(f"attribute {name} is of type {array.dtype}, which no attribute has")
        return dtype, array.tobytes(), isinstance(value, np.generic)
    return value


def _tell_jax(registration: Callable[[Any], None] | None = None) -> None:
    """Performs a registration, and the pending ones, with JAX if JAX is imported."""
    if registration is not None:
        _for_jax.append(registration)
    jax = sys.modules.get("jax")
    if jax is None or not hasattr(jax, "Array"):
        return
    import jax.ffi

    while _for_jax:
        _for_jax.pop(0)(jax.ffi)
