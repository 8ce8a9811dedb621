"""NumPy's element types for the engine's, and what is no array of exactly the right type as the engine's tensors.

The engine names element types like signatures do (`f32`, `bf16`, `pred`). NumPy has some of them,
the package `ml_dtypes` most others. Without it, such tensors are arrays of raw bits: `uint8` or `uint16`.
"""

import math
import sys
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from farcall import _farcall

try:
    import ml_dtypes
except ImportError:  # raw bits then
    ml_dtypes = None


#: Of each element type of the engine: what its numbers are, bytes of an element, the range of integers.
_ENGINE = {name: described for name, *described in _farcall.element_types()}


class TensorType(NamedTuple):
    """The type of an input or result: an element type and a shape."""

    name: str
    """Short name of the element type: `f32`, `bf16`, `pred`."""
    dtype: np.dtype
    """The type of the NumPy arrays that hold it."""
    shape: tuple[int | str, ...]
    """Sizes of the dimensions. Those of a `Polymorphic` may be expressions."""

    @property
    def size_in_bytes(self) -> int:
        """Bytes of an array of this type, whose sizes are numbers."""
        return math.prod(map(int, self.shape)) * self.dtype.itemsize

    def __str__(self) -> str:
        return f"{self.name}[{', '.join(map(str, self.shape))}]"


_NUMPY = {
    "pred": "bool",
    "s8": "int8",
    "s16": "int16",
    "s32": "int32",
    "s64": "int64",
    "u8": "uint8",
    "u16": "uint16",
    "u32": "uint32",
    "u64": "uint64",
    "f16": "float16",
    "f32": "float32",
    "f64": "float64",
    "c64": "complex64",
    "c128": "complex128",
}

_ML_DTYPES = {
    "s2": "int2",
    "s4": "int4",
    "u2": "uint2",
    "u4": "uint4",
    "bf16": "bfloat16",
    "f4e2m1fn": "float4_e2m1fn",
    "f6e2m3fn": "float6_e2m3fn",
    "f6e3m2fn": "float6_e3m2fn",
    "f8e3m4": "float8_e3m4",
    "f8e4m3": "float8_e4m3",
    "f8e4m3b11fnuz": "float8_e4m3b11fnuz",
    "f8e4m3fn": "float8_e4m3fn",
    "f8e4m3fnuz": "float8_e4m3fnuz",
    "f8e5m2": "float8_e5m2",
    "f8e5m2fnuz": "float8_e5m2fnuz",
    "f8e8m0fnu": "float8_e8m0fnu",
}


def _dtype(name: str) -> np.dtype:
    if name in _NUMPY:
        return np.dtype(_NUMPY[name])
    scalar = getattr(ml_dtypes, _ML_DTYPES[name], None)
    dtype: np.dtype = _bits(name) if scalar is None else np.dtype(scalar)
    return dtype


def _bits(name: str) -> np.dtype:
    """The type of the raw bits of an element type that NumPy does not have."""
    _, size, _ = _ENGINE[name]
    return np.dtype(f"uint{8 * size}")


_BY_NAME = {name: _dtype(name) for name in (*_NUMPY, *_ML_DTYPES)}
# Raw bits come first, so that NumPy's own types win.
_BY_DTYPE = {dtype: name for name, dtype in reversed(_BY_NAME.items())}
_farcall.set_dtypes(list(_BY_NAME.items()))


def tensor_type(name: str, shape: Sequence[int | str]) -> TensorType:
    """The type of a tensor as the engine describes it."""
    return TensorType(name, _BY_NAME[name], tuple(shape))


