"""LAPACK calls in farcall's engine, by its own handlers and by those of jaxlib.

The tests run the programs with which JAX checks that its later versions still run serialized programs. The
programs are modules as text, with outputs recorded on other machines with other builds of LAPACK. If a
factorization is not unique (eigenvectors up to a phase or a basis, singular vectors), the recorded outputs
are only one of many answers. The tests then check the defining properties of the factorization, like JAX's
own tests. A second test compares with XLA itself: on the same machine, with jaxlib's handlers, the bits must
be equal.
"""

import importlib
import itertools
import pkgutil
import re
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import farcall

DATA = "jax._src.internal_test_util.export_back_compat_test_data"


def modules(prefix: str = "") -> list:
    """Returns all recorded modules for the CPU in files with this prefix, as pytest parameters."""
    package = pytest.importorskip(DATA)
    found = []
    for info in pkgutil.iter_modules(package.__path__):
        if not info.name.startswith(prefix):
            continue
        for key, value in vars(importlib.import_module(f"{DATA}.{info.name}")).items():
            if key.startswith("data"):
                for path, record in records(value, [info.name.removeprefix("cpu_"), key.removeprefix("data_")]):
                    found.append(pytest.param(info.name, record, id="-".join(path)))
    return found


def records(value, path):
    if isinstance(value, dict) and "mlir_module_text" in value:
        if value["platform"] == "cpu":
            yield path, value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from records(inner, [*path, str(key)])
    elif isinstance(value, (list, tuple)):
        for i, inner in enumerate(value):
            yield from records(inner, [*path, str(i)])


MODULES = modules("cpu_")
ALL = modules()


def test_all_modules_are_found():
    assert len(MODULES) >= 44 and len(ALL) >= 48


@pytest.mark.parametrize("family, record", ALL)
def test_the_artifact_is_the_same_module_as_the_text(family, record):
    artifact = farcall.convert(record["mlir_module_serialized"], "stablehlo")
    assert artifact == farcall.convert(record["mlir_module_text"], "stablehlo")


@pytest.mark.parametrize("handlers", ["farcall", "jaxlib"])
@pytest.mark.parametrize("family, record", MODULES)
def test_gives_the_recorded_outputs(family, record, handlers, request):
    lapack = farcall.Registry() if handlers == "farcall" else request.getfixturevalue("lapack")
    names = {target.name for target in [*lapack.targets(), *lapack.built_ins()]}
    missing = [target for target in record["custom_call_targets"] if target not in names]
    assert handlers == "jaxlib" or not missing
    if missing:
        pytest.skip(f"this jaxlib has no {', '.join(missing)}")
    executable = farcall.compile(record["mlir_module_text"], lapack)
    outputs = executable.run(record["inputs"])
    expected = [np.asarray(e) for e in record["expected_outputs"]]
    assert [(o.dtype, o.shape) for o in outputs] == [(e.dtype, e.shape) for e in expected]
    single = any(o.dtype in (np.float32, np.complex64) for o in outputs)
    rtol, atol = (1e-3, 1e-4) if single else (1e-5, 1e-12)
    check = next((c for prefix, c in CHECKS.items() if family.startswith(prefix)), None)
    if check is None:
        for output, want in zip(outputs, expected):
            np.testing.assert_allclose(output, want, rtol=rtol, atol=atol)
    else:
        check(outputs, expected, record["inputs"], rtol, atol)
    # A second run returns the same outputs.
    for first, second in zip(outputs, executable.run(record["inputs"])):
        np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("family, record", MODULES)
def test_gives_the_bits_that_xla_gives(family, record, lapack, xla):
    outputs = farcall.compile(record["mlir_module_text"], lapack).run(record["inputs"])
    for output, want in zip(outputs, xla(record["mlir_module_text"], record["inputs"]), strict=True):
        np.testing.assert_array_equal(output, want, strict=True)


