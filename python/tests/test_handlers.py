"""Handlers written in Python, in farcall's engine and in XLA."""

import ctypes
import gc
import signal
import subprocess
import sys
import threading
import time
import weakref

import numpy as np
import pytest
from test_registry import call

import farcall
from farcall import xla_client

X = np.array([1, 2, 3], np.float32)
SCALE = call("scale", "3xf32 -> 3xf32", "mhlo.backend_config = {factor = 2.5 : f32}")
F = call("f", "3xf32 -> 3xf32")


@pytest.fixture
def registry() -> farcall.Registry:
    return farcall.Registry()


def run(registry, function, program=F, inputs=(X,)):
    """Registers the function as the handler `f`, and runs a program that calls `f`."""
    farcall.handler(name="f", registry=registry, replace=True)(function)
    return farcall.compile(program, registry, name="f.mlir")(*inputs)


def test_a_handler(registry):
    @farcall.handler(registry=registry)
    def scale(x, y, *, factor):
        """Scales."""
        assert type(factor) is float
        np.multiply(x, factor, out=y)

    np.testing.assert_array_equal(farcall.compile(SCALE, registry)(X), [2.5 * X])
    assert [t.name for t in registry.targets()] == ["scale"]
    assert (scale.name, scale.__name__, scale.__doc__) == ("scale", "scale", "Scales.")
    assert repr(scale) == "<farcall.Handler scale>"
    y = np.empty_like(X)
    scale(X, y, factor=2.0)
    np.testing.assert_array_equal(y, 2 * X)


def test_in_the_registry_of_the_process():
    @farcall.handler
    def a_handler_of_this_test(x, y):
        y[:] = x + 1

    np.testing.assert_array_equal(farcall.compile(call("a_handler_of_this_test", "3xf32 -> 3xf32"))(X), [X + 1])


def test_operands_are_read_only_and_nothing_is_copied(registry):
    seen = []

    def f(x, y):
        seen.append((x.flags.writeable, y.flags.writeable, x.flags.owndata, y.flags.owndata, x.shape, x.dtype))
        with pytest.raises(ValueError, match="read-only"):
            x[0] = 1
        with pytest.raises(ValueError):
            x.flags.writeable = True
        y[:] = 0

    run(registry, f)
    assert seen == [(False, True, False, False, (3,), np.float32)]


def test_every_element_type(registry):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    spelled = {"i1": bool, "ui8": np.uint8, "i64": np.int64, "f16": np.float16, "f64": np.float64, "bf16": ml_dtypes.bfloat16}
    spelled |= {"complex<f32>": np.complex64, "i4": ml_dtypes.int4, "f8E4M3FN": ml_dtypes.float8_e4m3fn}
    for name, dtype in spelled.items():
        x = np.array([[1, 0, 1]]).astype(dtype)
        types = []

        def f(x, y):
            types.append((x.dtype, y.dtype))
            y[...] = x

        [y] = run(registry, f, call("f", f"1x3x{name} -> 1x3x{name}"), [x])
        assert types == [(dtype, dtype)] and y.dtype == dtype and (y == x).all()


def test_shapes(registry):
    def f(x, y):
        assert x.shape == y.shape
        y[...] = x

    assert run(registry, f, call("f", "f32 -> f32"), [np.float32(3)])[0] == 3
    assert run(registry, f, call("f", "0x4xf32 -> 0x4xf32"), [np.zeros((0, 4), np.float32)])[0].shape == (0, 4)


def test_attributes(registry):
    given = []

    def f(x, y, **attributes):
        given.append(attributes)
        y[:] = x

    attributes = '''a = 1 : i32, b = true, c = "text", d = array<i64: 1, 2>, e = {f = 2.5 : f64, g = {h = 1 : ui8}},
      lambda = dense<[1.5, 2.5]> : tensor<2xf32>, z = 0.1 : f32'''
    run(registry, f, call("f", "3xf32 -> 3xf32", f"mhlo.backend_config = {{{attributes}}}"))
    e = {"f": 2.5, "g": {"h": 1}}
    assert given == [{"a": 1, "b": True, "c": "text", "d": (1, 2), "e": e, "lambda": (1.5, 2.5), "z": 0.1}]


