"""LAPACK's factorizations and solvers of crates/farcall-linalg beside jaxlib's, which have the same names,
operands and results. Both run in jaxlib: ours under a prefix. Factors are also exchanged between the two."""

import itertools

import numpy as np
import pytest
from libraries import example

jax = pytest.importorskip("jax")

import farcall  # noqa: E402
from jaxlib import lapack  # noqa: E402

PREFIX = "farcall_peer_"
LETTERS = {np.float32: "s", np.float64: "d", np.complex64: "c", np.complex128: "z"}
SIZES = [(3, 5), (70, 33), (40, 80), (150, 150), (2, 3, 6, 4)]
SQUARE = [(1, 1), (33, 33), (150, 150), (2, 3, 4, 4)]

every_dtype = pytest.mark.parametrize("dtype", LETTERS, ids=lambda dtype: dtype.__name__)
every_size = pytest.mark.parametrize("size", SIZES, ids=str)
every_square = pytest.mark.parametrize("size", SQUARE, ids=str)


@pytest.fixture(scope="module", autouse=True)
def targets():
    registry = farcall.Registry()
    registry.load(example("farcall_linalg"))
    for name, capsules in registry._native.capsules("Host").items():
        if name.startswith(("lapack_", "tridiagonal_")):
            jax.ffi.register_ffi_target(PREFIX + name, capsules, platform="cpu")
    lapack.prepare_lapack_call("potrf_ffi", np.float32)


@pytest.fixture(autouse=True)
def x64():
    with jax.enable_x64(True):
        yield


def routine(name, dtype):
    """Returns the name of a target; `?` stands for the letter of the type, `or` for `un` in complex types."""
    letter = LETTERS[dtype]
    if letter in "cz" and name.startswith("?or"):
        name = "?un" + name[3:]
    return f"lapack_{name.replace('?', letter)}_ffi" if "?" in name else name


def call(target, operands, results, aliases, attributes):
    """Calls a target with matrices in column-major order."""
    rank = max(x.ndim for x in operands)
    columns_last = (*range(rank - 2), rank - 1, rank - 2)

    def layouts(tensors):
        return [columns_last if len(x.shape) == rank else None for x in tensors]

    function = jax.ffi.ffi_call(
        target,
        results,
        input_layouts=layouts(operands),
        output_layouts=layouts(results),
        input_output_aliases=aliases,
    )
    return [np.asarray(y) for y in jax.jit(lambda *x: function(*x, **attributes))(*operands)]


def both(name, operands, results, aliases, **attributes):
    """Returns the results of farcall's and of jaxlib's target."""
    name = routine(name, operands[0].dtype.type)
    results = [jax.ShapeDtypeStruct(shape, dtype) for shape, dtype in results]
    return [call(prefix + name, operands, results, aliases, attributes) for prefix in (PREFIX, "")]


def random(size, dtype, seed=0):
    generator = np.random.default_rng(seed)
    x = generator.normal(size=size)
    if np.issubdtype(dtype, np.complexfloating):
        x = x + 1j * generator.normal(size=size)
    return x.astype(dtype)


def close(found, expected, steps=200):
    """Compares results. Numbers may differ by rounding errors relative to the largest."""
    for y, z in zip(found, expected, strict=True):
        assert y.shape == z.shape and y.dtype == z.dtype
        if np.issubdtype(z.dtype, np.integer):
            np.testing.assert_array_equal(y, z)
        elif z.size:
            bound = steps * max(z.shape[-2:]) * np.finfo(z.dtype).eps * np.abs(z).max()
            np.testing.assert_allclose(y, z, rtol=0, atol=bound)


def char(letter):
    return np.uint8(ord(letter))


@every_dtype
@every_square
@pytest.mark.parametrize("uplo", "LU")
def test_potrf(dtype, size, uplo):
    factor = random(size, dtype)
    x = factor @ np.conj(factor).mT + size[-1] * np.eye(size[-1], dtype=dtype)
    results = [(size, dtype), (size[:-2], np.int32)]
    ours, theirs = both("?potrf", [x], results, {0: 0}, uplo=char(uplo))
    close(ours, theirs)
    x[..., -1, -1] = -1
    ours, theirs = both("?potrf", [x], results, {0: 0}, uplo=char(uplo))
    np.testing.assert_array_equal(ours[1], theirs[1])


@every_dtype
@every_size
def test_getrf(dtype, size):
    k = min(size[-2:])
    results = [(size, dtype), ((*size[:-2], k), np.int32), (size[:-2], np.int32)]
    x = random(size, dtype)
    ours, theirs = both("?getrf", [x], results, {0: 0})
    close(ours, theirs)
    x[..., :, -1] = 0
    x[..., :, 0] = 0
    ours, theirs = both("?getrf", [x], results, {0: 0})
    close(ours[2:], theirs[2:])


