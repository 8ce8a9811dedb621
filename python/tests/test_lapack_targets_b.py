"""LAPACK's spectral decompositions of crates/farcall-linalg beside jaxlib's. Both run in jaxlib: ours under a
prefix. Where a result is not unique, its defining properties are compared, and factors are exchanged."""

import numpy as np
import pytest

jax = pytest.importorskip("jax")

from test_lapack_targets_a import (  # noqa: E402
    LETTERS,
    PREFIX,
    both,
    call,
    char,
    every_dtype,
    every_size,
    every_square,
    random,
    routine,
    targets,
    x64,
)

__all__ = ["targets", "x64"]

REAL = {np.float32: np.float32, np.float64: np.float64, np.complex64: np.float32, np.complex128: np.float64}
COMPLEX = {
    np.float32: np.complex64,
    np.float64: np.complex128,
    np.complex64: np.complex64,
    np.complex128: np.complex128,
}


def is_complex(dtype):
    return LETTERS[dtype] in "cz"


def adjoint(x):
    return np.conj(x).mT


def hermitian(size, dtype, seed=0):
    x = random(size, dtype, seed)
    return x + adjoint(x)


def assert_near(found, expected, scale, steps=100):
    """Compares numbers, up to rounding errors relative to `scale`."""
    bound = steps * max(found.shape[-1], 1) * np.finfo(found.dtype).eps * scale
    np.testing.assert_allclose(found, expected, rtol=0, atol=bound)


def assert_orthonormal(q):
    gram = adjoint(q) @ q
    assert_near(gram, np.broadcast_to(np.eye(q.shape[-1]), gram.shape), 1)


def diagonal(x):
    return x[..., :, None] * np.eye(x.shape[-1], dtype=x.dtype)


def norm(x):
    return np.abs(x).max() * x.shape[-1]


@every_dtype
@every_size
@pytest.mark.parametrize("mode", "ASN")
@pytest.mark.parametrize("name", ["?gesdd", "?gesvd"])
def test_svd(dtype, size, mode, name):
    *batch, m, n = size
    k = min(m, n)
    columns, rows = (m, n) if mode == "A" else (k, k)
    results = [
        (size, dtype),
        ((*batch, k), REAL[dtype]),
        ((*batch, m, columns), dtype),
        ((*batch, rows, n), dtype),
        (tuple(batch), np.int32),
    ]
    x = random(size, dtype)
    (_, s, u, vt, info), theirs = both(name, [x], results, {0: 0}, mode=char(mode))
    assert_near(s, theirs[1], norm(x))
    np.testing.assert_array_equal(info, theirs[4])
    if mode != "N":
        assert_orthonormal(u)
        assert_orthonormal(adjoint(vt))
        assert_near((u[..., :k] * s[..., None, :]) @ vt[..., :k, :], x, norm(x))


@every_dtype
@every_square
@pytest.mark.parametrize("uplo", "LU")
def test_eigh(dtype, size, uplo):
    *batch, n, _ = size
    results = [(size, dtype), ((*batch, n), REAL[dtype]), (tuple(batch), np.int32)]
    x = hermitian(size, dtype)
    name = "?heevd" if is_complex(dtype) else "?syevd"
    (v, w, info), theirs = both(name, [x], results, {0: 0}, uplo=char(uplo), mode=char("V"))
    np.testing.assert_array_equal(info, theirs[2])
    assert_near(w, theirs[1], norm(x))
    assert_orthonormal(v)
    assert_near((v * w[..., None, :]) @ adjoint(v), x, norm(x))


def form_q(prefix, factors, tau, dtype):
    """Multiplies the reflections below a subdiagonal by `orgqr`."""
    n = factors.shape[-1]
    q = np.zeros_like(factors)
    q[..., 0, 0] = 1
    if n > 1:
        x = np.ascontiguousarray(factors[..., 1:, :-1])
        target = prefix + routine("?orgqr", dtype)
        result = jax.ShapeDtypeStruct(x.shape, x.dtype)
        q[..., 1:, 1:] = call(target, [x, tau], [result], {0: 0}, {})[0]
    return q


@every_dtype
@every_square
def test_gehrd(dtype, size):
    *batch, n, _ = size
    results = [(size, dtype), ((*batch, n - 1), dtype), (tuple(batch), np.int32)]
    x = random(size, dtype)
    ours, theirs = both("?gehrd", [x], results, {0: 0}, low=np.int32(1), high=np.int32(n))
    for factors, tau, info in (ours, theirs):
        assert not info.any()
        # jaxlib's orgqr accepts farcall's factors, and the other way round.
        for prefix in (PREFIX, ""):
            q = form_q(prefix, factors, tau, dtype)
            h = np.triu(factors, -1)
            assert_orthonormal(q)
            assert_near(q @ h @ adjoint(q), x, norm(x))
    for y, z in zip(ours[:2], theirs[:2], strict=True):
        if n < 8:
            assert_near(y, z, norm(x) if y.shape[-1] else 1, steps=1000)


