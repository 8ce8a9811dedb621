"""Shardings: builders write them into programs, and callbacks receive and return them."""

import enum
import math
from collections.abc import Sequence
from typing import Any

import numpy as np


class OpSharding:
    """A sharding in the form that program builders use. `type` is one of `OpSharding.Type`."""

    class Type(enum.IntEnum):
        """Kinds of shardings."""

        REPLICATED = 0
        MAXIMAL = 1
        TUPLE = 2
        OTHER = 3
        MANUAL = 4
        UNKNOWN = 5

    def __init__(self) -> None:
        self.type = OpSharding.Type.REPLICATED
        self.tile_assignment_dimensions: list[int] = []
        self.tile_assignment_devices: list[int] = []
        self.tuple_shardings: list[OpSharding] = []
        self.replicate_on_last_tile_dim = False

    def __str__(self) -> str:
        if self.type == OpSharding.Type.TUPLE:
            return f"{{{', '.join(map(str, self.tuple_shardings))}}}"
        devices = ",".join(map(str, self.tile_assignment_devices))
        if self.type == OpSharding.Type.MAXIMAL:
            return f"{{maximal device={devices}}}"
        if self.type == OpSharding.Type.OTHER:
            last = " last_tile_dim_replicate" if self.replicate_on_last_tile_dim else ""
            return f"{{devices=[{','.join(map(str, self.tile_assignment_dimensions))}]{devices}{last}}}"
        return f"{{{OpSharding.Type(self.type).name.lower()}}}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OpSharding) and str(self) == str(other)

    # Fields are mutable, so shardings are not hashable. (Type checkers reject this, because typeshed declares
    # `object.__hash__` as a method.)
    __hash__ = None  # type: ignore[assignment]


OpSharding_Type = OpSharding.Type