def test_several_operands_results_and_tokens(registry):
    program = """func.func @main(%x: tensor<2xf32>, %y: tensor<i32>) -> (tensor<i32>, tensor<2xf32>) {
      %t = stablehlo.create_token : !stablehlo.token
      %0:3 = stablehlo.custom_call @f(%t, %x, %y) {has_side_effect = true}
        : (!stablehlo.token, tensor<2xf32>, tensor<i32>) -> (!stablehlo.token, tensor<i32>, tensor<2xf32>)
      return %0#1, %0#2 : tensor<i32>, tensor<2xf32>
    }"""

    def f(x, y, y2, x2):
        y2[...] = y + 1
        x2[...] = x[::-1]

    y, x = run(registry, f, program, [np.array([1, 2], np.float32), np.int32(3)])
    assert y == 4 and x.tolist() == [2, 1]


def test_what_it_raises(registry):
    class Odd(Exception):
        pass

    def f(x, y):
        local = x.sum()
        raise Odd(f"the sum is {local}")

    with pytest.raises(RuntimeError, match="the sum is 6") as e:
        run(registry, f)
    message = str(e.value)
    assert "f.mlir:2" in message and "Traceback (most recent call last)" in message and __file__ in message
    assert type(e.value.__cause__) is Odd and e.value.__cause__.__traceback__ is not None
    # The earlier exception is not the cause of other errors.
    registry.register("g", farcall.Handler("g", lambda x, y: None).capsule)
    with pytest.raises(RuntimeError, match="takes 1 positional argument") as e:
        run(registry, lambda x: None)
    assert type(e.value.__cause__) is TypeError


def test_a_cause_is_that_of_its_own_run(registry, compiled_handlers):
    registry.load(compiled_handlers(), ["fail=Fail"])
    inner = farcall.compile(call("fail", "f32 -> f32"), registry)

    def f(x, y):
        with pytest.raises(RuntimeError) as e:
            farcall.compile(call("g", "3xf32 -> 3xf32"), registry)(x)
        assert type(e.value.__cause__) is KeyError
        y[:] = inner(x.sum())[0]

    @farcall.handler(registry=registry)
    def g(x, y):
        raise KeyError("inner")

    with pytest.raises(RuntimeError, match="the input is negative") as e:
        run(registry, f, inputs=[-X])
    # The cause is the error of the inner run, in which the C++ handler failed.
    assert type(e.value.__cause__) is RuntimeError and e.value.__cause__.__cause__ is None
    with pytest.raises(RuntimeError) as e:
        inner(-1)
    assert e.value.__cause__ is None


def test_a_cause_is_not_what_another_host_has_called(registry, compiled_handlers):
    jax = pytest.importorskip("jax")
    registry.load(compiled_handlers(), ["fail=Fail"])

    @farcall.handler(name="raises_for_jax", registry=registry)
    def raises(x, y):
        raise KeyboardInterrupt

    jax.ffi.register_ffi_target(raises.name, raises.capsule)
    with pytest.raises(jax.errors.JaxRuntimeError, match="KeyboardInterrupt"):
        jax.block_until_ready(jax.ffi.ffi_call(raises.name, jax.ShapeDtypeStruct((3,), np.float32))(X))
    with pytest.raises(RuntimeError, match="the input is negative") as e:
        farcall.compile(call("fail", "f32 -> f32"), registry)(-1)
    assert e.value.__cause__ is None


def test_a_cause_is_not_what_an_earlier_call_of_the_run_has_caught(registry, compiled_handlers):
    """A handler runs a program in another host. A handler of that program raises an exception, which the
    first handler catches. Then a C++ handler fails. The caught exception is not the cause of this failure."""
    jax = pytest.importorskip("jax")
    registry.load(compiled_handlers(), ["fail=Fail"])

    @farcall.handler(name="caught_by_jax", registry=registry)
    def raises(x, y):
        raise KeyError("caught")

    jax.ffi.register_ffi_target(raises.name, raises.capsule)
    in_jax = jax.jit(lambda x: jax.ffi.ffi_call(raises.name, jax.ShapeDtypeStruct((3,), np.float32))(x))
    caught = []

    def calls_jax(*arguments):
        try:
            jax.block_until_ready(in_jax(X))
        except jax.errors.JaxRuntimeError as error:
            caught.append(str(error))

    xla_client.register_custom_call_target("untyped_calls_jax", calls_jax)
    [untyped] = [t for name, t in xla_client.custom_call_targets("cpu").items() if name == "untyped_calls_jax"]
    registry.register("untyped", untyped, api_version=0)
    farcall.handler(name="typed", registry=registry)(calls_jax)
    for name in ("typed", "untyped"):
        program = f"""func.func @main(%x: tensor<3xf32>, %s: tensor<f32>) -> (tensor<3xf32>, tensor<f32>) {{
          %0 = stablehlo.custom_call @{name}(%x) {{has_side_effect = true}} : (tensor<3xf32>) -> tensor<3xf32>
          %1 = stablehlo.custom_call @fail(%s) {{has_side_effect = true}} : (tensor<f32>) -> tensor<f32>
          return %0, %1 : tensor<3xf32>, tensor<f32>
        }}"""
        with pytest.raises(RuntimeError, match="the input is negative") as e:
            farcall.compile(program, registry)(X, np.float32(-1))
        assert e.value.__cause__ is None
    assert len(caught) == 2 and all("caught" in error for error in caught)


