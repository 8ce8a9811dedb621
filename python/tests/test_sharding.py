"""Programs that XLA splits among devices. The ops are those of examples/gallery and crates/farcall-linalg,
and ops with forms of signatures that these lack. Each op is split along every dimension that its signature
allows, on a mesh of 4×2 devices with either kind of axes (`Auto` or `Explicit`).

Operands and splits follow from the signatures. The tests check that the results equal the results on one
device, that nothing is gathered, and that the number of all-reduces is at most the number implied by the
signatures.
"""

import functools
import itertools
import re
from typing import Any

import numpy as np
import pytest
from libraries import built, example

jax = pytest.importorskip("jax")
jnp = jax.numpy

import farcall  # noqa: E402
from farcall._sharding import Factors  # noqa: E402
from jax.sharding import NamedSharding, PartitionSpec as P  # noqa: E402
from unoptimized import jitted  # noqa: E402

GALLERY = farcall.load(example("gallery_ops"))
#: Decompositions for f64 only, since the operands here have this type. (The ops do not exist for all types.)
LINALG = [
    op
    for op in farcall.load(example("farcall_linalg"))
    if op.__name__.startswith(("qr", "eigh")) and not op.__name__.endswith(("16", "32"))
]
OPS = {op.__name__: op for op in [*GALLERY, *LINALG] if "side_effect" not in op.signature}

