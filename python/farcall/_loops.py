"""Loops that call an op for each index of an axis, if `vmap` cannot use one call for all indices.

The loop is a separate primitive (`Loop`) instead of a loop of JAX, because XLA's partitioner does not split
JAX's loops: it would gather the arrays that the loop iterates over. If a `Loop` is split among devices, each
device loops over its part of the axis. The primitive's other rules apply `jax.vmap` to the rules of a single
call.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import jax
import jax.extend
import jax.numpy as jnp
from jax.interpreters import ad, batching, mlir

from farcall._jax_internals import Internal
from farcall._sharding import Factors, lower_partitioned

#: The loops of a call, outermost first. Each loop has one flag per operand, true if the operand has the
#: loop's axis. The loops' axes are the first dimensions of an operand, in the order of the loops.
Levels = tuple[tuple[bool, ...], ...]

#: One call for all indices of a mapped axis: the position of this axis in each operand (`None` if the operand
#: lacks it), the parameters of the call, and the position of the axis in each result.
Larger = tuple[Sequence[int | None], dict[str, Any], Sequence[int]]


class Looped(Protocol):
    """An op or a derivative that `vmap` may have to call in a loop. All methods take the parameters of the
    primitive."""

    primitive: jax.extend.core.Primitive

    def larger(self, operands: Sequence[Any], mapped: Sequence[bool], size: int, split: Any, **params: Any) -> Larger | None:
        """Returns one call for all indices of an axis, or `None` if a loop is needed. The `mapped` operands
        have the axis, but `operands` are given without it. In a mesh of explicit axes, `split` is the
        partition spec of the axis."""

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[list[Any], list[Any]]:
        """Returns results and tangents, as for JAX's JVP rules."""

    def transpose(self, cotangents: Sequence[Any], *operands: Any, **params: Any) -> list[Any]:
        """Returns the cotangents of the operands, as for JAX's transpose rules."""


class LoopedOp(Looped, Protocol):
    """An op."""

    def factors(self, operands: Sequence[Any], **params: Any) -> Factors:
        """Returns the factors by which a call may be split."""

    def text(self, **params: Any) -> str:
        """Returns text that identifies the call."""


class LoopedLinear(Looped, Protocol):
    """A derivative, which calls other ops."""

    def saved(self, **params: Any) -> int:
        """Returns the number of leading operands in which the derivative is not linear."""

    def evaluate(self, *operands: Any, **params: Any) -> list[Any]:
        """Calls the derivative's ops."""


