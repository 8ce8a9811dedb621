"""JAX's callbacks in programs that farcall's engine runs on one device. The tests follow JAX's own tests of
callbacks."""

import contextlib
import functools
import inspect
import io

import numpy as np
import pytest

import farcall
from farcall._handlers import AddressedCallbacks

jax = pytest.importorskip("jax")
jnp = jax.numpy
io_callback = pytest.importorskip("jax.experimental").io_callback

#: True in old versions of JAX, whose programs refer to a callback by the address of the jaxlib object that
#: calls it. An error then has the text of a callback's exception, but not the exception as its cause.
BY_ADDRESS = jax.__version_info__ < (0, 6)


def run(f, *args):
    """Runs the function in farcall's engine."""
    return farcall.compile(jax.jit(f).lower(*args))(*args)


def shaped(*shape, dtype=np.float32):
    return jax.ShapeDtypeStruct(shape, dtype)


CALLBACKS = {
    "pure": jax.pure_callback,
    "io": io_callback,
    "ordered": functools.partial(io_callback, ordered=True),
}


@pytest.fixture(params=CALLBACKS)
def callback(request):
    return CALLBACKS[request.param]


def test_scalars_and_literals(callback):
    assert run(lambda x: callback(lambda x: x + np.float32(1), shaped(), x), np.float32(0)) == 1
    for value, dtype in [(4.0, np.float32), (4, np.int32), (True, np.bool_)]:
        assert run(lambda: callback(lambda: value, shaped(dtype=dtype))) == value


def test_what_a_function_gets(callback):
    """As in JAX, `pure_callback` passes JAX arrays, and the other callbacks pass NumPy arrays."""
    kinds = []

    def f(x):
        return callback(lambda x: kinds.append(type(x)) or np.asarray(x), shaped(2), x)

    x = np.float32([1, 2])
    run(f, x)
    jax.block_until_ready(jax.jit(f)(x))
    assert len(kinds) == 2 and kinds[0] == kinds[1]


def test_every_element_type(callback):
    dtypes = ["bool", "int8", "uint8", "int16", "int32", "uint32", "float16", "bfloat16", "float32", "complex64", "float8_e4m3fn"]
    if jax.__version_info__ >= (0, 5):  # JAX's own operations support int4 only from 0.5 on
        dtypes.append("int4")
    for dtype in dtypes:
        x = jnp.array([[1, 0, 1], [0, 1, 1]]).astype(dtype)
        y = run(lambda x: callback(lambda x: x.T, shaped(3, 2, dtype=dtype), x), x)
        np.testing.assert_array_equal(y.astype(complex), np.asarray(x).T.astype(complex))


def test_results_of_other_kinds(callback):
    """Callbacks may return arrays that are not NumPy's or not row-major."""

    class Own:
        def __array__(self, dtype=None, copy=None):
            return np.array(7, np.float32)

    assert run(lambda: callback(Own, shaped())) == 7
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    np.testing.assert_array_equal(run(lambda x: callback(lambda x: np.asarray(x).T, shaped(3, 2), x), x), x.T)
    y = run(lambda x: callback(lambda x: np.asarray(x)[:, ::-2], shaped(2, 2), x), x)
    np.testing.assert_array_equal(y, x[:, ::-2])


def test_in_nested_functions_and_called_twice(callback):
    double = jax.jit(lambda x: callback(lambda x: np.asarray(x) * np.float32(2), shaped(), x))
    assert run(lambda x: double(double(x)) + double(x), np.float32(3)) == 18


def test_as_the_condition_of_a_loop(callback):
    def f(x):
        def goes_on(x):
            return callback(lambda x: np.asarray(x) < 10, shaped(dtype=np.bool_), x)

        return jax.lax.while_loop(goes_on, lambda x: x * 2, x)

    assert run(f, np.float32(3)) == 12


def test_wrong_results(callback):
    x = np.float32(1)
    with pytest.raises(RuntimeError, match="Mismatched number of outputs|tuple"):
        run(lambda x: callback(lambda x: (x, x), shaped(), x), x)
    with pytest.raises(RuntimeError, match="Incorrect output shape"):
        run(lambda x: callback(lambda x: np.zeros(3, np.float32), shaped(), x), x)
    with pytest.raises(RuntimeError, match="Incorrect output dtype"):
        run(lambda x: callback(lambda x: np.int32(1), shaped(), x), x)
    with pytest.raises(RuntimeError, match="positional argument"):
        run(lambda x: callback(lambda: np.float32(1), shaped(), x), x)


