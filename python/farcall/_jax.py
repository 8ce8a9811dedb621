"""Ops as operations of JAX.

Two primitives carry what an op declares:

- the *op's*: abstract evaluation from the signature, batching from the signature (one call, or a loop), lowering to a
  custom call, and the first half of differentiation: it calls the op (or its forward op, which also gives
  residuals) and leaves the tangents to the other one;
- the *linear* one, from tangents of operands to tangents of results, which carries the values that the derivatives
  need. Evaluated, it is the op's tangent target (JVP); transposed, it is its backward target (VJP). So both live
  together, and a missing one is noticed exactly when it is needed.

Derivatives are ops themselves, so that they batch by their own signatures.

What is not in JAX's documented interface is used in `_Internal` alone.
"""

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import jax
import jax.extend
import jax.numpy as jnp
import numpy as np
from jax.interpreters import ad, batching, mlir

from farcall import _farcall
from farcall._arrays import dtype_name, dtype_of

if TYPE_CHECKING:
    from farcall._ops import Op

if jax.__version_info__ < (0, 10):
    raise ImportError(f"farcall's ops are operations of JAX 0.10 and newer; this is JAX {jax.__version__}")

_PLATFORMS = {"Host": "cpu", "CUDA": "cuda", "ROCM": "rocm"}

Types = tuple[tuple[str, tuple[int, ...]], ...]


class _Internal:
    """The parts of JAX that it keeps to itself."""

    from jax._src import core, effects
    from jax._src.interpreters import mlir

    class SideEffect(effects.Effect):
        """Keeps calls of ops that have a side effect from being dropped, repeated or reordered."""

        def __str__(self) -> str:
            return "SideEffect"

        def __eq__(self, other: object) -> bool:
            return isinstance(other, type(self))

        def __hash__(self) -> int:
            return hash(type(self))

    for allowed in (
        effects.lowerable_effects,
        effects.ordered_effects,
        effects.shardable_ordered_effects,
        effects.control_flow_allowed_effects,
        effects.custom_derivatives_allowed_effects,
    ):
        allowed.add_type(SideEffect)
    del allowed
    side_effect = SideEffect()

    @classmethod
    def is_tracing(cls) -> bool:
        return not cls.core.trace_state_clean()

    @classmethod
    def in_one_mesh(cls, operands: list[Any]) -> list[Any]:
        """In `shard_map`, operands that are the same on all devices are marked as varying where others are."""
        return list(cls.core.auto_insert_reshard(*operands)) if operands else []

    @classmethod
    def aval(cls, name: str, dtype: np.dtype, shape: Sequence[int], operands: Sequence[Any], spec: Sequence[Any] = ()) -> Any:
        """A result's type, on the mesh that the operands are on; `spec` says how its first dimensions are split."""
        if not operands:
            return jax.core.ShapedArray(tuple(shape), dtype)
        cls.core.standard_vma_rule(name, *operands)
        meshes = (operand.sharding.mesh for operand in operands if not operand.sharding.mesh.empty)
        mesh = next(meshes, cls.core.get_cur_mesh_sharding().mesh)
        spec = jax.sharding.PartitionSpec(*spec, *[None] * (len(shape) - len(spec)))
        sharding = jax.sharding.NamedSharding(mesh, spec)
        return operands[0].update(shape=tuple(shape), dtype=dtype, weak_type=False, sharding=sharding)

    @classmethod
    def sharded(cls, context: mlir.LoweringRuleContext, results: Sequence[Any]) -> list[Any]:
        """Results of a lowering with the shardings that their types have."""
        lowered = zip(results, context.avals_out)
        return [cls.mlir.lower_with_sharding_in_types(context, value, aval) for value, aval in lowered]

    @staticmethod
    def split_as(value: Any, spec: Any) -> Any:
        """The array, in a mesh of explicit axes split in this way."""
        sharding = jax.typeof(value).sharding
        if sharding.mesh.empty or sharding.spec == spec or not sharding.mesh._any_axis_explicit:
            return value
        return jax.sharding.reshard(value, jax.sharding.NamedSharding(sharding.mesh, spec))

    @classmethod
    def whole_in_front(cls, value: Any) -> Any:
        """The array, its first dimension not split."""
        return cls.split_as(value, jax.sharding.PartitionSpec(None, *jax.typeof(value).sharding.spec[1:]))

    @staticmethod
    def is_partitioned(context: mlir.LoweringRuleContext) -> bool:
        """True if the program is going to be split among devices by XLA."""
        axes = context.module_context.axis_context
        return isinstance(axes, mlir.ShardingContext) and axes.num_devices > 1


