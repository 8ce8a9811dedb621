"""The functions of `farcall.linalg` on NumPy arrays, in XLA and in farcall's engine. The results are compared with
NumPy's and SciPy's, and derivatives with finite differences."""

import subprocess
import sys

import numpy as np
import pytest
from arrays import random

import farcall
import farcall.linalg as fl

SIZES = [(1, 1), (3, 3), (4, 3), (3, 4), (17, 17), (2, 3, 3), (2, 2, 5, 4), (2, 0, 0), (0, 2, 2), (0, 3), (3, 0)]
every_size = pytest.mark.parametrize("size", SIZES, ids=str)
every_type = pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128])


def adjoint(x):
    return x.mT.conj() if hasattr(x, "mT") else np.conj(np.swapaxes(x, -1, -2))


def positive(x):
    return x @ adjoint(x) + 2 * np.eye(x.shape[-1], dtype=x.dtype)


def close(found, expected, steps=2000):
    found, expected = np.asarray(found), np.asarray(expected)
    assert found.shape == expected.shape
    tolerance = steps * float(np.finfo(expected.dtype).eps) if expected.dtype.kind in "fc" else 0
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


def all_close(found, expected, steps=2000):
    for y, z in zip(found, expected, strict=True):
        close(y, z, steps)


def unitary(q):
    product = adjoint(q) @ q
    close(product, np.broadcast_to(np.eye(q.shape[-1], dtype=q.dtype), product.shape))


@every_type
@every_size
def test_factors_of_matrices(size, dtype):
    x = random(size, dtype)
    k, real = min(size[-2:]), x.real.dtype
    p, lower, upper = fl.lu(x)
    assert (p.dtype, lower.dtype, upper.dtype) == (real, dtype, dtype)
    assert p.shape[-1] == size[-2] and lower.shape[-1] == k
    close(p.astype(dtype) @ lower @ upper, x)
    for mode in "reduced", "complete":
        q, r = fl.qr(x, mode=mode)
        unitary(q)
        close(q @ r, x)
        if x.ndim == 2 and x.size:
            all_close((q, r), np.linalg.qr(x, mode))
    for full in False, True:
        u, s, vh = fl.svd(x, full_matrices=full)
        assert (u.dtype, s.dtype, vh.dtype) == (dtype, real, dtype)
        assert u.shape[-1] == (size[-2] if full else k) and vh.shape[-2] == (size[-1] if full else k)
        unitary(u)
        unitary(adjoint(vh))
        close((u[..., :k] * s[..., None, :]) @ vh[..., :k, :], x)
    close(s, fl.svdvals(x))
    if x.size:
        close(s, np.linalg.svd(x, compute_uv=False))
        close(fl.pinv(x), np.linalg.pinv(x), 20000)
    assert fl.pinv(x).shape == (*size[:-2], size[-1], size[-2])


@every_type
@pytest.mark.parametrize("size", [size for size in SIZES if size[-1] == size[-2]], ids=str)
def test_functions_of_square_matrices(size, dtype):
    scipy = pytest.importorskip("scipy.linalg")
    x = random(size, dtype)
    all_close([fl.det(x), *fl.slogdet(x)], [np.linalg.det(x), *np.linalg.slogdet(x)], 20000)
    close(fl.inv(x), np.linalg.inv(x), 100000)
    w, v = fl.eig(x)
    close(x @ v, v * w[..., None, :])
    close(np.sort_complex(fl.eigvals(x).round(3)), np.sort_complex(np.linalg.eigvals(x).round(3)).astype(w.dtype), 1e5)
    y = positive(x)
    w, v = fl.eigh(np.tril(y))
    close(w, np.linalg.eigvalsh(y), 20000)
    close(fl.eigvalsh(np.tril(y)), w, 20000)
    unitary(v)
    close(y @ v, v * w[..., None, :], 20000)
    for upper, triangle in (False, np.tril), (True, np.triu):
        c = np.linalg.cholesky(y)
        close(fl.cholesky(triangle(y), upper=upper), adjoint(c) if upper else c)
    for b in random(size[-1:], dtype), random((size[-1], 2), dtype), random((*size[:-1], 1), dtype):
        expected = np.linalg.solve(x, b[:, None])[..., 0] if b.ndim == 1 else np.linalg.solve(x, b)
        close(fl.solve(x, b), expected, 100000)
        if x.ndim == 2:
            for options in {}, {"lower": True}, {"trans": "T"}, {"trans": 2, "lower": True}, {"unit_diagonal": True}:
                close(fl.solve_triangular(y, b, **options), scipy.solve_triangular(y, b, **options), 20000)


