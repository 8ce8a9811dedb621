"""Programs with shardings on the backend's four devices: the engine divides them, and the devices exchange values."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental.custom_partitioning import custom_partitioning
from jax.sharding import AxisType, NamedSharding
from jax.sharding import PartitionSpec as P

TOLERANCE = {"rtol": 1e-4, "atol": 1e-4}


@pytest.fixture(scope="module")
def mesh() -> jax.sharding.Mesh:
    return jax.make_mesh((2, 2), ("x", "y"), axis_types=(AxisType.Auto,) * 2)


def numbers(*shape: int) -> np.ndarray:
    return np.random.default_rng(len(shape)).normal(size=shape).astype("f")


def attention(x):
    scores = jax.nn.softmax(jnp.einsum("bqd,bkd->bqk", x, x))
    return jnp.einsum("bqk,bkd->bqd", scores, x)


def loop(x):
    def step(carry, _):
        return jnp.tanh(carry @ x[0]), carry.sum(0)

    return jax.lax.scan(step, x[1], None, length=3)


def moves(x):
    y = jnp.concatenate([x, jnp.flip(x, 0)], 1)
    return y.reshape(-1, 2), jnp.pad(y, ((0, 0), (1, 2), (0, 0))), jnp.roll(y, 1, 2), jnp.sort(y, 1), y[:, 1:3]


def indices(x):
    rows = jnp.arange(4) % 3
    return x[rows], x.at[rows].add(1.0), jnp.argmax(x, 2), jnp.take_along_axis(x, jnp.argsort(x, 1), 1)


def branches(x):
    return jax.lax.cond(x.sum() > 0, lambda x: x * 2, lambda x: x - 1, x), jax.lax.fori_loop(0, 3, lambda i, x: x + x[i], x)


def sums(x):
    counts = jax.lax.broadcasted_iota(jnp.int32, x.shape, 1)
    return x.sum(), x.max(0), (x > 0).any(1), jnp.prod(x, (0, 2)), (x * counts).var(), jnp.linalg.cholesky(x @ x.swapaxes(1, 2) + 9 * jnp.eye(4))


def windows(x):
    """Windows over divided dimensions: each device needs elements of its neighbors."""
    image, kernels = x[None, ..., None], numbers(3, 3, 2, 1, 2)
    y = jax.lax.conv_general_dilated(image, kernels, (1, 1, 1), "SAME", dimension_numbers=("NDHWC", "DHWIO", "NDHWC"))
    pool = jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (3, 2, 1), (1, 1, 1), "SAME")
    total = jax.lax.reduce_window(x + 1, 1.0, jax.lax.mul, (2, 1, 3), (1, 1, 1), "SAME")
    return y, pool, total, jnp.cumsum(x, 1)


@pytest.mark.parametrize("spec", [P("x"), P(None, "y"), P("y", "x"), P(None, None, ("x", "y")), P(("x", "y"))])
@pytest.mark.parametrize("function", [attention, loop, moves, indices, branches, sums, windows], ids=lambda f: f.__name__)
def test_divided_programs_compute_the_same(mesh, function, spec):
    x = numbers(4, 4, 4)
    expected = jax.tree.leaves(jax.jit(function)(x))
    results = jax.tree.leaves(jax.jit(function)(jax.device_put(x, NamedSharding(mesh, spec))))
    for result, reference in zip(results, expected):
        np.testing.assert_allclose(np.asarray(result), np.asarray(reference), **TOLERANCE)


def test_results_have_the_shardings_that_were_asked_for(mesh):
    rows, columns = NamedSharding(mesh, P("x")), NamedSharding(mesh, P(None, "y"))
    x = jax.device_put(numbers(8, 4), rows)
    result = jax.jit(lambda x: x + 1, out_shardings=columns)(x)
    assert result.sharding.is_equivalent_to(columns, 2)
    # Without a request, the engine decides.
    assert jax.jit(lambda x: x.T)(x).sharding.spec == P(None, "x")
    constrained = jax.jit(lambda x: jax.lax.with_sharding_constraint(x * 2, columns))(x)
    np.testing.assert_array_equal(np.asarray(constrained), numbers(8, 4) * 2)
    assert constrained.sharding.is_equivalent_to(columns, 2)


def test_gradients_of_a_divided_layer(mesh):
    x, w = numbers(8, 4), numbers(4, 6)

    def loss(w, x):
        return (jnp.tanh(x @ w) ** 2).mean()

    expected = jax.grad(loss)(w, x)
    put = jax.device_put
    gradient = jax.jit(jax.grad(loss))(put(w, NamedSharding(mesh, P(None, "y"))), put(x, NamedSharding(mesh, P("x"))))
    assert gradient.sharding.spec == P(None, "y")
    np.testing.assert_allclose(np.asarray(gradient), np.asarray(expected), **TOLERANCE)


def test_shard_map(mesh):
    a, b = numbers(4, 8), numbers(8, 6)
    products = jax.shard_map(
        lambda a, b: jax.lax.psum(a @ b, "y"), mesh=mesh, in_specs=(P("x", "y"), P("y", None)), out_specs=P("x", None)
    )
    np.testing.assert_allclose(np.asarray(jax.jit(products)(a, b)), a @ b, **TOLERANCE)
    shifted = jax.shard_map(
        lambda a: jax.lax.ppermute(a, "x", [(0, 1), (1, 0)]), mesh=mesh, in_specs=P("x"), out_specs=P("x")
    )
    np.testing.assert_array_equal(np.asarray(jax.jit(shifted)(a)), np.roll(a, 2, 0))
    # Only one axis belongs to the function; the engine divides along the other.
    partial = jax.shard_map(
        lambda a: jax.lax.psum(a, "y"), mesh=mesh, in_specs=P(None, "y"), out_specs=P(), axis_names={"y"}
    )
    np.testing.assert_allclose(np.asarray(jax.jit(partial)(a)), a[:, :4] + a[:, 4:], **TOLERANCE)
    numbered = jax.shard_map(
        lambda a: a + 10 * jax.lax.axis_index("x") + jax.lax.axis_index("y"), mesh=mesh, in_specs=P("x", "y"), out_specs=P("x", "y")
    )
    np.testing.assert_array_equal(np.asarray(jax.jit(numbered)(jnp.zeros((2, 2)))), [[0, 1], [10, 11]])


def test_pmap():
    x = np.arange(8.0, dtype="f").reshape(4, 2)
    np.testing.assert_array_equal(jax.pmap(lambda x: jax.lax.psum(x, "i"), axis_name="i")(x), np.tile(x.sum(0), (4, 1)))


def test_donated_parts_are_updated(mesh):
    sharding = NamedSharding(mesh, P("x", "y"))
    x = jax.device_put(numbers(8, 8), sharding)
    result = jax.jit(lambda x: x + 1, donate_argnums=0)(x)
    np.testing.assert_array_equal(np.asarray(result), numbers(8, 8) + 1)
    assert x.is_deleted()


def test_meshes_may_order_the_devices_in_any_way():
    other = jax.make_mesh((4,), ("z",), devices=jax.devices()[::-1], axis_types=(AxisType.Auto,))
    x = jax.device_put(numbers(8, 4), NamedSharding(other, P("z")))
    np.testing.assert_array_equal(np.asarray(jax.jit(lambda x: x * 2)(x)), numbers(8, 4) * 2)


def test_results_that_stay_sums_of_the_devices(mesh):
    explicit = jax.make_mesh((2, 2), ("x", "y"), axis_types=(AxisType.Explicit,) * 2)
    with jax.set_mesh(explicit):
        x = jax.device_put(np.arange(8, dtype="f"), P("x"))
        total = jax.jit(lambda x: jax.lax.reduce_sum(x, (0,), out_sharding=P(unreduced={"x"})))
        compiled = total.lower(x).compile()
        assert "all-reduce" not in compiled.as_text()
        shards = [float(shard.data) for shard in compiled(x).addressable_shards]
        assert shards == [6, 6, 22, 22]
        np.testing.assert_array_equal(jax.reshard(compiled(x), P()), 28)


def test_the_program_of_a_device_is_shown(mesh):
    x = jax.device_put(numbers(4, 4), NamedSharding(mesh, P("x", "y")))
    text = jax.jit(lambda x: x.sum()).lower(x).compile().as_text()
    assert "f32[2,2]" in text and "all-reduce" in text, text


def row_sums(x):
    return x.sum(1)


def test_a_custom_partitioning_divides_its_calls(mesh):
    """The function's rule keeps rows together, so a sharding of columns is changed before the call."""
    divided = custom_partitioning(row_sums)
    shapes = []

    def partition(mesh, arguments, result):
        shapes.append([(x.shape, x.sharding.spec) for x in arguments])
        rows = NamedSharding(mesh, P("x", None))
        return mesh, lambda x: 1 + row_sums(x) - 1, NamedSharding(mesh, P("x")), (rows,)

    divided.def_partition(partition, sharding_rule="i j -> i")
    x = numbers(4, 6)
    for spec in [P("x"), P(None, "y")]:
        result = jax.jit(divided)(jax.device_put(x, NamedSharding(mesh, spec)))
        np.testing.assert_allclose(result, x.sum(1), **TOLERANCE)
    assert [shape for [(shape, _)] in shapes] == [(4, 6), (4, 6)]

    def wrong(mesh, arguments, result):
        raise ValueError("no such division")

    failing = custom_partitioning(lambda x: x * 2)
    failing.def_partition(wrong, sharding_rule="i j -> i j")
    with pytest.raises(Exception, match="no such division"):
        jax.jit(failing)(jax.device_put(x, NamedSharding(mesh, P("x"))))