#: Ops with other signatures: reducers, layouts, repeated dimensions, conditional results, no dimensions.
FORMS = """
use farcall_ffi::prelude::*;

#[handler(name = "largest")]
#[signature((x: f64[*, m, n]) -> (y: f64[*, m]) where m: map; n: max)]
fn largest(x: &Buffer<f64>, y: &mut Buffer<f64>) { folded(x, y, f64::max) }

#[handler(name = "smallest")]
#[signature((x: f64[*, m, n]) -> (y: f64[*, m]) where m: map; n: min)]
fn smallest(x: &Buffer<f64>, y: &mut Buffer<f64>) { folded(x, y, f64::min) }

#[handler(name = "product")]
#[signature((x: f64[*, m, n]) -> (y: f64[*, m]) where m: map; n: prod)]
fn product(x: &Buffer<f64>, y: &mut Buffer<f64>) { folded(x, y, |a, b| a * b) }

#[handler(name = "every")]
#[signature((x: s32[m, n]) -> (y: s32[m]) where m: map; n: and)]
fn every(x: &Buffer<i32>, y: &mut Buffer<i32>) { folded(x, y, |a, b| a & b) }

#[handler(name = "some")]
#[signature((x: s32[m, n]) -> (y: s32[m]) where m: map; n: or)]
fn some(x: &Buffer<i32>, y: &mut Buffer<i32>) { folded(x, y, |a, b| a | b) }

fn folded<T: Copy + farcall_ffi::Element>(x: &Buffer<T>, y: &mut Buffer<T>, f: impl Fn(T, T) -> T) {
    for (x, y) in x.rows().zip(y.iter_mut()) {
        *y = x[1..].iter().fold(x[0], |a, b| f(a, *b));
    }
}

#[handler(name = "columns")]
#[signature((x: f64[*, m, n] column_major) -> (y: f64[*, m, n] column_major) where m: map)]
fn columns(x: &Buffer<f64>, y: &mut Buffer<f64>) { twice(x, y) }

#[handler(name = "ordered")]
#[signature((x: f64[*, a, b, c] layout(2, 0, 1)) -> (y: f64[*, a, b, c] layout(2, 0, 1)) where a, c: map)]
fn ordered(x: &Buffer<f64>, y: &mut Buffer<f64>) { twice(x, y) }

#[handler(name = "conditional")]
#[signature((x: f64[*, n, n], bias: f64[*, n, n]?) -> (y: f64[*, n, n], z: f64[*, n, n] if bias))]
fn conditional(x: &Buffer<f64>, bias: Option<&Buffer<f64>>, y: &mut Buffer<f64>, z: Option<&mut Buffer<f64>>) {
    twice(x, y);
    if let (Some(bias), Some(z)) = (bias, z) {
        twice(bias, z);
    }
}

#[handler(name = "repeated")]
#[signature((x: f64[*, n, n], y: f64[n, n], t: f64[2*n, 2*n], fixed: f64[*, 2, 2], k: i64)
    -> (z: f64[*, n, n], u: f64[*, k, k, k+n, k+n], w: f64[*, 2, 2]))]
fn repeated(
    x: &Buffer<f64>, y: &Buffer<f64>, t: &Buffer<f64>, fixed: &Buffer<f64>, k: i64,
    z: &mut Buffer<f64>, u: &mut Buffer<f64>, w: &mut Buffer<f64>,
) {
    twice(x, z);
    u.fill(y[1] + t[1] + k as f64);
    twice(fixed, w);
}

#[handler(name = "lists")]
#[signature((xs: f64[*, n..., n...]...) -> (ys: f64[*, n..., n...]..., s: f64[*, sum(n), sum(n)]))]
fn lists(xs: &RestOperands<Buffer<f64>>, ys: &mut RestResults<Buffer<f64>>, s: &mut Buffer<f64>) {
    s.fill(xs.len() as f64);
    xs.iter().zip(ys.iter_mut()).for_each(|(x, y)| twice(x, y));
}

#[handler(name = "whole_batch")]
#[signature((x: f64[*, n, n]) -> (y: f64[*, n, n]) where *: whole)]
fn whole_batch(x: &Buffer<f64>, y: &mut Buffer<f64>) { twice(x, y) }

#[handler(name = "in_place")]
#[signature((x: f64[*, n, n], v: f64[..]) -> (y: f64[*, n, n] aliases x, w: f64[..] aliases v) where *: whole)]
fn in_place(x: &mut InOut<Buffer<f64>>, v: &mut InOut<Buffer<f64>>) {
    x.iter_mut().chain(v.iter_mut()).for_each(|x| *x *= 2.0);
}

/// Twice the square of each element of a matrix. The residual is as large as the matrix.
#[handler(name = "squares")]
#[signature((x: f64[*, n, n]) -> (y: f64[*, n, n]))]
#[vjp(residuals(r: f64[*, n, n]), backward = squares_bwd)]
#[jvp(tangent = squares_jvp)]
fn squares(x: &Buffer<f64>, y: &mut Buffer<f64>, r: &mut Buffer<f64>) {
    twice(x, r);
    x.iter().zip(y.iter_mut()).for_each(|(x, y)| *y = 2.0 * x * x);
}

#[handler(name = "squares_bwd")]
#[signature((r: f64[*, n, n], dy: f64[*, n, n]) -> (dx: f64[*, n, n]))]
fn squares_bwd(r: &Buffer<f64>, dy: &Buffer<f64>, dx: &mut Buffer<f64>) {
    r.iter().zip(dy.iter()).zip(dx.iter_mut()).for_each(|((r, dy), dx)| *dx = 2.0 * r * dy);
}

#[handler(name = "squares_jvp")]
#[signature((x: f64[*, n, n], dx: f64[*, n, n]) -> (dy: f64[*, n, n]))]
fn squares_jvp(x: &Buffer<f64>, dx: &Buffer<f64>, dy: &mut Buffer<f64>) {
    x.iter().zip(dx.iter()).zip(dy.iter_mut()).for_each(|((x, dx), dy)| *dy = 4.0 * x * dx);
}

fn twice(x: &Buffer<f64>, y: &mut Buffer<f64>) {
    x.iter().zip(y.iter_mut()).for_each(|(x, y)| *y = 2.0 * x);
}

farcall_ffi::library!("forms", [
    largest, smallest, product, every, some, columns, ordered, conditional, repeated, lists, whole_batch, in_place, squares, squares_bwd,
    squares_jvp
]);
"""
#: Names of these ops, so that pytest can list the tests before the library is built.
FORM_NAMES = re.findall(r'#\[handler\(name = "(\w+)"', FORMS)

#: Attributes that do not follow from signatures: those of ops with `[..]` results.
ATTRIBUTES = {"transpose": {"perm": [1, 0]}, "transpose_bwd": {"perm": [1, 0]}}

OPERAND = re.compile(r"(\w+): (\w+|\w+\(\w+\))\[([^\]]*)\](\.\.\.|\?)?")
MESH = {"x": 4, "y": 2}
#: Sizes of a dimension such as `n...`: one for each variadic operand.
EACH = (2, 3)

