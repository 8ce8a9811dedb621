"""LAPACK calls that run in farcall's own routines, or in a LAPACK library of the system: here, the OpenBLAS in
SciPy's package."""

import json
import os
import pathlib
import subprocess
import sys
import textwrap

import pytest

scipy = pytest.importorskip("scipy")
pytest.importorskip("jax")
from libraries import example  # noqa: E402

PROGRAMS = """
    import jax, jax.numpy as jnp, jax.scipy.linalg as jsl, numpy as np
    jax.config.update("jax_enable_x64", True)
    generator = np.random.default_rng(0)

    def check(function, *args):
        found = farcall.compile(jax.jit(function).lower(*args))(*args)
        for found, expected in zip(jax.tree.leaves(found), jax.tree.leaves(function(*args)), strict=True):
            np.testing.assert_allclose(found, expected, rtol=0, atol=2e-3 if x.real.dtype == np.float32 else 1e-9)

    for dtype in (np.float32, np.float64, np.complex64, np.complex128):
        x = generator.standard_normal((3, 6, 6)) + 0j
        if np.issubdtype(dtype, np.complexfloating):
            x = x + 1j * generator.standard_normal(x.shape)
        else:
            x = x.real
        x = x.astype(dtype)
        spd = (x @ x.conj().swapaxes(-1, -2) + 6 * np.eye(6)).astype(dtype)
        check(jnp.linalg.cholesky, spd)
        check(jnp.linalg.solve, x, x[..., :2])
        check(jsl.lu, x[0])
        check(jnp.linalg.qr, x)
        check(lambda x: jnp.linalg.qr(x[:, :, :4], mode="complete")[1], x)
        check(lambda x: jsl.solve_triangular(x, x, trans="C"), spd)
        check(lambda x: jsl.qr(x[0], pivoting=True), x)
        check(lambda x: jsl.qr_multiply(x[0], x[1], mode="left"), x)
        check(lambda x: jax.lax.linalg.tridiagonal(x)[1:3], spd)
        check(jnp.linalg.svdvals, x)
        check(jnp.linalg.svdvals, x[..., :3])
        check(lambda x: (lambda u, s, v: u * s[..., None, :] @ v)(*jnp.linalg.svd(x, full_matrices=False)), x)
        check(jnp.linalg.eigvalsh, spd)
        check(lambda x: (lambda w, v: v * w[..., None, :] @ v.mT.conj())(*jnp.linalg.eigh(x)), spd)
        check(lambda x: jnp.linalg.eigvals(x).sum(-1), x)
        check(lambda x: (lambda w, v: v * w[..., None, :] @ jnp.linalg.inv(v))(*jnp.linalg.eig(x)), x)
        check(lambda x: (lambda t, z: z @ t @ z.mT.conj())(*jsl.schur(x[0])), x)
        check(lambda x: jnp.abs(jsl.hessenberg(x[0])), x)
        check(jax.lax.linalg.tridiagonal_solve, x[..., 0], x[..., 1] + 9, x[..., 2], x[..., 3:5])
"""


def openblas() -> pathlib.Path:
    folder = pathlib.Path(scipy.__file__).parent.parent / "scipy.libs"
    libraries = sorted(folder.glob("libscipy_openblas-*"))
    if not libraries:
        pytest.skip(f"no OpenBLAS in {folder}")
    return libraries[0]