def to_engine(value: Any, wanted: TensorType | None, index: int) -> tuple[str, tuple[int, ...], np.ndarray]:
    """Element type, shape and bytes of an argument.

    An array keeps its element type, which the engine checks; but integers of NumPy's default type are converted to
    the integer type that the program expects, if possible. Python's numbers, and lists of them, are converted to the
    type that the program expects, if possible.
    """
    if wanted and type(value) is np.ndarray and value.dtype == wanted.dtype and value.flags.c_contiguous:
        return wanted.name, value.shape, value.reshape(-1).view(np.uint8)  # the usual case
    if hasattr(value, "dtype"):
        array = in_engine_order(np.asarray(value))
        if wanted is not None and array.dtype == np.int64 and _is_integer(wanted.name):
            array = cast(array, wanted.name, f"input {index}")
    else:
        array, kind = numbers(value, f"input {index}")
        if wanted is not None:
            if not _farcall.holds(wanted.name, kind):
                raise TypeError(f"input {index} holds {array.dtype} numbers, but must be {wanted}")
            array = cast(array, wanted.name, f"input {index}")
        array = in_engine_order(array)
    name = dtype_name(array.dtype)
    if wanted is not None and name != wanted.name:
        if wanted.name in _ML_DTYPES and array.dtype == _bits(wanted.name):
            name = wanted.name
        elif name is None:
            raise TypeError(f"input {index} is an array of {array.dtype}, but the program takes {wanted}")
    if name is None:
        raise TypeError(f"input {index} is an array of {array.dtype}, which is not a tensor element type")
    return name, array.shape, array.reshape(-1).view(np.uint8)


def in_engine_order(array: np.ndarray) -> np.ndarray:
    """The array as the engine reads it: row-major, in this machine's byte order."""
    return np.ascontiguousarray(array, array.dtype.newbyteorder("=")).reshape(array.shape)


def dtype_name(dtype: np.dtype) -> str | None:
    """The engine's name of an element type, if it has one."""
    return _BY_DTYPE.get(dtype)


def is_element_type(name: str) -> bool:
    """True if the engine has an element type of this name."""
    return name in _BY_NAME


def is_inexact(dtype: np.dtype) -> bool:
    """True for real and complex types, including types of `ml_dtypes`."""
    name = dtype_name(dtype)
    return name is not None and _ENGINE[name][0] in ("float", "complex")


def dtype_of(name: str) -> np.dtype:
    """The element type with this name in the engine."""
    return _BY_NAME[name]


#: What numbers without an element type are, by `numpy.dtype.kind`.
KINDS = {"b": "bool", "i": "int", "u": "int", "f": "float", "c": "complex"}


def numbers(value: Any, what: str) -> tuple[np.ndarray, str]:
    """Python's numbers, or lists of them, as an array, and their kind: `none`, `bool`, `int`, `float`, `complex`.

    Raises:
      TypeError: if they are not numbers.
      ValueError: if the lists differ in length.
    """
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise ValueError(f"{what}: {error}") from None
    if not array.size:
        return array, "none"
    kind = KINDS.get(array.dtype.kind)
    if kind is None and array.dtype == object and all(isinstance(x, (int, float)) for x in array.flat):
        # Integers that NumPy has no type for.
        kind = "int" if all(isinstance(x, int) for x in array.flat) else "float"
    if kind is None:
        raise TypeError(f"{what} holds {array.dtype} values, which are not numbers")
    return array, kind


def _is_integer(name: str) -> bool:
    return bool(_ENGINE[name][0] == "int")


def cast(array: np.ndarray, name: str, what: str) -> np.ndarray:
    """The array converted to an element type that holds numbers of its kind, rounded if necessary.

    Raises:
      ValueError: if a number is out of range.
    """
    dtype = _BY_NAME[name]
    if array.dtype == dtype:
        return array
    if name in _ML_DTYPES and dtype == _bits(name):
        raise TypeError(f"{what}: numbers become {name} with the package ml_dtypes")
    low, high = _range(name)
    wrong = (array < low) | (array > high) if low < high else np.zeros(array.shape, bool)
    if not wrong.any():
        try:
            with np.errstate(all="ignore"):
                converted = array.astype(dtype)
                if not _is_integer(name):
                    wrong = np.isfinite(array.astype(complex)) & ~np.isfinite(converted.astype(complex))
        except OverflowError:  # an integer without a type of NumPy's
            wrong = np.vectorize(lambda x: abs(x) > sys.float_info.max, [bool])(array)
        if not wrong.any():
            return converted
    at = tuple(int(i) for i in np.argwhere(wrong)[0])
    place = f" at {list(at)}" if at else ""
    raise ValueError(f"{what} holds {array[at]}{place}, which is out of range for {name}")


def _range(name: str) -> tuple[float, float]:
    """The smallest and largest number of an integer type, or of a float type without infinity and NaN, in which an
    overflow would not show; otherwise an empty range."""
    _, _, integers = _ENGINE[name]
    if integers is not None:
        return integers
    if name.startswith(("f4", "f6")):
        info = ml_dtypes.finfo(_BY_NAME[name])
        return float(info.min), float(info.max)
    return 0, 0
