"""Registries and executables: wrappers of the native module's classes, with NumPy arrays and defaults."""

import os
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, Protocol, overload

import numpy as np

from farcall import _farcall
from farcall import _blocks
from farcall._arrays import TensorType, dtype_name, tensor_type, to_engine
from farcall._blocks import BlockDecision, Lowering, Skipped
from farcall._handlers import Callbacks, Handler
from farcall._profile import Profile, StepTime
from farcall._trees import Trees


class StaleLibraryWarning(RuntimeWarning):
    """A library's file has changed since the process loaded it, and the new version lacks some targets. These
    targets are no longer registered."""


# The warning is always shown, because in a notebook the same line loads a library repeatedly.
warnings.simplefilter("always", StaleLibraryWarning, append=True)


class Registry:
    """A set of targets: the functions that custom calls name.

    A target is identified by its name, its platform, and its interface (typed or untyped). Registering the
    same functions under the same name again has no effect; registering other functions is an error unless
    `replace=True`.

    farcall's own ops (linear algebra, sparse matrices) need no registration. Registered targets take precedence over built-in
    targets of the same name.
    """

    #: The registry of the process, once it has been asked for.
    _of_process: "Registry | None" = None

    def __init__(self, *, built_ins: bool = True) -> None:
        """Creates a registry without registered targets.

        Args:
          built_ins: whether programs can call farcall's own ops. Without them, such calls are errors, and
            blocks that the ops lower are compiled from their default bodies.
        """
        self._native = _farcall.Registry(built_ins=built_ins)

    @staticmethod
    def process() -> "Registry":
        """Returns the registry of the process, in which libraries opened by other code register
        themselves."""
        if Registry._of_process is None:
            registry = Registry.__new__(Registry)
            registry._native = _farcall.Registry.process()
            Registry._of_process = registry
        return Registry._of_process

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
          fn: a `Handler`, a `PyCapsule` with a handler's address, or a dictionary of capsules by stage
            (`"instantiate"`, `"prepare"`, `"initialize"`, `"execute"`, `"record"`). The capsules are
            kept until the process ends.
          platform: the platform of the handler. The engine only calls targets of `"cpu"` (or `"Host"`).
          api_version: 1 for XLA's typed FFI, 0 for the older C functions.
          traits: bits of `XLA_FFI_Handler_TraitsBits`, in addition to the traits that the handler reports.
          replace: replaces other functions of the same name.

        Returns:
          The target.

        Raises:
          ValueError: if other functions have the same name, or the handler is rejected (for example because
            the engine does not support its version, or a state type is not registered).
          TypeError: if `fn` contains no capsules.
        """
        if isinstance(fn, Handler):
            fn = fn.capsule
        return self._native.register(
            name, fn, platform=platform, api_version=api_version, traits=traits, replace=replace
        )

    def load(
        self,
        path: str | bytes | os.PathLike[str] | os.PathLike[bytes],
        targets: Iterable[str] = (),
        *,
        namespace: str | None = None,
        replace: bool = False,
    ) -> list[_farcall.Target]:
        """Loads a library and registers its targets.

        Loading runs the library's code: only load libraries that you trust. A library stays loaded until the
        process ends. If its file has changed since it was loaded, programs that are compiled afterwards use
        the new version; a `StaleLibraryWarning` lists targets that the new version lacks.

        Args:
          path: the shared library. It may be a farcall library, a library that registers its handlers itself,
            or one that only exports their symbols.
          targets: targets defined by symbols: `"rms_norm=RmsNorm"`, or by stage,
            `"counter=instantiate:CounterNew,execute:CounterRun"`.
          namespace: prefix of the names of the library's described and registered targets: `rms_norm` becomes
            `NAMESPACE.rms_norm`. Defaults to the namespace chosen by the library's author, if any.
          replace: lets the library replace registered targets and lowerings with the same names and tags.

        Returns:
          The targets of the library.

        Raises:
          FileNotFoundError: if the file does not exist.
          OSError: if the file cannot be opened; the message has the reason.
          ValueError: if the library has no targets or lacks a symbol, a target is rejected, or another
            library has targets of the same names.
        """
        targets = [targets] if isinstance(targets, str) else targets
        return self._load(path, targets, namespace=namespace, replace=replace, stacklevel=3)

    def _load(
        self,
        path: Any,
        targets: Iterable[str] = (),
        *,
        namespace: str | None = None,
        replace: bool = False,
        stacklevel: int,
    ) -> list[_farcall.Target]:
        loaded, stale = self._native.load(os.fsdecode(path), targets=list(targets), namespace=namespace, replace=replace)
        for warning in stale:
            warnings.warn(warning, StaleLibraryWarning, stacklevel=stacklevel)
        return loaded

    def lowers(self, tag: str, lowering: Lowering | None = None, *, replace: bool = False) -> Any:
        """Adds a lowering: a function that decides how blocks with a tag are compiled.

        A block is a composite, created by `jax.lax.composite`. The function is called before the lowerings of
        libraries, and returns a custom call or a reason to skip the block:

        >>> import farcall
        >>> registry = farcall.Registry()
        >>> @registry.lowers("my.qr")
        ... def lower(block):
        ...     if block.operands[0].name == "f32":
        ...         return farcall.Call("my_qr_f32")
        ...     return farcall.Skip("there is no handler for other types than f32")

        Args:
          tag: the name of the composites.
          lowering: the function. If it is omitted, the method returns a decorator.
          replace: replaces the lowering that was added for the tag before.

        Returns:
          The function.

        Raises:
          ValueError: if a lowering has already been added for the tag.
          TypeError: if the tag is not a string, or the lowering cannot be called.
        """
        if not isinstance(tag, str):
            raise TypeError(f"a lowering is for the blocks of a tag: @lowers('my.tag'), not {tag!r}")
        if lowering is None:
            return lambda lowering: self.lowers(tag, lowering, replace=replace)
        if not callable(lowering):
            raise TypeError(f"the lowering of {tag} is a function of the block, not {lowering!r}")
        self._native.lower(tag, _blocks.native(lowering), _blocks.explain, replace=replace)
        return lowering

    def targets(self) -> list[_farcall.Target]:
        """Returns all registered targets, sorted by name."""
        return self._native.targets()

    def built_ins(self) -> list[_farcall.Target]:
        """Returns the built-in targets whose names no registered target has, sorted by name."""
        return self._native.built_ins()

    def __repr__(self) -> str:
        return f"<farcall.Registry of {len(self.targets())} targets>"


class _Trees(Protocol):
    """Conversion between a function's trees of arguments and results and flat lists. It is implemented by
    `Lowered`, which imports JAX, and by `Trees`, which does not."""

    def leaves(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]: ...
    def used(self, leaves: Sequence[Any]) -> Sequence[Any]: ...
    def results(self, arrays: list[np.ndarray]) -> Any: ...


def _called(
    run: Callable[[Sequence[Any]], list[np.ndarray]], trees: _Trees | None, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Returns `run(args)`. With the trees of a JAX function, flattens the arguments before the run, and
    builds the tree of the results."""
    if trees is not None:
        return trees.results(run(trees.leaves(args, kwargs)))
    if kwargs:
        raise TypeError(f"the program's inputs have no names, but {next(iter(kwargs))} is given by name")
    return run(args)


