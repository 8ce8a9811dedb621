"""XLA's shapes: an element type with dimensions and a layout, a tuple of shapes, a token, or an opaque
value."""

import enum
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from farcall.xla_client._errors import XlaRuntimeError
from farcall.xla_client._farcall_internals import dtype_name, dtype_of, is_element_type
from farcall.xla_client._layouts import COMBINED, NUMBERS, Layout
from farcall.xla_client._protobuf import field, message, packed


class PrimitiveType(enum.IntEnum):
    """Kind of a shape: an element type, `TUPLE`, `TOKEN` or `OPAQUE_TYPE`, with XLA's numbers."""

    PRIMITIVE_TYPE_INVALID = 0
    PRED = 1
    S2 = 26
    S4 = 21
    S8 = 2
    S16 = 3
    S32 = 4
    S64 = 5
    U2 = 27
    U4 = 22
    U8 = 6
    U16 = 7
    U32 = 8
    U64 = 9
    F16 = 10
    F4E2M1FN = 32
    F8E3M4 = 29
    F8E4M3 = 28
    F8E4M3FN = 20
    F8E4M3B11FNUZ = 23
    F8E4M3FNUZ = 25
    F8E5M2 = 19
    F8E5M2FNUZ = 24
    F8E8M0FNU = 33
    BF16 = 16
    F32 = 11
    F64 = 12
    C64 = 15
    C128 = 18
    TUPLE = 13
    OPAQUE_TYPE = 14
    TOKEN = 17

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        return f"PrimitiveType.{self.name}"


#: Element types by their names in HLO text, which are also the engine's names.
_BY_NAME = {member.name.lower(): member for member in PrimitiveType if is_element_type(member.name.lower())}

#: Kinds without dimensions, by their names in HLO text.
_WITHOUT_DIMENSIONS = {"token": PrimitiveType.TOKEN, "opaque": PrimitiveType.OPAQUE_TYPE}

#: Kinds that are element types.
ELEMENT_TYPES = tuple(_BY_NAME.values())


def primitive_type(element_type: Any) -> PrimitiveType:
    """Converts an element type, a NumPy `dtype`, or a value that converts to a `dtype`.

    Raises:
      TypeError: if XLA has no such element type.
    """
    if isinstance(element_type, PrimitiveType):
        if element_type.name.lower() not in _BY_NAME:
            raise TypeError(f"{element_type} is not an element type")
        return element_type
    name = dtype_name(np.dtype(element_type))
    if name is None:
        raise TypeError(f"there is no element type for NumPy's {np.dtype(element_type)}")
    return _BY_NAME[name]


