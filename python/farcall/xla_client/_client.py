"""Clients, devices, buffers and executables, which compile and run computations on farcall's engine."""

import functools
import weakref
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

import farcall
from farcall.xla_client._builder import HloModule, XlaComputation
from farcall.xla_client._errors import XlaRuntimeError, as_xla_errors
from farcall.xla_client._farcall_internals import is_artifact
from farcall.xla_client._registration import waiting_platforms
from farcall.xla_client._shapes import ProgramShape, Shape


class ExecutableBuildOptions:
    """Compiler options. farcall has one device and one way to compile; `Client.compile` rejects options that
    require more."""

    def __init__(self) -> None:
        self.num_replicas = 1
        self.num_partitions = 1
        self.device_ordinal = 0
        self.result_layout: Shape | None = None
        self.device_assignment: DeviceAssignment | None = None
        self.use_spmd_partitioning = False


class CompileOptions:
    """Options for compiling a computation."""

    def __init__(self) -> None:
        self.argument_layouts: list[Shape] | None = None
        self.parameter_is_tupled_arguments = False
        self.compile_portable_executable = False
        self.num_replicas = 1
        self.num_partitions = 1
        self.device_assignment: DeviceAssignment | None = None
        self.executable_build_options = ExecutableBuildOptions()
        self.env_option_overrides: list[tuple[str, Any]] = []
        self.profile_version = 0


class DeviceAssignment:
    """Assignment of replicas to devices."""

    def __init__(self, assignment: np.ndarray) -> None:
        self._assignment = assignment

    @staticmethod
    def create(assignment: Any) -> "DeviceAssignment":
        """Creates an assignment from device numbers, by replica and computation."""
        array = np.asarray(assignment, np.int32)
        if array.ndim != 2:
            raise ValueError(f"a device assignment is an array of two dimensions, not of {array.ndim}")
        return DeviceAssignment(array)

    def replica_count(self) -> int:
        """Returns the number of replicas."""
        return int(self._assignment.shape[0])

    def computation_count(self) -> int:
        """Returns the number of computations of a replica."""
        return int(self._assignment.shape[1])

    def __repr__(self) -> str:
        return f"DeviceAssignment({self._assignment.tolist()})"


class Device:
    """The host's CPU."""

    id = 0
    host_id = process_index = task_id = 0
    local_hardware_id = 0
    platform = "cpu"
    device_kind = "cpu"

    def __init__(self, client: "Client") -> None:
        self.client = client

    def live_buffers(self) -> "list[Buffer]":
        """Returns the buffers that have not been deleted."""
        return self.client.live_buffers()

    def memory_stats(self) -> dict[str, int] | None:
        """Returns `None`, because statistics are not available."""
        return None

    def transfer_to_infeed(self, value: Any) -> None:
        """Not supported.

        Raises:
          XlaRuntimeError: always.
        """
        raise XlaRuntimeError("UNIMPLEMENTED: transfer_to_infeed is not supported by farcall.xla_client")

    def transfer_from_outfeed(self, shape: Shape) -> Any:
        """Not supported.

        Raises:
          XlaRuntimeError: always.
        """
        raise XlaRuntimeError("UNIMPLEMENTED: transfer_from_outfeed is not supported by farcall.xla_client")

    TransferToInfeed = transfer_to_infeed
    TransferFromOutfeed = transfer_from_outfeed

    def __str__(self) -> str:
        return f"{self.platform}:{self.id}"

    def __repr__(self) -> str:
        return f"CpuDevice(id={self.id})"


class DeviceList(tuple[Device, ...]):
    """Devices: `DeviceList((device,))`."""

    __slots__ = ()