@every_type
@pytest.mark.parametrize("size", [(5, 3), (3, 5), (4, 4)])
def test_least_squares(size, dtype):
    a, b = random(size, dtype), random((size[0], 2), dtype)
    for matrix in a, a[:, [0, 0, *range(2, size[1])]]:
        x, residuals, rank, s = fl.lstsq(matrix, b)
        expected = np.linalg.lstsq(matrix, b, rcond=None)
        all_close((x, rank, s), (expected[0], expected[2], expected[3]), 20000)
        close(residuals, np.sum(abs(b - matrix @ x) ** 2, 0), 20000)
        if expected[1].size:
            close(residuals, expected[1], 20000)
        all_close(fl.lstsq(matrix, b[:, 0]), (x[:, 0], residuals[0], rank, s), 20000)
    many = fl.lstsq(np.stack([a, 2 * a]), b)
    close(many[0][1], fl.lstsq(2 * a, b)[0], 20000)
    close(fl.pinv(np.diag([1, 1e-3]).astype(dtype), rtol=1e-2), np.diag([1, 0]).astype(dtype))


def test_other_types():
    """Integers become `float32`, and results of smaller types are rounded."""
    close(fl.solve([[2, 0], [0, 4]], [1, 1]), np.array([0.5, 0.25], np.float32))
    x = random((3, 3), np.float16)
    for y, z in zip(fl.svd(x), fl.svd(x.astype(np.float32)), strict=True):
        assert y.dtype == np.float16
        close(y, z.astype(np.float16), 2)
    assert fl.eigvals(x).dtype == np.complex64
    assert fl.solve(x, np.ones(3)).dtype == np.float64
    close(fl.det(random((3, 3)).astype(">f8")), fl.det(random((3, 3))))


def test_failures_are_nan():
    x = np.stack([np.eye(2), -np.eye(2)])
    c = fl.cholesky(x)
    assert np.isfinite(c[0]).all() and np.isnan(c[1]).any()
    x[1, 1, 0] = np.nan
    for f in fl.eigh, fl.eigvalsh, fl.eig, fl.eigvals, fl.svd, fl.svdvals, fl.pinv, fl.inv:
        y = f(x)
        y = y[0] if isinstance(y, tuple) else y
        assert np.isfinite(y[0]).all() and np.isnan(y[1]).any()
    assert not np.isfinite(fl.solve(np.zeros((2, 2)), np.ones(2))).any()
    all_close(fl.slogdet(np.zeros((2, 2))), (0.0, -np.inf))


def test_wrong_arguments():
    ones = np.ones
    for error, message, run in [
        (ValueError, r"cholesky: x has the shape \(2, 3\): its matrices are not", lambda: fl.cholesky(ones((2, 3)))),
        (ValueError, r"svd: x has the shape \(3,\): a matrix has two dimensions", lambda: fl.svd(ones(3))),
        (ValueError, r"solve: .* \(2, 2\) and b .* \(3,\): .* 2 rows, and b 3", lambda: fl.solve(ones((2, 2)), ones(3))),
        (ValueError, r"solve: .* \(2, 2\) and b .* \(3, 1\): .* b 3", lambda: fl.solve(ones((2, 2)), ones((3, 1)))),
        (ValueError, "lstsq: .*: their batch dimensions", lambda: fl.lstsq(ones((2, 3, 2)), ones((3, 3, 1)))),
        (ValueError, "trans must be 0, 1, 2", lambda: fl.solve_triangular(ones((2, 2)), ones(2), trans=3)),
        (TypeError, "inv: x has elements of bool, which are not numbers", lambda: fl.inv(ones((2, 2), bool))),
        (TypeError, "det: x has elements of <U1", lambda: fl.det([["a"]])),
    ]:
        with pytest.raises(error, match=message):
            run()


