"""Tests a declared op as an operation of JAX: rms_norm, whose gradient is computed by two targets. The
results are compared with the same function in jax.numpy."""

import inspect

import numpy as np
import pytest

jax = pytest.importorskip("jax")
jnp = jax.numpy
P = jax.sharding.PartitionSpec

import farcall  # noqa: E402
from libraries import built, example  # noqa: E402

EPS = 1e-3


def reference(x, scale):
    return x / jnp.sqrt((x * x).mean(-1, keepdims=True) + EPS) * scale


@pytest.fixture
def op(norm):
    return lambda x, scale: norm.rms_norm(x, scale, eps=EPS)


@pytest.fixture
def arrays():
    random = np.random.default_rng(0)
    return jnp.asarray(random.normal(size=(2, 3, 8)), jnp.float32), jnp.asarray(random.normal(size=8), jnp.float32)


def same(a, b, tolerance=1e-5):
    assert jax.tree.structure(a) == jax.tree.structure(b)
    for a, b in zip(jax.tree.leaves(a), jax.tree.leaves(b)):
        assert a.shape == b.shape and a.dtype == b.dtype
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


def loss(f):
    return lambda x, scale: jnp.sum(jnp.sin(f(x, scale)))


def scanned(f):
    return lambda x, scale: jax.lax.scan(lambda carry, _: (f(carry, scale) + carry, carry.sum()), x, None, length=3)


TRANSFORMED = {
    "call": lambda f: f,
    "jit": jax.jit,
    "grad": lambda f: jax.grad(loss(f), (0, 1)),
    "jit of grad": lambda f: jax.jit(jax.grad(loss(f), (0, 1))),
    "vjp": lambda f: lambda *a: jax.vjp(f, *a)[1](a[0]),
    "jacrev": lambda f: jax.jacrev(f, (0, 1)),
    "vmap": lambda f: jax.vmap(f, (1, None)),
    "vmap, axes at the end": lambda f: jax.vmap(f, (1, None), out_axes=2),
    "vmap over nothing": lambda f: lambda x, scale: jax.vmap(f, (0, None))(x[:0], scale),
    "vmap over nothing, a loop": lambda f: lambda x, scale: jax.vmap(f, (None, 0))(x, jnp.outer(scale[:0], scale)),
    "vmap twice": lambda f: jax.vmap(jax.vmap(f, (0, None)), (1, None)),
    "scale batched": lambda f: lambda x, scale: jax.vmap(f, (None, 0))(x, jnp.outer(jnp.arange(4, dtype=x.dtype), scale)),
    "both batched": lambda f: lambda x, scale: jax.vmap(f, (1, 1))(x, jnp.outer(scale, jnp.arange(3, dtype=x.dtype))),
    "vmap of grad": lambda f: jax.vmap(jax.grad(loss(f), (0, 1)), (1, None)),
    "grad of vmap": lambda f: jax.grad(loss(jax.vmap(f, (1, None))), (0, 1)),
    "scan": scanned,
    "grad of scan": lambda f: jax.grad(lambda x, s: scanned(f)(x, s)[0].sum() ** 2, (0, 1)),
    "grad of cond": lambda f: jax.grad(
        lambda x, s: jnp.sum(jax.lax.cond(x.sum() > 0, f, lambda x, s: x, x, s) ** 2), (0, 1)
    ),
    "grad of checkpoint": lambda f: jax.grad(loss(jax.checkpoint(f)), (0, 1)),
    "grad of checkpointed scan": lambda f: jax.grad(loss(lambda x, s: scanned(jax.checkpoint(f))(x, s)[0]), (0, 1)),
    "vmap of grad of scan": lambda f: jax.vmap(jax.grad(lambda x, s: scanned(f)(x, s)[0].sum(), (0, 1)), (1, None)),
    "grad of map": lambda f: jax.grad(loss(lambda x, s: jax.lax.map(lambda x: f(x, s), x)), (0, 1)),
    "eval_shape": lambda f: lambda *a: jnp.zeros(jax.eval_shape(f, *a).shape),
}


@pytest.mark.parametrize("name", TRANSFORMED)
@pytest.mark.parametrize("x64", [False, True])
def test_transformed(op, arrays, name, x64):
    with jax.enable_x64(x64):
        transform = TRANSFORMED[name]
        same(transform(op)(*arrays), transform(reference)(*arrays), 1e-4)


