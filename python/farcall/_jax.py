"""JAX primitives that call ops.

Each op has two primitives:

- The *op* primitive calls the op. Its result types and its batching (one call, or a loop) follow from the
  op's signature, and it is lowered to a custom call. Its differentiation rule calls the op (or the op's
  forward op, which also returns residuals) and leaves the tangents to the linear primitive.
- The *linear* primitive maps tangents of operands to tangents of results, and carries the values that the
  derivatives need. Evaluating it calls the op's tangent target (JVP); transposing it calls the backward
  target (VJP). An op can therefore have both a JVP and a VJP. If it lacks one of them, only a program that
  needs the missing one fails.

Derivatives are ops themselves, so they batch by their own signatures.

Sizes may be symbolic, as in `jax.export`: the engine evaluates signatures over JAX's own symbolic dimensions.

Only `farcall._jax_internals` uses undocumented parts of JAX.
"""

import functools
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import jax
import jax.extend
import jax.numpy as jnp
import numpy as np
from jax.interpreters import ad, batching, mlir

from farcall import _farcall
from farcall._arrays import dtype_name, dtype_of
from farcall._jax_internals import Internal
from farcall._loops import Larger, LinearLoop, Loop, loop
from farcall._sharding import Factors, lower_partitioned

if TYPE_CHECKING:
    from farcall._ops import Op

if jax.__version_info__ < (0, 10):
    raise ImportError(f"farcall's ops are operations of JAX 0.10 and newer; this is JAX {jax.__version__}")

_PLATFORMS = {"Host": "cpu", "CUDA": "cuda", "ROCM": "rocm"}


def _jax_platform(platform: str) -> str:
    """Returns JAX's name of a platform."""
    return _PLATFORMS.get(platform, platform.lower())


def _handler_platform(platform: str) -> str:
    """Returns a platform of JAX as a handler names it."""
    return next((own for own, known in _PLATFORMS.items() if known == platform), platform)


#: Element types and shapes. Sizes are numbers, or symbolic dimensions of JAX.
Types = tuple[tuple[str, tuple[Any, ...]], ...]


is_tracing = Internal.is_tracing


def call(op: "Op", operands: list[Any], attributes: _farcall.Attributes) -> list[Any]:
    """Calls an op on JAX arrays, NumPy arrays and numbers."""
    given, kinds = zip(*map(_given, operands)) if operands else ((), ())
    arrays = [jnp.asarray(value) for value in op.typed(given, kinds, _is_known)]
    primitive = primitive_of(op)
    op._native.infer(primitive.types(arrays), attributes)  # errors are reported here, not deep inside JAX
    return primitive(Internal.in_one_mesh(arrays), attributes)


def _given(value: Any) -> tuple[Any, str | None]:
    """Returns an operand, and the kind of its numbers if they are Python numbers or a weakly typed JAX
    array."""
    if isinstance(value, jax.Array):
        return value, _kind(value) if jax.typeof(value).weak_type else None
    if hasattr(value, "dtype"):
        # `jnp.asarray` would truncate integers of NumPy's default type to JAX's default type.
        return value if isinstance(value, (np.ndarray, np.generic)) and value.dtype == np.int64 else jnp.asarray(value), None
    leaves = jax.tree.leaves(value)
    arrays = [leaf for leaf in leaves if hasattr(leaf, "dtype")]
    if not any(isinstance(leaf, jax.Array) for leaf in arrays):
        return value, None
    array = jnp.asarray(value)
    return array, _kind(array) if all(getattr(leaf, "weak_type", False) for leaf in arrays) else None


def _kind(array: jax.Array) -> str:
    kinds = {np.bool_: "bool", jnp.integer: "int", jnp.floating: "float", jnp.complexfloating: "complex"}
    return next(kind for ty, kind in kinds.items() if jnp.issubdtype(array.dtype, ty))


def _is_known(name: str) -> bool:
    """Returns true if JAX has the element type. Without jax_enable_x64, JAX has no 64-bit types. The engine
    decides which of an op's types are tried, and in which order (`number_types`)."""
    return jax.dtypes.canonicalize_dtype(dtype_of(name)) == dtype_of(name)