def _given(inputs: Sequence[Any], wanted: list[TensorType]) -> list[Any]:
    """Converts the inputs to the form that the engine takes."""
    types: Sequence[TensorType | None] = wanted if len(inputs) == len(wanted) else [None] * len(inputs)
    return [to_engine(value, ty, i) for i, (value, ty) in enumerate(zip(inputs, types))]


@dataclass(frozen=True)
class MemoryAnalysis:
    """Numbers of bytes that a program and a run of it need. The names are those of XLA's memory analysis; the
    size of constants is an addition."""

    #: Size of all arguments.
    argument_size_in_bytes: int
    #: Size of all results.
    output_size_in_bytes: int
    #: Size of the results that share the memory of arguments or of other results.
    alias_size_in_bytes: int
    #: Size of the memory that a run needs besides arguments and results.
    temp_size_in_bytes: int
    #: Size of the program's constants, which XLA does not report.
    constant_size_in_bytes: int
    #: Size of generated code. Programs have no generated code.
    generated_code_size_in_bytes: int = 0
    #: Sizes in memory other than the device's.
    host_argument_size_in_bytes: int = 0
    host_output_size_in_bytes: int = 0
    host_alias_size_in_bytes: int = 0
    host_temp_size_in_bytes: int = 0
    host_generated_code_size_in_bytes: int = 0

    @property
    def peak_memory_in_bytes(self) -> int:
        """Total size of everything that is in memory at the same time."""
        results = self.output_size_in_bytes - self.alias_size_in_bytes
        return self.argument_size_in_bytes + results + self.temp_size_in_bytes + self.constant_size_in_bytes