def untyped_call(result, target, operands, results, alias, version=2, batch=None):
    """Returns a call as JAX wrote it until 2024: without a configuration, sizes and options as operands, and
    column-major matrices. The operand `alias` becomes the first result. Operands are values with their types.
    Tensors whose first dimension is `batch` are batches."""

    def layout(ty):
        dims = re.findall(r"(\d+)x", ty)
        first = int(dims[:1] == [str(batch)])
        order = [*range(first, len(dims)), *range(first)]
        return f"dense<{order or ''}> : tensor<{len(dims)}xindex>"

    names, types = zip(*operands)
    index = "[0]" if len(results) > 1 else "[]"
    returned = ", ".join(results)
    aliases = f"""output_operand_aliases = [#stablehlo.output_operand_alias<
            output_tuple_indices = {index}, operand_index = {alias}, operand_tuple_indices = []>],"""
    return f"""
        %{result}{f":{len(results)}" if len(results) > 1 else ""} = stablehlo.custom_call @{target}({", ".join(names)}) {{
          api_version = {version} : i32, backend_config = "", {"" if alias is None else aliases}
          operand_layouts = [{", ".join(map(layout, types))}], result_layouts = [{", ".join(map(layout, results))}]
        }} : ({", ".join(types)}) -> {f"({returned})" if len(results) > 1 else returned}"""


CONSTANTS = "".join(
    f"%{name} = stablehlo.constant dense<{value}> : tensor<{ty}>\n"
    for name, value, ty in [("count", 1, "i64"), ("no", 0, "i32"), ("yes", 1, "i32"), ("four", 4, "i32"), ("eight", 8, "i32")]
)
TYPES = {
    "s": ("f32", "1.0", np.float32),
    "d": ("f64", "1.0", np.float64),
    "c": ("complex<f32>", "(1.0, 0.0)", np.complex64),
    "z": ("complex<f64>", "(1.0, 0.0)", np.complex128),
}


def numbers(dtype, *shape):
    rng = np.random.default_rng(7)
    x = rng.normal(size=shape)
    return (x + 1j * rng.normal(size=shape) if np.dtype(dtype).kind == "c" else x).astype(dtype)


def tolerance(dtype):
    return 1000 * np.finfo(dtype).eps


@pytest.mark.parametrize("version", [1, 2, 3])
@pytest.mark.parametrize("letter", TYPES)
def test_untyped_calls_of_old_programs_solve(letter, version):
    ty, one, dtype = TYPES[letter]
    count, size, flag, scale = ("%count", "tensor<i64>"), ("%four", "tensor<i32>"), "tensor<i32>", ("%one", f"tensor<{ty}>")
    square, sides = f"tensor<4x4x{ty}>", f"tensor<4x2x{ty}>"
    sizes = [size, size, size]
    lower = [(f"%{option}", flag) for option in ("yes", "yes", "no", "yes")]
    upper = [(f"%{option}", flag) for option in ("yes", "no", "no", "no")]
    program = f"""
      func.func @main(%a: {square}, %b: {sides}) -> ({sides}, tensor<4xi32>, tensor<i32>) {{
        {CONSTANTS}
        %one = stablehlo.constant dense<{one}> : tensor<{ty}>
        {untyped_call("lu", f"lapack_{letter}getrf", [count, size, size, ("%a", square)], [square, "tensor<4xi32>", flag], 3, version)}
        {untyped_call("y", f"blas_{letter}trsm", [*lower, *sizes, scale, ("%lu#0", square), ("%b", sides)], [sides], 9, version)}
        {untyped_call("x", f"blas_{letter}trsm", [*upper, *sizes, scale, ("%lu#0", square), ("%y", sides)], [sides], 9, version)}
        return %x, %lu#1, %lu#2 : {sides}, tensor<4xi32>, tensor<i32>
      }}"""
    # The diagonal is dominant, so no rows are exchanged.
    a, b = numbers(dtype, 4, 4) + 20 * np.eye(4, dtype=dtype), numbers(dtype, 4, 2)
    x, pivots, info = farcall.compile(program, farcall.Registry())(a, b)
    np.testing.assert_allclose(x, np.linalg.solve(a, b), rtol=tolerance(dtype), atol=tolerance(dtype))
    np.testing.assert_array_equal(pivots, [1, 2, 3, 4])
    assert info == 0


