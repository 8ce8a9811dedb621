"""JAX on farcall's engine: devices, arrays, programs, donation, callbacks, errors, and the cache of programs."""

import contextlib
import gc
import io
import os
import pickle
import subprocess
import sys
import threading
import time

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
from jax.experimental import checkify, io_callback
from libraries import example

import farcall


def run_python(source: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Runs a program in a process of its own."""
    command = [sys.executable, "-c", source]
    return subprocess.run(
        command, env=os.environ | environment, capture_output=True, text=True, timeout=120, check=False
    )


# ---- Devices ---------------------------------------------------------------------------------------------


def test_devices_describe_themselves(capsys):
    assert jax.device_count() == jax.local_device_count() == 4
    device = jax.devices()[0]
    assert (str(device), repr(device)) == ("farcall:0", "FarcallDevice(id=0)")
    assert (device.platform, device.device_kind, device.id, device.process_index) == ("cpu", "cpu", 0, 0)
    assert device.client.platform_version.endswith(f"farcall {farcall.__version__}")
    assert jax.devices("farcall") == jax.devices("cpu") == jax.devices()
    jax.print_environment_info()
    assert "JAX_PLATFORMS=farcall" in capsys.readouterr().out


def test_each_device_has_three_memories():
    device = jax.devices()[1]
    kinds = [memory.kind for memory in device.addressable_memories()]
    assert kinds == ["device", "pinned_host", "unpinned_host"]
    assert device.default_memory().kind == "device"
    x = jnp.arange(4.0)
    y = jax.device_put(x, x.sharding.with_memory_kind("pinned_host"))
    assert (x.sharding.memory_kind, y.sharding.memory_kind) == ("device", "pinned_host")
    np.testing.assert_array_equal(x, y)


def test_arrays_move_between_devices():
    first, *_, last = jax.devices()
    x = jax.device_put(np.arange(6).reshape(2, 3), last)
    y = jax.jit(lambda x: x * 2)(x)
    assert (x.devices(), y.devices()) == ({last}, {last})
    z = jax.device_put(y, first)
    assert z.devices() == {first}
    np.testing.assert_array_equal(z, 2 * np.arange(6).reshape(2, 3))


def test_the_number_of_devices_is_checked():
    for number, message in [("no", "must be a number of devices"), ("0", "must be between 1 and 4096")]:
        done = run_python("import jax; jax.devices()", FARCALL_NUM_DEVICES=number)
        assert done.returncode == 1 and message in done.stderr


def test_memory_in_use_is_counted():
    device = jax.devices()[3]
    gc.collect()
    before = device.memory_stats()["bytes_in_use"]
    x = jax.device_put(np.zeros(1000, np.float32), device)
    assert device.memory_stats()["bytes_in_use"] == before + 4000
    x.delete()
    assert device.memory_stats()["bytes_in_use"] == before


# ---- Arrays ----------------------------------------------------------------------------------------------

TYPES = [np.bool_, *(f"{sign}int{bits}" for sign in ("", "u") for bits in (2, 4, 8, 16, 32))]
TYPES += ["float16", "bfloat16", "float32", "complex64", "float8_e4m3fn", "float8_e5m2", "float8_e4m3b11fnuz"]
TYPES += ["float8_e5m2fnuz", "float8_e4m3fnuz", "float8_e3m4", "float8_e4m3", "float8_e8m0fnu", "float4_e2m1fn"]


@pytest.mark.parametrize("dtype", TYPES)
def test_element_types(dtype):
    dtype = jnp.dtype(dtype)
    values = np.array([[0, 1, 1], [1, 0, 1]]).astype(dtype)
    x = jnp.asarray(values)
    assert x.dtype == dtype
    turned, reversed_rows = jax.jit(lambda x: (x.T, x[::-1]))(x)
    for array, expected in [(x, values), (turned, values.T), (reversed_rows, values[::-1])]:
        # NaN does not equal itself.
        assert np.asarray(array).tobytes() == expected.tobytes()


def test_numpy_and_jax_share_memory_where_neither_writes():
    large = np.arange(100_000, dtype=np.float32)
    x = jax.device_put(large, may_alias=True)
    assert x.unsafe_buffer_pointer() == large.ctypes.data
    view = np.asarray(x)
    assert not view.flags.writeable and view.ctypes.data == x.unsafe_buffer_pointer()
    fortran = np.asfortranarray(np.arange(12.0, dtype=np.float32).reshape(3, 4))
    np.testing.assert_array_equal(jnp.asarray(fortran), fortran)
    np.testing.assert_array_equal(jnp.asarray(large[::-7]), large[::-7])


def test_dlpack_both_ways():
    x = jnp.arange(6.0).reshape(2, 3)
    np.testing.assert_array_equal(np.from_dlpack(x), x)
    array = np.arange(64, dtype=np.float32)
    np.testing.assert_array_equal(jnp.from_dlpack(array), array)
    np.testing.assert_array_equal(jax.dlpack.from_dlpack(x), x)


def test_arrays_are_pickled():
    x = jnp.arange(5)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(x)), x)


def test_a_deleted_array_is_an_error():
    x = jnp.ones(3)
    x.delete()
    with pytest.raises(RuntimeError, match="deleted"):
        jnp.sin(x)


# ---- Programs --------------------------------------------------------------------------------------------


def mlp(params, x):
    for w, b in params:
        x = jnp.tanh(x @ w + b)
    return x


def test_transformations():
    keys = jax.random.split(jax.random.key(0), 3)
    params = [(jax.random.normal(key, (8, 8)), jnp.zeros(8)) for key in keys]
    x = jnp.ones((4, 8))

    def loss(params, x):
        return (mlp(params, x) ** 2).sum()

    gradient = jax.jit(jax.grad(loss))(params, x)
    w, b = params[0]
    step = 1e-2 * jnp.sign(gradient[0][0])
    moved = [(w + step, b), *params[1:]]
    assert loss(moved, x) > loss(params, x)
    batched = jax.vmap(mlp, (None, 0))(params, x)
    np.testing.assert_allclose(batched, mlp(params, x), rtol=1e-5)
    total, sums = jax.lax.scan(lambda c, a: (c + a, c + a), 0, jnp.arange(10))
    assert total == 45 and sums[-1] == 45
    assert jax.lax.while_loop(lambda n: n < 1000, lambda n: n * 2, 1) == 1024
    a = jnp.eye(3) * 4 + 1
    np.testing.assert_allclose(a @ jnp.linalg.solve(a, jnp.ones(3)), np.ones(3), rtol=1e-5)


def test_empty_arrays_and_constants():
    # JAX writes one element of an empty constant.
    f = jax.jit(lambda x: (x + np.full((0, 8), 2, np.float32), jnp.full((3, 0), 1j), jnp.zeros((0,), bool)))
    assert [y.shape for y in f(jnp.ones((0, 8)))] == [(0, 8), (3, 0), (0,)]


def test_the_same_bits_as_the_engine():
    def program(x):
        y = jnp.sin(x) @ x.T
        return jax.nn.softmax(y), jnp.sort(y, axis=-1), jnp.linalg.qr(y)[1]

    x = jax.random.normal(jax.random.key(1), (16, 32))
    expected = farcall.compile(jax.jit(program).lower(x))(np.asarray(x))
    for ours, theirs in zip(jax.jit(program)(x), expected, strict=True):
        np.testing.assert_array_equal(np.asarray(ours).view(np.uint32), np.asarray(theirs).view(np.uint32))


def test_donated_arrays():
    x = jnp.ones((1000, 100))
    address = x.unsafe_buffer_pointer()
    y = jax.jit(lambda x: x + 1, donate_argnums=0)(x)
    assert x.is_deleted() and y.unsafe_buffer_pointer() == address
    with pytest.raises(RuntimeError, match="has been deleted"):
        jnp.sin(x)
    # The elements of a view stay, although the array is donated.
    z = jnp.ones((1000, 100))
    view = np.asarray(z)
    jax.jit(lambda x: x + 1, donate_argnums=0)(z).block_until_ready()
    assert (view == 1).all()


def test_a_result_does_not_share_memory_with_an_argument():
    x = jnp.ones(8)
    same = jax.jit(lambda x: x)(x)
    assert same.unsafe_buffer_pointer() != x.unsafe_buffer_pointer()


def test_properties_of_compiled_programs():
    compiled = jax.jit(lambda x: jnp.sin(x @ x)).lower(jnp.ones((32, 32))).compile()
    assert compiled.cost_analysis()["flops"] >= 2 * 32**3
    assert compiled.cost_analysis()["bytes accessed"] >= 2 * 32 * 32 * 4
    memory = compiled.memory_analysis()
    assert memory.argument_size_in_bytes == memory.output_size_in_bytes == 32 * 32 * 4
    assert memory.host_temp_size_in_bytes == 0
    assert "HloModule" in compiled.as_text()


def test_runs_are_asynchronous():
    @jax.jit
    def slow(x):
        return jax.lax.fori_loop(0, 400, lambda _, x: jnp.sin(x @ x), x)

    x = jnp.ones((128, 128))
    slow(x).block_until_ready()
    started = time.perf_counter()
    y = slow(x)
    dispatched = time.perf_counter()
    y.block_until_ready()
    ended = time.perf_counter()
    assert dispatched - started < (ended - started) / 3


def test_a_python_function_runs_programs():
    slow = jax.jit(lambda x: jax.lax.fori_loop(0, 100, lambda _, x: x + 1, x))

    def nested(x):
        return np.asarray(slow(jnp.asarray(x)))

    outer = jax.jit(lambda x: jax.pure_callback(nested, jax.ShapeDtypeStruct((), np.float32), x) + 1)
    assert outer(slow(jnp.float32(1))) == 202


SHAPE = jax.ShapeDtypeStruct((), np.float32)


def busy(x):
    """Takes long enough to be dispatched asynchronously."""
    y = jax.lax.fori_loop(0, 50, lambda _, y: jnp.sin(y @ y), jnp.full((128, 128), x))
    return y.sum()


def test_a_python_function_waits_for_a_later_run():
    later = []

    def wait(x):
        while not later:
            time.sleep(0.001)
        return np.asarray(later[0]) + x

    slow = jax.jit(busy)
    first = jax.jit(lambda x: jax.pure_callback(wait, SHAPE, busy(x)))(jnp.float32(1))
    later.append(slow(jnp.float32(2)))
    assert np.isfinite(first)


def test_a_python_function_waits_for_programs_of_another_thread():
    def wait(x):
        batches: list[float] = []
        thread = threading.Thread(target=lambda: batches.extend(float(jax.jit(busy)(jnp.float32(i))) for i in range(40)))
        thread.start()
        thread.join()
        return np.float32(len(batches)) + 0 * x

    assert jax.jit(lambda x: jax.pure_callback(wait, SHAPE, busy(x)))(jnp.float32(1)) == 40


def test_the_address_of_an_array_that_python_computes():
    y = jax.jit(lambda x: jax.pure_callback(lambda x: time.sleep(0.2) or x, SHAPE, busy(x)))(jnp.float32(1))
    with pytest.raises(jax.errors.JaxRuntimeError, match="wait for it first"):
        y.unsafe_buffer_pointer()
    y.block_until_ready().unsafe_buffer_pointer()


def test_a_full_queue_makes_the_caller_wait():
    @jax.jit
    def step(x):
        return jax.lax.fori_loop(0, 20, lambda _, x: jnp.sin(x), x)

    x = jnp.ones(100_000)
    step(x).block_until_ready()
    started = time.perf_counter()
    for _ in range(100):
        y = step(x)
    dispatched = time.perf_counter()
    y.block_until_ready()
    # All but the last 32 runs have ended.
    assert dispatched - started > (time.perf_counter() - started) / 2


def test_dispatch_from_many_threads():
    @jax.jit
    def step(x):
        return x * 2 + 1

    def work(results, index):
        x = jnp.full(100, index)
        for _ in range(50):
            x = step(x) - step(x) + x + 1
        results[index] = int(x[0])

    results: dict[int, int] = {}
    threads = [threading.Thread(target=work, args=(results, index)) for index in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {index: index + 50 for index in range(16)}


# ---- Custom calls and callbacks --------------------------------------------------------------------------


def test_ops_of_a_library_with_gradients():
    ops = farcall.load(example("rms_norm_ops"))
    x, scale = jax.random.normal(jax.random.key(2), (4, 64)), jnp.linspace(0.5, 1.5, 64)

    def reference(x, scale):
        return x * jax.lax.rsqrt((x**2).mean(-1, keepdims=True) + 1e-6) * scale

    np.testing.assert_allclose(jax.jit(ops.rms_norm)(x, scale), reference(x, scale), rtol=1e-5)
    for argument in (0, 1):
        ours = jax.jit(jax.grad(lambda *a: ops.rms_norm(*a).sum(), argument))(x, scale)
        np.testing.assert_allclose(ours, jax.grad(lambda *a: reference(*a).sum(), argument)(x, scale), atol=1e-4)


def test_targets_that_are_registered_with_jax():
    @farcall.handler
    def backend_test_double(x, y):
        np.multiply(x, 2, out=y)

    jax.ffi.register_ffi_target("backend_test_double", backend_test_double.capsule, platform="cpu")
    call = jax.ffi.ffi_call("backend_test_double", jax.ShapeDtypeStruct((3,), np.float32))
    np.testing.assert_array_equal(jax.jit(call)(jnp.arange(3.0)), [0, 2, 4])


def test_a_missing_target_is_named():
    call = jax.ffi.ffi_call("backend_test_missing", jax.ShapeDtypeStruct((), np.float32))
    with pytest.raises(jax.errors.JaxRuntimeError, match="no target `backend_test_missing` is registered"):
        jax.jit(call)()


def test_python_functions():
    def twice(x):
        return np.asarray(x) * 2

    shape = jax.ShapeDtypeStruct((3,), np.float32)
    x = jnp.arange(3.0)
    np.testing.assert_array_equal(jax.jit(lambda x: jax.pure_callback(twice, shape, x) + 1)(x), [1, 3, 5])
    seen = []
    record = jax.jit(lambda x: io_callback(lambda x: seen.append(float(x)), None, x, ordered=True))
    for number in range(10):
        record(jnp.float32(number))
    jax.effects_barrier()
    assert seen == list(range(10))
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        jax.jit(lambda x: jax.debug.print("x is {}", x))(jnp.int32(3))
        jax.effects_barrier()
    assert out.getvalue() == "x is 3\n"


def test_python_functions_end_with_their_programs():
    class Owner:
        count = 0

        def __init__(self):
            Owner.count += 1

        def __del__(self):
            Owner.count -= 1

        def __call__(self, x):
            return np.asarray(x)

    def run():
        owner = Owner()
        jax.jit(lambda x: jax.pure_callback(owner, jax.ShapeDtypeStruct((), np.float32), x))(1.0).block_until_ready()

    for _ in range(5):
        run()
        jax.clear_caches()
        gc.collect()
    assert Owner.count <= 1


def test_errors_reach_the_arrays_of_a_run():
    def fail(x):
        raise ValueError("on purpose")

    f = jax.jit(lambda x: jax.pure_callback(fail, jax.ShapeDtypeStruct((), np.float32), x))
    with pytest.raises(jax.errors.JaxRuntimeError, match="ValueError: on purpose"):
        f(1.0).block_until_ready()
    with contextlib.suppress(jax.errors.JaxRuntimeError):
        jax.effects_barrier()
    assert jax.jit(lambda x: x + 1)(1.0) == 2
    error, _ = checkify.checkify(jax.jit(lambda x: jnp.log(x)), errors=checkify.float_checks)(-1.0)
    assert "nan" in error.get()


# ---- Processes -------------------------------------------------------------------------------------------

CACHED = """
import jax, jax.numpy as jnp, time
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
jax.config.update("jax_persistent_cache_min_entry_size_bytes", 0)
from jax._src import monitoring
hits = []
monitoring.register_event_listener(lambda event, **_: hits.append(event))
print(float(jax.jit(lambda x: jnp.sin(x @ x).sum())(jnp.ones((8, 8)))))
print(sum("cache_hits" in hit for hit in hits) > 0)
"""


def test_the_persistent_cache_works_across_processes(tmp_path):
    first, second = [run_python(CACHED, JAX_COMPILATION_CACHE_DIR=str(tmp_path)) for _ in range(2)]
    assert first.stderr == second.stderr == ""
    (value, hit), (again, hit_again) = first.stdout.split(), second.stdout.split()
    assert (value, hit, hit_again) == (again, "False", "True")
    assert list(tmp_path.iterdir())


def test_a_forked_process_gets_an_error():
    source = """
import os, jax, jax.numpy as jnp, warnings
warnings.simplefilter("ignore")
f = jax.jit(lambda x: x + 1)
x = f(jnp.ones(3))
child = os.fork()
if child == 0:
    for program in (f, jax.jit(lambda x: x + 2)):
        try:
            program(x)
        except Exception as error:
            print(error, flush=True)
    os._exit(0)
os.waitpid(child, 0)
"""
    assert run_python(source).stdout.count("this process was forked") == 2


BLOCK = """
import jax, jax.numpy as jnp, sys
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
jax.config.update("jax_persistent_cache_min_entry_size_bytes", 0)
import farcall
registry = farcall.Registry.process()
if sys.argv[1:] == ["lowered"]:
    @farcall.handler
    def cached_block_test(x, y):
        y[...] = 2 * x
    registry.register("cached_block_test", cached_block_test)
    registry.lowers("cached.block", lambda block: farcall.Call("cached_block_test"))
block = jax.lax.composite(lambda x: x + 1, "cached.block")
print(float(jax.jit(block)(jnp.float32(5))))
"""


def test_the_cache_does_not_hide_lowerings_that_are_loaded_later(tmp_path):
    values = []
    for arguments in ([], ["lowered"], []):
        command = [sys.executable, "-c", BLOCK, *arguments]
        environment = os.environ | {"JAX_COMPILATION_CACHE_DIR": str(tmp_path)}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=True)
        values.append(float(done.stdout))
    assert values == [6, 10, 6]


ENDS = {
    "a long run": "f(x)",
    "a Python function": "jax.jit(lambda x: jax.pure_callback(slow, x, f(x)))(x)",
    "an array in a global": "y = f(x); jax.extend.backend.clear_backends()",
}


@pytest.mark.parametrize("last", ENDS.values(), ids=ENDS)
def test_a_process_ends_while_programs_run(last):
    source = f"""
import time, jax, jax.extend.backend, jax.numpy as jnp
def slow(x):
    time.sleep(0.3)
    return x
f = jax.jit(lambda x: jax.lax.fori_loop(0, 200, lambda _, x: jnp.sin(x @ x), x))
x = jnp.ones((128, 128))
f(x).block_until_ready()
{last}
"""
    done = run_python(source)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_forked_process_does_not_wait():
    source = """
import os, time, jax, jax.numpy as jnp, warnings
warnings.simplefilter("ignore")
f = jax.jit(lambda x: jax.lax.fori_loop(0, 2000, lambda _, x: jnp.sin(x @ x), x))
x = f(jnp.ones((128, 128)))
child = os.fork()
if child == 0:
    try:
        x.block_until_ready()
    except Exception as error:
        print(error, flush=True)
    os._exit(0)
os.waitpid(child, 0)
"""
    assert "this process was forked" in run_python(source).stdout


def test_both_backends_in_one_process():
    source = """
import jax, jax.numpy as jnp, numpy as np
ours, theirs = jax.devices("farcall")[0], jax.devices("cpu")[0]
assert jax.devices()[0] == theirs and "Cpu" in repr(theirs), jax.devices()
f = jax.jit(lambda x: jnp.cumsum(jnp.sin(x)))
x = np.arange(100, dtype=np.float32)
a, b = f(jax.device_put(x, ours)), f(jax.device_put(x, theirs))
np.testing.assert_allclose(a, b, rtol=1e-5)
np.testing.assert_array_equal(jax.device_put(a, theirs), a)
g = jax.jit(lambda x: jax.pure_callback(lambda x: np.asarray(x) + 1, jax.ShapeDtypeStruct((100,), np.float32), x))
np.testing.assert_array_equal(g(a), np.asarray(a) + 1)
np.testing.assert_array_equal(g(b), np.asarray(b) + 1)
print("same")
"""
    done = run_python(source, JAX_PLATFORMS="cpu,farcall")
    assert done.stdout == "same\n", done.stderr


def test_farcall_is_not_the_default_unless_it_is_named():
    environment = {key: value for key, value in os.environ.items() if key != "JAX_PLATFORMS"}
    source = 'import jax; print(jax.devices()[0], jax.devices("farcall")[0])'
    done = subprocess.run([sys.executable, "-c", source], env=environment, capture_output=True, text=True, check=True)
    assert "farcall:0" in done.stdout.split()[-1] and "farcall" not in done.stdout.split()[0]


def test_low_precision_arithmetic_matches_ml_dtypes():
    values = np.linspace(-4, 4, 17).astype(ml_dtypes.float8_e4m3fn)
    ours = jax.jit(lambda x: x + x)(jnp.asarray(values))
    np.testing.assert_array_equal(np.asarray(ours), values + values)
