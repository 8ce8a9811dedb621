"""The names of `jaxlib.xla_client.hlo`: modules and computations in HLO, and their shapes."""

from typing import Any

from farcall.xla_client._absent import ABSENT_IN_HLO
from farcall.xla_client._builder import HloModule, XlaComputation, hlo_module_from_text
from farcall.xla_client._layouts import Layout
from farcall.xla_client._sharding import HloSharding, OpSharding, OpSharding_Type
from farcall.xla_client._shapes import PrimitiveType, ProgramShape, Shape

__all__ = [
    "HloModule",
    "HloSharding",
    "Layout",
    "OpSharding",
    "OpSharding_Type",
    "PrimitiveType",
    "ProgramShape",
    "Shape",
    "XlaComputation",
    "hlo_module_from_text",
]


def __getattr__(name: str) -> Any:
    why = ABSENT_IN_HLO.get(name, "this part of jaxlib.xla_client.hlo is not supported")
    raise AttributeError(f"farcall.xla_client.hlo has no {name}: {why}")