@pytest.mark.parametrize(("operand", "result", "divided"), [(P("x", "y"), None, P("x", "y")), (P(), P("x"), P("x"))])
def test_functions_propagate_the_shardings_of_a_custom_partitioning(mesh, operand, result, divided):
    """XLA's older form of shardings, in which no rule is stated: from the operand, and from the user."""
    doubled = custom_partitioning(lambda x: x * 2)
    found = []

    def partition(mesh, arguments, result):
        found.append(result.sharding.spec)
        return mesh, lambda x: x * 2, result.sharding, (result.sharding,)

    def infer(mesh, arguments, result):
        return arguments[0].sharding

    def propagate(mesh, user):
        found.append("user")
        return user.sharding

    doubled.def_partition(partition, infer_sharding_from_operands=infer, propagate_user_sharding=propagate)
    x = numbers(4, 6)
    shardy = jax.config.jax_use_shardy_partitioner
    jax.config.update("jax_use_shardy_partitioner", False)
    try:
        asked = None if result is None else NamedSharding(mesh, result)
        y = jax.jit(lambda x: doubled(x) + 1, out_shardings=asked)(jax.device_put(x, NamedSharding(mesh, operand)))
    finally:
        jax.config.update("jax_use_shardy_partitioner", shardy)
    np.testing.assert_allclose(y, x * 2 + 1, **TOLERANCE)
    assert y.sharding.is_equivalent_to(NamedSharding(mesh, divided), 2)
    assert NamedSharding(mesh, found[-1]).is_equivalent_to(NamedSharding(mesh, divided), 2), found
    assert result is None or "user" in found


