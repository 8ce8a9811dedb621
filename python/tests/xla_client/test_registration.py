"""Registration of targets: kinds of functions, their exceptions, other platforms."""

import ctypes
import pickle
import subprocess
import sys

import numpy as np
import pytest
from hosts import SCALAR, Shape, run
from libraries import example

import farcall
from farcall import xla_client
from farcall.xla_client import ops


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
    """Returns a program of calls. The first call gets the number 1, and each other call the result of the
    call before it. A call is given by its target's name, or, for a typed target, by a pair of the name and
    `True`."""
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
    """An exception of an untyped function is an error of the run that calls the function. It affects neither
    a nested run, nor a run after another host has called the function."""
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
    """Calls a function without parameters, and returns the resulting pointer in a capsule."""
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

    # A `KeyboardInterrupt` in the handler ends the delivery of registrations. The next handler gets the rest.
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

    # The engine already handles the CPU's registrations, so they do not wait, and this handler gets none.
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


ROWS = "{devices=[2,1]0,1}"


def divided_program(target: str, config: str = "", operand: str = ROWS, result: str = ROWS) -> str:
    return f"""
    module attributes {{mhlo.num_partitions = 2 : i32}} {{
      func.func @main(%x: tensor<4x6xf32> {{mhlo.sharding = "{operand}"}}) -> (tensor<4x6xf32> {{mhlo.sharding = "{result}"}}) {{
        %0 = stablehlo.custom_call @{target}(%x) {{backend_config = "{config}"}} : (tensor<4x6xf32>) -> tensor<4x6xf32>
        %1 = stablehlo.negate %0 : tensor<4x6xf32>
        return %1 : tensor<4x6xf32>
      }}
    }}"""


def double(shapes, shardings, shape, sharding, config):
    """Divides a call that doubles its operand as its result is divided."""
    ty = sharding.tile(shape)
    text = f"tensor<{'x'.join(map(str, ty.dimensions()))}xf32>"
    program = f"func.func @main(%x: {text}) -> {text} {{ %0 = stablehlo.add %x, %x : {text} return %0 : {text} }}"
    return program, [sharding], sharding


WHOLE, COLUMNS = "{replicated}", "{devices=[1,2]0,1}"


@pytest.mark.parametrize(
    ("operand", "result", "divided"),
    [
        (ROWS, WHOLE, ROWS),  # from the operand
        (WHOLE, ROWS, ROWS),  # from the user
        (WHOLE, COLUMNS, WHOLE),  # a user's request that is not accepted
    ],
)
def test_a_registered_partitioner_divides_calls(operand, result, divided):
    asked = []

    def partition(shapes, shardings, shape, sharding, config):
        asked.append(("partition", str(shapes[0]), repr(shardings[0]), repr(sharding), config))
        return double(shapes, shardings, shape, sharding, config)

    def infer(shapes, shardings, shape, config):
        asked.append(("infer", str(shape)))
        return None if shardings[0].is_replicated() else shardings[0]

    def propagate(sharding, shape, config):
        asked.append(("propagate", str(shape), repr(sharding)))
        return sharding if repr(sharding) == ROWS else xla_client.HloSharding.replicate()

    xla_client.register_custom_call_partitioner("doubled_rows", propagate, partition, infer)
    executable = farcall.compile(divided_program("doubled_rows", "config", operand, result), partitioned=True)
    x = np.arange(24, dtype=np.float32).reshape(4, 6)
    np.testing.assert_array_equal(executable(x)[0], -2 * x)
    assert ("partition", "f32[4,6]{1,0}", operand, divided, b"config") in asked, asked
    assert ("infer", "f32[4,6]{1,0}") in asked
    assert result == WHOLE or ("propagate", "f32[4,6]{1,0}", result) in asked


def test_equal_shardings():
    """The order of devices with the same part does not count, as in jaxlib."""
    shardings = [
        ([2, 2], [0, 1, 2, 3], True),
        ([2, 2], [1, 0, 3, 2], True),
        ([2, 2], [2, 3, 0, 1], True),
        ([2, 2], [0, 1, 2, 3], False),
        ([2, 1, 2], [0, 1, 2, 3], True),
        ([2, 1], [0, 1], True),
        ([2], [0, 1], False),
        ([1, 1, 4], [0, 1, 2, 3], True),
    ]

    def equal_in(host):
        made = [host.HloSharding.replicate()]
        for tiles, devices, copies in shardings:
            proto = host.OpSharding()
            proto.type = host.OpSharding.Type.OTHER
            proto.tile_assignment_dimensions, proto.tile_assignment_devices = tiles, devices
            proto.replicate_on_last_tile_dim = copies
            made.append(host.HloSharding.from_proto(proto))
        assert all(hash(a) == hash(b) for a in made for b in made if a == b)
        return [[a == b for b in made] for a in made]

    equal = equal_in(xla_client)
    assert [row.count(True) for row in equal] == [2, 2, 2, 1, 1, 1, 2, 2, 2]
    assert equal == equal_in(pytest.importorskip("jaxlib.xla_client"))


