"""The ops of examples/gallery: farcall's engine and jaxlib return the same results, under every
transformation.

Each op has a row in `CASES`: random operands, and the same function in `jax.numpy`. In jaxlib, JAX compiles
the op and runs it. In the engine, the op is called with NumPy arrays; for a transformed op, the engine runs
the program that JAX creates.
"""

import dataclasses
import functools
import inspect
import os
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from libraries import example

jax = pytest.importorskip("jax")
jnp = jax.numpy

import farcall  # noqa: E402
import unoptimized  # noqa: E402
from jax.test_util import check_grads  # noqa: E402
from unoptimized import jitted  # noqa: E402

#: Seeds for random operands. Each test runs with each seed.
SEEDS = range(int(os.environ.get("FARCALL_SEEDS", 2)))


@pytest.fixture(scope="module")
def gallery() -> farcall.Library:
    return farcall.load(example("gallery_ops"))


@pytest.fixture(autouse=True)
def x64():
    with jax.enable_x64(True):
        yield


class Random:
    """Random shapes and arrays, of one element type."""

    def __init__(self, seed: int, dtype: type, most: int = 5) -> None:
        self.generator = np.random.default_rng(seed)
        self.dtype = dtype
        self.most = most

    def size(self, least: int = 1) -> int:
        return int(self.generator.integers(least, self.most + 1))

    def batch(self, least: int = 1) -> tuple[int, ...]:
        return tuple(self.size(least) for _ in range(self.generator.integers(0, 3)))

    def array(self, *shape: int) -> np.ndarray:
        # The numbers are spaced so widely that a finite difference cannot change their order.
        steps = self.generator.permutation(int(np.prod(shape))) + self.generator.uniform(0.3, 0.7, int(np.prod(shape)))
        return (steps / max(steps.size, 4) * 4 - 2).reshape(shape).astype(self.dtype)

    def mask(self, *shape: int) -> np.ndarray:
        mask = self.generator.random(shape) < 0.6
        mask[..., :1] = True
        return mask

    def integers(self, *shape: int) -> np.ndarray:
        return self.generator.integers(-1, 6, shape).astype(np.int32)

    def complex(self, *shape: int) -> np.ndarray:
        return self.array(*shape) + self.dtype(1) * 1j * self.array(*shape)

    def like(self, x: np.ndarray) -> np.ndarray:
        of_kind = {"b": self.mask, "i": self.integers, "c": self.complex}
        return of_kind.get(x.dtype.kind, self.array)(*x.shape)

    def choice(self, *of: Any) -> Any:
        return of[self.generator.integers(len(of))]


@dataclasses.dataclass
class Case:
    """Operands of an op, and the same function in `jax.numpy`."""

    operands: Callable[[Random], list[np.ndarray]]
    reference: Callable[..., Any]
    #: Attributes that fit the operands.
    attributes: Callable[[Random, list[np.ndarray]], dict[str, Any]] = lambda random, operands: {}
    #: Kinds of derivatives that the op declares.
    vjp: bool = True
    jvp: bool = False
    #: The second derivatives that exist, by their names in `ORDERS`.
    second: tuple[str, ...] = ()


ORDERS = {
    "hessian": jax.hessian,
    "jacfwd of jacrev": lambda f, at: jax.jacfwd(jax.jacrev(f, at), at),
    "jacrev of jacfwd": lambda f, at: jax.jacrev(jax.jacfwd(f, at), at),
    "jacfwd of jacfwd": lambda f, at: jax.jacfwd(jax.jacfwd(f, at), at),
    "jacrev of jacrev": lambda f, at: jax.jacrev(jax.jacrev(f, at), at),
}
ANY_ORDER = tuple(ORDERS)
#: Second derivatives of ops whose backward op has a forward derivative.
FORWARD_OVER_REVERSE = ("hessian", "jacfwd of jacrev")


def scaled_rms_norm(x, scale, eps=float(np.float32(1e-6))):
    return x / jnp.sqrt((x * x).mean(-1, keepdims=True) + eps) * scale


def gemm_operands(random):
    batch, m, k, n = random.batch(), random.size(), random.size(0), random.size()
    return [random.array(*batch, m, k), random.array(*batch, k, n)]


def axpy_operands(random):
    batch = random.batch()
    return [random.array(), random.array(*batch), random.array(*batch)]


