"""Builders: each graph runs here and in XLA, which reads its text."""

import re

import numpy as np
import pytest
from graphs import GRAPHS, I, NOT_IN_XLA, ROW, X, add, applied, built
from hosts import F32, SCALAR, Shape, in_jaxlib, run

import farcall
from farcall import xla_client
from farcall.xla_client import ops


@pytest.mark.parametrize("name", GRAPHS)
def test_graphs_in_both_hosts(name):
    c, root, arguments = built(name)
    results = run(c, *arguments, root=root)
    text = c.build(root).as_hlo_text()
    np.testing.assert_equal(
        [r.shape for r in results], [leaf.dimensions() for leaf in leaves(c.build(root).program_shape().result_shape())]
    )
    if name in NOT_IN_XLA:
        pytest.importorskip("jaxlib.xla_client").hlo.hlo_module_from_text(text)
        try:
            in_jaxlib(text, arguments)
        except RuntimeError as error:
            assert f"UNIMPLEMENTED: {name.lower()}" in str(error)
        np.testing.assert_allclose(results[0], getattr(np, re.sub("^a", "arc", name.lower()))(arguments[0]), rtol=1e-5)
        return
    expected = in_jaxlib(text, arguments)
    assert len(results) == len(expected)
    for ours, theirs in zip(results, expected):
        assert ours.dtype == theirs.dtype and ours.shape == theirs.shape
        if ours.dtype.kind in "fc" and name != "constants":
            np.testing.assert_allclose(ours, theirs, rtol=2e-6, atol=1e-6)
        else:
            np.testing.assert_array_equal(ours, theirs)
    # farcall also reads its own text, and the program returns the same results.
    assert str(xla_client.XlaComputation(text).as_hlo_text()) == text
    again = farcall.compile(text).run(arguments)
    for ours, theirs in zip(results, again):
        np.testing.assert_array_equal(ours, theirs)


def leaves(shape):
    return [leaf for part in shape.tuple_shapes() for leaf in leaves(part)] if shape.is_tuple() else [shape]


def test_functions_that_only_farcall_has():
    for name, expected in [("Lgamma", 0.57236494), ("Digamma", -1.9635100), ("Erfc", 0.47950012), ("ErfInv", 0.47693628)]:
        c = xla_client.XlaBuilder(name)
        getattr(ops, name)(ops.Parameter(c, 0, SCALAR))
        np.testing.assert_allclose(run(c, np.float32(0.5)), [expected], rtol=1e-6)
    with pytest.raises(AttributeError, match="ops has no operation SVD: it is not supported"):
        ops.SVD
    with pytest.raises(AttributeError, match="xla_client has no NamedSharding: it is a part of JAX's arrays"):
        xla_client.NamedSharding


def test_random_numbers():
    c = xla_client.XlaBuilder("rng")
    low, high = (ops.Constant(c, np.float32(x)) for x in (2, 3))
    ops.RngUniform(low, high, Shape("f32[100]"))
    [x] = run(c)
    assert x.shape == (100,) and (2 <= x).all() and (x < 3).all() and len(np.unique(x)) > 50
    c = xla_client.XlaBuilder("bits")
    state = ops.Constant(c, np.array([1, 2], np.uint64))
    ops.RngBitGenerator(ops.RandomAlgorithm.RNG_THREE_FRY, state, Shape("u32[4]"))
    new, bits = run(c)
    assert new.dtype == np.uint64 and bits.shape == (4,)
    expected = in_jaxlib(c.build().as_hlo_text(), [])
    np.testing.assert_array_equal(bits, expected[1])


