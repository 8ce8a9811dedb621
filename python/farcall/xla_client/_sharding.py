"""Shardings, as far as one device needs them: what builders write into programs, and what callbacks are told."""

import enum
from typing import Any


class OpSharding:
    """A sharding as builders take it. `type` is one of `OpSharding.Type`."""

    class Type(enum.IntEnum):
        """The kinds of shardings."""

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

    # Its fields can be changed. (typeshed declares `object.__hash__` as a method, so a type checker does not let a class be unhashable.)
    __hash__ = None  # type: ignore[assignment]


OpSharding_Type = OpSharding.Type


class HloSharding:
    """How a value is split among devices."""

    def __init__(self, sharding: OpSharding) -> None:
        self._sharding = sharding

    @staticmethod
    def replicate() -> "HloSharding":
        """The whole value on every device."""
        return HloSharding(OpSharding())

    @staticmethod
    def manual() -> "HloSharding":
        """As the program itself has it."""
        return HloSharding(_of_type(OpSharding.Type.MANUAL))

    @staticmethod
    def unknown() -> "HloSharding":
        """Nothing is known."""
        return HloSharding(_of_type(OpSharding.Type.UNKNOWN))

    @staticmethod
    def from_proto(sharding: OpSharding) -> "HloSharding":
        """The sharding that an `OpSharding` describes."""
        return HloSharding(sharding)

    def to_proto(self) -> OpSharding:
        """The sharding as an `OpSharding`."""
        return self._sharding

    def is_replicated(self) -> bool:
        """True if every device has the whole value."""
        return self._sharding.type == OpSharding.Type.REPLICATED

    def is_manual(self) -> bool:
        """True if it is as the program itself has it."""
        return self._sharding.type == OpSharding.Type.MANUAL

    def is_unknown(self) -> bool:
        """True if nothing is known."""
        return self._sharding.type == OpSharding.Type.UNKNOWN

    def is_tiled(self) -> bool:
        """True if devices have parts of the value."""
        return self._sharding.type == OpSharding.Type.OTHER

    def tuple_elements(self) -> "list[HloSharding]":
        """The shardings of a tuple's parts."""
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