def polar_operands(random):
    batch = random.batch()
    return [random.array(*batch), random.array(*batch)]


def concat_operands(random):
    batch, d = random.batch(), random.size()
    return [random.array(*batch, random.size(0), d) for _ in range(random.choice(1, 2, 3))]


def norm_operands(random):
    x = random.array(*random.batch(), random.size())
    return [x, random.array(x.shape[-1])]


def softmax_operands(random):
    x = random.array(*random.batch(), random.size())
    return [x] if random.choice(True, False) else [x, random.mask(*x.shape)]


def normalize(x, parts=1):
    split = x.reshape(*x.shape[:-1], parts, -1)
    return (split / jnp.linalg.norm(split, axis=-1, keepdims=True)).reshape(x.shape)


def softmax(x, mask=None):
    return jax.nn.softmax(x, where=mask)


def recurrence(a, b):
    def step(h, ab):
        h = ab[0] * h + ab[1]
        return h, h

    _, h = jax.lax.scan(step, jnp.zeros_like(a[..., 0]), (jnp.moveaxis(a, -1, 0), jnp.moveaxis(b, -1, 0)))
    return jnp.moveaxis(h, 0, -1)


def recurrence_operands(random):
    batch, n = random.batch(), random.size()
    return [random.array(*batch, n), random.array(*batch, n)]


def segments(random):
    batch, n, d = random.batch(), random.size(), random.size()
    return [random.array(*batch, n, d), random.integers(*batch, n)]


def segment_sum(x, ids, segments):
    return jnp.einsum("...nd,...ns->...sd", x, jax.nn.one_hot(ids, segments, dtype=x.dtype))


def segment_take(y, ids, segments):
    return jnp.einsum("...sd,...ns->...nd", y, jax.nn.one_hot(ids, segments, dtype=y.dtype))


def pad(x, low, high, mode="zero"):
    edges = [(0, 0)] * (x.ndim - 1) + [(low, high)]
    return jnp.pad(x, edges, mode={"zero": "constant"}.get(mode, mode))


def labelled(random):
    batch, n = random.batch(), random.size()
    return [random.array(*batch, n), random.integers(*batch)]


def cross_entropy(x, labels):
    labelled = jax.nn.one_hot(labels, x.shape[-1], dtype=x.dtype)
    return -jnp.sum(labelled * jax.nn.log_softmax(x, -1), -1)


def sparse(random):
    batch, entries, k, n = random.batch(), random.size(0), random.size(), random.size()
    columns, starts = random.integers(entries), random.integers(random.size())
    return [random.array(*batch, entries), columns, starts, random.array(*batch, k, n)]


def csr_matmul(values, columns, starts, dense):
    entries = jnp.arange(values.shape[-1])
    rows = (starts[:-1, None] <= entries) & (entries < starts[1:, None])
    columns = jax.nn.one_hot(columns, dense.shape[-2], dtype=dense.dtype)
    return jnp.einsum("...e,me,ek,...kn->...mn", values, rows.astype(dense.dtype), columns, dense)


def signals(random):
    batch, n, k = random.batch(), random.size(), random.size()
    return [random.complex(*batch, n), random.complex(*batch, k)]


def complex_filter(x, h):
    n, k = x.shape[-1], h.shape[-1]
    padded = jnp.pad(x, [(0, 0)] * (x.ndim - 1) + [(k - 1, 0)])
    return sum(h[..., s, None] * padded[..., k - 1 - s :][..., :n] for s in range(k))


def images(random):
    batch, channels, outputs = random.batch(), random.size(), random.size()
    return [random.array(*batch, channels, random.size()), random.array(outputs, channels, random.size())]


def windows(random, operands):
    (n, k), dilation = (x.shape[-1] for x in operands), random.choice(1, 2)
    fits = max(0, dilation * (k - 1) + 1 - n + 1) // 2
    return random.choice({"stride": 1}, {"stride": 2}, {}) | {"dilation": dilation, "pad": fits + random.choice(0, 1)}


def conv1d(x, w, stride=1, dilation=1, pad=0):
    padded = jnp.pad(x, [(0, 0)] * (x.ndim - 1) + [(pad, pad)])
    last = padded.shape[-1] - dilation * (w.shape[-1] - 1)
    taps = (padded[..., s * dilation : s * dilation + last : stride] for s in range(w.shape[-1]))
    return sum(jnp.einsum("oc,...cm->...om", w[..., s], tap) for s, tap in enumerate(taps))