class Shape:
    """An array's element type, dimensions and layout; or a tuple of shapes; or a token, or an opaque value.
    `Shape("f32[2,3]{1,0}")` parses a shape.

    Raises:
      XlaRuntimeError: if the text is not a shape.
    """

    def __init__(self, text: str) -> None:
        parsed = _Parser(text).whole()
        self._type, self._dims, self._layout, self._parts, self._dynamic = (
            parsed._type,
            parsed._dims,
            parsed._layout,
            parsed._parts,
            parsed._dynamic,
        )

    @staticmethod
    def _make(
        kind: PrimitiveType,
        dims: Sequence[int] = (),
        layout: Layout | None = None,
        parts: "Sequence[Shape]" = (),
        dynamic: Sequence[bool] = (),
    ) -> "Shape":
        shape = Shape.__new__(Shape)
        shape._type, shape._dims, shape._layout, shape._parts = kind, tuple(dims), layout, tuple(parts)
        shape._dynamic = tuple(dynamic) or (False,) * len(shape._dims)
        return shape

    @staticmethod
    def array_shape(
        type: Any,
        dims: Sequence[int],
        layout: Sequence[int] | None = None,
        dynamic_dimensions: Sequence[bool] | None = None,
    ) -> "Shape":
        """Returns the shape of an array.

        Args:
          type: a `PrimitiveType` or a NumPy `dtype`.
          dims: sizes.
          layout: the dimensions from the fastest-varying in memory to the slowest (minor to major); row-major
            by default.
          dynamic_dimensions: for each dimension, true if its size is only a bound.

        Raises:
          TypeError: if the element type is unknown.
          XlaRuntimeError: if a size is negative, or the layout does not name each dimension once.
        """
        kind = primitive_type(type)
        sizes = [int(size) for size in dims]
        for size in sizes:
            if size < 0:
                raise XlaRuntimeError(f"INVALID_ARGUMENT: Invalid dimension size {size}")
        order = list(range(len(sizes)))[::-1] if layout is None else [int(dim) for dim in layout]
        shape = f"{kind.name.lower()}[{','.join(map(str, sizes))}]"
        if sorted(order) != list(range(len(sizes))):
            raise XlaRuntimeError(
                f"INVALID_ARGUMENT: the layout {order} does not name each of the {len(sizes)} dimensions once; shape: {shape}"
            )
        if dynamic_dimensions is not None and len(dynamic_dimensions) not in (0, len(sizes)):
            raise XlaRuntimeError(
                f"INVALID_ARGUMENT: {len(dynamic_dimensions)} dynamic_dimensions for {len(sizes)} dimensions; shape: {shape}"
            )
        return Shape._make(kind, sizes, Layout(order), dynamic=dynamic_dimensions or ())

    @staticmethod
    def tuple_shape(shapes: "Sequence[Shape]") -> "Shape":
        """Returns the shape of a tuple."""
        for shape in shapes:
            if not isinstance(shape, Shape):
                raise TypeError(f"a tuple shape is made of shapes, not {shape!r}")
        return Shape._make(PrimitiveType.TUPLE, parts=shapes)

    @staticmethod
    def scalar_shape(type: Any) -> "Shape":
        """Returns the shape of an array without dimensions."""
        return Shape.array_shape(type, ())

    @staticmethod
    def token_shape() -> "Shape":
        """Returns the shape of a token."""
        return Shape._make(PrimitiveType.TOKEN)

    @staticmethod
    def from_pyval(value: Any) -> "Shape":
        """Returns the shape of a NumPy array, or of a tuple of such values."""
        if isinstance(value, tuple):
            return Shape.tuple_shape([Shape.from_pyval(part) for part in value])
        array = np.asarray(value)
        return Shape.array_shape(array.dtype, array.shape)

    def is_array(self) -> bool:
        """Returns true for a shape with an element type."""
        return self._type.name.lower() in _BY_NAME

    def is_tuple(self) -> bool:
        """Returns true for a tuple."""
        return self._type is PrimitiveType.TUPLE

    def is_token(self) -> bool:
        """Returns true for a token."""
        return self._type is PrimitiveType.TOKEN

    def xla_element_type(self) -> PrimitiveType:
        """Returns the element type, `TUPLE`, `TOKEN` or `OPAQUE_TYPE`."""
        return self._type

    def element_type(self) -> np.dtype:
        """Returns the element type of an array as a NumPy type.

        Raises:
          XlaRuntimeError: if this is not an array.
        """
        return dtype_of(self._array("element_type")._type.name.lower())

    def numpy_dtype(self) -> np.dtype:
        """Like `element_type`, but `dtype('O')` for tuples."""
        return np.dtype(object) if self.is_tuple() else self.element_type()

    def dimensions(self) -> tuple[int, ...]:
        """Returns the sizes of an array.

        Raises:
          XlaRuntimeError: if this is not an array.
        """
        return self._array("dimensions")._dims

    def rank(self) -> int:
        """Returns the number of an array's dimensions."""
        return len(self._array("rank")._dims)

    def layout(self) -> Layout:
        """Returns the layout of an array."""
        found = self._array("layout")._layout
        assert found is not None
        return found

    def tuple_shapes(self) -> "list[Shape]":
        """Returns the shapes of a tuple's parts.

        Raises:
          XlaRuntimeError: if this is not a tuple.
        """
        if not self.is_tuple():
            raise XlaRuntimeError(f"INVALID_ARGUMENT: tuple_shapes() is for tuples, not for {self}")
        return list(self._parts)

    def leaf_count(self) -> int:
        """Returns the number of arrays, tokens and opaque values in the shape."""
        return len(self._leaves())

    def _leaves(self) -> "list[Shape]":
        """Returns the parts that are not tuples, recursively."""
        return [leaf for part in self._parts for leaf in part._leaves()] if self.is_tuple() else [self]

    def is_static(self) -> bool:
        """Returns true if all sizes are known."""
        return not self.is_dynamic()

    def is_dynamic(self) -> bool:
        """Returns true if the size of a dimension is only a bound."""
        return any(self._dynamic) or any(part.is_dynamic() for part in self._parts)

    def is_dynamic_dimension(self, dimension: int) -> bool:
        """Returns true if the size of this dimension is only a bound."""
        return self._array("is_dynamic_dimension")._dynamic[dimension]

    def set_dynamic_dimension(self, dimension: int, is_dynamic: bool) -> None:
        """Sets whether the size of a dimension is only a bound."""
        flags = list(self._array("set_dynamic_dimension")._dynamic)
        flags[dimension] = bool(is_dynamic)
        self._dynamic = tuple(flags)

    def with_major_to_minor_layout_if_absent(self) -> "Shape":
        """Returns a copy in which arrays without a layout get a row-major layout."""
        return Shape._make(self._type, self._dims, self._layout, self._parts, self._dynamic)

    def to_serialized_proto(self) -> bytes:
        """Returns the shape as a `ShapeProto`."""
        proto = field(2, int(self._type))
        if self.is_array():
            proto += packed(3, self._dims) + message(5, self.layout()._proto()) + packed(6, map(int, self._dynamic))
        return proto + b"".join(message(4, part.to_serialized_proto()) for part in self._parts)

    def _array(self, what: str) -> "Shape":
        if not self.is_array():
            raise XlaRuntimeError(f"INVALID_ARGUMENT: {what}() is for arrays, not for {self}")
        return self

    def _text(self, *, layouts: bool) -> str:
        """Returns the shape as in HLO text."""
        if self.is_tuple():
            return f"({', '.join(part._text(layouts=layouts) for part in self._parts)})"
        if not self.is_array():
            return f"{next(name for name, kind in _WITHOUT_DIMENSIONS.items() if kind is self._type)}[]"
        sizes = (f"<={size}" if dynamic else str(size) for size, dynamic in zip(self._dims, self._dynamic))
        layout = str(self._layout) if layouts and (self._dims or not self.layout()._is_order_only()) else ""
        return f"{self._type.name.lower()}[{','.join(sizes)}]{layout}"

    def __repr__(self) -> str:
        return self._text(layouts=True)

    def _key(self) -> tuple[Any, ...]:
        return self._type, self._dims, self._layout, self._parts, self._dynamic

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Shape) and self._key() == other._key()

    def __hash__(self) -> int:
        # The hash excludes the flags that `set_dynamic_dimension` changes.
        return hash(self._key()[:-1])


