"""Shapes and layouts, compared with those of jaxlib."""

import numpy as np
import pytest
from hosts import F32, SCALAR, Shape

import farcall
from farcall import xla_client
from farcall.xla_client import ops

TEXTS = ["f32[]", "f32[2,3]", "f32[2,3]{0,1}", "pred[0]", "(f32[2]{0}, (s32[], bf16[3,1]{1,0}))", "()", "token[]", "f32[<=2,3]{1,0}"]
TEXTS += ["opaque[]", "(token[], opaque[], f32[2]{0:T(256)})", "f32[]{:T(256)}", "f32[2,3]{1,0:}", "f32[2,3]{1,0:T(8,128)}"]
TEXTS += ["bf16[2,3]{1,0:T(8, 128)(2,1)L(2)E(16)S(1)M(32)}", "f32[2,3]{0,1:T(*,128)}", "f32[2,3]{1,0:T()}", "s4[2,3]{1,0:E(4)}"]
TEXTS += ["f32[2,3]{1,0:T(8,128)L(1)E(0)S(0)M(0)}", " f32[2] "]


@pytest.mark.parametrize("text", TEXTS)
def test_shapes_in_both(text):
    theirs = pytest.importorskip("jaxlib.xla_client").Shape(text)
    ours = Shape(text)
    assert repr(ours) == repr(theirs)
    assert Shape(repr(ours)) == ours and hash(Shape(repr(ours))) == hash(ours)
    assert ours.to_serialized_proto() == theirs.to_serialized_proto()
    for method in ("is_array", "is_tuple", "is_token", "is_static", "is_dynamic"):
        assert getattr(ours, method)() == getattr(theirs, method)(), method
    assert int(ours.xla_element_type()) == int(theirs.xla_element_type())
    if ours.is_array():
        assert ours.dimensions() == theirs.dimensions() and ours.rank() == theirs.rank()
        assert ours.element_type() == theirs.element_type() == ours.numpy_dtype()
        assert ours.layout().minor_to_major() == theirs.layout().minor_to_major() and str(ours.layout()) == str(theirs.layout())
        assert ours.layout().tiling() == theirs.layout().tiling()
        assert ours.layout().element_size_in_bits() == theirs.layout().element_size_in_bits()
    if ours.is_tuple():
        assert list(map(repr, ours.tuple_shapes())) == list(map(repr, theirs.tuple_shapes()))
        assert ours.numpy_dtype() == theirs.numpy_dtype() == np.dtype(object)


def test_shapes():
    assert repr(Shape.array_shape(F32, (2, 3))) == "f32[2,3]{1,0}"
    assert Shape.array_shape(xla_client.PrimitiveType.F32, (2, 3), (0, 1)) == Shape("f32[2,3]{0,1}") != Shape("f32[2,3]")
    assert Shape.tuple_shape((SCALAR, SCALAR)).leaf_count() == 2
    assert repr(Shape.scalar_shape(np.dtype(np.int8))) == "s8[]" and Shape.token_shape().is_token()
    assert xla_client.shape_from_pyval((np.zeros((2, 1)), np.float32(0))) == Shape("(f64[2,1], f32[])")
    assert xla_client.dtype_to_etype(np.int32) == xla_client.PrimitiveType.S32
    assert xla_client.XLA_ELEMENT_TYPE_TO_DTYPE[xla_client.PrimitiveType.U16] == np.uint16
    dynamic = Shape("f32[4]")
    dynamic.set_dynamic_dimension(0, True)
    assert repr(dynamic) == "f32[<=4]{0}" and dynamic.is_dynamic_dimension(0)
    assert repr(xla_client.ProgramShape([Shape("f32[2]")], SCALAR)) == "(p0: f32[2]) -> f32[]"


