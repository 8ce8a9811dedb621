"""The parts of JAX outside its documented interface that farcall uses."""

import contextlib
import dataclasses
import functools
import hashlib
import os
import sys
import types
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import jax
import numpy as np
from jax.interpreters import mlir


def _frames() -> Iterator[types.FrameType]:
    """Iterates over the frames of the callers, innermost first."""
    frame = sys._getframe(1)
    while frame is not None:
        yield frame
        frame = frame.f_back


class Internal:
    """Undocumented names that exist in JAX 0.10 to 0.12."""

    from jax._src import core, custom_partitioning, dispatch, effects, sharding_impls, source_info_util, traceback_util
    from jax._src.interpreters import mlir

    class SideEffect(effects.Effect):
        """Prevents calls of ops with a side effect from being dropped, repeated or reordered."""

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

    # JAX ignores the frames of this package, so that profiles, metadata of programs and errors name the
    # user's lines.
    package = os.path.dirname(__file__) + os.sep
    source_info_util.register_exclusion(package)
    traceback_util.register_exclusion(package)

    @classmethod
    def def_compiled_impl(cls, primitive: Any) -> None:
        """Lets JAX compile calls outside of traced functions, as it does for its own primitives: a call that
        returns NaN is an error under `jax_debug_nans`, and `jax_disable_jit` has no effect on the call."""
        cls.dispatch.simple_impl(primitive)

    @classmethod
    def is_tracing(cls) -> bool:
        return not cls.core.trace_state_clean()

    @classmethod
    def in_one_mesh(cls, operands: list[Any]) -> list[Any]:
        """In `shard_map`, marks all operands as varying between devices if one of them varies."""
        return list(cls.core.auto_insert_reshard(*operands)) if operands else []

    @classmethod
    def aval(cls, name: str, dtype: np.dtype, shape: Sequence[int], operands: Sequence[Any], spec: Sequence[Any] = ()) -> Any:
        """Returns the type of a result, on the mesh of the operands. `spec` is the partition spec of its
        first dimensions in a mesh of explicit axes."""
        if not operands:
            return jax.core.ShapedArray(tuple(shape), dtype)
        cls.core.standard_vma_rule(name, *operands)
        meshes = (operand.sharding.mesh for operand in operands if not operand.sharding.mesh.empty)
        mesh = next(meshes, cls.core.get_cur_mesh_sharding().mesh)
        spec = jax.sharding.PartitionSpec(*spec, *[None] * (len(shape) - len(spec)))
        sharding = jax.sharding.NamedSharding(mesh, spec)
        return operands[0].update(shape=tuple(shape), dtype=dtype, weak_type=False, sharding=sharding)

    @staticmethod
    def without(aval: Any, axes: Sequence[int]) -> Any:
        """Returns a type without some of its dimensions."""
        kept = [i for i in range(aval.ndim) if i not in axes]
        spec = jax.sharding.PartitionSpec(*(aval.sharding.spec[i] for i in kept))
        sharding = jax.sharding.NamedSharding(aval.sharding.mesh, spec)
        return aval.update(shape=tuple(aval.shape[i] for i in kept), sharding=sharding)

    @staticmethod
    def within(aval: Any, axes: Sequence[tuple[int, Any]]) -> Any:
        """Returns a type with additional leading dimensions, given by their sizes and partition specs."""
        spec = jax.sharding.PartitionSpec(*(split for _, split in axes), *aval.sharding.spec)
        sharding = jax.sharding.NamedSharding(aval.sharding.mesh, spec)
        return aval.update(shape=(*(size for size, _ in axes), *aval.shape), sharding=sharding)

    @classmethod
    def sharded(cls, context: mlir.LoweringRuleContext, results: Sequence[Any]) -> list[Any]:
        """Returns the results of a lowering with the shardings of their types."""
        lowered = zip(results, context.avals_out)
        return [cls.mlir.lower_with_sharding_in_types(context, value, aval) for value, aval in lowered]

    @staticmethod
    def split_as(value: Any, spec: Any) -> Any:
        """Returns the array with a partition spec if its mesh has explicit axes, or else the same array."""
        sharding = jax.typeof(value).sharding
        if sharding.mesh.empty or sharding.spec == spec or not sharding.mesh._any_axis_explicit:
            return value
        return jax.sharding.reshard(value, jax.sharding.NamedSharding(sharding.mesh, spec))

    @classmethod
    def whole_in_front(cls, value: Any) -> Any:
        """Returns the array with an unsplit first dimension."""
        return cls.split_as(value, jax.sharding.PartitionSpec(None, *jax.typeof(value).sharding.spec[1:]))

    @staticmethod
    def is_exported(context: mlir.LoweringRuleContext) -> bool:
        return context.module_context.lowering_parameters.for_export

    @staticmethod
    def is_partitioned(context: mlir.LoweringRuleContext) -> bool:
        """Returns true if XLA will split the program among devices."""
        axes = context.module_context.axis_context
        return isinstance(axes, mlir.ShardingContext) and axes.num_devices > 1

    @classmethod
    def is_split_here(cls, context: mlir.LoweringRuleContext) -> bool:
        """Returns true if this process splits the program. (An exported program is split by the process
        that loads it.)"""
        return cls.is_partitioned(context) and not cls.is_exported(context)

    @classmethod
    def with_mesh(cls, context: mlir.LoweringRuleContext) -> mlir.LoweringRuleContext:
        """Returns a context in which `custom_partitioning` can be lowered. JAX only lowers it in a context with
        a mesh of devices, although only the shape of the mesh matters. Without this context, JAX would have to
        lower the whole program for specific devices, and could not lower it for others."""
        count = context.module_context.axis_context.num_devices
        meshes = (aval.sharding.mesh for aval in context.avals_in)
        mesh = next((m for m in meshes if m.size == count), jax.sharding.AbstractMesh((count,), ("devices",)))
        axes = mlir.ShardingContext(count, tuple(jax.devices()[:1] * count), mesh)
        return context.replace(module_context=context.module_context.replace(axis_context=axes))

    @staticmethod
    def platforms(context: mlir.LoweringRuleContext) -> tuple[str, ...]:
        """Returns the platforms that a call is lowered for; none in a branch of `jax.lax.platform_dependent`,
        because JAX does not tell which platforms the branch is for. With `compute_on("device_host")`, a call runs on
        the CPU."""
        if getattr(getattr(context, "jaxpr_eqn_ctx", None), "compute_type", None) == "device_host":
            return ("cpu",)
        for frame in _frames():
            if frame.f_code.co_name == "_cond_lowering" and frame.f_locals.get("branches_platforms") is not None:
                return ()
        return tuple(context.platforms or context.module_context.platforms)

    @staticmethod
    def partitioned_for(context: mlir.LoweringRuleContext) -> tuple[Any, ...]:
        """Returns the platforms that a program is lowered for, the number of devices, and the mesh in which
        the program is partitioned."""
        axes = context.module_context.axis_context
        return tuple(context.module_context.platforms), axes.num_devices, axes.abstract_mesh

    @classmethod
    def name_partitioner(cls, context: mlir.LoweringRuleContext, call: Any, what: str) -> None:
        """Gives a lowered call of `custom_partitioning` the same name in each process. The name replaces the
        address by which JAX finds the functions that partition the call, because JAX's persistent cache looks
        up programs by their text.

        Args:
          context: the context of the lowering.
          call: the operation.
          what: everything that determines the partitioning. Equal texts must have equal functions.
        """
        functions = cls.custom_partitioning._sharding_callbacks
        own = functions[call.attributes["backend_config"].value.encode()]
        name = f"farcall-{hashlib.sha256(what.encode()).hexdigest()}"
        # The functions must live as long as the program, even if another program registered them first.
        context.module_context.add_keepalive(functions.setdefault(name.encode(), own))
        call.attributes["backend_config"] = mlir.ir.StringAttr.get(name)

    @staticmethod
    def disabled_checks() -> Sequence[Any] | None:
        """Returns the `disabled_checks` of the enclosing call of `jax.export.export`, if they can be
        found."""
        for frame in _frames():
            if frame.f_globals.get("__name__") == "jax._src.export._export" and "disabled_checks" in frame.f_locals:
                return list(frame.f_locals["disabled_checks"])
        return None

    @classmethod
    def spec(cls, sharding: jax.sharding.Sharding, mesh: jax.sharding.Mesh, rank: int) -> Sequence[Any]:
        """Returns XLA's sharding of an array as a partition spec of a mesh. The spec is empty if the mesh
        cannot express the sharding."""
        try:
            return cls.sharding_impls.parse_flatten_op_sharding(sharding._to_xla_hlo_sharding(rank), mesh)[0]
        except (ValueError, NotImplementedError, AssertionError):
            return ()


