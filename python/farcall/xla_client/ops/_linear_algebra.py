"""Products, convolutions, decompositions and Fourier transforms."""

from collections.abc import Sequence
from typing import Any

from farcall.xla_client._builder import XlaOp
from farcall.xla_client._errors import XlaRuntimeError
from farcall.xla_client._shapes import Shape, primitive_type
from farcall.xla_client.ops._arguments import arrays_builder, typed
from farcall.xla_client.ops._attributes import (
    FftType,
    TriangularSolveOptions_Transpose,
    flag_text,
    ints_text,
    labels_text,
    precision_attributes,
    window_text,
)


@typed
def Dot(lhs: XlaOp, rhs: XlaOp, precision_config: Any = None, preferred_element_type: Any = None) -> XlaOp:
    """Multiplies vectors and matrices."""
    arrays_builder("Dot", lhs, rhs)
    if not lhs.shape.dimensions() or not rhs.shape.dimensions():
        raise XlaRuntimeError(f"INVALID_ARGUMENT: Dot: operands are vectors or matrices, not {lhs.shape} and {rhs.shape}")

    class Numbers:
        lhs_contracting_dimensions = [len(lhs.shape.dimensions()) - 1]
        rhs_contracting_dimensions = [0]
        lhs_batch_dimensions: list[int] = []
        rhs_batch_dimensions: list[int] = []

    return DotGeneral(lhs, rhs, Numbers, precision_config, preferred_element_type)


@typed
def DotGeneral(
    lhs: XlaOp,
    rhs: XlaOp,
    dimensions_numbers: Any = None,
    precision_config: Any = None,
    preferred_element_type: Any = None,
    *,
    dimension_numbers: Any = None,
) -> XlaOp:
    """Multiplies arrays. The dimensions are `DotDimensionNumbers`."""
    numbers = dimension_numbers if dimensions_numbers is None else dimensions_numbers
    pairs = [("batch", "batch_dims"), ("contracting", "contracting_dims")]
    attributes = [
        (f"{side}_{key}", ints_text(getattr(numbers, f"{side}_{kind}_dimensions"))) for kind, key in pairs for side in ("lhs", "rhs")
    ]
    attributes = [(key, value) for key, value in attributes if value != "{}"]
    op = lhs._builder._add("dot", [lhs, rhs], attributes=attributes + precision_attributes(precision_config))
    return _preferred(op, "dot", [lhs, rhs], preferred_element_type)


@typed
def ConvGeneralDilated(
    lhs: XlaOp,
    rhs: XlaOp,
    window_strides: Sequence[int],
    padding: Sequence[tuple[int, int]],
    lhs_dilation: Sequence[int],
    rhs_dilation: Sequence[int],
    dimension_numbers: Any,
    feature_group_count: int = 1,
    batch_group_count: int = 1,
    precision_config: Any = None,
    preferred_element_type: Any = None,
    window_reversal: Sequence[bool] | None = None,
) -> XlaOp:
    """Adds a convolution. The dimensions are `ConvolutionDimensionNumbers`."""
    numbers = dimension_numbers
    sizes = [rhs.shape.dimensions()[dim] for dim in numbers.kernel_spatial_dimensions]
    window = window_text(sizes, window_strides, padding, lhs_dilation, rhs_dilation, window_reversal or ())
    labels = (
        labels_text("b", "f", numbers.input_batch_dimension, numbers.input_feature_dimension, numbers.input_spatial_dimensions),
        labels_text(
            "i", "o", numbers.kernel_input_feature_dimension, numbers.kernel_output_feature_dimension, numbers.kernel_spatial_dimensions
        ),
        labels_text("b", "f", numbers.output_batch_dimension, numbers.output_feature_dimension, numbers.output_spatial_dimensions),
    )
    attributes = [("window", window)] if sizes else []
    attributes += [("dim_labels", f"{labels[0]}_{labels[1]}->{labels[2]}")]
    attributes += [("feature_group_count", feature_group_count)] if feature_group_count != 1 else []
    attributes += [("batch_group_count", batch_group_count)] if batch_group_count != 1 else []
    op = lhs._builder._add("convolution", [lhs, rhs], attributes=attributes + precision_attributes(precision_config))
    return _preferred(op, "convolution", [lhs, rhs], preferred_element_type)


@typed
def Cholesky(a: XlaOp, lower: bool = True) -> XlaOp:
    """Computes the Cholesky decomposition of Hermitian matrices."""
    return a._builder._add("cholesky", [a], attributes=[("lower", flag_text(lower))])


@typed
def TriangularSolve(
    a: XlaOp, b: XlaOp, left_side: bool, lower: bool, unit_diagonal: bool, transpose_a: TriangularSolveOptions_Transpose
) -> XlaOp:
    """Solves triangular systems."""
    attributes = [("left_side", flag_text(left_side)), ("lower", flag_text(lower)), ("unit_diagonal", flag_text(unit_diagonal))]
    attributes += [("transpose_a", TriangularSolveOptions_Transpose(transpose_a).name)]
    return a._builder._add("triangular-solve", [a, b], attributes=attributes)


@typed
def Fft(operand: XlaOp, fft_type: FftType, fft_length: Sequence[int]) -> XlaOp:
    """Computes Fourier transforms along the last dimensions."""
    attributes = [("fft_type", FftType(fft_type).name), ("fft_length", ints_text(fft_length))]
    return operand._builder._add("fft", [operand], attributes=attributes)


def _preferred(op: XlaOp, opcode: str, operands: Sequence[XlaOp], element_type: Any) -> XlaOp:
    """Changes the last instruction to have results of another element type."""
    if element_type is None or primitive_type(element_type) == op.shape.xla_element_type():
        return op
    builder = op._builder
    last = builder._instructions.pop()
    shape = Shape.array_shape(primitive_type(element_type), last.shape.dimensions())
    attributes = [(key, value) for key, value in last.attributes if key not in ("sharding", "metadata")]
    return builder._add(opcode, operands, shape, attributes=attributes)