every_op = pytest.mark.parametrize("name", [*OPS, *FORM_NAMES])
both_kinds = pytest.mark.parametrize("kind", ["Auto", "Explicit"])


@pytest.fixture(scope="module", autouse=True)
def forms(tmp_path_factory):
    try:
        path = built(tmp_path_factory.mktemp("forms"), "forms", FORMS)
    except pytest.skip.Exception:
        return  # the tests of the other ops do not need the built library
    OPS.update({op.__name__: op for op in farcall.load(path)})


def op_of(name: str) -> farcall.Op:
    if name not in OPS:
        pytest.skip("the library of forms cannot be built here")
    return OPS[name]


@pytest.fixture(autouse=True)
def x64():
    with jax.enable_x64(True):
        yield


def mesh(kind: str) -> jax.sharding.Mesh:
    return jax.make_mesh(tuple(MESH.values()), tuple(MESH), axis_types=(jax.sharding.AxisType[kind],) * len(MESH))


def attributes(op: farcall.Op) -> dict[str, Any]:
    """Returns values for the required attributes."""
    given = ATTRIBUTES.get(op.__name__, {})
    values = {"i64": 1, "f32": 0.5, "f64": 0.5, "bool": False}
    types = {name: ty for name, ty, required, _ in op._native.attributes if required and name not in given}
    return {**{name: values[ty] for name, ty in types.items()}, **given}


def size(dim: str, attributes: dict[str, Any]) -> int:
    """Evaluates the expression of a size. Attributes stand for their values, all other names for 8."""
    folded = re.sub(r"(sum|min|max|len)\((\w+)\)", lambda fold: str(eval(fold[1])(EACH)), dim)
    known = re.sub(r"[a-z]\w*(?!\w*\()", lambda name: str(attributes.get(name[0], 8)), folded)
    return eval(known.replace("/", "//"))


def operands(op: farcall.Op) -> list[np.ndarray]:
    """Returns all operands, with two batch dimensions. Sizes that can be split are multiples of 8."""
    random = np.random.default_rng(0)
    arrays = []
    for _, element, dims, arity in OPERAND.findall(op.signature.split(" -> ")[0]):
        for each in EACH if arity == "..." else [8]:
            shape: list[int] = []
            for dim in filter(None, re.split(r", (?![^(]*\))", dims)):
                if dim == "*" or dim == "..":
                    shape += [8, 16]
                elif dim.endswith("..."):
                    shape.append(each)
                else:
                    shape.append(size(dim, attributes(op)))
            dtype = {"s32": np.int32, "pred": np.bool_}.get(element, np.complex128 if "complex" in element else np.float64)
            values = random.uniform(0.5, 1.5, shape) if np.issubdtype(dtype, np.inexact) else random.integers(0, 2, shape)
            arrays.append(np.asarray(values).astype(dtype))
    return arrays


def called(op: farcall.Op, *operands: Any, **attributes: Any) -> Any:
    """Calls an op with a flat list of operands: groups several variadic operands as lists, and passes offsets
    by name."""
    names = [name for name, _ in op._native.operands]
    offsets = {names.index(name): name for name, _ in op._native.offsets}
    attributes |= {name: operands[i] for i, name in offsets.items()}
    operands = tuple(x for i, x in enumerate(operands) if i not in offsets)
    variadic = sum(arity == "variadic" for _, arity in op._native.operands)
    if variadic < 2:
        return op(*operands, **attributes)
    single = len(op._native.operands) - variadic
    each = (len(operands) - single) // variadic
    lists = (list(operands[i : i + each]) for i in range(single, len(operands), each))
    return op(*operands[:single], *lists, **attributes)


def factors_of(op: farcall.Op, types: Any, attributes: Any) -> Factors:
    return Factors(*op._native.factors([(farcall._arrays.dtype_name(np.dtype(t.dtype)), t.shape) for t in types], attributes))


def is_inexact(x: Any) -> bool:
    return np.issubdtype(x.dtype, np.inexact)