@pytest.mark.parametrize("letter", TYPES)
def test_untyped_calls_of_old_programs_factor(letter):
    ty, _, dtype = TYPES[letter]
    count, size, flag = ("%count", "tensor<i64>"), ("%four", "tensor<i32>"), "tensor<i32>"
    square, taus, work = f"tensor<4x4x{ty}>", f"tensor<4x{ty}>", f"tensor<8x{ty}>"
    generate = f"lapack_{letter}{'un' if np.dtype(dtype).kind == 'c' else 'or'}gqr"
    workspace = ("%eight", flag)
    program = f"""
      func.func @main(%a: {square}, %p: {square}) -> ({square}, {square}, {square}) {{
        {CONSTANTS}
        {untyped_call("c", f"lapack_{letter}potrf", [("%yes", flag), count, size, ("%p", square)], [square, flag], 3)}
        {untyped_call("f", f"lapack_{letter}geqrf", [count, size, size, workspace, ("%a", square)], [square, taus, flag, work], 4)}
        {untyped_call("q", generate, [count, size, size, size, workspace, ("%f#0", square), ("%f#1", taus)], [square, flag, work], 5)}
        return %c#0, %f#0, %q#0 : {square}, {square}, {square}
      }}"""
    a = numbers(dtype, 4, 4)
    positive = a @ adjoint(a) + np.eye(4, dtype=dtype)
    factor, packed, q = farcall.compile(program, farcall.Registry())(a, positive)
    close = {"rtol": tolerance(dtype), "atol": tolerance(dtype)}
    np.testing.assert_allclose(np.tril(factor), np.linalg.cholesky(positive), **close)
    np.testing.assert_allclose(q @ np.triu(packed), a, **close)
    np.testing.assert_allclose(adjoint(q) @ q, np.eye(4), **close)


REAL = {"f32": "f32", "f64": "f64", "complex<f32>": "f32", "complex<f64>": "f64"}