def run(program: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Runs a program in a process of its own, since a process chooses its LAPACK once."""
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
    )


@pytest.mark.parametrize("whose", ["built-in", "system"])
def test_programs_give_the_values_of_jaxlib(whose):
    program = "import farcall\n"
    if whose == "system":
        program += f"assert farcall.use_lapack({str(openblas())!r}) == {str(openblas())!r}\n"
    # jaxlib's handlers call the same library, which gives the same bits.
    program += textwrap.dedent(PROGRAMS) + f"""
x = np.cov(generator.standard_normal((60, 90)))
found = farcall.compile(jax.jit(jnp.linalg.cholesky).lower(x))(x)
assert np.array_equal(found, jnp.linalg.cholesky(x)) == {whose == "system"}
"""
    process = run(program)
    assert process.returncode == 0, process.stderr


@pytest.mark.skipif(not os.path.exists("/proc/self/maps"), reason="the system has no /proc, which lists libraries")
def test_the_variable_chooses_the_library():
    program = """
        import farcall, numpy as np
        x = np.array([[4.0, 2.0], [2.0, 5.0]])
        linalg = farcall.load({library!r})
        print(linalg.lapack_dpotrf_ffi(x, uplo=np.uint8(76))[0][0, 0])
        print("libscipy_openblas-" in open("/proc/self/maps").read())
    """.format(library=str(example("farcall_linalg")))
    assert run(program).stdout.split() == ["2.0", "False"]
    assert run(program, FARCALL_LINALG=f"system={openblas()}").stdout.split() == ["2.0", "True"]
    assert "must be" in run(program, FARCALL_LINALG="openblas").stderr
    process = run(program, FARCALL_LINALG="system=/nonexistent/liblapack.so")
    assert "/nonexistent/liblapack.so" in process.stderr


def test_mistakes_are_errors():
    process = run("import farcall; farcall.use_lapack('/nonexistent/liblapack.so')")
    assert "OSError: " in process.stderr and "/nonexistent/liblapack.so" in process.stderr
    program = f"""
        import ctypes.util, farcall
        try:
            farcall.use_lapack(ctypes.util.find_library("m"))
        except OSError as error:
            print(error)
    """
    assert "has no routine dpotrf_" in run(program).stdout
    # The process then uses the same routines as before.
    program = f"""
        import farcall, farcall.linalg, numpy as np
        x = np.array([[4.0, 2.0], [2.0, 5.0]])
        for path in (None, {str(openblas())!r}):
            if path:
                farcall.use_lapack(path)
            try:
                farcall.use_lapack("/nonexistent/liblapack.so")
            except OSError:
                print(farcall.linalg.cholesky(x)[0, 0])
    """
    assert run(program).stdout.split() == ["2.0", "2.0"]


PRODUCTS = """
    import farcall, jax, jax.numpy as jnp, numpy as np
    jax.config.update("jax_enable_x64", True)
    jax.config.update("jax_default_matmul_precision", "highest")
    farcall.use_lapack({library!r})
    generator = np.random.default_rng(0)

    def numbers(dtype, *shape):
        x = generator.standard_normal(shape)
        return (x + 1j * generator.standard_normal(shape) if np.dtype(dtype).kind == "c" else x).astype(dtype)

    def decisions(function, *args):
        executable = farcall.compile(jax.jit(function).lower(*args))
        expected = np.asarray(function(*args))
        scale = 1e-4 if expected.real.dtype == np.float32 else 1e-11
        np.testing.assert_allclose(executable(*args), expected, rtol=scale, atol=100 * scale)
        blocks = executable.blocks
        assert all(block.tag == "stablehlo.dot_general" for block in blocks)
        return [block.target for block in blocks]

    for dtype in (np.float32, np.float64, np.complex64, np.complex128):
        a, b = numbers(dtype, 80, 120), numbers(dtype, 120, 90)
        called = ["blas_matmul"]
        assert decisions(lambda a, b: a @ b, a, b) == called
        assert decisions(lambda a, b: a.T @ b.T, b, a) == called
        assert decisions(lambda a, b: a @ b.T, a, numbers(dtype, 90, 120)) == called
        assert decisions(lambda a, b: a.T @ b, numbers(dtype, 120, 80), b) == called
        assert decisions(lambda a, b: (a @ b).T, a, b) == called
        # Batches, and several free and contracting dimensions.
        assert decisions(jnp.matmul, numbers(dtype, 2, 3, 80, 70), numbers(dtype, 2, 3, 70, 90)) == called
        assert decisions(lambda a, b: a @ b.mT, numbers(dtype, 3, 80, 70), numbers(dtype, 3, 90, 70)) == called
        assert decisions(lambda a, b: jnp.tensordot(a, b, 2), numbers(dtype, 9, 9, 8, 9), numbers(dtype, 8, 9, 99)) == called
        # A product in a loop, with operations around it.
        scale = lambda x, b: jax.lax.fori_loop(0, 40, lambda _, x: x @ b / 100 + x, x)
        assert decisions(scale, numbers(dtype, 90, 90), numbers(dtype, 90, 90)) == called
        # Small products, products with vectors, and other orders of dimensions stay with the engine.
        assert decisions(jnp.matmul, numbers(dtype, 9, 9), numbers(dtype, 9, 9)) == [None]
        assert decisions(jnp.matmul, numbers(dtype, 900, 900), numbers(dtype, 900)) == [None]
        assert decisions(lambda a, b: jnp.einsum("abc,dbe->bacde", a, b), numbers(dtype, 40, 3, 40), numbers(dtype, 40, 3, 40)) == [None]
    assert decisions(jnp.matmul, np.ones((99, 99), int), np.ones((99, 99), int)) == [None]

    # Derivatives are products, too.
    loss = jax.grad(lambda a, b: (a @ b).sum())
    assert decisions(loss, numbers(np.float64, 99, 98), numbers(np.float64, 98, 97)) == ["blas_matmul"]
    assert decisions(lambda a, b: jnp.maximum(a @ b + 1, 0), numbers("f", 64, 64), numbers("f", 64, 64)) == ["blas_matmul"]
"""


def test_products_run_in_the_library():
    process = run(PRODUCTS.format(library=str(openblas())))
    assert process.returncode == 0, process.stderr


def test_products_stay_with_the_engine_without_a_request(tmp_path):
    """A plan for a library's products runs without the library, too."""
    import jax
    import jax.numpy as jnp
    import numpy as np

    program = tmp_path / "product.mlir"
    program.write_text(jax.jit(jnp.matmul).lower(jnp.eye(99), jnp.eye(99)).as_text())
    command = str(example("farcall_linalg").parent / "farcall")
    if not os.path.exists(command):
        pytest.skip("the command is not built")
    environment = {name: value for name, value in os.environ.items() if name != "FARCALL_LINALG"}

    def farcall(*arguments: str, **more: str) -> str:
        process = subprocess.run([command, *arguments], capture_output=True, text=True, env=environment | more)
        return process.stdout if process.returncode == 0 else process.stderr

    assert "no blocks" in farcall("inspect", str(program), "--why")
    system = f"system={openblas()}"
    assert "call of blas_matmul" in farcall("inspect", str(program), "--why", "--linalg", system)
    assert "call of blas_matmul" in farcall("inspect", str(program), "--why", FARCALL_LINALG=system)
    missing = farcall("inspect", str(program), "--why", FARCALL_LINALG="system=/nonexistent/libblas.so")
    assert "/nonexistent/libblas.so" in missing
    plan = str(tmp_path / "product.plan")
    farcall("compile", str(program), "-o", plan, "--linalg", system)
    x = np.random.default_rng(0).standard_normal((99, 99)).astype("f")
    np.save(tmp_path / "x.npy", x)
    for linalg in ("built-in", system):
        farcall("run", plan, "-i", str(tmp_path / "x.npy"), "-i", str(tmp_path / "x.npy"), "-o", str(tmp_path / "y"), "--linalg", linalg)
        np.testing.assert_allclose(np.load(tmp_path / "y" / "out0.npy"), x @ x, rtol=1e-3, atol=1e-4)


def test_a_lowering_of_the_application_replaces_products():
    import farcall
    import jax
    import numpy as np

    registry, asked = farcall.Registry(), []

    @registry.lowers("stablehlo.dot_general")
    def lower(block):
        a, b = (tuple(x.shape) for x in block.operands)
        asked.append((a, b, block.options["transpose_a"], block.options["transpose_b"]))
        return farcall.Call("blas_matmul") if len(a) == 3 else farcall.Skip("it is not a batch")

    x = np.random.default_rng(0).standard_normal((2, 5, 3)).astype("f")
    program = jax.jit(lambda x, y: (x.mT @ y) @ y[0].T).lower(x, x)
    executable = farcall.compile(program, registry)
    np.testing.assert_allclose(executable(x, x), (x.swapaxes(1, 2) @ x) @ x[0].T, rtol=1e-5, atol=1e-5)
    assert asked == [((2, 5, 3), (2, 5, 3), "transpose", "no"), ((6, 3), (5, 3), "no", "transpose")]
    assert [block.target for block in executable.blocks] == ["blas_matmul", None]


def test_the_command_takes_a_library(tmp_path):
    import jax
    import jax.numpy as jnp

    program = tmp_path / "cholesky.mlir"
    program.write_text(jax.jit(jnp.linalg.cholesky).lower(jnp.eye(3)).as_text())
    command = str(example("farcall_linalg").parent / "farcall")
    if not os.path.exists(command):
        pytest.skip("the command is not built")
    inspect = [command, "inspect", str(program), "--why", "--linalg", f"system={openblas()}"]
    process = subprocess.run(inspect, capture_output=True, text=True)
    assert process.returncode == 0 and f"call the routines of {openblas()}" in process.stdout, process
    process = subprocess.run([*inspect, "--json"], capture_output=True, text=True)
    assert json.loads(process.stdout)["lapack_library"] == str(openblas()), process
    process = subprocess.run([command, "run", str(program), "--fill", "rand", "--linalg", "mkl"], capture_output=True, text=True)
    assert "it must be built-in, system or system=PATH" in process.stderr