class Backend:
    """The parts of JAX and jaxlib that the backend `farcall` uses. `name` is the name of a backend. They are imported
    when they are needed, so that ops work with a JAX in which one of them has moved."""

    @classmethod
    def load(cls, name: str, path: str) -> None:
        """Loads the library of a plugin, unless that has happened before, and calls the functions that wait for
        plugins: JAX registers partitioners of custom calls in this way."""
        from jax._src import xla_bridge
        from jax._src.lib import xla_client

        if xla_client.pjrt_plugin_loaded(name):
            return
        c_api = xla_client.load_pjrt_plugin_dynamically(name, path)
        with xla_bridge._plugin_callback_lock:
            registration = xla_bridge._backend_factories[name]
            xla_bridge._backend_factories[name] = dataclasses.replace(registration, c_api=c_api)
            for callback in xla_bridge._plugin_callbacks:
                callback(c_api=c_api)

    @classmethod
    def client(cls, name: str, options: dict[str, Any]) -> Any:
        """Creates the client of a plugin that is loaded. JAX looks for devices of the platform `cpu`, for example
        to call Python functions; if its own CPU backend is not among the platforms, these are the client's."""
        from jax._src import xla_bridge

        client = xla_bridge.make_pjrt_c_api_client(name, options)
        if "cpu" not in (jax.config.jax_platforms or "cpu").split(","):
            xla_bridge._backends["cpu"] = client
        return client

    @classmethod
    def is_of(cls, client: Any, name: str) -> bool:
        """Returns true if a client belongs to a plugin whose version begins with its name."""
        return client.platform_version.rpartition("\n")[2].startswith(name)  # jaxlib adds a line

    @staticmethod
    def jaxlib_targets() -> list[str]:
        """Returns the names of jaxlib's own custom-call targets for CPUs."""
        from jaxlib import cpu_sparse, lapack

        return [name for module in (cpu_sparse, lapack) for name, *_ in module.registrations().get("cpu", [])]

    @classmethod
    def observe_registrations(
        cls, target: Callable[[str, Any, int, int], None], type_: Callable[[str, Any], None]
    ) -> None:
        """Calls functions with each custom-call target and type of the CPU backend: at once for those that are
        registered, and later for new ones."""
        from jax._src.lib import xla_client as client

        xla = client._xla

        def traits_of(traits: Any) -> int:
            return int(getattr(traits, "value", traits) or 0)

        def add_target(name: Any, functions: Any, platform: str, api_version: int = 0, traits: Any = 0) -> None:
            xla.register_custom_call_target(name, functions, platform, api_version, traits)
            target(name.decode() if isinstance(name, bytes) else name, functions, api_version, traits_of(traits))

        def add_type(name: str, registration: Any) -> None:
            xla.register_custom_type(name, registration)
            type_(name, registration)

        # JAX keeps registrations until a backend of the platform takes them.
        client.register_custom_call_handler("cpu", xla.register_custom_call_target)
        client.register_custom_type_handler("cpu", xla.register_custom_type)
        platform = client.xla_platform_names.get("cpu", "cpu")
        client._custom_callback_handler[platform] = add_target
        client._custom_type_id_handler[platform] = add_type
        for name, functions in xla.custom_call_targets("cpu").items():
            target(name, functions, 1 if isinstance(functions, dict) else 0, 0)

    @classmethod
    def wrap_compile(cls, wrapped: Callable[..., Any]) -> None:
        """Replaces JAX's function that compiles a program by `wrapped`, whose first argument is that function."""
        from jax._src import compiler

        compiler.backend_compile_and_load = functools.partial(wrapped, compiler.backend_compile_and_load)

    @classmethod
    @contextlib.contextmanager
    def module_attribute(cls, module: Any, name: str, number: int) -> Iterator[None]:
        """Gives a module an integer attribute for a while."""
        from jaxlib.mlir import ir

        with module.context:
            attribute = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), number)
            module.operation.attributes[name] = attribute
            try:
                yield
            finally:
                del module.operation.attributes[name]

    @staticmethod
    def is_buffer_callback(function: Any) -> bool:
        """Returns true for a function of `jax.experimental.buffer_callback`."""
        return getattr(function, "__module__", None) == "jax._src.buffer_callback"