class Loop:
    """Primitive of an op under `vmap`. Its parameters are `levels`, and the parameters of the op's
    primitive."""

    def __init__(self, of: LoopedOp | LoopedLinear) -> None:
        self.of = of
        self.primitive = jax.extend.core.Primitive(f"{of.primitive.name}_loop")
        self.primitive.multiple_results = True
        Internal.def_compiled_impl(self.primitive)
        self.primitive.def_abstract_eval(self._abstract)
        mlir.register_lowering(self.primitive, self._lower)
        batching.primitive_batchers[self.primitive] = self._batch
        ad.primitive_jvps[self.primitive] = self._jvp
        ad.primitive_transposes[self.primitive] = self._transpose

    def bind(self, operands: Sequence[Any], levels: Levels, params: dict[str, Any]) -> list[Any]:
        if not levels:
            return self.of.primitive.bind(*operands, **params)
        return self.primitive.bind(*operands, levels=levels, **params)

    def batch(
        self, operands: Sequence[Any], axes: Sequence[int | None], params: dict[str, Any], levels: Levels = ()
    ) -> tuple[list[Any], list[int]]:
        """Batches the calls in the loops of `levels`: each as one larger call, or all in another loop."""
        mapped = tuple(axis is not None for axis in axes)
        [size] = {x.shape[axis] for x, axis in zip(operands, axes) if axis is not None}
        depths = [sum(level[i] for level in levels) for i in range(len(operands))]
        avals = list(map(jax.typeof, operands))
        splits = [x.sharding.spec[axis] for x, axis in zip(avals, axes) if axis is not None]
        split = next((split for split in splits if split is not None), None)
        entries = [Internal.without(x, [] if axis is None else [axis]) for x, axis in zip(avals, axes)]
        entries = [Internal.without(x, range(depth)) for x, depth in zip(entries, depths)]
        larger = self.of.larger(entries, mapped, size, split, **params)
        if larger is None:
            looped = self._looped(mapped, params)
            operands = [_at(x, axis, 0, size) if has_axis else x for x, axis, has_axis in zip(operands, axes, looped)]
            results = self.bind(operands, (looped, *levels), params)
            return results, [0] * len(results)
        to, params, of_results = larger
        operands = [
            x if at is None else _at(x, axis, depth + at, size) for x, axis, depth, at in zip(operands, axes, depths, to)
        ]
        return self.bind(operands, levels, params), [len(levels) + at for at in of_results]

    def _looped(self, mapped: tuple[bool, ...], params: dict[str, Any]) -> tuple[bool, ...]:
        """Returns the operands that have the axis of a new loop, given the mapped operands."""
        return mapped

    def _batch(
        self, operands: Sequence[Any], axes: Sequence[int | None], *, levels: Levels, **params: Any
    ) -> tuple[list[Any], list[int]]:
        return self.batch(operands, axes, params, levels)

    def _entries(self, operands: Sequence[Any], levels: Levels) -> list[Any]:
        """Returns the operand types of one call."""
        return [Internal.without(x, range(sum(level[i] for level in levels))) for i, x in enumerate(operands)]

    def _abstract(self, *operands: Any, levels: Levels, **params: Any) -> list[Any]:
        results, _ = self.of.primitive.abstract_eval(*self._entries(operands, levels), **params)
        axes = [
            [(x.shape[0], x.sharding.spec[0]) for x in _inside(operands, levels[:k], level)] for k, level in enumerate(levels)
        ]
        # The results are split like the operands.
        axes = [next((axis for axis in level if axis[1] is not None), level[0]) for level in axes]
        return [Internal.within(x, axes) for x in results]

    def _lower(self, context: mlir.LoweringRuleContext, *operands: Any, levels: Levels, **params: Any) -> Any:
        call = functools.partial(self._loop, levels, params)
        if Internal.is_split_here(context):
            factors = self.of.factors(self._entries(context.avals_in, levels), **params)
            sizes = [next(x.shape[0] for x in _inside(context.avals_in, levels[:k], level)) for k, level in enumerate(levels)]
            for size, level in zip(reversed(sizes), reversed(levels)):
                factors = factors.looped(size, level)
            return lower_partitioned(context, f"{self.of.text(**params)} {levels}", call, factors, operands)
        return Internal.sharded(context, mlir.lower_fun(call, multiple_results=True)(context, *operands))

    def _loop(self, levels: Levels, params: dict[str, Any], *operands: Any) -> list[Any]:
        """Expands the levels to nested loops of JAX, outermost first."""
        if not levels:
            return self.of.primitive.bind(*operands, **params)
        return loop(functools.partial(self._loop, levels[1:], params), operands, levels[0])

    def _jvp(
        self, primals: Sequence[Any], tangents: Sequence[Any], *, levels: Levels, **params: Any
    ) -> tuple[list[Any], list[Any]]:
        moved = [i for i, t in enumerate(tangents) if type(t) is not ad.Zero]
        has_tangent: list[bool] = []

        def one(*values: Any) -> list[Any]:
            primals, given = values[: len(tangents)], dict(zip(moved, values[len(tangents) :]))
            all_tangents = [given.get(i, ad.Zero(jax.typeof(x).to_tangent_aval())) for i, x in enumerate(primals)]
            results, found = self.of.jvp(primals, all_tangents, **params)
            has_tangent[:] = [type(t) is not ad.Zero for t in found]
            return [*results, *(t for t, has in zip(found, has_tangent) if has)]

        of_moved = tuple((*level, *(level[i] for i in moved)) for level in levels)
        values = _vmapped(one, of_moved)(*primals, *(tangents[i] for i in moved))
        results, found = values[: len(has_tangent)], iter(values[len(has_tangent) :])
        zero = lambda x: ad.Zero(jax.typeof(x).to_tangent_aval())
        return results, [next(found) if has else zero(x) for x, has in zip(results, has_tangent)]

    def _transpose(self, cotangents: Sequence[Any], *values: Any, levels: Levels, **params: Any) -> list[Any]:
        moved = [i for i, c in enumerate(cotangents) if type(c) is not ad.Zero]
        undefined = [i for i, v in enumerate(values) if ad.is_undefined_primal(v)]
        if not moved:
            return [ad.Zero(v.aval) if i in undefined else None for i, v in enumerate(values)]
        known = [i for i in range(len(values)) if i not in undefined]
        entries = self._entries([v.aval if ad.is_undefined_primal(v) else jax.typeof(v) for v in values], levels)
        zeros = [ad.Zero(Internal.without(_type_of(c), range(len(levels)))) for c in cotangents]

        def one(*given: Any) -> list[Any]:
            operands = dict(zip(known, given)) | {i: ad.UndefinedPrimal(entries[i]) for i in undefined}
            of_one = dict(zip(moved, given[len(known) :]))
            of_one = [of_one.get(i, zero) for i, zero in enumerate(zeros)]
            gradients = self.of.transpose(of_one, *(operands[i] for i in range(len(values))), **params)
            return [gradients[i] for i in undefined]

        of_given = tuple((*(level[i] for i in known), *[True] * len(moved)) for level in levels)
        gradients = _vmapped(one, of_given)(*(values[i] for i in known), *(cotangents[i] for i in moved))
        # The gradient of an operand that all iterations of a loop share is the sum of their gradients.
        shared = {i: tuple(k for k, level in enumerate(levels) if not level[i]) for i in undefined}
        summed = {i: jnp.sum(g, shared[i]) if shared[i] else g for i, g in zip(undefined, gradients)}
        return [summed.get(i) for i in range(len(values))]


