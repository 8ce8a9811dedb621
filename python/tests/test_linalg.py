"""The ops of crates/farcall-linalg and the blocks of `farcall.linalg`, in farcall's engine and in jaxlib. The
results are compared with those of NumPy's LAPACK and of JAX."""

import functools

import numpy as np
import pytest
from arrays import random
from libraries import example

jax = pytest.importorskip("jax")
jnp = jax.numpy

import farcall  # noqa: E402
import farcall.linalg  # noqa: E402
from jax.test_util import check_grads  # noqa: E402

SIZES = [(1, 1), (3, 3), (4, 3), (3, 4), (1, 5), (5, 1), (40, 40), (70, 50), (2, 3, 4, 3), (0, 3), (3, 0), (2, 0, 0)]
SMALL = [(5, 3), (3, 5), (2, 4, 4)]
every_size = pytest.mark.parametrize("size", SIZES, ids=str)
every_small_size = pytest.mark.parametrize("size", SMALL, ids=str)


@pytest.fixture(scope="module")
def linalg() -> farcall.Library:
    return farcall.load(example("farcall_linalg"))


@pytest.fixture(scope="module")
def registry(linalg) -> farcall.Registry:
    registry = farcall.Registry()
    registry.load(example("farcall_linalg"))
    return registry


@pytest.fixture(autouse=True)
def x64():
    with jax.enable_x64(True):
        yield


def hermitian(x):
    return x + np.conj(np.swapaxes(x, -1, -2))


def op(linalg, name, dtype):
    return getattr(linalg, f"{name}_cpu_custom_call_{jnp.dtype(dtype).name.replace('float', 'f')}")


def close(found, expected, tolerance):
    for y, z in zip(found, expected, strict=True):
        assert y.shape == z.shape
        np.testing.assert_allclose(np.asarray(y, z.dtype), z, rtol=tolerance, atol=tolerance)


def tolerance(x, steps=200):
    return steps * max(x.shape[-2:], default=1) ** 0.5 * float(jnp.finfo(x.dtype).eps)


@every_size
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("mode", ["reduced", "complete"])
def test_qr_is_numpys(linalg, size, dtype, mode):
    x = random(size, dtype)
    columns = size[-2] if mode == "complete" else 0
    call = functools.partial(op(linalg, "qr", dtype), columns=columns)
    expected = np.linalg.qr(x, mode)
    for run in (call, jax.jit(call)):
        close(run(x), expected, tolerance(x))


@every_size
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_eigh_is_numpys_up_to_signs(linalg, size, dtype):
    x = random((*size[:-2], size[-1], size[-1]), dtype)
    call = op(linalg, "eigh", dtype)
    w, v = np.linalg.eigh(x)
    for run in (call, jax.jit(call)):
        values, vectors = run(x)
        close([values], [w], tolerance(x))
        signs = np.sign(np.sum(vectors * v, -2, keepdims=True))
        # Vectors of close eigenvalues are less accurate.
        close([vectors * signs], [v], 100 * tolerance(x))


@pytest.mark.parametrize("name, absolute, relative", [("bfloat16", 6e-2, 6e-2), ("float16", 7e-3, 7e-3), ("float32", 1e-6, 1e-6), ("float64", 1e-14, 1e-15)])
@pytest.mark.parametrize("size", [(4, 4), (4, 3), (3, 4)])
def test_product_is_the_matrix(linalg, registry, name, absolute, relative, size):
    x = np.arange(np.prod(size)).reshape(size).astype(jnp.dtype(name))
    programs = [
        lambda x: jnp.matmul(*op(linalg, "qr", name)(x)),
        lambda x: jnp.matmul(*farcall.linalg.qr(x)),
    ]
    for program in programs:
        found = np.asarray(farcall.compile(jax.jit(program).lower(x), registry=registry)(x), np.float64)
        assert np.all(np.abs(found - np.float64(x)) <= absolute + relative * np.abs(np.float64(x)))
    found = np.asarray(jax.jit(programs[0])(x), np.float64)
    assert np.all(np.abs(found - np.float64(x)) <= absolute + relative * np.abs(np.float64(x)))


@pytest.mark.parametrize("complete", [False, True])
def test_raw_calls_of_xla_need_no_attributes(linalg, complete):
    x = random((2, 5, 3), np.float32)
    jax.jit(linalg.qr_cpu_custom_call_f32).lower(x)  # lowering registers the targets with XLA
    k = 5 if complete else 3
    types = [jax.ShapeDtypeStruct(shape, np.float32) for shape in [(2, 5, k), (2, k, 3)]]
    found = jax.jit(jax.ffi.ffi_call("qr_cpu_custom_call_f32", types))(x)
    close(found, np.linalg.qr(x, "complete" if complete else "reduced"), 1e-5)