def test_operands_that_do_not_fit():
    c = xla_client.XlaBuilder("wrong")
    x, row = ops.Constant(c, X), ops.Constant(c, ROW)
    one, square = ops.Constant(c, np.float32(1)), ops.Constant(c, np.ones((2, 2), F32))
    assert ops.Add(square, square, (0, 1)).shape == square.shape

    def typed_call(opaque):
        return ops.CustomCall(c, "f", [one], SCALAR, opaque, api_version=ops.CustomCallApiVersion.API_VERSION_TYPED_FFI)

    cases = [
        (lambda: ops.Add(x, row), r"Add: operands of different numbers of dimensions, f32\[2,3\]\{1,0\} and f32\[3\]\{0\}"),
        (lambda: ops.Add(x, row, (0,)), r"cannot be broadcast to \[2, 3\] along \[0\]"),
        (lambda: ops.Add(x, ops.Constant(c, I)), r"add\(f32\[2,3\]\{1,0\}, s32\[2,3\]\{1,0\}\): "),
        (lambda: ops.Transpose(x, (0, 0)), "transpose"),
        (lambda: ops.Reshape(x, (4,)), "Reshape.*have different numbers of elements"),
        (lambda: ops.ConcatInDim(c, [x, row], 0), "concatenate"),
        (lambda: ops.Dot(x, x), "dot"),
        (lambda: ops.Dot(one, one), r"Dot: operands are vectors or matrices, not f32\[\] and f32\[\]"),
        (lambda: ops.Add(square, square, (1, 0)), r"Add: broadcast_dimensions \[1, 0\] .* are neither left out nor \[0, 1\]"),
        (lambda: ops.Add(one, one, (0,)), r"Add: broadcast_dimensions \[0\]"),
        (lambda: ops.Add(*[ops.Tuple(c, [x])] * 2), "Add: operands are arrays, not "),
        (lambda: ops.Neg(ops.Tuple(c, [x])), "Neg: operands are arrays, not "),
        (lambda: ops.GetTupleElement(ops.Tuple(c, [x]), 1), "none of index 1"),
        (lambda: ops.Reduce(c, [x], [row], add(), (0,)), "reduce"),
        (lambda: ops.Call(c, add(), [x]), r"Call: the computation's parameters are \(f32\[\], f32\[\]\)"),
        (lambda: ops.Parameter(c, 0, SCALAR) and ops.Parameter(c, 0, SCALAR), "a parameter 0 already"),
        (lambda: ops.Iota(c, Shape("f32[2,3]"), 2), "iota"),
        (lambda: ops.Iota(c, Shape("f32[2,3]"), -1), "iota"),
        (lambda: ops.Iota(c, Shape("(f32[2])"), 0), r"Iota: the result is an array, not \(f32\[2\]"),
        (lambda: ops.Iota(c, Shape("pred[2]"), 0), "iota"),
        (lambda: ops.BitcastConvertType(ops.Iota(c, Shape("u8[2,3]"), 0), np.dtype(np.uint16)), "bitcast"),
        (lambda: ops.BitcastConvertType(x, np.dtype(np.complex64)), "bitcast"),
        (lambda: ops.While(add(), applied("one", ops.Neg, count=1), x), r"While: the computation's parameters"),
        (lambda: ops.While(applied("one", ops.Neg, count=1), applied("one", ops.Neg, count=1), row), "While"),
        (lambda: ops.While(applied("no", ops.Neg, count=1), applied("one", ops.Neg, count=1), one), "while"),
        (lambda: ops.While(applied("yes", ops.IsFinite, count=1), applied("no", ops.IsFinite, count=1), one), "while"),
        (lambda: ops.RngUniform(one, one, Shape("c64[2]")), "rng"),
        (lambda: typed_call("{a = 1 : i32}, custom_call_has_side_effect=true"), "f: the opaque string of a typed target is a dictionary"),
        (lambda: typed_call("not a dictionary"), "f: the opaque string of a typed target is a dictionary"),
        (lambda: typed_call('{a = "}'), "custom-call.*this string does not end"),
        (lambda: typed_call("{a = }"), "custom-call"),
        (lambda: typed_call("{a = 1 : i32"), "f: the opaque string of a typed target is a dictionary"),
        (lambda: ops.CustomCallWithAliasing(c, "f", [row], SCALAR, [row.shape], output_operand_aliasing=[((), (0, ()))]), "custom-call"),
        (lambda: ops.CustomCallWithAliasing(c, "f", [row], SCALAR, [row.shape], output_operand_aliasing=[((), (1, ()))]), "custom-call"),
    ]
    typed_call('{a = "}, {\\22", b = {c = 1 : i32}}')
    for case, message in cases:
        with pytest.raises(xla_client.XlaRuntimeError, match=message) as e:
            case()
        assert str(e.value).startswith("INVALID_ARGUMENT: ")
    with pytest.raises(TypeError, match="an operand is an XlaOp, not 3"):
        c._own(3)
    for case, name in [
        (lambda: ops.Clamp(x, 1, x), "Clamp: operand is an XlaOp"),
        (lambda: ops.Add(1, x), "Add: lhs is an XlaOp"),
        (lambda: ops.Select(x, 1, x), "Select: on_true is an XlaOp"),
        (lambda: ops.Neg(1), "Neg: operand is an XlaOp"),
        (lambda: ops.Dot(x, 1), "Dot: rhs is an XlaOp"),
        (lambda: ops.Reshape(1, (2,)), "Reshape: operand is an XlaOp"),
        (lambda: ops.Tuple(c, 1), "Tuple: elements is a sequence of XlaOps"),
        (lambda: ops.Parameter(1, 0, SCALAR), "Parameter: builder is an XlaBuilder"),
        (lambda: ops.Parameter(c, 0, 1), "Parameter: shape is a Shape"),
        (lambda: ops.CustomCall(c, "f", [x], 1), "CustomCall: shape is a Shape"),
        (lambda: ops.While(1, add(), x), "While: condition is an XlaComputation"),
        (lambda: ops.Conditional(1, [add()], [x]), "Conditional: branch_index is an XlaOp"),
        (lambda: ops.Conditional(x, x, 1, x, add()), "Conditional: true_computation is an XlaComputation"),
        (lambda: ops.ReduceWindowWithGeneralPadding(1, x, add(), (1,), (1,), (), (), ()), "ReduceWindowWithGeneralPadding: operand is an XlaOp or a"),
        (lambda: ops.Lgamma(1), "Lgamma: operands is an XlaOp"),
        (lambda: xla_client.ComputationBuilder("c").Exp(1), "Exp: operand is an XlaOp"),
    ]:
        with pytest.raises(TypeError, match=f"^{name}"):
            case()
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'permutation'"):
        ops.Transpose(x)
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'iota_dimension'"):
        ops.Iota(c, SCALAR)
    with pytest.raises(xla_client.XlaRuntimeError, match="no instruction was added"):
        xla_client.XlaBuilder("empty").build()
    c = xla_client.XlaBuilder("gap")
    ops.Parameter(c, 1, SCALAR)
    with pytest.raises(xla_client.XlaRuntimeError, match="gap has no parameter 0, but a later one"):
        c.build()


