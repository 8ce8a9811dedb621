"""Graphs that cover all instructions: for each, a function that builds the graph, and arguments."""

import numpy as np
from hosts import F32, Shape

from farcall import xla_client
from farcall.xla_client import ops


def scalars(c, kind=np.float32, count=2):
    return [ops.Parameter(c, i, Shape.scalar_shape(np.dtype(kind))) for i in range(count)]


def applied(name, function, kind=np.float32, count=2):
    c = xla_client.XlaBuilder(name)
    function(*scalars(c, kind, count))
    return c.build()


def add(kind=np.float32):
    return applied("add", ops.Add, kind)

X = np.array([[0.5, 0.25, -0.75], [0.125, -0.5, 0.375]], F32)
I = np.array([[5, -3, 2], [7, 1, -6]], np.int32)
ROW = np.array([1, 2, 3], F32)
UNARY = ["Abs", "Acos", "Asin", "Asinh", "Atan", "Atanh", "Cbrt", "Ceil", "Cos", "Cosh", "Erf", "Exp", "Expm1", "Floor", "IsFinite"]
UNARY += ["Log1p", "Logistic", "Neg", "Reciprocal", "Round", "RoundNearestEven", "Sign", "Sin", "Sinh", "Square", "Tan", "Tanh", "Not"]
UNARY += ["Clz", "PopulationCount", "Sqrt", "Rsqrt", "Log", "Acosh"]
INTEGERS = {"Not", "Clz", "PopulationCount"}
POSITIVE = {"Sqrt", "Rsqrt", "Log"}
BINARY = ["Add", "Sub", "Mul", "Div", "Rem", "Max", "Min", "Pow", "Atan2", "Eq", "Ne", "Ge", "Gt", "Lt", "Le", "Complex"]
BITS = ["And", "Or", "Xor", "ShiftLeft", "ShiftRightArithmetic", "ShiftRightLogical"]


def gather(c, a, indices):
    numbers = xla_client.GatherDimensionNumbers()
    numbers.offset_dims.append(1)
    numbers.collapsed_slice_dims.append(0)
    numbers.start_index_map.append(0)
    numbers.index_vector_dim = 1
    return ops.Gather(a, indices, numbers, slice_sizes=[1, 3])


def scatter(c, a, indices, updates):
    numbers = xla_client.ScatterDimensionNumbers()
    numbers.update_window_dims.append(1)
    numbers.inserted_window_dims.append(0)
    numbers.scatter_dims_to_operand_dims.append(0)
    numbers.index_vector_dim = 1
    return ops.Scatter(a, indices, updates, add(), numbers)


def convolution(c, lhs, rhs):
    numbers = xla_client.make_convolution_dimension_numbers(("NHWC", "HWIO", "NHWC"), 2)
    return ops.ConvGeneralDilated(lhs, rhs, [2, 1], [(1, 1), (0, 1)], (1, 2), (1, 1), numbers)


def looped(c, n):
    c2 = xla_client.XlaBuilder("body")
    state = ops.Parameter(c2, 0, Shape("(s32[], f32[])"))
    i, x = ops.GetTupleElement(state, 0), ops.GetTupleElement(state, 1)
    ops.Tuple(c2, [ops.Sub(i, ops.Constant(c2, np.int32(1))), ops.Mul(x, ops.Constant(c2, np.float32(2)))])
    c3 = xla_client.XlaBuilder("condition")
    state = ops.Parameter(c3, 0, Shape("(s32[], f32[])"))
    ops.Gt(ops.GetTupleElement(state, 0), ops.Constant(c3, np.int32(0)))
    return ops.While(c3.build(), c2.build(), ops.Tuple(c, [n, ops.Constant(c, np.float32(1))]))


def chosen(c, p, x):
    twice = applied("twice", lambda x: ops.Add(x, x), count=1)
    negated = applied("negated", ops.Neg, count=1)
    return ops.Conditional(p, x, twice, x, negated)


def switched(c, i, x):
    branches = [applied(name, getattr(ops, name), count=1) for name in ("Neg", "Square", "Exp")]
    return ops.Conditional(i, branches, [x, x, x])


def windows(c, x):
    pads = xla_client.window_padding_type_to_pad_values("SAME", (2, 3), (2, 1), (1, 1))
    return ops.ReduceWindowWithGeneralPadding(x, ops.Constant(c, np.float32(0)), add(), (2, 1), (1, 1), (), (), pads)


def selected(c, x):
    ge = applied("ge", ops.Ge)
    source = ops.Constant(c, np.array([[0.1, 0.2, 0.3]], F32))
    return ops.SelectAndScatterWithGeneralPadding(x, ge, (2, 1), (1, 1), [(0, 0), (0, 0)], source, ops.Constant(c, np.float32(1)), add())