def old_program(letter, routine, operands, results, alias, shown, version=2):
    """Returns a program with a call of `lapack_*` for two 4×4 matrices, which returns the results `shown`. Types
    are `T` for the element type, `R` for its real type and `C` for its complex type. The operand `x` is the
    program's parameter."""
    ty = TYPES[letter][0]
    kinds = {"T": ty, "R": REAL[ty], "C": f"complex<{REAL[ty]}>"}
    full = lambda text: f"tensor<{re.sub('[TRC]', lambda kind: kinds[kind[0]], text)}>"
    given = [(f"%{name}", full("2x4x4xT" if name == "x" else kind)) for name, kind in operands]
    kinds_of_results = [full(result) for result in results]
    call = untyped_call("y", f"lapack_{letter}{routine}", given, kinds_of_results, alias, version, batch=2)
    returned = [kinds_of_results[i] for i in shown]
    return f"""
      func.func @main(%x: {full("2x4x4xT")}) -> ({", ".join(returned)}) {{
        {CONSTANTS}
        %V = stablehlo.constant dense<86> : tensor<ui8>
        %N = stablehlo.constant dense<78> : tensor<ui8>
        {call}
        return {", ".join(f"%y#{i}" for i in shown)} : {", ".join(returned)}
      }}"""


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("letter", TYPES)
def test_untyped_calls_of_old_programs_decompose(letter, version):
    """Singular values, eigenvalues, Schur and Hessenberg forms by the names without `_ffi`, in batches."""
    dtype = TYPES[letter][-1]
    is_complex = np.dtype(dtype).kind == "c"
    close = {"rtol": tolerance(dtype), "atol": tolerance(dtype)}
    size = count = ("four", "i32")
    matrix, vector, less, info = "2x4x4xT", "2x4xT", "2x3xT", "2xi32"
    run = lambda program, x: farcall.compile(program, farcall.Registry()).run([x])
    a = numbers(dtype, 2, 4, 4)
    hermitian = a + adjoint(a)

    works = ["32xi32", *(["9xR"] if is_complex else []), "70xT"]
    options = [("yes", "i32"), ("yes", "i32"), count, size, size, size, ("x", None)]
    results = [matrix, "2x4xR", matrix, matrix, info, *works]
    program = old_program(letter, "gesdd", options, results, 6, [1, 2, 3, 4], version)
    s, u, vt, failed = run(program, a)
    np.testing.assert_allclose((u * s[:, None, :]) @ vt, a, **close)
    np.testing.assert_allclose(s, np.linalg.svd(a, compute_uv=False), **close)
    assert not failed.any()

    name = "heevd" if is_complex else "syevd"
    works = ["70xT", *(["9xR"] if is_complex else []), "23xi32"]
    program = old_program(letter, name, [("yes", "i32"), count, size, ("x", None)], [matrix, "2x4xR", info, *works], 3, [0, 1], version)
    v, w = run(program, hermitian)
    np.testing.assert_allclose(hermitian @ v, v * w[:, None, :], **close)
    np.testing.assert_allclose(w, np.linalg.eigvalsh(hermitian), **close)

    name = "hetrd" if is_complex else "sytrd"
    options = [size, ("yes", "i32"), size, count, size, ("x", None)]
    results = [matrix, "2x4xR", "2x3xR", less, info, "40xT"]
    _, d, e, _, _ = run(old_program(letter, name, options, results, 5, range(5), version), hermitian)
    tridiagonal = [np.diag(d) + np.diag(e, 1) + np.diag(e, -1) for d, e in zip(d, e)]
    np.testing.assert_allclose(np.linalg.eigvalsh(tridiagonal), np.linalg.eigvalsh(hermitian), **close)

    eigenvalues = [vector] if is_complex else [vector, vector]
    works = ["4x4xT", "8xR"] if is_complex else ["4x4xT"] * 3
    results = [*works, *eigenvalues, "2x4x4xC", "2x4x4xC", info]
    shown = range(len(works), len(results))
    *w, left, right, failed = run(old_program(letter, "geev", [count, size, ("V", "ui8"), ("V", "ui8"), ("x", None)], results, None, shown, version), a)
    w = w[0] if is_complex else w[0] + 1j * w[1]
    np.testing.assert_allclose(a @ right, right * w[:, None, :], **close)
    np.testing.assert_allclose(adjoint(left) @ a, w[:, :, None] * adjoint(left), **close)
    assert not failed.any()

    works = ["4xR"] if is_complex else []
    results = [matrix, *works, *eigenvalues, matrix, info, info]
    shown = [0, len(results) - 3, len(results) - 1]
    t, vectors, failed = run(old_program(letter, "gees", [count, size, ("V", "ui8"), ("N", "ui8"), ("x", None)], results, 4, shown, version), a)
    np.testing.assert_allclose(vectors @ t @ adjoint(vectors), a, **close)
    assert not failed.any()

    options = [size, ("yes", "i32"), size, size, count, size, ("x", None)]
    h, _, failed = run(old_program(letter, "gehrd", options, [matrix, less, info, "40xT"], 6, range(3), version), a)
    np.testing.assert_allclose(np.trace(h, axis1=1, axis2=2), np.trace(a, axis1=1, axis2=2), **close)
    assert not failed.any()


