"""`jax.linear_transpose` of ops, and solvers that need it, for ops with and without a declared transpose."""

import functools

import numpy as np
import pytest
from libraries import example

jax = pytest.importorskip("jax")
jnp = jax.numpy

import farcall  # noqa: E402


@pytest.fixture(scope="module")
def gallery() -> farcall.Library:
    return farcall.load(example("gallery_ops"))


@pytest.fixture(autouse=True)
def x64():
    with jax.enable_x64(True):
        yield


def random(*shape, seed=0):
    return jnp.asarray(np.random.default_rng(seed).uniform(-1, 1, shape))


def check(function, x, tolerance=1e-9):
    """Checks that the transpose is the adjoint, also under `jit` and `vmap`."""
    y = jax.tree.map(lambda y: random(*y.shape, seed=1), jax.eval_shape(function, x))
    transposed = lambda y: jax.linear_transpose(function, x)(y)[0]
    inner = lambda a, b: sum(jnp.vdot(a, b) for a, b in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True))
    for each in transposed, jax.jit(transposed):
        np.testing.assert_allclose(inner(function(x), y), inner(x, each(y)), rtol=tolerance)
    several = jax.tree.map(lambda y: jnp.stack([y, 2 * y]), y)
    np.testing.assert_allclose(jax.vmap(transposed)(several)[1], 2 * transposed(y), rtol=tolerance)


IDS = np.array([0, 2, 2, 1], np.int32)


def test_ops_with_a_transpose(gallery):
    check(lambda x: gallery.segment_sum(x, IDS, segments=3), random(4, 2))
    check(lambda y: gallery.segment_take(y, IDS, segments=3), random(3, 2))
    check(lambda x: gallery.pad(x, low=1, high=2, mode="edge"), random(2, 4))
    check(lambda w: gallery.sgd_step(w, 2 * w, w - 1e-3 * w, rate=0.25), random(5))


def test_ops_whose_tangent_op_has_a_transpose(gallery):
    a = random(2, 5, seed=2)
    check(lambda b: gallery.recurrence(a, b), random(2, 5))
    # The tangent op itself is linear in some of its operands.
    h = gallery.recurrence(a, a)
    check(lambda db: gallery.recurrence_jvp(a, h, a * 0, db), random(2, 5))


def test_ops_whose_tangent_op_takes_no_operand(gallery):
    check(lambda x: gallery.column_sums(x), random(3, 4))
    check(lambda x: gallery.diagonal(x), random(2, 3, 4))


def test_loops(gallery):
    """In a loop of `vmap`, the gradient of an operand that all iterations share is the sum of their
    gradients."""
    ids = np.stack([IDS, IDS[::-1]])
    looped = jax.vmap(functools.partial(gallery.segment_sum, segments=3), (None, 0))
    check(lambda x: looped(x, ids), random(4, 2))
    a = random(3, 2, 5, seed=2)
    check(lambda b: jax.vmap(gallery.recurrence, (0, None))(a, b), random(2, 5))


def test_the_error_says_what_to_add(gallery):
    for function, x, operand in [
        (lambda x: gallery.softplus(x), random(3), "softplus cannot be transposed with respect to x"),
        (lambda x: gallery.normalize(x), random(2, 3), "normalize cannot be transposed with respect to x"),
        (lambda a: gallery.gemm(a, random(3, 2)), random(2, 3), "gemm cannot be transposed with respect to a"),
        (lambda x: gallery.median(x), random(3), "median cannot be transposed with respect to x"),
    ]:
        with pytest.raises(TypeError, match=rf"{operand}.*add #\["):
            jax.linear_transpose(function, x)(jax.tree.map(jnp.ones_like, function(x)))


def test_solvers(gallery):
    """`custom_linear_solve` and `gmres` with an op in the matrix, and their gradients."""
    n = 4
    weights = jnp.asarray([0.1, 0.2, 0.3, 0.4])

    def matvec(x):
        return 2 * x + 0.1 * gallery.segment_sum((weights * x)[:, None], IDS, segments=n)[:, 0]

    matrix = jax.jacobian(matvec)(jnp.zeros(n))
    b = random(n)

    def solved(b):
        x, _ = jax.scipy.sparse.linalg.gmres(matvec, b, tol=1e-12, solve_method="batched")
        return x

    np.testing.assert_allclose(solved(b), jnp.linalg.solve(matrix, b), rtol=1e-6)
    np.testing.assert_allclose(jax.jacrev(solved)(b), jnp.linalg.inv(matrix), rtol=1e-6, atol=1e-9)
    solve = lambda matvec, b: jnp.linalg.solve(jax.jacobian(matvec)(jnp.zeros(n)), b)
    custom = lambda b: jax.lax.custom_linear_solve(matvec, b, solve, lambda transposed, b: jnp.linalg.solve(matrix.T, b))
    np.testing.assert_allclose(jax.jacrev(custom)(b), jnp.linalg.inv(matrix), rtol=1e-9)