class Buffer:
    """An array on a device. NumPy accepts a buffer as an array; `to_py()` returns the array."""

    def __init__(self, value: np.ndarray, device: Device) -> None:
        self._value: np.ndarray | None = value
        self._device = device
        device.client._buffers.add(self)

    @staticmethod
    def from_pyval(
        pyval: Any, device: Device | None = None, backend: "Client | None" = None, force_copy: bool = False
    ) -> "Buffer | TupleBuffer":
        """Creates a buffer from a NumPy array, or from a tuple of such values."""
        if isinstance(pyval, tuple):
            return TupleBuffer([Buffer.from_pyval(part, device, backend, force_copy) for part in pyval])
        return (backend or get_local_backend()).buffer_from_pyval(pyval, device, force_copy)

    @staticmethod
    def make_tuple(buffers: "Sequence[Buffer | TupleBuffer]", device: Device | None = None) -> "TupleBuffer":
        """Combines buffers into a tuple."""
        del device
        return TupleBuffer(buffers)

    def _live(self, what: str) -> np.ndarray:
        if self._value is None:
            raise XlaRuntimeError(f"INVALID_ARGUMENT: {what}() called on deleted or donated buffer")
        return self._value

    def to_py(self) -> np.ndarray:
        """Returns the array, which is read-only."""
        return self._live("ToPy")

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self.to_py(), dtype, copy=copy)

    @property
    def shape(self) -> tuple[int, ...]:
        """Sizes of the dimensions."""
        return self._live("Shape").shape

    @property
    def dtype(self) -> np.dtype:
        """Element type."""
        return self._live("Dtype").dtype

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return self._live("NDim").ndim

    @property
    def size(self) -> int:
        """Number of elements."""
        return self._live("Size").size

    def xla_shape(self) -> Shape:
        """Returns the element type and the sizes."""
        return Shape.from_pyval(self._live("XlaShape"))

    def device(self) -> Device:
        """Returns the device of the buffer."""
        return self._device

    def devices(self) -> set[Device]:
        """Returns the devices of the buffer."""
        return {self._device}

    def block_until_ready(self) -> "Buffer":
        """Waits until the buffer is computed."""
        self._live("BlockHostUntilReady")
        return self

    block_host_until_ready = block_until_ready

    def is_ready(self) -> bool:
        """Returns true once the buffer is computed."""
        return self._live("IsReady") is not None

    def copy_to_host_async(self) -> None:
        """Does nothing, because the array is already on the host."""
        self._live("CopyToHostAsync")

    def copy_to_device(self, device: Device) -> "Buffer":
        """Returns a copy of the buffer on another device."""
        return Buffer(self._live("CopyToDevice"), device)

    def clone(self) -> "Buffer":
        """Returns another buffer with the same memory."""
        return Buffer(self._live("Clone"), self._device)

    def on_device_size_in_bytes(self) -> int:
        """Returns the size of the buffer's memory."""
        return self._live("OnDeviceSizeInBytes").nbytes

    def unsafe_buffer_pointer(self) -> int:
        """Returns the address of the elements."""
        return int(self._live("UnsafeBufferPointer").ctypes.data)

    def delete(self) -> None:
        """Releases the memory."""
        self._value = None
        self._device.client._buffers.discard(self)

    def is_deleted(self) -> bool:
        """Returns true if `delete` was called."""
        return self._value is None

    def __repr__(self) -> str:
        return "<deleted Buffer>" if self._value is None else f"<Buffer {self.xla_shape()}>"


class TupleBuffer:
    """Several buffers combined into one, as in the first versions of jaxlib."""

    def __init__(self, parts: "Sequence[Buffer | TupleBuffer]") -> None:
        self._parts = list(parts)

    def destructure(self) -> "list[Buffer | TupleBuffer]":
        """Returns the parts."""
        return list(self._parts)

    def to_py(self) -> tuple[Any, ...]:
        """Returns a tuple of the parts' arrays."""
        return tuple(part.to_py() for part in self._parts)

    def xla_shape(self) -> Shape:
        """Returns the shape of the tuple."""
        return Shape.tuple_shape([part.xla_shape() for part in self._parts])

    shape = xla_shape

    def block_until_ready(self) -> "TupleBuffer":
        """Waits until all parts are computed."""
        for part in self._parts:
            part.block_until_ready()
        return self

    block_host_until_ready = block_until_ready

    def delete(self) -> None:
        """Releases the memory of all parts."""
        for part in self._parts:
            part.delete()

    def is_deleted(self) -> bool:
        """Returns true if a part was deleted."""
        return any(part.is_deleted() for part in self._parts)

    def __repr__(self) -> str:
        return f"<TupleBuffer {self.xla_shape()}>"