class Executable:
    """A compiled program. Call it with one array per input; it returns a list with one array per result.

    A program that was lowered or exported by JAX is called like the JAX function: with the same trees of
    arguments, by position or by name, but without the static arguments. It returns the same tree of results,
    as NumPy arrays.

    Several threads may call an executable at the same time. It stays usable after a failed run.
    """

    def __init__(
        self, native: _farcall.Executable, trees: _Trees | None = None, callbacks: Callbacks | None = None
    ) -> None:
        self._native = native
        self._run_arrays = native.run_arrays
        self._trees = trees
        #: The callbacks are kept alive because the program may call them.
        self._callbacks = callbacks

    @cached_property
    def _inputs(self) -> list[TensorType]:
        return [tensor_type(*ty) for ty in self._native.inputs]

    @cached_property
    def _outputs(self) -> list[TensorType]:
        return [tensor_type(*ty) for ty in self._native.outputs]

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
        """Text of the plan: the steps of a run."""
        return self._native.plan

    def memory_analysis(self) -> MemoryAnalysis:
        """Returns the memory that the program needs."""
        temporary, constants, new_results = self._native.memory
        inputs, outputs = (sum(ty.size_in_bytes for ty in types) for types in (self._inputs, self._outputs))
        return MemoryAnalysis(inputs, outputs, outputs - new_results, temporary, constants)

    @property
    def blocks(self) -> list[BlockDecision]:
        """Decision for each block (composite) in the program, with its reason."""
        return [
            BlockDecision(tag, place, [Skipped(*s) for s in skipped], target, reason)
            for tag, place, skipped, target, reason in self._native.blocks
        ]

    def run(self, inputs: Sequence[Any]) -> list[np.ndarray]:
        """Runs the program.

        Args:
          inputs: one array per input, of exactly its element type and shape. For a program lowered by JAX,
            one array per leaf of the function's arguments, including unused arguments, which JAX drops from
            the program. Python numbers and lists of numbers are converted to the element type, and so are
            integers of NumPy's default type (int64) if they fit. Types that NumPy lacks are passed as arrays
            of `ml_dtypes`, or as raw bits in `uint8` or `uint16`.

        Returns:
          One array per result. Each array owns its memory.

        Raises:
          TypeError: if there are too few or too many inputs, or an input has another element type.
          ValueError: if an input has another shape.
          RuntimeError: if a custom call fails; the message has its target, its source location and the
            handler's own message.
        """
        if self._trees is not None:
            inputs = self._trees.used(inputs)
        # The common case does not inspect each array in Python.
        results = self._run_arrays(inputs)
        return self._native.run(_given(inputs, self._inputs)) if results is None else results

    @property
    def num_replicas(self) -> int:
        """Number of replicas that run the program together."""
        return self._native.grid[0]

    @property
    def num_partitions(self) -> int:
        """Number of partitions of each replica."""
        return self._native.grid[1]

    def run_on_devices(self, inputs: Sequence[Sequence[Any]]) -> list[list[np.ndarray]]:
        """Runs the program on all of its devices, each of which is a thread of this process:

        >>> import farcall, numpy as np
        >>> total = farcall.compile('''
        ... func.func @main(%x: tensor<f32>) -> tensor<f32> {
        ...   %0 = "stablehlo.all_reduce"(%x) ({
        ...   ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        ...     %1 = stablehlo.add %a, %b : tensor<f32>
        ...     stablehlo.return %1 : tensor<f32>
        ...   }) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<f32>) -> tensor<f32>
        ...   return %0 : tensor<f32>
        ... }''', num_replicas=2)
        >>> [float(result) for [result] in total.run_on_devices([[1.5], [2.0]])]
        [3.5, 3.5]

        Args:
          inputs: the inputs of each device, as `run` takes them. The device of a replica and a partition has
            the number `replica * num_partitions + partition`.

        Returns:
          The results of each device.

        Raises:
          ValueError: if there is not one list of inputs for each device.
          RuntimeError: if a device fails, or if devices wait for each other in vain. The exceptions of `run`
            are raised, too.
        """
        if self._trees is not None:
            inputs = [self._trees.used(of) for of in inputs]
        return self._native.run_on_devices([_given(of, self._inputs) for of in inputs])

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Returns `run(args)`, or calls the function that JAX has lowered or exported."""
        return _called(self.run, self._trees, args, kwargs)

    def profile(self, /, *args: Any, runs: int = 10, **kwargs: Any) -> Profile:
        """Times each step of the plan in repeated runs:

        >>> import farcall, numpy as np
        >>> double = farcall.compile('''
        ... func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
        ...   %0 = stablehlo.add %x, %x : tensor<3xf32>
        ...   return %0 : tensor<3xf32>
        ... }''')
        >>> [step] = double.profile(np.zeros(3, np.float32)).steps
        >>> step.operation, step.origin, step.calls
        ('elementwise add', '%0 at 3:10', 1.0)

        Args:
          args: positional arguments of the program. `kwargs` are its named arguments. Steps have source
            locations if the program's text has them: `farcall.compile(lowered.as_text(debug_info=True))`.
          runs: number of measured runs, after one run that is not counted. (If the function itself has an
            argument of this name, it is passed by position.)

        Returns:
          The profile, which prints as a table.

        Raises:
          ValueError: if `runs` is not positive. The exceptions of `run` are raised, too.
        """
        return _profiled(lambda given: self._native, self._inputs, self._trees, args, kwargs, runs)

    def __repr__(self) -> str:
        def join(types: list[TensorType]) -> str:
            return ", ".join(map(str, types))

        return f"<farcall.Executable ({join(self._inputs)}) -> ({join(self._outputs)})>"


def _profiled(
    compiled: Callable[[list[Any]], _farcall.Executable],
    wanted: list[TensorType],
    trees: _Trees | None,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    runs: int,
) -> Profile:
    """Times runs of the executable for the given inputs."""
    if runs < 1:
        raise ValueError(f"runs must be at least 1, but is {runs}")
    inputs = _called(list, None, args, kwargs) if trees is None else trees.used(trees.leaves(args, kwargs))
    given = _given(inputs, wanted)
    times, steps = compiled(given).profile(given, runs)
    return Profile(
        times,
        [
            StepTime(
                step, parent, operation, [tensor_type(*ty) for ty in results], origin,
                calls / runs, own / runs, total / runs, size, flops,
            )
            for step, parent, operation, results, origin, calls, own, total, size, flops in steps
        ],
    )


class Polymorphic:
    """A program with dynamic sizes, such as one that JAX exported with symbolic shapes. It is called like an
    `Executable`, with inputs of any sizes that it admits. It is compiled once for each list of input types,
    and the executables are kept.

    Several threads may call it at the same time.
    """

    def __init__(
        self, native: _farcall.Polymorphic, trees: _Trees | None = None, callbacks: Callbacks | None = None
    ) -> None:
        self._native = native
        self._trees = trees
        #: The callbacks are kept alive because the program may call them.
        self._callbacks = callbacks
        self._names = [name for name, _ in native.inputs]
        self._inputs = [_symbolic_type(*ty) for _, ty in native.inputs]

    @property
    def names(self) -> list[str]:
        """Name of each input if the program has names: `params['w']`, otherwise `arg0`."""
        return list(self._names)

    @property
    def inputs(self) -> list[TensorType]:
        """Element type and shape of each input. Dynamic sizes are expressions, such as `"2*b + 1"`, or
        `"?"`."""
        return list(self._inputs)

    @property
    def outputs(self) -> list[TensorType]:
        """Element type and shape of each result."""
        return [_symbolic_type(*ty) for ty in self._native.outputs]

    @property
    def constraints(self) -> list[str]:
        """Constraints on the symbols, besides being positive: `"b >= 2"`."""
        return self._native.constraints

    def for_types(self, types: Sequence[Any]) -> Executable:
        """Returns the executable for inputs of these types. It is compiled if it does not exist yet. The
        executable provides the decisions about blocks (`Executable.blocks`) and the plan (`Executable.plan`).

        Args:
          types: the type of each input of `run`: an object with `dtype` and `shape`, such as a `TensorType`,
            a `jax.ShapeDtypeStruct`, or an array.

        Raises:
          TypeError: if there are too few or too many types, or one has another element type.
          ValueError: if no values of the symbols fit the sizes, a constraint is violated, or the program
            cannot be compiled.
        """
        if self._trees is not None:
            types = self._trees.used(types)
        native = self._native.for_types([_described(ty, i) for i, ty in enumerate(types)])
        return Executable(native, self._trees, self._callbacks)

    def run(self, inputs: Sequence[Any]) -> list[np.ndarray]:
        """Runs the program on inputs in the form of `Executable.run`.

        Returns:
          One array per result. Each array owns its memory.

        Raises:
          TypeError: if there are too few or too many inputs, or an input has another element type.
          ValueError: if no values of the symbols fit the sizes of the inputs, or a constraint is violated;
            the message names them.
          RuntimeError: if a custom call fails.
        """
        if self._trees is not None:
            inputs = self._trees.used(inputs)
        return self._native.run(_given(inputs, self._inputs))

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Returns `run(args)`, or calls the function that JAX has exported."""
        return _called(self.run, self._trees, args, kwargs)

    def profile(self, /, *args: Any, runs: int = 10, **kwargs: Any) -> Profile:
        """Times each step of the plan, in runs on these arguments, as `Executable.profile` does.

        Args:
          args: positional arguments of the program. `kwargs` are its named arguments.
          runs: number of measured runs, after one run that is not counted. (If the function itself has an
            argument of this name, it is passed by position.)

        Returns:
          The profile, which prints as a table.

        Raises:
          ValueError: if `runs` is not positive. The exceptions of `run` are raised, too.
        """
        compiled = lambda given: self._native.for_types([(name, list(dims)) for name, dims, _ in given])
        return _profiled(compiled, self._inputs, self._trees, args, kwargs, runs)

    def __repr__(self) -> str:
        inputs = ", ".join(f"{name}: {ty}" for name, ty in zip(self._names, self._inputs))
        return f"<farcall.Polymorphic ({inputs}) -> ({', '.join(map(str, self.outputs))})>"


