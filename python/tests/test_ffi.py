"""`farcall.ffi`: calls by name, on NumPy arrays in farcall's engine and on JAX arrays in JAX."""

import ctypes
import functools
import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from libraries import example

import farcall
from farcall import ffi

X = np.array([1, 2, 3], np.float32)


class Like:
    """A shape and an element type, without JAX."""

    def __init__(self, *shape, dtype=np.float32):
        self.shape, self.dtype = shape, np.dtype(dtype)


@pytest.fixture(scope="module")
def capsule(compiled_handlers):
    opened = ctypes.CDLL(str(compiled_handlers()))
    return lambda symbol: ffi.pycapsule(getattr(opened, symbol))


@pytest.fixture(scope="module")
def scale(capsule):
    """Returns the name of a target that is registered for both hosts."""
    ffi.register_ffi_target("ffi_scale", capsule("Scale"))
    return "ffi_scale"


@pytest.fixture(scope="module")
def examples():
    """Registers the targets of JAX's own example, written in Rust, for both hosts. Their names get a prefix,
    since other tests register other targets under the original names."""
    for name, fn in farcall.capsules(example("jax_ffi_ops")).items():
        ffi.register_ffi_target(f"example_{name}", fn)


def test_where_a_call_runs(scale):
    jax = pytest.importorskip("jax")
    call = ffi.ffi_call(scale, Like(3))
    y = call(X, factor=np.float32(2))
    assert type(y) is np.ndarray
    np.testing.assert_array_equal(y, 2 * X)
    call = ffi.ffi_call(scale, jax.ShapeDtypeStruct((3,), np.float32), vmap_method="sequential")
    assert isinstance(call(jax.numpy.asarray(X), factor=np.float32(2)), jax.Array)
    twice = functools.partial(call, factor=np.float32(2))
    np.testing.assert_array_equal(jax.jit(twice)(X), 2 * X)
    np.testing.assert_array_equal(jax.vmap(twice)(np.stack([X, X])), [2 * X, 2 * X])
    lowered = jax.jit(twice).lower(X)
    assert "ffi_scale" in lowered.as_text()
    np.testing.assert_array_equal(farcall.compile(lowered)(X), 2 * X)


def test_results_are_as_many_as_asked_for():
    @farcall.handler
    def ffi_two(x, y, z):
        y[...], z[...] = x + 1, x + 2

    as_tuple = ffi.ffi_call("ffi_two", (Like(3), Like(3)))(X)
    as_list = ffi.ffi_call("ffi_two", [Like(3), Like(3)])(X)
    assert type(as_tuple) is tuple and type(as_list) is list
    for y, z in (as_tuple, as_list):
        assert (y == X + 1).all() and (z == X + 2).all()

    called = []
    farcall.handler(name="ffi_none")(lambda x: called.append(x.shape))
    assert ffi.ffi_call("ffi_none", (), has_side_effect=True)(X) == () and called == [(3,)]


def test_older_spellings(scale):
    np.testing.assert_array_equal(ffi.ffi_call(scale, result_shape=Like(3))(X, factor=np.float32(2)), 2 * X)
    # As in jax.extend.ffi, operands may follow the result type: the call then happens immediately.
    np.testing.assert_array_equal(ffi.ffi_call(scale, Like(3), X, factor=np.float32(2)), 2 * X)
    with pytest.raises(TypeError, match="both result_shape_dtypes and result_shape"):
        ffi.ffi_call(scale, Like(3), result_shape=Like(3))


@pytest.mark.parametrize("wrapped", [lambda f: f, "jit"], ids=["NumPy", "JAX"])
class TestJaxsExample:
    """The tests of JAX's own `examples/ffi`, with targets written in Rust."""

    @pytest.fixture(autouse=True)
    def _setup(self, examples, wrapped):
        self.jax = pytest.importorskip("jax")
        self.in_jax = wrapped == "jit"

    def call(self, name, results, *args, **attributes):
        call = ffi.ffi_call(f"example_{name}", results, vmap_method="broadcast_all")
        if not self.in_jax:
            return call(*args, **attributes)
        return self.jax.jit(lambda *args: call(*args, **attributes))(*args)

    def like(self, *shape, dtype=np.float32):
        return self.jax.ShapeDtypeStruct(shape, dtype)

    def test_array_attr(self):
        for n in (3, 5):
            y = self.call("array_attr", self.like(dtype=np.int32), array=np.arange(n, dtype=np.int32))
            assert y == np.arange(n).sum()

    def test_dictionary_attr(self):
        results = (self.like(dtype=np.int32), self.like(dtype=np.int32))
        assert self.call("dictionary_attr", results, secret=5) == (5, 1)
        assert self.call("dictionary_attr", results, secret=3, a_string="hello") == (3, 2)
        with pytest.raises(Exception, match="secret"):
            self.jax.block_until_ready(self.call("dictionary_attr", results))
        with pytest.raises(Exception, match="secret.*found string"):
            self.jax.block_until_ready(self.call("dictionary_attr", results, secret="invalid"))

    def test_counter(self):
        index = 10 + self.in_jax
        counts = [int(self.call("counter", self.like(dtype=np.int32), index=i)) for i in (index, index, index + 2, index)]
        assert counts == [0, 1, 0, 2]

    def test_aliasing(self):
        for x in (np.linspace(0, 0.5, 10, dtype=np.float32), np.int32(6)):
            given = self.jax.numpy.asarray(x) if self.in_jax else x
            call = ffi.ffi_call("example_aliasing", self.like(*x.shape, dtype=x.dtype), input_output_aliases={0: 0})
            np.testing.assert_array_equal(call(given, strict=True), x)

    def test_rms_norm(self):
        x = np.linspace(-0.5, 0.5, 15, dtype=np.float32).reshape(3, 5)
        y = self.call("rms_norm", self.like(3, 5), x, eps=np.float32(1e-5))
        scale = np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5)
        np.testing.assert_allclose(y, x / scale, rtol=1e-6)
        y, r = self.call("rms_norm_fwd", (self.like(3, 5), self.like(3)), x, eps=np.float32(1e-5))
        np.testing.assert_allclose(y, x / scale, rtol=1e-6)
        dx = self.call("rms_norm_bwd", self.like(3, 5), np.asarray(r), x, np.ones_like(x))
        assert dx.shape == (3, 5)