def test_numpy_arrays_run_in_the_engine(op, arrays):
    x, scale = map(np.asarray, arrays)
    y = op(x, scale)
    assert type(y) is np.ndarray
    same(y, np.asarray(reference(x, scale)))
    # Python numbers get an element type that the op supports.
    same(op([[1, 2], [3, 4]], [1.0, 0.5]), np.asarray(reference(np.float32([[1, 2], [3, 4]]), np.float32([1, 0.5]))))


def test_numbers_beside_jax_arrays(op, arrays):
    x, _ = arrays
    same(op(x, [1] * 8), op(x, jnp.ones(8)))
    same(jax.jit(op)(x, np.ones(8, np.float32)), op(x, jnp.ones(8)))


def test_a_function_as_python_knows_it(norm):
    op = norm.rms_norm
    assert str(inspect.signature(op)) == "(x, scale, *, eps=1e-06)"
    assert op.__name__ == "rms_norm"
    assert op.__doc__.startswith("Divides each row of `x` by its root mean square")
    assert "- `eps`: `f32`, 1e-6 by default" in op.__doc__
    assert op.batching == "native, a loop if scale is batched"
    assert op.derivatives == ["rms_norm_fwd", "rms_norm_bwd"]
    assert repr(norm).endswith("librms_norm_ops.so: rms_norm>")
    assert dir(norm) == ["rms_norm", "rms_norm_bwd", "rms_norm_fwd"]
    assert repr(op) == "<farcall.Op rms_norm(x: f32[*, n], scale: f32[n], eps: f32 = 1e-6) -> (y: f32[*, n])>"


def on_both(x):
    """Returns the value as a NumPy array and as a JAX array, for which errors have the same messages."""
    return [np.asarray(x), jnp.asarray(x)]


@pytest.mark.parametrize("side", [0, 1])
def test_mistakes_in_the_words_of_the_op(norm, arrays, side):
    x, scale = (on_both(a)[side] for a in arrays)
    call = norm.rms_norm
    cases = [
        (ValueError, "rms_norm: scale has n = 4 but x has n = 8", lambda: call(x, scale[:4])),
        (TypeError, "rms_norm: x must be f32, but is s32", lambda: call(x.astype(np.int32), scale)),
        (TypeError, "rms_norm: operand missing: scale", lambda: call(x)),
        (
            TypeError,
            r"rms_norm: takes 2 operands \(x, scale\), but is given 3; attributes are given by name: eps=…",
            lambda: call(x, scale, 1e-6),
        ),
        (TypeError, "rms_norm: there is no attribute epss; did you mean eps", lambda: call(x, scale, epss=1)),
        (TypeError, "rms_norm: attribute eps must be f32, but is str", lambda: call(x, scale, eps="small")),
        (TypeError, "rms_norm: x is given twice, by position and by name", lambda: call(x, x=x)),
    ]
    for error, message, run in cases:
        with pytest.raises(error, match=message):
            run()
    with pytest.raises(AttributeError, match="declares no op rms_nrm; did you mean rms_norm"):
        norm.rms_nrm


def test_mistakes_under_jit(norm, arrays):
    x, scale = arrays
    with pytest.raises(ValueError, match="rms_norm: scale has n = 4 but x has n = 8"):
        jax.jit(norm.rms_norm)(x, scale[:4])
    with pytest.raises(TypeError, match=r"rms_norm: attribute eps is traced, but must be known .*static_argnames"):
        jax.jit(lambda eps: norm.rms_norm(x, scale, eps=eps))(1e-3)
    same(norm.rms_norm(x, scale, eps=jnp.float32(EPS)), reference(x, scale))


def test_a_derivative_that_is_missing(norm, op, arrays):
    x, scale = arrays
    with pytest.raises(TypeError, match=r"rms_norm has no forward derivative, .* add #\[jvp\(tangent = …\)\]"):
        jax.jvp(op, arrays, arrays)
    with pytest.raises(TypeError, match=r"rms_norm_fwd has no gradient: add #\[vjp\(backward = …\)\]"):
        jax.grad(lambda x: norm.rms_norm_fwd(x, scale)[0].sum())(x)
    # An op without a gradient may be called if none of its operands is differentiated.
    jax.grad(lambda t: t * norm.rms_norm_fwd(x, scale)[0].sum())(1.0)