def _described(ty: Any, index: int) -> tuple[str, list[int]]:
    """Returns the element type and shape of an input, in the engine's terms."""
    name = ty.name if isinstance(ty, TensorType) else dtype_name(np.dtype(ty.dtype))
    if name is None:
        raise TypeError(f"the type of input {index} has the dtype {ty.dtype}, which is not a tensor element type")
    return name, list(ty.shape)


def _symbolic_type(name: str, sizes: list[str]) -> TensorType:
    return tensor_type(name, [int(size) if size.isdecimal() else size for size in sizes])


#: Functions that are called for each compiled program that is not divided among devices. The arguments are the
#: program (its text, or the bytes of an artifact) and its name in messages.
watchers: list[Callable[[bytes, str], None]] = []


def compile(
    program: Any,
    registry: Registry | None = None,
    entry: str | None = None,
    denormals: Literal["ieee", "flush"] = "ieee",
    semantics: Literal["xla", "stablehlo"] = "xla",
    *,
    name: str | None = None,
    num_replicas: int | None = None,
    num_partitions: int | None = None,
    partitioned: bool = False,
) -> Executable | Polymorphic:
    """Compiles a program.

    Args:
      program: StableHLO text or HLO text, as a string or encoded; the bytes of a portable artifact, or the
        bytes returned by `Exported.serialize()` of `jax.export`; the path of a file with any of these, as a
        string that ends in `.mlir`, `.hlo`, `.mlirbc` or `.jax_export`, or names a file, or as a
        `pathlib.Path`; or an object that provides a program, such as `jax.jit(f).lower(x)` or
        `jax.export.export(jax.jit(f))(x)`. The callbacks of a lowered function (`jax.pure_callback`,
        `io_callback`, `jax.debug.print`, …) run as in JAX.
      registry: targets for custom calls; defaults to the registry of the process.
      entry: the function to run; defaults to `main`, or to the only public function.
      denormals: `"ieee"`, or `"flush"` to treat subnormal numbers as zero, like XLA:CPU.
      semantics: semantics to follow where XLA and the StableHLO specification differ: `"xla"` or
        `"stablehlo"`.
      name: name of the program in messages.
      num_replicas: number of replicas, and `num_partitions` of partitions of each replica, of a program for
        several devices, which `Executable.run_on_devices` runs; default to the numbers that the program
        names.
      partitioned: divides a program with shardings among its partitions. The executable then takes complete
        inputs, and returns complete results.

    Returns:
      An `Executable`; or a `Polymorphic`, if the program has inputs of dynamic sizes.

    Raises:
      ValueError: if the program is invalid, was exported for other platforms, or calls an unregistered
        target. The message lists all errors, with line, column and a caret.
      FileNotFoundError: if the program is a path, and there is no such file.
    """
    content, known_as = _content(program)
    targets = _farcall.Registry.process() if registry is None else registry._native
    trees = _trees_of(program, content, entry)
    callbacks = getattr(trees, "callbacks", None)
    if callbacks is not None:
        targets = callbacks.registry(targets)
    native = _farcall.compile(
        content,
        registry=targets,
        name=name or known_as,
        entry=entry,
        denormals=denormals,
        semantics=semantics,
        platforms=_platforms(program),
        num_replicas=num_replicas,
        num_partitions=num_partitions,
        partitioned=partitioned,
    )
    # Programs with dynamic sizes are divided later, when sizes are known.
    is_divided = native.is_divided if isinstance(native, _farcall.Executable) else partitioned
    if not is_divided:
        for watcher in watchers:
            watcher(content.encode() if isinstance(content, str) else content, name or known_as)
    if isinstance(native, _farcall.Executable):
        return Executable(native, trees, callbacks)
    return Polymorphic(native, trees, callbacks)


