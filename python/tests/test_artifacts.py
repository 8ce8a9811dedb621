"""Artifacts as programs: functions that `jax.export` serialized, also with symbolic sizes, and portable
artifacts of StableHLO."""

import pathlib
import subprocess
import sys
import textwrap
import threading
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import export
from jax._src.interpreters import mlir
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

import farcall


def layer(params, x, *, scale):
    return {"y": jnp.tanh(x @ params["w"] + params["b"]) * scale, "rows": (x.shape[0], None)}


def arguments(rows):
    rng = np.random.default_rng(rows)
    params = {"w": rng.normal(size=(4, 3)).astype("f"), "b": rng.normal(size=3).astype("f")}
    return params, rng.normal(size=(rows, 4)).astype("f")


def exported(constraints=(), platforms=("cpu",)):
    (b,) = export.symbolic_shape("b", constraints=constraints)
    params, _ = arguments(1)
    x = jax.ShapeDtypeStruct((2 * b + 1, 4), np.float32)
    return export.export(jax.jit(layer), platforms=platforms)(params, x, scale=np.float32(1))


@pytest.mark.parametrize("platforms", [("cpu",), ("tpu", "cpu")])
def test_an_exported_function_runs_at_any_size(platforms):
    serialized = exported(platforms=platforms).serialize()
    f = farcall.compile(serialized)
    assert isinstance(f, farcall.Polymorphic)
    assert f.names == ["params['b']", "params['w']", "x", "scale"]
    assert repr(f).startswith("<farcall.Polymorphic (params['b']: f32[3], params['w']: f32[4, 3], x: f32[2*b + 1, 4], scale: f32[])")
    for rows in 3, 7, 3, 101:
        params, x = arguments(rows)
        result = f(params, x, scale=np.float32(2))
        assert result["rows"][0] == rows and result["rows"][1] is None
        np.testing.assert_allclose(result["y"], layer(params, x, scale=2)["y"], rtol=1e-5, atol=1e-6)