def test_all_names_of_old_versions_are_built_in():
    """jaxlib registered 44 names without the suffix `_ffi` until 2024."""
    built_in = {target.name for target in farcall.Registry().built_ins()}
    real = "trsm potrf getrf geqrf orgqr gesdd syevd sytrd geev gees gehrd".split()
    complex_names = {"orgqr": "ungqr", "syevd": "heevd", "sytrd": "hetrd"}
    names = [f"{'blas' if name == 'trsm' else 'lapack'}_{letter}{name}" for letter in "sd" for name in real]
    names += [f"{'blas' if name == 'trsm' else 'lapack'}_{letter}{complex_names.get(name, name)}" for letter in "cz" for name in real]
    assert len(names) == 44 and set(names) <= built_in

def tpu_functions():
    """Returns functions whose programs for TPUs have custom calls, with the number of their operands, and whether
    these calls have default bodies."""
    jax = pytest.importorskip("jax")
    numpy, scipy = jax.numpy.linalg, jax.scipy.linalg

    # The factors of these decompositions are not unique, but their product is.
    def eigh(a):
        w, v = numpy.eigh(a)
        return (v * w[..., None, :]) @ v.conj().mT

    def svd(a):
        u, s, vt = numpy.svd(a, full_matrices=False)
        return (u * s[..., None, :]) @ vt

    return {
        "solve": (numpy.solve, 2, False),
        "inv": (numpy.inv, 1, False),
        "det": (numpy.det, 1, False),
        "slogdet": (numpy.slogdet, 1, False),
        "expm": (scipy.expm, 1, False),
        "lu_factor": (scipy.lu_factor, 1, False),
        "lu_solve": (lambda a, b: scipy.lu_solve(scipy.lu_factor(a), b), 2, False),
        "gradient": (jax.grad(lambda a: abs(numpy.det(a)).sum()), 1, False),
        "qr": (lambda a: jax.numpy.matmul(*numpy.qr(a)), 1, True),
        "complete_qr": (lambda a: jax.numpy.matmul(*numpy.qr(a[..., :2], mode="complete")), 1, True),
        "eigh": (eigh, 1, True),
        "svd": (svd, 1, True),
        "pinv": (numpy.pinv, 1, True),
    }


@pytest.mark.parametrize("letter", TYPES)
@pytest.mark.parametrize(
    "name", "solve inv det slogdet expm lu_factor lu_solve gradient qr complete_qr eigh svd pinv".split()
)
def test_programs_for_tpus(name, letter):
    jax = pytest.importorskip("jax")
    dtype = TYPES[letter][-1]
    function, operands, has_bodies = tpu_functions()[name]
    with jax.enable_x64(True):
        a = numbers(dtype, 2, 3, 4, 4)
        inputs = [a, a[..., :2] + 1][:operands]
        program = jax.export.export(jax.jit(function), platforms=["tpu"])(*inputs).mlir_module()
        assert "stablehlo.custom_call" in program and "@lapack" not in program
        for built_ins in [True, False] if has_bodies else [True]:
            executable = farcall.compile(program, registry=farcall.Registry(built_ins=built_ins))
            assert all(block.tag.startswith("xla.") and bool(block.target) == built_ins for block in executable.blocks)
            for output, want in zip(executable.run(inputs), jax.tree.leaves(function(*inputs)), strict=True):
                np.testing.assert_allclose(
                    output, want, rtol=tolerance(dtype), atol=10 * tolerance(dtype), strict=True
                )


@pytest.mark.parametrize("built_ins", [True, False])
def test_recorded_qr_factorizations_and_eigendecompositions_for_tpus(built_ins):
    """The calls have tuples as their results. `Eigh` has a configuration. A TPU's eigenvalues have errors of 1e-3."""
    pytest.importorskip(DATA)
    for module, name, check in [("tpu_Qr", "data_2023_03_17", qr), ("tpu_Eigh", "data", eigh)]:
        record = getattr(importlib.import_module(f"{DATA}.{module}"), name)
        executable = farcall.compile(record["mlir_module_text"], farcall.Registry(built_ins=built_ins))
        assert executable.blocks and all(bool(block.target) == built_ins for block in executable.blocks)
        check(executable.run(record["inputs"]), record["expected_outputs"], record["inputs"], 2e-5, 2e-3)


