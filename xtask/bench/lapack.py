#!/usr/bin/env python3
"""Compares farcall's LAPACK handlers with jaxlib's, which call the OpenBLAS in SciPy.

    python lapack.py FOLDER [--filter TEXT] [--seconds N]

farcall's engine runs the same programs with both handlers, alternately in one process: a program is one call, for
one matrix of n×n, or for a batch of 1,000 matrices. Both sides have two threads, on two processors. Matrices are
random and column-major, so no side copies them to another layout. A time is the shortest of at least three runs. A
ratio is jaxlib's time divided by farcall's: above 1, farcall is faster.

Results are kept in FOLDER/lapack.json after each case, so that `--filter` can repeat some cases. The tables are
written to FOLDER/lapack.md.
"""

import argparse
import json
import os
import pathlib
import time

# Both sides count the processors when they start their threads.
THREADS = 2
os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:THREADS])
os.environ["OPENBLAS_NUM_THREADS"] = str(THREADS)
for name in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE"):
    os.environ.pop(name, None)

import ctypes  # noqa: E402

import numpy as np  # noqa: E402
import scipy.linalg  # noqa: E402
from machine import geometric_mean, processor  # noqa: E402

import farcall  # noqa: E402

SIZES = [8, 32, 128, 512, 1024]
BATCHES = [8, 16, 32]
BATCH = 1000
TYPES = {
    "s": ("f32", np.float32),
    "d": ("f64", np.float64),
    "c": ("complex<f32>", np.complex64),
    "z": ("complex<f64>", np.complex128),
}


class Call:
    """A call of a LAPACK target, and operands for it."""

    def __init__(self, target, attributes=""):
        self.target, self.attributes = target, attributes
        self.operands, self.results, self.aliases = [], [], []

    def operand(self, value, alias=None):
        """Adds an operand; `alias` is the index of the result in its memory."""
        if alias is not None:
            self.aliases.append((alias, len(self.operands)))
        self.operands.append(value)
        return self

    def result(self, element, *dims):
        """Adds a result; matrices are column-major."""
        self.results.append((element, dims))
        return self


NAMES = {np.dtype(dtype): name for name, dtype in TYPES.values()} | {np.dtype(np.int32): "i32"}


def text(call, batch):
    """Returns the program of a call. Its parameters and results are row-major, so column-major matrices are passed
    as their transposes, which need no copy."""
    lead = [batch] if batch else []
    ty = lambda dims, element: f"tensor<{''.join(f'{d}x' for d in dims)}{element}>"

    def layout(inner):
        first = len(lead)
        order = [*range(first, first + inner), *range(first)]
        return f"dense<{order or ''}> : tensor<{len(order)}xindex>"

    def turned(dims):
        order = [*range(len(lead)), len(lead) + 1, len(lead)]
        return [dims[i] for i in order], order

    parameters, body, given, types, layouts = [], [], [], [], []
    for i, value in enumerate(call.operands):
        element, dims = NAMES[value.dtype], list(value.shape)
        inner = len(dims) - len(lead)
        parameters.append(f"%a{i}: {ty(dims, element)}")
        layouts.append(layout(inner))
        if inner == 2:
            out, order = turned(dims)
            body.append(f"%t{i} = stablehlo.transpose %a{i}, dims = {order} : ({ty(dims, element)}) -> {ty(out, element)}")
            given.append(f"%t{i}")
            types.append(ty(out, element))
        else:
            given.append(f"%a{i}")
            types.append(ty(dims, element))
    kinds = [ty([*lead, *dims], element) for element, dims in call.results]
    aliases = ", ".join(
        f"#stablehlo.output_operand_alias<output_tuple_indices = [{'' if len(kinds) == 1 else result}], "
        f"operand_index = {operand}, operand_tuple_indices = []>"
        for result, operand in call.aliases
    )
    many = len(kinds) > 1
    body.append(
        f"%r{f':{len(kinds)}' if many else ''} = stablehlo.custom_call @{call.target}({', '.join(given)}) {{api_version = 4 : i32, "
        f"backend_config = {{{call.attributes}}}, output_operand_aliases = [{aliases}], operand_layouts = [{', '.join(layouts)}], "
        f"result_layouts = [{', '.join(layout(len(dims)) for _, dims in call.results)}]}} : ({', '.join(types)}) -> ({', '.join(kinds)})"
    )
    returned, out_types = [], []
    for i, (element, dims) in enumerate(call.results):
        name = f"%r#{i}" if many else "%r"
        if len(dims) == 2:
            out, order = turned([*lead, *dims])
            body.append(f"%u{i} = stablehlo.transpose {name}, dims = {order} : ({kinds[i]}) -> {ty(out, element)}")
            returned.append(f"%u{i}")
            out_types.append(ty(out, element))
        else:
            returned.append(name)
            out_types.append(kinds[i])
    body.append(f"return {', '.join(returned)} : {', '.join(out_types)}")
    return f"func.func @main({', '.join(parameters)}) -> ({', '.join(out_types)}) {{\n  " + "\n  ".join(body) + "\n}"