class OpPrimitive:
    """An op as a primitive of JAX."""

    def __init__(self, op: "Op") -> None:
        self.op = op
        self.native = op._native
        self.name = self.native.name
        #: Name of the handlers in XLA. Names are process-wide, and the handlers of a name cannot be changed.
        self.target = self.name if self.native.edition == 1 else f"{self.name}@{self.native.edition}"
        self.primitive = jax.extend.core.Primitive(self.name)
        self.primitive.multiple_results = True
        Internal.def_compiled_impl(self.primitive)
        self.primitive.def_effectful_abstract_eval(self._abstract)
        batching.primitive_batchers[self.primitive] = self._batch
        ad.primitive_jvps[self.primitive] = self.jvp
        ad.primitive_transposes[self.primitive] = self.transpose
        self.loop = Loop(self)
        self._linear: _Linear | None = None
        self._register()

    def __call__(self, operands: Sequence[Any], attributes: _farcall.Attributes) -> list[Any]:
        return self.primitive.bind(*operands, attributes=attributes)

    # ---- Shapes ----------------------------------------------------------------------------

    def types(self, operands: Sequence[Any]) -> Types:
        """Returns the element types and shapes of arrays or abstract values, in the engine's terms."""
        types = []
        for operand in operands:
            # JAX's own element types (for random keys and for tangents of integers) are not NumPy types.
            dtype = dtype_name(operand.dtype) if isinstance(operand.dtype, np.dtype) else None
            if dtype is None:
                raise TypeError(f"{self.name}: an array of {operand.dtype} cannot be an operand of an op")
            types.append((dtype, operand.shape))
        return tuple(types)

    def infer(self, operands: Sequence[Any], attributes: _farcall.Attributes) -> _farcall.Call:
        return self.native.infer(self.types(operands), attributes)

    def _abstract(
        self, *operands: Any, attributes: _farcall.Attributes, num_batch_dims: int | None = None
    ) -> tuple[list[Any], set[Any]]:
        call = self.infer(operands, attributes)
        avals = [
            Internal.aval(self.name, self._dtype(call, i), dims, operands, spec)
            for i, ((_, dims, _), spec) in enumerate(zip(call.results, self._specs(call, operands, attributes)))
        ]
        return avals, {Internal.side_effect} if self.native.has_side_effect else set()

    def factors(self, operands: Sequence[Any], attributes: _farcall.Attributes) -> Factors:
        return Factors(*self.native.factors(self.types(operands), attributes))

    def _specs(self, call: _farcall.Call, operands: Sequence[Any], attributes: _farcall.Attributes) -> list[Any]:
        """Returns the partition specs of the results, in a mesh with explicit axes."""
        specs = [operand.sharding.spec for operand in operands]
        if not any(entry is not None for spec in specs for entry in spec):
            return [()] * len(call.results)
        factors = self.factors(operands, attributes)
        if (pair := factors.conflict(specs)) is not None:
            words = [f"{self.native.operands[call.operand_slots[i]][0]} as {specs[i]}" for i in pair]
            raise ValueError(
                f"{self.name}: operands are split in ways that do not go together, {' but '.join(words)}; use "
                f"jax.sharding.reshard"
            )
        mesh = next(operand.sharding.mesh for operand in operands if not operand.sharding.mesh.empty)
        axes = factors.axes(mesh.shape, zip(factors.operands, specs))
        return [factors.spec(own, axes) for own in factors.results]

    def _dtype(self, call: _farcall.Call, result: int) -> np.dtype:
        name = call.results[result][0]
        dtype = dtype_of(name)
        if not _is_known(name):
            shown = self.native.results[call.result_slots[result]]
            raise TypeError(f"{self.name}: {shown} is {name}, which JAX has only with jax_enable_x64")
        return dtype

    # ---- Running ---------------------------------------------------------------------------

    def _register(self) -> None:
        """Registers the handlers with XLA, and the lowering with JAX."""
        # One rule serves all platforms, because the calls are equal: XLA chooses the handler of its platform.
        mlir.register_lowering(self.primitive, self._lower)
        self.register_handlers(self.op._platforms)
        if self.native.batch_partitionable:
            jax.ffi.register_ffi_target_as_batch_partitionable(self.target)

    def register_handlers(self, platforms: Mapping[str, _farcall.Op]) -> None:
        """Registers handlers with XLA, by platform."""
        for platform, native in platforms.items():
            # XLA's names of platforms, `Host` and `CUDA`, are also the ones of handlers. JAX passes on its own
            # name `cuda` unchanged, under which no plugin looks for handlers.
            jax.ffi.register_ffi_target(self.target, native.capsules(), platform=platform)

    def _check_platforms(self, context: mlir.LoweringRuleContext) -> None:
        """Raises an error if the op has no handler for a platform that a program is lowered for."""
        known = [_jax_platform(platform) for platform in self.op._platforms]
        missing = [platform for platform in Internal.platforms(context) if platform not in known]
        if missing:
            name = self.native.local_name
            raise NotImplementedError(
                f"{self.name} has no handler for {' and '.join(missing)}, only for {', '.join(self.op._platforms)}: a library "
                f"with `#[handler(name = \"{name}\", platform = \"{_handler_platform(missing[0])}\")]` adds one; load it before the "
                f"program is lowered (`farcall guide cuda`)"
            )

    def text(self, *, attributes: _farcall.Attributes, **_: Any) -> str:
        """Returns text that identifies the call."""
        return f"{self.target} {attributes.text}"

    def _lower(
        self,
        context: mlir.LoweringRuleContext,
        *operands: Any,
        attributes: _farcall.Attributes,
        num_batch_dims: int | None = None,
    ) -> Any:
        self._check_platforms(context)
        call = self.infer(context.avals_in, attributes)
        if self.native.edition > 1 and Internal.is_exported(context):
            raise NotImplementedError(
                f"{self.name}: this process has loaded {self.native.edition} ops of this name, one in the place of the other, and "
                f"an export would name the last one in a way that no other process knows: export from a process that loads "
                f"{self.native.file} alone"
            )
        if Internal.is_exported(context) and (checks := Internal.disabled_checks()) is not None:
            if not {self.target, "ALL"}.intersection(check.is_custom_call() for check in checks):
                if self.native.is_built_in:
                    allowed = "disabled_checks=farcall.sparse.disabled_checks)"
                else:
                    library = os.fspath(self.native.file or "…")
                    allowed = f"disabled_checks=ops.disabled_checks), where ops is what farcall.load({library!r}) returns"
                raise ValueError(
                    f"{self.name}: jax.export has no compatibility guarantees for calls of this op, and refuses them unless they "
                    f"are allowed: jax.export.export(…, {allowed}"
                )
        is_partitioned = Internal.is_partitioned(context)
        if self.native.has_side_effect and is_partitioned:
            raise NotImplementedError(
                f"{self.name} has a side effect, and XLA cannot split a program with such calls among devices: call it in "
                f"jax.shard_map, where it happens once on each device, or on one device"
            )
        if Internal.is_split_here(context):
            factors = self.factors(context.avals_in, attributes)
            text = self.text(attributes=attributes)
            return lower_partitioned(context, text, lambda *operands: self(operands, attributes), factors, operands)
        extra = {}
        if self.native.batch_partitionable:
            # A partitioner that splits an exported program can only split the batch dimensions of a call.
            if num_batch_dims is None:
                num_batch_dims, added = call.batch_split if is_partitioned else (call.batch_rank, 0)
                if added:
                    rule = functools.partial(self._widened, call, added)
                    params = {"attributes": attributes, "num_batch_dims": num_batch_dims}
                    return mlir.lower_fun(rule, multiple_results=True)(context, *operands, **params)
            extra["mhlo.frontend_attributes"] = mlir.ir_attribute({"num_batch_dims": str(num_batch_dims)})
            # The rule contains numeric sizes. A call with symbolic sizes gets no rule, so it is not split.
            if is_partitioned and all(isinstance(size, int) for x in context.avals_in for size in x.shape):
                rule = self.native.batch_sharding_rule(self.types(context.avals_in), attributes)
                extra["sdy.sharding_rule"] = mlir.ir.Attribute.parse(rule)
        # Tokens order calls with a side effect: each such call has a token as its last operand and result.
        ordered = [context.tokens_in.get(Internal.side_effect)] if self.native.has_side_effect else []
        tokens = [Internal.core.abstract_token for _ in ordered]
        rule = jax.ffi.ffi_lowering(
            self.target,
            operand_layouts=[*call.operand_layouts, *([] for _ in ordered)],
            result_layouts=[*(layout for _, _, layout in call.results), *([] for _ in ordered)],
            backend_config={entry.name: entry.attr for entry in mlir.ir.DictAttr.parse(attributes.text)},
            has_side_effect=self.native.has_side_effect,
            operand_output_aliases={operand: result for result, operand in call.aliases} or None,
            extra_attributes=extra or None,
        )
        chained = context.replace(avals_in=[*context.avals_in, *tokens], avals_out=[*context.avals_out, *tokens])
        results = list(rule(chained, *operands, *ordered))
        if ordered:
            context.set_tokens_out(mlir.TokenSet({Internal.side_effect: results.pop()}))
        return Internal.sharded(context, results)

    def _widened(self, call: _farcall.Call, added: int, *operands: Any, **params: Any) -> list[Any]:
        """Makes the call with additional batch dimensions for XLA's partitioner (`call.batch_split`)."""
        at = call.batch_rank
        operands = [
            x.reshape(*x.shape[:at], *[1] * added, *x.shape[at:]) if has_batch else x
            for x, has_batch in zip(operands, call.has_batch)
        ]
        results = self.primitive.bind(*operands, **params)
        return [x.reshape(dims) for x, (_, dims, _) in zip(results, call.results)]

    # ---- vmap ------------------------------------------------------------------------------

    def _batch(
        self, operands: Sequence[Any], axes: Sequence[int | None], *, attributes: _farcall.Attributes
    ) -> tuple[list[Any], list[int | None]]:
        if self.native.has_side_effect:
            operands = [x if axis is None else jnp.moveaxis(x, axis, 0) for x, axis in zip(operands, axes)]
            results = loop(lambda *entry: self(entry, attributes), operands, [axis is not None for axis in axes])
            return results, [0] * len(results)
        return self.loop.batch(operands, axes, {"attributes": attributes})

    def larger(
        self, operands: Sequence[Any], mapped: Sequence[bool], size: int, split: Any, *, attributes: _farcall.Attributes
    ) -> Larger | None:
        # The batch rule expects the mapped axis to come first.
        types = [(dtype, (size, *dims) if m else dims) for (dtype, dims), m in zip(self.types(operands), mapped)]
        kind, *rule = self.native.batch_rule(types, list(mapped), attributes)
        if kind == "native":
            to = [0 if m or i in rule[0] else None for i, m in enumerate(mapped)]
            return to, {"attributes": attributes}, [0] * len(self.infer(operands, attributes).results)
        if kind == "custom":
            to, attributes, results = rule
            return to, {"attributes": attributes}, results
        return None

    # ---- Derivatives -----------------------------------------------------------------------

    def derivative(self, target: str) -> "OpPrimitive":
        """Returns the op of the same library that is a derivative of this op."""
        return primitive_of(self.op._library[target])

    @functools.cached_property
    def generated_for(self) -> str | None:
        """The op whose function returns residuals, if this op is the forward op generated from it."""
        if not self.native.is_generated:
            return None
        return next((op.__name__ for op in self.op._library.values() if op._native.forward == self.name), None)

    @property
    def linear(self) -> "_Linear":
        if self._linear is None:
            self._linear = _Linear(self)
        return self._linear

    def jvp(
        self, primals: Sequence[Any], tangents: Sequence[Any], *, attributes: _farcall.Attributes
    ) -> tuple[list[Any], list[Any]]:
        types = self.types(primals)
        moving = tuple(i for i, t in enumerate(tangents) if type(t) is not ad.Zero)
        linear = self.native.linear(types, attributes, moving)
        moving = tuple(linear.moving)
        if not linear.results or not moving:
            results = self(primals, attributes)
            return results, [ad.Zero(jax.typeof(r).to_tangent_aval()) for r in results]
        # The derivatives with respect to the operands in `zero` are zero, so the derivative ops are not
        # differentiated with respect to these operands either.
        primals = [jax.lax.stop_gradient(x) if i in linear.zero else x for i, x in enumerate(primals)]
        if linear.forward is None:
            results, residuals = self(primals, attributes), []
        else:
            target, own = linear.forward
            values = self.derivative(target)(primals, own)
            results, residuals = values[: linear.result_count], values[linear.result_count :]
        values = {"operand": primals, "result": results, "residual": residuals}
        tangents_out = self.linear.primitive.bind(
            *(values[kind][i] for kind, i in linear.saved),
            *(tangents[i] for i in moving),
            attributes=attributes,
            types=types,
            moving=moving,
            specs=tuple(jax.typeof(results[i]).sharding.spec for i in linear.results),
        )
        known = dict(zip(linear.results, tangents_out))
        return results, [known.get(i, ad.Zero(jax.typeof(r).to_tangent_aval())) for i, r in enumerate(results)]

    def transpose(
        self, cotangents: Sequence[Any], *operands: Any, attributes: _farcall.Attributes
    ) -> list[Any]:
        """Returns the cotangents of the operands in which the op is linear, for `jax.linear_transpose`."""
        moving = tuple(i for i, x in enumerate(operands) if ad.is_undefined_primal(x))
        avals = [x.aval if ad.is_undefined_primal(x) else jax.typeof(x) for x in operands]
        linear = self.native.linear(self.types(avals), attributes, moving)
        cotangents = [cotangents[i] for i in linear.results]
        zero = [type(c) is ad.Zero for c in cotangents]
        if all(zero):
            return [ad.Zero(x.aval) if ad.is_undefined_primal(x) else None for x in operands]
        gradients = dict(zip(moving, self.call_derivative(linear.transpose(zero), operands, cotangents)))
        return [
            Internal.split_as(gradients[i], x.aval.sharding.spec) if i in gradients else None
            for i, x in enumerate(operands)
        ]

    def call_derivative(
        self,
        call: tuple[str, _farcall.Attributes, list[tuple[str, Any]], list[int | None]],
        values: Sequence[Any],
        cotangents: Sequence[Any] = (),
    ) -> list[Any]:
        """Calls a derivative op. Returns the results in the requested order, with `None` for absent
        results."""
        target, attributes, arguments, wanted = call
        make = {"value": values.__getitem__, "cotangent": cotangents.__getitem__, "zeros": _zeros}
        operands = Internal.in_one_mesh([make[kind](what) for kind, what in arguments])
        results = self.derivative(target)(operands, attributes)
        return [None if i is None else results[i] for i in wanted]