def test_the_recorded_lu_factorization_for_tpus():
    """The call has a tuple as its result."""
    pytest.importorskip(DATA)
    record = importlib.import_module(f"{DATA}.tpu_Lu").data_2023_03_21
    outputs = farcall.compile(record["mlir_module_text"], farcall.Registry()).run(record["inputs"])
    for output, want in zip(outputs, record["expected_outputs"], strict=True):
        np.testing.assert_allclose(output, want, rtol=1e-6, strict=True)


@pytest.fixture(scope="module")
def xla():
    """Returns a function that compiles a program in jaxlib and runs it."""
    jax = pytest.importorskip("jax")
    from jaxlib import xla_client

    with jax.enable_x64(True):
        device = jax.devices("cpu")[0]

        def run(text, inputs):
            executable = device.client.compile_and_load(
                text, xla_client.DeviceList((device,)), xla_client.CompileOptions()
            )
            results = executable.execute_sharded([jax.device_put(x, device) for x in inputs])
            return [np.asarray(r[0]) for r in results.disassemble_into_single_device_arrays()]

        yield run


def counting(shape, dtype):
    """Returns the matrix of 0, 1, 2, … that programs without inputs factorize."""
    return np.arange(np.prod(shape)).astype(dtype).reshape(shape)


def adjoint(x):
    return np.conj(np.swapaxes(x, -1, -2))


def eig(outputs, expected, inputs, rtol, atol):
    w, left, right = outputs
    n = w.shape[-1]
    # The operand has real numbers for every type. Eigenvectors are complex even for real types.
    a = counting((n, n), np.float64)
    for one, other in itertools.permutations((w, expected[0])):
        distance = np.abs(one[:, None] - other[None, :]).min(axis=1)
        np.testing.assert_allclose(distance, 0, atol=max(atol, 100 * np.finfo(w.dtype).eps))
    limit = 100 * (n + 1) * np.finfo(w.dtype).eps
    assert np.linalg.norm(a @ right - right * w) < limit
    assert np.linalg.norm(adjoint(a) @ left - left * np.conj(w)) < limit


def eigh(outputs, expected, inputs, rtol, atol):
    v, w = outputs
    n = w.shape[-1]
    a = counting((n, n), v.dtype)
    a = (a + adjoint(a)) / 2
    assert np.linalg.norm(np.eye(n) - adjoint(v) @ v) <= rtol
    assert np.linalg.norm(a @ v - v * w) <= rtol * np.linalg.norm(a)
    np.testing.assert_allclose(w, expected[1], rtol=rtol, atol=atol)


def lu(outputs, expected, inputs, rtol, atol):
    packed, pivots, permutation = outputs
    n = packed.shape[-1]
    rows = np.arange(n)
    for i, pivot in enumerate(pivots):
        rows[[i, pivot]] = rows[[pivot, i]]
    np.testing.assert_array_equal(rows, permutation)
    product = (np.tril(packed, -1) + np.eye(n)) @ np.triu(packed)
    np.testing.assert_allclose(product, counting((n, n), packed.dtype)[rows], rtol=rtol, atol=atol)


def qr(outputs, expected, inputs, rtol, atol):
    q, r = outputs
    n = r.shape[-1]
    np.testing.assert_allclose(q @ r, counting((n, n), q.dtype), rtol=rtol, atol=atol)
    np.testing.assert_allclose(adjoint(q) @ q, np.eye(n), rtol=rtol, atol=rtol)
    np.testing.assert_allclose(abs(r), abs(expected[1]), rtol=rtol, atol=atol)
    np.testing.assert_array_equal(np.tril(r, -1), 0)


def schur(outputs, expected, inputs, rtol, atol):
    t, vectors = outputs
    [a] = inputs
    np.testing.assert_allclose(vectors @ t @ adjoint(vectors), a, rtol=rtol, atol=max(atol, 1e-11))
    np.testing.assert_allclose(adjoint(vectors) @ vectors, np.eye(len(a)), atol=100 * np.finfo(t.dtype).eps)
    # `t` is upper triangular, except for pairs of complex eigenvalues of a real matrix.
    below = np.tril(t, -2 if np.isrealobj(t) else -1)
    np.testing.assert_array_equal(below, 0)