class Case:
    """An op with operands, for splits along its factors."""

    def __init__(self, name: str) -> None:
        op = op_of(name)
        self.native = op._native
        self.op = functools.partial(called, op, **attributes(op))
        self.operands = operands(op)
        bound = self.native.bind(self.operands, list(attributes(op).items()), op._declared)[1]
        self.factors = factors_of(OPS[name], self.operands, bound)

    def splits(self) -> list[dict[int, Any]]:
        """Returns one split for each factor that may be split: a map from this factor to the only axis that
        splits it."""
        return [{i: "x"} for i in range(len(self.factors.factors)) if self.factors.is_split(i)]

    def all_splits(self) -> list[dict[int, Any]]:
        """Returns splits of each factor alone, by one axis and by both, and of all pairs of factors."""
        each = [i for split in self.splits() for i in split]
        both = [{i: ("x", "y")} for i in each]
        return self.splits() + both + [{i: "x", k: "y"} for i, k in itertools.combinations(each, 2)]

    def specs(self, split: dict[int, Any], tensors: Any) -> list[P]:
        return [P(*(split.get(factor) for factor in own)) for own in tensors]


@functools.cache
def case_of(name: str) -> Case:
    """Returns the case of an op, the same object for all tests, so that they share its programs."""
    return Case(name)


def on_mesh(values: Any, specs: Any, on: Any) -> list[Any]:
    return [jax.device_put(x, NamedSharding(on, spec)) for x, spec in zip(values, specs)]


def collectives(text: str) -> dict[str, int]:
    names = re.findall(r" (all-gather|all-reduce|all-to-all|collective-permute|reduce-scatter)(?:-start)?\(", text)
    return {name: names.count(name) for name in names}


def implied(function: Any, *args: Any) -> int:
    """Returns the number of results whose partial values must be combined according to the signatures of the
    ops that `function` calls. The splits are those of the arguments, on a mesh with explicit axes."""
    count = 0
    for call in jax.make_jaxpr(function)(*args).jaxpr.eqns:
        name, avals = call.primitive.name, [v.aval for v in call.invars]
        if name.endswith("_linear"):
            types = [jax.ShapeDtypeStruct(a.shape, a.dtype, sharding=a.sharding) for a in avals]
            count += implied(functools.partial(call.primitive.impl, **call.params), *types)
        elif name in OPS:
            factors = factors_of(OPS[name], avals, call.params["attributes"])
            axes = factors.axes(MESH, zip(factors.operands, [a.sharding.spec for a in avals]))
            reduced = [i for i, (_, kind) in enumerate(factors.factors) if kind != "map" and axes[i]]
            count += sum(any(i not in own for i in reduced) for own in factors.results)
    return count


def same(found: Any, expected: Any) -> None:
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9)


def check(function: Any, values: Any, specs: Any, kind: str) -> None:
    """Checks that a function of split values returns the results of one device, with no more communication
    than necessary."""
    compiled = jitted(function).lower(*on_mesh(values, specs, mesh(kind))).compile()
    found = collectives(compiled.as_text())
    most = implied(function, *on_mesh(values, specs, mesh("Explicit")))
    assert set(found) <= {"all-reduce"} and found.get("all-reduce", 0) <= most, f"{specs}: XLA uses {found}, but at most {most} all-reduces are needed"
    same(compiled(*on_mesh(values, specs, mesh(kind))), jitted(function)(*values))


@every_op
def test_every_dimension_that_the_signature_names_is_split(name):
    signature = op_of(name).signature
    declared = re.findall(r"([a-z*][\w, *]*): (?:map|sum|max|min)\b", signature.split(" where ")[-1])
    named = {dim for dims in declared for dim in dims.split(", ")} - {"*"}
    batch = 2 if "[*" in signature and "*: whole" not in signature else 0
    assert len(Case(name).splits()) == len(named) + batch


@every_op
@both_kinds
def test_values(name, kind):
    case = case_of(name)
    for split in case.all_splits():
        check(case.op, case.operands, case.specs(split, case.factors.operands), kind)