def _trees_of(program: Any, content: str | bytes, entry: str | None) -> _Trees | None:
    """Returns the trees of the function that a program was created from, if the program or its file has
    them."""
    if hasattr(program, "in_tree") and hasattr(program, "out_tree"):
        from farcall._lowered import Lowered

        return Lowered(program)
    trees = _farcall.trees(content) if entry is None and isinstance(content, bytes) else None
    return None if trees is None else Trees(*trees)


def lowers(tag: str, lowering: Lowering | None = None, *, replace: bool = False) -> Any:
    """Adds a lowering to the registry of the process; see `Registry.lowers`."""
    return Registry.process().lowers(tag, lowering, replace=replace)


@overload
def convert(
    program: Any, to: Literal["stablehlo", "stablehlo-generic", "hlo"], *, name: str | None = None
) -> str: ...
@overload
def convert(program: Any, to: Literal["artifact"], *, name: str | None = None) -> bytes: ...
def convert(program: Any, to: str, *, name: str | None = None) -> str | bytes:
    """Converts a program to another format: text, or the bytes of a portable artifact.

    Args:
      program: a program in any form that `compile` accepts.
      to: the format: `"stablehlo"`, `"stablehlo-generic"` (MLIR's generic form), `"hlo"`, or `"artifact"`
        (bytecode for the oldest version of StableHLO that supports the whole program, and for all later
        versions).
      name: name of the program in messages.

    Raises:
      ValueError: if the program is invalid, or has instructions that the format lacks. The message lists all
        errors, with line, column and a caret.
    """
    content, known_as = _content(program)
    converted = _farcall.convert(content, to=to, name=name or known_as)
    return converted if to == "artifact" else converted.decode()


