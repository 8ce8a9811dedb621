"""Partitioning of an op's calls among devices.

A *factor* of a call is a dimension that its operands and results may share (`Factors`). The signature
determines how each factor may be split. If XLA partitions a program, Shardy receives the factors as a rule,
and decides which axes of the mesh split which factors. Then each device calls the op on its parts, and
partial results are combined (`lower_partitioned`).

A factor stays whole if the signature requires it, if its axis already splits another factor, or if its size
is not a multiple of the number of devices. (In the last case, a part would be padded with entries that a sum
would count.) Other factors are not affected.
"""

import dataclasses
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import jax
from jax.experimental.custom_partitioning import SdyShardingRule, custom_partitioning
from jax.interpreters import mlir
from jax.sharding import NamedSharding, PartitionSpec

from farcall._jax_internals import Internal

#: Functions that combine the partial results of a reduced factor.
_COMBINE = {"sum": jax.lax.psum, "max": jax.lax.pmax, "min": jax.lax.pmin}

#: For each factor, the axes of the mesh that split it.
Axes = list[tuple[str, ...]]


@dataclasses.dataclass(frozen=True)
class Factors:
    """The factors of a call."""

    #: Size and kind of each factor: `map`, `whole`, or the combination of partial results.
    factors: Sequence[tuple[int, str]]
    #: For each operand, the factors of its dimensions.
    operands: Sequence[Sequence[int]]
    #: For each result, the factors of its dimensions. If a result has a dimension of a reduced factor, its
    #: partial results are not combined over this factor.
    results: Sequence[Sequence[int]]
    #: The offset operands with their factors. An offset is the index, in the whole factor, at which a
    #: device's part begins.
    offsets: Sequence[tuple[int, int]] = ()

    def is_split(self, factor: int) -> bool:
        """Returns true if the factor may be split."""
        size, kind = self.factors[factor]
        return size > 0 and (kind == "map" or kind in _COMBINE)

    def axes(self, mesh: Mapping[str, int], tensors: Iterable[tuple[Sequence[int], Sequence[Any]]]) -> Axes:
        """Returns the axes that split each factor, given the partition specs of tensors with these factors;
        earlier tensors take precedence."""
        axes: Axes = [()] * len(self.factors)
        taken: set[str] = set()
        for factors, spec in tensors:
            for factor, entry in zip(factors, spec):
                if axes[factor] or not self.is_split(factor):
                    continue
                size, kept = self.factors[factor][0], []
                for axis in _names(entry):
                    if axis in taken or size % mesh[axis]:
                        break
                    size //= mesh[axis]
                    kept.append(axis)
                axes[factor] = tuple(kept)
                taken.update(kept)
        return axes

    def conflict(self, specs: Sequence[Sequence[Any]]) -> tuple[int, int] | None:
        """Returns two operands with conflicting partition specs, if there are any. In a conflict, different
        axes split one factor, or one axis splits two factors."""
        splits: dict[int, tuple[tuple[str, ...], int]] = {}
        users: dict[str, tuple[int, int]] = {}
        for i, (factors, spec) in enumerate(zip(self.operands, specs)):
            for factor, entry in zip(factors, spec):
                names = _names(entry)
                if not names or not self.is_split(factor):
                    continue
                others = [splits.setdefault(factor, (names, i)), *(users.setdefault(name, (factor, i)) for name in names)]
                for (what, other), own in zip(others, [names, *[factor] * len(names)]):
                    if what != own:
                        return other, i
        return None

    def looped(self, size: int, mapped: Sequence[bool]) -> "Factors":
        """Returns the factors of a loop of calls. The loop's axis is the first dimension of the `mapped`
        operands and of all results."""
        axis = len(self.factors)
        operands = [[axis, *own] if m else own for own, m in zip(self.operands, mapped)]
        return Factors([*self.factors, (size, "map")], operands, [[axis, *own] for own in self.results], self.offsets)

    @staticmethod
    def spec(factors: Sequence[int], axes: Axes) -> PartitionSpec:
        """Returns the partition spec of a tensor with these factors."""
        return PartitionSpec(*(axes[factor] or None for factor in factors))

    def combined(self, value: Any, factors: Sequence[int], axes: Axes) -> Any:
        """Combines the partial values of a result with these factors."""
        for kind, combine in _COMBINE.items():
            lacking = [i for i, (_, of) in enumerate(self.factors) if of == kind and i not in factors]
            if over := tuple(axis for i in lacking for axis in axes[i]):
                value = combine(value, over)
        return value

    def begun(self, operands: Sequence[Any], axes: Axes, mesh: Mapping[str, int]) -> list[Any]:
        """Returns a device's operands. The index at which the device's part of a factor begins is added to
        the factor's offset operand."""
        operands = list(operands)
        for i, factor in self.offsets:
            if axes[factor]:
                count = math.prod(mesh[axis] for axis in axes[factor])
                start = jax.lax.axis_index(axes[factor]) * (self.factors[factor][0] // count)
                operands[i] = operands[i] + start.astype(operands[i].dtype)
        return operands

    def rule(self) -> SdyShardingRule:
        """Returns the factors as a rule for Shardy. Reduced factors are not marked, because their partial
        results are already combined."""
        name = "f{}".format
        return SdyShardingRule(
            tuple(tuple(map(name, factors)) for factors in self.operands),
            tuple(tuple(map(name, factors)) for factors in self.results),
            need_replication_factors=tuple(name(i) for i in range(len(self.factors)) if not self.is_split(i)),
        )


def lower_partitioned(
    context: mlir.LoweringRuleContext,
    text: str,
    call: Callable[..., Sequence[Any]],
    factors: Factors,
    operands: Sequence[Any],
) -> list[Any]:
    """Lowers a call that XLA's partitioner may split into calls on parts of the operands. `text` identifies
    the call."""
    # XLA may partition the call on another thread, on which JAX has another setting.
    has_64_bits = jax.config.jax_enable_x64

    def axes_of(mesh: jax.sharding.Mesh, tensors: Iterable[Any]) -> Axes:
        split = zip([*factors.operands, *factors.results], tensors)
        return factors.axes(mesh.shape, [(own, Internal.spec(x.sharding, mesh, len(own))) for own, x in split])

    def shardings(mesh: jax.sharding.Mesh, tensors: Sequence[Sequence[int]], axes: Axes) -> tuple[NamedSharding, ...]:
        return tuple(NamedSharding(mesh, factors.spec(own, axes)) for own in tensors)

    def infer(mesh: jax.sharding.Mesh, operands: Sequence[Any], results: Sequence[Any]) -> tuple[NamedSharding, ...]:
        mesh = _refined(mesh)
        return shardings(mesh, factors.results, axes_of(mesh, operands))

    def partition(mesh: jax.sharding.Mesh, operands: Sequence[Any], results: Sequence[Any]) -> tuple[Any, ...]:
        mesh = _refined(mesh)
        axes = axes_of(mesh, [*operands, *results])

        def part(*operands: Any) -> tuple[Any, ...]:
            with jax.enable_x64(has_64_bits):
                results = call(*factors.begun(operands, axes, mesh.shape))
                return tuple(factors.combined(y, own, axes) for y, own in zip(results, factors.results))

        return mesh, part, shardings(mesh, factors.results, axes), shardings(mesh, factors.operands, axes)

    split = custom_partitioning(lambda *operands: tuple(call(*operands)))
    # Shardy follows the rule; the older partitioner, which JAX can be configured to use, calls
    # `partition` and `infer`.
    split.def_partition(partition, infer, sharding_rule=factors.rule(), decode_shardings=False)
    meshed = Internal.with_mesh(context)
    lowered = mlir.lower_fun(split, multiple_results=True)(meshed, *operands)
    # `what` contains everything that the functions above depend on. The attribute `farcall_call` names the
    # call for readers of the program.
    what = repr((text, factors, context.avals_in, context.avals_out, has_64_bits, *Internal.partitioned_for(meshed)))
    for value in lowered[:1]:
        value.owner.attributes["mhlo.frontend_attributes"] = mlir.ir_attribute({"farcall_call": text})
        Internal.name_partitioner(context, value.owner, what)
    return Internal.sharded(context, lowered)


def _refined(mesh: jax.sharding.Mesh) -> jax.sharding.Mesh:
    """Returns a mesh with an axis for each prime factor of the size of an axis, because Shardy also splits
    dimensions by parts of axes."""
    axes = {f"{name}.{i}": prime for name, size in mesh.shape.items() for i, prime in enumerate(_primes(size))}
    return jax.sharding.Mesh(mesh.devices.reshape(tuple(axes.values())), tuple(axes))


def _primes(size: int) -> list[int]:
    first = next((k for k in range(2, size + 1) if size % k == 0), None)
    return [] if first is None else [first, *_primes(size // first)]


def _names(entry: Any) -> tuple[str, ...]:
    """Returns the axes in one entry of a `PartitionSpec`."""
    if entry is None:
        return ()
    return entry if isinstance(entry, tuple) else (entry,)