@every_dtype
@every_square
@pytest.mark.parametrize("uplo", "LU")
def test_sytrd(dtype, size, uplo):
    *batch, n, _ = size
    real = REAL[dtype]
    results = [
        (size, dtype),
        ((*batch, n), real),
        ((*batch, n - 1), real),
        ((*batch, n - 1), dtype),
        (tuple(batch), np.int32),
    ]
    x = hermitian(size, dtype)
    name = "?hetrd" if is_complex(dtype) else "?sytrd"
    ours, theirs = both(name, [x], results, {0: 0}, uplo=char(uplo))
    for factors, d, e, tau, info in (ours, theirs):
        assert not info.any()
        t = diagonal(d)
        i = np.arange(n - 1)
        t[..., i + 1, i] = e
        t[..., i, i + 1] = e
        assert_near(np.linalg.eigvalsh(t), np.linalg.eigvalsh(x), norm(x))
        if uplo == "L":
            for prefix in (PREFIX, ""):
                q = form_q(prefix, factors, tau, dtype)
                assert_near(q @ t @ adjoint(q), x, norm(x))
    if n < 8:
        for y, z in zip(ours[:4], theirs[:4], strict=True):
            assert_near(y, z, norm(x) if y.shape[-1] else 1, steps=1000)


@every_dtype
@every_square
def test_geev(dtype, size):
    *batch, n, _ = size
    vectors = (size, COMPLEX[dtype])
    values = [((*batch, n), dtype)] * (1 if is_complex(dtype) else 2)
    results = [*values, vectors, vectors, (tuple(batch), np.int32)]
    x = random(size, dtype)
    jobs = {"compute_left": char("V"), "compute_right": char("V")}
    spectra = []
    for *w, left, right, info in both("?geev", [x], results, {}, **jobs):
        assert not info.any()
        w = w[0] if is_complex(dtype) else w[0] + 1j * w[1]
        assert_near(x @ right, right * w[..., None, :], norm(x))
        assert_near(adjoint(left) @ x, adjoint(left) * w[..., :, None], norm(x))
        assert_near(np.linalg.norm(right, axis=-2), np.ones(w.shape), 1)
        assert_near(np.linalg.norm(left, axis=-2), np.ones(w.shape), 1)
        spectra.append(w)
    # Every eigenvalue of one has a near eigenvalue of the other.
    distance = np.abs(spectra[0][..., :, None] - spectra[1][..., None, :]).min(axis=-1)
    assert_near(distance, np.zeros_like(distance), norm(x), steps=10000)
    if not is_complex(dtype):
        # Conjugate pairs begin with the positive imaginary part.
        first = spectra[0].imag > 0
        np.testing.assert_array_equal(np.roll(spectra[0].imag, -1, -1)[first], -spectra[0].imag[first])


@every_dtype
@every_square
@pytest.mark.parametrize("mode", "VN")
def test_gees(dtype, size, mode):
    *batch, n, _ = size
    values = [((*batch, n), dtype)] * (1 if is_complex(dtype) else 2)
    info = (tuple(batch), np.int32)
    results = [(size, dtype), (size, dtype), *values, info, info]
    x = random(size, dtype)
    for t, z, *w, selected, info in both("?gees", [x], results, {0: 0}, mode=char(mode), sort=char("N")):
        assert not info.any() and not selected.any()
        assert_near(t, np.triu(t, 0 if is_complex(dtype) else -1), 0)
        w = w[0] if is_complex(dtype) else w[0] + 1j * w[1]
        np.testing.assert_array_equal(np.diagonal(t, axis1=-2, axis2=-1).real, w.real)
        if mode == "V":
            assert_orthonormal(z)
            assert_near(z @ t @ adjoint(z), x, norm(x))


@every_dtype
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_results_for_bad_entries_are_nan(dtype, bad):
    x = random((4, 4), dtype)
    x[2, 1] = bad
    results = [((4, 4), dtype), ((4,), REAL[dtype]), ((4, 4), dtype), ((4, 4), dtype), ((), np.int32)]
    (_, s, u, vt, info), theirs = both("?gesdd", [x], results, {0: 0}, mode=char("S"))
    if np.isnan(bad):
        assert info == theirs[4]
    assert np.isnan(s).all() and np.isnan(u).all() and np.isnan(vt).all()
    values = [((4,), dtype)] * (1 if is_complex(dtype) else 2)
    vectors = ((4, 4), COMPLEX[dtype])
    jobs = {"compute_left": char("V"), "compute_right": char("N")}
    ours, theirs = both("?geev", [x], [*values, vectors, vectors, ((), np.int32)], {}, **jobs)
    assert ours[-1] == theirs[-1] == -4
    assert np.isnan(ours[0]).all()
