"""The ops of crates/farcall-sparse, built in and as a library: farcall's engine and jaxlib return the same results,
which agree with SciPy, and programs of `jax.experimental.sparse` run in the engine."""

import functools
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from libraries import example

jax = pytest.importorskip("jax")
jnp = jax.numpy
scipy_sparse = pytest.importorskip("scipy.sparse")

import farcall  # noqa: E402
import farcall.sparse  # noqa: E402
from jax.experimental import sparse as jax_sparse  # noqa: E402
from jax.sharding import NamedSharding  # noqa: E402
from jax.sharding import PartitionSpec as P  # noqa: E402
from jax.test_util import check_grads  # noqa: E402


@pytest.fixture(scope="module")
def ops() -> farcall.Library:
    """The library for other hosts. Its ops and farcall's own need different names in JAX."""
    return farcall.load(example("farcall_sparse"), namespace="sparse")


@pytest.fixture(autouse=True)
def x64():
    with jax.enable_x64(True):
        yield


def numbers(seed, dtype, *shape):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(shape)
    return (x + 1j * rng.standard_normal(shape) if np.dtype(dtype).kind == "c" else x).astype(dtype)


def matrix(seed, dtype=np.float64, index=np.int32, shape=(6, 5), density=0.4):
    """Returns a SciPy matrix with an empty row."""
    dense = numbers(seed, dtype, *shape)
    dense[np.random.default_rng(seed).random(shape) >= density] = 0
    dense[1] = 0
    a = scipy_sparse.csr_array(dense)
    a.indices, a.indptr = a.indices.astype(index), a.indptr.astype(index)
    return a


def tolerance(dtype):
    return 1e-4 if np.dtype(dtype).itemsize <= (8 if np.dtype(dtype).kind == "c" else 4) else 1e-11


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128])
def test_products_agree_with_scipy(ops, dtype, index):
    a, close = matrix(1, dtype, index), functools.partial(np.testing.assert_allclose, rtol=tolerance(dtype), atol=1e-5)
    b, x = numbers(2, dtype, 5, 3), numbers(3, dtype, 5)
    csr, csc, coo = (a.data, a.indices, a.indptr), a.tocsc(), a.tocoo()
    rows, starts = csc.indices.astype(index), csc.indptr.astype(index)
    for call in (lambda f: f, jax.jit):
        close(call(ops.csr_matmul)(*csr, b), a @ b)
        close(call(ops.csr_matvec)(*csr, x), a @ x)
        close(call(functools.partial(ops.csc_matmul, m=6))(csc.data, rows, starts, b), a @ b)
        close(call(functools.partial(ops.csc_matmul, m=5))(*csr, numbers(4, dtype, 6, 2)), a.T @ numbers(4, dtype, 6, 2))
        coordinates = coo.data, coo.row.astype(index), coo.col.astype(index)
        close(call(functools.partial(ops.sparse_matmul, m=6))(*coordinates, b), a @ b)
        close(call(functools.partial(ops.dense_csr_matmul, k=5))(numbers(5, dtype, 2, 6), *csr), numbers(5, dtype, 2, 6) @ a)
        close(call(ops.csr_row_sums)(*csr), a.sum(axis=1))
        close(call(functools.partial(ops.csr_to_dense, k=5))(*csr), a.toarray())


def test_blocks(ops):
    a = scipy_sparse.bsr_array(np.kron(matrix(6, shape=(4, 3)).toarray() != 0, np.ones((2, 4))) * numbers(7, float, 8, 12), blocksize=(2, 4))
    b = numbers(8, float, 12, 3)
    np.testing.assert_allclose(ops.bsr_matmul(a.data, a.indices, a.indptr, b), a @ b)
    order, columns, starts = ops.bsr_to_csr_pattern(a.indices, a.indptr, p=2, q=4)
    values = ops.sparse_permute(a.data.reshape(-1), order)
    np.testing.assert_allclose(ops.csr_matmul(values, columns, starts, b), a @ b)