def geqrf(x, **options):
    """Calls `lapack_sgeqrf_ffi` like JAX's ffi_test, with matrices in column-major order."""
    columns = (*range(x.ndim - 2), x.ndim - 1, x.ndim - 2)
    results = [Like(*x.shape), Like(*x.shape[:-2], min(x.shape[-2:]))]
    call = ffi.ffi_call(
        "lapack_sgeqrf_ffi",
        results,
        input_output_aliases={0: 0},
        input_layouts=[columns],
        output_layouts=[columns, None],
        **options,
    )
    return call(x)


@pytest.mark.parametrize("shape", [(6, 5), (4, 5, 6)])
def test_layouts_and_aliases(lapack, shape):
    """NumPy arrays use farcall's handler, JAX arrays use jaxlib's, which the fixture `lapack` initializes."""
    jax = pytest.importorskip("jax")
    x = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    for ours, theirs in zip(geqrf(x), geqrf(jax.numpy.asarray(x)), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-5)


def test_types_of_attributes():
    """Attributes have the types that JAX gives them."""
    given = []
    farcall.handler(name="ffi_attributes")(lambda x, y, **attributes: given.append(attributes))

    def text(**attributes):
        return ffi._attributes(attributes).text

    for dtype, name in [(np.int8, "i8"), (np.uint16, "ui16"), (np.int32, "i32"), (np.uint64, "ui64"), (np.int64, "i64")]:
        assert text(a=dtype(1)) == f"{{a = 1 : {name}}}"
    assert text(a=1) == "{a = 1 : i64}" and text(a=True) == text(a=np.bool_(True)) == "{a = true}"
    assert text(a=np.float32(1)).endswith(": f32}") and text(a=1.0).endswith(": f64}")
    values = dict(a=1, b=True, c="text", d=np.arange(3), e={"f": np.float32(0.5), "g": [1, 2]}, h=np.array(7, np.int32))
    ffi.ffi_call("ffi_attributes", Like(3))(X, **values)
    assert given == [dict(a=1, b=True, c="text", d=(0, 1, 2), e={"f": 0.5, "g": (1, 2)}, h=(7,))]
    with pytest.raises(TypeError, match="attribute a is neither a number"):
        text(a=object())
    with pytest.raises(TypeError, match="attribute a is of type bf16, which no attribute has"):
        text(a=pytest.importorskip("ml_dtypes").bfloat16(1))
    nested = {}
    for _ in range(100):
        nested = {"a": nested}
    with pytest.raises(TypeError, match="attribute a has dictionaries more than 64 deep"):
        text(a=nested)


def test_operands():
    types = []
    farcall.handler(name="ffi_operands")(lambda *buffers: types.append([b.dtype.name for b in buffers]))
    call = ffi.ffi_call("ffi_operands", (), has_side_effect=True)
    call(1, 2.5, True, [1, 2], np.int64(3), np.float64(4), np.asfortranarray(np.ones((2, 3))))
    assert types == [["int32", "float32", "bool", "int32", "int64", "float64", "float64"]]
    with pytest.raises(TypeError, match="not a tensor element type"):
        call(np.array(["text"]))


def test_the_older_interface(capsule):
    ffi.register_ffi_target("ffi_add_one", capsule("add_one"), api_version=0)
    call = ffi.ffi_call("ffi_add_one", Like(), custom_call_api_version=1)
    assert call(np.float32(2)) == 3
    with pytest.raises(ValueError, match="attributes are for targets of the typed FFI"):
        call(np.float32(2), a=1)
    with pytest.raises(ValueError, match="legacy_backend_config is for targets of the older interface"):
        ffi.ffi_call("ffi_add_one", Like(), legacy_backend_config="12345")
    with pytest.raises(ValueError, match="typed API.*registered for the untyped API"):
        ffi.ffi_call("ffi_add_one", Like())(np.float32(2))