def derivative(case: Case, reverse: bool) -> tuple[Any, list[Any], list[int]] | None:
    """Returns a derivative as a function of the operands and of cotangents or tangents; the cotangents or
    tangents; and the differentiated operands. Returns `None` if the op has no such derivative."""
    moved = [i for i, x in enumerate(case.operands) if is_inexact(x)]
    count = len(case.operands)

    def of(given: Any, *values: Any) -> list[Any]:
        given = list(given)
        for i, value in zip(moved, values):
            given[i] = value
        return [y for y in jax.tree.leaves(case.op(*given)) if is_inexact(y)]

    def function(*args: Any) -> Any:
        given, others = args[:count], args[count:]
        of_moved, values = functools.partial(of, given), [given[i] for i in moved]
        return jax.vjp(of_moved, *values)[1](list(others)) if reverse else jax.jvp(of_moved, values, list(others))[1]

    shapes = [jax.ShapeDtypeStruct(case.operands[i].shape, case.operands[i].dtype) for i in moved]
    if reverse:
        shapes = jax.eval_shape(functools.partial(of, case.operands), *shapes)
    others = [np.asarray(np.random.default_rng(1).uniform(0.5, 1.5, s.shape)).astype(s.dtype) for s in shapes]
    try:
        jitted(function).lower(*case.operands, *others)
    except TypeError as error:
        assert "add #[" in str(error) or "has no second derivative" in str(error)
        return None
    return function, others, moved


@functools.cache
def derivative_of(name: str, reverse: bool) -> Any:
    """Returns `derivative` of the op's case, the same object for all tests, so that they share its programs."""
    return derivative(case_of(name), reverse)


@pytest.mark.parametrize("name", [*(name for name, op in OPS.items() if op.derivatives), "squares"])
@both_kinds
def test_derivatives(name, kind):
    """Checks reverse and forward derivatives, whose operands, cotangents and tangents are split as in the
    call. (An op that is linear in some operands may have only a transpose, which is not a derivative in all
    operands.)"""
    case = case_of(name)
    results = jax.tree.leaves(jax.eval_shape(case.op, *case.operands))
    found = {reverse: derivative_of(name, reverse) for reverse in (True, False)}
    assert any(found.values()) or "_jvp" in name
    for reverse, split in itertools.product((reverse for reverse in found if found[reverse]), case.splits()):
        function, others, moved = found[reverse]
        of_operands = case.specs(split, case.factors.operands)
        of_results = zip(case.specs(split, case.factors.results), results)
        of_moved = [spec for spec, y in of_results if is_inexact(y)] if reverse else [of_operands[i] for i in moved]
        check(function, [*case.operands, *others], [*of_operands, *of_moved], kind)


def mapped(case: Case, split: dict[int, Any]) -> Any:
    """Wraps the op in `shard_map`: each device calls the op on its parts, and reduces partial results."""
    [(factor, axis)] = split.items()
    of_results = case.specs(split, case.factors.results)

    def part(*operands: Any) -> Any:
        axes = [(axis,) if i == factor else () for i in range(len(case.factors.factors))]
        results = jax.tree.leaves(case.op(*case.factors.begun(operands, axes, MESH)))
        combine = {"sum": jax.lax.psum, "max": jax.lax.pmax, "min": jax.lax.pmin}.get(case.factors.factors[factor][1])
        return [combine(y, axis) if combine and factor not in own else y for y, own in zip(results, case.factors.results)]

    specs = tuple(case.specs(split, case.factors.operands))
    return jax.shard_map(part, mesh=mesh("Auto"), in_specs=specs, out_specs=of_results)


@every_op
def test_shard_map(name):
    """Checks values and gradients of calls that `shard_map` splits by hand along each dimension."""
    case = case_of(name)
    expected = jax.tree.leaves(case.op(*map(jnp.asarray, case.operands)))
    whole = jax.shard_map(case.op, mesh=mesh("Auto"), in_specs=P(), out_specs=P())
    same(jax.tree.leaves(jitted(whole)(*case.operands)), expected)
    for split in case.splits():
        same(jitted(mapped(case, split))(*case.operands), expected)
    if not (found := derivative_of(name, reverse=True)):
        return
    function, others, _ = found
    expected = jitted(function)(*case.operands, *others)
    for split in case.splits():
        split_case = Case(name)
        split_case.op = mapped(case, split)
        same(jitted(derivative(split_case, reverse=True)[0])(*case.operands, *others), expected)