def test_a_second_derivative_of_an_op_with_residuals(gallery):
    x = jnp.ones((2, 3))
    first = jax.grad(lambda x: gallery.normalize(x).sum())
    with pytest.raises(TypeError, match=r"^normalize_bwd has no gradient: add #\[vjp"):
        jax.jacrev(first)(x)
    # A gradient of the backward op would not help: the generated forward op would be differentiated next.
    forward = lambda x: gallery.normalize_fwd(x)[0].sum()
    told = r"^normalize has no second derivative: its residuals come from a generated op, normalize_fwd, .*derivatives"
    for derivative in (jax.grad(forward), jax.jacfwd(forward)):
        with pytest.raises(TypeError, match=told):
            derivative(x)


def test_the_documentation_names_derivatives_and_types(gallery):
    doc = gallery.cross_entropy.__doc__
    assert "\nvmap: native.\ngradient: vjp cross_entropy_bwd, jvp cross_entropy_jvp.\nsharding: " in doc
    assert doc.endswith("\nelement types: f32 is float32, f64 is float64, s32 is int32.\n") or doc.endswith(
        "\nelement types: s32 is int32, f32 is float32, f64 is float64.\n"
    )


def test_derivatives_that_are_zero(gallery):
    x = jnp.arange(1.0, 5.0)
    nothing = jnp.zeros_like(x)
    # `top_k` and `tick` return integers here, so the derivative is zero. `median` has no derivative, but its
    # result is unused.
    functions = [
        (lambda x: gallery.top_k(x, k=2)[1].sum() * 1.0, nothing),
        (lambda x: gallery.tick(x.sum().astype(int)) * 1.0, nothing),
        (lambda x: (gallery.median(x), (x * x).sum())[1], 2 * x),
        (lambda x: jax.vmap(lambda x: (gallery.median(x), (x * x).sum())[1])(x[None])[0], 2 * x),
        (lambda x: jax.lax.scan(lambda c, _: (c * x.sum(), gallery.median(x * c)), 1.0, length=2)[0], 2 * x.sum() + nothing),
    ]
    for function, expected in functions:
        for transformed in jax.grad(function), jax.jit(jax.grad(function)):
            same(transformed(x), expected)
    with pytest.raises(TypeError, match="median has no gradient"):
        jax.grad(lambda x: jax.lax.scan(lambda c, _: (c, gallery.median(x * c)), 1.0, length=2)[1].sum())(x)


def test_a_handler_s_error_names_the_op(gallery):
    for call in gallery.soft_shrink, jax.jit(lambda x, lambda_: gallery.soft_shrink(x, lambda_=lambda_), static_argnums=1):
        with pytest.raises(Exception, match="soft_shrink: lambda is -1, but must not be negative"):
            jax.block_until_ready(call(jnp.ones(2), -1.0) if call is not gallery.soft_shrink else call(jnp.ones(2), lambda_=-1.0))
    with pytest.raises(RuntimeError, match=r"custom call `soft_shrink` .* INVALID_ARGUMENT: lambda is -1, but|UNKNOWN: lambda"):
        gallery.soft_shrink(np.ones(2, "f"), lambda_=-1)


def test_export_and_back_into_the_engine(norm, op, arrays):
    exported = jax.export.export(jax.jit(jax.value_and_grad(loss(op))), disabled_checks=norm.disabled_checks)(*arrays)
    expected = jax.value_and_grad(loss(reference))(*arrays)
    again = jax.export.deserialize(exported.serialize())
    same(again.call(*arrays), expected)
    engine = farcall.compile(exported)(*map(np.asarray, arrays))
    same(engine, jax.tree.map(np.asarray, expected))


@pytest.mark.parametrize("axis", ["Auto", "Explicit"])
@pytest.mark.parametrize("shape, spec", [((16, 8), P("d")), ((16, 4, 8), P("d")), ((4, 16, 8), P(None, "d"))])
def test_batch_dimensions_are_sharded(op, axis, shape, spec):
    mesh = jax.make_mesh((8,), ("d",), axis_types=(jax.sharding.AxisType[axis],))
    x = jax.random.normal(jax.random.key(0), shape)
    scale = jnp.arange(8.0)
    split = jax.device_put(x, jax.sharding.NamedSharding(mesh, spec))
    whole = jax.device_put(scale, jax.sharding.NamedSharding(mesh, P()))
    compiled = jax.jit(op).lower(split, whole).compile()
    text = compiled.as_text()
    assert "all-gather" not in text and "all-to-all" not in text
    y = compiled(split, whole)
    assert y.sharding.is_equivalent_to(split.sharding, y.ndim)
    same(y, op(x, scale))
    batched = jax.jit(jax.vmap(op, (0, None)))
    assert "all-gather" not in batched.lower(split, whole).compile().as_text()
    # The gradient of `scale` is a sum over the batch, which is split.
    gradients = jax.jit(jax.grad(loss(op), (0, 1)))(split, whole)
    same(gradients, jax.grad(loss(op), (0, 1))(x, scale), 1e-4)