def mixed(random):
    batch, count = random.batch(), random.choice(1, 2)
    return [random.array(count), *(random.array(*batch) for _ in range(count))]


def sgd_step(weights, velocity, gradient, rate, momentum=0.9):
    v = momentum * velocity + gradient
    return weights - rate * v, v


def heads(random):
    batch, group, m, d = random.batch(), random.size(), random.size(), random.size()
    queries, keys = (group * random.choice(1, 2), random.size(), d), (group, m, d)
    return [random.array(*batch, *queries), random.array(*batch, *keys), random.array(*batch, *keys)]


def attention(q, k, v, causal=False):
    k, v = (jnp.repeat(x, q.shape[-3] // k.shape[-3], -3) for x in (k, v))
    scores = jnp.einsum("...nd,...md->...nm", q, k) * q.shape[-1] ** -0.5
    if causal:
        scores = jnp.where(jnp.tri(*scores.shape[-2:], dtype=bool), scores, -jnp.inf)
    return jnp.einsum("...nm,...md->...nd", jax.nn.softmax(scores, -1), v), jax.nn.logsumexp(scores, -1)


def alike(count):
    def operands(random):
        batch = random.batch()
        return [random.array(*batch) for _ in range(count)]

    return operands


def rows(random):
    return [random.array(*random.batch(), random.size())]


def matrices(random):
    return [random.array(*random.batch(), random.size(), random.size())]


def squares(random):
    n = random.size()
    return [random.array(*random.batch(), n, n)]


def rotary(x, position=0, base=10000.0):
    s, half = x.shape[-2], x.shape[-1] // 2
    angles = jnp.outer(position + jnp.arange(s), base ** -(jnp.arange(half) / half))
    even, odd = x[..., ::2], x[..., 1::2]
    cos, sin = jnp.cos(angles).astype(x.dtype), jnp.sin(angles).astype(x.dtype)
    return jnp.stack([even * cos - odd * sin, even * sin + odd * cos], -1).reshape(x.shape)


CASES = {
    "scaled_rms_norm": Case(norm_operands, scaled_rms_norm, lambda random, _: random.choice({}, {"eps": 0.125})),
    "normalize": Case(rows, normalize, lambda random, xs: random.choice({}, {"parts": xs[0].shape[-1]})),
    "gemm": Case(gemm_operands, jnp.matmul),
    "top_k": Case(rows, lambda x, k: tuple(jax.lax.top_k(x, k)), lambda random, xs: {"k": random.size(0) % (xs[0].shape[-1] + 1)}),
    "diagonal": Case(matrices, lambda x: jnp.diagonal(x, axis1=-2, axis2=-1), jvp=True),
    "polar": Case(polar_operands, lambda r, theta: r * jnp.exp(1j * theta), jvp=True),
    "axpy": Case(axpy_operands, lambda a, x, y: a * x + y, jvp=True),
    "column_sums": Case(rows, lambda x: x.sum(tuple(range(x.ndim - 1))), jvp=True),
    "concat": Case(concat_operands, lambda *xs: jnp.concatenate(xs, -2)),
    "soft_shrink": Case(
        rows,
        lambda x, lambda_=0.5: jnp.sign(x) * jnp.maximum(jnp.abs(x) - lambda_, 0),
        lambda random, _: random.choice({}, {"lambda_": 0.25}),
    ),
    "softmax": Case(softmax_operands, softmax),
    "log_sum_exp": Case(rows, lambda x: jax.nn.logsumexp(x, -1), vjp=False, jvp=True),
    "softplus": Case(lambda random: [random.array(*random.batch())], jax.nn.softplus, jvp=True, second=ANY_ORDER),
    "segment_sum": Case(segments, segment_sum, lambda random, _: {"segments": random.size(0)}, jvp=True, second=ANY_ORDER),
    "segment_take": Case(segments, segment_take, lambda _, xs: {"segments": xs[0].shape[-2]}, jvp=True, second=ANY_ORDER),
    "pad": Case(
        rows,
        pad,
        lambda random, _: {
            "low": random.size(0),
            "high": random.size(0),
            **random.choice({}, {"mode": "zero"}, {"mode": "edge"}, {"mode": "reflect"}, {"mode": "wrap"}),
        },
        jvp=True,
        second=ANY_ORDER,
    ),
    "recurrence": Case(recurrence_operands, recurrence, jvp=True, second=(*FORWARD_OVER_REVERSE, "jacfwd of jacfwd")),
    "cross_entropy": Case(labelled, cross_entropy, jvp=True, second=FORWARD_OVER_REVERSE),
    "csr_matmul": Case(sparse, csr_matmul, jvp=True, second=FORWARD_OVER_REVERSE),
    "complex_filter": Case(signals, complex_filter, jvp=True, second=FORWARD_OVER_REVERSE),
    "conv1d": Case(images, conv1d, windows, jvp=True, second=FORWARD_OVER_REVERSE),
    "mix": Case(mixed, lambda weights, *xs: sum(w * x for w, x in zip(weights, xs)), jvp=True, second=FORWARD_OVER_REVERSE),
    "sgd_step": Case(
        alike(3),
        sgd_step,
        lambda random, _: {"rate": 0.25, **random.choice({}, {"momentum": 0.5})},
        jvp=True,
        second=ANY_ORDER,
    ),
    "flash_attention": Case(heads, attention, lambda random, _: random.choice({}, {"causal": True})),
    "median": Case(rows, lambda x: jnp.sort(x)[..., (x.shape[-1] - 1) // 2], vjp=False),
    "hard_shrink": Case(
        lambda random: [random.array(*random.batch()), np.asarray(abs(random.array()), random.dtype)],
        lambda x, threshold: jnp.where(jnp.abs(x) > threshold, x, 0),
        jvp=True,
        second=ANY_ORDER,
    ),
    "square_block": Case(
        squares, lambda x, k: (x @ x)[..., :k, :k], lambda random, xs: {"k": 1 + random.size(0) % xs[0].shape[-1]}
    ),
    "rotary": Case(
        lambda random: [random.array(*random.batch(), random.size(), 2 * random.size())],
        rotary,
        lambda random, _: random.choice({}, {"position": np.int32(3)}) | random.choice({}, {"base": 100.0}),
        jvp=True,
        second=ANY_ORDER,
    ),
}

every_case = pytest.mark.parametrize("name", CASES)
every_seed = pytest.mark.parametrize("seed", SEEDS)


def case(gallery, name, seed, dtype=np.float64, most=5):
    """Returns the op and its reference as functions of the operands only, the operands, and their random
    number generator."""
    random = Random(seed * 1000 + list(CASES).index(name), dtype, most)
    operands = CASES[name].operands(random)
    attributes = CASES[name].attributes(random, operands)
    op = functools.partial(gallery[name], **attributes)
    return op, functools.partial(CASES[name].reference, **attributes), operands, random


def same(found, expected, tolerance=1e-9):
    assert jax.tree.structure(found) == jax.tree.structure(expected)
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(expected)):
        assert a.shape == b.shape and a.dtype == b.dtype
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


def on_both(function, *operands):
    """Returns the results of a JAX function in jaxlib, after checking that the engine returns the same."""
    lowered = jax.jit(function).lower(*operands)
    expected = lowered.compile(unoptimized.OPTIONS)(*operands)
    found = farcall.compile(lowered)(*jax.tree.map(np.asarray, operands))
    same(jax.tree.leaves(found), jax.tree.leaves(expected))
    return expected


def is_moved(array):
    return np.issubdtype(array.dtype, np.inexact)


def of_moved(function, operands):
    """Restricts the function to operands and results that have derivatives."""
    moved = [i for i, x in enumerate(operands) if is_moved(x)]

    def of(*values):
        given = list(operands)
        for i, value in zip(moved, values):
            given[i] = value
        return [y for y in jax.tree.leaves(function(*given)) if is_moved(y)]

    return of, [operands[i] for i in moved]


def random_like(random, value):
    parts = [random.generator.normal(size=value.shape) for _ in range(2)]
    return (parts[0] + 1j * parts[1] if np.iscomplexobj(value) else parts[0]).astype(value.dtype)


def test_every_op_is_here(gallery):
    derivatives = {name for name in dir(gallery) if name.endswith(("_fwd", "_bwd", "_jvp"))}
    assert set(dir(gallery)) - derivatives == {*CASES, "transpose", "tick"}
    assert "softplus, square_block, rotary, rotary_bwd, segment_sum, segment_take, pad, pad_bwd, recurrence" in repr(gallery)


@every_case
@every_seed
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_values(gallery, name, seed, dtype):
    op, reference, operands, _ = case(gallery, name, seed, dtype)
    expected = jitted(reference)(*operands)
    tolerance = 1e-4 if dtype == np.float32 else 1e-9
    in_engine = op(*operands)
    assert all(type(y) is np.ndarray for y in jax.tree.leaves(in_engine))
    same(in_engine, expected, tolerance)
    same(op(*map(jnp.asarray, operands)), expected, tolerance)
    same(jax.jit(op)(*operands), expected, tolerance)
    shapes = jax.eval_shape(op, *operands)
    same(jax.tree.map(lambda s: np.zeros(s.shape, s.dtype), shapes), jax.tree.map(np.zeros_like, expected))


@every_seed
@pytest.mark.parametrize("name", [name for name, c in CASES.items() if c.vjp])
def test_reverse_derivatives(gallery, name, seed):
    op, reference, operands, random = case(gallery, name, seed)
    moved, values = of_moved(op, operands)
    check_grads(moved, values, order=1, modes=["rev"], atol=1e-5, rtol=1e-5)
    cotangents = [random_like(random, y) for y in moved(*map(jnp.asarray, values))]
    found = on_both(lambda values, cotangents: jax.vjp(moved, *values)[1](cotangents), values, cotangents)
    known, _ = of_moved(reference, operands)
    same(found, jitted(lambda values, cotangents: jax.vjp(known, *values)[1](cotangents))(values, cotangents))


@every_seed
@pytest.mark.parametrize("name", [name for name, c in CASES.items() if c.jvp])
def test_forward_derivatives(gallery, name, seed):
    op, reference, operands, random = case(gallery, name, seed)
    moved, values = of_moved(op, operands)
    check_grads(moved, values, order=1, modes=["fwd"], atol=1e-5, rtol=1e-5)
    tangents = [random_like(random, x) for x in values]
    found = on_both(lambda values, tangents: jax.jvp(moved, values, tangents), values, tangents)
    known, _ = of_moved(reference, operands)
    same(found, jitted(lambda values, tangents: jax.jvp(known, values, tangents))(values, tangents))
    if CASES[name].vjp:
        cotangents = [random_like(random, y) for y in found[1]]
        gradients = jax.vjp(moved, *values)[1](list(map(jnp.asarray, cotangents)))
        # Neither product conjugates a factor, as in JAX; only the real parts must be equal.
        along = sum(np.sum(np.real(c * t)) for c, t in zip(cotangents, found[1]))
        back = sum(np.sum(np.real(g * t)) for g, t in zip(gradients, tangents))
        np.testing.assert_allclose(along, back, rtol=1e-9, atol=1e-9)


def batched(random, operands, size):
    """Adds an axis at random positions of some operands. Returns the operands and the positions."""
    axes = [random.choice(None, *range(-x.ndim - 1, x.ndim + 1)) for x in operands]
    if all(axis is None for axis in axes):
        axes[0] = 0
    stacks = []
    for x, axis in zip(operands, axes):
        if axis is None:
            stacks.append(x)
        else:
            stacks.append(np.stack([random.like(x) for _ in range(size)], axis))
    return stacks, axes


def looped(function, stacks, axes, size):
    """Applies the function to each entry of a batch, one after another, and stacks the results."""
    entries, function = [], jitted(function)
    for i in range(size):
        given = [x if axis is None else np.take(x, i, axis) for x, axis in zip(stacks, axes)]
        entries.append(function(*map(jnp.asarray, given)))
    return jax.tree.map(lambda *ys: jnp.stack(ys), *entries)


@every_case
@every_seed
def test_batches(gallery, name, seed):
    op, _, operands, random = case(gallery, name, seed)
    size = random.size()
    stacks, axes = batched(random, operands, size)
    expected = looped(op, stacks, axes, size)
    same(on_both(jax.vmap(op, tuple(axes)), *stacks), expected)
    # In the results, the batch axis may also come last.
    out = -1
    moved = jax.tree.map(lambda y: jnp.moveaxis(y, 0, out), expected)
    same(jax.vmap(op, tuple(axes), out_axes=out)(*stacks), moved)


@every_seed
@pytest.mark.parametrize("name", [name for name, c in CASES.items() if c.vjp or c.jvp])
def test_batches_of_derivatives(gallery, name, seed):
    op, _, operands, random = case(gallery, name, seed)
    size = random.size()
    stacks, axes = batched(random, operands, size)

    def derivatives(*given):
        moved, values = of_moved(op, given)
        found = []
        if CASES[name].vjp:
            ys, back = jax.vjp(moved, *values)
            found.append(back([jnp.cos(jnp.arange(y.size, dtype=float)).reshape(y.shape).astype(y.dtype) for y in ys]))
        if CASES[name].jvp:
            tangents = [jnp.sin(jnp.arange(x.size, dtype=float) + 1).reshape(x.shape).astype(x.dtype) for x in values]
            found.append(jax.jvp(moved, values, tangents))
        return found

    same(on_both(jax.vmap(derivatives, tuple(axes)), *stacks), looped(derivatives, stacks, axes, size))


@pytest.mark.parametrize("name", [name for name, c in CASES.items() if c.vjp])
def test_derivatives_of_batches(gallery, name):
    op, reference, operands, random = case(gallery, name, 0)
    stacks, axes = batched(random, operands, 3)

    def loss(function):
        def of(*values):
            return sum(jnp.sum(jnp.sin(jnp.real(y)) + jnp.imag(y)) for y in moved(*values))

        moved, values = of_moved(jax.vmap(function, tuple(axes)), stacks)
        return jax.grad(of, tuple(range(len(values)))), values

    gradient, values = loss(op)
    same(on_both(gradient, *values), jitted(loss(reference)[0])(*values))


def test_several_variadic_operands_are_lists(gallery):
    weights, dweights = np.float32([2, 3]), np.float32([5, 7])
    xs, dxs = [np.float32([1]), np.float32([10])], [np.float32([100]), np.float32([1000])]
    expected = 5 * 1 + 7 * 10 + 2 * 100 + 3 * 1000
    assert gallery.mix_jvp(weights, dweights, xs, dxs) == expected
    assert jax.jit(lambda xs: gallery.mix_jvp(weights, dxs=dxs, xs=xs, dweights=dweights))(xs) == expected
    of_weights, of_xs = gallery.mix_bwd_jvp(weights, dweights, np.float32([1]), np.float32([0]), xs, dxs)
    np.testing.assert_array_equal(of_weights, [100, 1000])
    np.testing.assert_array_equal(of_xs, [[5], [7]])
    assert gallery.mix(weights, xs=xs) == gallery.mix(weights, *xs) == gallery.mix(weights, *xs, xs=None)
    line = "mix_jvp(weights, dweights, xs, dxs)"
    assert line in gallery.mix_jvp.__doc__ and str(inspect.signature(gallery.mix_jvp)) in line
    for operands, named, message in [
        ((weights, dweights, xs, dxs[:1]), {}, f"mix_jvp: xs has 2 entries, but dxs has 1: {line}"),
        ((weights, dweights, xs, [None, dxs[0]]), {}, f"mix_jvp: dxs[0] is None: {line}"),
        ((weights, dweights, *xs, *dxs), {}, "mix_jvp: 6 operands are given, but xs and dxs are lists, and attributes are"),
        ((weights, dweights, xs), {}, f"mix_jvp: missing dxs: {line}"),
        ((weights, dweights, xs, dxs), {"xs": xs}, "mix_jvp: xs is given twice"),
        ((weights, dweights, np.stack(xs), dxs), {}, f"mix_jvp: xs is a list of operands, not ndarray: {line}"),
    ]:
        with pytest.raises(TypeError, match=re.escape(message)):
            gallery.mix_jvp(*operands, **named)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_derivatives_in_half_precision(gallery, dtype):
    x = jnp.linspace(-4, 4, 9).astype(dtype)
    tolerance = {"float16": 2e-3, "bfloat16": 2e-2, "float32": 1e-6}.get(dtype, 1e-12)
    for transform in (lambda f: f, jax.grad, lambda f: jax.grad(jax.grad(f)), lambda f: jax.jacfwd(jax.grad(f))):
        found, expected = (jax.jit(jax.vmap(transform(f)))(x) for f in (gallery.softplus, jax.nn.softplus))
        assert found.dtype == expected.dtype == x.dtype
        np.testing.assert_allclose(found.astype("float64"), expected.astype("float64"), atol=tolerance, rtol=tolerance)


@pytest.mark.parametrize("axis", ["Auto", "Explicit"])
@every_seed
@pytest.mark.parametrize("name", [name for name in CASES if name != "column_sums"])
def test_batch_dimensions_are_sharded(gallery, name, seed, axis):
    op, _, operands, _ = case(gallery, name, seed)
    shared = {"scaled_rms_norm": [1], "axpy": [0], "csr_matmul": [1, 2], "conv1d": [1], "mix": [0], "hard_shrink": [1]}.get(name, [])
    stacks = [jnp.asarray(x) if i in shared else jnp.stack([x] * 16) for i, x in enumerate(operands)]
    mesh = jax.make_mesh((8,), ("d",), axis_types=(jax.sharding.AxisType[axis],))
    specs = [jax.sharding.PartitionSpec(*[] if i in shared else ["d"]) for i in range(len(stacks))]
    split = [jax.device_put(x, jax.sharding.NamedSharding(mesh, spec)) for x, spec in zip(stacks, specs)]
    compiled = jax.jit(op).lower(*split).compile()
    assert "all-gather" not in compiled.as_text()
    same(compiled(*split), op(*stacks))


def test_the_same_as_written(gallery):
    """Checks the batching that the signature promises, for one op of each kind."""
    said = {op.__name__: op.batching for op in gallery}
    assert said["gemm"] == "native"
    assert said["scaled_rms_norm"] == "native, a loop if scale is batched"
    assert said["column_sums"] == "loop: y is reduced over * (sum)"
    assert said["tick"] == "loop: it has a side effect, once for each entry"


@pytest.mark.parametrize("causal", [False, True])
def test_attention_in_tiles(gallery, causal):
    """Checks attention with more queries and keys than a tile holds. Their numbers are not multiples of the
    tile's size."""
    random = Random(5, np.float32)
    q, k, v = (random.generator.normal(size=(2, heads, n, 20)).astype(np.float32) for heads, n in [(4, 70), (2, 150), (2, 150)])
    weights = random.generator.normal(size=q.shape).astype(np.float32)

    def both(function):
        loss = lambda q, k, v: jnp.sum(function(q, k, v, causal=causal)[0] * weights) + jnp.sum(jnp.sin(function(q, k, v, causal=causal)[1]))
        return jax.jit(jax.value_and_grad(loss, (0, 1, 2)))(q, k, v)

    same(gallery.flash_attention(q, k, v, causal=causal), tuple(attention(q, k, v, causal)), 1e-5)
    same(both(gallery.flash_attention), both(attention), 1e-4)


def test_wrong_operands_in_the_words_of_the_op(gallery):
    x = np.ones((2, 3))
    cases = [
        (ValueError, r"gemm: b has k = 2 but a has k = 3", lambda x: gallery.gemm(x, x)),
        (ValueError, r"top_k: k <= n does not hold \(k = 4, n = 3\)", lambda x: gallery.top_k(x, k=4)),
        (TypeError, r"top_k: attribute k is missing", lambda x: gallery.top_k(x)),
        (TypeError, r"polar: theta is f32 but r is f64", lambda x: gallery.polar(x, x.astype(np.float32))),
        (TypeError, r"median: x must be f32 or f64, but is s32", lambda x: gallery.median(x.astype(np.int32))),
        (ValueError, r"concat: xs\[1\] has d = 2 but xs\[0\] has d = 3", lambda x: gallery.concat(x, x[:, :2])),
    ]
    for error, message, run in cases:
        for operand in (x, jnp.asarray(x)):
            with pytest.raises(error, match=message):
                run(operand)


def test_missing_derivatives(gallery):
    x = jnp.arange(4.0)
    with pytest.raises(TypeError, match=r"median .*add #\[vjp\(backward = …\)\]"):
        jax.grad(gallery.median)(x)
    with pytest.raises(TypeError, match=r"median .*add #\[jvp\(tangent = …\)\]|median .*add #\[vjp\(backward = …\)\]"):
        jax.jvp(gallery.median, (x,), (x,))
    message = r"add #\[transpose\(…\)\] to the declaration of log_sum_exp_jvp, .* or #\[vjp\(backward = …\)\]"
    with pytest.raises(TypeError, match=r"log_sum_exp has no reverse derivative, .*" + message):
        jax.grad(gallery.log_sum_exp)(x)
    with pytest.raises(TypeError, match=r"gemm has no forward derivative.*add #\[jvp\(tangent = …\)\]"):
        jax.jvp(gallery.gemm, (x[None], x[:, None]), (x[None], x[:, None]))
    with pytest.raises(TypeError, match=r"recurrence_bwd has no reverse derivative, .*add #\[transpose\(…\)\] to .* recurrence_bwd_jvp"):
        jax.jacrev(jax.jacrev(lambda x: jnp.sum(gallery.recurrence(x, x))))(x)
    q = jnp.ones((2, 3, 4))
    message = r"flash_attention has no forward derivative.*add #\[jvp\(tangent = …\)\]"
    with pytest.raises(TypeError, match=message):
        jax.jvp(gallery.flash_attention, (q, q, q), (q, q, q))
    with pytest.raises(TypeError, match=message):
        jax.hessian(lambda q: jnp.sum(gallery.flash_attention(q, q, q)[0]))(q)
    # The first result, the values, has a derivative. The second one, the indices, has none.
    assert jax.grad(lambda x: gallery.top_k(x, k=2)[0].sum())(x).tolist() == [0, 0, 1, 1]


def test_an_operand_in_place_is_not_overwritten(gallery):
    x, y = np.ones(3), np.arange(3.0)
    assert gallery.axpy(np.float64(2), x, y).tolist() == [2, 3, 4] and y.tolist() == [0, 1, 2]
    y = jnp.asarray(y)
    twice = jax.jit(lambda y: (gallery.axpy(2.0, x, y), gallery.axpy(3.0, x, y), y))
    same(list(on_both(twice, y)), [y + 2, y + 3, y])


def test_a_side_effect_happens_once_for_each_entry(gallery):
    start = int(gallery.tick(np.int32(0)))
    assert int(gallery.tick(np.int32(5))) == start + 5
    counts = jax.jit(jax.vmap(gallery.tick))(jnp.asarray([1, 2, 3], jnp.int32))
    assert counts.tolist() == [start + 6, start + 8, start + 11]
    # A call whose result is unused happens, too.
    jax.block_until_ready(jax.jit(lambda x: (gallery.tick(jnp.int32(4)), x)[1])(1.0))
    assert int(gallery.tick(np.int32(0))) == start + 15
    engine = farcall.compile(jax.jit(lambda x: (gallery.tick(jnp.int32(4)), x)[1]).lower(1.0))
    engine(np.float64(1))
    assert int(gallery.tick(np.int32(0))) == start + 19


@pytest.mark.parametrize("rank", [0, 1, 3])
def test_shape_and_batching_by_hand(gallery, rank):
    random = Random(rank, np.float64)
    x = random.array(*(random.size() for _ in range(rank)))
    perm = random.generator.permutation(rank)
    op, reference = lambda x: gallery.transpose(x, perm=perm), lambda x: jnp.transpose(x, perm)
    np.testing.assert_array_equal(op(x), np.transpose(x, perm))
    np.testing.assert_array_equal(jax.jit(op)(x), np.transpose(x, perm))
    check_grads(op, (jnp.asarray(x),), 1, ["rev"])
    # For any mapped axis, `vmap` makes one call with other attributes, not a loop.
    stack = random.array(*x.shape, 3)
    for axis in range(rank + 1):
        entries = np.moveaxis(stack, -1, axis)
        same(jax.vmap(op, axis, rank)(entries), jax.vmap(reference, axis, rank)(entries))
        assert "scan" not in str(jax.make_jaxpr(jax.vmap(op, axis))(entries))
    loss = lambda op: jax.vmap(jax.grad(lambda x: jnp.sum(jnp.sin(op(x)) * jnp.cos(reference(x)))), -1, -1)
    same(loss(op)(stack), loss(reference)(stack))


def test_mistakes_in_the_words_of_a_shape_function(gallery):
    for x in np.zeros((2, 3)), jnp.zeros((2, 3)):
        with pytest.raises(ValueError, match=r"transpose: perm = \[0, 2\] does not order 2 dimensions"):
            gallery.transpose(x, perm=[0, 2])