is_tracing = _Internal.is_tracing


def call(op: "Op", operands: list[Any], attributes: _farcall.Attributes) -> list[Any]:
    """Calls an op on JAX arrays, NumPy arrays and numbers."""
    given, kinds = zip(*map(_given, operands)) if operands else ((), ())
    arrays = [jnp.asarray(value) for value in op.typed(given, kinds, _is_known)]
    primitive = primitive_of(op)
    op._native.infer(primitive.types(arrays), attributes)  # what is wrong is said here, not deep inside
    return primitive(_Internal.in_one_mesh(arrays), attributes)


def _given(value: Any) -> tuple[Any, str | None]:
    """An operand; and what its numbers are, if they are Python's, although they are a JAX array by now."""
    if isinstance(value, jax.Array):
        return value, _kind(value) if jax.typeof(value).weak_type else None
    if hasattr(value, "dtype"):
        # Integers of NumPy's usual type would be cut to JAX's.
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
    """True if JAX has the element type."""
    return jax.dtypes.canonicalize_dtype(dtype_of(name)) == dtype_of(name)


class OpPrimitive:
    """An op as a primitive of JAX."""

    def __init__(self, op: "Op") -> None:
        self.op = op
        self.native = op._native
        self.name = self.native.name
        self.primitive = jax.extend.core.Primitive(self.name)
        self.primitive.multiple_results = True
        self.primitive.def_impl(self._impl)
        self.primitive.def_effectful_abstract_eval(self._abstract)
        batching.primitive_batchers[self.primitive] = self._batch
        ad.primitive_jvps[self.primitive] = self._jvp
        self._linear: _Linear | None = None
        self._register()

    def __call__(self, operands: Sequence[Any], attributes: _farcall.Attributes) -> list[Any]:
        return self.primitive.bind(*operands, attributes=attributes)

    # ---- Shapes ----------------------------------------------------------------------------

    def types(self, operands: Sequence[Any]) -> Types:
        """Element types and shapes of arrays or of their abstract values, as the engine names them."""
        types = []
        for operand in operands:
            # JAX's own element types (of keys, of tangents of integers) are no types of NumPy.
            dtype = dtype_name(operand.dtype) if isinstance(operand.dtype, np.dtype) else None
            if dtype is None:
                raise TypeError(f"{self.name}: an array of {operand.dtype} is no operand of an op")
            if not all(isinstance(size, int) for size in operand.shape):
                raise NotImplementedError(f"{self.name}: shapes must be known, but an operand has the shape {operand.shape}")
            types.append((dtype, operand.shape))
        return tuple(types)

    def infer(self, operands: Sequence[Any], attributes: _farcall.Attributes) -> _farcall.Call:
        return self.native.infer(self.types(operands), attributes)

    def _abstract(
        self, *operands: Any, attributes: _farcall.Attributes, num_batch_dims: int | None = None
    ) -> tuple[list[Any], set[Any]]:
        call = self.infer(operands, attributes)
        spec = self._batch_spec(call, operands) if self.native.batch_partitionable else ()
        avals = [
            _Internal.aval(self.name, self._dtype(call, i), dims, operands, spec)
            for i, (_, dims, _) in enumerate(call.results)
        ]
        return avals, {_Internal.side_effect} if self.native.has_side_effect else set()

    def _batch_spec(self, call: _farcall.Call, operands: Sequence[Any]) -> tuple[Any, ...]:
        """How the batch dimensions are split, in a mesh of explicit axes."""
        specs = {}
        for operand, slot in zip(operands, call.operand_slots):
            name, _, has_batch = self.native.operands[slot]
            if has_batch and any(spec := tuple(operand.sharding.spec[: call.batch_rank])):
                specs.setdefault(spec, name)
        if len(specs) > 1:
            words = [f"those of {name} as {jax.sharding.PartitionSpec(*spec)}" for spec, name in specs.items()]
            raise ValueError(
                f"{self.name}: batch dimensions are split differently, {' but '.join(words)}; use jax.sharding.reshard"
            )
        return next(iter(specs), ())

    def _dtype(self, call: _farcall.Call, result: int) -> np.dtype:
        name = call.results[result][0]
        dtype = dtype_of(name)
        if not _is_known(name):
            shown = self.native.results[call.result_slots[result]]
            raise TypeError(f"{self.name}: {shown} is {name}, which JAX has only with jax_enable_x64")
        return dtype

    # ---- Running ---------------------------------------------------------------------------

    def _impl(self, *operands: Any, attributes: _farcall.Attributes) -> list[Any]:
        return self._compiled(attributes)(*operands)

    @functools.cached_property
    def _compiled(self) -> Callable[[_farcall.Attributes], Callable[..., list[Any]]]:
        def compiled(attributes: _farcall.Attributes) -> Callable[..., list[Any]]:
            def run(*operands: Any) -> list[Any]:
                return self.primitive.bind(*operands, attributes=attributes)

            run.__name__ = self.name
            return jax.jit(run)

        return functools.lru_cache(maxsize=256)(compiled)

    def _register(self) -> None:
        """Tells XLA of the handlers, and JAX how a call is written."""
        for platform, native in self.op._platforms.items():
            known = _PLATFORMS.get(platform, platform.lower())
            try:
                mlir.register_lowering(self.primitive, self._lower, platform=known)
            except NotImplementedError:
                continue  # this JAX knows of no such platform
            jax.ffi.register_ffi_target(self.name, native.capsules(), platform=known)
        if self.native.batch_partitionable:
            jax.ffi.register_ffi_target_as_batch_partitionable(self.name)

    def _lower(
        self,
        context: mlir.LoweringRuleContext,
        *operands: Any,
        attributes: _farcall.Attributes,
        num_batch_dims: int | None = None,
    ) -> Any:
        call = self.infer(context.avals_in, attributes)
        extra = {}
        if self.native.batch_partitionable:
            is_partitioned = _Internal.is_partitioned(context)
            if num_batch_dims is None:
                num_batch_dims, added = self._batch_dims(call) if is_partitioned else (call.batch_rank, 0)
                if added:
                    rule = functools.partial(self._widened, call, added)
                    params = {"attributes": attributes, "num_batch_dims": num_batch_dims}
                    return mlir.lower_fun(rule, multiple_results=True)(context, *operands, **params)
            extra["mhlo.frontend_attributes"] = mlir.ir_attribute({"num_batch_dims": str(num_batch_dims)})
            if is_partitioned:
                extra["sdy.sharding_rule"] = mlir.ir.Attribute.parse(self._sharding_rule(call, context.avals_in))
        if self.native.has_side_effect and _Internal.is_partitioned(context):
            raise NotImplementedError(
                f"{self.name} has a side effect, and XLA cannot split a program with such calls among devices: call it in "
                f"jax.shard_map, where it happens once on each device, or on one device"
            )
        # Calls with a side effect are a chain of tokens, the last operand and the last result of each.
        ordered = [context.tokens_in.get(_Internal.side_effect)] if self.native.has_side_effect else []
        tokens = [_Internal.core.abstract_token for _ in ordered]
        rule = jax.ffi.ffi_lowering(
            self.name,
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
            context.set_tokens_out(mlir.TokenSet({_Internal.side_effect: results.pop()}))
        return _Internal.sharded(context, results)

    # ---- Partitioning ----------------------------------------------------------------------
    #
    # XLA's partitioner for such calls splits the first `num_batch_dims` dimensions of every operand that has as many,
    # leaves operands with fewer whole, and gives up where a first operand has no others. An op's batch can have any
    # number of dimensions, so it gets some of size 1 until this fits. How the batch is split is known to Shardy by a rule.

    def _batch_dims(self, call: _farcall.Call) -> tuple[int, int]:
        """How many dimensions count as batch, and how many of size 1 have to be added to have that."""
        ranks = [(len(layout), self.native.operands[slot][2]) for slot, layout in zip(call.operand_slots, call.operand_layouts)]
        whole = max((rank for rank, has_batch in ranks if not has_batch), default=-1)
        count = max(call.batch_rank, whole + 1)
        only_batch = (call.batch_rank, True) in ranks
        return count, count - call.batch_rank + only_batch

    def _widened(self, call: _farcall.Call, added: int, *operands: Any, **params: Any) -> list[Any]:
        """The same call with more batch dimensions."""
        at = call.batch_rank
        operands = [
            x.reshape(*x.shape[:at], *[1] * added, *x.shape[at:]) if self.native.operands[slot][2] else x
            for x, slot in zip(operands, call.operand_slots)
        ]
        results = self.primitive.bind(*operands, **params)
        return [x.reshape(dims) for x, (_, dims, _) in zip(results, call.results)]

    def _sharding_rule(self, call: _farcall.Call, operands: Sequence[Any]) -> str:
        """The batch dimensions are split together; every other dimension is whole."""
        sizes: list[int] = []

        def factor(size: int) -> str:
            sizes.append(size)
            letter = "ijklmnopqrstuvwxyz"
            return letter[len(sizes) - 1] if len(sizes) <= len(letter) else f"z_{len(sizes) - len(letter)}"

        shapes = [(x.shape, self.native.operands[slot][2]) for x, slot in zip(operands, call.operand_slots)]
        shapes += [(dims, True) for _, dims, _ in call.results]
        batch = [factor(size) for size in next(shape for shape, has in shapes if has)[: call.batch_rank]]
        names = list(batch)

        def tensor(shape: Sequence[int], has_batch: bool) -> str:
            own = [factor(size) for size in shape[len(batch) * has_batch :]]
            names.extend(own)
            return f"[{', '.join([*batch * has_batch, *own])}]"

        tensors = [tensor(*shape) for shape in shapes]
        inputs, outputs = ", ".join(tensors[: len(operands)]), ", ".join(tensors[len(operands) :])
        of_size = ", ".join(f"{name}={size}" for name, size in zip(names, sizes))
        whole = ", ".join(names[len(batch) :])
        need = f" need_replication={{{whole}}}" if whole else ""
        return f"#sdy.op_sharding_rule<({inputs})->({outputs}) {{{of_size}}}{need}, custom>"

    # ---- vmap ------------------------------------------------------------------------------

    def _batch(
        self, operands: Sequence[Any], axes: Sequence[int | None], *, attributes: _farcall.Attributes
    ) -> tuple[list[Any], list[int | None]]:
        batched = [axis is not None for axis in axes]
        [size] = {x.shape[axis] for x, axis, b in zip(operands, axes, batched) if b}
        # The rule wants the axis in front.
        types = [
            (dtype, dims if axis is None else (size, *_without(dims, axis)))
            for (dtype, dims), axis in zip(self.types(operands), axes)
        ]
        kind, *rule = self.native.batch_rule(types, batched, attributes)
        if kind == "native":
            operands = [
                _at(x, axis, 0, size) if b or i in rule[0] else x
                for i, (x, axis, b) in enumerate(zip(operands, axes, batched))
            ]
            results = self(operands, attributes)
            return results, [0] * len(results)
        if kind == "custom":
            to, attributes, results_at = rule
            operands = [x if at is None else _at(x, axis, at, size) for x, axis, at in zip(operands, axes, to)]
            return self(operands, attributes), results_at
        results = _loop(lambda *entry: self(entry, attributes), operands, axes)
        return results, [0] * len(results)

    # ---- Derivatives -----------------------------------------------------------------------

    def derivative(self, target: str) -> "OpPrimitive":
        """The op of the same library that is a derivative of this one."""
        return primitive_of(self.op._library[target])

    def check_differentiable(self, call: _farcall.Call, moving: Sequence[int]) -> None:
        """Says what a derivative with respect to these operands lacks, if it lacks anything. To be asked where the
        derivative is needed: that of a result that nobody looks at is zero."""
        if self.native.vjp is None and self.native.jvp is None:
            raise TypeError(
                f"{self.name} has no gradient: add #[vjp(backward = …)] for jax.grad or #[jvp(tangent = …)] for jax.jvp "
                f"to its declaration, or use jax.lax.stop_gradient on its operands or results"
            )
        for i in moving:
            name, _, _ = self.native.operands[call.operand_slots[i]]
            if name in self.native.non_differentiable:
                raise TypeError(
                    f"{self.name} is not differentiable in {name}, by declaration: use jax.lax.stop_gradient({name})"
                )

    @property
    def linear(self) -> "_Linear":
        if self._linear is None:
            self._linear = _Linear(self)
        return self._linear

    def _jvp(
        self, primals: Sequence[Any], tangents: Sequence[Any], *, attributes: _farcall.Attributes
    ) -> tuple[list[Any], list[Any]]:
        call = self.infer(primals, attributes)
        moving = tuple(i for i, t in enumerate(tangents) if type(t) is not ad.Zero)
        if not any(_is_inexact(dtype_of(name)) for name, _, _ in call.results):
            results = self(primals, attributes)
            return results, [ad.Zero(jax.typeof(r).to_tangent_aval()) for r in results]
        forward = self.native.vjp[0] if self.native.vjp else None
        if forward is None:
            results, residuals = self(primals, attributes), []
        else:
            target = self.derivative(forward)
            values = target(primals, target.native.select(attributes))
            results, residuals = values[: len(call.results)], values[len(call.results) :]
        values = {"operand": primals, "result": results, "residual": residuals}
        saved = self.linear.saved(call, len(residuals))
        tangents_out = iter(
            self.linear.primitive.bind(
                *(values[kind][i] for kind, i in saved),
                *(tangents[i] for i in moving),
                attributes=attributes,
                types=self.types(primals),
                moving=moving,
                residuals=len(residuals),
                specs=tuple(jax.typeof(r).sharding.spec for r in results if _is_continuous(r)),
            )
        )
        tangents = [
            next(tangents_out) if _is_continuous(r) else ad.Zero(jax.typeof(r).to_tangent_aval()) for r in results
        ]
        return results, tangents


class _Linear:
    """The derivative of an op at a point, as a linear map from tangents of operands to tangents of results.

    Its operands are the values that the op's derivatives need, then the tangents that are not zero. Its parameters are
    the op's attributes, the types of the op's operands, which of these have a tangent, how many residuals there are, and
    how the results are split in a mesh of explicit axes.
    """

    def __init__(self, of: OpPrimitive) -> None:
        self.of = of
        self.name = of.name
        self.native = of.native
        self.primitive = jax.extend.core.Primitive(f"{of.name}_linear")
        self.primitive.multiple_results = True
        self.primitive.def_impl(self._evaluate)
        self.primitive.def_abstract_eval(self._abstract)
        mlir.register_lowering(self.primitive, mlir.lower_fun(self._evaluate, multiple_results=True))
        ad.primitive_jvps[self.primitive] = self._jvp
        ad.primitive_transposes[self.primitive] = self._transpose
        batching.primitive_batchers[self.primitive] = self._batch

    def saved(self, call: _farcall.Call, residuals: int) -> list[tuple[str, int]]:
        """What the derivatives need, in the order of the linear primitive's operands."""
        sources = list(self.native.jvp[1]) if self.native.jvp else []
        sources += self.native.vjp[2] if self.native.vjp else []
        operands = [("operand", i) for i, slot in enumerate(call.operand_slots) if ("operand", slot) in sources]
        results = [("result", i) for i, slot in enumerate(call.result_slots) if ("result", slot) in sources]
        return operands + results + [("residual", i) for i in range(residuals)]

    def _abstract(
        self, *values: Any, attributes: _farcall.Attributes, types: Types, specs: tuple[Any, ...], **_: Any
    ) -> list[Any]:
        call = self.native.infer(types, attributes)
        results = [(dtype, dims) for name, dims, _ in call.results if _is_inexact(dtype := dtype_of(name))]
        return [_Internal.aval(self.name, *result, values, spec) for result, spec in zip(results, specs)]

    def _evaluate(
        self,
        *values: Any,
        attributes: _farcall.Attributes,
        types: Types,
        moving: tuple[int, ...],
        residuals: int,
        specs: tuple[Any, ...],
    ) -> list[Any]:
        """The tangents of the results, by the tangent target."""
        call = self.native.infer(types, attributes)
        self.of.check_differentiable(call, moving)
        if self.native.jvp is None:
            raise TypeError(
                f"{self.name} has no forward derivative, which jax.jvp, jax.jacfwd and jax.linearize need: add "
                f"#[jvp(tangent = …)] to its declaration, or use jax.grad, jax.vjp or jax.jacrev"
            )
        target, sources, tangents_of = self.native.jvp
        saved = self.saved(call, residuals)
        known = dict(zip(saved, values))
        known |= {("tangent", i): t for i, t in zip(moving, values[len(saved) :])}
        operands = []
        for kind, slot in sources:
            slots = call.result_slots if kind == "result" else call.operand_slots
            for i in (i for i, own in enumerate(slots) if own == slot):
                # Only tangents can be unknown: those that are zero.
                operands.append(known[kind, i] if (kind, i) in known else _zeros(types[i]))
        tangent = self.of.derivative(target)
        own = tangent.native.select(attributes)
        outputs = tangent(_Internal.in_one_mesh(operands), own)
        by_slot = _by_slot(outputs, tangent.infer(operands, own).result_slots)
        results = []
        for (name, _, _), slot in zip(call.results, call.result_slots):
            if _is_inexact(dtype_of(name)):
                results.append(next(by_slot[tangents_of[slot]]))
        return [_Internal.split_as(r, spec) for r, spec in zip(results, specs)]

    def _transpose(
        self,
        cotangents: Sequence[Any],
        *values: Any,
        attributes: _farcall.Attributes,
        types: Types,
        moving: tuple[int, ...],
        residuals: int,
        specs: tuple[Any, ...],
    ) -> list[Any]:
        """The cotangents of the operands, by the backward target."""
        call = self.native.infer(types, attributes)
        saved = self.saved(call, residuals)
        linear = values[len(saved) :]
        if any(ad.is_undefined_primal(v) for v in values[: len(saved)]):
            raise TypeError(f"{self.name} is not linear in its operands, and cannot be transposed with respect to them")
        if all(type(c) is ad.Zero for c in cotangents):
            return [None] * len(saved) + [ad.Zero(v.aval) if ad.is_undefined_primal(v) else None for v in linear]
        self.of.check_differentiable(call, moving)
        if self.native.vjp is None:
            raise TypeError(
                f"{self.name} has no reverse derivative, which jax.grad, jax.vjp and jax.jacrev need: add "
                f"#[vjp(backward = …)] to its declaration, or use jax.jvp or jax.jacfwd"
            )
        _, target, sources, cotangents_of = self.native.vjp
        known: dict[tuple[str, int], Any] = dict(zip(saved, values))
        cotangents = iter(cotangents)
        for i, ((name, dims, _), slot) in enumerate(zip(call.results, call.result_slots)):
            if _is_inexact(dtype_of(name)):
                cotangent = next(cotangents)
                if ("cotangent", slot) not in sources and type(cotangent) is not ad.Zero:
                    result = self.native.results[slot]
                    raise TypeError(
                        f"{self.name} is not differentiable in its result {result}: {target}, its backward op, does not "
                        f"take d{result}"
                    )
                known["cotangent", i] = _zeros((name, dims)) if type(cotangent) is ad.Zero else cotangent
        operands = []
        for kind, slot in sources:
            slots = {"operand": call.operand_slots, "residual": range(residuals)}.get(kind, call.result_slots)
            operands += [known[kind, i] for i, own in enumerate(slots) if own == slot]
        backward = self.of.derivative(target)
        own = backward.native.select(attributes)
        operands = _Internal.in_one_mesh(operands)
        by_slot = _by_slot(backward(operands, own), backward.infer(operands, own).result_slots)
        gradients: dict[int, Any] = {}
        for i, slot in enumerate(call.operand_slots):
            if cotangents_of[slot] is not None and (found := next(by_slot.get(cotangents_of[slot], iter(())), None)) is not None:
                gradients[i] = found
        return [None] * len(saved) + [
            _Internal.split_as(gradients[i], v.aval.sharding.spec) if ad.is_undefined_primal(v) else None
            for i, v in zip(moving, linear)
        ]

    def _jvp(
        self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any
    ) -> tuple[list[Any], list[Any]]:
        call = self.native.infer(params["types"], params["attributes"])
        saved = len(self.saved(call, params["residuals"]))
        if all(type(t) is ad.Zero for t in tangents[:saved]):
            # Linear in the tangents: the derivative is the same map.
            moved = [ad.instantiate_zeros(t) for t in tangents[saved:]]
            return self.primitive.bind(*primals, **params), self.primitive.bind(*primals[:saved], *moved, **params)
        if self.native.jvp is None:
            raise TypeError(
                f"{self.name} has no second derivative: it would be that of its forward derivative, which it does not "
                f"have (add #[jvp(tangent = …)] to its declaration, and #[jvp(…)] to that op's)"
            )
        return jax.jvp(
            functools.partial(self._evaluate, **params), list(primals), [ad.instantiate_zeros(t) for t in tangents]
        )

    def _batch(
        self,
        values: Sequence[Any],
        axes: Sequence[int | None],
        *,
        attributes: _farcall.Attributes,
        types: Types,
        moving: tuple[int, ...],
        residuals: int,
        specs: tuple[Any, ...],
    ) -> tuple[list[Any], list[int | None]]:
        """One larger call if the op and its forward op can be batched so, else a loop."""
        call = self.native.infer(types, attributes)
        saved = self.saved(call, residuals)
        params = {"attributes": attributes, "moving": moving, "residuals": residuals}
        sources = [*saved, *(("tangent", i) for i in moving)]
        mapped = [axis is not None for axis in axes]
        [size] = {x.shape[axis] for x, axis, m in zip(values, axes, mapped) if m}

        # Whatever has batch dimensions gets another one.
        has_batch = [self.native.operands[slot][2] for slot in call.operand_slots]
        flags = list(has_batch)
        for (kind, i), m in zip(sources, mapped):
            if m and kind in ("operand", "tangent"):
                flags[i] = True
        forward = self.native.vjp[0] if self.native.vjp else None
        ops = [self, *([self.of.derivative(forward)] if forward else [])]
        front = [(dtype, (size, *dims) if b else dims) for (dtype, dims), b in zip(types, flags)]
        if all(op.native.batch_rule(front, flags, op.native.select(attributes))[0] == "native" for op in ops):
            operands = [
                _at(x, axis, 0, size) if kind in ("result", "residual") or has_batch[i] else x
                for x, axis, (kind, i) in zip(values, axes, sources)
            ]
            larger = tuple((dtype, (size, *dims) if b else dims) for (dtype, dims), b in zip(types, has_batch))
            specs = tuple(jax.sharding.PartitionSpec(None, *spec) for spec in specs)
            results = self.primitive.bind(*operands, types=larger, specs=specs, **params)
        else:
            results = _loop(lambda *entry: self.primitive.bind(*entry, types=types, specs=specs, **params), values, axes)
        return results, [0] * len(results)


_PRIMITIVES: dict[str, OpPrimitive] = {}


def primitive_of(op: "Op") -> OpPrimitive:
    """The primitive of an op. XLA knows handlers by their names, for the whole process."""
    known = _PRIMITIVES.get(op.__name__)
    if known is None:
        known = _PRIMITIVES[op.__name__] = OpPrimitive(op)
    elif known.op is not op and known.native.origin != op._native.origin:
        raise ValueError(
            f"JAX has an op {op.__name__} from {known.native.origin}; it cannot have another one from {op._native.origin}"
        )
    return known


def _loop(function: Callable[..., list[Any]], operands: Sequence[Any], axes: Sequence[int | None]) -> list[Any]:
    """Calls a function for each index of the mapped axes, in order; stacks the results."""
    mapped = [axis is not None for axis in axes]
    # A loop cannot be split: in a mesh of explicit axes that has to be said.
    entries = [_Internal.whole_in_front(jnp.moveaxis(x, axis, 0)) for x, axis, m in zip(operands, axes, mapped) if m]

    def one(entry: list[Any]) -> list[Any]:
        entry = iter(entry)
        return function(*(next(entry) if m else x for x, m in zip(operands, mapped)))

    return jax.lax.map(one, entries)


def _at(x: Any, axis: int | None, to: int, size: int) -> Any:
    """The array with its mapped axis elsewhere; with a new one if it has none."""
    if axis is not None:
        return jnp.moveaxis(x, axis, to)
    return jnp.moveaxis(jnp.broadcast_to(x, (size, *x.shape)), 0, to)


def _without(shape: Sequence[int], axis: int | None) -> tuple[int, ...]:
    if axis is None:
        return tuple(shape)
    return (*shape[:axis], *shape[axis + 1 :])


def _by_slot(values: Sequence[Any], slots: Sequence[int]) -> dict[int, Any]:
    """Iterators over the values of each declared result."""
    return {slot: iter([v for v, s in zip(values, slots) if s == slot]) for slot in slots}


def _zeros(ty: tuple[str, Sequence[int]]) -> Any:
    name, dims = ty
    return jnp.zeros(tuple(dims), dtype_of(name))


def _is_inexact(dtype: np.dtype) -> bool:
    return jnp.issubdtype(dtype, jnp.inexact)


def _is_continuous(value: Any) -> bool:
    return _is_inexact(value.dtype)