def invariant(decompose):
    """Returns a loss that depends neither on the signs nor on the phases of the factors."""

    def loss(x):
        first, second = decompose(x)
        if first.ndim == second.ndim:
            product = jnp.abs(first) ** 2 @ jnp.cos(jnp.arange(second.size).reshape(second.shape))
            return jnp.sum(jnp.sin(product)) + jnp.sum(jnp.cos(jnp.abs(second)))
        weights = jnp.arange(second.size).reshape(second.shape)
        return jnp.sum(jnp.sin(first)) + jnp.sum(jnp.abs(second) ** 2 * jnp.cos(weights))

    return loss


@every_small_size
@pytest.mark.parametrize("form", ["op", "block"])
def test_gradients_of_qr(linalg, registry, size, form):
    x = random(size)
    decompose = linalg.qr_cpu_custom_call_f64 if form == "op" else farcall.linalg.qr
    check_grads(decompose, (jnp.asarray(x),), 1, atol=1e-5, rtol=1e-5)
    gradient = jax.jit(jax.grad(invariant(decompose)))
    found = [gradient(x), farcall.compile(gradient.lower(x), registry=registry)(x)]
    if size[-2] >= size[-1]:
        expected = jax.grad(invariant(jnp.linalg.qr))(x)
        close(found, [expected, expected], 1e-9)
    close(found[:1], found[1:], 1e-9)


@every_small_size
@pytest.mark.parametrize("form", ["op", "block"])
def test_gradients_of_eigh(linalg, registry, size, form):
    x = hermitian(random((*size[:-2], size[-1], size[-1])))
    decompose = linalg.eigh_cpu_custom_call_f64 if form == "op" else farcall.linalg.eigh
    # The ops read only the lower triangle. Their derivatives are for symmetric changes of the matrix, so
    # finite differences must be symmetric, too.
    check_grads(lambda x: decompose((x + x.mT) / 2), (jnp.asarray(x),), 1, atol=1e-5, rtol=1e-5)
    gradient = jax.jit(jax.grad(invariant(decompose)))
    expected = jax.grad(invariant(jnp.linalg.eigh))(x)
    close([gradient(x)], [expected], 1e-8)
    close([farcall.compile(gradient.lower(x), registry=registry)(x)], [expected], 1e-8)


def test_gradients_in_other_types(linalg):
    for name in "f16", "bf16", "f32":
        qr = getattr(linalg, f"qr_cpu_custom_call_{name}")
        dtype = jnp.dtype({"f16": "float16", "bf16": "bfloat16", "f32": "float32"}[name])
        x = random((4, 3)).astype(dtype)
        expected = jax.grad(lambda x: jnp.sum(jnp.linalg.qr(x)[1]))(np.float64(x))
        found = jax.grad(lambda x: jnp.sum(qr(x)[1]).astype(jnp.float32))(x)
        assert found.dtype == dtype
        close([found], [expected], 300 * float(jnp.finfo(dtype).eps))


def test_a_complete_decomposition_has_no_derivative(linalg):
    x = jnp.asarray(random((4, 3)))
    loss = lambda qr: lambda x: jnp.sum(qr(x)[1])
    with pytest.raises(NotImplementedError, match="the columns that complete q are not unique"):
        jax.grad(loss(functools.partial(farcall.linalg.qr, mode="complete")))(x)
    with pytest.raises(ValueError, match=r"qr_[jv][a-z]*p: k <= n does not hold \(k = 4, n = 3\)"):
        jax.grad(loss(functools.partial(linalg.qr_cpu_custom_call_f64, columns=4)))(x)


def test_batches(linalg):
    x = random((3, 2, 5, 4))
    qr = linalg.qr_cpu_custom_call_f64
    assert qr.batching == "native"
    expected = [np.stack(y) for y in zip(*(qr(matrix) for matrix in x[:, 0]))]
    for run in (jax.vmap(qr), jax.vmap(farcall.linalg.qr)):
        close(run(x[:, 0]), expected, 1e-13)
    for run in (qr, jax.vmap(jax.vmap(farcall.linalg.qr))):
        close(run(x), np.linalg.qr(x), 1e-13)
    text = jax.jit(jax.vmap(farcall.linalg.qr, 1)).lower(x).as_text()
    assert text.count('stablehlo.composite "farcall.qr"') == 1