class _Linear:
    """The derivative of an op at a point, as a linear map from tangents of operands to tangents of results.

    The map itself is differentiated with respect to the point by differentiating the tangent target, which is
    an op.

    The operands are the values that the op's derivatives need, then the nonzero tangents. The parameters are
    the op's attributes, the types of the op's operands, the operands that have a tangent, and the partition
    specs of the results in a mesh with explicit axes. The engine derives everything else about the map from
    the first three parameters (`_farcall.Linear`).
    """

    def __init__(self, of: OpPrimitive) -> None:
        self.of = of
        self.name = of.name
        self.primitive = jax.extend.core.Primitive(f"{of.name}_linear")
        self.primitive.multiple_results = True
        self.primitive.def_impl(self.evaluate)
        self.primitive.def_abstract_eval(self._abstract)
        mlir.register_lowering(self.primitive, mlir.lower_fun(self.evaluate, multiple_results=True))
        ad.primitive_jvps[self.primitive] = self.jvp
        ad.primitive_transposes[self.primitive] = self.transpose
        batching.primitive_batchers[self.primitive] = self._batch
        self.loop = LinearLoop(self)

    def _native(
        self, *, attributes: _farcall.Attributes, types: Types, moving: tuple[int, ...], **_: Any
    ) -> _farcall.Linear:
        return self.of.native.linear(types, attributes, moving)

    def _require(self) -> None:
        """Raises an exception if `residuals(…)` generated the op. Generated ops have no derivatives."""
        if (of := self.of.generated_for) is not None:
            raise TypeError(
                f"{of} has no second derivative: its residuals come from a generated op, {self.name}, which has no gradient;"
                " compute them in an op of your own, #[vjp(forward = f, backward = …)], that has a gradient, or let the backward"
                f" op compute from the operands and results of {of}; or use jax.lax.stop_gradient on the operands or"
                " results; see: farcall guide derivatives"
            )

    def saved(self, **params: Any) -> int:
        """Returns the number of leading operands in which the map is not linear."""
        return len(self._native(**params).saved)

    def _abstract(self, *values: Any, specs: tuple[Any, ...], **params: Any) -> list[Any]:
        types = self._native(**params).result_types
        return [
            Internal.aval(self.name, dtype_of(name), dims, values, spec) for (name, dims), spec in zip(types, specs)
        ]

    def evaluate(self, *values: Any, specs: tuple[Any, ...], **params: Any) -> list[Any]:
        """Computes the tangents of the results with the tangent target."""
        self._require()
        results = self.of.call_derivative(self._native(**params).tangent(), values)
        return [Internal.split_as(r, spec) for r, spec in zip(results, specs)]

    def transpose(self, cotangents: Sequence[Any], *values: Any, **params: Any) -> list[Any]:
        """Computes the cotangents of the operands with the backward target."""
        native = self._native(**params)
        saved = len(native.saved)
        if any(ad.is_undefined_primal(v) for v in values[:saved]):
            raise TypeError(f"{self.name} is not linear in its operands, and cannot be transposed with respect to them")
        zero = [type(c) is ad.Zero for c in cotangents]
        if all(zero):
            return [ad.Zero(v.aval) if ad.is_undefined_primal(v) else None for v in values]
        self._require()
        gradients = self.of.call_derivative(native.backward(zero), values, cotangents)
        return [None] * saved + [
            Internal.split_as(gradient, v.aval.sharding.spec) if ad.is_undefined_primal(v) else None
            for gradient, v in zip(gradients, values[saved:])
        ]

    def jvp(
        self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any
    ) -> tuple[list[Any], list[Any]]:
        native = self._native(**params)
        saved = len(native.saved)
        if all(type(t) is ad.Zero for t in tangents[:saved]):
            # Only operands in which the map is linear have tangents, so its derivative is the same map.
            moved = [ad.instantiate_zeros(t) for t in tangents[saved:]]
            return self.primitive.bind(*primals, **params), self.primitive.bind(*primals[:saved], *moved, **params)
        self._require()
        native.second()
        moved = [i for i, t in enumerate(tangents) if type(t) is not ad.Zero]

        def of_moved(*values: Any) -> list[Any]:
            given = dict(zip(moved, values))
            return self.evaluate(*(given.get(i, x) for i, x in enumerate(primals)), **params)

        return jax.jvp(of_moved, [primals[i] for i in moved], [tangents[i] for i in moved])

    def _batch(
        self, values: Sequence[Any], axes: Sequence[int | None], **params: Any
    ) -> tuple[list[Any], list[int | None]]:
        """Batches as one larger call, or as a loop."""
        return self.loop.batch(values, axes, params)

    def larger(
        self, operands: Sequence[Any], mapped: Sequence[bool], size: int, split: Any, **params: Any
    ) -> Larger | None:
        larger = self._native(**params).batch(list(mapped), size)
        if larger is None:
            return None
        batched, types = larger
        params["types"] = tuple((dtype, tuple(dims)) for dtype, dims in types)
        params["specs"] = tuple(jax.sharding.PartitionSpec(split, *spec) for spec in params["specs"])
        return [0 if b else None for b in batched], params, [0] * len(params["specs"])


