"""HLO text: XLA's text in farcall's engine, and farcall's text in XLA.

The programs come from the corpus in the folder `shared` beside the checkout, if it exists. XLA converts
them to HLO text. farcall runs this text, and converts it to HLO text again, directly and by way of StableHLO.
XLA then runs farcall's text. All runs must return the recorded outputs.
"""

import functools
import json
import pathlib
import shutil
import subprocess

import numpy as np
import pytest

import farcall

jax = pytest.importorskip("jax")
hlo = pytest.importorskip("jaxlib._hlo", reason="this jaxlib has no module `_hlo`")

import unoptimized  # noqa: E402

CORPUS = pathlib.Path(__file__).resolve().parents[3] / "shared" / "corpus"
DOUBLE = "HloModule f\nENTRY main {\n  x = f32[3]{0} parameter(0)\n  ROOT y = f32[3]{0} add(x, x)\n}\n"


def cases() -> list[dict]:
    """Returns the cases that have no state and expect no error; none if the corpus is missing."""
    manifest = CORPUS / "cases" / "manifest.json"
    found = json.loads(manifest.read_text())["cases"] if manifest.is_file() else []
    return [case for case in found if not case.get("stateful") and "expect_error" not in case]


def needs_handlers(case: dict) -> bool:
    return any(not target.startswith("lapack_") for target in case.get("custom_calls", ()) if target != "ApproxTopK")


@pytest.fixture(scope="module")
def registry(lapack, tmp_path_factory):
    """Returns a registry with LAPACK's handlers, and with the corpus' own handlers if there is a compiler."""
    compiler = shutil.which("c++")
    if compiler is not None and CORPUS.is_dir():
        library = tmp_path_factory.mktemp("corpus") / "libcorpus_handlers.so"
        flags = ["-std=c++17", "-O1", "-w", "-shared", "-fPIC", "-DSELF_REGISTER", f"-I{jax.ffi.include_dir()}"]
        source = CORPUS / "handlers" / "handlers.cc"
        subprocess.run([compiler, *flags, "-o", library, source], check=True)
        lapack.load(library)
    return lapack


def program_of(name: str) -> str:
    return (CORPUS / "cases" / name / "program.mlir").read_text()


@functools.cache
def by_xla(name: str, percent: bool) -> str:
    """Returns XLA's HLO text of a case, with all elements of constants. `percent` puts `%` before names."""
    from jax._src.interpreters import mlir
    from jaxlib import _jax
    from jaxlib.mlir import ir

    with mlir.make_ir_context():
        bytecode = mlir.module_to_bytecode(ir.Module.parse(program_of(name)))
    made = _jax.mlir.mlir_module_to_xla_computation(bytecode, use_tuple_args=False, return_tuple=False)
    options = hlo.HloPrintOptions() if percent else hlo.HloPrintOptions.short_parsable()
    options.print_large_constants = True
    return made.get_hlo_module().to_string(options)


@pytest.fixture(scope="module")
def in_xla():
    """Returns a function that compiles HLO text in jaxlib and runs it."""
    from jaxlib import _jax, xla_client

    with jax.enable_x64(True):
        device = jax.devices("cpu")[0]
        options = xla_client.CompileOptions()
        options.env_option_overrides = list(unoptimized.OPTIONS.items())

        def run(text, inputs):
            proto = hlo.hlo_module_from_text(text).as_serialized_hlo_module_proto()
            module = _jax.mlir.xla_computation_to_mlir_module(hlo.XlaComputation(proto))
            executable = device.client.compile_and_load(
                module, xla_client.DeviceList((device,)), options
            )
            results = executable.execute_sharded([jax.device_put(x, device) for x in inputs])
            return [np.asarray(r[0]) for r in results.disassemble_into_single_device_arrays()]

        yield run


def inputs_of(case: dict, compare) -> list:
    return [compare.load(CORPUS / "cases" / case["name"] / i["file"], i) for i in case["inputs"]]


