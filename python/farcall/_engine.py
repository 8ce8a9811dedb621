"""Registries and executables: the native module's, with NumPy arrays and defaults."""

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np

from farcall import _farcall
from farcall._arrays import TensorType, from_engine, tensor_type, to_engine


class Registry:
    """A set of targets: the functions that custom calls name.

    A target is (name, platform, typed or untyped). The same functions under the same name again are
    fine; other ones are an error unless `replace=True`.
    """

    def __init__(self) -> None:
        """An empty registry."""
        self._native = _farcall.Registry()

    @staticmethod
    def process() -> "Registry":
        """The registry of the process, where libraries that are opened by others register themselves."""
        registry = Registry.__new__(Registry)
        registry._native = _farcall.Registry.process()
        return registry

    def register(
        self,
        name: str,
        fn: Any,
        platform: str = "cpu",
        api_version: int = 1,
        traits: int = 0,
        *,
        replace: bool = False,
    ) -> _farcall.Target:
        """Registers a handler, as `jax.ffi.register_ffi_target` does.

        Args:
          name: the name that programs call.
          fn: a `PyCapsule` with the handler's address, or a dictionary of them by stage
            (`"instantiate"`, `"prepare"`, `"initialize"`, `"execute"`, `"record"`). The capsules are
            kept until the process ends.
          platform: where it runs. Only targets of `"cpu"` (or `"Host"`) are called by the engine.
          api_version: 1 for XLA's typed FFI, 0 for the older C functions.
          traits: bits of `XLA_FFI_Handler_TraitsBits`, beside those that the handler tells itself.
          replace: take the place of other functions of that name.

        Returns:
          The target.

        Raises:
          ValueError: if other functions have that name, or the handler is refused (a version that
            this engine does not speak, a state type that is not registered).
          TypeError: if `fn` holds no capsules.
        """
        return self._native.register(
            name, fn, platform=platform, api_version=api_version, traits=traits, replace=replace
        )

    def load(self, path: str | os.PathLike[str], targets: Iterable[str] = ()) -> list[_farcall.Target]:
        """Loads a library and registers its targets.

        Loading runs the library's code: only load what you trust.

        Args:
          path: the shared library. It may be a farcall library, register its handlers itself, or
            merely have their symbols.
          targets: targets made of symbols: `"rms_norm=RmsNorm"`, or by stage,
            `"counter=instantiate:CounterNew,execute:CounterRun"`.

        Returns:
          The targets that the library brought.

        Raises:
          FileNotFoundError: if there is no such file.
          OSError: if it cannot be opened; the message says why.
          ValueError: if it has no targets or lacks a symbol, or a target is refused.
        """
        if isinstance(targets, str):
            targets = [targets]
        return self._native.load(os.fspath(path), targets=list(targets))

    def targets(self) -> list[_farcall.Target]:
        """All targets, by name."""
        return self._native.targets()

    def __repr__(self) -> str:
        return f"<farcall.Registry of {len(self.targets())} targets>"


class Executable:
    """A compiled program. Call it with an array per input; it gives a list of an array per result.

    Any number of threads may call it at once. It stays usable after a run that failed.
    """

    def __init__(self, native: _farcall.Executable, kept: tuple[int, ...] | None = None, given: int = 0) -> None:
        self._native = native
        self._kept = kept
        self._given = given
        self._inputs = [tensor_type(*ty) for ty in native.inputs]
        self._outputs = [tensor_type(*ty) for ty in native.outputs]

    @property
    def inputs(self) -> list[TensorType]:
        """Element type and shape of each input."""
        return list(self._inputs)

    @property
    def outputs(self) -> list[TensorType]:
        """Element type and shape of each result."""
        return list(self._outputs)

    @property
    def plan(self) -> str:
        """What a run does, as text."""
        return self._native.plan

    def run(self, inputs: Sequence[Any]) -> list[np.ndarray]:
        """Runs the program.

        Args:
          inputs: an array per input, of exactly its element type and shape; or, for a program that JAX has
            lowered, an array per argument of the function, of which JAX left out what it does not use.
            Python's numbers and lists of them take the element type by themselves. For types that NumPy does not have: arrays of
            `ml_dtypes`, or the raw bits as `uint8` or `uint16`.

        Returns:
          An array per result, with memory of its own.

        Raises:
          TypeError: if the inputs are too few or too many, or of another element type.
          ValueError: if an input has another shape.
          RuntimeError: if a custom call fails; the message has its target, its place in the program and
            the handler's own words.
        """
        wanted = self._inputs
        if self._kept is not None and len(inputs) == self._given:
            inputs = [inputs[i] for i in self._kept]
        if len(inputs) == len(wanted):
            given = [to_engine(value, ty, i) for i, (value, ty) in enumerate(zip(inputs, wanted))]
        else:
            given = [to_engine(value, None, i) for i, value in enumerate(inputs)]
        return [from_engine(e, ty) for e, ty in zip(self._native.run(given), self._outputs)]

    def __call__(self, *inputs: Any) -> list[np.ndarray]:
        """`run(inputs)`."""
        return self.run(inputs)

    def __repr__(self) -> str:
        def join(types: list[TensorType]) -> str:
            return ", ".join(map(str, types))

        return f"<farcall.Executable ({join(self._inputs)}) -> ({join(self._outputs)})>"


