"""`farcall.xla_client`: code that was written for jaxlib's `xla_client`, on farcall's engine, and compared
with jaxlib."""

import ctypes
import importlib.metadata
import importlib.util
import pathlib
import pickle
import re
import shutil
import subprocess
import sys
import sysconfig

import numpy as np
import pytest
from conftest import example

import farcall
from farcall import xla_client
from farcall.xla_client import ops
from farcall.xla_client._absent import ABSENT, ABSENT_IN_HLO

F32 = np.dtype(np.float32)
Shape = xla_client.Shape
SCALAR = Shape.array_shape(F32, (), ())


@pytest.fixture(scope="module")
def cython(tmp_path_factory):
    """Returns a module with capsules of C functions, in the form created by Cython."""
    compiler, headers = shutil.which("cc"), sysconfig.get_paths()["include"]
    if compiler is None or not pathlib.Path(headers, "Python.h").exists():
        pytest.skip("there is no C compiler, or no headers of Python")
    path = tmp_path_factory.mktemp("module") / "custom_call_for_test.so"
    source = pathlib.Path(__file__).with_name("custom_call_for_test.c")
    subprocess.run([compiler, "-shared", "-fPIC", f"-I{headers}", "-o", path, source], check=True)
    spec = importlib.util.spec_from_file_location("custom_call_for_test", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def targets(cython):
    """Registers the functions of that module here and, if jaxlib is installed, there."""
    for name, fn in cython.cpu_custom_call_targets.items():
        xla_client.register_custom_call_target(name, fn, platform="cpu")
    if importlib.util.find_spec("jaxlib") is not None:
        import jax
        from jaxlib import xla_client as theirs

        jax.devices()  # jaxlib's client accepts registrations
        for name, fn in cython.cpu_custom_call_targets.items():
            theirs.register_custom_call_target(name.decode(), fn, platform="cpu")
    return {name.decode() for name in cython.cpu_custom_call_targets}


@pytest.fixture(scope="module")
def capsule(compiled_handlers):
    # A separate library, because a state type is registered once in a process.
    opened = ctypes.CDLL(str(compiled_handlers("-DXLA_CLIENT")))
    return lambda symbol: farcall.ffi.pycapsule(getattr(opened, symbol))


def run(builder, *arguments, root=None):
    client = xla_client.make_cpu_client()
    return xla_client.execute_with_python_values(client.compile(builder.build(root)), arguments, backend=client)


def in_jaxlib(text, arguments):
    """Returns the results of a program in HLO text, in XLA."""
    jax = pytest.importorskip("jax")
    from jaxlib import xla_client as theirs
    from jaxlib._jax import mlir

    module = theirs.hlo.hlo_module_from_text(text)
    computation = theirs.XlaComputation(module.as_serialized_hlo_module_proto())
    device = jax.devices()[0]
    program = mlir.xla_computation_to_mlir_module(computation)
    devices = theirs.DeviceList((device,))
    executable = device.client.compile_and_load(program, devices, theirs.CompileOptions())
    with jax.enable_x64(True):
        return [np.asarray(x) for x in executable.execute([jax.device_put(a, device) for a in arguments])]


# --- the flow of the first custom calls


def subtraction():
    c = xla_client.ComputationBuilder("comp_builder")
    c.CustomCall(
        b"test_subtract_f32",
        operands=(c.ConstantF32Scalar(1.25), c.ConstantF32Scalar(0.5)),
        shape_with_layout=xla_client.Shape.array_shape(np.dtype(np.float32), (), ()),
        operand_shapes_with_layout=(
            xla_client.Shape.array_shape(np.dtype(np.float32), (), ()),
            xla_client.Shape.array_shape(np.dtype(np.float32), (), ()),
        ),
    )
    return c


def test_the_flow_of_cython(cython):
    """Registration in a loop, building, compiling and running; first without the registration."""
    script = f"""
import importlib.util, sys
sys.path[:0] = {sys.path!r}
from test_xla_client import subtraction, xla_client
try:
    subtraction().Build().Compile()
except xla_client.XlaRuntimeError as error:
    print(error)
spec = importlib.util.spec_from_file_location("custom_call_for_test", {cython.__file__!r})
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
for name, fn in module.cpu_custom_call_targets.items():
    xla_client.register_cpu_custom_call_target(name, fn)
compiled = subtraction().Build().Compile()
result = xla_client.execute_with_python_values(compiled, ())
assert result == 0.75 and result.dtype == "float32", result
assert "jaxlib" not in sys.modules
"""
    ran = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    assert "no target `test_subtract_f32` is registered for the platform Host" in ran.stdout
    assert "custom-call.3 = f32[] custom-call(" in ran.stdout  # the position in the program
    line = subtraction.__code__.co_firstlineno + 2
    assert f"`test_subtract_f32` is called at {__file__}:{line}" in ran.stdout
    assert "farcall.xla_client.register_custom_call_target('test_subtract_f32', fn, platform='cpu', api_version=0)" in ran.stdout


def test_custom_calls_in_both_hosts(targets):
    versions = ops.CustomCallApiVersion
    c = xla_client.XlaBuilder("calls")
    x = ops.Parameter(c, 0, SCALAR)
    y = ops.CustomCallWithLayout(c, b"test_subtract_f32", [x, ops.Constant(c, np.float32(0.5))], SCALAR, [SCALAR, SCALAR])
    y = ops.CustomCallWithLayout(
        c,
        b"test_subtract_with_status",
        operands=[y, ops.Constant(c, np.float32(2))],
        shape_with_layout=SCALAR,
        operand_shapes_with_layout=[SCALAR, SCALAR],
        api_version=versions.API_VERSION_STATUS_RETURNING,
    )
    ops.CustomCall(
        c,
        "test_add_input_and_opaque_len",
        [y],
        SCALAR,
        opaque=b'an opaque "string"\n\x01\xff',
        api_version=versions.API_VERSION_STATUS_RETURNING_UNIFIED,
    )
    [result] = run(c, np.float32(3))
    assert result == 3 - 0.5 - 2 + 21
    assert in_jaxlib(c.build().as_hlo_text(), [np.float32(3)]) == [result]


def test_several_results_in_both_hosts(targets):
    c = xla_client.XlaBuilder("several")
    row = Shape.array_shape(F32, (3,), (0,))
    x, y = (ops.Parameter(c, i, row) for i in range(2))
    n = ops.ConstantLiteral(c, np.int64(3))
    both = ops.CustomCallWithLayout(
        c,
        b"test_sum_and_product",
        operands=(n, x, y),
        shape_with_layout=Shape.tuple_shape((row, row)),
        operand_shapes_with_layout=(Shape.array_shape(np.dtype(np.int64), (), ()), row, row),
    )
    ops.Tuple(c, [ops.Add(ops.GetTupleElement(both, 0), x), ops.GetTupleElement(both, 1)])
    a, b = np.array([1, 2, 3], F32), np.array([4, 5, 6], F32)
    results = run(c, a, b)
    np.testing.assert_array_equal(results, [a + b + a, a * b])
    np.testing.assert_array_equal(in_jaxlib(c.build().as_hlo_text(), [a, b]), results)


def test_a_typed_target_gets_attributes_and_layouts(capsule):
    xla_client.register_custom_call_target("xla_client_scale", capsule("Scale"), api_version=1)
    c = xla_client.XlaBuilder("typed")
    shape = Shape.array_shape(F32, (2, 3), (0, 1))
    x = ops.Parameter(c, 0, Shape.array_shape(F32, (2, 3)))
    ops.CustomCallWithLayout(
        c,
        "xla_client_scale",
        [x],
        shape,
        [shape],
        opaque="{factor = 2.0 : f32}",
        api_version=ops.CustomCallApiVersion.API_VERSION_TYPED_FFI,
    )
    given = np.arange(6, dtype=F32).reshape(2, 3)
    np.testing.assert_array_equal(run(c, given), [2 * given])
    assert xla_client.custom_call_targets("cpu")["xla_client_scale"].keys() == {"execute"}


def test_a_call_that_no_builder_would_make(targets):
    c = xla_client.XlaBuilder("wrong")
    x = ops.Constant(c, np.float32(1))
    with pytest.raises(xla_client.XlaRuntimeError, match="a shape with layout for each operand"):
        ops.CustomCallWithLayout(c, b"test_subtract_f32", [x, x], SCALAR, [SCALAR])
    with pytest.raises(xla_client.XlaRuntimeError, match=r"operand 1 is f32\[\], but its shape with layout is s32\[\]"):
        ops.CustomCallWithLayout(c, b"f", [x, x], SCALAR, [SCALAR, Shape("s32[]")])
    other = ops.Constant(xla_client.XlaBuilder("other"), np.float32(1))
    with pytest.raises(xla_client.XlaRuntimeError, match="made by the builder other, not by wrong"):
        ops.Add(x, other)


def test_programs_of_jax_call_what_is_registered_here(targets):
    jax = pytest.importorskip("jax")
    like = jax.ShapeDtypeStruct((), np.float32)
    call = jax.ffi.ffi_call("test_subtract_with_status", like, custom_call_api_version=2)
    f = jax.jit(lambda x, y: 2 * call(x, y))
    x, y = np.float32(5), np.float32(3)
    assert farcall.compile(f.lower(x, y))(x, y) == f(x, y) == 4
    executable = xla_client.make_cpu_client().compile(f.lower(x, y).as_text())
    assert xla_client.execute_with_python_values(executable, (x, y)) == [4]
    executable = xla_client.make_cpu_client().compile(f.lower(x, y).compiler_ir())
    assert xla_client.execute_with_python_values(executable, (x, y)) == [4]


# --- registration


def subtract(name):
    c = xla_client.XlaBuilder("subtract")
    ops.CustomCall(c, name, [ops.Constant(c, np.float32(i)) for i in (5, 3)], SCALAR)
    return c


def test_kinds_of_functions(cython):
    @ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p))
    def by_ctypes(out, ins):
        a, b = (ctypes.c_float.from_address(ins[i]).value for i in range(2))
        ctypes.c_float.from_address(out).value = a - b

    class Cfunc:
        """Like a `cfunc` of Numba: an address, and a function of ctypes."""

        address = ctypes.cast(by_ctypes, ctypes.c_void_p).value
        ctypes = by_ctypes

    class Server:
        """An object with an address attribute that is not a C function."""

        address = 80

        def __call__(self, out, ins):
            by_ctypes(out, ins)

    by_address = ctypes.cast(by_ctypes, ctypes.c_void_p)
    python = by_ctypes.__class__ and (lambda out, ins: by_ctypes(out, ins))
    for i, fn in enumerate([by_ctypes, Cfunc(), by_address, by_address.value, python, Server()]):
        xla_client.register_custom_call_target(f"kind_{i}".encode(), fn)
        assert run(subtract(f"kind_{i}")) == [2]
        assert not isinstance(xla_client.custom_call_targets("Host")[f"kind_{i}"], dict)