class LoadedExecutable:
    """A compiled computation."""

    def __init__(self, client: "Client", executable: farcall.Executable, program: XlaComputation | str | bytes) -> None:
        self.client = client
        self._executable = executable
        self._program = program
        self.fingerprint = None
        self.traceback = None
        #: True for executables of `Computation.Compile`.
        self._is_old = False

    def get_compiled_memory_stats(self) -> farcall.MemoryAnalysis:
        """Returns the memory that the program needs."""
        return self._executable.memory_analysis()

    def execute(self, arguments: Sequence[Any], device: Device | None = None) -> list[Buffer]:
        """Runs the computation.

        Args:
          arguments: a buffer or an array for each parameter; for parameters that are tuples, one for each
            part.

        Returns:
          A buffer for each result; for a tuple, one for each part.

        Raises:
          XlaRuntimeError: if the arguments do not match the parameters, or a custom call fails.
        """
        del device
        given: list[Any] = []
        for argument in arguments:
            _flatten(argument, given)
        with as_xla_errors():
            results = self._executable.run(given)
        return [Buffer(_sealed(result), self.client._device) for result in results]

    def Execute(self, arguments: Sequence[Any] = ()) -> Any:
        """Runs the computation and returns a list of buffers. Executables of `Computation.Compile` return one
        buffer, which is a tuple if the result is a tuple."""
        results = self.execute(arguments)
        if not self._is_old:
            return results
        return _nested(self.program_shape().result_shape(), iter(results), TupleBuffer)

    def execute_sharded_on_local_devices(self, arguments: Sequence[Sequence[Any]]) -> list[list[Buffer]]:
        """Runs the computation on one device; arguments and results are lists with one entry for each
        device."""
        if any(len(shards) != 1 for shards in arguments):
            raise XlaRuntimeError("INVALID_ARGUMENT: there is one device, so each argument must have one shard")
        return [[result] for result in self.execute([shards[0] for shards in arguments])]

    def execute_on_local_devices(self, arguments: Sequence[Sequence[Any]]) -> list[list[Buffer]]:
        """Runs the computation on one device, with a list of arguments and a list of results for each
        device."""
        if len(arguments) != 1:
            raise XlaRuntimeError(f"INVALID_ARGUMENT: there is one device, but arguments for {len(arguments)} were given")
        return [self.execute(arguments[0])]

    ExecuteOnLocalDevices = execute_on_local_devices
    ExecutePerReplica = execute_on_local_devices

    def local_devices(self) -> list[Device]:
        """Returns the device that runs the computation."""
        return [self.client._device]

    def size_of_generated_code_in_bytes(self) -> int:
        """Returns -1, because the size is not available."""
        return -1

    SizeOfGeneratedCodeInBytes = size_of_generated_code_in_bytes

    def hlo_modules(self) -> list[HloModule]:
        """Returns the compiled program."""
        return [HloModule(self._computation())]

    def get_hlo_text(self) -> str:
        """Returns the compiled program as HLO text."""
        return self._computation().as_hlo_text()

    def program_shape(self) -> ProgramShape:
        """Returns the shapes of the parameters and the result."""
        return self._computation().program_shape()

    def _computation(self) -> XlaComputation:
        """Returns the compiled program, which is only parsed on request."""
        if not isinstance(self._program, XlaComputation):
            self._program = XlaComputation(farcall.convert(self._program, "hlo"))
        return self._program

    def delete(self) -> None:
        """Does nothing: the memory is released together with the object."""

    def __repr__(self) -> str:
        return f"<LoadedExecutable {self._executable!r}>"


