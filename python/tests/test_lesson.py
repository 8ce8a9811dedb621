"""The graph of examples/lesson, which is written in Rust: its text in jaxlib, and its ops in JAX."""

import pathlib
import re
import subprocess

import numpy as np
import pytest
from libraries import example

import farcall

jax = pytest.importorskip("jax")
jnp = jax.numpy
hlo = pytest.importorskip("jaxlib._hlo", reason="this jaxlib has no module `_hlo`")

OPS = ("cublas_gemm", "custom_relu")


@pytest.fixture(scope="module")
def library() -> pathlib.Path:
    """Registers the library's handlers with XLA, and returns the library's path."""
    path = example("lesson_ops")
    capsules = farcall.capsules(path)
    for name in OPS:
        jax.ffi.register_ffi_target(name, capsules[name], platform="cpu")
    return path


@pytest.fixture(scope="module")
def ops(library) -> farcall.Library:
    return farcall.load(library)


@pytest.fixture
def inputs() -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(0)
    return random.normal(size=(128, 784)).astype("f"), random.normal(size=(784, 256)).astype("f")


def lesson(library: pathlib.Path, form: str) -> str:
    """Runs the program `lesson`. Returns the graph that it prints in a form: `hlo` or `stablehlo`."""
    return subprocess.run([library.with_name("lesson"), form], check=True, capture_output=True, text=True).stdout


def layer(ops: farcall.Library, p0, p1):
    return ops.custom_relu(ops.cublas_gemm(p0, p1))


def run_in_xla(program, *inputs: np.ndarray) -> np.ndarray:
    from jaxlib import xla_client

    device = jax.devices("cpu")[0]
    executable = device.client.compile_and_load(
        program, xla_client.DeviceList((device,)), xla_client.CompileOptions()
    )
    results = executable.execute_sharded([jax.device_put(x, device) for x in inputs])
    [[result]] = results.disassemble_into_single_device_arrays()
    return np.asarray(result)


def test_jaxlib_reads_the_hlo_text_and_runs_it_with_the_same_handlers(library, inputs):
    from jaxlib import _jax

    text = lesson(library, "hlo")
    gemm = '%gemm = f32[128,256]{1,0} custom-call(%p0, %p1), custom_call_target="cublas_gemm", '
    assert gemm in text and 'custom-call(%gemm), custom_call_target="custom_relu", ' in text
    module = hlo.hlo_module_from_text(text)
    # XLA prints the same instructions with the same names.
    printed = re.sub(r"f32\S* (?=%)", "", module.to_string(hlo.HloPrintOptions()))
    assert gemm in printed, printed
    computation = hlo.XlaComputation(module.as_serialized_hlo_module_proto())
    stablehlo = _jax.mlir.xla_computation_to_mlir_module(computation)
    [engine] = farcall.compile(text, registry(library)).run(inputs)
    np.testing.assert_array_equal(run_in_xla(stablehlo, *inputs), engine)
    np.testing.assert_allclose(engine, np.maximum(inputs[0] @ inputs[1], 0), rtol=1e-3, atol=1e-3)


def test_jaxlib_runs_the_stablehlo_text(library, inputs):
    text = lesson(library, "stablehlo")
    [engine] = farcall.compile(text, registry(library)).run(inputs)
    np.testing.assert_array_equal(run_in_xla(text, *inputs), engine)


def registry(library: pathlib.Path) -> farcall.Registry:
    made = farcall.Registry()
    made.load(library)
    return made


def test_the_gradient_follows_from_the_declared_derivatives(library, ops, inputs):
    calls = re.compile(r"custom_call @(\w+)")
    lowered = jax.jit(lambda *args: layer(ops, *args)).lower(*inputs).as_text()
    assert calls.findall(lowered) == calls.findall(lesson(library, "stablehlo")) == list(OPS)

    def loss(of):
        return lambda p0, p1: (of(p0, p1) ** 2).sum() / p0.size

    gradients = jax.jit(jax.grad(loss(lambda *args: layer(ops, *args)), (0, 1)))
    assert calls.findall(gradients.lower(*inputs).as_text()) == [*OPS, "custom_relu_bwd", "cublas_gemm_bwd"]
    expected = jax.grad(loss(lambda p0, p1: jax.nn.relu(p0 @ p1)), (0, 1))(*inputs)
    for gradient, reference in zip(gradients(*inputs), expected):
        np.testing.assert_allclose(gradient, reference, rtol=1e-3, atol=1e-4)


def test_what_has_a_batching_rule_is_one_call(ops, inputs):
    p0, p1 = inputs
    batched = jax.jit(jax.vmap(lambda p0: layer(ops, p0, p1[:, :2])))
    x = p0.reshape(4, 32, 784)
    assert batched.lower(x).as_text().count("stablehlo.custom_call") == 2
    expected = np.maximum(x @ p1[:, :2], 0)
    np.testing.assert_allclose(batched(x), expected, rtol=1e-3, atol=1e-3)


def test_what_has_none_says_so(ops):
    x = np.ones((3, 2), "f")
    np.testing.assert_array_equal(ops.nccl_allreduce(x), x)
    np.testing.assert_array_equal(jax.grad(lambda x: (ops.nccl_allreduce(x) ** 2).sum())(jnp.asarray(x)), 2 * x)
    vmap = r"nccl_allreduce: it cannot be vmapped: it is declared with #\[batch\(none\)\]"
    with pytest.raises(NotImplementedError, match=vmap):
        jax.vmap(ops.nccl_allreduce)(x)
    with pytest.raises(NotImplementedError, match=vmap):
        jax.vmap(jax.grad(lambda x: ops.nccl_allreduce(x).sum()))(x)
    assert ops.nccl_allreduce.batching == "none" and "vmap: none." in ops.nccl_allreduce.__doc__
    indices = np.arange(2, dtype=np.int32)

    def sparse(entries):
        return ops.sparse_matmul(entries, indices, indices, x[:2], m=3)

    np.testing.assert_array_equal(sparse(np.array([2, 3], "f")), [[2, 2], [3, 3], [0, 0]])
    with pytest.raises(NotImplementedError, match="sparse_matmul: it cannot be vmapped"):
        jax.vmap(sparse)(jnp.ones((4, 2)))
    with pytest.raises(TypeError, match="sparse_matmul"):
        jax.grad(lambda entries: sparse(entries).sum())(jnp.ones(2))
