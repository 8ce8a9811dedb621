"""Gallery ops within loops, branches and nested vmaps, their second derivatives, and every combination of
mapped axes, compared with `jax.numpy`."""

import itertools

import numpy as np
import pytest

jax = pytest.importorskip("jax")
jnp = jax.numpy

# Imported after the tests have been skipped if JAX is missing. `gallery` and `x64` are fixtures, which are
# used by name.
from test_gallery import (  # noqa: E402, F401
    CASES,
    ORDERS,
    SEEDS,
    case,
    every_case,
    gallery,
    is_moved,
    looped,
    of_moved,
    on_both,
    random_like,
    same,
    x64,
)
from unoptimized import jitted  # noqa: E402


def repeated(function):
    """Applies the function to several multiples of its operands, in a loop."""

    def of(*values):
        return jax.lax.scan(lambda k, _: (k + 1, function(*(x * jnp.cos(k) for x in values))), 1.0, length=3)[1]

    return of


def chosen(function):
    """Calls the function in a branch; the other branch returns the negative of its results."""

    def of(*values):
        negative = lambda *values: [-y for y in function(*values)]
        return jax.lax.cond(jnp.sum(jnp.real(values[0])) > 0.5, function, negative, *values)

    return of


def mapped_twice(function):
    """Applies the function to several multiples of its operands, in two nested vmaps."""

    def of(*values):
        at = lambda k, l: function(*(x * jnp.cos(k + 2 * l) for x in values))
        return jax.vmap(jax.vmap(at, (None, 0)), (0, None))(jnp.arange(2.0), jnp.arange(3.0))

    return of


TRANSFORMATIONS = {
    "remat": jax.checkpoint,
    "scan": repeated,
    "cond": chosen,
    "vmap of vmap": mapped_twice,
    "remat of scan": lambda function: jax.checkpoint(repeated(function)),
}

second_order = pytest.mark.parametrize("name, order", [(name, order) for name, c in CASES.items() for order in c.second])


def in_parts(function, values):
    """Splits operands and results into real and imaginary parts, because Hessians cannot be complex."""

    def split(x):
        return [jnp.real(x), jnp.imag(x)] if jnp.iscomplexobj(x) else [x]

    def of(*parts):
        parts = iter(parts)
        given = [next(parts) + 1j * next(parts) if np.iscomplexobj(x) else next(parts) for x in values]
        return [part for y in jax.tree.leaves(function(*given)) for part in split(y)]

    return of, [part for x in values for part in split(x)]


def hessian(function, values):
    function, parts = in_parts(function, values)
    return jax.hessian(function, tuple(range(len(parts))))(*parts)


def curved(function):
    """Applies a sine to the results, so that the second derivatives of linear functions are not zero."""
    return lambda *values: [jnp.sin(y + 1) for y in function(*values)]


@pytest.mark.parametrize("transformation", TRANSFORMATIONS)
@every_case
def test_transformations(gallery, name, transformation):
    """Checks values, gradients, tangents and Hessians in loops, branches, batches and with rematerialization,
    in both hosts."""
    op, reference, operands, random = case(gallery, name, 7, most=3)
    transform = TRANSFORMATIONS[transformation]
    functions = []
    for function in op, reference:
        moved, values = of_moved(function, operands)
        functions.append(transform(moved))
    own, known = functions
    at = tuple(range(len(values)))
    tangents = [random_like(random, x) for x in values]

    def everything(function):
        """Returns one function that computes all derivatives, because jaxlib would take seconds to compile
        several programs."""
        loss = lambda *values: sum(jnp.sum(jnp.sin(jnp.abs(y))) for y in function(*values))

        def of(values, tangents):
            found = {"values": function(*values)}
            if CASES[name].vjp:
                found["gradients"] = jax.grad(loss, at)(*values)
            if CASES[name].jvp:
                found["tangents"] = jax.jvp(function, values, tangents)
            if CASES[name].second:
                found["second derivatives"] = hessian(loss, values)
            return found

        return of

    same(on_both(everything(own), values, tangents), jitted(everything(known))(values, tangents))


@pytest.mark.parametrize("seed", range((len(SEEDS) + 1) // 2))
@second_order
def test_second_derivatives(gallery, name, seed, order):
    op, reference, operands, random = case(gallery, name, seed, most=2)
    given = of_moved(op, operands)[1]
    known, _ = in_parts(of_moved(reference, operands)[0], given)
    moved, values = in_parts(of_moved(op, operands)[0], given)
    at = tuple(range(len(values)))
    expected = jitted(ORDERS[order](curved(known), at))(*values)
    second = ORDERS[order](curved(moved), at)
    same(on_both(second, *values), expected)
    # Compares the second derivatives of each entry of a batch, then those of the batched function.
    stacks = [np.stack([random.like(x) for _ in range(3)], -1) for x in values]
    expected = jitted(jax.vmap(ORDERS[order](curved(known), at), -1))(*stacks)
    same(on_both(jax.vmap(second, -1), *stacks), expected)
    batches = lambda function: ORDERS[order](jax.vmap(curved(function), -1, -1), at)
    same(on_both(batches(moved), *stacks), jitted(batches(known))(*stacks))


@every_case
def test_every_combination_of_axes(gallery, name):
    """Checks batches of values and of all existing derivatives, for every operand with and without an
    axis."""
    op, _, operands, random = case(gallery, name, 11, most=2)
    if name == "concat":
        operands = operands[:3]

    def everything(*given):
        moved, values = of_moved(op, given)
        found = [moved(*values)]
        loss = lambda *values: sum(jnp.sum(jnp.sin(jnp.abs(y) + 1)) for y in moved(*values))
        at = tuple(range(len(values)))
        if CASES[name].vjp:
            found.append(jax.grad(loss, at)(*values))
        if CASES[name].jvp:
            found.append(jax.jvp(moved, values, [jnp.cos(x) for x in values]))
        if CASES[name].second:
            found.append(hessian(loss, values))
        return found

    # An operand with a derivative gets its axis first or last; other operands get it only first.
    for axes in itertools.product(*([None, 0, -1] if is_moved(x) else [None, 0] for x in operands)):
        if any(axis is not None for axis in axes):
            stacks = [x if a is None else np.stack([random.like(x) for _ in range(2)], a) for x, a in zip(operands, axes)]
            same(jitted(jax.vmap(everything, axes))(*stacks), looped(everything, stacks, axes, 2))
