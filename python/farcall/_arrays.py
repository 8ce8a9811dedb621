"""NumPy's types for the engine's element types, and conversion of inputs that are not arrays of exactly the
right type.

The engine's names of element types are the names in signatures (`f32`, `bf16`, `pred`). NumPy has some of
these types, and the package `ml_dtypes` most others. Without `ml_dtypes`, tensors of its types are arrays of
raw bits: `uint8` or `uint16`.
"""

import math
import sys
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from farcall import _farcall

try:
    import ml_dtypes
except ImportError:  # fall back to raw bits
    ml_dtypes = None


#: For each element type of the engine: the kind of its numbers, the bytes of an element, and the smallest and
#: largest number of an integer type.
_ENGINE = {name: described for name, *described in _farcall.element_types()}


class TensorType(NamedTuple):
    """The type of an input or result: an element type and a shape."""

    name: str
    """Short name of the element type: `f32`, `bf16`, `pred`."""
    dtype: np.dtype
    """Type of the NumPy arrays that hold the elements."""
    shape: tuple[int | str, ...]
    """Sizes of the dimensions. Sizes of a `Polymorphic` may be expressions."""

    @property
    def size_in_bytes(self) -> int:
        """Size in bytes of an array of this type. All sizes must be numbers."""
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
    """Returns the type for the raw bits of an element type that NumPy lacks."""
    _, size, _ = _ENGINE[name]
    return np.dtype(f"uint{8 * size}")


_BY_NAME = {name: _dtype(name) for name in (*_NUMPY, *_ML_DTYPES)}
# Raw bits come first, so that NumPy's own types take precedence.
_BY_DTYPE = {dtype: name for name, dtype in reversed(_BY_NAME.items())}
_farcall.set_dtypes(list(_BY_NAME.items()))


def tensor_type(name: str, shape: Sequence[int | str]) -> TensorType:
    """Returns the type of a tensor from the engine's description."""
    return TensorType(name, _BY_NAME[name], tuple(shape))


def to_engine(value: Any, wanted: TensorType | None, index: int) -> tuple[str, tuple[int, ...], np.ndarray]:
    """Returns the element type, shape and bytes of an argument.

    An array keeps its element type, which the engine checks. Integers of NumPy's default type are converted
    to the integer type that the program expects, if possible. Python numbers, and lists of numbers, are
    converted to the type that the program expects, if possible.
    """
    if wanted and type(value) is np.ndarray and value.dtype == wanted.dtype and value.flags.c_contiguous:
        return wanted.name, value.shape, value.reshape(-1).view(np.uint8)  # the common case
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
    """Returns the array in the engine's format: row-major, in the machine's byte order."""
    return np.ascontiguousarray(array, array.dtype.newbyteorder("=")).reshape(array.shape)


def dtype_name(dtype: np.dtype) -> str | None:
    """Returns the engine's name of an element type, if the engine has the type."""
    return _BY_DTYPE.get(dtype)


def is_element_type(name: str) -> bool:
    """Returns true if the engine has an element type of this name."""
    return name in _BY_NAME


def is_inexact(dtype: np.dtype) -> bool:
    """Returns true for real and complex types, including types of `ml_dtypes`."""
    name = dtype_name(dtype)
    return name is not None and _ENGINE[name][0] in ("float", "complex")


def is_number(dtype: np.dtype) -> bool:
    """Returns true for integer, real and complex types, including types of `ml_dtypes`."""
    name = dtype_name(dtype)
    return name is not None and _ENGINE[name][0] in ("int", "float", "complex")


def dtype_of(name: str) -> np.dtype:
    """Returns the NumPy type of the engine's element type with this name."""
    return _BY_NAME[name]


#: Kinds of numbers without an element type, by `numpy.dtype.kind`.
KINDS = {"b": "bool", "i": "int", "u": "int", "f": "float", "c": "complex"}


def numbers(value: Any, what: str) -> tuple[np.ndarray, str]:
    """Converts Python numbers, or lists of numbers, to an array. Returns the array and the kind of the
    numbers: `none`, `bool`, `int`, `float`, `complex`.

    Raises:
      TypeError: if the values are not numbers.
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
        # Integers that do not fit any NumPy type.
        kind = "int" if all(isinstance(x, int) for x in array.flat) else "float"
    if kind is None:
        raise TypeError(f"{what} holds {array.dtype} values, which are not numbers")
    return array, kind


def _is_integer(name: str) -> bool:
    return bool(_ENGINE[name][0] == "int")


def cast(array: np.ndarray, name: str, what: str) -> np.ndarray:
    """Converts an array to an element type that holds numbers of its kind, rounding if necessary.

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
        except OverflowError:  # an integer that does not fit any NumPy type
            wrong = np.vectorize(lambda x: abs(x) > sys.float_info.max, [bool])(array)
        if not wrong.any():
            return converted
    at = tuple(int(i) for i in np.argwhere(wrong)[0])
    place = f" at {list(at)}" if at else ""
    raise ValueError(f"{what} holds {array[at]}{place}, which is out of range for {name}")


def _range(name: str) -> tuple[float, float]:
    """Returns the smallest and largest number of an integer type, or of a float type without infinity and
    NaN, in which an overflow would go unnoticed; otherwise an empty range."""
    _, _, integers = _ENGINE[name]
    if integers is not None:
        return integers
    if name.startswith(("f4", "f6")):
        info = ml_dtypes.finfo(_BY_NAME[name])
        return float(info.min), float(info.max)
    return 0, 0