#: Primitives by name and edition.
_PRIMITIVES: dict[str, dict[int, OpPrimitive]] = {}


def primitive_of(op: "Op") -> OpPrimitive:
    """Returns the primitive of an op. Primitives are found by name, because XLA finds handlers by names that
    are unique in the process."""
    edition = op._native.edition
    editions = _PRIMITIVES.setdefault(op.__name__, {})
    known = editions.get(edition)
    if known is None:
        known = editions[edition] = OpPrimitive(op)
    if known.op is not op and known.native.origin != op._native.origin:
        both = f"JAX has an op {op.__name__} from {known.native.origin}; to have that from {op._native.origin} as well, load"
        namespace = 'in a namespace, farcall.load(LIB, namespace="NAME")'
        if op._native.is_built_in or known.native.is_built_in:
            raise ValueError(f"{both} the library {namespace}")
        raise ValueError(
            f"{both} it {namespace}, or in the place of the other one, into the same registry, farcall.load(LIB, replace=True)"
        )
    return known


def add_handlers(op: "Op", platforms: Mapping[str, _farcall.Op]) -> None:
    """Registers handlers of an op that another library has added, if JAX has the op already."""
    if (known := _PRIMITIVES.get(op.__name__, {}).get(op._native.edition)) is not None and known.op is op:
        known.register_handlers(platforms)


def _zeros(ty: tuple[str, Sequence[int]]) -> Any:
    name, dims = ty
    return jnp.zeros(tuple(dims), dtype_of(name))