def cases(letter, n, batch):
    """Returns the calls of all routines by name, for an element type."""
    element, dtype = TYPES[letter]
    real = element.removeprefix("complex<").removesuffix(">")
    is_complex = letter in "cz"
    random = np.random.default_rng(n)
    lead = (batch,) if batch else ()

    def numbers(*shape):
        x = random.standard_normal((*lead, *shape))
        return (x + 1j * random.standard_normal(x.shape) if is_complex else x).astype(dtype)

    def adjoint(x):
        return np.conj(np.swapaxes(x, -1, -2))

    a = numbers(n, n)
    hermitian = a + adjoint(a)
    positive = (np.matmul(a, adjoint(a)) / n + np.eye(n)).astype(dtype)
    triangle = (np.tril(a) / np.sqrt(n) + 2 * np.eye(n)).astype(dtype)
    taus = (0.5 + 0 * numbers(n)).astype(dtype)
    square, vector, info = (element, n, n), (element, n), ("i32",)
    names = {"orgqr": "ungqr", "ormqr": "unmqr", "syevd": "heevd", "sytrd": "hetrd"} if is_complex else {}
    lapack = lambda name, attributes="": Call(f"lapack_{letter}{names.get(name, name)}_ffi", attributes)
    packed = scipy_reflectors(a, taus)

    calls = {
        "potrf": lapack("potrf", "uplo = 76 : ui8").operand(positive, 0).result(*square).result(*info),
        "getrf": lapack("getrf").operand(a, 0).result(*square).result("i32", n).result(*info),
        "geqrf": lapack("geqrf").operand(a, 0).result(*square).result(*vector),
        "geqp3": lapack("geqp3").operand(a, 0).operand(np.zeros((*lead, n), np.int32), 1).result(*square).result("i32", n).result(*vector),
        "orgqr": lapack("orgqr").operand(packed[0], 0).operand(packed[1]).result(*square),
        "ormqr": lapack("ormqr", "left = true, transpose = true").operand(packed[0]).operand(packed[1]).operand(a, 0).result(*square),
        "trsm": Call(f"lapack_{letter}trsm_ffi", "side = 76 : ui8, uplo = 85 : ui8, trans_x = 78 : ui8, diag = 78 : ui8")
        .operand(triangle)
        .operand(a, 0)
        .result(*square),
        "gtsv": lapack("gtsv").operand(numbers(n), 0).operand(4 + numbers(n), 1).operand(numbers(n), 2).operand(numbers(1, n), 3)
        .result(*vector).result(*vector).result(*vector).result(element, n, 1).result(*info),
        "syevd": lapack("syevd", "mode = 86 : ui8, uplo = 76 : ui8").operand(hermitian, 0).result(*square).result(real, n).result(*info),
        "sytrd": lapack("sytrd", "uplo = 76 : ui8").operand(hermitian, 0).result(*square).result(real, n).result(real, n - 1)
        .result(element, n - 1).result(*info),
        "gehrd": lapack("gehrd", f"low = 1 : i32, high = {n} : i32").operand(a, 0).result(*square).result(element, n - 1).result(*info),
    }
    for name in ("gesdd", "gesvd"):
        calls[name] = (
            lapack(name, "mode = 83 : ui8").operand(a, 0).result(*square).result(real, n).result(*square).result(*square).result(*info)
        )
    geev = lapack("geev", "compute_left = 78 : ui8, compute_right = 86 : ui8").operand(a)
    gees = lapack("gees", "mode = 86 : ui8, sort = 78 : ui8").operand(a, 0).result(*square).result(*square)
    complex_square = (element if is_complex else f"complex<{element}>", n, n)
    for _ in range(1 if is_complex else 2):
        geev, gees = geev.result(*vector), gees.result(*vector)
    calls["geev"] = geev.result(*complex_square).result(*complex_square).result(*info)
    calls["gees"] = gees.result(*info).result(*info)
    return calls


def scipy_reflectors(a, taus):
    """Returns matrices with reflectors, and their coefficients: the factors of the transposes, so that they are
    column-major."""
    [geqrf] = scipy.linalg.get_lapack_funcs(["geqrf"], [a])
    packed, tau = np.empty_like(a), np.empty_like(taus)
    for index in np.ndindex(a.shape[:-2]):
        factors, tau[index], _, info = geqrf(a[index].T)
        assert info == 0
        packed[index] = factors.T
    return packed, tau


def measure(program, inputs, registries, seconds):
    """Returns the shortest times of both sides in seconds, and the number of runs of each."""
    sides = [farcall.compile(program, registry=registry) for registry in registries]
    for side in sides:
        side.run(inputs)
    times, begin = [[], []], time.perf_counter()
    while len(times[0]) < 3 or time.perf_counter() - begin < seconds:
        for side, taken in zip(sides, times):
            start = time.perf_counter()
            side.run(inputs)
            taken.append(time.perf_counter() - start)
        if time.perf_counter() - begin > 10 * seconds:
            break
    return [min(taken) for taken in times], len(times[0])


