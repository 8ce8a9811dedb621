"""Blocks, which `jax.lax.composite` creates: they run in XLA and in the engine, and lowerings replace them by
custom calls."""

import gc
import pathlib
import shutil
import subprocess

import numpy as np
import pytest
from libraries import example

import farcall

jax = pytest.importorskip("jax")
jnp = jax.numpy
if not hasattr(jax.lax, "composite"):
    pytest.skip("this JAX has no composites", allow_module_level=True)

ROOT = pathlib.Path(__file__).resolve().parents[2]


def targets(executable: farcall.Executable) -> list[str | None]:
    return [block.target for block in executable.blocks]


# ---- A transformer block ---------------------------------------------------------------------


def rms_norm(x, scale):
    def body(x, scale, *, eps):
        return x * jax.lax.rsqrt((x * x).mean(-1, keepdims=True) + eps) * scale

    return jax.lax.composite(body, "my.rms_norm")(x, scale, eps=1e-5)


def transformer_block(x, weights):
    h = rms_norm(x, weights["norm1"])
    q, k, v = (h @ weights[name] for name in "qkv")
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1], dtype=np.float32)
    x = x + jax.nn.softmax(scores, -1) @ v @ weights["o"]
    h = rms_norm(x, weights["norm2"])
    return x + jax.nn.gelu(h @ weights["up"]) @ weights["down"]


def operands(d=16):
    random = np.random.default_rng(0)
    shapes = {"norm1": (d,), "norm2": (d,), "up": (d, 4 * d), "down": (4 * d, d)} | {n: (d, d) for n in "qkvo"}
    weights = {name: random.normal(size=s).astype("f") / np.float32(np.sqrt(d)) for name, s in shapes.items()}
    return random.normal(size=(2, 8, d)).astype("f"), weights


def test_a_transformer_block_is_the_same_in_xla_in_the_engine_and_with_a_library():
    x, weights = operands()
    lowered = jax.jit(transformer_block).lower(x, weights)
    in_xla = np.asarray(jax.jit(transformer_block)(x, weights))

    registry = farcall.Registry()
    without = farcall.compile(lowered, registry)
    assert targets(without) == [None, None]
    assert without.blocks[0].reason == "no lowering is registered for the tag"
    np.testing.assert_allclose(without(x, weights), in_xla, 1e-4, 1e-5)

    registry.load(example("rms_norm_ops"))
    with_library = farcall.compile(lowered, registry)
    assert targets(with_library) == ["rms_norm", "rms_norm"]
    assert with_library.plan.count("rms_norm") >= 2
    np.testing.assert_allclose(with_library(x, weights), in_xla, 1e-4, 1e-5)


def test_blocks_of_hlo_text_and_of_exported_functions():
    x, weights = operands()
    registry = farcall.Registry()
    registry.load(example("rms_norm_ops"))
    in_xla = np.asarray(jax.jit(transformer_block)(x, weights))
    exported = jax.export.export(jax.jit(transformer_block))(x, weights)
    leaves = [x, *(weights[name] for name in sorted(weights))]
    stablehlo = jax.jit(transformer_block).lower(x, weights).as_text()
    for program in [exported.mlir_module(), farcall.convert(stablehlo, "hlo")]:
        executable = farcall.compile(program, registry)
        assert targets(executable) == ["rms_norm", "rms_norm"]
        [y] = executable(*leaves)
        np.testing.assert_allclose(y, in_xla, 1e-4, 1e-5)


def test_blocks_of_exported_functions_have_a_place():
    x, weights = operands()
    exported = jax.export.export(jax.jit(transformer_block))(x, weights)
    for program in exported, exported.serialize():
        executable = farcall.compile(program, farcall.Registry())
        assert targets(executable) == [None, None]
        # The place of a block has its name in JAX, and the line of Python that created it.
        assert all("composite at " in b.place and "test_blocks.py:" in b.place for b in executable.blocks), executable.blocks
        np.testing.assert_allclose(executable(x, weights), jax.jit(transformer_block)(x, weights), 1e-4, 1e-5)


# ---- Custom calls as created by EXLA ----------------------------------------------------------


