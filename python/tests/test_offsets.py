"""The offset of a device's part in a split dimension: rotary embeddings, for any split of the sequence."""

import functools
import inspect

import numpy as np
import pytest
from libraries import example
from test_gallery import rotary

jax = pytest.importorskip("jax")
jnp = jax.numpy

import farcall  # noqa: E402
from jax.sharding import NamedSharding, PartitionSpec as P  # noqa: E402


@pytest.fixture(scope="module")
def op():
    return farcall.load(example("gallery_ops")).rotary


@pytest.fixture(autouse=True)
def x64():
    with jax.enable_x64(True):
        yield


X = np.random.default_rng(0).uniform(size=(4, 8, 6))
#: Splits of the sequence: none, along one axis, along two axes in either order, and together with the batch.
SPECS = [P(), P(None, "x"), P(None, ("x", "y")), P(None, ("y", "x")), P("y", "x"), P("x", "y"), P("x")]


def mesh(kind: str) -> jax.sharding.Mesh:
    return jax.make_mesh((4, 2), ("x", "y"), axis_types=(jax.sharding.AxisType[kind],) * 2)


def same(found, expected):
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


def test_on_one_device(op):
    assert str(inspect.signature(op)) == "(x, *, position=0, base=10000.0)"
    for x in X, jnp.asarray(X):
        same(op(x), rotary(X))
        same(op(x, position=5), rotary(X, 5))
        same(op(x, position=np.int32(5), base=100.0), rotary(X, 5, 100.0))
    same(jax.vmap(op)(X), rotary(X))
    same(jax.vmap(lambda x, at: op(x, position=at))(X, jnp.arange(4, dtype=jnp.int32)), np.stack([rotary(x, i) for i, x in enumerate(X)]))
    with pytest.raises(TypeError, match="takes 2 operands|too many|given"):
        op(X, 5)


@pytest.mark.parametrize("kind", ["Auto", "Explicit"])
@pytest.mark.parametrize("spec", SPECS, ids=str)
def test_in_parts(op, kind, spec):
    x = jax.device_put(X, NamedSharding(mesh(kind), spec))
    loss = lambda f: lambda x: (f(x) * jnp.cos(f(x))).sum()
    compiled = jax.jit(op).lower(x).compile()
    assert "all-gather" not in compiled.as_text()
    same(compiled(x), rotary(X))
    own, reference = functools.partial(op, position=3), functools.partial(rotary, position=3)
    same(jax.jit(jax.vmap(own))(x), reference(X))
    same(jax.jit(jax.grad(loss(own)))(x), jax.grad(loss(reference))(X))
    same(jax.jit(lambda x: jax.jvp(own, [x], [x * x])[1])(x), reference(X * X))
    looped = jax.vmap(lambda x, at: op(x, position=at))
    positions = jax.device_put(np.arange(4, dtype=np.int32), NamedSharding(mesh(kind), P(*spec[:1])))
    same(jax.jit(looped)(x, positions), np.stack([rotary(x, i) for i, x in enumerate(X)]))


@pytest.mark.parametrize("axes", ["x", "y", ("x", "y"), ("y", "x")], ids=str)
def test_in_shard_map(op, axes):
    split = functools.partial(jax.shard_map, mesh=mesh("Auto"), in_specs=P(None, axes), out_specs=P(None, axes))

    @split
    def part(x):
        return op(x, position=jax.lax.axis_index(axes) * x.shape[1])

    same(jax.jit(part)(X), rotary(X))
    same(jax.jit(jax.grad(lambda x: (part(x) ** 3).sum()))(X), jax.grad(lambda x: (rotary(x) ** 3).sum())(X))
    with pytest.raises(TypeError, match=r"rotary: in jax.shard_map, position must be given: .* this part of s begins"):
        jax.jit(split(op))(X)