@pytest.mark.parametrize("axis", ["Auto", "Explicit"])
def test_a_dimension_that_is_needed_whole_is_gathered(op, axis):
    mesh = jax.make_mesh((8,), ("d",), axis_types=(jax.sharding.AxisType[axis],))
    x = jax.random.normal(jax.random.key(0), (4, 8))
    split = jax.device_put(x, jax.sharding.NamedSharding(mesh, P(None, "d")))
    whole = jax.device_put(jnp.arange(8.0), jax.sharding.NamedSharding(mesh, P()))
    same(jax.jit(op)(split, whole), op(x, jnp.arange(8.0)))


@pytest.mark.parametrize("axis", ["Auto", "Explicit"])
def test_loops_over_an_axis_that_is_split(op, axis):
    mesh = jax.make_mesh((8,), ("d",), axis_types=(jax.sharding.AxisType[axis],))
    x, scale = jax.random.normal(jax.random.key(0), (16, 4, 8)), jnp.arange(8.0)
    scales = jnp.outer(jnp.arange(16.0), scale)
    split, scales_split = jax.device_put((x, scales), jax.sharding.NamedSharding(mesh, P("d")))
    whole = jax.device_put(scale, jax.sharding.NamedSharding(mesh, P()))
    same(jax.jit(jax.vmap(op))(split, scales_split), jax.vmap(op)(x, scales))
    each = jax.vmap(jax.grad(loss(op), (0, 1)), (0, None))
    same(jax.jit(each)(split, whole), each(x, scale), 1e-4)


def test_operands_that_are_split_differently(gallery):
    mesh = jax.make_mesh((8,), ("d",), axis_types=(jax.sharding.AxisType.Explicit,))
    on = lambda x, *spec: jax.device_put(x, jax.sharding.NamedSharding(mesh, P(*spec)))
    a, x = on(jnp.float32(2)), jnp.arange(64.0).reshape(8, 8)
    add = jax.jit(gallery.axpy)
    # An operand that is not split follows the other operands.
    total = add(a, on(x, "d"), on(x))
    same(total, 3 * x)
    assert total.sharding.spec == P("d", None)
    with pytest.raises(ValueError, match=r"axpy: operands are split in ways that do not go together, x as .*'d', None.* but y as .*None, 'd'"):
        add(a, on(x, "d"), on(x, None, "d"))


def test_shard_map(op):
    mesh = jax.make_mesh((8,), ("d",), axis_types=(jax.sharding.AxisType.Auto,))
    x, scale = jax.random.normal(jax.random.key(0), (16, 8)), jnp.arange(8.0)
    mapped = jax.shard_map(op, mesh=mesh, in_specs=(P("d"), P()), out_specs=P("d"))
    same(mapped(x, scale), op(x, scale))
    # The gradient of `scale` is a sum over all devices.
    same(jax.jit(jax.grad(loss(mapped), (0, 1)))(x, scale), jax.grad(loss(op), (0, 1))(x, scale), 1e-4)


@pytest.fixture(scope="module")
def gallery():
    """Returns the ops of examples/gallery."""
    return farcall.load(example("gallery_ops"))


@pytest.fixture(scope="module")
def tick(gallery):
    """Returns an op with a side effect: it adds to a process-wide counter and returns the counter's value."""
    return gallery.tick


def four_ticks(tick):
    def run(x):
        zero = (jnp.sin(x).sum() * 0).astype(jnp.int32)
        tick(zero + 10)  # the result is unused
        return [tick(zero + 1), tick(jnp.int32(2)), tick(zero + 3)][::-1]

    return run


def test_side_effects_happen_once_and_in_order(tick):
    run, x = four_ticks(tick), jnp.ones(3)
    start = int(tick(0))
    expected = [start + 16, start + 13, start + 11]
    assert run(x) == expected
    assert jax.jit(run)(x) == [value + 16 for value in expected]
    engine = farcall.compile(jax.jit(run).lower(x))
    assert engine(np.ones(3, np.float32)) == [value + 32 for value in expected]
    assert int(tick(0)) == start + 48