def qr(t):
    """A QR factorization as a block, whose body consists of ordinary operations. The signs are LAPACK's."""

    def body(t):
        t = t.astype(jnp.float32)
        m, n = t.shape
        q, r, rows = jnp.eye(m, dtype=t.dtype), t, jnp.arange(m)
        for j in range(min(m - 1, n)):
            x = jnp.where(rows >= j, r[:, j], 0)
            norm = jnp.sqrt((x * x).sum())
            v = x + jnp.where(r[j, j] >= 0, norm, -norm) * (rows == j)
            h = jnp.where((v * v).sum() > 0, 2 / (v * v).sum(), 0)
            r, q = r - h * jnp.outer(v, v @ r), q - h * jnp.outer(q @ v, v)
        k = min(m, n)
        return q[:, :k], jnp.where(rows[:k, None] <= jnp.arange(n), r[:k], 0)

    return jax.lax.composite(body, "my.qr_alias")(t)


ALIAS = "qr_cpu_custom_call_f32_exla_alias"


@pytest.fixture(scope="module")
def alias_library(tmp_path_factory) -> pathlib.Path:
    """Builds a C++ library with the handler `QrAlias` but without a descriptor, and returns its path."""
    compiler = shutil.which("c++")
    if compiler is None:
        pytest.skip("there is no C++ compiler")
    path = tmp_path_factory.mktemp("alias") / "libalias.so"
    crates = ROOT / "crates"
    include = f"-I{crates / 'farcall-ffi' / 'include'}"
    source = crates / "farcall" / "tests" / "cc" / "blocks.cc"
    subprocess.run([compiler, "-std=c++17", "-w", "-shared", "-fPIC", include, "-o", path, source], check=True)
    return path


def iota(dtype) -> np.ndarray:
    return np.arange(12, dtype=dtype).reshape(3, 4)


def test_an_applications_lowering_calls_its_own_target(alias_library):
    registry = farcall.Registry()
    registry.load(alias_library, [f"{ALIAS}=untyped:QrAlias"])
    asked = []

    @registry.lowers("my.qr_alias")
    def lower(block):
        asked.append(block)
        [x] = block.operands
        if x.name == "f32":
            return farcall.Call(ALIAS, operand_layouts=[[1, 0]], result_layouts=[[1, 0], [1, 0]])
        if x.dtype.kind in "iu":
            return farcall.Call(ALIAS, operand_types=[np.float32])
        return farcall.Skip(f"there is no handler for {x.name}")

    for dtype in ["float32", "int32", "float16"]:
        t = iota(dtype)
        executable = farcall.compile(jax.jit(qr).lower(t), registry)
        expected = [np.asarray(part) for part in jax.jit(qr)(t)]
        for part, wanted in zip(executable(t), expected):
            np.testing.assert_allclose(part, wanted, 1e-4, 1e-4)
        [block] = executable.blocks
        if dtype == "float16":
            # After the application's lowering, the library's lowering is tried.
            assert [(s.rank, s.reason) for s in block.skipped] == [
                ("application", "there is no handler for f16"),
                ("library", "it takes f32 and integers"),
            ]
        else:
            assert (block.target, block.reason) == (ALIAS, "application lowering of this program")
            assert ALIAS in executable.plan
            assert ("convert" in executable.plan) == (dtype == "int32")

    [first, *_] = asked
    assert (first.tag, first.version, dict(first.options)) == ("my.qr_alias", 0, {})
    assert [str(ty) for ty in (*first.operands, *first.results)] == ["f32[3, 4]", "f32[3, 3]", "f32[3, 4]"]
    assert (first.client.platform, first.client.engine) == ("Host", "farcall")
    assert dict(first.client.options) == {"denormals": "ieee", "semantics": "xla"}


def test_a_library_in_another_language_has_lowerings(alias_library):
    registry = farcall.Registry()
    registry.load(alias_library, [f"{ALIAS}=untyped:QrAlias"])
    t = iota("int32")
    executable = farcall.compile(jax.jit(qr).lower(t), registry)
    assert targets(executable) == [ALIAS]
    for part, wanted in zip(executable(t), jax.jit(qr)(t)):
        np.testing.assert_allclose(part, np.asarray(wanted), 1e-4, 1e-4)