class ProgramShape:
    """Shapes of a computation's parameters and of its result."""

    def __init__(self, parameter_shapes: Sequence[Shape], result_shape: Shape) -> None:
        self._parameters, self._result = list(parameter_shapes), result_shape

    def parameter_shapes(self) -> list[Shape]:
        """Returns the shapes of the parameters."""
        return list(self._parameters)

    def result_shape(self) -> Shape:
        """Returns the shape of the result."""
        return self._result

    def __repr__(self) -> str:
        parameters = ", ".join(f"p{i}: {shape._text(layouts=False)}" for i, shape in enumerate(self._parameters))
        return f"({parameters}) -> {self._result._text(layouts=False)}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ProgramShape) and repr(self) == repr(other)

    def __hash__(self) -> int:
        return hash(repr(self))


class ShapeIndex:
    """Position of a part in nested tuples."""

    def __init__(self, indices: Sequence[int]) -> None:
        self._indices = tuple(int(i) for i in indices)

    def __iter__(self) -> Any:
        return iter(self._indices)

    def __repr__(self) -> str:
        return f"{{{','.join(map(str, self._indices))}}}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ShapeIndex) and self._indices == other._indices

    def __hash__(self) -> int:
        return hash(self._indices)


def shape_of_type(ty: tuple[str, Sequence[int]] | None) -> Shape:
    """Returns the shape of a tensor from the engine's description, or of a token (`None`)."""
    return Shape.token_shape() if ty is None else Shape.array_shape(_BY_NAME[ty[0]], ty[1])