def test_what_is_not_an_exception_passes(registry):
    def f(x, y):
        raise SystemExit(3)

    with pytest.raises(SystemExit):
        run(registry, f)

    def g(x, y):
        signal.raise_signal(signal.SIGINT)
        raise AssertionError("the signal's handler did not raise an exception")

    with pytest.raises(KeyboardInterrupt):
        run(registry, g)


def test_returns_nothing(registry):
    with pytest.raises(RuntimeError, match="returns nothing, but it returned a ndarray"):
        run(registry, lambda x, y: x + y)


def test_views_that_are_kept(registry):
    kept = []
    with pytest.raises(RuntimeError, match="keeps its view of operand 0"):
        run(registry, lambda x, y: kept.append(x[1:]))
    kept.clear()
    with pytest.raises(RuntimeError, match="keeps its view of result 0"):
        run(registry, lambda x, y: kept.append(memoryview(y)))
    kept.clear()
    run(registry, lambda x, y: kept.append(x.copy()))
    assert (kept[0] == X).all()

    def in_a_cycle(x, y):
        cycle = [x]
        cycle.append(cycle)

    run(registry, in_a_cycle)

    def raises(x, y):
        raise ValueError

    with pytest.raises(RuntimeError) as e:
        run(registry, raises)
    frame = e.value.__cause__.__traceback__
    while frame.tb_next:
        frame = frame.tb_next
    assert frame.tb_frame.f_locals == {}


LARGE = 1 << 20
LARGE_F = f"""func.func @main(%x: tensor<{LARGE}xf32>) -> tensor<{LARGE}xf32> {{
  %0 = stablehlo.custom_call @f(%x) {{api_version = 4 : i32, mhlo.backend_config = {{}}}} : (tensor<{LARGE}xf32>) -> tensor<{LARGE}xf32>
  return %0 : tensor<{LARGE}xf32>
}}"""
LARGE_SUM = f"""func.func @main(%x: tensor<{LARGE}xf32>) -> tensor<{LARGE}xf32> {{
  %0 = stablehlo.add %x, %x : tensor<{LARGE}xf32>
  return %0 : tensor<{LARGE}xf32>
}}"""


def raise_with_view(kept, x, y):
    raise ValueError(y)


def raise_with_frame(kept, x, y):
    def frames():
        view = y.reshape(2, -1)[1]
        yield
        return view

    running = frames()
    next(running)
    kept.append(running)
    raise ValueError


@pytest.mark.parametrize(
    "keep",
    [
        lambda kept, x, y: kept.append(y),
        lambda kept, x, y: kept.append(y[1:].reshape(-1, 3)),
        lambda kept, x, y: kept.append(memoryview(y)),
        lambda kept, x, y: kept.append(np.from_dlpack(y)),
        lambda kept, x, y: kept.append(y.T.view(np.int32)),
        raise_with_view,
        raise_with_frame,
    ],
)
def test_kept_views_have_memory_of_their_own(registry, keep):
    """If a handler keeps a view, later runs of any program do not use the view's memory."""
    kept = []

    def f(x, y):
        y[...] = 5
        addresses.append(y.ctypes.data)
        keep(kept, x, y)

    addresses = []
    farcall.handler(name="f", registry=registry)(f)
    program, double = farcall.compile(LARGE_F, registry), farcall.compile(LARGE_SUM)
    x = np.ones(LARGE, np.float32)
    with pytest.raises(RuntimeError) as error:
        program(x)
    if error.value.__cause__ is not None and error.value.__cause__.args:
        kept.append(error.value.__cause__.args[0])
    # Another call of the same program uses other memory.
    with pytest.raises(RuntimeError):
        program(x)
    assert addresses[0] != addresses[1]
    results = [double(x)[0] for _ in range(6)]
    first, end = addresses[0], addresses[0] + 4 * LARGE
    assert not [r for r in results if r.ctypes.data < end and first < r.ctypes.data + r.nbytes]
    if isinstance(kept[0], np.ndarray) and kept[0].dtype == np.float32:
        assert (kept[0] == 5).all()
        kept[0][...] = 99
    assert all((r == 2).all() for r in results)


