"""Targets from libraries and capsules, and their behavior when they run."""

import ctypes
import os
import pathlib
import shutil
import subprocess
import sys
import textwrap
import threading

import numpy as np
import pytest

import farcall

SCALE = """
func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
  %0 = stablehlo.custom_call @scale(%x) {mhlo.backend_config = {factor = 2.5 : f32}} : (tensor<3xf32>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}
"""
X = np.array([1, 2, 3], np.float32)


def call(target: str, signature: str, attributes: str = "") -> str:
    """Returns a program of one call: `call("f", "f32 -> f32")`, or without an operand, `call("f", "->
    f32")`."""
    operand, result = (part.strip() for part in signature.split("->"))
    parameter = f"%x: tensor<{operand}>" if operand else ""
    operands, types = ("%x", f"tensor<{operand}>") if operand else ("", "")
    return (
        f"func.func @main({parameter}) -> tensor<{result}> {{\n"
        f"  %0 = stablehlo.custom_call @{target}({operands}) {{{attributes}}} : ({types}) -> tensor<{result}>\n"
        f"  return %0 : tensor<{result}>\n}}"
    )


@pytest.fixture(scope="module")
def library(compiled_handlers) -> pathlib.Path:
    return compiled_handlers()


@pytest.fixture(scope="module")
def capsule(library):
    """Returns a function that looks up a symbol of the library. JAX creates the returned capsule."""
    import jax.ffi

    opened = ctypes.CDLL(str(library))
    return lambda symbol: jax.ffi.pycapsule(getattr(opened, symbol))


def test_targets_by_symbol(library):
    registry = farcall.Registry()
    [target] = registry.load(library, ["scale=Scale"])
    assert (target.name, target.platform, target.typed, target.stages) == ("scale", "Host", True, ["execute"])
    assert target.api_version[0] == 0
    assert str(library) in target.origin
    assert [t.name for t in registry.targets()] == ["scale"]
    np.testing.assert_array_equal(farcall.compile(SCALE, registry)(X), [2.5 * X])


def test_one_handler_in_two_hosts(capsule):
    import jax

    registry = farcall.Registry()
    jax.ffi.register_ffi_target("scale", capsule("Scale"), platform="cpu")
    registry.register("scale", capsule("Scale"), platform="cpu")
    f = jax.jit(lambda x: jax.ffi.ffi_call("scale", jax.ShapeDtypeStruct(x.shape, x.dtype))(x, factor=np.float32(2)))
    np.testing.assert_array_equal(farcall.compile(f.lower(X), registry)(X), f(X))


def test_state_by_stage(capsule):
    registry = farcall.Registry()
    stages = {"instantiate": capsule("CounterNew"), "execute": capsule("CounterRun")}
    with pytest.raises(ValueError, match="must be registered before"):
        registry.register("count", stages)
    types = {"type_id": capsule("CounterTypeId"), "type_info": capsule("CounterTypeInfo")}
    types = {name: pointed_to(symbol) for name, symbol in types.items()}
    number = farcall.register_type("counter", types)
    assert farcall.register_type("counter", types) == number
    assert registry.register("count", stages).stages == ["instantiate", "execute"]
    first = farcall.compile(call("count", "-> i64"), registry)
    second = farcall.compile(call("count", "-> i64"), registry)
    assert [int(first()[0]) for _ in range(3)] == [1, 2, 3]
    assert int(second()[0]) == 1


def test_a_type_of_state_in_both_hosts(capsule):
    """Both hosts know the type by the same id. This test runs after the test above, which needs the type
    unregistered at first: a registration lasts as long as the process."""
    ffi = farcall.ffi
    types = {name: pointed_to(capsule(f"Counter{symbol}")) for name, symbol in [("type_id", "TypeId"), ("type_info", "TypeInfo")]}
    ffi.register_ffi_type("counter", types)
    ffi.register_ffi_target("ffi_count", {"instantiate": capsule("CounterNew"), "execute": capsule("CounterRun")})

    class Like:
        shape, dtype = (), np.dtype(np.int64)

    count = ffi.ffi_call("ffi_count", Like)
    assert [int(count()) for _ in range(3)] == [1, 2, 3]
    jax = pytest.importorskip("jax")
    with jax.enable_x64(True):
        count = ffi.ffi_call("ffi_count", jax.ShapeDtypeStruct((), np.int64), has_side_effect=True)
        f = jax.jit(lambda: count())
        assert [int(f()) for _ in range(2)] == [1, 2]


