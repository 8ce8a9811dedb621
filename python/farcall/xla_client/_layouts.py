"""XLA's layouts: the order of dimensions in memory, and additional properties on devices other than the
CPU."""

from collections.abc import Sequence
from typing import NamedTuple

from farcall.xla_client._protobuf import field, message, packed

#: A tile size that is written `*`: the dimension is combined with the next one.
COMBINED = -(1 << 63)


class LayoutNumber(NamedTuple):
    """A numeric property of a layout, such as `S(5)`."""

    key: str
    #: Value of the property if it is not written.
    default: int
    #: Field number in a `LayoutProto`.
    field: int
    #: True if a `LayoutProto` contains the property even if it has its default value.
    is_always_written: bool = False


#: Properties in the order of HLO text: the tail's padding in elements, the size of an element in bits, the
#: memory space, and the size of the metadata before the data of a dynamic shape in bytes.
NUMBERS = (
    LayoutNumber("L", 1, 16, is_always_written=True),
    LayoutNumber("E", 0, 7),
    LayoutNumber("S", 0, 8),
    LayoutNumber("M", 0, 15),
)


class Layout:
    """The order of an array's dimensions in memory: `Layout([1, 0])` is row-major, so the last dimension
    varies fastest. Tiles and element sizes belong to other devices: farcall's engine does not run programs
    that use them.

    Args:
      minor_to_major: the dimensions from the fastest-varying in memory to the slowest.
      tiles: the sizes of tiles, and of tiles within tiles.
      element_size_in_bits: the size of elements if it differs from their type's size; else 0.
    """

    def __init__(self, minor_to_major: Sequence[int], tiles: Sequence[Sequence[int]] = (), element_size_in_bits: int = 0) -> None:
        self._order = tuple(int(dim) for dim in minor_to_major)
        self._tiles = tuple(tuple(int(size) for size in tile) for tile in tiles)
        self._numbers = {number.key: number.default for number in NUMBERS} | {"E": int(element_size_in_bits)}

    @staticmethod
    def _make(order: Sequence[int], tiles: Sequence[Sequence[int]], numbers: dict[str, int]) -> "Layout":
        layout = Layout(order, tiles)
        layout._numbers |= numbers
        return layout

    def minor_to_major(self) -> tuple[int, ...]:
        """Returns the dimensions from the fastest-varying in memory to the slowest."""
        return self._order

    def tiling(self) -> list[tuple[int, ...]]:
        """Returns the sizes of tiles, and of tiles within tiles."""
        return list(self._tiles)

    def element_size_in_bits(self) -> int:
        """Returns the size of elements if it differs from their type's size, else 0."""
        return self._numbers["E"]

    def to_string(self) -> str:
        """Returns the layout as in HLO text."""
        return str(self)

    def _is_order_only(self) -> bool:
        """Returns true if the layout has no properties besides the order of dimensions."""
        return self == Layout(self._order)

    def _proto(self) -> bytes:
        """Returns the layout as a `LayoutProto`."""
        written = [n for n in NUMBERS if n.is_always_written or self._numbers[n.key] != n.default]
        fields = [(n.field, field(n.field, self._numbers[n.key])) for n in written]
        fields += [(6, message(6, packed(1, tile))) for tile in self._tiles]
        return packed(1, self._order) + b"".join(content for _, content in sorted(fields, key=lambda pair: pair[0]))

    def __str__(self) -> str:
        def sizes(tile: tuple[int, ...]) -> str:
            return ",".join("*" if size == COMBINED else str(size) for size in tile)

        more = "T" * bool(self._tiles) + "".join(f"({sizes(tile)})" for tile in self._tiles)
        more += "".join(f"{n.key}({self._numbers[n.key]})" for n in NUMBERS if self._numbers[n.key] != n.default)
        return f"{{{','.join(map(str, self._order))}{':' if more else ''}{more}}}"

    def __repr__(self) -> str:
        return f"<Layout {self}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Layout) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))
