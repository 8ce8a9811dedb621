"""Random JAX programs, in XLA and in the engine: integers and booleans are equal, floats are close.

A program is the text of a function, whose operations use arguments and earlier results. A failing program is
printed, and can be run by itself.

    # A long run, of other programs:
    FARCALL_FUZZ_SEED=2 FARCALL_FUZZ_ITERATIONS=9000 pytest python/tests/test_random_programs.py
    # One program, printed:
    FARCALL_FUZZ_ONLY=123 pytest python/tests/test_random_programs.py
"""

import os

import numpy as np
import pytest

jax = pytest.importorskip("jax")
jnp = jax.numpy
lax = jax.lax

import farcall  # noqa: E402, once JAX is known to be installed

FLOATS = ["float32", "float32", "float32", "bfloat16", "float16"]
INTS = ["int32", "int32", "int8", "uint8", "int16", "uint32"]

#: Maximum difference of results, relative to the largest number of an array. The tolerance of a program is
#: the tolerance of its coarsest type, because all results may depend on values of this type.
TOLERANCE = {"float32": 2e-4, "complex64": 2e-4, "bfloat16": 6e-2, "float16": 1e-2}

#: Default number of programs in a run, which takes about a minute. FARCALL_FUZZ_ITERATIONS replaces it, and
#: FARCALL_FUZZ_FACTOR multiplies it. FARCALL_FUZZ_SEED (default 1) selects the programs of the run.
PROGRAMS = 150


class Program:
    """Text of a function `f`, and its arguments."""

    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)
        self.lines: list[str] = []
        self.values: list[tuple[str, tuple[int, ...], str]] = []
        self.arguments = [self.argument() for _ in range(self.random.integers(1, 4))]
        self.parameters = [name for name, *_ in self.values]
        wanted = int(self.random.integers(4, 13))
        for _ in range(20 * wanted):
            if len(self.lines) >= wanted:
                break
            self.operation()
        # All intermediate values are results, so that the first one that differs shows the wrong operation.
        results = [name for name, *_ in self.values[len(self.arguments) :]] or self.parameters
        self.text = "\n".join([f"def f({', '.join(self.parameters)}):", *self.lines, f"    return {', '.join(results)},"])
        self.text += self.transformed()
        self.tolerance = max((TOLERANCE[dtype] for _, _, dtype in self.values if dtype in TOLERANCE), default=2e-4)

    def choice(self, *of):
        return of[self.random.integers(len(of))]

    def shape(self) -> tuple[int, ...]:
        rank = self.choice(0, 1, 1, 2, 2, 3)
        return tuple(int(self.choice(0, 1, 1, 2, 3, 4, 5, 8)) for _ in range(rank))

    def argument(self) -> np.ndarray:
        dtype = self.choice(*FLOATS, *INTS, "bool")
        shape = self.shape()
        if self.values and self.random.random() < 0.5:
            shape = self.values[-1][1]
        if dtype == "bool":
            value = self.random.random(shape) < 0.5
        elif dtype in INTS:
            value = self.random.integers(0 if dtype[0] == "u" else -6, 7, shape)
        else:
            value = self.random.normal(0, 1.5, shape)
        self.values.append((f"x{len(self.values)}", shape, dtype))
        return np.asarray(value).astype(jnp.dtype(dtype))

    def pick(self, *kinds: str, least: int = 0):
        """Returns a random value of one of the kinds (`f`, `i`, `b`), of rank `least` or more; `None` if
        there is none."""
        fit = [v for v in self.values if kind(v[2]) in kinds and len(v[1]) >= least]
        # Prefers later values, so that programs are deep rather than wide.
        return fit[max(self.random.integers(len(fit), size=2))] if fit else None

    def add(self, expression: str) -> None:
        """Adds an operation, if JAX accepts it for operands of these types."""
        names = [name for name, *_ in self.values]
        known = [jax.ShapeDtypeStruct(shape, jnp.dtype(dtype)) for _, shape, dtype in self.values]
        try:
            result = jax.eval_shape(evaluated(f"lambda {', '.join(names)}: {expression}"), *known)
        except (TypeError, ValueError, ZeroDivisionError, IndexError, NotImplementedError):
            return
        if kind(str(result.dtype)) == "?" or np.prod(result.shape) > 4096:
            return
        name = f"v{len(self.lines)}"
        self.lines.append(f"    {name} = {expression}")
        self.values.append((name, tuple(result.shape), str(result.dtype)))

    def operation(self) -> None:
        family = self.choice(*FAMILIES)
        text = family(self)
        if text is not None:
            self.add(text)

    def transformed(self) -> str:
        """Returns the text that defines the function `run`: `f` itself, its vmap, or its gradient."""
        floats = [i for i, x in enumerate(self.arguments) if kind(str(x.dtype)) == "f"]
        how = self.choice("", "", "vmap", "grad")
        if how == "vmap":
            self.arguments = [np.stack([x, x[::-1] if x.ndim else x + x]).astype(x.dtype) for x in self.arguments]
            return "\nrun = jax.vmap(f)"
        if how == "grad" and floats:
            # With a sine instead, every gradient would depend on the last bit of a large bf16.
            total = "sum(jnp.sum(jnp.arctan(y.astype(jnp.float32))) for y in f(*xs) if jnp.issubdtype(y.dtype, jnp.floating))"
            return f"\nrun = jax.grad(lambda *xs: jnp.float32(0) + {total}, {tuple(floats)})"
        return "\nrun = f"