def openblas():
    """Returns the configuration of SciPy's OpenBLAS with the kernel in use."""
    for line in pathlib.Path("/proc/self/maps").read_text().splitlines():
        path = line.split(maxsplit=5)[-1]
        if "openblas" in path and "scipy.libs" in path:
            library = ctypes.CDLL(path)
            library.scipy_openblas_get_config.restype = library.scipy_openblas_get_corename.restype = ctypes.c_char_p
            config, core = library.scipy_openblas_get_config().decode(), library.scipy_openblas_get_corename().decode()
            return f"{config.strip()}, kernel {core}, {library.scipy_openblas_get_num_threads()} threads"
    return "unknown"


def tables(results):
    """Returns the results as Markdown."""
    figures = results["cases"]
    families = sorted({name.split()[0] for name in figures}, key=lambda name: list(ORDER).index(name))
    lines = [
        "# LAPACK: farcall and jaxlib",
        "",
        f"{results['processor']}, {THREADS} threads. SciPy's OpenBLAS: {results['openblas']}. farcall {results['commit']},",
        f"{results['when']}. Ratios are jaxlib's time divided by farcall's: above 1, farcall is faster.",
    ]
    ratio = lambda family, letter, what: figures.get(f"{family} {letter} {what}", {}).get("ratio")

    def mean(family, whats):
        found = [ratio(family, letter, what) for letter in TYPES for what in whats]
        return geometric_mean([value for value in found if value])

    singles, batches = [str(n) for n in SIZES], [f"{BATCH}x{n}" for n in BATCHES]
    lines += ["", "## Geometric means over the four element types", ""]
    heads = ["routine", *(f"n = {n}" for n in singles), "all n", *(f"{BATCH} × {n}" for n in BATCHES), "all batches"]
    lines += [f"| {' | '.join(heads)} |", "| --- |" + " ---: |" * (len(heads) - 1)]
    show = lambda value: "" if value != value else f"{value:.2f}"
    for family in families:
        row = [mean(family, [n]) for n in singles] + [mean(family, singles)]
        row += [mean(family, [b]) for b in batches] + [mean(family, batches)]
        lines.append(f"| `{family}` | {' | '.join(map(show, row))} |")
    for letter, (element, _) in TYPES.items():
        lines += ["", f"## {element}", "", f"| {' | '.join(['routine', *heads[1:6], *heads[7:10]])} |", "| --- |" + " ---: |" * 8]
        for family in families:
            row = [figures.get(f"{family} {letter} {what}") for what in [*singles, *batches]]
            cells = [f"{figure['ratio']:.2f} ({1e3 * figure['farcall']:.3g} ms)" if figure else "" for figure in row]
            lines.append(f"| `{family}` | {' | '.join(cells)} |")
    lines.append("")
    return "\n".join(lines)


ORDER = "potrf getrf geqrf trsm geqp3 orgqr ormqr gtsv gesdd gesvd syevd sytrd geev gees gehrd".split()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--filter", default="", help="only cases whose names contain this text: `potrf d`, `x16`")
    parser.add_argument("--seconds", type=float, default=0.3, help="time for the runs of a case")
    args = parser.parse_args()
    store = args.folder / "lapack.json"
    results = json.loads(store.read_text()) if store.exists() else {"cases": {}}
    built_in, jaxlib = farcall.Registry(), farcall.Registry()
    farcall.register_lapack(jaxlib)
    results |= {"processor": processor(), "openblas": openblas(), "commit": os.environ.get("FARCALL_COMMIT", "")}
    results["when"] = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime())
    print(results["processor"], results["openblas"], sep="\n")
    wanted = lambda name: args.filter in name
    shapes = [(n, 0) for n in SIZES] + [(n, BATCH) for n in BATCHES]
    for n, batch in shapes:
        for letter in TYPES:
            what = f"{BATCH}x{n}" if batch else str(n)
            names = [name for name in ORDER if wanted(f"{name} {letter} {what}")]
            calls = cases(letter, n, batch) if names else {}
            for name in names:
                call = calls[name]
                (own, other), count = measure(text(call, batch), call.operands, [built_in, jaxlib], args.seconds)
                case = f"{name} {letter} {what}"
                results["cases"][case] = {"farcall": own, "jaxlib": other, "ratio": other / own, "runs": count}
                print(f"{case:20}{own * 1e3:10.3f}{other * 1e3:10.3f} ms{other / own:8.2f}x", flush=True)
                store.write_text(json.dumps(results, indent=1))
    page = tables(results)
    (args.folder / "lapack.md").write_text(page)
    print("\n" + page.split("\n## f32")[0])
    print(f"wrote {args.folder / 'lapack.md'}")


if __name__ == "__main__":
    main()