def test_derivatives(ops):
    a, b = matrix(9), numbers(10, float, 5, 3)
    product = lambda a_, b_: ops.csr_matmul(a_, a.indices, a.indptr, b_)  # noqa: E731
    check_grads(product, (a.data, b), order=2, modes=["fwd", "rev"])
    check_grads(lambda a_, x: ops.csr_matvec(a_, a.indices, a.indptr, x), (a.data, b[:, 0]), order=2)
    coo = a.tocoo()
    sparse = lambda e, d: ops.sparse_matmul(e, coo.row.astype("i"), coo.col.astype("i"), d, m=6)  # noqa: E731
    check_grads(sparse, (coo.data, b), order=2)
    square = matrix(11, shape=(5, 5), density=0.6)
    lower = scipy_sparse.csr_array(square + 3 * scipy_sparse.eye_array(5))
    solve = lambda a_, b_: ops.csr_triangular_solve(a_, lower.indices, lower.indptr, b_)  # noqa: E731
    check_grads(solve, (lower.data, b), order=1)
    jax.test_util.check_grads(solve, (lower.data, b), order=2, modes=["rev"])
    expected = scipy_sparse.linalg.spsolve_triangular(scipy_sparse.csr_array(scipy_sparse.tril(lower)), b)
    np.testing.assert_allclose(solve(lower.data, b), expected)
    complex_sum = lambda a_: ops.csr_matmul(a_, a.indices, a.indptr, b + 0j).sum()  # noqa: E731
    dense_sum = lambda a_: (jnp.zeros((6, 5), complex).at[coo.row, coo.col].set(a_) @ (b + 0j)).sum()  # noqa: E731
    z = a.data + 1j
    np.testing.assert_allclose(jax.grad(complex_sum, holomorphic=True)(z), jax.grad(dense_sum, holomorphic=True)(z))


def test_vmap_is_one_call(ops):
    a, b = matrix(12), numbers(13, float, 4, 5, 3)
    many = numbers(14, float, 4, a.nnz)
    product = lambda a_, b_: ops.csr_matmul(a_, a.indices, a.indptr, b_)  # noqa: E731
    for axes, operands in [((0, 0), (many, b)), ((0, None), (many, b[0])), ((None, 0), (a.data, b))]:
        mapped = jax.vmap(product, axes)
        assert str(jax.make_jaxpr(mapped)(*operands)).count("csr_matmul[") == 1
        entries = [product(*(x[i] if axis == 0 else x for axis, x in zip(axes, operands))) for i in range(4)]
        np.testing.assert_allclose(mapped(*operands), entries)


def test_sharding_over_batches(ops):
    if len(jax.devices()) < 2:
        pytest.skip("there is one device")
    a, b = matrix(15), numbers(16, float, 4, 5, 3)
    mesh = jax.make_mesh((2,), ("x",), axis_types=(jax.sharding.AxisType.Auto,), devices=jax.devices()[:2])
    many = jax.device_put(numbers(17, float, 4, a.nnz), NamedSharding(mesh, P("x")))
    b = jax.device_put(b, NamedSharding(mesh, P("x")))
    product = jax.jit(lambda a_, b_: ops.csr_matmul(a_, jnp.asarray(a.indices), jnp.asarray(a.indptr), b_))
    compiled = product.lower(many, b).compile()
    assert "all-gather" not in compiled.as_text()
    for i in range(4):
        np.testing.assert_allclose(product(many, b)[i], product(many[i], b[i]))


def test_patterns(ops):
    a, b = matrix(18), matrix(19)
    columns, starts = ops.csr_add_pattern(a.indices, a.indptr, b.indices, b.indptr, k=5, entries=30)
    total = ops.csr_add(a.data, a.indices, a.indptr, b.data, b.indices, b.indptr, columns, starts, k=5)
    np.testing.assert_allclose(ops.csr_to_dense(total, columns, starts, k=5), (a + b).toarray())
    right = matrix(20, shape=(5, 4))
    columns, starts = ops.csr_csr_matmul_pattern(a.indices, a.indptr, right.indices, right.indptr, k=4, entries=24)
    pattern = right.indices, right.indptr, columns, starts
    multiply = lambda x, y: ops.csr_csr_matmul(x, a.indices, a.indptr, y, *pattern, k=4)  # noqa: E731
    product = ops.csr_to_dense(multiply(a.data, right.data), columns, starts, k=4)
    np.testing.assert_allclose(product, (a @ right).toarray(), atol=1e-12)
    check_grads(multiply, (a.data, right.data), order=2)
    order, rows, column_starts = ops.csr_to_csc_pattern(a.indices, a.indptr, k=5)
    csc = a.tocsc()
    np.testing.assert_array_equal(rows, csc.indices)
    np.testing.assert_array_equal(column_starts, csc.indptr)
    np.testing.assert_array_equal(ops.sparse_permute(a.data, order), csc.data)


