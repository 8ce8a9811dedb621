"""Element types of operands given as numbers, and errors for numbers that an element type cannot hold."""

import inspect

import numpy as np
import pytest
from libraries import example

import farcall


@pytest.fixture(scope="module")
def gallery() -> farcall.Library:
    return farcall.load(example("gallery_ops"))


def test_numbers_are_what_jax_makes_of_them(gallery):
    # The numbers become f32 as in JAX, although the signature lists f64 first.
    for numbers in ([1001, 1003], [0.5], [], 3, ((1, 2), (3, 4))):
        assert gallery.soft_shrink(numbers).dtype == np.float32
    x = np.ones(2)
    assert gallery.axpy(2, x, [1, 1]).dtype == np.float64
    # Numbers for operands that share an element type get one common type.
    [a, b] = gallery.gemm([[1, 2]], [[0.5], [0.25]])[0].dtype, gallery.polar(1, [0.5, 1][0]).dtype
    assert (a, b) == (np.float32, np.complex64)
    # Numbers that 32 bits cannot hold get a 64-bit type if the op supports such a type.
    assert gallery.soft_shrink([1e39]).dtype == np.float64
    assert gallery.axpy(1, [1e39], [2])[0] == 1e39


@pytest.mark.parametrize("x64", [False, True])
def test_weak_types_are_the_same_under_jit(gallery, x64):
    jax = pytest.importorskip("jax")
    jnp = jax.numpy
    with jax.enable_x64(x64):
        float_type = np.float64 if x64 else np.float32
        for numbers in ([1001, 1003], [0.5], 3, 2.5):
            eager, traced = gallery.soft_shrink(numbers), jax.jit(gallery.soft_shrink)(numbers)
            assert eager.dtype == traced.dtype == float_type
            np.testing.assert_array_equal(eager, traced)
        for x in jnp.ones(2, jnp.float32), jnp.ones(2, float_type):
            assert jax.jit(gallery.axpy)(2, x, x).dtype == gallery.axpy(2, x, x).dtype == x.dtype
            assert gallery.axpy(jnp.asarray(2.0), x, x).dtype == x.dtype
        with pytest.raises(TypeError, match="soft_shrink: x must be f64 or f32, but is (s32|s64)"):
            gallery.soft_shrink(jnp.ones(2, int))
        with pytest.raises(TypeError, match="soft_shrink: x must be f64 or f32, but is complex"):
            jax.jit(gallery.soft_shrink)(1j)


def test_what_is_out_of_range(gallery):
    cases = [
        (ValueError, "tick: by holds 1099511627776, which is out of range for s32", lambda: gallery.tick(2**40)),
        (ValueError, "tick: by holds 1000000000+, which is out of range for s32", lambda: gallery.tick(10**30)),
        (ValueError, "soft_shrink: x holds 1000000+ at .1., which is out of range for f32", lambda: gallery.soft_shrink([1.5, 10**400])),
        (TypeError, "soft_shrink: attribute lambda must be f32, but is 1e300, which is out of range", lambda: gallery.soft_shrink(1, lambda_=1e300)),
        (TypeError, "top_k: attribute k must be i64, but is 1[0-9]+, which is out of range", lambda: gallery.top_k([1.0], k=10**30)),
        (TypeError, "soft_shrink: x holds <U3 values, which are not numbers", lambda: gallery.soft_shrink(["two"])),
        (TypeError, "tick: by must be s32, but is a float", lambda: gallery.tick(1.5)),
        (ValueError, "soft_shrink: x: .*inhomogeneous", lambda: gallery.soft_shrink([[1], [2, 3]])),
    ]
    for error, message, call in cases:
        with pytest.raises(error, match=message):
            call()


@pytest.mark.parametrize("under_jit", [False, True])
def test_numpy_s_integers_become_others_where_no_value_changes(gallery, under_jit):
    jax = pytest.importorskip("jax")

    def tick(by):
        # Under `jit`, the operand is a constant, which JAX alone would truncate to 32 bits.
        return jax.jit(lambda: gallery.tick(by))() if under_jit else gallery.tick(by)

    start = int(tick(np.array(0)))
    assert int(tick(np.array(-(2**31)))) == (start - 2**31 + 2**31) % 2**32 - 2**31
    tick(np.array(-(2**31)))
    for value in 2**31, 2**40:
        with pytest.raises(ValueError, match=f"tick: by holds {value}, which is out of range for s32"):
            tick(np.array(value))
    with pytest.raises(TypeError, match="soft_shrink: x must be f64 or f32, but is s64"):
        gallery.soft_shrink(np.array([1, 2]))
    if not under_jit:
        labels = farcall.compile("func.func @main(%x: tensor<2xui8>) -> tensor<2xui8> { return %x : tensor<2xui8> }")
        np.testing.assert_array_equal(labels(np.array([0, 255]))[0], np.uint8([0, 255]), strict=True)
        with pytest.raises(ValueError, match=r"input 0 holds 256 at \[1\], which is out of range for u8"):
            labels(np.array([0, 256]))
        with pytest.raises(TypeError, match="input 0 is tensor<2xi32>, but the program takes tensor<2xui8>"):
            labels(np.array([0, 1], np.int32))


def test_none_is_not_given(gallery):
    x = np.float32([[1, 2]])
    np.testing.assert_array_equal(gallery.softmax(x, mask=None), gallery.softmax(x))
    np.testing.assert_array_equal(gallery.softmax(x, None), gallery.softmax(x))
    np.testing.assert_array_equal(gallery.soft_shrink(x, lambda_=None), x - 0.5)
    with pytest.raises(TypeError, match="top_k: attribute k is missing; it must be i64"):
        gallery.top_k(x, k=None)
    with pytest.raises(TypeError, match="softmax: operand missing: x"):
        gallery.softmax(None)


def test_names_that_python_has_taken(gallery):
    x = np.float32([-2, 0.5, 2])
    assert str(inspect.signature(gallery.soft_shrink)) == "(x, *, lambda_=0.5)"
    for call in (lambda: gallery.soft_shrink(x, lambda_=1), lambda: gallery.soft_shrink(x, **{"lambda": 1})):
        np.testing.assert_array_equal(call(), [-1, 0, 1])
    assert "gallery.soft_shrink" not in dir(gallery) and "soft_shrink" in dir(gallery)


def test_names_are_distinct():
    from farcall._ops import _as_python

    assert _as_python(["x", "lambda", "lambda_", "None", "self"]) == ["x", "lambda__", "lambda_", "None_", "self"]


def test_bytes_of_booleans():
    """NumPy's booleans can be any bytes; all nonzero bytes are true."""
    x = np.array([0, 1, 2, 255], np.uint8).view(bool)
    flip = farcall.compile(
        "func.func @main(%x: tensor<4xi1>) -> (tensor<4xi1>, tensor<4xi32>) {\n"
        "  %0 = stablehlo.not %x : tensor<4xi1>\n"
        "  %1 = stablehlo.convert %x : (tensor<4xi1>) -> tensor<4xi32>\n"
        "  return %0, %1 : tensor<4xi1>, tensor<4xi32>\n}"
    )
    no, number = flip(x)
    np.testing.assert_array_equal(no.view(np.uint8), [1, 0, 0, 0])
    np.testing.assert_array_equal(number, [0, 1, 1, 1])