# ---- Answers of lowerings --------------------------------------------------------------------


def one(**options):
    """Returns a program with one block `my.tag`, whose operand is an f32[4]."""

    def f(x):
        return jax.lax.composite(lambda x, **_: x + x, "my.tag")(x, **options)

    return jax.jit(f).lower(np.zeros(4, np.float32))


def compiled(answer, program=None, **options) -> farcall.Executable:
    registry = farcall.Registry()
    registry.load(example("rms_norm_ops"))
    registry.lowers("my.tag", answer if callable(answer) else lambda _: answer)
    return farcall.compile(program or one(**options), registry)


def test_blocks_of_a_program_with_open_sizes_are_those_of_each_size():
    def lower(block):
        return farcall.Skip(f"it is {block.operands[0]}")

    f = compiled(lower, one().as_text().replace("tensor<4x", "tensor<?x"))
    assert isinstance(f, farcall.Polymorphic)
    types = [np.zeros(2, np.float32)], [jax.ShapeDtypeStruct((3,), np.float32)], farcall.compile(one()).inputs
    for given, size in zip(types, [2, 3, 4]):
        executable = f.for_types(given)
        assert isinstance(executable, farcall.Executable)
        [block] = executable.blocks
        assert [s.reason for s in block.skipped] == [f"it is f32[{size}]"]
        [y] = executable.run([np.ones(size, np.float32)])
        np.testing.assert_array_equal(y, [2] * size)
    with pytest.raises(ValueError, match=r"arg0 is f32\[1,1\], but it takes f32\[\?\]"):
        f.for_types([np.zeros((1, 1), np.float32)])
    with pytest.raises(TypeError, match="s32"):
        f.for_types([np.zeros(1, np.int32)])
    with pytest.raises(TypeError, match="1"):
        f.for_types([])
    with pytest.raises(TypeError, match="the type of input 0 has the dtype object"):
        f.for_types([np.zeros(1, object)])


def test_options_are_python_values():
    seen = {}

    def lower(block):
        seen.update(block.options)
        return farcall.Skip("no")

    compiled(lower, eps=0.5, k=3, flag=True, name="a", axes=np.array([1, 2], np.int32))
    assert seen == {"eps": 0.5, "k": 3, "flag": True, "name": "a", "axes": (1, 2)}
    text = one(k=1).as_text().replace("k = 1 : i64", "k = 1 : i64, t = tensor<2xf32>")
    compiled(lower, text)
    assert seen["t"] == farcall.Attr("tensor<2xf32>")


def test_a_missing_target_is_a_reason_to_skip():
    [block] = compiled(farcall.Call("nowhere")).blocks
    assert block.target is None
    assert [s.reason for s in block.skipped] == ["no target `nowhere` is registered for the platform Host"]


def test_attributes_are_values_or_text():
    def lower(block):
        return farcall.Call("rms_norm", {"eps": farcall.Attr("0.5 : f32") if block.options["text"] else 0.5})

    def f(x, scale, text):
        return jax.lax.composite(lambda x, scale, **_: x * scale, "my.tag")(x, scale, text=text)

    x, scale = np.ones((2, 4), np.float32), np.ones(4, np.float32)
    for text in (True, False):
        executable = compiled(lower, jax.jit(f, static_argnums=2).lower(x, scale, text))
        assert targets(executable) == ["rms_norm"]
        np.testing.assert_allclose(executable(x, scale), 1 / np.sqrt(1.5) * x, 1e-6)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (farcall.Call("t", operand_types=[None, "f32"]), "there is no operand 1: the block has one"),
        (farcall.Call("t", operand_types=["f33"]), "f33"),
        (farcall.Call("t", {"k": farcall.Attr("42 : i")}), "attribute k: \"42 : i\" is not an attribute in MLIR's syntax"),
        (farcall.Call("t", {"k": object()}), "attribute k is neither a number"),
        (farcall.Call("t", aliases={0: 3}), "there is no operand 3: the block has one"),
        (7, "TypeError: a lowering returns farcall.Skip or farcall.Call, not int"),
    ],
)
def test_a_wrong_answer_is_an_error_at_the_block(answer, message):
    with pytest.raises(ValueError, match="the application lowering of block my.tag by this program: ") as error:
        compiled(lambda _: answer)
    assert message in str(error.value)
    assert "stablehlo.composite" in str(error.value)