def test_what_builders_say():
    c = xla_client.XlaBuilder("says")
    x = ops.Parameter(c, 0, Shape("f32[2]"), name="x")
    c.set_op_metadata(xla_client.CurrentSourceInfoMetadata(op_type="Neg", op_name="negated"))
    sharding = xla_client.OpSharding()
    c.set_sharding(sharding)
    y = ops.Neg(x)
    c.clear_op_metadata()
    c.clear_sharding()
    z = ops.Exp(ops.Constant(c, np.float32(1)))
    assert c.get_shape(y) == c.GetShape(y) == Shape("f32[2]")
    assert not c.is_constant(y) and c.is_constant(z)
    inner = xla_client.XlaBuilder("inner")
    low = ops.Parameter(inner, 0, SCALAR)
    constant, random = inner.build(low), inner.build(ops.RngUniform(low, ops.Constant(inner, np.float32(9)), SCALAR))
    outer = xla_client.XlaBuilder("outer")
    ops.Call(outer, random, [ops.Parameter(outer, 0, SCALAR)])
    for computation, expected in [(constant, True), (random, False), (outer.build(), False)]:
        assert c.is_constant(ops.Call(c, computation, [z])) is expected
    assert repr(c.get_program_shape()) == "(p0: f32[2]) -> f32[]"
    c.setup_alias([], 0, [])
    text = c.build(y).as_hlo_text()
    assert 'ROOT %negate.2 = f32[2]{0} negate(%x.1), sharding={replicated}, metadata={op_type="Neg" op_name="negated"' in text
    assert "input_output_alias={ {}: (0, {}, may-alias) }" in text
    assert c.build(y).name() == "says" and c.build(y).hash() == c.build(y).hash() != c.build().hash()
    np.testing.assert_array_equal(run(c, np.ones(2, F32), root=y), [[-1, -1]])
    assert in_jaxlib(text, [np.ones(2, F32)])[0].tolist() == [-1, -1]