def test_kept_operands_outlive_their_arrays(registry):
    kept = []
    farcall.handler(name="f", registry=registry)(lambda x, y: kept.append(x[::2]))
    program = farcall.compile(LARGE_F, registry)
    x = np.full(LARGE, 7, np.float32)
    with pytest.raises(RuntimeError, match="keeps its view of operand 0"):
        program(x)
    del x, program
    gc.collect()
    others = [np.zeros(LARGE, np.float32) for _ in range(4)]
    assert (kept[0] == 7).all() and not any(other.any() for other in others)


def test_crashes_are_reported():
    """After a crash, farcall prints one line if reports are enabled. Then the signal handler that was
    installed before prints its message, and the signal ends the process."""
    script = """
import ctypes, faulthandler, sys
import numpy as np
import farcall
faulthandler.enable()
if sys.argv[1] == "reported":
    farcall.report_crashes()
farcall.handler(name="f")(lambda x, y: ctypes.string_at(8))
farcall.compile(%r, name="f.mlir")(np.ones(3, np.float32))
""" % F
    for how in "reported", "silent":
        ended = subprocess.run([sys.executable, "-c", script, how], capture_output=True, text=True)
        assert ended.returncode == -signal.SIGSEGV
        ours = [line for line in ended.stderr.splitlines() if line.startswith("error: custom call `f`")]
        assert len(ours) == (how == "reported")
        assert not ours or ours[0].endswith(", in its execute stage, crashed: invalid memory access (SIGSEGV)")
        assert "Fatal Python error: Segmentation fault" in ended.stderr


def test_the_same_name_again(registry):
    farcall.handler(name="f", registry=registry)(lambda x, y: None)
    with pytest.raises(ValueError, match="`f` is registered for Host already"):
        farcall.handler(name="f", registry=registry)(lambda x, y: None)
    with pytest.raises(ValueError, match="a target needs a name"):
        farcall.handler(name="", registry=registry)(lambda x, y: None)


def test_other_threads_go_on(registry):
    """The handler holds the interpreter's lock while it runs; the engine does not."""
    entered, leave = threading.Event(), threading.Event()

    def f(x, y):
        entered.set()
        assert leave.wait(60)
        y[:] = threading.get_ident() == runner.ident

    results = []
    farcall.handler(name="f", registry=registry)(f)
    program = farcall.compile(F, registry)
    runner = threading.Thread(target=lambda: results.extend(program(X)))
    runner.start()
    assert entered.wait(60)
    leave.set()
    runner.join()
    assert results[0].tolist() == [1, 1, 1]


def test_many_threads(registry):
    farcall.handler(name="f", registry=registry)(lambda x, y: np.copyto(y, x + 1))
    program = farcall.compile(F, registry)
    wrong = []

    def work(i):
        for _ in range(200):
            if (program(X + i)[0] != X + i + 1).any():
                wrong.append(i)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_thread_that_python_has_not_made(registry):
    """A host may call a handler from any thread, here from a thread that C code creates."""
    handler = farcall.handler(name="f", registry=registry)(lambda x, y: np.copyto(y, x))
    libc = ctypes.CDLL(None)
    thread = ctypes.c_ulong()
    start = ctypes.pythonapi.PyCapsule_GetPointer
    start.restype, start.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    # The thread passes a null pointer as the call frame. The handler only reports this on standard error.
    address = ctypes.c_void_p(start(handler.capsule, None))
    assert libc.pthread_create(ctypes.byref(thread), None, address, None) == 0
    assert libc.pthread_join(thread, None) == 0


def test_in_xla():
    jax = pytest.importorskip("jax")

    @farcall.handler(registry=farcall.Registry())
    def python_scale(x, y, *, factor):
        if factor < 0:
            raise ValueError("the factor is negative")
        np.multiply(x, factor, out=y)

    jax.ffi.register_ffi_target(python_scale.name, python_scale.capsule)
    ffi_call = jax.ffi.ffi_call("python_scale", jax.ShapeDtypeStruct((3,), np.float32), vmap_method="sequential")
    f = jax.jit(lambda x: ffi_call(x, factor=np.float32(2)))
    np.testing.assert_array_equal(f(X), 2 * X)
    np.testing.assert_array_equal(jax.vmap(f)(np.stack([X, X])), [2 * X, 2 * X])
    with pytest.raises(Exception, match="the factor is negative"):
        jax.block_until_ready(jax.jit(lambda x: ffi_call(x, factor=np.float32(-2)))(X))