def kind(dtype: str) -> str:
    known = {"bool": "b", **dict.fromkeys(INTS, "i"), **dict.fromkeys(FLOATS, "f"), "uint16": "i"}
    return known.get(dtype, "?")


def evaluated(text: str):
    return eval(text, {"jax": jax, "jnp": jnp, "lax": lax, "np": np})


# ---- Families of operations: each returns an expression, or `None` if no value fits --------------


def unary(p):
    if (x := p.pick("f")) and p.random.random() < 0.7:
        bounded = f"jnp.clip({x[0]}, -4, 4)"
        return p.choice(
            f"jnp.{p.choice('tanh', 'abs', 'floor', 'ceil', 'sign', 'square', 'isnan', 'negative')}({x[0]})",
            f"jnp.{p.choice('sin', 'cos', 'exp', 'expm1', 'sinh', 'cosh', 'arctan', 'arcsinh', 'cbrt')}({bounded})",
            f"jnp.{p.choice('log', 'sqrt', 'log1p', 'reciprocal')}(jnp.abs({x[0]}) + 0.5)",
            f"jax.nn.{p.choice('relu', 'sigmoid', 'softplus', 'gelu', 'silu')}({bounded})",
            f"lax.{p.choice('erf', 'logistic', 'round')}({bounded})",
        )
    if x := p.pick("i"):
        name = p.choice("abs", "negative", "sign", "invert", "square")
        return p.choice(f"jnp.{name}({x[0]})", f"lax.{p.choice('population_count', 'clz')}({x[0]})")
    x = p.pick("b")
    return x and f"jnp.logical_not({x[0]})"


def binary(p):
    x = p.pick("f", "i")
    if not x:
        return None
    others = [v for v in p.values if v[2] == x[2] and broadcast(v[1], x[1])]
    y = others[p.random.integers(len(others))]
    safe = f"jnp.where({y[0]} == 0, jnp.ones_like({y[0]}), {y[0]})"
    if kind(x[2]) == "f":
        return p.choice(
            f"{x[0]} {p.choice('+', '-', '*')} {y[0]}",
            f"{x[0]} / (jnp.abs({y[0]}) + 0.5)",
            f"jnp.{p.choice('maximum', 'minimum', 'arctan2')}({x[0]}, {y[0]})",
            f"jnp.{p.choice('less', 'greater_equal', 'equal')}({x[0]}, {y[0]})",
            f"jnp.clip({x[0]}, -1, 1) ** {p.choice(2, 3)}",
        )
    return p.choice(
        f"{x[0]} {p.choice('+', '-', '*', '&', '|', '^')} {y[0]}",
        f"lax.{p.choice('div', 'rem')}(*jnp.broadcast_arrays({x[0]}, {safe}))",
        f"jnp.{p.choice('maximum', 'minimum', 'floor_divide', 'mod')}({x[0]}, {safe})",
        f"lax.{p.choice('shift_left', 'shift_right_logical', 'shift_right_arithmetic')}(*jnp.broadcast_arrays({x[0]}, {y[0]}))",
        f"jnp.{p.choice('less', 'not_equal')}({x[0]}, {y[0]})",
    )