def shape_from_pyval(pyval: Any, layout: Sequence[int] | None = None) -> Shape:
    """Returns the shape of a NumPy array, or of a tuple of such values; an array may have a layout (minor to
    major)."""
    if layout is None:
        return Shape.from_pyval(pyval)
    array = np.asarray(pyval)
    return Shape.array_shape(array.dtype, array.shape, layout)


#: Parts of layouts that are not supported.
_OTHER_PARTS = {
    "D": "levels of dimensions, which are not supported",
    "#": "a type of indices, which is not supported",
    "*": "a type of pointers, which is not supported",
    "SC": "split configurations, which are not supported",
    "P": "a physical shape, which is not supported",
}


class _Parser:
    """Parser for shapes in HLO text."""

    _TOKEN = re.compile(r"\s*(<=|[A-Za-z_]\w*|\d+|.)", re.DOTALL)

    def __init__(self, text: str) -> None:
        if not isinstance(text, str):
            raise TypeError(f"a shape is parsed from a string, not from {text!r}")
        self._text = text
        self._tokens = [(match.group(1), match.start(1)) for match in self._TOKEN.finditer(text.rstrip())]
        self._next = 0

    def whole(self) -> Shape:
        shape = self._shape()
        if self._next < len(self._tokens):
            raise self._wrong("the end")
        return shape

    def _peek(self) -> str:
        return self._tokens[self._next][0] if self._next < len(self._tokens) else ""

    def _eat(self, token: str) -> bool:
        found = self._peek() == token
        self._next += found
        return found

    def _expect(self, token: str) -> None:
        if not self._eat(token):
            raise self._wrong(f"`{token}`")

    def _wrong(self, expected: str) -> XlaRuntimeError:
        at = self._tokens[self._next][1] if self._next < len(self._tokens) else len(self._text)
        return XlaRuntimeError(
            f"INVALID_ARGUMENT: expected {expected} in the shape\n  {self._text}\n  {' ' * at}^"
        )

    def _list(self, end: str, item: Callable[[], Any]) -> list[Any]:
        items: list[Any] = []
        while not self._eat(end):
            if items:
                self._expect(",")
            items.append(item())
        return items

    def _shape(self) -> Shape:
        if self._eat("("):
            return Shape.tuple_shape(self._list(")", self._shape))
        name = self._peek()
        if name not in _BY_NAME and name not in _WITHOUT_DIMENSIONS:
            raise self._wrong("an element type, such as `f32`,")
        self._next += 1
        if name in _WITHOUT_DIMENSIONS:
            self._expect("[")
            self._expect("]")
            return Shape._make(_WITHOUT_DIMENSIONS[name])
        self._expect("[")
        dims = self._list("]", self._dimension)
        shape = Shape.array_shape(_BY_NAME[name], [size for size, _ in dims], None, [dynamic for _, dynamic in dims])
        return self._with_layout(shape) if self._eat("{") else shape

    def _with_layout(self, shape: Shape) -> Shape:
        """Returns the shape with the layout at the current position."""
        order = []
        while self._peek() not in ("}", ":"):
            if order:
                self._expect(",")
            order.append(self._number())
        # `array_shape` checks the order of the dimensions.
        checked = Shape.array_shape(shape._type, shape._dims, order, shape._dynamic)
        tiles: list[list[int]] = []
        numbers: dict[str, int] = {}
        if self._eat(":"):
            if self._eat("T"):
                self._expect("(")
                tiles.append(self._list(")", self._tile_size))
                while self._eat("("):
                    tiles.append(self._list(")", self._tile_size))
            for number in NUMBERS:
                if self._eat(number.key):
                    self._expect("(")
                    numbers[number.key] = self._number()
                    self._expect(")")
        if self._peek() in _OTHER_PARTS:
            raise XlaRuntimeError(f"UNIMPLEMENTED: the layout of the shape {self._text} has {_OTHER_PARTS[self._peek()]}")
        self._expect("}")
        return Shape._make(checked._type, checked._dims, Layout._make(order, tiles, numbers), dynamic=checked._dynamic)

    def _tile_size(self) -> int:
        return COMBINED if self._eat("*") else self._number()

    def _dimension(self) -> tuple[int, bool]:
        dynamic = self._eat("<=")
        return self._number(), dynamic

    def _number(self) -> int:
        if not self._peek().isdecimal():
            raise self._wrong("a number")
        self._next += 1
        return int(self._tokens[self._next - 1][0])