@pytest.mark.parametrize("loads", [False, True], ids=["built-in", "library"])
def test_programs_of_jax_experimental_sparse(loads):
    """JAX's BCSR products call a handler by name. The engine has it, and so has the library."""
    registry = farcall.Registry(built_ins=not loads)
    if loads:
        registry.load(example("farcall_sparse"))
    for dtype in (np.float32, np.float64, np.complex64, np.complex128):
        a, b = matrix(21, dtype), numbers(22, dtype, 5, 3)
        bcsr = jax_sparse.BCSR((a.data, a.indices, a.indptr), shape=a.shape)
        lowered = jax.jit(lambda data, b: jax_sparse.BCSR((data, bcsr.indices, bcsr.indptr), shape=a.shape) @ b).lower(a.data, b)
        assert "cpu_csr_sparse_dense_ffi" in lowered.as_text()
        found = farcall.compile(lowered, registry=registry)(a.data, b)
        np.testing.assert_allclose(found, a @ b, rtol=tolerance(dtype), atol=1e-5)
        np.testing.assert_allclose(found, bcsr @ b, rtol=tolerance(dtype), atol=1e-5)
    bcoo = jax_sparse.BCOO.from_scipy_sparse(a.tocoo())
    lowered = jax.jit(lambda m, b: m @ b).lower(bcoo, b)
    found = farcall.compile(lowered, registry=registry)(bcoo, b)
    np.testing.assert_allclose(found, a @ b, atol=1e-12)


def test_an_exported_product_runs_without_a_library(tmp_path):
    a, b = matrix(24, np.float32), numbers(25, np.float32, 5, 3)
    bcsr = jax_sparse.BCSR((jnp.array(a.data), jnp.array(a.indices), jnp.array(a.indptr)), shape=a.shape)

    @jax.jit
    def multiply(data, columns, starts, b):
        return jax_sparse.BCSR((data, columns, starts), shape=a.shape) @ b

    inputs = [np.asarray(x) for x in (bcsr.data, bcsr.indices, bcsr.indptr, b)]
    # JAX promises no compatibility for this target, so the export must allow it.
    check = jax.export.DisabledSafetyCheck.custom_call("cpu_csr_sparse_dense_ffi")
    exported = jax.export.export(multiply, platforms=["cpu"], disabled_checks=[check])(*inputs)
    assert "cpu_csr_sparse_dense_ffi" in exported.mlir_module()
    np.testing.assert_allclose(farcall.compile(exported, registry=farcall.Registry())(*inputs), a @ b, rtol=1e-4, atol=1e-5)
    with pytest.raises(farcall.MissingTargetError, match="cpu_csr_sparse_dense_ffi"):
        farcall.compile(exported, registry=farcall.Registry(built_ins=False))
    (tmp_path / "product.jax_export").write_bytes(exported.serialize())
    arguments = [tmp_path / "product.jax_export", "-o", tmp_path / "results"]
    for i, x in enumerate(inputs):
        np.save(tmp_path / f"{i}.npy", x)
        arguments += ["-i", tmp_path / f"{i}.npy"]
    subprocess.run([example("farcall_sparse").with_name("farcall"), "run", *arguments], check=True)
    np.testing.assert_allclose(np.load(tmp_path / "results" / "out0.npy"), a @ b, rtol=1e-4, atol=1e-5)


def test_malformed_indices(ops):
    a, x = matrix(23), np.ones(5)
    columns, starts = a.indices.copy(), a.indptr.copy()
    columns[2] = 5
    for call in (ops.csr_matvec, jax.jit(ops.csr_matvec)):
        with pytest.raises(Exception, match=r"columns\[2\] is 5, but must be from 0 to below 5"):
            np.asarray(call(a.data, columns, starts, x))
    starts[3] = a.nnz + 1
    with pytest.raises(Exception, match=rf"starts\[3\] is {a.nnz + 1}, but the matrix has {a.nnz} entries"):
        ops.csr_matvec(a.data, a.indices, starts, x)


def test_functions_of_matrices():
    """Sums, products and transposes are SciPy's, on NumPy arrays and in JAX, and values have derivatives."""
    module = farcall.sparse
    a, b = matrix(20, shape=(6, 5)), matrix(21, shape=(6, 5))
    x, y = a.toarray(), b.toarray()

    def program(x, y):
        a, b = (module.from_dense(z, entries=30) for z in (x, y))
        turned = module.transpose(b, k=5)
        results = module.add(a, b, k=5, entries=30), turned, module.matmul(a, turned, k=6, entries=36)
        return [module.to_dense(z, k=k) for z, k in zip(results, (5, 6, 6))]

    for run in program, jax.jit(program):
        found = run(x, y)
        assert isinstance(found[0], np.ndarray if run is program else jax.Array)
        for z, expected in zip(found, (x + y, y.T, x @ y.T), strict=True):
            np.testing.assert_allclose(z, expected)
    csr = module.Csr(a.data, a.indices, a.indptr)
    turned = module.transpose(csr, k=5)
    product = lambda values: module.matmul(csr._replace(values=values), turned, k=6, entries=36).values
    check_grads(product, (jnp.asarray(a.data),), order=2)
    np.testing.assert_allclose(module.csr_matmul(*csr, y.T[:, :2]), x @ y.T[:, :2])
    np.testing.assert_allclose(jax.jit(module.to_dense, static_argnames="k")(csr, k=5), x)
    assert {"csr_matmul", "from_dense"} <= set(dir(module))


