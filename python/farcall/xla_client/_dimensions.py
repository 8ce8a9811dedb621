"""Descriptions of dimensions, padding, precision and replica groups that older builders use in place of XLA's
protocol buffers."""

import enum
import inspect
import os
from collections.abc import Iterable, Sequence
from typing import Any

from farcall.xla_client._builder import OpMetadata
from farcall.xla_client.ops import PrecisionConfig_Precision


class PaddingType(enum.Enum):
    """Positions of windows at the edges. With `VALID`, all windows are inside the array. With `SAME`, the
    array is padded so that there is one window for each stride."""

    VALID = 1
    SAME = 2


def window_padding_type_to_pad_values(
    padding_type: Any, lhs_dims: Sequence[int], rhs_dims: Sequence[int], window_strides: Sequence[int]
) -> list[tuple[int, int]]:
    """Returns the padding before and after each dimension.

    Args:
      padding_type: a `PaddingType` or its name.
      lhs_dims: the sizes of the array.
      rhs_dims: the sizes of the window.
      window_strides: the strides of the window.

    Raises:
      ValueError: if the name of the padding type is unknown.
      TypeError: if `padding_type` has another type.
    """
    if isinstance(padding_type, str):
        names = PaddingType.__members__
        if padding_type.upper() not in names:
            raise ValueError(f'a padding type is "VALID" or "SAME", not {padding_type!r}')
        padding_type = names[padding_type.upper()]
    if not isinstance(padding_type, PaddingType):
        raise TypeError(f"a padding type is a string or a PaddingType, not {padding_type!r}")
    if padding_type is PaddingType.VALID:
        return [(0, 0)] * len(window_strides)
    pads = []
    for size, window, stride in zip(lhs_dims, rhs_dims, window_strides):
        count = -(-size // stride)
        total = max((count - 1) * stride + window - size, 0)
        pads.append((total // 2, total - total // 2))
    return pads


class PaddingConfigDimension:
    """Padding of a dimension."""

    def __init__(self) -> None:
        self.edge_padding_low = self.edge_padding_high = self.interior_padding = 0


class PaddingConfig:
    """Padding of all dimensions."""

    def __init__(self) -> None:
        self.dimensions: list[PaddingConfigDimension] = []


def make_padding_config(padding_config: Any) -> Any:
    """Creates a `PaddingConfig` from triples: before, after, between elements."""
    if not isinstance(padding_config, (list, tuple)):
        return padding_config
    made = PaddingConfig()
    for low, high, interior in padding_config:
        dimension = PaddingConfigDimension()
        dimension.edge_padding_low, dimension.edge_padding_high, dimension.interior_padding = low, high, interior
        made.dimensions.append(dimension)
    return made


class DotDimensionNumbers:
    """Dimensions of a product."""

    def __init__(self) -> None:
        self.lhs_contracting_dimensions: list[int] = []
        self.rhs_contracting_dimensions: list[int] = []
        self.lhs_batch_dimensions: list[int] = []
        self.rhs_batch_dimensions: list[int] = []


def make_dot_dimension_numbers(dimension_numbers: Any) -> Any:
    """Creates `DotDimensionNumbers` from `((lhs_contracting, rhs_contracting), (lhs_batch, rhs_batch))`."""
    if not isinstance(dimension_numbers, (list, tuple)):
        return dimension_numbers
    made = DotDimensionNumbers()
    (lhs_contracting, rhs_contracting), (lhs_batch, rhs_batch) = dimension_numbers
    made.lhs_contracting_dimensions, made.rhs_contracting_dimensions = list(lhs_contracting), list(rhs_contracting)
    made.lhs_batch_dimensions, made.rhs_batch_dimensions = list(lhs_batch), list(rhs_batch)
    return made


class ConvolutionDimensionNumbers:
    """Dimensions of a convolution."""

    def __init__(self) -> None:
        self.input_batch_dimension = self.input_feature_dimension = 0
        self.input_spatial_dimensions: list[int] = []
        self.kernel_input_feature_dimension = self.kernel_output_feature_dimension = 0
        self.kernel_spatial_dimensions: list[int] = []
        self.output_batch_dimension = self.output_feature_dimension = 0
        self.output_spatial_dimensions: list[int] = []


def make_convolution_dimension_numbers(dimension_numbers: Any, num_spatial_dimensions: int) -> Any:
    """Creates `ConvolutionDimensionNumbers` from three strings, such as `("NHWC", "HWIO", "NHWC")`. By
    default, batch and feature dimensions come first, and a kernel's output features come before its input
    features."""
    if isinstance(dimension_numbers, ConvolutionDimensionNumbers):
        return dimension_numbers
    spatial = "".join(chr(ord("0") + i) for i in range(num_spatial_dimensions))
    lhs, rhs, out = dimension_numbers or (f"NC{spatial}", f"OI{spatial}", f"NC{spatial}")
    made = ConvolutionDimensionNumbers()
    made.input_batch_dimension, made.input_feature_dimension = lhs.index("N"), lhs.index("C")
    made.output_batch_dimension, made.output_feature_dimension = out.index("N"), out.index("C")
    made.kernel_output_feature_dimension, made.kernel_input_feature_dimension = rhs.index("O"), rhs.index("I")
    # The kernel's order determines the order of the window.
    order = [c for c in rhs if c not in "IO"]
    made.kernel_spatial_dimensions = [rhs.index(c) for c in order]
    made.input_spatial_dimensions = [lhs.index(c) for c in order]
    made.output_spatial_dimensions = [out.index(c) for c in order]
    return made


class PrecisionConfig:
    """Precision of a product's operands."""

    Precision = PrecisionConfig_Precision

    def __init__(self) -> None:
        self.operand_precision: list[PrecisionConfig_Precision] = []


class GatherDimensionNumbers:
    """Dimensions of `Gather`."""

    def __init__(self) -> None:
        self.offset_dims: list[int] = []
        self.collapsed_slice_dims: list[int] = []
        self.start_index_map: list[int] = []
        self.index_vector_dim = 0


class ScatterDimensionNumbers:
    """Dimensions of `Scatter`."""

    def __init__(self) -> None:
        self.update_window_dims: list[int] = []
        self.inserted_window_dims: list[int] = []
        self.scatter_dims_to_operand_dims: list[int] = []
        self.index_vector_dim = 0


class ReplicaGroup:
    """Devices that work together."""

    def __init__(self) -> None:
        self.replica_ids: list[int] = []


def make_replica_groups(replica_groups: Iterable[Iterable[int]] | None) -> list[ReplicaGroup]:
    """Creates a `ReplicaGroup` for each list of numbers; an empty list of groups stands for one group of all
    devices."""
    made = []
    for ids in replica_groups or ():
        group = ReplicaGroup()
        group.replica_ids.extend(ids)
        made.append(group)
    return made


def CurrentSourceInfoMetadata(op_type: str | None = None, op_name: str | None = None, skip_frames: int = 1) -> OpMetadata:
    """Returns metadata for the line that calls this function, or for a line further up the call stack."""
    frame = inspect.stack()[skip_frames]
    return OpMetadata(op_type or "", op_name or "", os.path.basename(frame.filename), frame.lineno)