#: Names in older versions.
Executable = LocalExecutable = LoadedExecutable


class Client:
    """farcall's engine on the host's CPU."""

    platform = "cpu"
    platform_version = f"farcall {farcall.__version__}"
    runtime_type = "farcall"

    def __init__(self) -> None:
        self._device = Device(self)
        self._buffers: weakref.WeakSet[Buffer] = weakref.WeakSet()
        self._executables: weakref.WeakSet[LoadedExecutable] = weakref.WeakSet()

    def compile(
        self, computation: Any, executable_devices: Any = None, compile_options: CompileOptions | None = None, host_callbacks: Any = ()
    ) -> LoadedExecutable:
        """Compiles a program.

        Args:
          computation: an `XlaComputation`, StableHLO or HLO text, the bytes of either or of a portable
            artifact, or an object that prints as such a program, such as an MLIR module.
          executable_devices: the device that runs the program. Older versions passed the options in this
            position.
          compile_options: options, for one replica and one partition.
          host_callbacks: must be empty.

        Raises:
          XlaRuntimeError: if the program is invalid, calls an unregistered target, has dynamic sizes, or
            requires more than one device.
        """
        if isinstance(executable_devices, CompileOptions):
            executable_devices, compile_options = None, executable_devices
        if host_callbacks:
            raise XlaRuntimeError("UNIMPLEMENTED: host_callbacks are not supported by farcall.xla_client")
        program = _program(computation)
        with as_xla_errors(program if isinstance(program, str) else "", waiting_platforms):
            executable = farcall.compile(program, name="<computation>")
        if not isinstance(executable, farcall.Executable):
            raise XlaRuntimeError("UNIMPLEMENTED: the program's inputs have dynamic sizes; use farcall.compile")
        _check_devices(executable_devices)
        _check_options(compile_options or CompileOptions(), executable)
        source = getattr(computation, "computation", computation)
        source = source._computation if isinstance(source, HloModule) else source
        loaded = LoadedExecutable(self, executable, source if isinstance(source, XlaComputation) else program)
        self._executables.add(loaded)
        return loaded

    compile_and_load = compile

    def execute(self, executable: LoadedExecutable, arguments: Sequence[Any] = ()) -> list[Buffer]:
        """Runs an executable: `executable.execute(arguments)`.

        Raises:
          XlaRuntimeError: if the arguments do not match the parameters, or a custom call fails.
          TypeError: if `executable` is not an executable.
        """
        if not isinstance(executable, LoadedExecutable):
            raise TypeError(f"an executable is what Client.compile returns, not a {type(executable).__name__}")
        return executable.execute(arguments)

    def buffer_from_pyval(
        self, argument: Any, device: Device | None = None, force_copy: bool = False, host_buffer_semantics: Any = None
    ) -> Buffer:
        """Creates a buffer from a NumPy array, or from a value that converts to one."""
        del force_copy, host_buffer_semantics  # the value is always copied
        return Buffer(_sealed(np.array(argument)), device or self._device)

    def devices(self) -> list[Device]:
        """Returns the only device."""
        return [self._device]

    local_devices = devices
    _get_all_devices = devices

    def device_count(self) -> int:
        """Returns 1."""
        return 1

    local_device_count = device_count

    def process_index(self) -> int:
        """Returns the number of this process."""
        return 0

    host_id = task_id = process_index

    def device_from_local_hardware_id(self, local_hardware_id: int) -> Device:
        """Returns the device with this number."""
        if local_hardware_id != 0:
            raise XlaRuntimeError(f"NOT_FOUND: there is no device {local_hardware_id}, only 0")
        return self._device

    def get_default_device_assignment(self, num_replicas: int, num_partitions: int | None = None) -> Any:
        """Returns the devices by replica, and by partition if `num_partitions` is given."""
        if num_replicas != 1 or num_partitions not in (None, 1):
            raise XlaRuntimeError("INVALID_ARGUMENT: there is one device")
        return [self._device] if num_partitions is None else [[self._device]]

    def live_buffers(self) -> list[Buffer]:
        """Returns the buffers that have not been deleted."""
        return list(self._buffers)

    live_arrays = live_buffers

    def live_executables(self) -> list[LoadedExecutable]:
        """Returns the executables that are in use."""
        return list(self._executables)

    def defragment(self) -> None:
        """Does nothing."""

    def __repr__(self) -> str:
        return f"<farcall.xla_client.Client of {self.platform}>"