def test_products_move_what_jax_numpy_moves():
    """For each split of a product and of its gradient, the op and `jnp.matmul` need exactly the communication
    that was counted by hand."""
    a, b, c = (np.random.default_rng(0).uniform(size=(8, 8)) for _ in range(3))

    def gradient(product):
        return lambda a, b, c: jax.vjp(product, a, b)[1](c)

    for specs, value, of_gradient in [
        ((P("x"), P(), P("x")), 0, 1),
        ((P(), P(None, "x"), P(None, "x")), 0, 1),
        ((P(None, "x"), P("x"), P()), 1, 0),
        ((P("x"), P(None, "y"), P("x", "y")), 0, 2),
        ((P("y", "x"), P("x"), P("y")), 1, 1),
    ]:
        for product, (function, count) in itertools.product(
            (GALLERY.gemm, jnp.matmul), ((lambda f: lambda a, b, c: f(a, b), value), (gradient, of_gradient))
        ):
            compiled = jax.jit(function(product)).lower(*on_mesh((a, b, c), specs, mesh("Auto"))).compile()
            assert collectives(compiled.as_text()) == ({"all-reduce": count} if count else {})


@pytest.mark.parametrize("kind", ["sum", "max", "min"])
def test_reducers(kind):
    x = np.random.default_rng(0).uniform(size=(8, 6))
    factors = Factors([(6, "map"), (8, kind)], [[1, 0]], [[0], [1, 0]])
    part = lambda x: [factors.combined(y, own, [(), ("x",)]) for y, own in zip((getattr(x, kind)(0), x), factors.results)]
    reduced, kept = jax.shard_map(part, mesh=mesh("Auto"), in_specs=P("x"), out_specs=[P(), P("x")])(x)
    same([reduced, kept], [getattr(x, kind)(0), x])


@both_kinds
def test_what_cannot_be_split_stays_whole(kind):
    """Only a dimension that the op needs whole is gathered; sizes that do not fit the mesh are not split."""
    x = np.random.default_rng(0).uniform(size=(8, 6))
    [split] = on_mesh([x], [P("x", "y")], mesh(kind))
    compiled = jax.jit(GALLERY.softmax).lower(split).compile()
    assert "f64[2,6]{1,0} custom-call(" in compiled.as_text()
    same(compiled(split), GALLERY.softmax(x))
    a, b = x[:6], np.ones((6, 3))
    uneven = lambda a, b: GALLERY.gemm(jax.lax.with_sharding_constraint(a, NamedSharding(mesh("Auto"), P(None, "x"))), b)
    if kind == "Auto":  # arrays cannot have this split, but values within a program can
        same(jax.jit(uneven)(*on_mesh((a, b), (P(), P()), mesh(kind))), a @ b)


def test_part_of_an_axis():
    """A reshape splits a dimension by a part of an axis, for which a mesh has no name. The results equal
    those on one device."""
    x = np.random.default_rng(0).uniform(size=(8, 5))
    function = lambda x: GALLERY.softmax(x.reshape(2, 4, 5))
    [split] = on_mesh([x], [P("x")], mesh("Auto"))
    same(jax.jit(function)(split), function(x))


@both_kinds
def test_loops_of_vmap(kind):
    """Each device loops over its part of the axis, forwards and backwards; the arrays of the loop are not
    gathered."""
    random = np.random.default_rng(0)
    x, scale = random.uniform(size=(8, 4, 6)), random.uniform(size=(8, 6))
    norm = GALLERY.scaled_rms_norm
    loss = lambda function: lambda *given: jnp.sum(jnp.sin(function(*given)))
    twice = jax.vmap(jax.vmap(norm, (0, None)), (0, 0))
    values = lambda function: lambda *given: function(*given)
    gradient = lambda function: jax.grad(loss(function), (0, 1))
    for of, function in itertools.product((values, gradient), (jax.vmap(norm), twice)):
        moves(of(function), [x, scale], [P("x"), P("x")], kind, {})
        moves(of(function), [x, scale], [P("x", "y"), P("x")], kind, {"all-reduce": 1} if of is gradient else {})
    each = jax.vmap(jax.grad(loss(norm), (0, 1)), (0, None))
    moves(each, [x, scale[0]], [P("x"), P()], kind, {})
    sums = jax.vmap(GALLERY.column_sums, 1)
    moves(sums, [x], [P("x", "y")], kind, {"all-reduce": 1})
    moves(lambda x: jax.jvp(sums, [x], [jnp.cos(x)]), [x], [P(None, "x")], kind, {})
    # The mesh axis `y` (2 devices) can split the loop's 6 entries; the axis `x` (4 devices) could not.
    moves(jax.vmap(norm), [x[:6], scale[:6]], [P("y"), P("y")], kind, {})


