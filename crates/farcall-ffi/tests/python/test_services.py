"""Tests services that handlers request from jaxlib: later completion, threads, scratch memory. Also tests
attributes that are structs or enums.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest


def double_later(x, **attrs):
    return jax.ffi.ffi_call("double_later", jax.ShapeDtypeStruct(x.shape, x.dtype))(x, **attrs)


def sort_rows(x, **order):
    return jax.ffi.ffi_call("sort_rows", jax.ShapeDtypeStruct(x.shape, x.dtype))(x, order=order)


def test_completion_after_the_return():
    x = jnp.arange(100_000, dtype=np.float32)
    np.testing.assert_array_equal(double_later(x), 2 * x)
    # Operations that depend on a result wait for it.
    chain = jax.jit(lambda x: double_later(double_later(double_later(x) + 1) + 1) + 1)
    for _ in range(20):
        np.testing.assert_array_equal(chain(x), 8 * x + 7)
    many = jax.jit(lambda x: sum(double_later(x + i) for i in range(10)))
    np.testing.assert_array_equal(many(x[:100]), 20 * x[:100] + 90)
    loop = jax.jit(lambda x: jax.lax.fori_loop(0, 10, lambda _, x: double_later(x), x))
    np.testing.assert_array_equal(loop(x[:100]), 1024 * x[:100])


def test_failure_after_the_return():
    x = jnp.arange(4, dtype=np.float32)
    for _ in range(3):
        with pytest.raises(Exception, match="double_later: the task failed, as it was told to"):
            double_later(x, fail=True).block_until_ready()
    np.testing.assert_array_equal(double_later(x, fail=False), 2 * x)


@pytest.mark.parametrize("shape", [(7,), (100, 33), (3, 0), (0, 3)])
def test_threads_and_scratch(shape):
    x = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    np.testing.assert_array_equal(sort_rows(x, direction="ascending"), np.sort(x))
    np.testing.assert_array_equal(sort_rows(x, direction="descending"), np.sort(x)[..., ::-1])
    first = min(2, shape[-1])
    expected = np.concatenate([np.sort(x[..., :first]), x[..., first:]], axis=-1)
    np.testing.assert_array_equal(sort_rows(x, direction="ascending", first=np.int64(2)), expected)


@pytest.mark.parametrize(
    "order, message",
    [
        ({}, r"sort_rows: attribute order: missing attribute direction \(string\)"),
        ({"direction": "up"}, "attribute direction: expected ascending or descending, found up"),
        ({"direction": "ascending", "stable": True}, "unknown entry stable; it takes direction, first"),
    ],
)
def test_struct_errors(order, message):
    with pytest.raises(Exception, match=message):
        sort_rows(np.zeros((2, 2), np.float32), **order).block_until_ready()
