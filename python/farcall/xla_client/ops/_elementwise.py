"""Elementwise instructions."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from farcall.xla_client._builder import XlaOp, quoted
from farcall.xla_client._shapes import PrimitiveType, Shape, primitive_type
from farcall.xla_client.ops._arguments import arrays_builder, typed
from farcall.xla_client.ops._broadcasting import broadcast, expand
from farcall.xla_client.ops._values import Constant


def _unary(opcode: str, title: str) -> Callable[..., XlaOp]:
    def op(operand: XlaOp, result_accuracy: Any = None) -> XlaOp:
        del result_accuracy  # the engine's functions have a single accuracy
        return arrays_builder(title, operand)._add(opcode, [operand])

    op.__name__, op.__doc__ = title, f"The instruction `{opcode}`."
    return typed(op)


def _binary(opcode: str, title: str, direction: str | None = None) -> Callable[..., XlaOp]:
    def op(lhs: XlaOp, rhs: XlaOp, broadcast_dimensions: Sequence[int] = ()) -> XlaOp:
        lhs, rhs = broadcast(title, lhs, rhs, tuple(broadcast_dimensions or ()))
        attributes = [] if direction is None else [("direction", direction)]
        return lhs._builder._add(opcode, [lhs, rhs], attributes=attributes)

    op.__name__ = title
    op.__doc__ = f"The instruction `{opcode}`{'' if direction is None else f' with direction {direction}'}."
    return typed(op)


def _chlo(target: str, title: str) -> Callable[..., XlaOp]:
    def op(*operands: XlaOp) -> XlaOp:
        shape = operands[0].shape
        return operands[0]._builder._add("custom-call", operands, shape, attributes=[("custom_call_target", quoted(target))])

    op.__name__, op.__doc__ = title, f"The function `{target}`, which farcall runs and XLA does not know by this name."
    return typed(op)


Abs = _unary("abs", "Abs")
Acos = _unary("acos", "Acos")
Acosh = _unary("acosh", "Acosh")
Asin = _unary("asin", "Asin")
Asinh = _unary("asinh", "Asinh")
Atanh = _unary("atanh", "Atanh")
Cbrt = _unary("cbrt", "Cbrt")
Ceil = _unary("ceil", "Ceil")
Clz = _unary("count-leading-zeros", "Clz")
Cos = _unary("cosine", "Cos")
Cosh = _unary("cosh", "Cosh")
Erf = _unary("erf", "Erf")
Exp = _unary("exponential", "Exp")
Expm1 = _unary("exponential-minus-one", "Expm1")
Floor = _unary("floor", "Floor")
Imag = _unary("imag", "Imag")
IsFinite = _unary("is-finite", "IsFinite")
Log = _unary("log", "Log")
Log1p = _unary("log-plus-one", "Log1p")
Logistic = _unary("logistic", "Logistic")
Neg = _unary("negate", "Neg")
Not = _unary("not", "Not")
PopulationCount = _unary("popcnt", "PopulationCount")
Real = _unary("real", "Real")
Round = _unary("round-nearest-afz", "Round")
RoundNearestEven = _unary("round-nearest-even", "RoundNearestEven")
Rsqrt = _unary("rsqrt", "Rsqrt")
Sign = _unary("sign", "Sign")
Sin = _unary("sine", "Sin")
Sinh = _unary("sinh", "Sinh")
Sqrt = _unary("sqrt", "Sqrt")
Tan = _unary("tan", "Tan")
Tanh = _unary("tanh", "Tanh")

Add = _binary("add", "Add")
And = _binary("and", "And")
Atan2 = _binary("atan2", "Atan2")
Complex = _binary("complex", "Complex")
Div = _binary("divide", "Div")
Max = _binary("maximum", "Max")
Min = _binary("minimum", "Min")
Mul = _binary("multiply", "Mul")
Or = _binary("or", "Or")
Pow = _binary("power", "Pow")
Rem = _binary("remainder", "Rem")
ShiftLeft = _binary("shift-left", "ShiftLeft")
ShiftRightArithmetic = _binary("shift-right-arithmetic", "ShiftRightArithmetic")
ShiftRightLogical = _binary("shift-right-logical", "ShiftRightLogical")
Sub = _binary("subtract", "Sub")
Xor = _binary("xor", "Xor")

Eq = _binary("compare", "Eq", "EQ")
Ne = _binary("compare", "Ne", "NE")
Ge = _binary("compare", "Ge", "GE")
Gt = _binary("compare", "Gt", "GT")
Le = _binary("compare", "Le", "LE")
Lt = _binary("compare", "Lt", "LT")

# Functions of CHLO. XLA expands them into graphs of other instructions; here they are custom calls by name,
# which farcall runs.
BesselI1e = _chlo("chlo.bessel_i1e", "BesselI1e")
Digamma = _chlo("chlo.digamma", "Digamma")
Erfc = _chlo("chlo.erfc", "Erfc")
ErfInv = _chlo("chlo.erf_inv", "ErfInv")
Lgamma = _chlo("chlo.lgamma", "Lgamma")
NextAfter = _chlo("chlo.next_after", "NextAfter")
Zeta = _chlo("chlo.zeta", "Zeta")


@typed
def Atan(operand: XlaOp) -> XlaOp:
    """Returns the arc tangent."""
    return Atan2(operand, _like(operand, 1))


@typed
def Square(operand: XlaOp) -> XlaOp:
    """Returns the square."""
    return Mul(operand, operand)


@typed
def Reciprocal(operand: XlaOp) -> XlaOp:
    """Returns the reciprocal."""
    return Div(_like(operand, 1), operand)


@typed
def Conj(operand: XlaOp) -> XlaOp:
    """Returns the complex conjugate."""
    real, imag = Real(operand), Imag(operand)
    return Complex(real, Neg(imag))


@typed
def Select(pred: XlaOp, on_true: XlaOp, on_false: XlaOp) -> XlaOp:
    """Selects elements of `on_true` where `pred` is true, and of `on_false` elsewhere. Scalars are
    broadcast."""
    builder = arrays_builder("Select", pred, on_true, on_false)
    largest = max((pred, on_true, on_false), key=lambda op: len(op.shape.dimensions()))
    operands = [expand(op, largest.shape.dimensions(), ()) for op in (pred, on_true, on_false)]
    return builder._add("select", operands)


@typed
def Clamp(min: XlaOp, operand: XlaOp, max: XlaOp) -> XlaOp:
    """Limits the operand's elements to two bounds. A scalar bound applies to all elements."""
    return arrays_builder("Clamp", min, operand, max)._add("clamp", [min, operand, max])


