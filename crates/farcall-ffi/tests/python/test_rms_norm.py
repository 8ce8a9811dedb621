"""Tests rms_norm of examples/jax-ffi in jaxlib: values, jit, vmap, gradients, errors."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.test_util import check_grads

DTYPES = [np.float32, np.float64, np.complex64, np.complex128]


@pytest.fixture(autouse=True)
def wide():
    """Enables 64-bit types during a test."""
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", before)


def call(target, results, method="broadcast_all"):
    return jax.ffi.ffi_call(target, results, vmap_method=method)


@partial(jax.custom_vjp, nondiff_argnums=(1,))
def rms_norm(x, eps=1e-5):
    return call("rms_norm", jax.ShapeDtypeStruct(x.shape, x.dtype))(x, eps=np.float32(eps))


def forward(x, eps=1e-5):
    results = (jax.ShapeDtypeStruct(x.shape, x.dtype), jax.ShapeDtypeStruct(x.shape[:-1], x.dtype))
    y, res = call("rms_norm_fwd", results)(x, eps=np.float32(eps))
    return y, (res, x)


def backward(_eps, residuals, ct):
    res, x = residuals
    return (call("rms_norm_bwd", jax.ShapeDtypeStruct(ct.shape, ct.dtype))(res, x, ct),)


rms_norm.defvjp(forward, backward)


def reference(x, eps=1e-5):
    x = np.asarray(x)
    scale = np.sqrt(np.mean(np.square(x), axis=-1, keepdims=True) + np.float32(eps).astype(x.dtype))
    return x / scale


def numbers(shape, dtype):
    return jnp.linspace(-0.5, 0.5, int(np.prod(shape)), dtype=dtype).reshape(shape)


def tolerance(dtype):
    """Returns tolerances for the rounding of the sum in the mean, in the precision of `dtype`."""
    bound = 1e-5 if np.finfo(dtype).dtype == np.float32 else 1e-12
    return {"rtol": bound, "atol": bound}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(15,), (3, 5), (2, 3, 5), (0, 5)])
def test_values(dtype, shape):
    x = numbers(shape, dtype)
    y = rms_norm(x)
    assert y.dtype == dtype
    np.testing.assert_allclose(y, reference(x), **tolerance(dtype))
    np.testing.assert_allclose(jax.jit(rms_norm)(x), reference(x), **tolerance(dtype))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("method", ["sequential", "expand_dims", "broadcast_all"])
def test_vmap(dtype, method):
    x = numbers((3, 5), dtype)

    def one(x):
        return call("rms_norm", jax.ShapeDtypeStruct(x.shape, x.dtype), method)(x, eps=np.float32(1e-5))

    np.testing.assert_allclose(jax.vmap(one)(x), reference(x), **tolerance(dtype))
    twice = jax.vmap(jax.vmap(one, in_axes=1, out_axes=1))(numbers((2, 5, 4), dtype))
    expected = reference(np.swapaxes(numbers((2, 5, 4), dtype), 1, 2))
    np.testing.assert_allclose(np.swapaxes(twice, 1, 2), expected, **tolerance(dtype))


@pytest.mark.parametrize("dtype", DTYPES)
def test_gradient(dtype):
    check_grads(rms_norm, (numbers((3, 5), dtype),), order=1, modes=("rev",))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_gradient_under_jit_and_vmap(dtype):
    x = numbers((4, 3, 5), dtype)
    expected = jax.grad(lambda x: jnp.sum(jnp.sin(x / jnp.sqrt(jnp.mean(x * x, -1, keepdims=True) + np.float32(1e-5)))))(x)
    loss = lambda x: jnp.sum(jnp.sin(rms_norm(x)))
    np.testing.assert_allclose(jax.jit(jax.grad(loss))(x), expected, rtol=1e-3, atol=1e-5)
    np.testing.assert_allclose(jax.jit(jax.vmap(jax.grad(loss)))(x), expected, rtol=1e-3, atol=1e-5)


def test_inside_a_loop():
    body = lambda _, x: rms_norm(x + 1.0)
    x = numbers((3, 5), np.float32)
    expected = np.asarray(x)
    for _ in range(10):
        expected = reference(expected + np.float32(1.0))
    np.testing.assert_allclose(jax.jit(lambda x: jax.lax.fori_loop(0, 10, body, x))(x), expected, rtol=1e-4)


@pytest.mark.parametrize(
    "x, eps, results, message",
    [
        (numbers((5,), np.float32), np.float64(1), None, "rms_norm: attribute eps: expected f32, found f64"),
        (numbers((5,), np.float32), np.int64(2), None, "rms_norm: attribute eps: expected f32, found s64"),
        (jnp.arange(5, dtype=np.int32), np.float32(1), None, "expected f32 or f64 or c64 or c128, found s32"),
        (jnp.float32(1), np.float32(1), None, "x is a scalar"),
        (numbers((5,), np.float32), np.float32(1), ((6,), np.float32), r"x is f32\[5\], but y is f32\[6\]"),
        (numbers((5,), np.float32), np.float32(1), ((5,), np.float64), "expected f32, found f64"),
    ],
)
def test_errors(x, eps, results, message):
    shape, dtype = results or (x.shape, x.dtype)
    with pytest.raises(Exception, match=message):
        call("rms_norm", jax.ShapeDtypeStruct(shape, dtype))(x, eps=eps).block_until_ready()


def test_wrong_counts():
    x = numbers((5,), np.float32)
    shape = jax.ShapeDtypeStruct(x.shape, x.dtype)
    with pytest.raises(Exception, match=r"rms_norm: expected 1 operand \(x\), found 2"):
        call("rms_norm", shape)(x, x, eps=np.float32(1)).block_until_ready()
    with pytest.raises(Exception, match=r"rms_norm: expected 1 result \(y\), found 2"):
        jax.block_until_ready(call("rms_norm", (shape, shape))(x, eps=np.float32(1)))
    with pytest.raises(Exception, match=r"rms_norm: missing attribute eps \(f32\); found no attribute"):
        call("rms_norm", shape)(x).block_until_ready()
    with pytest.raises(Exception, match="rms_norm: unknown attribute epsilon; it takes eps"):
        call("rms_norm", shape)(x, eps=np.float32(1), epsilon=np.float32(1)).block_until_ready()