def test_numpy_arrays_do_not_need_jax():
    code = "import sys, numpy, farcall.linalg; farcall.linalg.svd(numpy.eye(2)); assert 'jax' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def svd_invariants(x):
    u, s, vh = fl.svd(x, full_matrices=False)
    return s, (u / (1 + s[..., None, :])) @ vh


def eig_invariants(x):
    w, v = fl.eig(x)
    return (v / (20 + w[..., None, :])) @ fl.inv(v), abs(v).sum((-1, -2))


#: Functions whose results are unique, also where others choose among several decompositions, with the shapes of
#: their operands.
FUNCTIONS = {
    "cholesky": (lambda x: fl.cholesky(x + adjoint(x)), [(2, 3, 3)]),
    "cholesky upper": (lambda x: fl.cholesky(x + adjoint(x), upper=True), [(3, 3)]),
    "lu": (fl.lu, [(2, 3, 4)]),
    "lu tall": (fl.lu, [(4, 3)]),
    "qr": (fl.qr, [(2, 4, 3)]),
    "eigh": (lambda x: fl.eigh(x + adjoint(x)), [(2, 3, 3)]),
    "eigvalsh": (lambda x: fl.eigvalsh(x + adjoint(x)), [(3, 3)]),
    "eig": (eig_invariants, [(2, 3, 3)]),
    "eigvals": (lambda x: (fl.eigvals(x) ** 3).sum(-1), [(2, 3, 3)]),
    "svd": (svd_invariants, [(2, 3, 3)]),
    "svd tall": (svd_invariants, [(4, 3)]),
    "svd full": (lambda x: fl.svd(x)[1], [(3, 4)]),
    "svdvals": (fl.svdvals, [(2, 3, 4)]),
    "inv": (fl.inv, [(2, 3, 3)]),
    "det": (fl.det, [(2, 4, 4)]),
    "slogdet": (fl.slogdet, [(2, 3, 3)]),
    "pinv": (fl.pinv, [(2, 4, 3)]),
    "solve": (fl.solve, [(2, 3, 3), (3, 2)]),
    "solve_triangular": (lambda a, b: fl.solve_triangular(a, b, trans="C", lower=True), [(2, 3, 3), (3,)]),
    "lstsq": (fl.lstsq, [(2, 4, 3), (4, 2)]),
    "lstsq wide": (lambda a, b: fl.lstsq(a, b)[0], [(3, 4), (3,)]),
    "lstsq of deficient rank": (lambda a, b: fl.lstsq(a[:, :2] @ a[:2], b)[0], [(4, 3), (4,)]),
}
every_function = pytest.mark.parametrize("name", FUNCTIONS)


def operands(name, dtype, seed=0):
    """Returns operands for a function: random numbers, with eigenvalues that differ and are positive."""
    first, *others = [random(size, dtype, seed + i) / 4 for i, size in enumerate(FUNCTIONS[name][1])]
    return [first + np.diag(np.arange(2, 7)).astype(dtype)[: first.shape[-2], : first.shape[-1]], *others]


@pytest.fixture(scope="module")
def jax():
    jax = pytest.importorskip("jax")
    with jax.enable_x64(True):
        yield jax


@every_function
@pytest.mark.parametrize("dtype", [np.int32, np.float16, np.float32, np.complex64])
def test_types_in_jax(jax, name, dtype):
    """JAX arrays give the shapes and element types that NumPy arrays give, also without elements."""
    f, sizes = FUNCTIONS[name]
    for keep in 4, 2:  # all sizes, or the batch's alone
        given = [np.ones([n if n <= keep else 0 for n in size], dtype) for size in sizes]
        expected = [(y.shape, y.dtype) for y in jax.tree.leaves(f(*given))]
        assert [(y.shape, y.dtype) for y in jax.tree.leaves(jax.eval_shape(f, *given))] == expected