def test_threads_share_it():
    f = farcall.compile(bytes(exported().serialize()))
    results = {}

    def call(rows):
        params, x = arguments(rows)
        results[rows] = f(params, x, scale=np.float32(1))["y"].shape

    threads = [threading.Thread(target=call, args=[rows]) for rows in range(3, 21, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {rows: (rows, 3) for rows in range(3, 21, 2)}


def test_what_does_not_fit_is_told_in_the_function_s_terms():
    f = farcall.compile(exported(["b >= 2", "mod(b, 2) == 0"]).serialize())
    assert f.constraints == ["b >= 2", "mod(b, 2) == 0"]

    def call(rows, **other):
        params, x = arguments(rows)
        return f({**params, **other}, x, scale=np.float32(1))

    assert call(9)["y"].shape == (9, 3)
    with pytest.raises(ValueError, match=r"x.shape\[0\] is 8, but there is no b for which 2\*b \+ 1 = 8"):
        call(8)
    with pytest.raises(ValueError, match=r"mod\(b, 2\) == 0 does not hold, with b = 3 from x.shape\[0\]"):
        call(7)
    with pytest.raises(ValueError, match=r"params\['b'\] is f32\[2\], but it takes f32\[3\]"):
        call(9, b=np.zeros(2, "f"))
    with pytest.raises(TypeError, match=r"args\[0\] must be a dictionary with the keys \['b', 'w'\], but has the keys \['b', 'v', 'w'\]"):
        call(9, v=1)
    with pytest.raises(TypeError, match="the function takes .*, but 1 were given by position"):
        f(1)
    with pytest.raises(TypeError, match="kwargs must be a dictionary with the keys"):
        f(*arguments(9))


def test_unused_arguments_and_other_containers():
    def swap(pair, unused, items):
        return [pair[1], (items[0], None, pair[0])]

    arrays = np.arange(3, dtype="f"), np.arange(2, dtype="i4")
    serialized = export.export(jax.jit(swap))(arrays, {"u": np.ones(5, "f")}, [np.zeros((), bool)]).serialize()
    f = farcall.compile(serialized)
    assert isinstance(f, farcall.Executable)
    result = f(arrays, {"u": np.ones(5, "f")}, [np.True_])
    assert isinstance(result, list) and isinstance(result[1], tuple) and result[1][1] is None
    np.testing.assert_array_equal(result[0], arrays[1])
    np.testing.assert_array_equal(result[1][2], arrays[0])
    assert result[1][0]
    with pytest.raises(TypeError, match=r"args\[0\] must be a tuple of 2, but is a list"):
        f(list(arrays), {"u": 1}, [True])


def test_files_and_portable_artifacts(tmp_path):
    function = exported()
    (tmp_path / "f.jax_export").write_bytes(function.serialize())
    params, x = arguments(5)
    expected = layer(params, x, scale=1)["y"]
    for path in tmp_path / "f.jax_export", str(tmp_path / "f.jax_export"):
        np.testing.assert_allclose(farcall.compile(path)(params, x, scale=1.0)["y"], expected, rtol=1e-5, atol=1e-6)
    # The portable artifact inside the export does not describe trees, so arrays are passed one by one.
    portable = farcall.compile(function.mlir_module_serialized)
    _, y = portable(params["b"], params["w"], x, np.float32(1))
    np.testing.assert_allclose(y, expected, rtol=1e-5, atol=1e-6)
    assert farcall.convert(function.serialize(), "stablehlo").startswith("module @jit_layer")

    text = "func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {\n  return %x : tensor<2xf32>\n}"
    with mlir.make_ir_context():
        artifact = stablehlo.serialize_portable_artifact(ir.Module.parse(text), "1.0.0")
    (tmp_path / "f.mlirbc").write_bytes(artifact)
    for program in artifact, bytearray(artifact), tmp_path / "f.mlirbc":
        [y] = farcall.compile(program)(np.ones(2, "f"))
        np.testing.assert_array_equal(y, [1, 1])


def test_an_exported_object_is_polymorphic_too():
    f = farcall.compile(exported())
    params, x = arguments(11)
    np.testing.assert_allclose(f(params, x, scale=1.0)["y"], layer(params, x, scale=1)["y"], rtol=1e-5, atol=1e-6)


def test_an_exported_object_for_several_platforms():
    def f(x):
        return jax.lax.platform_dependent(x, cpu=lambda x: x + 1, cuda=lambda x: x - 1)

    x = np.arange(3, dtype="f")
    for platforms in ("cpu", "cuda"), ("cuda", "cpu"):
        executable = farcall.compile(export.export(jax.jit(f), platforms=platforms)(x))
        assert isinstance(executable, farcall.Executable) and [str(ty) for ty in executable.inputs] == ["f32[3]"]
        np.testing.assert_array_equal(executable(x), x + 1)
    with pytest.raises(ValueError, match="cuda"):
        farcall.compile(export.export(jax.jit(f), platforms=["cuda"])(x))


def test_an_exported_object_speaks_in_its_own_terms():
    f = farcall.compile(exported(["b >= 2"], platforms=("tpu", "cpu")))
    assert f.names == ["params['b']", "params['w']", "x", "scale"]
    assert f.constraints == ["b >= 2"]
    params, x = arguments(3)
    with pytest.raises(ValueError, match=r"b >= 2 does not hold, with b = 1 from x.shape\[0\]"):
        f(params, x, scale=1.0)


class Weights(NamedTuple):
    """A type that is registered for serialization."""

    w: Any
    unused: Any
    b: Any


class Unregistered(NamedTuple):
    """A type that is not registered."""

    w: Any
    unused: Any
    b: Any


if hasattr(export, "register_namedtuple_serialization"):
    export.register_namedtuple_serialization(Weights, serialized_name="test_artifacts.Weights")


@pytest.mark.parametrize("kind", [Weights, Unregistered])
@pytest.mark.parametrize("platforms", [("cpu",), ("tpu", "cpu")])
def test_trees_of_other_types(kind, platforms):
    def f(weights, unused, x):
        return kind(weights.w @ x, unused["u"].shape[0], weights.b + 1)

    weights, x = kind(np.ones((2, 3), "f"), np.ones(5, "f"), np.ones(4, "i4")), np.arange(3, dtype="f")
    function = export.export(jax.jit(f), platforms=platforms)(weights, {"u": np.zeros(7, "f")}, x)
    # An `Exported` object refers to the Python types themselves, so they need not be registered.
    live = farcall.compile(function)
    result = live(weights, {"u": np.zeros(7, "f")}, x)
    assert isinstance(result, kind) and result.unused == 7
    np.testing.assert_array_equal(result.w, [3, 3])
    np.testing.assert_array_equal(result.b, [2, 2, 2, 2])
    if kind is Unregistered:
        return
    # A serialized function has only the names of the types, so arrays are passed one by one. Unused arrays
    # may be left out.
    read = farcall.compile(function.serialize())
    with pytest.raises(TypeError, match=r"args\[0\] is a test_artifacts.Weights, which only its author's code can take apart"):
        read(weights, {"u": np.zeros(7, "f")}, x)
    every = [weights.w, weights.unused, weights.b, np.zeros(7, "f"), x]
    for given in every, [weights.w, weights.b, x]:
        w, unused, b = read.run(given)
        np.testing.assert_array_equal(w, result.w)
        np.testing.assert_array_equal(b, result.b)
    for given in every[:4], every[:2], []:
        said = f"the function takes 5 arrays, or the 3 of them that its program uses, but {len(given)} were given"
        with pytest.raises(TypeError, match=said):
            read.run(given)
        with pytest.raises(TypeError, match=said):
            live.run(given)


def test_an_exported_object_without_flatbuffers(monkeypatch):
    def missing(self, vjp_order=0):
        raise ImportError("Please install 'flatbuffers'")

    x = np.ones(2, "f")
    one, several = (export.export(jax.jit(jnp.sin), platforms=p)(x) for p in (["cpu"], ["cpu", "tpu"]))
    monkeypatch.setattr(export.Exported, "serialize", missing)
    np.testing.assert_allclose(farcall.compile(one)(x), np.sin(x), rtol=1e-6)
    np.testing.assert_allclose(farcall.compile(several)(x), np.sin(x), rtol=1e-6)


def jaxlib_reads(artifact):
    """Returns the text that jaxlib decodes from an artifact."""
    with mlir.make_ir_context() as context:
        module = stablehlo.deserialize_portable_artifact(context, artifact)
        return str(module).replace(" public ", " ")


def jaxlib_round_trip(text):
    """Writes a program as an artifact with jaxlib, and returns the text that jaxlib decodes from it."""
    with mlir.make_ir_context():
        artifact = stablehlo.serialize_portable_artifact(ir.Module.parse(text), stablehlo.get_current_version(), True)
    return jaxlib_reads(artifact)


def programs():
    """Yields StableHLO texts: small JAX programs with many kinds of operations, then the corpus."""
    f32, i32 = jax.ShapeDtypeStruct((4, 6), "float32"), jax.ShapeDtypeStruct((4,), "int32")
    functions = [
        (lambda x, i: x[i], f32, i32),
        (lambda x, i: x.at[i].add(1.0), f32, i32),
        (lambda x, i: (x @ x.T).astype(jnp.bfloat16) + i[0], f32, i32),
        (lambda x, i: jax.lax.conv(x[None, None], x[None, None, :2, :2], (1, 2), "SAME"), f32, i32),
        (lambda x, i: (jnp.sort(x), jnp.argmax(x, 1), jnp.fft.rfft(x), jnp.cumsum(x, 0)), f32, i32),
        (lambda x, i: jax.lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + i[0], c[1] * 2), (0, x)), f32, i32),
        (lambda x, i: jax.lax.cond(i[0] > 0, jnp.sin, jnp.cos, x) > jax.random.uniform(jax.random.key(i[1]), x.shape), f32, i32),
        (lambda x, i: jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (2, 2), (1, 2), "VALID"), f32, i32),
        (lambda x, i: (x > jnp.array([True, False, True, True, False, True]), x.astype(jnp.float8_e4m3fn)), f32, i32),
    ]
    for function, *arguments in functions:
        yield jax.jit(function).lower(*arguments).as_text()
    corpus = pathlib.Path(__file__).parents[2].parent / "shared/corpus/cases"
    if not corpus.is_dir():
        print("not run: the programs of the corpus, which is not beside this checkout")
    yield from (path.read_text() for path in sorted(corpus.glob("*/exported.mlir")))


