"""Attributes of instructions: their enumerations, and their HLO text."""

import enum
from collections.abc import Iterable, Sequence
from typing import Any


class FftType(enum.IntEnum):
    """Kinds of Fourier transforms."""

    FFT = 0
    IFFT = 1
    RFFT = 2
    IRFFT = 3


class PrecisionConfig_Precision(enum.IntEnum):
    """Precision of products."""

    DEFAULT = 0
    HIGH = 1
    HIGHEST = 2


class TriangularSolveOptions_Transpose(enum.IntEnum):
    """Transformation of the matrix of a triangular system before it is solved."""

    TRANSPOSE_INVALID = 0
    NO_TRANSPOSE = 1
    TRANSPOSE = 2
    ADJOINT = 3


class RandomAlgorithm(enum.IntEnum):
    """Algorithms for random bits."""

    RNG_DEFAULT = 0
    RNG_THREE_FRY = 1
    RNG_PHILOX = 2


def ints_text(numbers: Iterable[int]) -> str:
    """Formats a list of numbers."""
    return f"{{{','.join(str(int(i)) for i in numbers)}}}"


def flag_text(value: bool) -> str:
    """Formats a flag."""
    return "true" if value else "false"


def window_text(
    sizes: Sequence[int],
    strides: Sequence[int],
    padding: Sequence[tuple[int, int]],
    base_dilations: Sequence[int] = (),
    window_dilations: Sequence[int] = (),
    reversal: Sequence[bool] = (),
) -> str:
    """Formats a window."""

    def joined(key: str, values: Iterable[Any]) -> str:
        text = "x".join(str(value) for value in values)
        return f" {key}={text}" if text else ""

    window = joined("size", sizes) + joined("stride", strides) + joined("pad", (f"{int(a)}_{int(b)}" for a, b in padding or ()))
    window += joined("lhs_dilate", base_dilations or ()) + joined("rhs_dilate", window_dilations or ())
    return f"{{{(window + joined('rhs_reversal', (int(flag) for flag in reversal))).strip()}}}"


def labels_text(first: str, second: str, first_dim: int, second_dim: int, spatial: Sequence[int]) -> str:
    """Formats the dimension labels of an array: a letter for each of two dimensions, a number for each
    spatial one."""
    labels = {first_dim: first, second_dim: second} | {dim: str(i) for i, dim in enumerate(spatial)}
    return "".join(labels[dim] for dim in sorted(labels))


def precision_attributes(config: Any) -> list[tuple[str, Any]]:
    """Returns the precision of a product's operands, from a `PrecisionConfig` or from one precision for all
    operands."""
    given = getattr(config, "operand_precision", config)
    if given is None or (isinstance(given, Sequence) and not given):
        return []
    precisions = list(given) if isinstance(given, Sequence) else [given, given]
    names = ",".join(PrecisionConfig_Precision(int(precision)).name.lower() for precision in precisions)
    return [("operand_precision", f"{{{names}}}")]
