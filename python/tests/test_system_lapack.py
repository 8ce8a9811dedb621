"""LAPACK calls that run in farcall's own routines, or in a LAPACK library of the system: here, the OpenBLAS in
SciPy's package."""

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
    process = subprocess.run([command, "run", str(program), "--fill", "rand", "--linalg", "mkl"], capture_output=True, text=True)
    assert "it must be built-in, system or system=PATH" in process.stderr