@typed
def ConvertElementType(operand: XlaOp, new_element_type: PrimitiveType) -> XlaOp:
    """Converts the numbers to another element type."""
    shape = Shape.array_shape(primitive_type(new_element_type), operand.shape.dimensions())
    return operand._builder._add("convert", [operand], shape)


@typed
def BitcastConvertType(operand: XlaOp, new_element_type: PrimitiveType) -> XlaOp:
    """Reads the bits of the elements as another element type. Wider elements absorb the last dimension,
    narrower ones add a dimension."""
    dims, new = list(operand.shape.dimensions()), primitive_type(new_element_type)
    sizes = [np.dtype(Shape.scalar_shape(kind).element_type()).itemsize for kind in (operand.shape.xla_element_type(), new)]
    if sizes[0] > sizes[1]:
        dims.append(sizes[0] // sizes[1])
    elif sizes[0] < sizes[1]:
        dims = dims[:-1]
    return operand._builder._add("bitcast-convert", [operand], Shape.array_shape(new, dims))


@typed
def ReducePrecision(operand: XlaOp, exponent_bits: int, mantissa_bits: int) -> XlaOp:
    """Rounds elements to a floating-point format with these numbers of bits."""
    attributes = [("exponent_bits", exponent_bits), ("mantissa_bits", mantissa_bits)]
    return operand._builder._add("reduce-precision", [operand], attributes=attributes)


def _like(operand: XlaOp, number: float) -> XlaOp:
    """Returns a constant with the operand's element type."""
    return Constant(operand._builder, np.array(number, operand.shape.element_type()))