BLOCKS = [
    ("qr", (4, 3), np.float32, "qr_cpu_custom_call_f32"),
    ("qr", (3, 4), np.float64, "qr_cpu_custom_call_f64"),
    ("qr", (2, 4, 4), np.float16, "qr_cpu_custom_call_f16"),
    ("qr", (3, 4), np.int32, "qr_cpu_custom_call_f32"),
    ("qr", (4, 3), np.uint8, "qr_cpu_custom_call_f32"),
    ("qr", (4, 3), np.complex64, None),
    ("qr", (2, 3, 4), np.complex128, None),
    ("qr", (0, 3), np.float32, "qr_cpu_custom_call_f32"),
    ("eigh", (5, 5), np.float32, "eigh_cpu_custom_call_f32"),
    ("eigh", (2, 4, 4), np.float64, "eigh_cpu_custom_call_f64"),
    ("eigh", (3, 3), np.int64, "eigh_cpu_custom_call_f32"),
    ("eigh", (4, 4), np.float16, None),
    ("eigh", (5, 5), np.complex128, None),
    ("eigh", (1, 1), np.complex64, None),
    ("eigh", (0, 0), np.float32, "eigh_cpu_custom_call_f32"),
]


@pytest.mark.parametrize("name, size, dtype, target", BLOCKS)
def test_blocks_give_the_same_everywhere(registry, name, size, dtype, target):
    if np.issubdtype(dtype, np.integer):
        x = (np.arange(np.prod(size)) ** 2 % 11).reshape(size).astype(dtype)
    else:
        x = random(size, dtype)
    block = getattr(farcall.linalg, name)
    lowered = jax.jit(block).lower(x)
    assert lowered.as_text().count(f'stablehlo.composite "farcall.{name}"') == 1
    in_xla = list(map(np.asarray, jax.jit(block)(x)))
    without_built_ins = farcall.Registry(built_ins=False)
    for targets, chosen in [(without_built_ins, None), (farcall.Registry(), target), (registry, target)]:
        executable = farcall.compile(lowered, registry=targets)
        # The library also lowers products of matrices, if the process uses a BLAS library.
        blocks = [block for block in executable.blocks if block.tag != "stablehlo.dot_general"]
        assert [block.target for block in blocks] == [chosen]
        close(executable(x), in_xla, tolerance(in_xla[1]))


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize("size", [(3, 3), (5, 3), (3, 5)])
@pytest.mark.parametrize("mode", ["reduced", "complete"])
def test_complex_qr_is_numpys(dtype, size, mode):
    x = random(size, dtype)
    close(farcall.linalg.qr(x, mode=mode), np.linalg.qr(x, mode), tolerance(x))


@pytest.mark.parametrize("n", [1, 2, 3, 8, 21])
def test_complex_eigh(n):
    x = hermitian(random((n, n), np.complex128))
    w, v = farcall.linalg.eigh(x)
    close([w], [np.linalg.eigvalsh(x)], 1e-12)
    close([np.conj(v.T) @ v, x @ v], [np.eye(n, dtype=complex), np.asarray(v * w)], 1e-12)


def test_complex_gradients():
    x = random((4, 3), np.complex128)
    check_grads(farcall.linalg.qr, (jnp.asarray(x),), 1, atol=1e-5, rtol=1e-5)
    for size in (4, 3), (3, 3):
        x = random(size, np.complex128)
        close([jax.grad(invariant(farcall.linalg.qr))(x)], [jax.grad(invariant(jnp.linalg.qr))(x)], 1e-9)
    x = hermitian(random((4, 4), np.complex128))
    close([jax.grad(invariant(farcall.linalg.eigh))(x)], [jax.grad(invariant(jnp.linalg.eigh))(x)], 1e-9)


def test_wrong_arguments():
    for error, message, run in [
        (ValueError, 'mode must be "reduced" or "complete"', lambda: farcall.linalg.qr(np.eye(2), mode="raw")),
        (ValueError, "a matrix has two dimensions", lambda: farcall.linalg.qr(np.ones(3))),
        (ValueError, "its matrices are not square", lambda: farcall.linalg.eigh(np.ones((2, 3)))),
        (TypeError, "elements of bool", lambda: farcall.linalg.qr(np.ones((2, 2), bool))),
    ]:
        with pytest.raises(error, match=message):
            run()


def test_matrices_that_are_no_numbers(linalg):
    x = random((2, 4, 4))
    x[0, 1, 0] = np.nan
    for y in (*linalg.qr_cpu_custom_call_f64(x), *linalg.eigh_cpu_custom_call_f64(x)):
        assert np.isnan(y[0]).any() and np.isfinite(y[1]).all()
    for y in (*farcall.linalg.qr(x), *farcall.linalg.eigh(x)):
        assert np.isnan(y[0]).any() and np.isfinite(y[1]).all()