def compile(
    program: Any,
    registry: Registry | None = None,
    entry: str | None = None,
    denormals: Literal["ieee", "flush"] = "ieee",
    semantics: Literal["xla", "stablehlo"] = "xla",
    *,
    name: str | None = None,
) -> Executable:
    """Compiles a program.

    Args:
      program: StableHLO text; or a `pathlib.Path` to a file of it; or what has it, such as
        `jax.jit(f).lower(x)` or `jax.export.export(jax.jit(f))(x)`.
      registry: targets for its custom calls; the registry of the process if none is given.
      entry: the function to run; `main`, or the only public one, if none is given.
      denormals: `"ieee"`, or `"flush"` for subnormal numbers that count as zero, as XLA:CPU has it.
      semantics: whose word counts where XLA and the StableHLO specification differ: `"xla"` or `"stablehlo"`.
      name: what messages call the program.

    Raises:
      ValueError: if the program breaks a rule of StableHLO, or calls a target that is not registered:
        every mistake, with line, column and a caret.
    """
    if isinstance(program, Path):
        name = name or str(program)
        program = program.read_text(encoding="utf-8")
    text = _text(program)
    if registry is None:
        registry = Registry.process()
    native = _farcall.compile(
        text,
        registry=registry._native,
        name=name or "<program>",
        entry=entry,
        denormals=denormals,
        semantics=semantics,
    )
    return Executable(native, *_kept_arguments(program))


def _kept_arguments(program: Any) -> tuple[tuple[int, ...] | None, int]:
    """Which of its function's arguments a program that JAX has lowered still takes, and how many they were."""
    lowering = getattr(program, "_lowering", None)
    kept = getattr(program, "module_kept_var_idx", getattr(lowering, "compile_args", {}).get("kept_var_idx"))
    if kept is None or not hasattr(program, "in_tree"):
        return None, 0
    return tuple(sorted(kept)), program.in_tree.num_leaves


def _text(program: Any) -> str:
    if isinstance(program, str):
        return program
    for method in ("as_text", "mlir_module"):
        if hasattr(program, method):
            return str(getattr(program, method)())
    raise TypeError(f"a program is StableHLO text, a Path, or a lowered JAX function, not {type(program).__name__}")


def register_type(name: str, type_registration: Mapping[str, Any], platform: str = "cpu") -> int:
    """Registers a type that handlers keep state in, as `jax.ffi.register_ffi_type` does.

    Types are known to the whole process. Register a type before the targets that use it.

    Args:
      name: the type's name.
      type_registration: capsules by name: `"type_id"` points to an `XLA_FFI_TypeId`, which gets the id
        unless it has one; `"type_info"`, which may be missing, to an `XLA_FFI_TypeInfo`.
      platform: any; the same type serves all.

    Returns:
      The type's id.
    """
    del platform
    unknown = sorted(set(type_registration) - {"type_id", "type_info"})
    if unknown or "type_id" not in type_registration:
        raise ValueError(f"type `{name}`: needs \"type_id\" and may have \"type_info\", not {unknown}")
    return _farcall.register_type(name, type_registration["type_id"], type_registration.get("type_info"))