def test_a_cfunc_of_numba():
    numba = pytest.importorskip("numba", reason="Numba is not installed")
    from numba import types

    @numba.cfunc(types.void(types.CPointer(types.float32), types.CPointer(types.CPointer(types.float32))))
    def numba_subtract(out, ins):
        out[0] = ins[0][0] - ins[1][0]

    xla_client.register_custom_call_target("numba_subtract", numba_subtract, platform="cpu")
    assert run(subtract("numba_subtract")) == [2]
    address = ctypes.pythonapi.PyCapsule_GetPointer
    address.restype, address.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    # The compiled code is called, not the Python function.
    assert address(xla_client.custom_call_targets("cpu")["numba_subtract"], None) == numba_subtract.address


def test_python_functions():
    def views(x, y, z, *, scale=1):
        np.multiply(x - y, scale, out=z)

    xla_client.register_custom_call_target("python_views", views, api_version=1)
    xla_client.register_custom_call_target("python_handler", farcall.handler(name="python_handler_too")(views), api_version=1)
    assert run(subtract("python_views")) == run(subtract("python_handler")) == [2]

    def fails(out, ins):
        raise KeyError("of no use")

    xla_client.register_custom_call_target("python_fails", fails)
    with pytest.raises(xla_client.XlaRuntimeError, match="INTERNAL: custom call `python_fails`: KeyError: 'of no use'") as e:
        run(subtract("python_fails"))
    assert isinstance(e.value.__cause__, KeyError)
    with pytest.raises(RuntimeError, match="python_fails"):
        farcall.compile(subtract("python_fails").build().as_hlo_text())()
    assert run(subtract("python_views")) == [2]  # no exception is left over

    def interrupted(out, ins):
        raise KeyboardInterrupt

    xla_client.register_custom_call_target("python_interrupted", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run(subtract("python_interrupted"))


def chain(*calls):
    """Returns a chain of calls, each on the previous result: given by names, and for typed targets by pairs
    with `True`."""
    c = xla_client.XlaBuilder("chain")
    x = ops.Constant(c, np.float32(1))
    for name in calls:
        name, typed = name if isinstance(name, tuple) else (name, False)
        versions = ops.CustomCallApiVersion
        version = versions.API_VERSION_TYPED_FFI if typed else versions.API_VERSION_ORIGINAL
        x = ops.CustomCall(c, name, [x], SCALAR, api_version=version)
    return farcall.compile(c.build().as_hlo_text())


def raising(error, *words):
    def function(*_):
        raise error(*words)

    return function


def test_what_untyped_functions_raise_belongs_to_their_run(monkeypatch):
    """Exceptions do not leak into a nested run, or into a run after a call by another host."""
    xla_client.register_custom_call_target("untold_fails", raising(KeyError, "outer"))
    xla_client.register_custom_call_target("untold_works", lambda out, ins: None)
    inner, seen = chain("untold_works"), []
    inner_fails = chain("untold_fails")

    @farcall.handler(name="untold_runs")
    def runs(x, y):
        seen.append(inner())
        try:
            inner_fails()
        except RuntimeError as error:
            seen.append(str(error))
        y[...] = x

    with pytest.raises(RuntimeError, match="untold_fails.*outer"):
        chain("untold_fails", ("untold_runs", True))()
    assert len(seen) == 2 and "untold_fails" in seen[1]
    chain(("untold_runs", True))()

    printed = []
    monkeypatch.setattr(sys, "unraisablehook", lambda unraisable: printed.append((unraisable.exc_value, unraisable.object)))
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    [fn] = [fn for name, fn in xla_client.custom_call_targets("Host").items() if name == "untold_fails"]
    name = ctypes.pythonapi.PyCapsule_GetName
    name.restype, name.argtypes = ctypes.c_char_p, (ctypes.py_object,)
    ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(get(fn, name(fn)))(None, None)
    [(error, told)] = printed
    assert isinstance(error, KeyError) and told == "custom call `untold_fails`"
    chain("untold_works")()


def test_what_is_no_exception_wins():
    xla_client.register_custom_call_target("wins_error", raising(KeyError, "first"))
    xla_client.register_custom_call_target("wins_interrupt", raising(KeyboardInterrupt))
    farcall.handler(name="wins_typed")(raising(KeyboardInterrupt))
    farcall.handler(name="wins_not")(raising(ValueError, "second"))
    for calls in (["wins_error", "wins_interrupt"], ["wins_interrupt", "wins_error"], ["wins_error", ("wins_typed", True)]):
        with pytest.raises(KeyboardInterrupt):
            chain(*calls)()
    with pytest.raises(RuntimeError, match="wins_error.*first"):
        chain("wins_error", ("wins_not", True))()


def test_stages(capsule):
    types = {"type_id": pointed_to(capsule("CounterTypeId")), "type_info": pointed_to(capsule("CounterTypeInfo"))}
    xla_client.register_custom_type("xla_client_counter", types)
    number = ctypes.c_int64(0)
    xla_client.register_custom_type_id("xla_client_bare", farcall.ffi.pycapsule(ctypes.addressof(number)))
    assert number.value != 0
    new, count = capsule("CounterNew"), capsule("CounterRun")
    xla_client.register_custom_call_target("stages_dict", {"instantiate": new, "execute": count}, api_version=1)
    xla_client.register_custom_call_target("stages_tuple", (new, None, None, count), api_version=1)
    for name in ("stages_dict", "stages_tuple"):
        c = xla_client.XlaBuilder("count")
        shape = Shape.scalar_shape(np.dtype(np.int64))
        ops.CustomCall(c, name, [], shape, has_side_effect=True, api_version=ops.CustomCallApiVersion.API_VERSION_TYPED_FFI)
        counter = xla_client.make_cpu_client().compile(c.build())
        assert [int(xla_client.execute_with_python_values(counter)[0]) for _ in range(3)] == [1, 2, 3]


def pointed_to(function):
    """Returns the capsule of the pointer that a function without parameters returns."""
    get, new = ctypes.pythonapi.PyCapsule_GetPointer, ctypes.pythonapi.PyCapsule_New
    get.restype, get.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    new.restype, new.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
    return new(ctypes.CFUNCTYPE(ctypes.c_void_p)(get(function, None))(), None, None)


def test_the_wrong_interface(cython, capsule, compiled_handlers):
    register = xla_client.register_custom_call_target
    untyped = cython.cpu_custom_call_targets[b"test_subtract_f32"]

    @farcall.handler
    def wrong_interface(x, y):
        y[...] = x

    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
    named = new(1, b"XLA_FFI_Handler", None)
    with pytest.raises(ValueError, match="its capsule, called \"XLA_FFI_Handler\", holds a handler of the typed one"):
        register("wrong", named)
    with pytest.raises(ValueError, match="the function is a handler of the typed one"):
        register("wrong", wrong_interface.capsule)
    register("wrong_interface_known", capsule("Scale"), api_version=1)
    with pytest.raises(ValueError, match="the function is a handler of the typed one"):
        register("wrong", capsule("Scale"))
    with pytest.raises(ValueError, match="`wrong_2`.*api_version=1"):
        register("wrong_2", wrong_interface)
    with pytest.raises(ValueError, match="returned without an answer.*registered with api_version=0"):
        register("wrong", untyped, api_version=1)
    with pytest.raises(ValueError, match="returned without an answer.*registered with api_version=0"):
        farcall.Registry().load(compiled_handlers(), ["wrong=add_one"])
    with pytest.raises(ValueError, match="no handler for the execute stage"):
        register("wrong", {"instantiate": capsule("CounterNew")}, api_version=1)
    with pytest.raises(ValueError, match="there is no stage `run`"):
        register("wrong", {"run": capsule("Scale")}, api_version=1)
    with pytest.raises(TypeError, match="functions by stage are registered with api_version=1"):
        register("wrong", {"execute": capsule("Scale")})
    for null in (0, ctypes.c_void_p(), ctypes.CFUNCTYPE(None)()):
        for version in (0, 1):
            with pytest.raises(ValueError, match="the function is a null pointer"):
                register("wrong", null, api_version=version)
    with pytest.raises(ValueError, match="a tuple has a function for each of instantiate, prepare, initialize, execute"):
        register("wrong", (capsule("Scale"),), api_version=1)
    with pytest.raises(TypeError, match="not a str"):
        register("wrong", "a string")
    with pytest.raises(ValueError, match="api_version is 1"):
        register("wrong", untyped, api_version=2)
    assert "wrong" not in xla_client.custom_call_targets("cpu")


def test_a_library_tells_what_its_functions_are():
    handler = ctypes.CDLL(str(example("rms_norm_ops"))).rms_norm
    with pytest.raises(ValueError, match="librms_norm_ops.so describes it as that of `rms_norm`; register it with api_version=1"):
        xla_client.register_custom_call_target("wrong", handler)
    xla_client.register_custom_call_target("right", handler, api_version=1)


def test_the_same_name_again(cython):
    one, other = (cython.cpu_custom_call_targets[name] for name in (b"test_subtract_f32", b"test_sum_and_product"))
    xla_client.register_custom_call_target("again", one)
    xla_client.register_custom_call_target("again", one)
    with pytest.raises(ValueError, match="`again` is registered for Host already"):
        xla_client.register_custom_call_target("again", other)


def test_registrations_wait_for_their_handler():
    seen, later = [], []
    traits = xla_client.CustomCallTargetTraits
    xla_client.register_custom_call_target("first", 1, platform="gpu")
    xla_client.register_custom_call_target(b"second", 2, platform="CUDA", api_version=1, traits=traits.COMMAND_BUFFER_COMPATIBLE)
    assert xla_client.custom_call_targets("gpu") == {"first": 1, "second": 2}
    xla_client.register_custom_call_handler("gpu", lambda *args: seen.append(args))
    assert seen == [("first", 1, "CUDA", 0, traits.DEFAULT), ("second", 2, "CUDA", 1, traits.COMMAND_BUFFER_COMPATIBLE)]
    xla_client.register_custom_call_handler("CUDA", lambda *args: later.append(args))
    xla_client.register_custom_call_target("third", 3, platform="gpu")
    assert [name for name, *_ in seen] == ["first", "second", "third"] and not later
    assert isinstance(traits.DEFAULT | traits.COMMAND_BUFFER_COMPATIBLE, int)

    xla_client.register_custom_type_id("state", "id", platform="gpu")
    xla_client.register_custom_type_id_handler("gpu", lambda *args: later.append(args))
    xla_client.register_custom_type("state_2", {"type_id": "id"}, platform="gpu")
    assert later == [("state", "id"), ("state_2", {"type_id": "id"})]

    def picky(name, *_):
        if name == "bad":
            raise ValueError("no")
        later.append(name)

    for name in ("bad", "good"):
        xla_client.register_custom_call_target(name, 1, platform="picky")
    with pytest.raises(ValueError, match="no"):
        xla_client.register_custom_call_handler("picky", picky)
    assert later.pop() == "good" and xla_client.custom_call_targets("picky") == {}

    # An exception that is not an `Exception` ends the attempt; the next attempt gets the remaining
    # registrations.
    def interrupted(name, *_):
        if name == "second":
            raise KeyboardInterrupt
        later.append(name)

    for name in ("first", "second", "third"):
        xla_client.register_custom_call_target(name, 1, platform="interrupted")
    with pytest.raises(KeyboardInterrupt):
        xla_client.register_custom_call_handler("interrupted", interrupted)
    assert later.pop() == "first" and list(xla_client.custom_call_targets("interrupted")) == ["third"]
    xla_client.register_custom_call_handler("interrupted", interrupted)
    assert later.pop() == "third" and xla_client.custom_call_targets("interrupted") == {}

    # The CPU already has a handler: the engine.
    xla_client.register_custom_call_handler("cpu", lambda *args: later.append(args))
    xla_client.register_custom_call_target("waits_not", lambda out, ins: None)
    assert len(later) == 2 and "waits_not" in xla_client.custom_call_targets("Host")


def test_partitioners_are_kept():
    functions = [lambda *args: args, lambda *args: args, lambda *args: args]
    xla_client.register_custom_call_partitioner("split", *functions, can_side_effecting_have_replicated_sharding=True, c_api=None)
    found = xla_client.custom_call_partitioners()["split"]
    assert list(found) == [*functions, True] and found.partition(1) == (1,)
    with pytest.raises(TypeError, match="a partitioner of `split` is three functions"):
        xla_client.register_custom_call_partitioner("split", *functions[:2], None)
    xla_client.register_custom_call_as_batch_partitionable("split")
    assert "split" in xla_client.batch_partitionable_custom_calls()


def test_inspect_sharding_reports_a_replicated_one():
    seen = []
    opaque = xla_client.encode_inspect_sharding_callback(seen.append)
    assert isinstance(opaque, bytes)
    c = xla_client.XlaBuilder("inspect")
    x = ops.Parameter(c, 0, SCALAR)
    ops.CustomCall(c, b"InspectSharding", [x], Shape.tuple_shape([]), opaque=opaque, has_side_effect=True)
    computation = c.build(x)
    executable = xla_client.make_cpu_client().compile(computation)
    [sharding] = seen
    assert sharding.is_replicated() and repr(sharding) == "{replicated}"
    assert xla_client.execute_with_python_values(executable, [np.float32(1)]) == [1] and len(seen) == 1
    farcall.compile(computation.as_hlo_text())
    assert len(seen) == 2
    c = xla_client.XlaBuilder("inspect")
    ops.CustomCall(c, b"InspectSharding", [], Shape.tuple_shape([]), opaque=b"another", has_side_effect=True)
    with pytest.raises(xla_client.XlaRuntimeError, match="not one that .*encode_inspect_sharding_callback has returned"):
        xla_client.make_cpu_client().compile(c.build())
    with pytest.raises(ValueError, match="inspected.hlo: InspectSharding"):
        farcall.compile(c.build().as_hlo_text(), name="inspected.hlo")


def test_programs_are_inspected_once_they_are_compiled():
    seen = []
    opaque = xla_client.encode_inspect_sharding_callback(seen.append)
    c = xla_client.XlaBuilder("inspect")
    ops.CustomCall(c, b"InspectSharding", [], Shape.tuple_shape([]), opaque=opaque, has_side_effect=True)
    ops.CustomCall(c, b"nowhere", [], SCALAR)
    with pytest.raises(farcall.MissingTargetError, match="inspected.hlo:"):
        farcall.compile(c.build().as_hlo_text(), name="inspected.hlo")
    with pytest.raises(ValueError, match="inspected.hlo:"):
        farcall.compile("HloModule InspectSharding, wrong\n", name="inspected.hlo")
    assert not seen


def test_an_untyped_inspect_sharding_of_the_process_stays():
    script = f"""
import ctypes, sys
sys.path[:0] = {sys.path!r}
import farcall
seen = []
fn = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(lambda out, ins: seen.append(1))
farcall.Registry.process().register("InspectSharding", farcall.ffi.pycapsule(fn), api_version=0)
from farcall import xla_client
c = xla_client.XlaBuilder("inspect")
x = xla_client.ops.Constant(c, 1)
opaque = xla_client.encode_inspect_sharding_callback(lambda sharding: seen.append(0))
xla_client.ops.CustomCall(c, "InspectSharding", [], xla_client.Shape.tuple_shape([]), opaque=opaque, has_side_effect=True)
farcall.compile(c.build(x).as_hlo_text())()
assert seen == [0, 1], seen
"""
    subprocess.run([sys.executable, "-c", script], check=True)


def test_a_missing_target_says_how_to_register_it():
    xla_client.register_custom_call_target("missing_here", 1, platform="gpuu")
    with pytest.raises(xla_client.XlaRuntimeError) as e:
        run(subtract("missing_here"))
    notes = [line.partition("= note: ")[2] for line in str(e.value).splitlines() if "= note: " in line]
    assert "--load" not in str(e.value) and len(notes) == 3
    assert notes[0].startswith("`missing_here` is registered for the platform 'gpuu', which has no handler")
    assert notes[1].startswith(f"`missing_here` is called at {__file__}:") and notes[2].startswith("register it: farcall.xla_client.")
    cause = e.value.__cause__
    assert type(cause) is farcall.MissingTargetError and "farcall.load(LIB)" in str(cause)
    copy = pickle.loads(pickle.dumps(cause))
    assert type(copy) is farcall.MissingTargetError and copy.args == cause.args

    c = xla_client.XlaBuilder("several")
    # Calls whose results are never used need no targets.
    ops.Tuple(c, [ops.CustomCall(c, name, [], SCALAR) for name in ("missing_a", "missing_b", "missing_a")])
    with pytest.raises(xla_client.XlaRuntimeError) as e:
        run(c)
    text = str(e.value)
    assert text.count("register_custom_call_target('missing_a'") == text.count("register_custom_call_target('missing_b'") == 1
    assert text.count("no target `missing_a`") == 2


# --- shapes

TEXTS = ["f32[]", "f32[2,3]", "f32[2,3]{0,1}", "pred[0]", "(f32[2]{0}, (s32[], bf16[3,1]{1,0}))", "()", "token[]", "f32[<=2,3]{1,0}"]
TEXTS += ["opaque[]", "(token[], opaque[], f32[2]{0:T(256)})", "f32[]{:T(256)}", "f32[2,3]{1,0:}", "f32[2,3]{1,0:T(8,128)}"]
TEXTS += ["bf16[2,3]{1,0:T(8, 128)(2,1)L(2)E(16)S(1)M(32)}", "f32[2,3]{0,1:T(*,128)}", "f32[2,3]{1,0:T()}", "s4[2,3]{1,0:E(4)}"]
TEXTS += ["f32[2,3]{1,0:T(8,128)L(1)E(0)S(0)M(0)}", " f32[2] "]


@pytest.mark.parametrize("text", TEXTS)
def test_shapes_in_both(text):
    theirs = pytest.importorskip("jaxlib.xla_client").Shape(text)
    ours = Shape(text)
    assert repr(ours) == repr(theirs)
    assert Shape(repr(ours)) == ours and hash(Shape(repr(ours))) == hash(ours)
    assert ours.to_serialized_proto() == theirs.to_serialized_proto()
    for method in ("is_array", "is_tuple", "is_token", "is_static", "is_dynamic"):
        assert getattr(ours, method)() == getattr(theirs, method)(), method
    assert int(ours.xla_element_type()) == int(theirs.xla_element_type())
    if ours.is_array():
        assert ours.dimensions() == theirs.dimensions() and ours.rank() == theirs.rank()
        assert ours.element_type() == theirs.element_type() == ours.numpy_dtype()
        assert ours.layout().minor_to_major() == theirs.layout().minor_to_major() and str(ours.layout()) == str(theirs.layout())
        assert ours.layout().tiling() == theirs.layout().tiling()
        assert ours.layout().element_size_in_bits() == theirs.layout().element_size_in_bits()
    if ours.is_tuple():
        assert list(map(repr, ours.tuple_shapes())) == list(map(repr, theirs.tuple_shapes()))
        assert ours.numpy_dtype() == theirs.numpy_dtype() == np.dtype(object)


def test_shapes():
    assert repr(Shape.array_shape(F32, (2, 3))) == "f32[2,3]{1,0}"
    assert Shape.array_shape(xla_client.PrimitiveType.F32, (2, 3), (0, 1)) == Shape("f32[2,3]{0,1}") != Shape("f32[2,3]")
    assert Shape.tuple_shape((SCALAR, SCALAR)).leaf_count() == 2
    assert repr(Shape.scalar_shape(np.dtype(np.int8))) == "s8[]" and Shape.token_shape().is_token()
    assert xla_client.shape_from_pyval((np.zeros((2, 1)), np.float32(0))) == Shape("(f64[2,1], f32[])")
    assert xla_client.dtype_to_etype(np.int32) == xla_client.PrimitiveType.S32
    assert xla_client.XLA_ELEMENT_TYPE_TO_DTYPE[xla_client.PrimitiveType.U16] == np.uint16
    dynamic = Shape("f32[4]")
    dynamic.set_dynamic_dimension(0, True)
    assert repr(dynamic) == "f32[<=4]{0}" and dynamic.is_dynamic_dimension(0)
    assert repr(xla_client.ProgramShape([Shape("f32[2]")], SCALAR)) == "(p0: f32[2]) -> f32[]"


@pytest.mark.parametrize(
    "text, message",
    [
        ("f32[2,", r"expected a number in the shape\n  f32\[2,\n        \^"),
        ("q32[2]", r"expected an element type, such as `f32`, in the shape\n  q32\[2\]\n  \^"),
        ("f32[2]{1}", "does not name each of the 1 dimensions once"),
        ("f32[2] x", "expected the end"),
        ("f32[2]{0:X(1)}", r"expected `}` in the shape\n  f32\[2\]\{0:X\(1\)\}\n           \^"),
        ("f32[2]{0:T(8,)}", "expected a number"),
        ("f32[2]{0:T(8)", "expected `}`"),
        ("f32[2]{0:S(5)T(8)}", "expected `}`"),
        ("f32[2]{0:S(-1)}", "expected a number"),
        ("f32[2]{0:T(-8)}", "expected a number"),
        ("f32[2]{0:#(u32)}", "UNIMPLEMENTED: .*has a type of indices, which is not supported"),
        ("f32[2]{0:T(8)SC(0:1)}", "UNIMPLEMENTED: .*has split configurations, which are not supported"),
        ("opaque[1]", "expected `]`"),
        ("token", r"expected `\["),
        ("", "expected an element type"),
    ],
)
def test_texts_that_are_not_shapes(text, message):
    with pytest.raises(xla_client.XlaRuntimeError, match=message):
        Shape(text)


def test_layouts():
    layout = xla_client.Layout((1, 0), [(8, 128), (2, 1)], 16)
    assert layout == Shape("bf16[2,3]{1,0:T(8,128)(2,1)E(16)}").layout() != xla_client.Layout((1, 0))
    assert Shape("f32[2]{0:T(8)}") != Shape("f32[2]{0}") and Shape("f32[2]{0:T(8)}").layout() == xla_client.Layout([0], [[8]])
    c = xla_client.XlaBuilder("tiled")
    rows, tiles = Shape("f32[2,3]{1,0}"), Shape("f32[2,3]{1,0:T(8,128)}")
    x = ops.Parameter(c, 0, rows)
    for operand, result, what in [(tiles, rows, "operand 0"), (rows, tiles, "the result"), (rows, Shape.tuple_shape([tiles]), "the result")]:
        with pytest.raises(xla_client.XlaRuntimeError, match=f"UNIMPLEMENTED: f: the layout of {what} is more than an order of dimensions"):
            ops.CustomCallWithLayout(c, "f", [x], result, [operand])
    call = 'ROOT %y = f32[2] custom-call(%x), custom_call_target="f", operand_layout_constraints={f32[2]{0:T(8)}}'
    with pytest.raises(ValueError, match="a custom call's layouts are orders of dimensions"):
        farcall.convert(f"HloModule m\n\nENTRY %m (x: f32[2]) -> f32[2] {{\n  %x = f32[2] parameter(0)\n  {call}\n}}\n", "stablehlo")


def test_questions_that_a_shape_does_not_answer():
    for method in ("element_type", "dimensions", "rank", "layout"):
        with pytest.raises(xla_client.XlaRuntimeError, match=rf"{method}\(\) is for arrays, not for \(f32\[\]\)"):
            getattr(Shape("(f32[])"), method)()
    for shape in (Shape.token_shape(), Shape("opaque[]")):
        with pytest.raises(xla_client.XlaRuntimeError, match=r"element_type\(\) is for arrays, not for (token|opaque)\[\]"):
            shape.numpy_dtype()
    with pytest.raises(xla_client.XlaRuntimeError, match="is for tuples"):
        SCALAR.tuple_shapes()
    with pytest.raises(xla_client.XlaRuntimeError, match="Invalid dimension size -2"):
        Shape.array_shape(F32, (-2,))
    with pytest.raises(TypeError, match="no element type for NumPy's"):
        Shape.array_shape(np.dtype("datetime64"), ())
    with pytest.raises(TypeError, match="is not an element type"):
        Shape.array_shape(xla_client.PrimitiveType.TUPLE, ())


# --- builders: each graph runs here and in XLA, which reads its text


def scalars(c, kind=np.float32, count=2):
    return [ops.Parameter(c, i, Shape.scalar_shape(np.dtype(kind))) for i in range(count)]


def applied(name, function, kind=np.float32, count=2):
    c = xla_client.XlaBuilder(name)
    function(*scalars(c, kind, count))
    return c.build()


def add(kind=np.float32):
    return applied("add", ops.Add, kind)


X = np.array([[0.5, 0.25, -0.75], [0.125, -0.5, 0.375]], F32)
I = np.array([[5, -3, 2], [7, 1, -6]], np.int32)
ROW = np.array([1, 2, 3], F32)
UNARY = ["Abs", "Acos", "Asin", "Asinh", "Atan", "Atanh", "Cbrt", "Ceil", "Cos", "Cosh", "Erf", "Exp", "Expm1", "Floor", "IsFinite"]
UNARY += ["Log1p", "Logistic", "Neg", "Reciprocal", "Round", "RoundNearestEven", "Sign", "Sin", "Sinh", "Square", "Tan", "Tanh", "Not"]
UNARY += ["Clz", "PopulationCount", "Sqrt", "Rsqrt", "Log", "Acosh"]
INTEGERS = {"Not", "Clz", "PopulationCount"}
POSITIVE = {"Sqrt", "Rsqrt", "Log"}
BINARY = ["Add", "Sub", "Mul", "Div", "Rem", "Max", "Min", "Pow", "Atan2", "Eq", "Ne", "Ge", "Gt", "Lt", "Le", "Complex"]
BITS = ["And", "Or", "Xor", "ShiftLeft", "ShiftRightArithmetic", "ShiftRightLogical"]


def gather(c, a, indices):
    numbers = xla_client.GatherDimensionNumbers()
    numbers.offset_dims.append(1)
    numbers.collapsed_slice_dims.append(0)
    numbers.start_index_map.append(0)
    numbers.index_vector_dim = 1
    return ops.Gather(a, indices, numbers, slice_sizes=[1, 3])


def scatter(c, a, indices, updates):
    numbers = xla_client.ScatterDimensionNumbers()
    numbers.update_window_dims.append(1)
    numbers.inserted_window_dims.append(0)
    numbers.scatter_dims_to_operand_dims.append(0)
    numbers.index_vector_dim = 1
    return ops.Scatter(a, indices, updates, add(), numbers)


def convolution(c, lhs, rhs):
    numbers = xla_client.make_convolution_dimension_numbers(("NHWC", "HWIO", "NHWC"), 2)
    return ops.ConvGeneralDilated(lhs, rhs, [2, 1], [(1, 1), (0, 1)], (1, 2), (1, 1), numbers)


def looped(c, n):
    c2 = xla_client.XlaBuilder("body")
    state = ops.Parameter(c2, 0, Shape("(s32[], f32[])"))
    i, x = ops.GetTupleElement(state, 0), ops.GetTupleElement(state, 1)
    ops.Tuple(c2, [ops.Sub(i, ops.Constant(c2, np.int32(1))), ops.Mul(x, ops.Constant(c2, np.float32(2)))])
    c3 = xla_client.XlaBuilder("condition")
    state = ops.Parameter(c3, 0, Shape("(s32[], f32[])"))
    ops.Gt(ops.GetTupleElement(state, 0), ops.Constant(c3, np.int32(0)))
    return ops.While(c3.build(), c2.build(), ops.Tuple(c, [n, ops.Constant(c, np.float32(1))]))


def chosen(c, p, x):
    twice = applied("twice", lambda x: ops.Add(x, x), count=1)
    negated = applied("negated", ops.Neg, count=1)
    return ops.Conditional(p, x, twice, x, negated)


def switched(c, i, x):
    branches = [applied(name, getattr(ops, name), count=1) for name in ("Neg", "Square", "Exp")]
    return ops.Conditional(i, branches, [x, x, x])


def windows(c, x):
    pads = xla_client.window_padding_type_to_pad_values("SAME", (2, 3), (2, 1), (1, 1))
    return ops.ReduceWindowWithGeneralPadding(x, ops.Constant(c, np.float32(0)), add(), (2, 1), (1, 1), (), (), pads)


def selected(c, x):
    ge = applied("ge", ops.Ge)
    source = ops.Constant(c, np.array([[0.1, 0.2, 0.3]], F32))
    return ops.SelectAndScatterWithGeneralPadding(x, ge, (2, 1), (1, 1), [(0, 0), (0, 0)], source, ops.Constant(c, np.float32(1)), add())


def largest(c, x, i):
    """A reduction of two arrays."""
    c2 = xla_client.XlaBuilder("larger")
    a, ai, b, bi = (ops.Parameter(c2, k, Shape.scalar_shape(np.dtype(t))) for k, t in enumerate([F32, np.int32] * 2))
    which = ops.Ge(a, b)
    ops.Tuple(c2, [ops.Select(which, a, b), ops.Select(which, ai, bi)])
    init = [ops.Constant(c, np.float32(-np.inf)), ops.Constant(c, np.int32(-1))]
    return ops.Reduce(c, [x, i], init, c2.build(), [1])


def product(c, lhs, rhs):
    numbers = xla_client.make_dot_dimension_numbers((([2], [1]), ([0], [0])))
    config = xla_client.PrecisionConfig()
    config.operand_precision = [config.Precision.HIGHEST] * 2
    return ops.DotGeneral(lhs, rhs, numbers, precision_config=config)


GRAPHS = {
    "broadcast_scalar": (lambda c, x, s: ops.Mul(x, s), X, np.float32(3)),
    "broadcast_dimensions": (lambda c, x, row: ops.Add(x, row, broadcast_dimensions=(1,)), X, ROW),
    "broadcast_size_one": (lambda c, x, y: ops.Add(x, y), X, np.ones((2, 1), F32)),
    "broadcast_both": (lambda c, x, y: ops.Sub(x, y), np.ones((1, 3), F32), np.ones((2, 1), F32)),
    "broadcast": (lambda c, x: ops.Broadcast(x, (2, 1)), ROW),
    "broadcast_in_dim": (lambda c, x: ops.BroadcastInDim(x, (4, 2, 3), (1, 2)), X),
    "select": (lambda c, x, y: ops.Select(ops.Gt(x, y), x, y), X, -X),
    "select_scalar": (lambda c, p, x: ops.Select(p, x, ops.Neg(x)), np.bool_(False), X),
    "clamp": (lambda c, a, x, b: ops.Clamp(a, x, b), np.float32(-0.3), X, np.float32(0.3)),
    "convert": (lambda c, x: ops.ConvertElementType(x, xla_client.PrimitiveType.F32), I),
    "bitcast": (lambda c, x: ops.BitcastConvertType(x, xla_client.PrimitiveType.S32), X),
    "bitcast_narrow": (lambda c, x: ops.BitcastConvertType(x, xla_client.PrimitiveType.U8), X),
    "reduce_precision": (lambda c, x: ops.ReducePrecision(x, 5, 4), X),
    "reshape": (lambda c, x: ops.Reshape(x, (3, 2)), X),
    "reshape_in_order": (lambda c, x: ops.Reshape(x, (1, 0), (6,)), X),
    "collapse": (lambda c, x: ops.Collapse(x, (0, 1)), X),
    "transpose": (lambda c, x: ops.Transpose(x, (1, 0)), X),
    "reverse": (lambda c, x: ops.Rev(x, (1,)), X),
    "slice": (lambda c, x: ops.Slice(x, (0, 0), (2, 3), (1, 2)), X),
    "slice_in_dim": (lambda c, x: ops.SliceInDim(x, 1, 3, 1, 1), X),
    "concatenate": (lambda c, x, y: ops.ConcatInDim(c, [x, y], 0), X, -X),
    "pad": (lambda c, x, v: ops.Pad(x, v, xla_client.make_padding_config([(1, 0, 1), (0, -1, 0)])), X, np.float32(9)),
    "dynamic_slice": (lambda c, x, i: ops.DynamicSlice(x, [ops.Constant(c, np.int32(0)), i], (2, 2)), X, np.int32(1)),
    "dynamic_update_slice": (lambda c, x, u, i: ops.DynamicUpdateSlice(x, u, [i, i]), X, np.ones((1, 1), F32), np.int32(1)),
    "iota": (lambda c: ops.Iota(c, xla_client.PrimitiveType.S32, 4),),
    "iota_along": (lambda c: ops.Iota(c, Shape("f32[2,3]"), 1),),
    "dimension_size": (lambda c, x: ops.GetDimensionSize(x, 1), X),
    "gather": (gather, np.arange(9, dtype=F32).reshape(3, 3), np.array([[2], [0]], np.int32)),
    "scatter": (scatter, np.zeros((3, 3), F32), np.array([[2], [0]], np.int32), X),
    "map": (lambda c, x, y: ops.Map(c, [x, y], applied("f", ops.Mul), (0, 1)), X, X),
    "reduce": (lambda c, x: ops.Reduce(c, [x], [ops.Constant(c, np.float32(0))], add(), (1,)), X),
    "reduce_all": (lambda c, x: ops.ReduceAll(x, ops.Constant(c, np.float32(0)), add()), X),
    "reduce_two": (largest, X, I),
    "reduce_window": (windows, X),
    "select_and_scatter": (selected, X),
    "sort": (lambda c, x: ops.Sort(c, [x], dimension=1), X),
    "sort_keys": (lambda c, x, y: ops.Sort(c, [x, y], applied("gt", lambda a, b, *_: ops.Gt(a, b), count=4), is_stable=True), X, -X),
    "top_k": (lambda c, x: ops.TopK(x, 2), X),
    "call": (lambda c, x: ops.Call(c, applied("f", ops.Neg, count=1), [x]), np.float32(2)),
    "call_twice": (lambda c, x: ops.Add(*(ops.Call(c, applied("f", f, count=1), [x]) for f in (ops.Neg, ops.Exp))), np.float32(2)),
    "while": (looped, np.int32(5)),
    "conditional": (chosen, np.bool_(True), np.float32(3)),
    "conditional_of_three": (switched, np.int32(1), np.float32(3)),
    "dot": (lambda c, x, y: ops.Dot(x, y), X, X.T.copy()),
    "dot_vector": (lambda c, x, y: ops.Dot(x, y), X, ROW),
    "dot_preferred": (
        lambda c, x, y: ops.Dot(x, y, preferred_element_type=xla_client.PrimitiveType.S32),
        I.astype(np.int8),
        I.T.astype(np.int8).copy(),
    ),
    "dot_general": (product, np.arange(12, dtype=F32).reshape(2, 2, 3), np.arange(12, dtype=F32).reshape(2, 3, 2)),
    "convolution": (convolution, np.arange(32, dtype=F32).reshape(1, 4, 4, 2), np.arange(24, dtype=F32).reshape(2, 2, 2, 3)),
    "cholesky": (lambda c, x: ops.Cholesky(x, lower=True), np.array([[4, 2], [2, 3]], F32)),
    "triangular_solve": (
        lambda c, a, b: ops.TriangularSolve(a, b, True, True, False, ops.TriangularSolveOptions_Transpose.TRANSPOSE),
        np.array([[2, 0], [1, 3]], F32),
        np.array([[1], [2]], F32),
    ),
    "fft": (lambda c, x: ops.Fft(x, xla_client.FftType.RFFT, [4]), np.arange(4, dtype=F32)),
    "complex": (lambda c, x: ops.Tuple(c, [ops.Conj(x), ops.Real(x), ops.Imag(x)]), np.array([1 + 2j, 3 - 1j], np.complex64)),
    "barrier": (lambda c, x: ops.OptimizationBarrier(x), X),
    "cross_replica_sum": (lambda c, x: ops.CrossReplicaSum(x), X),
    "replica": (lambda c: ops.ReplicaId(c),),
    "nested_tuples": (lambda c, x: ops.Tuple(c, [x, ops.Tuple(c, [ops.Neg(x), x])]), X),
    "root_elsewhere": (lambda c, x: (ops.Neg(x), ops.Exp(x))[0], X),
    "constants": (
        lambda c: ops.Tuple(
            c,
            [
                ops.Constant(c, np.asarray(value))
                for value in (
                    np.array([[1.5, np.nan, np.inf], [-np.inf, -0.0, 1e-40]], F32),
                    np.array([0.1, 1e300]),
                    np.array([2**63, 1], np.uint64),
                    np.array([True, False]),
                    np.array([1 + 2j, complex(np.inf, np.nan)], np.complex64),
                    np.zeros((2, 0), F32),
                    np.array([1, 2, 3], np.float16)[::-1],
                    np.asfortranarray(I),
                )
            ],
        ),
    ),
}
#: XLA's parser reads these instructions; its CPU backend does not support them before 0.12.
NOT_IN_XLA = {"Acos", "Asin", "Asinh", "Atanh", "Acosh", "Cosh", "Sinh"}
GRAPHS |= {
    name: (
        lambda c, x, name=name: getattr(ops, name)(x),
        I if name in INTEGERS else np.abs(X) + (1 if name == "Acosh" else 0) if name in POSITIVE | {"Acosh"} else X,
    )
    for name in UNARY
}
GRAPHS |= {name: (lambda c, x, y, name=name: getattr(ops, name)(x, y), np.abs(X), X[::-1].copy()) for name in BINARY}
GRAPHS |= {name: (lambda c, x, y, name=name: getattr(ops, name)(x, y), I, np.abs(I)) for name in BITS}


def built(name):
    build, *arguments = GRAPHS[name]
    c = xla_client.XlaBuilder(name)
    parameters = [ops.Parameter(c, i, xla_client.shape_from_pyval(a)) for i, a in enumerate(arguments)]
    root = build(c, *parameters)
    return c, root, arguments


@pytest.mark.parametrize("name", GRAPHS)
def test_graphs_in_both_hosts(name):
    c, root, arguments = built(name)
    results = run(c, *arguments, root=root)
    text = c.build(root).as_hlo_text()
    np.testing.assert_equal(
        [r.shape for r in results], [leaf.dimensions() for leaf in leaves(c.build(root).program_shape().result_shape())]
    )
    if name in NOT_IN_XLA:
        pytest.importorskip("jaxlib.xla_client").hlo.hlo_module_from_text(text)
        try:
            in_jaxlib(text, arguments)
        except RuntimeError as error:
            assert f"UNIMPLEMENTED: {name.lower()}" in str(error)
        np.testing.assert_allclose(results[0], getattr(np, re.sub("^a", "arc", name.lower()))(arguments[0]), rtol=1e-5)
        return
    expected = in_jaxlib(text, arguments)
    assert len(results) == len(expected)
    for ours, theirs in zip(results, expected):
        assert ours.dtype == theirs.dtype and ours.shape == theirs.shape
        if ours.dtype.kind in "fc" and name != "constants":
            np.testing.assert_allclose(ours, theirs, rtol=2e-6, atol=1e-6)
        else:
            np.testing.assert_array_equal(ours, theirs)
    # farcall also reads its own text, and the program returns the same results.
    assert str(xla_client.XlaComputation(text).as_hlo_text()) == text
    again = farcall.compile(text).run(arguments)
    for ours, theirs in zip(results, again):
        np.testing.assert_array_equal(ours, theirs)


def leaves(shape):
    return [leaf for part in shape.tuple_shapes() for leaf in leaves(part)] if shape.is_tuple() else [shape]


def test_functions_that_only_farcall_has():
    for name, expected in [("Lgamma", 0.57236494), ("Digamma", -1.9635100), ("Erfc", 0.47950012), ("ErfInv", 0.47693628)]:
        c = xla_client.XlaBuilder(name)
        getattr(ops, name)(ops.Parameter(c, 0, SCALAR))
        np.testing.assert_allclose(run(c, np.float32(0.5)), [expected], rtol=1e-6)
    with pytest.raises(AttributeError, match="ops has no operation SVD: it is not supported"):
        ops.SVD
    with pytest.raises(AttributeError, match="xla_client has no NamedSharding: it is a part of JAX's arrays"):
        xla_client.NamedSharding


def test_random_numbers():
    c = xla_client.XlaBuilder("rng")
    low, high = (ops.Constant(c, np.float32(x)) for x in (2, 3))
    ops.RngUniform(low, high, Shape("f32[100]"))
    [x] = run(c)
    assert x.shape == (100,) and (2 <= x).all() and (x < 3).all() and len(np.unique(x)) > 50
    c = xla_client.XlaBuilder("bits")
    state = ops.Constant(c, np.array([1, 2], np.uint64))
    ops.RngBitGenerator(ops.RandomAlgorithm.RNG_THREE_FRY, state, Shape("u32[4]"))
    new, bits = run(c)
    assert new.dtype == np.uint64 and bits.shape == (4,)
    expected = in_jaxlib(c.build().as_hlo_text(), [])
    np.testing.assert_array_equal(bits, expected[1])


def test_operands_that_do_not_fit():
    c = xla_client.XlaBuilder("wrong")
    x, row = ops.Constant(c, X), ops.Constant(c, ROW)
    one, square = ops.Constant(c, np.float32(1)), ops.Constant(c, np.ones((2, 2), F32))
    assert ops.Add(square, square, (0, 1)).shape == square.shape

    def typed_call(opaque):
        return ops.CustomCall(c, "f", [one], SCALAR, opaque, api_version=ops.CustomCallApiVersion.API_VERSION_TYPED_FFI)

    cases = [
        (lambda: ops.Add(x, row), r"Add: operands of different numbers of dimensions, f32\[2,3\]\{1,0\} and f32\[3\]\{0\}"),
        (lambda: ops.Add(x, row, (0,)), r"cannot be broadcast to \[2, 3\] along \[0\]"),
        (lambda: ops.Add(x, ops.Constant(c, I)), r"add\(f32\[2,3\]\{1,0\}, s32\[2,3\]\{1,0\}\): "),
        (lambda: ops.Transpose(x, (0, 0)), "transpose"),
        (lambda: ops.Reshape(x, (4,)), "Reshape.*have different numbers of elements"),
        (lambda: ops.ConcatInDim(c, [x, row], 0), "concatenate"),
        (lambda: ops.Dot(x, x), "dot"),
        (lambda: ops.Dot(one, one), r"Dot: operands are vectors or matrices, not f32\[\] and f32\[\]"),
        (lambda: ops.Add(square, square, (1, 0)), r"Add: broadcast_dimensions \[1, 0\] .* are neither left out nor \[0, 1\]"),
        (lambda: ops.Add(one, one, (0,)), r"Add: broadcast_dimensions \[0\]"),
        (lambda: ops.Add(*[ops.Tuple(c, [x])] * 2), "Add: operands are arrays, not "),
        (lambda: ops.Neg(ops.Tuple(c, [x])), "Neg: operands are arrays, not "),
        (lambda: ops.GetTupleElement(ops.Tuple(c, [x]), 1), "none of index 1"),
        (lambda: ops.Reduce(c, [x], [row], add(), (0,)), "reduce"),
        (lambda: ops.Call(c, add(), [x]), r"Call: the computation's parameters are \(f32\[\], f32\[\]\)"),
        (lambda: ops.Parameter(c, 0, SCALAR) and ops.Parameter(c, 0, SCALAR), "a parameter 0 already"),
        (lambda: ops.Iota(c, Shape("f32[2,3]"), 2), "iota"),
        (lambda: ops.Iota(c, Shape("f32[2,3]"), -1), "iota"),
        (lambda: ops.Iota(c, Shape("(f32[2])"), 0), r"Iota: the result is an array, not \(f32\[2\]"),
        (lambda: ops.Iota(c, Shape("pred[2]"), 0), "iota"),
        (lambda: ops.BitcastConvertType(ops.Iota(c, Shape("u8[2,3]"), 0), np.dtype(np.uint16)), "bitcast"),
        (lambda: ops.BitcastConvertType(x, np.dtype(np.complex64)), "bitcast"),
        (lambda: ops.While(add(), applied("one", ops.Neg, count=1), x), r"While: the computation's parameters"),
        (lambda: ops.While(applied("one", ops.Neg, count=1), applied("one", ops.Neg, count=1), row), "While"),
        (lambda: ops.While(applied("no", ops.Neg, count=1), applied("one", ops.Neg, count=1), one), "while"),
        (lambda: ops.While(applied("yes", ops.IsFinite, count=1), applied("no", ops.IsFinite, count=1), one), "while"),
        (lambda: ops.RngUniform(one, one, Shape("c64[2]")), "rng"),
        (lambda: typed_call("{a = 1 : i32}, custom_call_has_side_effect=true"), "f: the opaque string of a typed target is a dictionary"),
        (lambda: typed_call("not a dictionary"), "f: the opaque string of a typed target is a dictionary"),
        (lambda: typed_call('{a = "}'), "custom-call.*this string does not end"),
        (lambda: typed_call("{a = }"), "custom-call"),
        (lambda: typed_call("{a = 1 : i32"), "f: the opaque string of a typed target is a dictionary"),
        (lambda: ops.CustomCallWithAliasing(c, "f", [row], SCALAR, [row.shape], output_operand_aliasing=[((), (0, ()))]), "custom-call"),
        (lambda: ops.CustomCallWithAliasing(c, "f", [row], SCALAR, [row.shape], output_operand_aliasing=[((), (1, ()))]), "custom-call"),
    ]
    typed_call('{a = "}, {\\22", b = {c = 1 : i32}}')
    for case, message in cases:
        with pytest.raises(xla_client.XlaRuntimeError, match=message) as e:
            case()
        assert str(e.value).startswith("INVALID_ARGUMENT: ")
    with pytest.raises(TypeError, match="an operand is an XlaOp, not 3"):
        c._own(3)
    for case, name in [
        (lambda: ops.Clamp(x, 1, x), "Clamp: operand is an XlaOp"),
        (lambda: ops.Add(1, x), "Add: lhs is an XlaOp"),
        (lambda: ops.Select(x, 1, x), "Select: on_true is an XlaOp"),
        (lambda: ops.Neg(1), "Neg: operand is an XlaOp"),
        (lambda: ops.Dot(x, 1), "Dot: rhs is an XlaOp"),
        (lambda: ops.Reshape(1, (2,)), "Reshape: operand is an XlaOp"),
        (lambda: ops.Tuple(c, 1), "Tuple: elements is a sequence of XlaOps"),
        (lambda: ops.Parameter(1, 0, SCALAR), "Parameter: builder is an XlaBuilder"),
        (lambda: ops.Parameter(c, 0, 1), "Parameter: shape is a Shape"),
        (lambda: ops.CustomCall(c, "f", [x], 1), "CustomCall: shape is a Shape"),
        (lambda: ops.While(1, add(), x), "While: condition is an XlaComputation"),
        (lambda: ops.Conditional(1, [add()], [x]), "Conditional: branch_index is an XlaOp"),
        (lambda: ops.Conditional(x, x, 1, x, add()), "Conditional: true_computation is an XlaComputation"),
        (lambda: ops.ReduceWindowWithGeneralPadding(1, x, add(), (1,), (1,), (), (), ()), "ReduceWindowWithGeneralPadding: operand is an XlaOp or a"),
        (lambda: ops.Lgamma(1), "Lgamma: operands is an XlaOp"),
        (lambda: xla_client.ComputationBuilder("c").Exp(1), "Exp: operand is an XlaOp"),
    ]:
        with pytest.raises(TypeError, match=f"^{name}"):
            case()
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'permutation'"):
        ops.Transpose(x)
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'iota_dimension'"):
        ops.Iota(c, SCALAR)
    with pytest.raises(xla_client.XlaRuntimeError, match="no instruction was added"):
        xla_client.XlaBuilder("empty").build()
    c = xla_client.XlaBuilder("gap")
    ops.Parameter(c, 1, SCALAR)
    with pytest.raises(xla_client.XlaRuntimeError, match="gap has no parameter 0, but a later one"):
        c.build()


def test_what_builders_say():
    c = xla_client.XlaBuilder("says")
    x = ops.Parameter(c, 0, Shape("f32[2]"), name="x")
    c.set_op_metadata(xla_client.CurrentSourceInfoMetadata(op_type="Neg", op_name="negated"))
    sharding = xla_client.OpSharding()
    c.set_sharding(sharding)
    y = ops.Neg(x)
    c.clear_op_metadata()
    c.clear_sharding()
    z = ops.Exp(ops.Constant(c, np.float32(1)))
    assert c.get_shape(y) == c.GetShape(y) == Shape("f32[2]")
    assert not c.is_constant(y) and c.is_constant(z)
    inner = xla_client.XlaBuilder("inner")
    low = ops.Parameter(inner, 0, SCALAR)
    constant, random = inner.build(low), inner.build(ops.RngUniform(low, ops.Constant(inner, np.float32(9)), SCALAR))
    outer = xla_client.XlaBuilder("outer")
    ops.Call(outer, random, [ops.Parameter(outer, 0, SCALAR)])
    for computation, expected in [(constant, True), (random, False), (outer.build(), False)]:
        assert c.is_constant(ops.Call(c, computation, [z])) is expected
    assert repr(c.get_program_shape()) == "(p0: f32[2]) -> f32[]"
    c.setup_alias([], 0, [])
    text = c.build(y).as_hlo_text()
    assert 'ROOT %negate.2 = f32[2]{0} negate(%x.1), sharding={replicated}, metadata={op_type="Neg" op_name="negated"' in text
    assert "input_output_alias={ {}: (0, {}, may-alias) }" in text
    assert c.build(y).name() == "says" and c.build(y).hash() == c.build(y).hash() != c.build().hash()
    np.testing.assert_array_equal(run(c, np.ones(2, F32), root=y), [[-1, -1]])
    assert in_jaxlib(text, [np.ones(2, F32)])[0].tolist() == [-1, -1]


def test_the_first_builder():
    c = xla_client.ComputationBuilder("first")
    x = c.ParameterFromNumpy(X)
    y = c.ParameterWithShape(Shape("f32[3]"))
    c.Tuple(
        c.Reduce(c.Mul(x, x), c.ConstantF32Scalar(0), c_add(), [0]),
        c.Dot(x, y),
        c.DynamicSlice(x, c.Constant(np.array([0, 1], np.int32)), [1, 2]),
        c.Slice(x, [0, 0], [1, 2]),
        c.Reshape(x, None, (6,)),
        c.Trans(x),
        c.Sort(x, dimension=1),
        c.Max(c.ConstantS32Scalar(1), c.ConstantS32Scalar(2)),
        c.Concatenate([y, c.Iota(np.float32, 2)], 0),
        c.While(c_less(), c_double(), c.ConstantF32Scalar(1)),
    )
    computation = c.Build()
    assert computation.GetReturnValueShape().is_tuple() and computation.GetProgramShape().parameter_shapes()[1] == Shape("f32[3]")
    results = xla_client.execute_with_python_values(computation.Compile(), (X, ROW))
    assert isinstance(results, tuple)
    expected = [(X * X).sum(0), X @ ROW, X[:1, 1:3], X[:1, :2], X.ravel(), X.T, np.sort(X, 1), np.int32(2), [1, 2, 3, 0, 1], np.float32(16)]
    for ours, theirs in zip(results, expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-6)
    with pytest.raises(AttributeError, match="ComputationBuilder has no method Frobnicate"):
        c.Frobnicate


def test_what_the_first_executables_return():
    c = xla_client.ComputationBuilder("nested")
    pair = c.ParameterFromNumpy((X, np.float32(2)))
    c.Tuple(c.Mul(c.GetTupleElement(pair, 0), c.GetTupleElement(pair, 1)), pair)
    executable = c.Build().Compile()
    for result in (
        xla_client.execute_with_python_values(executable, [(X, np.float32(2))]),
        executable.Execute([xla_client.Buffer.from_pyval((X, np.float32(2)))]).to_py(),
    ):
        product, (first, second) = result
        np.testing.assert_array_equal(product, 2 * X)
        np.testing.assert_array_equal(first, X)
        assert second == 2
    buffer = xla_client.Buffer.make_tuple([xla_client.Buffer.from_pyval(X), xla_client.Buffer.from_pyval((ROW,))])
    assert buffer.xla_shape() == Shape("(f32[2,3], (f32[3]))") and len(buffer.destructure()) == 2
    c = xla_client.ComputationBuilder("single")
    c.ConstantF32Scalar(3)
    assert c.Build().Compile().Execute().to_py() == 3


def test_hashes_and_graphs():
    def double(name):
        c = xla_client.ComputationBuilder(name)
        c.Mul(c.ParameterFromNumpy(np.float32(0), name=name), c.ConstantF32Scalar(2))
        return c.Build()

    assert double("one").Hash() == double("other").Hash() != c_less().Hash()
    assert double("one").GetHloDotGraph().startswith("digraph ") and '"one.1" -> "multiply.3"' in double("one").GetHloDotGraph()


def c_add():
    c = xla_client.ComputationBuilder("add")
    c.Add(c.ParameterFromNumpy(np.float32(0)), c.ParameterFromNumpy(np.float32(0)))
    return c.Build()


def c_double():
    c = xla_client.ComputationBuilder("double")
    c.Mul(c.ParameterFromNumpy(np.float32(0)), c.ConstantF32Scalar(2))
    return c.Build()


def c_less():
    c = xla_client.ComputationBuilder("less")
    c.Lt(c.ParameterFromNumpy(np.float32(0)), c.ConstantF32Scalar(10))
    return c.Build()


# --- clients


def test_programs_that_a_client_takes():
    client = xla_client.make_cpu_client(asynchronous=True, node_id=0)
    stablehlo = """
    func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
      %0 = stablehlo.add %x, %x : tensor<2xf32>
      return %0 : tensor<2xf32>
    }"""
    hlo = "HloModule double\n\nENTRY %main (x: f32[2]) -> f32[2] {\n  %x = f32[2] parameter(0)\n  ROOT %y = f32[2] add(%x, %x)\n}\n"
    artifact = farcall.convert(stablehlo, "artifact")
    module = xla_client.hlo.hlo_module_from_text(hlo)
    assert module.name == "double" and "ENTRY" in module.to_string()
    computation = xla_client.mlir.mlir_module_to_xla_computation(stablehlo)
    assert "stablehlo.add" in xla_client._xla.mlir.xla_computation_to_mlir_module(computation)
    programs = [stablehlo, stablehlo.encode(), hlo, hlo.encode(), artifact, module, computation, xla_client.XlaComputation(hlo)]
    for program in programs:
        executable = client.compile_and_load(program, client.devices(), xla_client.CompileOptions())
        [result] = executable.execute([client.buffer_from_pyval(np.array([1, 2], F32))])
        assert result.to_py().tolist() == [2, 4] and np.asarray(result).dtype == F32
        assert "add(" in executable.get_hlo_text() and executable.program_shape().result_shape() == Shape("f32[2]")
    assert repr(xla_client.XlaComputation(hlo).program_shape()) == "(p0: f32[2]) -> f32[2]"
    with pytest.raises(xla_client.XlaRuntimeError, match="INVALID_ARGUMENT: error"):
        client.compile("HloModule x\n\nENTRY %m () -> f32[] { ROOT %c = f32[] frobnicate() }")
    with pytest.raises(xla_client.XlaRuntimeError, match="serialized HloModuleProto is not supported"):
        xla_client.XlaComputation(b"\x0a\x01")
    with pytest.raises(TypeError, match="not a float"):
        client.compile(1.5)


def test_clients_devices_and_buffers():
    client = xla_client.get_local_backend("cpu")
    assert client is xla_client.get_local_backend()
    [device] = client.devices()
    assert (client.platform, client.device_count(), client.process_index()) == ("cpu", 1, 0)
    assert (device.platform, device.id, device.client, repr(device)) == ("cpu", 0, client, "CpuDevice(id=0)")
    source = np.array([[1, 2]], F32)
    buffer = client.buffer_from_pyval(source)
    source[:] = 0
    assert buffer.to_py().tolist() == [[1, 2]] and buffer.xla_shape() == Shape("f32[1,2]")
    assert (buffer.shape, buffer.dtype, buffer.ndim, buffer.size, buffer.device()) == ((1, 2), F32, 2, 2, device)
    assert buffer in client.live_buffers() and buffer.block_until_ready() is buffer
    assert buffer.clone().unsafe_buffer_pointer() == buffer.unsafe_buffer_pointer()
    with pytest.raises(ValueError, match="read-only"):
        buffer.to_py()[0, 0] = 3
    buffer.delete()
    assert buffer.is_deleted() and buffer not in client.live_buffers()
    executable = client.compile(built("Neg")[0].build())
    for use in (buffer.block_until_ready, buffer.to_py, lambda: executable.execute([buffer])):
        with pytest.raises(xla_client.XlaRuntimeError, match="called on deleted or donated buffer"):
            use()
    assert executable in client.live_executables() and executable.local_devices() == [device]
    assert executable.hlo_modules()[0].to_string().startswith("HloModule Neg")
    assert executable.size_of_generated_code_in_bytes() == -1 and executable.fingerprint is None
    [[result]] = executable.execute_on_local_devices([[X]])
    np.testing.assert_array_equal(result.to_py(), -X)
    [[result]] = executable.execute_sharded_on_local_devices([[X]])
    np.testing.assert_array_equal(xla_client.execute_with_python_values_replicated(executable, [[X]]), [[-X]])
    with pytest.raises(xla_client.XlaRuntimeError, match="NOT_FOUND.*not on gpu"):
        xla_client.get_local_backend("gpu")


def test_options_and_arguments_that_do_not_fit():
    client = xla_client.make_cpu_client()
    c = xla_client.XlaBuilder("wrong")
    ops.Parameter(c, 0, Shape("s32[]"))
    options = xla_client.CompileOptions()
    options.argument_layouts = [SCALAR]
    with pytest.raises(RuntimeError, match=r"Invalid argument shape.*expected s32\[\], got f32\[\]"):
        client.compile(c.build(), compile_options=options)
    options = xla_client.CompileOptions()
    options.num_replicas = 2
    with pytest.raises(xla_client.XlaRuntimeError, match="UNIMPLEMENTED.*num_replicas is 2"):
        client.compile(c.build(), options)
    executable = client.compile(c.build())
    assert [r.to_py() for r in client.execute(executable, [np.int32(4)])] == [4]
    with pytest.raises(TypeError, match="an executable is what Client.compile returns, not a str"):
        client.execute("executable")
    with pytest.raises(xla_client.XlaRuntimeError, match="INVALID_ARGUMENT: .*f32"):
        xla_client.execute_with_python_values(executable, [np.float32(2)], client)
    with pytest.raises(xla_client.XlaRuntimeError, match="INVALID_ARGUMENT: "):
        xla_client.execute_with_python_values(executable, [], client)
    assert xla_client.execute_with_python_values(executable, [3], client) == [3]
    with pytest.raises(xla_client.XlaRuntimeError, match="UNIMPLEMENTED: farcall has one device"):
        xla_client.make_cpu_client(num_devices=2)
    with pytest.raises(xla_client.XlaRuntimeError, match="inputs have dynamic sizes"):
        client.compile("func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> {\n  return %x : tensor<?xf32>\n}")


def test_options_for_other_devices_and_results():
    client = xla_client.make_cpu_client()
    c = xla_client.XlaBuilder("options")
    ops.Parameter(c, 0, Shape("f32[2,3]"))

    def compiled(devices=None, **build):
        options = xla_client.CompileOptions()
        options.device_assignment = build.pop("outer_assignment", None)
        for key, value in build.items():
            setattr(options.executable_build_options, key, value)
        return client.compile(c.build(), devices, options)

    assign = xla_client.DeviceAssignment.create
    other = type("Device", (), {"platform": "gpu", "id": 0})()
    for devices in (None, client.devices()[0], client.devices(), xla_client.DeviceList(client.devices())):
        compiled(devices)
    for fits in (
        {"device_ordinal": -1},
        {"device_ordinal": 0},
        {"device_assignment": assign([[0]]), "outer_assignment": assign([[0]])},
        {"result_layout": Shape("f32[2,3]")},
        {"result_layout": Shape("f32[2,3]{1,0}")},
    ):
        compiled(**fits)
    for wrong, message in [
        ({"device_ordinal": 1}, "device_ordinal is 1"),
        ({"device_assignment": assign([[1]])}, r"device_assignment is DeviceAssignment\(\[\[1\]\]\)"),
        ({"outer_assignment": assign([[0, 1]])}, "device_assignment is "),
        ({"result_layout": Shape("f32[3,2]")}, r"result_layout is f32\[3,2\]\{1,0\}, but the program's results are \(f32\[2,3\]\)"),
        ({"result_layout": Shape("f32[2,3]{0,1}")}, "results are row-major"),
        ({"devices": [other]}, "executable_devices is "),
        ({"devices": client.devices() * 2}, "executable_devices is "),
        ({"devices": []}, "executable_devices is "),
    ]:
        with pytest.raises(xla_client.XlaRuntimeError, match=message):
            compiled(**wrong)


def test_arguments_that_are_tuples():
    c = xla_client.XlaBuilder("tuples")
    pair = ops.Parameter(c, 0, xla_client.shape_from_pyval((X, np.float32(2))))
    ops.Mul(ops.GetTupleElement(pair, 0), ops.GetTupleElement(pair, 1))
    np.testing.assert_array_equal(run(c, (X, np.float32(2))), [2 * X])


#: Names that jaxlib's module only has because it imports them.
IMPORTED = {"Any", "Mapping", "Protocol", "Union", "annotations", "atexit", "contextlib", "enum", "logger", "logging", "os", "threading"}


@pytest.mark.parametrize("module", ["xla_client", "xla_client.hlo"])
def test_names_of_jaxlib(module):
    """Every name of jaxlib 0.10's modules exists here, or is deliberately absent with a reason that the error
    shows."""
    absent = {"xla_client": ABSENT, "xla_client.hlo": ABSENT_IN_HLO}[module]
    ours = {"xla_client": xla_client, "xla_client.hlo": xla_client.hlo}[module]
    for name, why in absent.items():
        with pytest.raises(AttributeError) as e:
            getattr(ours, name)
        assert str(e.value) == f"farcall.{module} has no {name}: {why}"
    jaxlib = pytest.importorskip("jaxlib.xla_client")
    if importlib.metadata.version("jaxlib") != "0.10.2":
        pytest.skip("another version of jaxlib has other names")
    theirs = {"xla_client": jaxlib, "xla_client.hlo": jaxlib.hlo}[module]
    names = {name for name in dir(theirs) if not name.startswith("_")} - IMPORTED
    assert {name for name in names if not hasattr(ours, name)} == absent.keys()