def broadcast(a, b):
    return all(m == n or 1 in (m, n) for m, n in zip(a[::-1], b[::-1]))


def cast(p):
    x = p.pick("f", "i", "b")
    # The conversion of values that a type cannot hold is undefined.
    to = p.choice(*FLOATS, *INTS, "bool")
    held = f"jnp.clip({x[0]}, 0, 100)" if kind(x[2]) == "f" and to in INTS else x[0]
    return f"{held}.astype(jnp.{to.replace('bool', 'bool_')})"


def select(p):
    condition, x = p.pick("b"), p.pick("f", "i")
    return condition and x and f"jnp.where({condition[0]}, {x[0]}, {x[0]} + {x[0]})"


def movement(p):
    x = p.pick("f", "i", "b", least=1)
    if not x:
        return None
    rank = len(x[1])
    axis = int(p.random.integers(rank))
    size = x[1][axis]
    start, stop = sorted(int(i) for i in p.random.integers(0, size + 1, 2))
    index = ", ".join([*[":"] * axis, f"{start}:{stop}:{p.choice(1, 2)}"])
    return p.choice(
        f"jnp.transpose({x[0]}, {tuple(int(i) for i in p.random.permutation(rank))})",
        f"{x[0]}.reshape(-1)",
        f"{x[0]}[{index}]",
        f"jnp.flip({x[0]}, {axis})",
        f"jnp.roll({x[0]}, {int(p.random.integers(-3, 4))}, {axis})",
        f"jnp.concatenate([{x[0]}, {x[0]}], {axis})",
        f"jnp.pad({x[0]}, {[(int(a), int(b)) for a, b in p.random.integers(0, 3, (rank, 2))]})",
        f"lax.pad({x[0]}, jnp.zeros((), {x[0]}.dtype), {[tuple(map(int, c)) for c in np.column_stack([p.random.integers(-1, 3, (rank, 2)), p.random.integers(0, 3, rank)])]})",
        f"jnp.expand_dims({x[0]}, {axis})",
        f"jnp.broadcast_to({x[0]}, {(2, *x[1])})",
        f"jnp.tile({x[0]}, {int(p.random.integers(1, 3))})",
    )


def reduction(p):
    x = p.pick("f", "i", "b", least=1)
    if not x:
        return None
    axis = p.choice(None, *range(len(x[1])))
    if kind(x[2]) == "b":
        return f"jnp.{p.choice('any', 'all', 'sum')}({x[0]}, {axis})"
    names = ["sum", "max", "min", "argmax", "argmin", "prod"] + ["mean", "var"] * (kind(x[2]) == "f")
    return f"jnp.{p.choice(*names)}({x[0]}, {axis})"


def scan_like(p):
    x = p.pick("f", "i", least=1)
    if not x:
        return None
    axis = int(p.random.integers(len(x[1])))
    name = p.choice("cumsum", "cummax", "cummin", "cumprod", "cumlogsumexp" if kind(x[2]) == "f" else "cumsum")
    return f"lax.{name}({x[0]}, {axis}, reverse={p.choice(True, False)})"


def sorting(p):
    x = p.pick("f", "i", least=1)
    if not x:
        return None
    axis = int(p.random.integers(len(x[1])))
    k = int(p.random.integers(0, x[1][-1] + 1))
    # These functions sort stably, so the order of equal numbers is defined.
    return p.choice(f"jnp.sort({x[0]}, {axis})", f"jnp.argsort({x[0]}, {axis})", f"lax.top_k({x[0]}, {k})[{p.choice(0, 1)}]")