def test_the_string_of_the_older_interface():
    """The older interface passes `legacy_backend_config` as bytes to a C function created by ctypes: `void
    (void* out, const void** ins, const char* opaque, size_t, status*)`."""
    seen = []

    def called(out, ins, opaque, size, status):
        seen.append(ctypes.string_at(opaque, size))
        ctypes.cast(out, ctypes.POINTER(ctypes.c_float))[0] = 1.5

    c_type = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p)
    test_the_string_of_the_older_interface.kept = function = c_type(called)
    farcall.Registry.process().register("ffi_opaque", ffi.pycapsule(function), api_version=0)
    assert ffi.ffi_call("ffi_opaque", Like(), custom_call_api_version=3, legacy_backend_config="12345")() == 1.5
    assert seen == [b"12345"]


def test_wrong_calls(scale):
    with pytest.raises(ValueError, match="with input index 1 of 1 input"):
        ffi.ffi_call(scale, Like(3), input_output_aliases={1: 0})(X)
    with pytest.raises(ValueError, match="with output index 1 of 1 output"):
        ffi.ffi_call(scale, Like(3), input_output_aliases={0: 1})(X)
    with pytest.raises(ValueError, match=r"referring to an input of f32\[3\] and an output of s32\[3\]"):
        ffi.ffi_call(scale, Like(3, dtype=np.int32), input_output_aliases={0: 0})(X)
    with pytest.raises(TypeError, match=r"ffi_call\('scale'\) needs result_shape_dtypes: "):
        ffi.ffi_call("scale")
    with pytest.raises(ValueError, match="All elements of result_shape_dtypes.*position 1"):
        ffi.ffi_call(scale, (Like(3), ()))(X)
    with pytest.raises(ValueError, match="All elements of result_shape_dtypes.*position 0"):
        ffi.ffi_call(scale, None)(X)
    with pytest.raises(ValueError, match="1 input, but 2 input layouts"):
        ffi.ffi_call(scale, Like(3), input_layouts=[None, None])(X)
    with pytest.raises(ValueError, match=r"the layout of output 0 is \(1,\), not an order of its 1 dimensions"):
        ffi.ffi_call(scale, Like(3), output_layouts=[1])(X)
    with pytest.raises(ValueError, match="vmap_method is one of"):
        ffi.ffi_call(scale, Like(3), vmap_method="no")
    with pytest.raises(ValueError, match="no target `ffi_scael` is registered.*\n.*\n?.*ffi_scale"):
        ffi.ffi_call("ffi_scael", Like(3))(X)
    with pytest.raises(RuntimeError, match="Wrong number of attributes: expected 1 but got 0"):
        ffi.ffi_call(scale, Like(3))(X)


def test_a_target_that_was_replaced():
    for by in (1, 2):
        farcall.handler(name="ffi_replaced", replace=True)(lambda x, y, by=by: np.copyto(y, x + by))
        np.testing.assert_array_equal(ffi.ffi_call("ffi_replaced", Like(3))(X), X + by)


def test_a_handler_is_registered_for_both():
    jax = pytest.importorskip("jax")
    handler = farcall.Handler("ffi_both", lambda x, y: np.copyto(y, x[::-1]))
    ffi.register_ffi_target("ffi_both", handler)
    call = ffi.ffi_call("ffi_both", jax.ShapeDtypeStruct((3,), np.float32))
    np.testing.assert_array_equal(call(X), X[::-1])
    np.testing.assert_array_equal(jax.jit(call)(X), X[::-1])


def test_capsules_and_headers(capsule):
    with pytest.raises(TypeError, match="a C function is a function of ctypes or an address, not a float"):
        ffi.pycapsule(1.5)
    with pytest.raises(ValueError, match="other than null"):
        ffi.pycapsule(0)
    pytest.importorskip("jaxlib")
    assert os.path.isfile(os.path.join(ffi.include_dir(), "xla/ffi/api/c_api.h"))
    import jax.ffi

    assert ffi.ffi_lowering is jax.ffi.ffi_lowering
    with pytest.raises(AttributeError):
        ffi.no_such_function


def test_before_jax_is_imported_and_without():
    pytest.importorskip("jax")
    script = """
        import sys
        import numpy as np
        import farcall
        from farcall import ffi

        class Like:
            shape, dtype = (3,), np.dtype(np.float32)

        x = np.float32([1, 2, 3])
        ffi.register_ffi_target("double", farcall.Handler("double", lambda x, y: np.copyto(y, 2 * x)))
        call = ffi.ffi_call("double", Like)
        assert call(x).tolist() == [2, 4, 6]
        assert "jax" not in sys.modules
        import jax
        assert ffi.ffi_call("double", jax.ShapeDtypeStruct((3,), np.float32))(jax.numpy.asarray(x)).tolist() == [2, 4, 6]
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(script)], check=True)