def test_jaxlib_reads_what_is_written():
    compared = 0
    for text in programs():
        try:
            artifact = farcall.convert(text, "artifact")
        except ValueError as error:
            assert "artifacts have operations of StableHLO only" in str(error), error
            continue
        assert jaxlib_reads(artifact) == jaxlib_round_trip(text)
        compared += 1
    assert compared >= 9


def test_written_artifacts_are_as_old_as_they_can_be():
    text = "func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {{\n  %0 = stablehlo.{} %x : tensor<2xf32>\n  return %0 : tensor<2xf32>\n}}"
    for op, version in [("tanh", b"StableHLO_v1.0.0"), ("tan", b"StableHLO_v1.4.0")]:
        assert farcall.convert(text.format(op), "artifact")[5:].startswith(version)
    chlo = "func.func @main(%x: tensor<2xT>) -> tensor<2xT> {\n  %0 = chlo.OP %x : tensor<2xT> -> tensor<2xT>\n  return %0 : tensor<2xT>\n}"
    assert farcall.convert(chlo.replace("T", "f32").replace("OP", "erf"), "artifact")[5:].startswith(b"StableHLO_v1.0.0")
    with pytest.raises(ValueError, match="chlo.asin: artifacts have operations of StableHLO only"):
        farcall.convert(chlo.replace("T", "complex<f32>").replace("OP", "asin"), "artifact")