class HloSharding:
    """Split of a value among devices."""

    def __init__(self, sharding: OpSharding) -> None:
        self._sharding = sharding

    @staticmethod
    def replicate() -> "HloSharding":
        """Returns the sharding with the whole value on every device."""
        return HloSharding(OpSharding())

    @staticmethod
    def manual() -> "HloSharding":
        """Returns the sharding of a value that the program itself splits."""
        return HloSharding(_of_type(OpSharding.Type.MANUAL))

    @staticmethod
    def unknown() -> "HloSharding":
        """Returns the unknown sharding."""
        return HloSharding(_of_type(OpSharding.Type.UNKNOWN))

    @staticmethod
    def from_proto(sharding: OpSharding) -> "HloSharding":
        """Returns the sharding that an `OpSharding` describes."""
        return HloSharding(sharding)

    @staticmethod
    def tuple_sharding(shape: Any, shardings: "Sequence[HloSharding]") -> "HloSharding":
        """Returns the sharding of a tuple of the shape from the shardings of its parts.

        Raises:
          ValueError: if the tuple has another number of parts.
        """
        count = len(shape.tuple_shapes())
        if count != len(shardings):
            raise ValueError(f"{len(shardings)} shardings for a tuple of {count} parts")
        sharding = _of_type(OpSharding.Type.TUPLE)
        sharding.tuple_shardings = [part.to_proto() for part in shardings]
        return HloSharding(sharding)

    @staticmethod
    def iota_tile(
        dims: Sequence[int],
        reshape_dims: Sequence[int] = (),
        transpose_perm: Sequence[int] = (),
        subgroup_types: "Sequence[OpSharding.Type]" = (),
    ) -> "HloSharding":
        """Returns a tiled sharding. The devices are the numbers from 0 in an array of the sizes `reshape_dims`,
        with its dimensions in the order `transpose_perm`; by default, in their natural order. With the
        subgroup type `REPLICATED`, devices along the last dimension of the tiles have the same part."""
        if any(kind != OpSharding.Type.REPLICATED for kind in subgroup_types) or len(subgroup_types) > 1:
            raise NotImplementedError("subgroups other than one of the type REPLICATED are not supported")
        sharding = _of_type(OpSharding.Type.OTHER)
        sharding.tile_assignment_dimensions = [int(size) for size in dims]
        devices = np.arange(math.prod(dims))
        if reshape_dims:
            devices = devices.reshape(reshape_dims).transpose(transpose_perm or None)
        sharding.tile_assignment_devices = devices.ravel().tolist()
        sharding.replicate_on_last_tile_dim = bool(subgroup_types)
        return HloSharding(sharding)

    @staticmethod
    def _of_division(tiles: Sequence[int], copies: int, devices: Sequence[int]) -> "HloSharding":
        """Returns the sharding with `tiles[d]` parts along dimension `d`. `copies` devices have the same part;
        they are neighbors in the list of devices."""
        if all(parts == 1 for parts in tiles):
            return HloSharding.replicate()
        sharding = _of_type(OpSharding.Type.OTHER)
        sharding.tile_assignment_dimensions = [*tiles, copies] if copies > 1 else list(tiles)
        sharding.tile_assignment_devices = list(devices)
        sharding.replicate_on_last_tile_dim = copies > 1
        return HloSharding(sharding)

    def _division(self, rank: int, devices: Sequence[int]) -> tuple[list[int], int, list[int]]:
        """Returns the arguments of `_of_division` for a tensor with `rank` dimensions on these devices.

        Raises:
          ValueError: if the sharding is not that of such a tensor.
        """
        if self.is_replicated() or self.is_maximal():
            return [1] * rank, len(devices), sorted(devices)
        tiles = list(self._sharding.tile_assignment_dimensions)
        listed = list(self._sharding.tile_assignment_devices)
        copies = tiles.pop() if self._sharding.replicate_on_last_tile_dim and tiles else 1
        fits = len(tiles) == rank and math.prod(tiles) * copies == len(listed) and sorted(listed) == sorted(devices)
        if not self.is_tiled() or not fits:
            devices = ", ".join(map(str, sorted(devices)))
            raise ValueError(f"{self} does not divide a tensor with {rank} dimensions among the devices {devices}")
        return tiles, copies, listed

    def is_maximal(self) -> bool:
        """Returns true if one device has the whole value."""
        return self._sharding.type == OpSharding.Type.MAXIMAL

    def tile(self, shape: Any) -> Any:
        """Returns the shape of a part of a value, as large as the largest part."""
        if not self.is_tiled():
            return shape
        sizes = [-(-size // parts) for size, parts in zip(shape.dimensions(), self._sharding.tile_assignment_dimensions)]
        return type(shape).array_shape(shape.element_type(), sizes)

    def num_dimensions(self) -> int:
        """Returns the number of dimensions of the tiles, with the one of devices that have the same part."""
        return len(self.tile_assignment_dimensions())

    def tile_assignment_dimensions(self) -> list[int]:
        """Returns the number of parts of each dimension. A last entry may be the number of devices with the
        same part. A replicated sharding has the entry 0, as in jaxlib."""
        return [0] if self.is_replicated() else list(self._sharding.tile_assignment_dimensions)

    def tile_assignment_devices(self) -> list[int]:
        """Returns the devices, row-major over the tiles."""
        return list(self._sharding.tile_assignment_devices)

    def num_devices(self) -> int:
        """Returns the number of devices of a tiled sharding."""
        return len(self._sharding.tile_assignment_devices)

    def replicate_on_last_tile_dim(self) -> bool:
        """Returns true if devices along the last dimension of the tiles have the same part."""
        return self._sharding.replicate_on_last_tile_dim

    def to_proto(self) -> OpSharding:
        """Returns the sharding as an `OpSharding`."""
        return self._sharding

    def is_replicated(self) -> bool:
        """Returns true if every device has the whole value."""
        return self._sharding.type == OpSharding.Type.REPLICATED

    def is_manual(self) -> bool:
        """Returns true if the program itself manages the sharding."""
        return self._sharding.type == OpSharding.Type.MANUAL

    def is_unknown(self) -> bool:
        """Returns true if the sharding is unknown."""
        return self._sharding.type == OpSharding.Type.UNKNOWN

    def is_tiled(self) -> bool:
        """Returns true if devices have parts of the value."""
        return self._sharding.type == OpSharding.Type.OTHER

    def tuple_elements(self) -> "list[HloSharding]":
        """Returns the shardings of a tuple's parts."""
        return [HloSharding(part) for part in self._sharding.tuple_shardings]

    def __repr__(self) -> str:
        return str(self._sharding)

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, HloSharding) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> object:
        """Returns what equal shardings have in common: the same parts on the same devices. The order of devices
        that have the same part does not count."""
        own = self._sharding
        if own.type == OpSharding.Type.TUPLE:
            return tuple(part._key() for part in self.tuple_elements())
        tiles, devices = list(own.tile_assignment_dimensions), list(own.tile_assignment_devices)
        if not self.is_tiled() or not tiles or math.prod(tiles) != len(devices):
            return str(own)
        copies = tiles.pop() if own.replicate_on_last_tile_dim else 1
        if math.prod(tiles) == 1 and copies > 1:
            return str(OpSharding())
        parts = np.sort(np.reshape(devices, (-1, copies)), axis=1)
        return tuple(tiles), copies, tuple(parts.ravel().tolist())


def _of_type(kind: OpSharding.Type) -> OpSharding:
    sharding = OpSharding()
    sharding.type = kind
    return sharding