def judge(case: dict, outputs: list, compare) -> None:
    for output, spec in zip(outputs, case["outputs"], strict=True):
        want = compare.load(CORPUS / "cases" / case["name"] / spec["file"], spec)
        ok, error = compare.check(np.asarray(output), want, spec)
        assert ok, f"the output differs from {spec['file']} by {error} times the tolerance"


@pytest.mark.parametrize("percent", [True, False], ids=["percent", "short"])
@pytest.mark.parametrize("case", cases(), ids=lambda case: case["name"])
def test_text_of_xla_gives_the_outputs_of_xla(case, percent, compare, registry):
    text = by_xla(case["name"], percent)
    denormals = case.get("denormals", "ieee")
    inputs = inputs_of(case, compare)
    again = farcall.convert(text, "hlo")
    stablehlo = farcall.convert(text, "stablehlo")
    through = farcall.convert(stablehlo, "hlo")
    # Nothing is lost in conversions, so all ways lead to the same program.
    assert farcall.convert(again, "stablehlo") == stablehlo
    assert through == again or farcall.convert(through, "stablehlo") == stablehlo
    for program in (text, again):
        executable = farcall.compile(program, registry, denormals=denormals)
        judge(case, executable.run(inputs), compare)


@pytest.mark.parametrize("case", cases(), ids=lambda case: case["name"])
def test_programs_that_xla_has_optimized_give_the_same_outputs(case, compare, registry):
    if needs_handlers(case):
        pytest.skip("jaxlib lacks handlers that the program calls")
    from jaxlib import xla_client

    device = jax.devices("cpu")[0]
    program = program_of(case["name"])
    executable = device.client.compile_and_load(
        program, xla_client.DeviceList((device,)), xla_client.CompileOptions()
    )
    options = hlo.HloPrintOptions()
    options.print_large_constants = True
    # XLA's optimized text has fusions, layouts, and XLA's own forms of operations.
    text = executable.hlo_modules()[0].to_string(options)
    executable = farcall.compile(text, registry, denormals=case.get("denormals", "ieee"))
    judge(case, executable.run(inputs_of(case, compare)), compare)


@pytest.mark.parametrize("case", cases(), ids=lambda case: case["name"])
def test_xla_runs_our_text(case, compare, in_xla):
    if needs_handlers(case):
        pytest.skip("jaxlib lacks handlers that the program calls")
    program = program_of(case["name"])
    inputs = inputs_of(case, compare)
    judge(case, in_xla(farcall.convert(by_xla(case["name"], True), "hlo"), inputs), compare)
    ours = farcall.convert(program, "hlo")
    if 'custom_call_target="chlo.' not in ours:
        judge(case, in_xla(ours, inputs), compare)


def test_a_function_lowered_to_hlo_runs():
    x, y = np.arange(6, dtype=np.float32).reshape(2, 3), np.ones((3, 4), np.float32)

    def f(x, y):
        loop = jax.lax.fori_loop(0, 3, lambda i, a: a * 2, x)
        return jax.lax.cond(x[0, 0] > 0, lambda: loop, lambda: -loop) @ y

    text = jax.jit(f).lower(x, y).as_text(dialect="hlo")
    [result] = farcall.compile(text)(x, y)
    np.testing.assert_array_equal(result, f(x, y))


def test_formats(tmp_path):
    path = tmp_path / "double.hlo"
    path.write_text(DOUBLE)
    assert "stablehlo.add %arg0, %arg0" in farcall.convert(path, "stablehlo")
    assert '"stablehlo.add"(%arg0, %arg0)' in farcall.convert(str(path), "stablehlo-generic")
    assert farcall.convert(path, "hlo").startswith("HloModule f, ")
    with pytest.raises(ValueError, match="a format is"):
        farcall.convert(path, "mlir")
    with pytest.raises(ValueError, match="unknown opcode ad\n(.|\n)*double.hlo:4:22"):
        path.write_text(DOUBLE.replace("add(", "ad("))
        farcall.convert(path, "stablehlo")