def test_a_divided_program_takes_complete_inputs():
    def replicate(*_):
        return xla_client.HloSharding.replicate()

    xla_client.register_custom_call_partitioner("doubled", replicate, double, replicate)
    executable = farcall.compile(divided_program("doubled"), partitioned=True)
    x = np.arange(24, dtype=np.float32).reshape(4, 6)
    assert [ty.shape for ty in executable.inputs + executable.outputs] == [(4, 6), (4, 6)]
    for method, arguments in [("run_on_devices", [[[x[:2]], [x[2:]]]]), ("memory_analysis", [])]:
        with pytest.raises(ValueError, match=f"`{method}` is not available for a program .* partitioned=True"):
            getattr(executable, method)(*arguments)
    for wrong in (x[:2], x[:3], x.T):
        with pytest.raises(ValueError, match="4, ?6|4x6"):
            executable(wrong)
    with pytest.raises(TypeError):
        executable(x.astype(np.float64) + 0.5)
    with pytest.raises(TypeError):
        executable(x, x)


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (None, "`partition` must return .*, not None"),
        ((1, [], None), "`partition` must return"),
        (("text", [], None), "`partition` returned 0 shardings for 1 operands"),
        (("text", ["rows"], None), "`partition` must return shardings of the type HloSharding, not 'rows'"),
        (("text", [xla_client.HloSharding.iota_tile([3, 1])], None), "`partition`: .* does not divide a tensor"),
        (ArithmeticError("it cannot be divided"), "the partitioner of `wrong_answers`: it cannot be divided"),
    ],
)
def test_wrong_answers_of_partitioners_are_errors(answer, error):
    def partition(*_):
        if isinstance(answer, Exception):
            raise answer
        return answer

    xla_client.register_custom_call_partitioner("wrong_answers", lambda sharding, *_: sharding, partition, lambda *_: None)
    with pytest.raises(ValueError, match=error) as raised:
        farcall.compile(divided_program("wrong_answers"), partitioned=True)
    if isinstance(answer, Exception):
        assert raised.value.__cause__ is answer


def test_a_partitioner_of_several_results():
    def partition(shapes, shardings, shape, sharding, config):
        rows = shardings[0]
        assert shape.is_tuple() and len(sharding.tuple_elements()) == 2
        program = """func.func @main(%x: tensor<2x6xf32>) -> (tensor<2x6xf32>, tensor<2x6xf32>) {
            %0 = stablehlo.add %x, %x : tensor<2x6xf32>
            return %x, %0 : tensor<2x6xf32>, tensor<2x6xf32>
        }"""
        return program, [rows], xla_client.HloSharding.tuple_sharding(shape, [rows, rows])

    def infer(shapes, shardings, shape, config):
        return xla_client.HloSharding.tuple_sharding(shape, [shardings[0]] * 2)

    xla_client.register_custom_call_partitioner("twice", lambda sharding, *_: sharding, partition, infer)
    program = f"""module attributes {{mhlo.num_partitions = 2 : i32}} {{
      func.func @main(%x: tensor<4x6xf32> {{mhlo.sharding = "{ROWS}"}}) -> tensor<4x6xf32> {{
        %0:2 = stablehlo.custom_call @twice(%x) : (tensor<4x6xf32>) -> (tensor<4x6xf32>, tensor<4x6xf32>)
        %1 = stablehlo.add %0#0, %0#1 : tensor<4x6xf32>
        return %1 : tensor<4x6xf32>
      }}
    }}"""
    x = np.ones((4, 6), np.float32)
    np.testing.assert_array_equal(farcall.compile(program, partitioned=True)(x)[0], 3 * x)


def test_inspect_sharding_reports_the_sharding_on_several_devices():
    seen = []
    config = xla_client.encode_inspect_sharding_callback(seen.append)
    text = "".join(f"\\{byte:02X}" for byte in config)
    executable = farcall.compile(divided_program("InspectSharding", text), partitioned=True)
    [sharding] = seen
    assert repr(sharding) == ROWS and sharding.is_tiled() and sharding.num_devices() == 2
    x = np.ones((4, 6), np.float32)
    np.testing.assert_array_equal(executable(x)[0], -x)

    def failing(sharding):
        raise RuntimeError("not this one")

    config = xla_client.encode_inspect_sharding_callback(failing)
    text = "".join(f"\\{byte:02X}" for byte in config)
    with pytest.raises(ValueError, match="not this one"):
        farcall.compile(divided_program("InspectSharding", text), partitioned=True)
    with pytest.raises(ValueError, match="not that of a callback of this process"):
        farcall.compile(divided_program("InspectSharding", "0123456789abcdef"), partitioned=True)
    known = ctypes.cast(ctypes.CDLL(None).puts, ctypes.c_void_p).value
    text = "".join(f"\\{byte:02X}" for byte in known.to_bytes(8, sys.byteorder) + bytes(8))
    with pytest.raises(ValueError, match="not that of a callback of this process"):
        farcall.compile(divided_program("InspectSharding", text), partitioned=True)


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