def test_several_and_trees(callback):
    def swap(a):
        return {"x": a["y"] + 1, "y": (a["x"][0] * 2, np.float32(7))}

    shapes = {"x": shaped(2), "y": (shaped(3), shaped())}
    a = {"x": (np.float32([1, 2, 3]),), "y": np.float32([4, 5])}
    y = run(lambda a: callback(swap, shapes, a), a)
    assert y["x"].tolist() == [5, 6] and y["y"][0].tolist() == [2, 4, 6] and y["y"][1] == 7


def test_no_elements_no_operands_no_results(callback):
    x = np.zeros((0, 3), np.float32)
    assert run(lambda x: callback(lambda x: x.T, shaped(3, 0), x), x).shape == (3, 0)
    assert run(lambda: callback(lambda: np.float32(2), shaped())) == 2
    called = []
    if callback is not jax.pure_callback:
        run(lambda x: callback(lambda x: called.append(float(x)), None, x), np.float32(3))
        assert called == [3]


def test_in_a_while_loop(callback):
    def f(n):
        return jax.lax.while_loop(
            lambda s: s[0] < n, lambda s: (s[0] + 1, callback(lambda x: x * np.float32(2), shaped(2), s[1])), (0, jnp.ones(2))
        )

    assert run(f, np.int32(5))[1].tolist() == [32, 32]


def test_in_cond(callback):
    def f(p, x):
        def branch(by):
            return lambda x: callback(lambda x: x + np.float32(by), shaped(2), x)

        return jax.lax.cond(p, branch(1), branch(2), x)

    x = np.float32([0, 1])
    assert run(f, True, x).tolist() == [1, 2] and run(f, False, x).tolist() == [2, 3]


def test_in_scan(callback):
    def f(xs):
        def step(carry, x):
            y = callback(lambda c, x: c + x, shaped(), carry, x)
            return y, y * 2

        return jax.lax.scan(step, jnp.float32(0), xs)

    carry, ys = run(f, np.float32([1, 2, 3]))
    assert carry == 6 and ys.tolist() == [2, 6, 12]


def test_exceptions(callback):
    class Odd(Exception):
        pass

    def raises(x):
        raise Odd("an odd one")

    executable = farcall.compile(jax.jit(lambda x: callback(raises, shaped(), x) + 1).lower(np.float32(0)))
    for _ in range(2):
        with pytest.raises(RuntimeError, match="an odd one") as e:
            executable(np.float32(0))
        assert type(e.value.__cause__) is (type(None) if BY_ADDRESS else Odd)
        assert "Traceback" in str(e.value) and "in raises" in str(e.value)


def test_an_exception_within_a_callback_of_a_callback():
    def inner(x):
        raise ValueError("the inner one")

    def outer(x):
        return run(lambda x: jax.pure_callback(inner, shaped(), x), np.asarray(x))

    with pytest.raises(RuntimeError, match="the inner one") as e:
        run(lambda x: jax.pure_callback(outer, shaped(), x), np.float32(0))
    if not BY_ADDRESS:
        assert type(e.value.__cause__) is RuntimeError and type(e.value.__cause__.__cause__) is ValueError


def test_unused_pure_callbacks_are_not_called():
    called = []

    def f(x):
        jax.pure_callback(lambda x: called.append(1) or x, shaped(), x)
        return x * 2

    assert run(f, np.float32(2)) == 4 and not called


@pytest.mark.parametrize("method", ["sequential", "sequential_unrolled", "expand_dims", "broadcast_all"])
def test_vmap(method):
    if "vmap_method" not in inspect.signature(jax.pure_callback).parameters:
        pytest.skip("this JAX has no option `vmap_method`")
    shapes = []

    def add(x, y):
        shapes.append((x.shape, y.shape))
        return np.asarray(x) + np.asarray(y)

    def f(x, y):
        shape = jnp.broadcast_shapes(x.shape, y.shape)
        return jax.pure_callback(add, shaped(*shape), x, y, vmap_method=method)

    x, y = np.arange(4, dtype=np.float32), np.float32(1)
    assert run(jax.vmap(f, in_axes=(0, None)), x, y).tolist() == [1, 2, 3, 4]
    expected = {"expand_dims": [((4,), (1,))], "broadcast_all": [((4,), (4,))]}
    assert shapes == expected.get(method, [((), ())] * 4)