def test_shardings_are_inspected(mesh):
    seen = []

    @jax.jit
    def function(x):
        y = x @ x.T
        jax.debug.inspect_array_sharding(y, callback=seen.append)
        return y.sum()

    x = numbers(4, 6)
    result = function(jax.device_put(x, NamedSharding(mesh, P("x"))))
    np.testing.assert_allclose(result, (x @ x.T).sum(), **TOLERANCE)
    assert [sharding.spec for sharding in seen] == [P("x")], seen
    function.lower(jax.device_put(x, NamedSharding(mesh, P("x")))).compile().as_text()
    assert len(seen) <= 2, "the text is not another compilation"

    def failing(sharding):
        raise RuntimeError("not this one")

    @jax.jit
    def inspected(x):
        jax.debug.inspect_array_sharding(x, callback=failing)
        return x

    with pytest.raises(Exception, match="not this one"):
        inspected(jax.device_put(x, NamedSharding(mesh, P("x"))))


def test_partitioned_callbacks_receive_the_parts_of_their_device(mesh):
    seen, uneven = [], []

    @jax.jit
    def function(x, y):
        jax.debug.callback(lambda *parts: seen.append([np.array(part) for part in parts]), x, y, partitioned=True)
        jax.debug.callback(lambda whole: seen.append([np.array(whole)]), y)
        # Three rows are not divided evenly, and parts would have padding.
        jax.debug.callback(lambda rows: uneven.append(np.array(rows)), x[1:], partitioned=True)

    x, y = numbers(4, 6), numbers(2, 8)
    function(jax.device_put(x, NamedSharding(mesh, P("x"))), jax.device_put(y, NamedSharding(mesh, P("y", "x"))))
    jax.effects_barrier()
    whole = [parts for parts in seen if len(parts) == 1]
    np.testing.assert_array_equal(whole, [[y]])
    expected = [[x[2 * i : 2 * i + 2], y[j : j + 1, 4 * i : 4 * i + 4]] for i in range(2) for j in range(2)]
    found = [parts for parts in seen if len(parts) == 2]
    assert sorted(str(parts) for parts in found) == sorted(str(parts) for parts in expected)
    np.testing.assert_array_equal(uneven, [x[1:]] * 4)


def test_devices_that_wait_for_each_other_are_an_error(mesh):
    def only_some(a):
        return jax.lax.cond(jax.lax.axis_index("x") == 0, lambda a: jax.lax.psum(a, "x"), lambda a: a, a)

    divided = jax.shard_map(only_some, mesh=mesh, in_specs=P("x"), out_specs=P("x"), check_vma=False)
    with pytest.raises(jax.errors.JaxRuntimeError, match=r"device 0 waits for device 2 in .*test_sharding.py:\d+"):
        jax.block_until_ready(jax.jit(divided)(jnp.ones(4)))


def test_a_partitioned_call_knows_its_device(mesh):
    @custom_partitioning
    def numbered(x):
        return x

    def partition(mesh, arguments, results):
        sharding = NamedSharding(mesh, P(("x", "y")))
        return mesh, lambda x: x + jax.lax.axis_index(("x", "y")), sharding, (sharding,)

    numbered.def_partition(partition=partition, sharding_rule="i -> i")
    x = jax.device_put(np.zeros(8, np.float32), NamedSharding(mesh, P(("x", "y"))))
    np.testing.assert_array_equal(np.asarray(jax.jit(numbered)(x)), [0, 0, 1, 1, 2, 2, 3, 3])