def pointed_to(function):
    """Calls a function without parameters, and returns the resulting pointer in a capsule."""
    get, new = ctypes.pythonapi.PyCapsule_GetPointer, ctypes.pythonapi.PyCapsule_New
    get.restype, get.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    new.restype, new.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
    return new(ctypes.CFUNCTYPE(ctypes.c_void_p)(get(function, None))(), None, None)


def test_the_older_interface(capsule):
    registry = farcall.Registry()
    target = registry.register("add_one", capsule("add_one"), api_version=0)
    assert (target.typed, target.api_version) == (False, None)
    [y] = farcall.compile(call("add_one", "f32 -> f32"), registry)(np.float32(2))
    assert y == 3


def test_a_handler_that_fails(capsule):
    registry = farcall.Registry()
    registry.register("fail", capsule("Fail"))
    program = farcall.compile(call("fail", "f32 -> f32"), registry, name="fail.mlir")
    with pytest.raises(RuntimeError, match="the input is negative") as e:
        program(-1)
    assert "fail" in str(e.value) and "fail.mlir:2" in str(e.value)
    with pytest.raises(RuntimeError, match="the input is too large"):
        program(101)
    assert program(1)[0] == 1


def test_others_run_while_a_handler_does(library, capsule):
    registry = farcall.Registry()
    registry.register("wait", capsule("Wait"))
    program = farcall.compile(call("wait", "-> i32", "has_side_effect = true"), registry)
    flag = ctypes.c_int32.in_dll(ctypes.CDLL(str(library)), "wait_flag")
    flag.value = 0
    seen = []
    thread = threading.Thread(target=lambda: seen.append(int(program()[0])))
    thread.start()
    flag.value = 7  # this thread holds the interpreter's lock while the handler waits
    thread.join()
    assert seen == [7]


def test_the_same_name_again(capsule):
    registry = farcall.Registry()
    registry.register("scale", capsule("Scale"))
    registry.register("scale", capsule("Scale"))
    with pytest.raises(ValueError, match="`scale` is registered for Host already"):
        registry.register("scale", capsule("OtherScale"))
    registry.register("scale", capsule("OtherScale"), replace=True)
    assert repr(registry) == "<farcall.Registry of 1 targets>"


def test_wrong_registrations(capsule):
    registry = farcall.Registry()
    with pytest.raises(TypeError, match="needs a PyCapsule"):
        registry.register("f", 3)
    with pytest.raises(ValueError, match="there is no stage `run`"):
        registry.register("f", {"run": capsule("Scale")})
    with pytest.raises(ValueError, match="no handler for the execute stage"):
        registry.register("f", {})
    with pytest.raises(ValueError, match="api_version is 1"):
        registry.register("f", capsule("Scale"), api_version=2)
    with pytest.raises(ValueError, match="a target needs a name"):
        registry.register("", capsule("Scale"))
    with pytest.raises(ValueError, match="needs \"type_id\""):
        farcall.register_type("t", {})
    assert registry.targets() == []


def test_wrong_libraries(library, tmp_path):
    registry = farcall.Registry()
    with pytest.raises(FileNotFoundError):
        registry.load(tmp_path / "none.so")
    text = tmp_path / "text.so"
    text.write_text("no library")
    with pytest.raises(OSError, match="it is a text file"):
        registry.load(text)
    with pytest.raises(ValueError, match="no symbol `Scael`.*Scale"):
        registry.load(library, ["scale=Scael"])
    with pytest.raises(ValueError, match="there is no `=`"):
        registry.load(library, ["scale"])
    with pytest.raises(ValueError, match="neither describes nor registers any targets"):
        registry.load(library)


def test_a_library_that_registers_itself(compiled_handlers):
    library = compiled_handlers("-DSELF_REGISTER")
    registry = farcall.Registry()
    [target] = registry.load(library)
    assert "registered itself" in target.origin
    np.testing.assert_array_equal(farcall.compile(SCALE, registry)(X), [2.5 * X])
    # The library's initializers do not run again; their registrations are remembered.
    assert [t.name for t in farcall.Registry().load(library)] == ["scale"]


def test_a_library_written_in_rust():
    library = os.environ.get("FARCALL_JAX_FFI_LIB")
    if not library:
        pytest.skip("FARCALL_JAX_FFI_LIB is not set; it names the library of examples/jax-ffi")
    registry = farcall.Registry()
    names = {t.name for t in registry.load(library)}
    assert "rms_norm" in names
    program = call("rms_norm", "2x4xf32 -> 2x4xf32", "mhlo.backend_config = {eps = 1.0e-5 : f32}")
    x = np.arange(8, dtype=np.float32).reshape(2, 4)
    [y] = farcall.compile(program, registry)(x)
    np.testing.assert_allclose(y, x / np.sqrt((x * x).mean(1, keepdims=True) + 1e-5), rtol=1e-6)


