"""Shardings, as far as one device needs them: builders write them into programs, and callbacks receive
them."""

import enum
from typing import Any


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
        return isinstance(other, HloSharding) and repr(self) == repr(other)

    def __hash__(self) -> int:
        return hash(repr(self))


def _of_type(kind: OpSharding.Type) -> OpSharding:
    sharding = OpSharding()
    sharding.type = kind
    return sharding