def make_cpu_client(*args: Any, **kwargs: Any) -> Client:
    """Returns a client for the host's CPU. The arguments are jaxlib's; only `num_devices` is checked.

    Raises:
      XlaRuntimeError: if more than one device is requested.
    """
    del args
    if kwargs.get("num_devices") not in (None, 1):
        raise XlaRuntimeError(f"UNIMPLEMENTED: farcall has one device, not {kwargs['num_devices']}")
    return Client()


@functools.cache
def get_local_backend(platform: str | None = None) -> Client:
    """Returns the client of this process.

    Raises:
      XlaRuntimeError: for platforms other than `"cpu"`.
    """
    if platform not in (None, "cpu", "Host"):
        raise XlaRuntimeError(f"NOT_FOUND: farcall.xla_client runs on the platform cpu only, not on {platform}")
    return get_local_backend() if platform is not None else make_cpu_client()


def execute_with_python_values(executable: LoadedExecutable, arguments: Sequence[Any] = (), backend: Client | None = None) -> Any:
    """Runs an executable on NumPy arrays, or on tuples of arrays for parameters that are tuples.

    Returns:
      A list with one array for each result. Executables of the first builders (`ComputationBuilder`'s
      `Build().Compile()`) return the result itself: an array, or a tuple of arrays.
    """
    backend = backend or executable.client
    flat: list[Any] = []
    for argument in arguments:
        _flatten(argument, flat)
    results = [buffer.to_py() for buffer in executable.execute(_typed(flat, executable, backend))]
    if not executable._is_old:
        return results
    return _nested(executable.program_shape().result_shape(), iter(results), tuple)


def execute_with_python_values_replicated(
    executable: LoadedExecutable, arguments: Sequence[Sequence[Any]], backend: Client | None = None
) -> list[Any]:
    """Like `execute_with_python_values`, for a list of arguments for each replica; there is one replica."""
    if len(arguments) != 1:
        raise XlaRuntimeError(f"INVALID_ARGUMENT: there is one replica, but arguments for {len(arguments)} were given")
    return [execute_with_python_values(executable, arguments[0], backend)]


def _typed(arguments: list[Any], executable: LoadedExecutable, backend: Client) -> list[Any]:
    """Puts arrays into buffers. Python numbers stay unchanged; the run converts them to the element type that
    the program expects."""
    return [backend.buffer_from_pyval(value) if hasattr(value, "dtype") else value for value in arguments]


def _flatten(value: Any, out: list[Any]) -> None:
    if isinstance(value, tuple):
        for part in value:
            _flatten(part, out)
    elif isinstance(value, TupleBuffer):
        for piece in value.destructure():
            _flatten(piece, out)
    else:
        out.append(value.to_py() if isinstance(value, Buffer) else value)


def _nested(shape: Shape, leaves: Any, whole: Callable[[list[Any]], Any]) -> Any:
    """Builds the value of a shape from its arrays; `whole` creates a tuple from its parts."""
    if shape.is_tuple():
        return whole([_nested(part, leaves, whole) for part in shape.tuple_shapes()])
    return next(leaves)


def _sealed(array: np.ndarray) -> np.ndarray:
    array.flags.writeable = False
    return array


