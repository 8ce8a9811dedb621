"""What helps to find mistakes: `jax_debug_nans` and `jax_disable_jit`."""

import functools

import numpy as np
import pytest
from conftest import example

jax = pytest.importorskip("jax")
jnp = jax.numpy

import farcall  # noqa: E402


@pytest.fixture(scope="module")
def gallery() -> farcall.Library:
    return farcall.load(example("gallery_ops"))


#: The second row cannot be normalized.
X = jnp.asarray([[1.0, 2.0], [0.0, 0.0]])


def loss(op):
    return lambda x: op(x).sum()


#: Functions of an array, each with a call of an op, which gives NaN for a row of zeros.
CALLS = {
    "eager": lambda ops: ops.normalize,
    "jit": lambda ops: jax.jit(ops.normalize),
    "nested jit": lambda ops: jax.jit(lambda x: jax.jit(ops.normalize)(jnp.abs(x)) + 1),
    "grad": lambda ops: jax.grad(loss(ops.normalize)),
    "jit of grad": lambda ops: jax.jit(jax.grad(loss(ops.normalize))),
    "vmap": lambda ops: jax.vmap(ops.normalize),
    "loop of vmap": lambda ops: lambda x: jax.vmap(functools.partial(ops.scaled_rms_norm, eps=0.0))(x, x),
}


@pytest.mark.parametrize("name", CALLS)
def test_debug_nans(gallery, name):
    function = CALLS[name](gallery)
    jax.block_until_ready(function(jnp.ones((2, 2))))
    with jax.debug_nans(True):
        jax.block_until_ready(function(jnp.ones((2, 2))))
        with pytest.raises(FloatingPointError, match=r"invalid value \(nan\) encountered in (normalize|scaled_rms_norm)"):
            jax.block_until_ready(function(X))


def test_debug_nans_on_numpy_arrays(gallery):
    x = np.asarray(X)
    gallery.normalize(x)
    with jax.debug_nans(True):
        gallery.normalize(x[:1])
        # No numbers of real or complex types.
        gallery.top_k(x[:1], k=1)
        with pytest.raises(FloatingPointError, match=r"invalid value \(nan\) encountered in normalize"):
            gallery.normalize(x)
        with pytest.raises(FloatingPointError, match=r"invalid value \(nan\) encountered in softplus"):
            gallery.softplus(np.full(2, np.nan, jnp.bfloat16))
        with pytest.raises(FloatingPointError, match=r"invalid value \(nan\) encountered in normalize"):
            jax.jit(lambda: gallery.normalize(x))()
    with jax.debug_infs(True):
        with pytest.raises(FloatingPointError, match=r"invalid value \(inf\) encountered in axpy"):
            gallery.axpy(np.float32(np.inf), x[0], x[0])


def test_debug_nans_of_a_target_that_is_called_by_name(gallery):
    def nothing(x, y):
        y[...] = np.nan

    farcall.handler(name="debugging_nothing")(nothing)
    call = farcall.ffi.ffi_call("debugging_nothing", jax.ShapeDtypeStruct((2,), np.float32))
    with jax.debug_nans(True), pytest.raises(FloatingPointError, match=r"\(nan\) encountered in debugging_nothing"):
        call(np.ones(2, "f"))


def test_without_jit(gallery):
    x = jnp.asarray([[3.0, 4.0]])
    with jax.disable_jit():
        np.testing.assert_allclose(jax.jit(gallery.normalize)(x), [[0.6, 0.8]], rtol=1e-6)
        assert jax.grad(lambda x: gallery.normalize(x).sum())(x).shape == x.shape
        assert jax.vmap(lambda a, x: gallery.axpy(a, x, x))(x[0], x.T).shape == (2, 1)