def test_the_first_builder():
    c = xla_client.ComputationBuilder("first")
    x = c.ParameterFromNumpy(X)
    y = c.ParameterWithShape(Shape("f32[3]"))
    c.Tuple(
        c.Reduce(c.Mul(x, x), c.ConstantF32Scalar(0), c_add(), [0]),
        c.Dot(x, y),
        c.DynamicSlice(x, c.Constant(np.array([0, 1], np.int32)), [1, 2]),
        c.Slice(x, [0, 0], [1, 2]),
        c.Reshape(x, None, (6,)),
        c.Trans(x),
        c.Sort(x, dimension=1),
        c.Max(c.ConstantS32Scalar(1), c.ConstantS32Scalar(2)),
        c.Concatenate([y, c.Iota(np.float32, 2)], 0),
        c.While(c_less(), c_double(), c.ConstantF32Scalar(1)),
    )
    computation = c.Build()
    assert computation.GetReturnValueShape().is_tuple() and computation.GetProgramShape().parameter_shapes()[1] == Shape("f32[3]")
    results = xla_client.execute_with_python_values(computation.Compile(), (X, ROW))
    assert isinstance(results, tuple)
    expected = [(X * X).sum(0), X @ ROW, X[:1, 1:3], X[:1, :2], X.ravel(), X.T, np.sort(X, 1), np.int32(2), [1, 2, 3, 0, 1], np.float32(16)]
    for ours, theirs in zip(results, expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-6)
    with pytest.raises(AttributeError, match="ComputationBuilder has no method Frobnicate"):
        c.Frobnicate


def test_what_the_first_executables_return():
    c = xla_client.ComputationBuilder("nested")
    pair = c.ParameterFromNumpy((X, np.float32(2)))
    c.Tuple(c.Mul(c.GetTupleElement(pair, 0), c.GetTupleElement(pair, 1)), pair)
    executable = c.Build().Compile()
    for result in (
        xla_client.execute_with_python_values(executable, [(X, np.float32(2))]),
        executable.Execute([xla_client.Buffer.from_pyval((X, np.float32(2)))]).to_py(),
    ):
        product, (first, second) = result
        np.testing.assert_array_equal(product, 2 * X)
        np.testing.assert_array_equal(first, X)
        assert second == 2
    buffer = xla_client.Buffer.make_tuple([xla_client.Buffer.from_pyval(X), xla_client.Buffer.from_pyval((ROW,))])
    assert buffer.xla_shape() == Shape("(f32[2,3], (f32[3]))") and len(buffer.destructure()) == 2
    c = xla_client.ComputationBuilder("single")
    c.ConstantF32Scalar(3)
    assert c.Build().Compile().Execute().to_py() == 3


def test_hashes_and_graphs():
    def double(name):
        c = xla_client.ComputationBuilder(name)
        c.Mul(c.ParameterFromNumpy(np.float32(0), name=name), c.ConstantF32Scalar(2))
        return c.Build()

    assert double("one").Hash() == double("other").Hash() != c_less().Hash()
    assert double("one").GetHloDotGraph().startswith("digraph ") and '"one.1" -> "multiply.3"' in double("one").GetHloDotGraph()


def c_add():
    c = xla_client.ComputationBuilder("add")
    c.Add(c.ParameterFromNumpy(np.float32(0)), c.ParameterFromNumpy(np.float32(0)))
    return c.Build()


def c_double():
    c = xla_client.ComputationBuilder("double")
    c.Mul(c.ParameterFromNumpy(np.float32(0)), c.ConstantF32Scalar(2))
    return c.Build()


def c_less():
    c = xla_client.ComputationBuilder("less")
    c.Lt(c.ParameterFromNumpy(np.float32(0)), c.ConstantF32Scalar(10))
    return c.Build()