def test_side_effects_on_constants_are_traced(tick):
    one = np.array(1, np.int32)
    again = jax.jit(lambda: tick(one))
    start = int(tick(one))
    assert [int(again()) for _ in range(3)] == [start + 1, start + 2, start + 3]


def test_side_effects_in_control_flow(tick):
    one = jnp.int32(1)
    start = int(tick(0))
    assert list(jax.vmap(tick)(jnp.arange(4, dtype=jnp.int32))) == [start, start + 1, start + 3, start + 6]
    last, each = jax.jit(lambda: jax.lax.scan(lambda _, x: (tick(x),) * 2, 0, jnp.ones(3, jnp.int32)))()
    assert (last, list(each)) == (start + 9, [start + 7, start + 8, start + 9])
    branch = jax.jit(lambda p: jax.lax.cond(p, lambda: tick(one), lambda: jnp.int32(0)))
    assert (branch(True), branch(False), int(tick(0))) == (start + 10, 0, start + 10)


def test_side_effects_on_several_devices(tick):
    mesh = jax.make_mesh((8,), ("d",), axis_types=(jax.sharding.AxisType.Auto,))
    x = jax.device_put(jnp.ones(8, jnp.int32), jax.sharding.NamedSharding(mesh, P("d")))
    start = int(tick(0))
    each = jax.shard_map(lambda x: tick(x[0])[None], mesh=mesh, in_specs=P("d"), out_specs=P("d"))
    assert sorted(jax.jit(each)(x)) == list(range(start + 1, start + 9))
    with pytest.raises(NotImplementedError, match="tick has a side effect, .* call it in jax.shard_map"):
        jax.jit(lambda x: tick(x.sum()))(x)


def test_a_derivative_that_is_zero_by_declaration(gallery):
    x, threshold = jnp.array([-2.0, 0.5, 3.0]), jnp.float32(1)
    y, dy = jax.jvp(gallery.hard_shrink, (x, threshold), (jnp.ones(3), jnp.float32(1)))
    np.testing.assert_array_equal(y, [-2, 0, 3])
    np.testing.assert_array_equal(dy, [1, 0, 1])
    _, dy = jax.jvp(lambda t: gallery.hard_shrink(x, t), (threshold,), (threshold,))
    np.testing.assert_array_equal(dy, np.zeros(3))
    square = lambda x, threshold: (gallery.hard_shrink(x, threshold) ** 2).sum()
    dx, dthreshold = jax.grad(square, (0, 1))(x, threshold)
    np.testing.assert_array_equal(dx, [-4, 0, 6])
    assert dthreshold == 0
    hessian = jax.hessian(square, (0, 1))(x, threshold)
    np.testing.assert_array_equal(hessian[0][0], np.diag([2, 0, 2]))
    assert not hessian[0][1].any() and not hessian[1][0].any() and not hessian[1][1].any()
    mapped = jax.vmap(jax.grad(square), (0, None))(jnp.stack([x, -x]), threshold)
    np.testing.assert_array_equal(mapped, [[-4, 0, 6], [4, 0, -6]])


def test_arrays_of_all_integer_types_are_attributes(tmp_path):
    types = [f"{kind}{bits}" for kind in "iu" for bits in (8, 16, 32, 64)]
    params = ", ".join(f"{ty}s: &[{ty}]" for ty in types)
    terms = " + ".join(f"{ty}s.iter().map(|x| *x as i64).sum::<i64>()" for ty in types)
    signature = ", ".join(f"{ty}s: [{ty}]" for ty in types)
    source = f"""
use farcall_ffi::prelude::*;

#[handler(name = "sum_of_arrays")]
#[signature((x: f32[*], {signature}) -> (y: f32[*]))]
fn sum_of_arrays(x: &Buffer<f32>, {params}, y: &mut Buffer<f32>) -> Result<()> {{
    let sum = ({terms}) as f32;
    y.iter_mut().zip(x.iter()).for_each(|(y, x)| *y = x + sum);
    Ok(())
}}

farcall_ffi::library!("arrays", [sum_of_arrays]);
"""
    ops = farcall.load(built(tmp_path, "arrays", source))
    values = {f"{ty}s": [1, 2, 100 + i] for i, ty in enumerate(types)}
    expected = np.float32(sum(map(sum, values.values())))
    assert jax.jit(lambda x: ops.sum_of_arrays(x, **values))(np.zeros(2, "f")).tolist() == [expected] * 2
    assert ops.sum_of_arrays(np.zeros(2, "f"), **values).tolist() == [expected] * 2