def contraction(p):
    x, y = p.pick("f", "i", least=1), p.pick("f", "i", least=1)
    if not x or not y:
        return None
    return p.choice(
        f"jnp.matmul({x[0]}, {y[0]}.astype({x[0]}.dtype))",
        f"jnp.dot({x[0]}, {x[0]}.T)",
        f"jnp.einsum('...i,...i->...', {x[0]}, {x[0]})",
        f"jnp.tensordot({x[0]}, {y[0]}.astype({x[0]}.dtype), 1)",
        f"jnp.outer({x[0]}, {y[0]})",
    )


def gather(p):
    x = p.pick("f", "i", least=1)
    if not x or not x[1][0]:
        return None
    index = f"jnp.array({[int(i) for i in p.random.integers(-2, x[1][0] + 2, p.random.integers(0, 4))]}, jnp.int32)"
    mode = p.choice("clip", "fill", "wrap")
    if i := p.pick("i"):
        index = p.choice(index, f"jnp.clip({i[0]}, 0, 100).astype(jnp.int32)")
    dynamic = f"lax.dynamic_slice({x[0]}, {[f'jnp.int32({int(s)})' for s in p.random.integers(-2, 6, len(x[1]))]}, {[int(p.random.integers(0, s + 1)) for s in x[1]]})"
    return p.choice(
        f"jnp.take({x[0]}, {index}, 0, mode={mode!r})",
        f"{x[0]}.at[{index}].get(mode={p.choice('clip', 'fill')!r})",
        dynamic.replace("'", ""),
    )


def scatter(p):
    x = p.pick("f", "i", least=1)
    if not x:
        return None
    count = int(p.random.integers(0, 4))
    # The result of `set` is undefined for repeated indices, so they are distinct.
    method = p.choice("set", "add", "max", "min", "mul")
    indices = p.random.permutation(x[1][0] + 3)[:count] if method == "set" else p.random.integers(0, x[1][0] + 3, count)
    index = f"jnp.array({[int(i) for i in indices]}, jnp.int32)"
    update = f"lax.dynamic_update_slice({x[0]}, {x[0]}[:{count}] + {x[0]}[:{count}], {[int(s) for s in p.random.integers(-1, 4, len(x[1]))]})"
    return p.choice(f"{x[0]}.at[{index}].{method}({p.choice(2, 3)}, mode={p.choice('drop', 'clip')!r})", update)


def windows(p):
    x = p.pick("f", least=1)
    if not x:
        return None
    size = tuple(int(p.random.integers(1, 4)) for _ in x[1])
    strides = tuple(int(p.random.integers(1, 3)) for _ in x[1])
    name, init = p.choice(("max", "-jnp.inf"), ("add", "0."), ("min", "jnp.inf"))
    init = f"jnp.array({init}, {x[0]}.dtype)"
    padding = p.choice("'SAME'", "'VALID'")
    convolution = f"jnp.convolve({x[0]}.reshape(-1), {x[0]}.reshape(-1)[:3], {p.choice('same', 'full', 'valid')!r})"
    return p.choice(f"lax.reduce_window({x[0]}, {init}, lax.{name}, {size}, {strides}, {padding})", convolution)


def control(p):
    x, condition = p.pick("f", "i"), p.pick("b")
    if not x:
        return None
    n = int(p.random.integers(0, 5))
    body = p.choice("jnp.sin(jnp.clip(c, -4, 4))" if kind(x[2]) == "f" else "c ^ 3", "c + c", "jnp.maximum(c, -c)", "c - 1")
    texts = [
        f"lax.fori_loop(0, {n}, lambda i, c: ({body}).astype(c.dtype), {x[0]})",
        f"lax.scan(lambda c, _: (({body}).astype(c.dtype), c), {x[0]}, None, length={n})[{p.choice(0, 1)}]",
        f"lax.switch({int(p.random.integers(-1, 4))}, [lambda c: c, lambda c: ({body}).astype(c.dtype)], {x[0]})",
        f"lax.while_loop(lambda s: s[0] < {n}, lambda s: (s[0] + 1, ({body.replace('c', 's[1]') if body[0] != 'j' else 's[1] + s[1]'}).astype(s[1].dtype)), (0, {x[0]}))[1]",
        f"lax.map(lambda c: ({body}).astype(c.dtype), jnp.atleast_1d({x[0]}))",
    ]
    if condition:
        texts.append(f"lax.cond(jnp.any({condition[0]}), lambda c: ({body}).astype(c.dtype), lambda c: c, {x[0]})")
    return p.choice(*texts)