def test_what_cannot_be_read():
    serialized = bytes(exported(platforms=("tpu",)).serialize())
    with pytest.raises(ValueError, match="layer was exported for tpu, not for cpu"):
        farcall.compile(serialized)
    with pytest.raises(ValueError, match="in an exported function|bytecode|artifact"):
        farcall.compile(serialized[: len(serialized) // 2] if farcall._farcall.is_artifact(serialized[: len(serialized) // 2]) else b"ML\xefR\x00")


def test_exports_for_two_platforms_need_no_flatbuffers():
    code = """
        import sys
        sys.modules["flatbuffers"] = None
        import farcall, jax, jax.numpy as jnp, numpy as np

        def function(x, other):
            return {"sum": x["w"] + jax.lax.platform_dependent(cpu=lambda: 1.0, cuda=lambda: 2.0), "other": other}

        x = {"w": jnp.ones(3)}
        for platforms, added in [(["cpu", "cuda"], 1), (["cuda", "cpu"], 1), (["cpu"], 1)]:
            exported = jax.export.export(jax.jit(function), platforms=platforms)(x, jnp.ones(2))
            results = farcall.compile(exported)({"w": np.ones(3, "f")}, np.ones(2, "f"))
            assert sorted(results) == ["other", "sum"]
            np.testing.assert_array_equal(results["sum"], np.full(3, 1 + added))
        [size] = jax.export.symbolic_shape("n")
        shape = jax.ShapeDtypeStruct((size,), np.float32)
        exported = jax.export.export(jax.jit(lambda x: x + x.shape[0]), platforms=["cuda", "cpu"])(shape)
        np.testing.assert_array_equal(farcall.compile(exported)(np.zeros(4, "f")), np.full(4, 4))
        exported = jax.export.export(jax.jit(lambda x: x), platforms=["cuda", "tpu"])(jnp.ones(3))
        try:
            farcall.compile(exported)
        except ValueError as error:
            print(error)
    """
    result = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True)
    assert "was exported for cuda, tpu, not for cpu" in result.stdout, result.stderr


def test_missing_targets_have_places():
    """The error lists each missing target once, at its line of Python, because an artifact has no text."""

    def call(name, x):
        return jax.ffi.ffi_call(name, jax.ShapeDtypeStruct(x.shape, x.dtype))(x)

    def function(x):
        x = call("missing_a", x)
        x = call("missing_b", x)
        return jnp.linalg.cholesky(x) + jnp.linalg.qr(x)[0]

    checks = [jax.export.DisabledSafetyCheck.custom_call(name) for name in ("missing_a", "missing_b")]
    exported = jax.export.export(jax.jit(function), disabled_checks=checks)(np.eye(3, dtype=np.float32))
    with pytest.raises(farcall.MissingTargetError) as error:
        farcall.compile(exported.serialize(), registry=farcall.Registry(built_ins=False))
    text = str(error.value)
    for name in ("missing_a", "missing_b"):
        assert text.count(f"no target `{name}` is registered") == 1
    places = [place for place in text.splitlines() if place.startswith("--> ")]
    assert len(places) == text.count("error: ") and all("test_artifacts.py:" in place for place in places[:2]), text
    assert text.count("`farcall.register_lapack()` registers") == 1, text