def moves(function: Any, values: Any, specs: Any, kind: str, expected: dict[str, int]) -> None:
    compiled = jax.jit(function).lower(*on_mesh(values, specs, mesh(kind))).compile()
    assert collectives(compiled.as_text()) == expected
    same(compiled(*on_mesh(values, specs, mesh(kind))), jax.jit(function)(*values))


@pytest.mark.parametrize("name", ["gemm", "scaled_rms_norm", "column_sums"])
@both_kinds
def test_exports(name, kind):
    """An exported program gathers arrays that are not split along leading batch dimensions, and returns the
    same results."""
    case = Case(name)
    function, others, _ = derivative(case, reverse=True)
    values, on = [*case.operands, *others], mesh(kind)
    for split in case.splits():
        specs = [*case.specs(split, case.factors.operands), *case.specs(split, case.factors.results)]
        exported = jax.export.export(jax.jit(function), disabled_checks=GALLERY.disabled_checks)(*on_mesh(values, specs, on))
        again = jax.export.deserialize(exported.serialize())
        same(jax.jit(again.call)(*on_mesh(values, specs, on)), jax.jit(function)(*values))


def test_exports_for_an_abstract_mesh():
    abstract = NamedSharding(mesh("Auto").abstract_mesh, P("x"))
    types = [jax.ShapeDtypeStruct((8, 4, 4), np.float64, sharding=abstract)] * 2
    exported = jax.export.export(jax.jit(GALLERY.gemm), disabled_checks=GALLERY.disabled_checks, platforms=["cpu"])(*types)
    a, b = np.random.default_rng(0).uniform(size=(2, 8, 4, 4))
    compiled = jax.jit(exported.call).lower(*on_mesh([a, b], [P("x")] * 2, mesh("Auto"))).compile()
    assert not collectives(compiled.as_text())
    same(compiled(*on_mesh([a, b], [P("x")] * 2, mesh("Auto"))), a @ b)


@pytest.mark.parametrize("shape", [(3, 2), (2, 3)])
def test_any_mesh(shape):
    """Checks meshes with axis sizes that are not powers of two, arrays on several meshes, and devices in any
    order."""
    a, b = np.random.default_rng(0).uniform(size=(2, 12, 12, 12))
    devices = np.array(jax.devices())
    on = jax.sharding.Mesh(devices[[3, 1, 5, 0, 2, 4]].reshape(shape), ("x", "y"))
    for axes in "x", "y", ("x", "y"), ("y", "x"):
        given = on_mesh([a, b], [P(None, None, axes), P(None, axes)], on)
        compiled = jax.jit(GALLERY.gemm).lower(*given).compile()
        assert collectives(compiled.as_text()) == {"all-reduce": 1}
        same(compiled(*given), a @ b)
    flat = jax.sharding.Mesh(on.devices.reshape(6), ("d",))
    same(jax.jit(GALLERY.gemm)(*on_mesh([a], [P("d")], flat), *on_mesh([b], [P("x")], on)), a @ b)


def test_the_program_says_what_is_called():
    """The program's text names the call and its attributes, because JAX looks up compiled programs by their
    text, and a split call itself contains only a number."""
    x = jax.device_put(jnp.ones((8, 4)), NamedSharding(mesh("Auto"), P("x")))

    def text(**attributes):
        lowered = jax.jit(lambda x: OPS["scaled_rms_norm"](x, jnp.ones(4), **attributes)).lower(x).as_text()
        return re.sub(r'backend_config = "\d+"', "", lowered)

    assert "scaled_rms_norm {eps = " in text()
    assert text() == text() != text(eps=0.25)