def test_an_exception_is_an_error_with_its_traceback():
    def helper():
        return 1 // 0

    with pytest.raises(ValueError, match="ZeroDivisionError") as error:
        compiled(lambda _: helper())
    said = str(error.value)
    assert "by this program: ZeroDivisionError: " in said
    assert "Traceback (most recent call last):" in said and "in helper" in said and "return 1 // 0" in said
    assert "farcall/_blocks.py" not in said


def test_an_exception_is_the_cause_of_the_error():
    raised = ValueError("mine")

    def lower(block):
        raise raised

    with pytest.raises(ValueError, match="ValueError: mine") as error:
        compiled(lower)
    assert error.value.__cause__ is raised
    assert raised.__traceback__ is not None


@pytest.mark.parametrize("exit", [KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("open_sizes", [False, True])
def test_what_is_no_error_ends_the_compilation_as_itself(exit, open_sizes):
    raised = [exit("now")]

    def lower(block):
        if raised:
            raise raised[0]
        return farcall.Skip("after all")

    def compile_and_run():
        if not open_sizes:
            return compiled(lower)
        any_size = one().as_text().replace("tensor<4x", "tensor<?x")
        executable = compiled(lower, any_size)
        executable.run([np.zeros(4, np.float32)])
        return executable.for_types([np.zeros(4, np.float32)])

    with pytest.raises(exit) as error:
        compile_and_run()
    assert error.value is raised.pop()
    [block] = compile_and_run().blocks
    assert [s.reason for s in block.skipped] == ["after all"]


def test_a_lowering_may_compile_in_turn():
    def inner(block):
        raise OSError("inner")

    def outer(block):
        with pytest.raises(ValueError, match="OSError: inner") as error:
            compiled(inner)
        assert isinstance(error.value.__cause__, OSError)
        return farcall.Skip("the inner one failed")

    [block] = compiled(outer).blocks
    assert [s.reason for s in block.skipped] == ["the inner one failed"]


def test_a_lowering_that_is_replaced_may_use_its_registry_when_it_is_dropped():
    registry = farcall.Registry()
    reasons = []

    class Lowering:
        def __call__(self, block):
            return farcall.Skip("first")

        def __del__(self):
            [block] = farcall.compile(one(), registry).blocks
            reasons.extend(s.reason for s in block.skipped)

    registry.lowers("my.tag", Lowering())
    registry.lowers("my.tag", lambda _: farcall.Skip("second"), replace=True)
    gc.collect()
    assert reasons == ["second"]


def test_a_second_lowering_of_a_tag_replaces_the_first_only_on_purpose():
    registry = farcall.Registry()
    first, second = (lambda _: farcall.Skip("first")), (lambda _: farcall.Skip("second"))
    assert registry.lowers("my.tag", first) is first
    with pytest.raises(ValueError, match="the blocks `my.tag` are lowered by this program already"):
        registry.lowers("my.tag", second)
    registry.lowers("my.tag", second, replace=True)
    [block] = farcall.compile(one(), registry).blocks
    assert [s.reason for s in block.skipped] == ["second"]


def test_a_decorator_adds_to_the_registry_of_the_process():
    @farcall.lowers("test_blocks.tag")
    def lower(block):
        return farcall.Skip("asked")

    def f(x):
        return jax.lax.composite(lambda x: x + x, "test_blocks.tag")(x)

    [block] = farcall.compile(jax.jit(f).lower(np.zeros(4, np.float32))).blocks
    assert [s.reason for s in block.skipped] == ["asked"]


def test_a_lowering_is_a_function_for_a_tag():
    registry = farcall.Registry()
    with pytest.raises(TypeError, match="a lowering is for the blocks of a tag"):
        registry.lowers(lambda block: farcall.Skip("no"))
    with pytest.raises(TypeError, match="is a function of the block, not 'y'"):
        registry.lowers("my.tag", "y")