class LinearLoop(Loop):
    """Primitive of a derivative under `vmap`. The operands in which the derivative is linear have the axes of
    all loops, because the cotangents have these axes."""

    def _looped(self, mapped: tuple[bool, ...], params: dict[str, Any]) -> tuple[bool, ...]:
        saved = self.of.saved(**params)
        return (*mapped[:saved], *[True] * len(mapped[saved:]))

    def _lower(self, context: mlir.LoweringRuleContext, *operands: Any, levels: Levels, **params: Any) -> Any:
        """Lowers to calls of ops, each of which has its own loops."""
        evaluate = _vmapped(functools.partial(self.of.evaluate, **params), levels)
        return mlir.lower_fun(evaluate, multiple_results=True)(context, *operands)


def loop(function: Callable[..., list[Any]], operands: Sequence[Any], mapped: Sequence[bool]) -> list[Any]:
    """Calls a function for each index of the first axis of the `mapped` operands, in order, and stacks the
    results."""
    # JAX's loop cannot be split. In a mesh of explicit axes, the first axis of its arrays must therefore be
    # unsplit.
    entries = [Internal.whole_in_front(x) for x, m in zip(operands, mapped) if m]

    def one(entry: list[Any]) -> list[Any]:
        entry = iter(entry)
        return function(*(next(entry) if m else x for x, m in zip(operands, mapped)))

    return jax.lax.map(one, entries)


def _type_of(x: Any) -> Any:
    """Returns the type of an array, or of a symbolic zero of JAX."""
    return x.aval if type(x) is ad.Zero else jax.typeof(x)


def _vmapped(function: Callable[..., list[Any]], levels: Levels) -> Callable[..., list[Any]]:
    for level in reversed(levels):
        function = jax.vmap(function, tuple(0 if m else None for m in level))
    return function


def _inside(operands: Sequence[Any], outer: Levels, level: Sequence[bool]) -> list[Any]:
    """Returns the types of the operands that have the axis of a level, without the axes of the outer
    levels."""
    depth = lambda i: sum(other[i] for other in outer)
    return [Internal.without(x, range(depth(i))) for i, x in enumerate(operands) if level[i]]


def _at(x: Any, axis: int | None, to: int, size: int) -> Any:
    """Moves the mapped axis of an array to another position, or adds a missing axis."""
    if axis is not None:
        return jnp.moveaxis(x, axis, to)
    return jnp.moveaxis(jnp.broadcast_to(x, (size, *x.shape)), 0, to)