def _text_or_artifact(content: bytes, name: str) -> bytes:
    if not _farcall.is_artifact(content):
        if _farcall.is_plan(content):
            raise ValueError(
                f"{name} is a compiled plan, not a program: pass the program that it was compiled from, or run the"
                " plan with the command `farcall run`, or with `Executable::from_plan` in Rust;"
                " see: farcall guide running-programs"
            )
        try:
            content.decode("utf-8")
        except UnicodeDecodeError as error:
            raise ValueError(f"{name} is not text: byte {error.start} is not valid UTF-8") from None
    return content


def _content(program: Any) -> tuple[str | bytes, str]:
    """Returns the text of a program or the bytes of an artifact, and its name in messages."""
    if isinstance(program, str) and not _is_path(program):
        return program, "<program>"
    if isinstance(program, (bytearray, memoryview)):
        program = bytes(program)
    if isinstance(program, bytes) and (_farcall.is_artifact(program) or not _is_path(os.fsdecode(program))):
        return _text_or_artifact(program, "<program>"), "<program>"
    if isinstance(program, (str, bytes, os.PathLike)):
        path = os.fsdecode(program)
        # A path need not be UTF-8, but a message has to be.
        name = os.fsencode(path).decode("utf-8", "replace")
        with open(path, "rb") as file:
            return _text_or_artifact(file.read(), name), name
    if hasattr(program, "as_text"):
        return str(program.as_text()), "<program>"
    if hasattr(program, "mlir_module"):
        return _exported(program), "<program>"
    raise TypeError(
        "a program is StableHLO or HLO text, the bytes of an artifact, a path, or a lowered JAX function,"
        f" not {type(program).__name__}"
    )