@pytest.mark.parametrize(
    "text, message",
    [
        ("f32[2,", r"expected a number in the shape\n  f32\[2,\n        \^"),
        ("q32[2]", r"expected an element type, such as `f32`, in the shape\n  q32\[2\]\n  \^"),
        ("f32[2]{1}", "does not name each of the 1 dimensions once"),
        ("f32[2] x", "expected the end"),
        ("f32[2]{0:X(1)}", r"expected `}` in the shape\n  f32\[2\]\{0:X\(1\)\}\n           \^"),
        ("f32[2]{0:T(8,)}", "expected a number"),
        ("f32[2]{0:T(8)", "expected `}`"),
        ("f32[2]{0:S(5)T(8)}", "expected `}`"),
        ("f32[2]{0:S(-1)}", "expected a number"),
        ("f32[2]{0:T(-8)}", "expected a number"),
        ("f32[2]{0:#(u32)}", "UNIMPLEMENTED: .*has a type of indices, which is not supported"),
        ("f32[2]{0:T(8)SC(0:1)}", "UNIMPLEMENTED: .*has split configurations, which are not supported"),
        ("opaque[1]", "expected `]`"),
        ("token", r"expected `\["),
        ("", "expected an element type"),
    ],
)
def test_texts_that_are_not_shapes(text, message):
    with pytest.raises(xla_client.XlaRuntimeError, match=message):
        Shape(text)


def test_layouts():
    layout = xla_client.Layout((1, 0), [(8, 128), (2, 1)], 16)
    assert layout == Shape("bf16[2,3]{1,0:T(8,128)(2,1)E(16)}").layout() != xla_client.Layout((1, 0))
    assert Shape("f32[2]{0:T(8)}") != Shape("f32[2]{0}") and Shape("f32[2]{0:T(8)}").layout() == xla_client.Layout([0], [[8]])
    c = xla_client.XlaBuilder("tiled")
    rows, tiles = Shape("f32[2,3]{1,0}"), Shape("f32[2,3]{1,0:T(8,128)}")
    x = ops.Parameter(c, 0, rows)
    for operand, result, what in [(tiles, rows, "operand 0"), (rows, tiles, "the result"), (rows, Shape.tuple_shape([tiles]), "the result")]:
        with pytest.raises(xla_client.XlaRuntimeError, match=f"UNIMPLEMENTED: f: the layout of {what} is more than an order of dimensions"):
            ops.CustomCallWithLayout(c, "f", [x], result, [operand])
    call = 'ROOT %y = f32[2] custom-call(%x), custom_call_target="f", operand_layout_constraints={f32[2]{0:T(8)}}'
    with pytest.raises(ValueError, match="a custom call's layouts are orders of dimensions"):
        farcall.convert(f"HloModule m\n\nENTRY %m (x: f32[2]) -> f32[2] {{\n  %x = f32[2] parameter(0)\n  {call}\n}}\n", "stablehlo")


def test_questions_that_a_shape_does_not_answer():
    for method in ("element_type", "dimensions", "rank", "layout"):
        with pytest.raises(xla_client.XlaRuntimeError, match=rf"{method}\(\) is for arrays, not for \(f32\[\]\)"):
            getattr(Shape("(f32[])"), method)()
    for shape in (Shape.token_shape(), Shape("opaque[]")):
        with pytest.raises(xla_client.XlaRuntimeError, match=r"element_type\(\) is for arrays, not for (token|opaque)\[\]"):
            shape.numpy_dtype()
    with pytest.raises(xla_client.XlaRuntimeError, match="is for tuples"):
        SCALAR.tuple_shapes()
    with pytest.raises(xla_client.XlaRuntimeError, match="Invalid dimension size -2"):
        Shape.array_shape(F32, (-2,))
    with pytest.raises(TypeError, match="no element type for NumPy's"):
        Shape.array_shape(np.dtype("datetime64"), ())
    with pytest.raises(TypeError, match="is not an element type"):
        Shape.array_shape(xla_client.PrimitiveType.TUPLE, ())