def test_views_that_are_kept_in_xla():
    """XLA reuses the memory of arrays even if references to them exist, so handlers in XLA get copies."""
    jax = pytest.importorskip("jax")
    kept = []

    @farcall.handler(registry=farcall.Registry())
    def python_keeper(x, y):
        y[...] = x
        kept.append((x, y))

    @farcall.handler(registry=farcall.Registry())
    def python_add_one(x, y):
        y += 1

    for h in python_keeper, python_add_one:
        jax.ffi.register_ffi_target(h.name, h.capsule)
    shape = jax.ShapeDtypeStruct((1 << 16,), np.float32)
    x = np.full(shape.shape, 4, np.float32)
    with pytest.raises(Exception, match="keeps its view of operand 0"):
        jax.block_until_ready(jax.jit(jax.ffi.ffi_call("python_keeper", shape))(x))
    triple = jax.jit(lambda x: 3 * x + 1)
    results = [np.asarray(triple(x)) for _ in range(6)]
    for array in kept[0]:
        assert (array == 4).all()
        if array.flags.writeable:
            array[...] = 99
    assert all((result == 13).all() for result in results)
    # If a result shares memory with an operand, the handler finds the operand's elements in the result.
    in_place = jax.ffi.ffi_call("python_add_one", shape, input_output_aliases={0: 0})
    np.testing.assert_array_equal(jax.jit(in_place)(x), x + 1)


def test_capsules_of_a_library(compiled_handlers):
    jax = pytest.importorskip("jax")
    capsules = farcall.capsules(compiled_handlers(), ["capsule_scale=Scale"])
    assert list(capsules) == ["capsule_scale"] and list(capsules["capsule_scale"]) == ["execute"]
    for name, fn in capsules.items():
        jax.ffi.register_ffi_target(name, fn)
    ffi_call = jax.ffi.ffi_call("capsule_scale", jax.ShapeDtypeStruct((3,), np.float32))
    np.testing.assert_array_equal(jax.jit(lambda x: ffi_call(x, factor=np.float32(2)))(X), 2 * X)
    assert not farcall.capsules(compiled_handlers(), ["capsule_scale=Scale"], platform="cuda")
    with pytest.raises(FileNotFoundError):
        farcall.capsules("none.so")


def test_callbacks_go_with_their_executable():
    """A callback lives as long as the executable that calls it, and no longer."""
    jax = pytest.importorskip("jax")

    class Kept:
        pass

    def executable():
        held = Kept()
        f = jax.jit(lambda x: jax.pure_callback(lambda x: (held, x)[1], jax.ShapeDtypeStruct((3,), np.float32), x))
        return farcall.compile(f.lower(X)), weakref.ref(held)

    compiled, held = executable()
    jax.clear_caches()
    gc.collect()
    np.testing.assert_array_equal(compiled(X), X)
    assert held() is not None
    del compiled
    jax.clear_caches()
    gc.collect()
    assert held() is None


def test_calls_that_no_function_takes(registry):
    """The error has Python's message about the arguments, followed by farcall's description of the call."""
    with pytest.raises(RuntimeError, match=r"missing 1 required positional argument: 'z': called with 1 operand and 1 result"):
        run(registry, lambda x, y, z: None)
    one = call("f", "3xf32 -> 3xf32", "mhlo.backend_config = {factor = 2.5 : f32}")
    several = one.replace("@f(%x)", "@f(%x, %x)").replace(": (tensor<3xf32>)", ": (tensor<3xf32>, tensor<3xf32>)")
    with pytest.raises(RuntimeError, match="called with 2 operands, 1 result and the attributes factor") as e:
        run(registry, lambda x, y, *, factor: None, several)
    assert type(e.value.__cause__) is TypeError

    def fails(x, y):
        raise TypeError("its own")

    with pytest.raises(RuntimeError, match="its own") as e:
        run(registry, fails)
    assert str(e.value.__cause__) == "its own"


def test_what_a_call_costs(registry):
    """The limit is 5 µs in a release build (`cargo xtask bench --bar`). This test detects calls that are many
    times slower, in any build."""
    farcall.handler(name="f", registry=registry)(lambda x, y: None)
    calls = "".join(f"  %{i} = stablehlo.custom_call @f(%{i - 1}) : (tensor<8xf32>) -> tensor<8xf32>\n" for i in range(1, 101))
    program = f"func.func @main(%0: tensor<8xf32>) -> tensor<8xf32> {{\n{calls}  return %100 : tensor<8xf32>\n}}"
    executable = farcall.compile(program, registry)
    x = np.ones(8, np.float32)
    times = []
    for _ in range(20):
        start = time.perf_counter()
        executable(x)
        times.append(time.perf_counter() - start)
    assert min(times) / 100 < 50e-6, f"a call takes {min(times) * 1e4:.1f} µs, more than 50 µs"