def test_a_callback_with_a_derivative():
    @jax.custom_jvp
    def sin(x):
        return jax.pure_callback(np.sin, shaped(*x.shape), x)

    sin.defjvp(lambda xs, ts: (sin(*xs), jax.pure_callback(np.cos, shaped(*xs[0].shape), *xs) * ts[0]))
    x = np.float32([0, 1, 2])
    np.testing.assert_allclose(run(jax.grad(lambda x: sin(x).sum()), x), np.cos(x), rtol=1e-6)


def test_what_a_callback_keeps_stays():
    """Later runs do not overwrite arrays that a callback keeps, although JAX arrays may share memory with the
    arrays from which they are created."""
    kept = []

    def f(x):
        y = jax.pure_callback(lambda v: kept.append(v) or v, shaped(64, 64), x)
        return jnp.sort(y * 2, axis=0)

    executable = farcall.compile(jax.jit(f).lower(jnp.zeros((64, 64))))
    for i in range(4):
        executable(np.full((64, 64), i, np.float32))
    del executable
    assert [np.unique(np.asarray(v)).tolist() for v in kept] == [[0], [1], [2], [3]]


def test_io_callbacks_have_state():
    state = [0]

    def add(by):
        state[0] += int(by)
        return np.int32(state[0])

    executable = farcall.compile(jax.jit(lambda x: io_callback(add, shaped(dtype=np.int32), x)).lower(np.int32(2)))
    assert [int(executable(np.int32(2))) for _ in range(3)] == [2, 4, 6]


def test_io_callbacks_can_be_vmapped_if_unordered():
    seen = []
    run(jax.vmap(lambda x: io_callback(lambda x: seen.append(int(x)), None, x)), np.arange(4, dtype=np.int32))
    assert sorted(seen) == [0, 1, 2, 3]


def test_ordered_effects_are_in_order():
    seen = []

    def f(x):
        def note(what):
            return lambda x: seen.append((what, float(x)))

        io_callback(note("first"), None, x, ordered=True)

        def step(carry, i):
            io_callback(note("step"), None, carry + i, ordered=True)
            jax.lax.cond(i > 1, lambda: io_callback(note("large"), None, i, ordered=True), lambda: None)
            return carry + i, None

        y, _ = jax.lax.scan(step, x, jnp.arange(3.0))
        io_callback(note("last"), None, y, ordered=True)
        return y

    assert run(f, np.float32(1)) == 4
    steps = [("step", 1), ("step", 2), ("step", 4), ("large", 2), ("last", 4)]
    assert seen == [("first", 1), *steps]


def test_debug_print():
    def f(x):
        jax.debug.print("x is {x}, {}", x.sum(), x=x)
        jax.debug.print("ordered {}", x[0], ordered=True)
        return x

    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        run(f, np.int32([1, 2]))
    assert sorted(out.getvalue().splitlines()) == ["ordered 1", "x is [1 2], 3"]


@pytest.mark.parametrize("options", [{}, {"ordered": True}, {"partitioned": True}], ids=str)
def test_debug_callback(options):
    seen = []

    def f(x):
        jax.debug.callback(lambda x, y: seen.append((float(x), y.tolist())), x, x + jnp.arange(2), **options)
        return x + 1

    if not inspect.signature(jax.debug.callback).parameters.keys() >= options.keys():
        pytest.skip(f"this JAX lacks one of the options {list(options)}")
    assert run(f, np.float32(1)) == 2
    assert seen == [(1, [1, 2])]


def test_text_alone_has_no_callbacks():
    lowered = jax.jit(lambda x: jax.pure_callback(np.sin, shaped(), x)).lower(np.float32(1))
    target = AddressedCallbacks.TARGET if BY_ADDRESS else "xla_ffi_python_cpu_callback"
    with pytest.raises(ValueError, match=f"no target `{target}`"):
        farcall.compile(lowered.as_text())


def test_what_jaxlib_does_not_give_out():
    """Only some versions of jaxlib expose the C function that calls Python callbacks. With other versions,
    the error says that jaxlib does not expose it."""
    xla_client = pytest.importorskip("jaxlib.xla_client")
    registry = farcall.Registry()._native
    if AddressedCallbacks.TARGET in getattr(xla_client, "custom_call_targets", lambda platform: {})("Host"):
        [target] = AddressedCallbacks([]).registry(registry).targets()
        assert (target.name, target.typed) == (AddressedCallbacks.TARGET, False)
    else:
        with pytest.raises(ValueError, match="`xla_python_cpu_callback`, a function of jaxlib that jaxlib .* does not give out"):
            AddressedCallbacks([]).registry(registry)