def made(p):
    n = int(p.random.integers(0, 6))
    return p.choice(f"jnp.arange({n})", f"jnp.eye({n})", f"jnp.linspace(0, 1, {n + 1})", f"lax.broadcasted_iota(jnp.int32, ({n}, 2), 0)")


FAMILIES = [unary, unary, unary, unary, binary, binary, binary, binary, cast, cast, select, movement, movement, reduction, reduction, scan_like]
FAMILIES += [sorting, contraction, contraction, gather, gather, scatter, scatter, windows, control, control, made]


# ---- Running ------------------------------------------------------------------------------------


def check(seed: int) -> None:
    """Runs the program of a seed in XLA and in the engine, and compares the results."""
    program = Program(seed)
    names = {"jax": jax, "jnp": jnp, "lax": lax, "np": np}
    exec(program.text, names)
    try:
        lowered = jax.jit(names["run"]).lower(*program.arguments)
    except (TypeError, ValueError, NotImplementedError):  # JAX cannot differentiate or batch the program
        if "run = jax.vmap" in program.text:
            return
        lowered = jax.jit(names["f"]).lower(*program.arguments)
    def compare_with(expected):
        for i, (a, b) in enumerate(zip(found, jax.tree.leaves(expected), strict=True)):
            compare(a, np.asarray(b), program.tolerance, f"result {i}")

    expected = lowered.compile()(*program.arguments)
    try:
        found = jax.tree.leaves(farcall.compile(lowered, denormals="flush")(*program.arguments))
        try:
            compare_with(expected)
        except AssertionError:
            # XLA's algebraic simplifier replaces `x * indicator` by a select, which loses NaNs of `x`.
            compare_with(lowered.compile({"xla_disable_hlo_passes": "algsimp"})(*program.arguments))
    except Exception as error:
        arguments = "\n".join(f"{name} = {x!r}" for name, x in zip(program.parameters, program.arguments))
        raise AssertionError(
            f"seed {seed}: {error}\n\n{program.text}\n\n{arguments}\n\n"
            f"FARCALL_FUZZ_ONLY={seed} pytest python/tests/test_random_programs.py"
        ) from error


def compare(found: np.ndarray, expected: np.ndarray, tolerance: float, what: str) -> None:
    assert found.dtype == expected.dtype and found.shape == expected.shape, what
    if str(found.dtype) not in TOLERANCE:
        np.testing.assert_array_equal(found, expected, what)
        return
    found, expected = found.astype(np.float32), expected.astype(np.float32)
    finite = np.abs(expected[np.isfinite(expected)])
    np.testing.assert_allclose(found, expected, tolerance, tolerance * max(1.0, finite.max(initial=0)), err_msg=what)


@pytest.fixture(autouse=True)
def quiet():
    with jax.enable_x64(False), np.errstate(all="ignore"):
        yield


def test_random_programs():
    if seed := os.environ.get("FARCALL_FUZZ_ONLY"):
        print(Program(int(seed)).text)
        return check(int(seed))
    number = lambda name, default: int(os.environ.get(f"FARCALL_FUZZ_{name}", default))  # noqa: E731
    count = number("ITERATIONS", PROGRAMS * number("FACTOR", 1))
    first = (number("SEED", 1) - 1) << 40
    seeds = range(first, first + count)
    failures = []
    for seed in seeds:
        try:
            check(seed)
        except AssertionError as error:
            failures.append(str(error))
        if seed % 100 == 99:
            jax.clear_caches()
    assert not failures, f"{len(failures)} of {count} programs differ\n\n" + "\n\n".join(failures[:20])