def svd(outputs, expected, inputs, rtol, atol):
    u, s, vt = outputs
    [a] = inputs
    tolerance = 80 * np.finfo(a.dtype).eps
    k = s.shape[-1]
    error = np.linalg.norm(a - (u[..., :k] * s[..., None, :]) @ vt[..., :k, :], axis=(-2, -1))
    assert np.all(error <= 2 * tolerance * np.linalg.norm(a, axis=(-2, -1)))
    for unitary in (u, vt):
        eye = np.broadcast_to(np.eye(unitary.shape[-1]), unitary.shape)
        np.testing.assert_allclose(adjoint(unitary) @ unitary, eye, atol=tolerance)
    np.testing.assert_allclose(s, expected[1], rtol=rtol, atol=atol)


CHECKS = {"cpu_eig_": eig, "cpu_eigh_": eigh, "cpu_lu_": lu, "cpu_schur_": schur, "cpu_svd_": svd}


def run(code: str) -> str:
    result = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=True)
    return result.stdout


def test_farcall_has_a_handler_for_each_of_jaxlibs():
    pytest.importorskip("jaxlib.lapack")
    registered = {target.name for target in farcall.register_lapack(farcall.Registry())}
    built_in = {target.name for target in farcall.Registry().built_ins()}
    assert len(registered) >= 61 and registered <= built_in


def test_registered_handlers_take_precedence(lapack):
    jax = pytest.importorskip("jax")
    a = np.random.default_rng(0).normal(size=(40, 40)).astype("f")
    lowered = jax.jit(jax.numpy.linalg.inv).lower(a)
    by_jaxlib, by_farcall = (farcall.compile(lowered, registry=r)(a) for r in (lapack, farcall.Registry()))
    np.testing.assert_array_equal(by_jaxlib, jax.numpy.linalg.inv(a))
    assert not np.array_equal(by_farcall, by_jaxlib)
    np.testing.assert_allclose(by_farcall, by_jaxlib, rtol=1e-3, atol=1e-3)


def test_jaxlibs_handlers_are_registered_by_one_call():
    """The engine never uses jaxlib's handlers unless they are registered, even if jaxlib is imported. Without
    built-in handlers, the error names the registration function."""
    pytest.importorskip("jax")
    code = """
        import jax, jax.numpy as jnp, numpy as np, farcall
        a, b = np.eye(3, dtype="f") * 2, np.ones(3, "f")
        jnp.linalg.solve(a, b)
        for function in jnp.linalg.solve, lambda a, b: jnp.linalg.eigh(a)[0] * b, lambda a, b: jnp.linalg.svd(a)[1] * b:
            lowered = jax.jit(function).lower(a, b)
            registry = farcall.Registry(built_ins=False)
            try:
                farcall.compile(lowered, registry=registry)
            except farcall.MissingTargetError as error:
                assert "`farcall.register_lapack()` registers jaxlib's LAPACK handlers, all of them" in str(error), error
            else:
                raise AssertionError("the handlers are used without being registered")
            targets = farcall.register_lapack(registry)
            assert len(targets) == len(farcall.register_lapack(registry)) > 50
            np.testing.assert_allclose(farcall.compile(lowered, registry=registry)(a, b), function(a, b), rtol=1e-6)
        print("done")
    """
    assert run(code) == "done\n"


def test_without_jaxlib():
    code = """
        import sys
        sys.modules["jaxlib"] = None
        import farcall
        try:
            farcall.register_lapack()
        except ImportError as error:
            print(error)
    """
    assert run(code).startswith("the LAPACK handlers are jaxlib's, and call routines of SciPy: pip install jaxlib scipy")