BUILT_IN = """
    import os
    os.environ["JAX_PLATFORMS"] = {platforms!r}
    import jax, jax.numpy as jnp, numpy as np, pickle
    import farcall, farcall.sparse as sparse
    from jax.test_util import check_grads

    a, b = np.array([10.0, 20.0, 5.0], "f"), np.arange(6.0, dtype="f").reshape(3, 2)
    columns, starts = np.array([0, 2, 1], "i"), np.array([0, 2, 2, 3], "i")
    dense = np.array([[10, 0, 20], [0, 0, 0], [0, 5, 0]], "f")
    product = lambda a, b: sparse.csr_matmul(a, columns, starts, b)
    coordinates = lambda a, b: sparse.sparse_matmul(a, np.array([0, 0, 2], "i"), columns, b, m=3)
    for f in product, coordinates:
        assert isinstance(f(a, b), np.ndarray) and np.array_equal(f(a, b), dense @ b)
        assert np.array_equal(jax.jit(f)(a, b), dense @ b)
        check_grads(f, (a, b), order=2, atol=0.1, rtol=0.1)
        batch = np.stack([b, 2 * b])
        assert np.array_equal(jax.vmap(f, (None, 0))(a, batch), dense @ batch)
        lowered = jax.jit(jax.grad(lambda a, b: (f(a, b) ** 2).sum())).lower(a, b)
        assert np.array_equal(farcall.compile(lowered)(a, b), jax.jit(jax.grad(lambda a, b: (f(a, b) ** 2).sum()))(a, b))
    exported = jax.export.export(jax.jit(product), disabled_checks=sparse.disabled_checks)(a, b)
    assert np.array_equal(exported.call(a, b), dense @ b)
    of_matrix = jax.jit(lambda matrix, b: sparse.csr_matmul(*matrix, b))
    exported = jax.export.export(of_matrix, disabled_checks=sparse.disabled_checks)(sparse.Csr(a, columns, starts), b)
    stored = jax.export.deserialize(exported.serialize())
    assert np.array_equal(stored.call(sparse.Csr(a, columns, starts), b), dense @ b)
    assert np.array_equal(farcall.compile(stored).run([a, columns, starts, b])[0], dense @ b)
    try:
        jax.export.export(jax.jit(lambda a, b: product(a, b) + 1))(a, b)
    except ValueError as error:
        assert "disabled_checks=farcall.sparse.disabled_checks" in str(error), error
    else:
        raise AssertionError("the export needs no permission")
    assert pickle.loads(pickle.dumps(sparse.csr_matmul)) is sparse.csr_matmul
    registry = farcall.Registry.process()
    # XLA's registrations of the handlers leave the built-in ops as they are.
    assert not [target for target in registry.targets() if target.name.startswith(("csr_", "sparse_"))]
    # A library with an op of the same name needs a namespace in JAX.
    own = farcall.load({gallery!r})
    try:
        own.csr_matmul(jnp.array(a), columns, starts, b)
    except ValueError as error:
        assert "load the library in a namespace" in str(error), error
    else:
        raise AssertionError("two ops have the same name in JAX")
"""


@pytest.mark.parametrize("platforms", ["cpu", "farcall"])
def test_built_in_ops_need_no_library(platforms):
    """The process is a new one, because other tests load the gallery, which has an op `csr_matmul`."""
    program = textwrap.dedent(BUILT_IN.format(platforms=platforms, gallery=str(example("gallery_ops"))))
    process = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert process.returncode == 0, process.stderr


def test_the_module_lists_the_ops_of_the_library(ops):
    """The module's ops and their derivatives are the ops of the library, without jaxlib's."""
    public = set(farcall.sparse._OPS)
    assert public <= set(dir(farcall.sparse))
    allowed = {check.is_custom_call() for check in farcall.sparse.disabled_checks}
    assert allowed == {op.__name__.removeprefix("sparse.") for op in ops} - {"cpu_csr_sparse_dense_ffi"}
    for name in public:
        assert getattr(farcall.sparse, name).signature == getattr(ops, name).signature
    with pytest.raises(AttributeError, match="has no attribute 'lapack_spotrf_ffi'"):
        farcall.sparse.lapack_spotrf_ffi
    with pytest.raises(RuntimeError, match="has 2 nonzero elements, but entries = 1"):
        farcall.sparse.from_dense(np.eye(2), entries=1)