@every_function
def test_the_same_everywhere(jax, name):
    """NumPy arrays, XLA, the engine and `vmap` give the same."""
    f, sizes = FUNCTIONS[name]

    def program(*arrays):
        batched = jax.vmap(f, (1, *[None] * (len(sizes) - 1)))
        return f(*arrays), batched(jax.numpy.stack([arrays[0]] * 2, 1), *arrays[1:])

    given = operands(name, np.complex128)
    expected = jax.tree.leaves(f(*given))
    assert all(isinstance(y, (np.ndarray, np.generic)) for y in expected)
    lowered = jax.jit(program).lower(*given)
    for run in lowered.compile(), farcall.compile(lowered):
        found, batched = run(*given)
        all_close(jax.tree.leaves(found), expected)
        for y, z in zip(jax.tree.leaves(batched), expected, strict=True):
            close(y, np.stack([z, z]))


@pytest.mark.parametrize("name", [name for name in FUNCTIONS if name != "svd full"])
@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
def test_derivatives(jax, name, dtype):
    """First and second derivatives along a line, forward and in reverse, are those of finite differences. The
    engine computes the same."""
    f, _ = FUNCTIONS[name]
    given = operands(name, dtype)
    change = [random(x.shape, dtype, 7 + i) for i, x in enumerate(given)]

    def value(t):
        results = jax.tree.leaves(f(*(x + t * dx for x, dx in zip(given, change))))
        weights = [random(y.shape, np.complex128, 9) for y in results]
        return sum((y * weight).real.sum() for y, weight in zip(results, weights))

    forward = lambda f: lambda t: jax.jvp(f, [t], [1.0])[1]
    reverse = jax.grad
    first, second = [forward, reverse], [(forward, forward), (forward, reverse), (reverse, reverse)]

    @jax.jit
    def at(t):
        slopes, curvatures = [d(value)(t) for d in first], [d(e(value))(t) for d, e in second]
        return value(t), jax.numpy.stack(slopes), jax.numpy.stack(curvatures)

    step, lowered = 1e-4, at.lower(0.0)
    in_xla = lowered.compile()
    _, slopes, curvatures = in_xla(0.0)
    (below, below_slopes, _), (above, above_slopes, _) = in_xla(-step), in_xla(step)
    expected = (above - below) / (2 * step), (above_slopes[0] - below_slopes[0]) / (2 * step)
    np.testing.assert_allclose(slopes, np.full(len(first), expected[0]), rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(curvatures, np.full(len(second), expected[1]), rtol=1e-5, atol=1e-5)
    assert abs(expected[1]) > 1e-3
    all_close(farcall.compile(lowered)(0.0)[1:], (slopes, curvatures), 1e6)


def test_full_vectors_have_no_derivative(jax):
    with pytest.raises(NotImplementedError, match="full matrices"):
        jax.grad(lambda x: fl.svd(x)[0].sum())(random((4, 3)))


@pytest.mark.parametrize("name", ["cholesky", "lu", "qr", "eigh", "eig", "svd", "solve", "lstsq"])
def test_batches_are_split_among_devices(jax, name):
    if len(jax.devices()) < 2:
        pytest.skip("needs two devices")
    f, _ = FUNCTIONS[name]
    given = operands(name, np.float64)
    mesh = jax.make_mesh((2,), ("batch",), devices=jax.devices()[:2], axis_types=(jax.sharding.AxisType.Auto,))
    split = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("batch"))
    whole = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec())
    placed = [jax.device_put(given[0], split), *(jax.device_put(x, whole) for x in given[1:])]
    compiled = jax.jit(f).lower(*placed).compile()
    assert "all-gather" not in compiled.as_text()
    for y, z in zip(jax.tree.leaves(compiled(*placed)), jax.tree.leaves(f(*given)), strict=True):
        assert y.sharding.spec[0] == "batch"
        close(y, z)