def _program(computation: Any) -> str | bytes:
    """Converts a program for the engine."""
    computation = getattr(computation, "computation", computation)
    if isinstance(computation, (XlaComputation, HloModule)):
        return (computation._computation if isinstance(computation, HloModule) else computation).as_hlo_text()
    if isinstance(computation, bytes) and not is_artifact(computation):
        try:
            computation = computation.decode()
        except UnicodeDecodeError:
            raise XlaRuntimeError("INVALID_ARGUMENT: the program is neither text nor a portable artifact") from None
    if isinstance(computation, (str, bytes)):
        # Strings are never paths here.
        return computation if isinstance(computation, bytes) else computation + "\n"
    if hasattr(computation, "operation"):
        return str(computation) + "\n"
    raise TypeError(f"a program is an XlaComputation, text or a portable artifact, not a {type(computation).__name__}")


def _check_options(options: CompileOptions, executable: farcall.Executable) -> None:
    build = getattr(options, "executable_build_options", None)
    for holder in (options, build):
        for key in ("num_replicas", "num_partitions"):
            count = getattr(holder, key, 1)
            if count != 1:
                raise XlaRuntimeError(f"UNIMPLEMENTED: farcall.xla_client compiles for one device, but {key} is {count}")
        assignment = getattr(holder, "device_assignment", None)
        if assignment is not None and not _is_one_device(assignment):
            raise XlaRuntimeError(
                f"UNIMPLEMENTED: farcall.xla_client compiles for one device, cpu:0, but device_assignment is {assignment!r}"
            )
    ordinal = getattr(build, "device_ordinal", None)
    if ordinal not in (None, -1, 0):
        raise XlaRuntimeError(f"UNIMPLEMENTED: farcall.xla_client compiles for one device, cpu:0, but device_ordinal is {ordinal}")
    _check_result_layout(getattr(build, "result_layout", None), executable)
    _check_argument_layouts(options.argument_layouts, executable)


def _check_devices(devices: Any) -> None:
    """Checks that a program is compiled for the CPU."""
    if devices is None:
        return
    given = list(devices) if isinstance(devices, Iterable) else [devices]
    if [(getattr(device, "platform", None), getattr(device, "id", None)) for device in given] != [("cpu", 0)]:
        raise XlaRuntimeError(f"UNIMPLEMENTED: farcall.xla_client compiles for one device, cpu:0, but executable_devices is {devices!r}")


def _is_one_device(assignment: Any) -> bool:
    counts = (assignment.replica_count(), assignment.computation_count())
    # jaxlib's assignments do not expose their devices.
    return counts == (1, 1) and not (isinstance(assignment, DeviceAssignment) and assignment._assignment.any())


def _check_result_layout(shape: Shape | None, executable: farcall.Executable) -> None:
    if shape is None:
        return
    leaves = [leaf for leaf in shape._leaves() if leaf.is_array()]
    expected = [_described(output) for output in executable.outputs]
    if [leaf._text(layouts=False) for leaf in leaves] != expected:
        raise XlaRuntimeError(f"INVALID_ARGUMENT: result_layout is {shape}, but the program's results are ({', '.join(expected)})")
    if any(leaf != Shape(leaf._text(layouts=False)) for leaf in leaves):
        raise XlaRuntimeError(f"UNIMPLEMENTED: results are row-major, but result_layout is {shape}")


def _described(ty: Any) -> str:
    return f"{ty.name}[{','.join(map(str, ty.shape))}]"


def _check_argument_layouts(layouts: Sequence[Shape] | None, executable: farcall.Executable) -> None:
    if layouts is None:
        return
    if len(layouts) != len(executable.inputs):
        raise XlaRuntimeError(
            f"INVALID_ARGUMENT: the number of argument_layouts is {len(layouts)}, but the program has {len(executable.inputs)} parameters"
        )
    for i, (layout, wanted) in enumerate(zip(layouts, executable.inputs)):
        expected = _described(wanted)
        if layout._text(layouts=False) != expected:
            raise XlaRuntimeError(
                f"INVALID_ARGUMENT: Invalid argument shape for argument {i}, expected {expected}, got {layout._text(layouts=False)}"
            )