def largest(c, x, i):
    """Builds a reduction of two arrays: the largest number of each row, and the entry of `i` beside it."""
    c2 = xla_client.XlaBuilder("larger")
    a, ai, b, bi = (ops.Parameter(c2, k, Shape.scalar_shape(np.dtype(t))) for k, t in enumerate([F32, np.int32] * 2))
    which = ops.Ge(a, b)
    ops.Tuple(c2, [ops.Select(which, a, b), ops.Select(which, ai, bi)])
    init = [ops.Constant(c, np.float32(-np.inf)), ops.Constant(c, np.int32(-1))]
    return ops.Reduce(c, [x, i], init, c2.build(), [1])


def product(c, lhs, rhs):
    numbers = xla_client.make_dot_dimension_numbers((([2], [1]), ([0], [0])))
    config = xla_client.PrecisionConfig()
    config.operand_precision = [config.Precision.HIGHEST] * 2
    return ops.DotGeneral(lhs, rhs, numbers, precision_config=config)


GRAPHS = {
    "broadcast_scalar": (lambda c, x, s: ops.Mul(x, s), X, np.float32(3)),
    "broadcast_dimensions": (lambda c, x, row: ops.Add(x, row, broadcast_dimensions=(1,)), X, ROW),
    "broadcast_size_one": (lambda c, x, y: ops.Add(x, y), X, np.ones((2, 1), F32)),
    "broadcast_both": (lambda c, x, y: ops.Sub(x, y), np.ones((1, 3), F32), np.ones((2, 1), F32)),
    "broadcast": (lambda c, x: ops.Broadcast(x, (2, 1)), ROW),
    "broadcast_in_dim": (lambda c, x: ops.BroadcastInDim(x, (4, 2, 3), (1, 2)), X),
    "select": (lambda c, x, y: ops.Select(ops.Gt(x, y), x, y), X, -X),
    "select_scalar": (lambda c, p, x: ops.Select(p, x, ops.Neg(x)), np.bool_(False), X),
    "clamp": (lambda c, a, x, b: ops.Clamp(a, x, b), np.float32(-0.3), X, np.float32(0.3)),
    "convert": (lambda c, x: ops.ConvertElementType(x, xla_client.PrimitiveType.F32), I),
    "bitcast": (lambda c, x: ops.BitcastConvertType(x, xla_client.PrimitiveType.S32), X),
    "bitcast_narrow": (lambda c, x: ops.BitcastConvertType(x, xla_client.PrimitiveType.U8), X),
    "reduce_precision": (lambda c, x: ops.ReducePrecision(x, 5, 4), X),
    "reshape": (lambda c, x: ops.Reshape(x, (3, 2)), X),
    "reshape_in_order": (lambda c, x: ops.Reshape(x, (1, 0), (6,)), X),
    "collapse": (lambda c, x: ops.Collapse(x, (0, 1)), X),
    "transpose": (lambda c, x: ops.Transpose(x, (1, 0)), X),
    "reverse": (lambda c, x: ops.Rev(x, (1,)), X),
    "slice": (lambda c, x: ops.Slice(x, (0, 0), (2, 3), (1, 2)), X),
    "slice_in_dim": (lambda c, x: ops.SliceInDim(x, 1, 3, 1, 1), X),
    "concatenate": (lambda c, x, y: ops.ConcatInDim(c, [x, y], 0), X, -X),
    "pad": (lambda c, x, v: ops.Pad(x, v, xla_client.make_padding_config([(1, 0, 1), (0, -1, 0)])), X, np.float32(9)),
    "dynamic_slice": (lambda c, x, i: ops.DynamicSlice(x, [ops.Constant(c, np.int32(0)), i], (2, 2)), X, np.int32(1)),
    "dynamic_update_slice": (lambda c, x, u, i: ops.DynamicUpdateSlice(x, u, [i, i]), X, np.ones((1, 1), F32), np.int32(1)),
    "iota": (lambda c: ops.Iota(c, xla_client.PrimitiveType.S32, 4),),
    "iota_along": (lambda c: ops.Iota(c, Shape("f32[2,3]"), 1),),
    "dimension_size": (lambda c, x: ops.GetDimensionSize(x, 1), X),
    "gather": (gather, np.arange(9, dtype=F32).reshape(3, 3), np.array([[2], [0]], np.int32)),
    "scatter": (scatter, np.zeros((3, 3), F32), np.array([[2], [0]], np.int32), X),
    "map": (lambda c, x, y: ops.Map(c, [x, y], applied("f", ops.Mul), (0, 1)), X, X),
    "reduce": (lambda c, x: ops.Reduce(c, [x], [ops.Constant(c, np.float32(0))], add(), (1,)), X),
    "reduce_all": (lambda c, x: ops.ReduceAll(x, ops.Constant(c, np.float32(0)), add()), X),
    "reduce_two": (largest, X, I),
    "reduce_window": (windows, X),
    "select_and_scatter": (selected, X),
    "sort": (lambda c, x: ops.Sort(c, [x], dimension=1), X),
    "sort_keys": (lambda c, x, y: ops.Sort(c, [x, y], applied("gt", lambda a, b, *_: ops.Gt(a, b), count=4), is_stable=True), X, -X),
    "top_k": (lambda c, x: ops.TopK(x, 2), X),
    "call": (lambda c, x: ops.Call(c, applied("f", ops.Neg, count=1), [x]), np.float32(2)),
    "call_twice": (lambda c, x: ops.Add(*(ops.Call(c, applied("f", f, count=1), [x]) for f in (ops.Neg, ops.Exp))), np.float32(2)),
    "while": (looped, np.int32(5)),
    "conditional": (chosen, np.bool_(True), np.float32(3)),
    "conditional_of_three": (switched, np.int32(1), np.float32(3)),
    "dot": (lambda c, x, y: ops.Dot(x, y), X, X.T.copy()),
    "dot_vector": (lambda c, x, y: ops.Dot(x, y), X, ROW),
    "dot_preferred": (
        lambda c, x, y: ops.Dot(x, y, preferred_element_type=xla_client.PrimitiveType.S32),
        I.astype(np.int8),
        I.T.astype(np.int8).copy(),
    ),
    "dot_general": (product, np.arange(12, dtype=F32).reshape(2, 2, 3), np.arange(12, dtype=F32).reshape(2, 3, 2)),
    "convolution": (convolution, np.arange(32, dtype=F32).reshape(1, 4, 4, 2), np.arange(24, dtype=F32).reshape(2, 2, 2, 3)),
    "cholesky": (lambda c, x: ops.Cholesky(x, lower=True), np.array([[4, 2], [2, 3]], F32)),
    "triangular_solve": (
        lambda c, a, b: ops.TriangularSolve(a, b, True, True, False, ops.TriangularSolveOptions_Transpose.TRANSPOSE),
        np.array([[2, 0], [1, 3]], F32),
        np.array([[1], [2]], F32),
    ),
    "fft": (lambda c, x: ops.Fft(x, xla_client.FftType.RFFT, [4]), np.arange(4, dtype=F32)),
    "complex": (lambda c, x: ops.Tuple(c, [ops.Conj(x), ops.Real(x), ops.Imag(x)]), np.array([1 + 2j, 3 - 1j], np.complex64)),
    "barrier": (lambda c, x: ops.OptimizationBarrier(x), X),
    "cross_replica_sum": (lambda c, x: ops.CrossReplicaSum(x), X),
    "replica": (lambda c: ops.ReplicaId(c),),
    "nested_tuples": (lambda c, x: ops.Tuple(c, [x, ops.Tuple(c, [ops.Neg(x), x])]), X),
    "root_elsewhere": (lambda c, x: (ops.Neg(x), ops.Exp(x))[0], X),
    "constants": (
        lambda c: ops.Tuple(
            c,
            [
                ops.Constant(c, np.asarray(value))
                for value in (
                    np.array([[1.5, np.nan, np.inf], [-np.inf, -0.0, 1e-40]], F32),
                    np.array([0.1, 1e300]),
                    np.array([2**63, 1], np.uint64),
                    np.array([True, False]),
                    np.array([1 + 2j, complex(np.inf, np.nan)], np.complex64),
                    np.zeros((2, 0), F32),
                    np.array([1, 2, 3], np.float16)[::-1],
                    np.asfortranarray(I),
                )
            ],
        ),
    ),
}
#: XLA's parser reads these instructions; its CPU backend does not support them before jaxlib 0.12.
NOT_IN_XLA = {"Acos", "Asin", "Asinh", "Atanh", "Acosh", "Cosh", "Sinh"}
GRAPHS |= {
    name: (
        lambda c, x, name=name: getattr(ops, name)(x),
        I if name in INTEGERS else np.abs(X) + (1 if name == "Acosh" else 0) if name in POSITIVE | {"Acosh"} else X,
    )
    for name in UNARY
}
GRAPHS |= {name: (lambda c, x, y, name=name: getattr(ops, name)(x, y), np.abs(X), X[::-1].copy()) for name in BINARY}
GRAPHS |= {name: (lambda c, x, y, name=name: getattr(ops, name)(x, y), I, np.abs(I)) for name in BITS}


def built(name):
    build, *arguments = GRAPHS[name]
    c = xla_client.XlaBuilder(name)
    parameters = [ops.Parameter(c, i, xla_client.shape_from_pyval(a)) for i, a in enumerate(arguments)]
    root = build(c, *parameters)
    return c, root, arguments