def test_no_numpy_types_needed():
    """Without `ml_dtypes`, tensors of types that NumPy lacks are raw bits."""
    script = textwrap.dedent(
        """
        import sys
        sys.modules["ml_dtypes"] = None
        import farcall, numpy as np
        double = farcall.compile('''func.func @main(%x: tensor<2xbf16>) -> tensor<2xbf16> {
          %0 = stablehlo.add %x, %x : tensor<2xbf16>
          return %0 : tensor<2xbf16>
        }''')
        [y] = double(np.array([0x3F80, 0xC000], np.uint16))
        assert y.dtype == np.uint16 and y.tolist() == [0x4000, 0xC080], y
        """
    )
    subprocess.run([sys.executable, "-c", script], check=True)


def test_an_unregistered_target_is_explained_in_terms_of_python():
    with pytest.raises(farcall.MissingTargetError) as e:
        farcall.compile(call("missing", "f32 -> f32"))
    assert "= note: load the library that has it: farcall.load(LIB)" in str(e.value)
    assert 'farcall.ffi.register_ffi_target("missing", fn)' in str(e.value)
    assert "--load" not in str(e.value) and "Registry::load" not in str(e.value)


def test_a_library_of_plain_symbols_is_explained_in_terms_of_python(tmp_path):
    source, library = tmp_path / "plain.c", tmp_path / "plain.so"
    source.write_text("void plain(void *out, const void **in) {}")
    subprocess.run(["cc", "-shared", "-fPIC", source, "-o", library], check=True)
    for load in (farcall.load, farcall.Registry().load):
        with pytest.raises(ValueError) as e:
            load(library)
        assert 'name its handlers: farcall.Registry.load(LIB, ["NAME=SYMBOL"]); it exports plain' in str(e.value)
        assert "--target" not in str(e.value)


@pytest.fixture
def copies(tmp_path):
    """Returns the paths of two copies of the gallery's library."""
    from libraries import example

    paths = [tmp_path / name for name in ("wheel.so", "checkout.so")]
    for path in paths:
        shutil.copy(example("gallery_ops"), path)
    return paths


def test_copies_of_a_library_are_one(copies):
    registry = farcall.Registry()
    first, second = (farcall.load(path, registry) for path in copies)
    assert dir(first) == dir(second) and len(registry.targets()) == len(first)


def test_a_namespace_keeps_ops_apart(copies):
    registry = farcall.Registry()
    plain = farcall.load(copies[0], registry)
    ops = farcall.load(copies[1], registry, namespace="acme")
    assert ops.gemm.__name__ == "acme.gemm" and ops.gemm.derivatives == ["acme.gemm_bwd"]
    assert "gemm" in dir(ops) and dir(ops) == dir(plain) and "acme.gemm, " in repr(ops)
    assert {op.__name__ for op in ops} == {f"acme.{op.__name__}" for op in plain}
    x = np.array([[3, 4]], np.float32)
    np.testing.assert_allclose(ops.normalize(x), [[0.6, 0.8]], rtol=1e-6)
    with pytest.raises(ValueError, match="`a-b` is not a namespace"):
        farcall.load(copies[1], registry, namespace="a-b")
    jax = pytest.importorskip("jax")
    both = jax.jit(lambda x: (plain.normalize(x), jax.grad(lambda x: ops.normalize(x)[0, 0])(x)))
    lowered = both.lower(x)
    assert "@acme.normalize_fwd" in lowered.as_text()
    for found, expected in zip(both(x), farcall.compile(lowered, registry)(x)):
        np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_replacing_ops_is_one_call(copies):
    registry = farcall.Registry()
    registry.register("gemm", farcall.load(copies[0], farcall.Registry()).softmax._native.capsules())
    with pytest.raises(ValueError) as e:
        farcall.load(copies[0], registry)
    message = str(e.value)
    assert "\n" not in message and "gemm is registered already, by this program" in message, message
    assert "farcall.load(LIB, replace=True)" in message and 'farcall.load(LIB, namespace="NAME")' in message
    ops = farcall.load(copies[0], registry, replace=True)
    x = np.ones((2, 2), np.float32)
    np.testing.assert_array_equal(ops.gemm(x, x), 2 * x)
    jax = pytest.importorskip("jax")
    lowered = jax.jit(ops.gemm).lower(x, x)
    # XLA keeps a name as long as the process lives, so the new handler has another name there.
    assert "gemm@2" in lowered.as_text()
    np.testing.assert_array_equal(jax.jit(ops.gemm)(x, x), 2 * x)
    np.testing.assert_array_equal(farcall.compile(lowered, registry)(x, x), 2 * x)
