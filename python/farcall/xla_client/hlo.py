"""What `jaxlib.xla_client.hlo` has: modules and computations in HLO, and their shapes."""

from farcall.xla_client._builder import HloModule, XlaComputation, hlo_module_from_text
from farcall.xla_client._sharding import HloSharding, OpSharding, OpSharding_Type
from farcall.xla_client._shapes import Layout, PrimitiveType, ProgramShape, Shape

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