@every_dtype
@every_size
def test_geqrf_and_orgqr(dtype, size):
    *batch, m, n = size
    k = min(m, n)
    ours, theirs = both("?geqrf", [random(size, dtype)], [(size, dtype), ((*batch, k), dtype)], {0: 0})
    close(ours, theirs)
    # Factors are exchanged: each orgqr gets the factors of both.
    q = [
        both("?orgqr", [x[..., :, :k].copy(), tau], [((*batch, m, k), dtype)], {0: 0})
        for x, tau in (ours, theirs)
    ]
    for found in itertools.chain(*q):
        close(found, q[1][1])


@every_dtype
@pytest.mark.parametrize("size", [(70, 33), (2, 3, 4, 6)], ids=str)
@pytest.mark.parametrize("left", [True, False])
@pytest.mark.parametrize("transpose", [True, False])
def test_ormqr(dtype, size, left, transpose):
    *batch, m, n = size
    k = min(m, n)
    factors = both("?geqrf", [random(size, dtype)], [(size, dtype), ((*batch, k), dtype)], {0: 0})
    shape = (*batch, m, 7) if left else (*batch, 7, m)
    c = random(shape, dtype, 1)
    products = [
        both("?ormqr", [x[..., :, :k].copy(), tau, c], [(shape, dtype)], {2: 0}, left=left, transpose=transpose)
        for x, tau in factors
    ]
    for found in itertools.chain(*products):
        close(found, products[1][1])


@every_dtype
@every_size
@pytest.mark.parametrize("fixed", [0, 2])
def test_geqp3(dtype, size, fixed):
    *batch, m, n = size
    jpvt = np.zeros((*batch, n), np.int32)
    jpvt[..., n - min(fixed, n) :] = 1
    results = [(size, dtype), ((*batch, n), np.int32), ((*batch, min(m, n)), dtype)]
    ours, theirs = both("?geqp3", [random(size, dtype), jpvt], results, {0: 0, 1: 1})
    close(ours, theirs)


@every_dtype
@pytest.mark.parametrize("size", [(2, 5, 40)], ids=str)
@pytest.mark.parametrize("side", "LR")
@pytest.mark.parametrize("uplo", "LU")
@pytest.mark.parametrize("trans", "NTC")
@pytest.mark.parametrize("diag", "NU")
def test_trsm(dtype, size, side, uplo, trans, diag):
    order = size[-2] if side == "L" else size[-1]
    x = random((*size[:-2], order, order), dtype) / order + 2 * np.eye(order, dtype=dtype)
    attributes = {"side": char(side), "uplo": char(uplo), "trans_x": char(trans), "diag": char(diag)}
    ours, theirs = both("?trsm", [x, random(size, dtype, 1)], [(size, dtype)], {1: 0}, **attributes)
    close(ours, theirs)


@every_dtype
@pytest.mark.parametrize("size", [(1, 1), (2, 3), (3, 2), (50, 4), (2, 3, 5, 2)], ids=str)
def test_gtsv(dtype, size):
    diagonals = [random(size[:-1], dtype, seed) for seed in range(3)]
    b = random(size, dtype, 3)
    aliases = {i: i for i in range(4)}
    results = [(x.shape, dtype) for x in [*diagonals, b]] + [(size[:-2], np.int32)]
    ours, theirs = both("?gtsv", [*diagonals, b], results, aliases)
    close(ours[1:2], theirs[1:2])
    close(ours[3:], theirs[3:], 1e5)
    ours, theirs = both("tridiagonal_solve_perturbed_ffi", [*diagonals, b], [(size, dtype)], {})
    close(ours, theirs, 1e5)


@every_dtype
@pytest.mark.parametrize("n", [1, 2, 3, 20])
def test_perturbed_solutions_of_singular_systems(dtype, n):
    diagonals = [np.full(n, x, dtype) for x in (-1, 2, -1)]
    diagonals[1][0] -= 1
    diagonals[1][-1] -= 1
    b = random((n, 2), dtype)
    ours, theirs = both("tridiagonal_solve_perturbed_ffi", [*diagonals, b], [(b.shape, dtype)], {})
    close(ours, theirs, 1e5)


@every_dtype
@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("n", [3, 40])
def test_matrices_that_are_not_finite(dtype, bad, n):
    x = random((n, n), dtype)
    x[n // 2, n // 2] = bad
    for found in both("?potrf", [x], [((n, n), dtype), ((), np.int32)], {0: 0}, uplo=char("L")):
        assert found[1] > 0 or not np.isfinite(found[0]).all()
    for found in both("?getrf", [x], [((n, n), dtype), ((n,), np.int32), ((), np.int32)], {0: 0}):
        assert found[2] > 0 or not np.isfinite(found[0]).all()
    for found in both("?geqrf", [x], [((n, n), dtype), ((n,), dtype)], {0: 0}):
        assert not np.isfinite(found[0]).all()