def _exported(program: Any) -> bytes:
    """Serializes a `jax.export.Exported`. If that fails, returns its text, which lacks the names and symbols
    of its arguments."""
    try:
        return bytes(program.serialize())
    except (TypeError, ValueError):
        # The function's trees have nodes of a type that is not registered for serialization.
        from farcall._lowered import flat

        return bytes(flat(program).serialize())
    except (ImportError, NotImplementedError):
        # The package flatbuffers is missing, or an effect is not registered.
        return str(program.mlir_module()).encode()


def _platforms(program: Any) -> list[str] | None:
    """Returns the platforms that a function was exported for, if there are several. The program's text does
    not list them."""
    platforms = list(program.platforms) if hasattr(program, "mlir_module") else []
    return platforms if len(platforms) > 1 else None


def _is_path(text: str) -> bool:
    """Returns true if the text cannot be a program: a single line that ends like a file name, or that names a
    file."""
    if "\n" in text or "{" in text or not text.strip() or "\0" in text:
        return False
    return text.endswith((".mlir", ".hlo", ".mlirbc", ".jax_export", ".plan")) or os.path.isfile(text)


def capsules(
    path: str | bytes | os.PathLike[str] | os.PathLike[bytes], targets: Iterable[str] = (), platform: str = "cpu"
) -> dict[str, Any]:
    """Returns the handlers of a library, for `jax.ffi.register_ffi_target`:

    >>> for name, fn in farcall.capsules("libops.so").items():
    ...     jax.ffi.register_ffi_target(name, fn)

    The handlers are not registered anywhere else. Loading runs the library's code, and a library stays
    loaded: see `Registry.load`.

    Args:
      path: the shared library, as for `Registry.load`.
      targets: targets defined by symbols, as for `Registry.load`.
      platform: the platform of the handlers.

    Returns:
      By target: a dictionary of capsules by stage, or a single capsule if the handler uses the older
      interface (`api_version=0`).

    Raises:
      FileNotFoundError: if the file does not exist.
      OSError: if the file cannot be opened; the message has the reason.
      ValueError: if the library has no targets or lacks a symbol, or a target is rejected.
    """
    registry = Registry()
    registry._load(path, [targets] if isinstance(targets, str) else targets, stacklevel=3)
    return registry._native.capsules(platform)


def register_type(name: str, type_registration: Mapping[str, Any], platform: str = "cpu") -> int:
    """Registers a type of handler state, like `jax.ffi.register_ffi_type`.

    Types are process-wide. Register a type before the targets that use it.

    Args:
      name: the type's name.
      type_registration: capsules by name: `"type_id"` points to an `XLA_FFI_TypeId`, which receives the id
        unless it already has one; the optional `"type_info"` points to an `XLA_FFI_TypeInfo`.
      platform: ignored; the same type serves all platforms.

    Returns:
      The type's id.
    """
    del platform
    unknown = sorted(set(type_registration) - {"type_id", "type_info"})
    if unknown or "type_id" not in type_registration:
        raise ValueError(f"type `{name}`: needs \"type_id\" and may have \"type_info\", not {unknown}")
    return _farcall.register_type(name, type_registration["type_id"], type_registration.get("type_info"))
