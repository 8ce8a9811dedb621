"""Computations that are built one instruction at a time, as HLO text.

Each instruction is stored as HLO text. The engine infers the shape of its result (`infer_root`) and
checks its operands and attributes, so the line of code that adds an invalid instruction raises the error.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from farcall.xla_client._errors import XlaRuntimeError
from farcall.xla_client._farcall_internals import convert_content, dtype_name, entry_types, infer_root, verify_program
from farcall.xla_client._names import decoded
from farcall.xla_client._shapes import PrimitiveType, ProgramShape, Shape, primitive_type, shape_of_type


@dataclass(frozen=True)
class Instruction:
    """An instruction. `attributes` are texts; `computations` are attributes that refer to computations."""

    opcode: str
    shape: Shape
    operands: tuple[int, ...] = ()
    #: Text in place of operands: the number of a parameter, or the elements of a constant.
    argument: str = ""
    attributes: tuple[tuple[str, str], ...] = ()
    computations: "tuple[tuple[str, tuple[XlaComputation, ...]], ...]" = ()
    #: Name of the instruction; defaults to its opcode.
    name: str = ""


class XlaOp:
    """An instruction of a builder."""

    def __init__(self, builder: "XlaBuilder", number: int) -> None:
        self._builder = builder
        self._number = number

    @property
    def shape(self) -> Shape:
        """Shape of the instruction's result."""
        return self._builder._instructions[self._number].shape

    def __repr__(self) -> str:
        return f"<XlaOp {self._builder._name_of(self._number)}: {self.shape}>"


class XlaComputation:
    """A computation built by a builder: `as_hlo_text()` is a program that farcall and XLA can read.

    A computation can also be created from text: `XlaComputation(text)`, in HLO or StableHLO. Serialized
    `HloModuleProto`s are not supported.
    """

    def __init__(self, text: str | bytes) -> None:
        if isinstance(text, bytes):
            raise XlaRuntimeError(
                "UNIMPLEMENTED: a serialized HloModuleProto is not supported; give the program's text (as_hlo_text())"
            )
        converted = convert_content(text.encode(), to="hlo", name="<computation>").decode()
        self._text: str | None = text if text.lstrip().startswith("HloModule") else converted
        self._name = self._text.split(None, 2)[1].rstrip(",")
        self._instructions: tuple[Instruction, ...] = ()
        self._root = 0
        self._aliases: tuple[str, ...] = ()
        self._shape = _program_shape_of(text)

    @staticmethod
    def _built(name: str, instructions: Sequence[Instruction], root: int, aliases: Sequence[str]) -> "XlaComputation":
        computation = XlaComputation.__new__(XlaComputation)
        computation._text = None
        computation._name, computation._instructions = name, tuple(instructions)
        computation._root, computation._aliases = root, tuple(aliases)
        computation._shape = ProgramShape(_parameters(name, instructions), instructions[root].shape)
        return computation

    def name(self) -> str:
        """Returns the name of the builder."""
        return self._name

    def program_shape(self) -> ProgramShape:
        """Returns the shapes of the parameters and the result."""
        return self._shape

    GetProgramShape = program_shape

    def as_hlo_text(self, print_large_constants: bool = True) -> str:
        """Returns the computation as HLO text, with all elements of constants."""
        del print_large_constants
        return self._text if self._text is not None else module_text(self)

    GetHloText = as_hlo_text

    def hash(self) -> int:
        """Returns a number that is equal for computations with the same instructions, regardless of their
        names and of the process."""
        text = self._text if self._text is not None else module_text(self, anonymous=True)
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little")

    Hash = hash

    def as_hlo_dot_graph(self) -> str:
        """Returns the instructions as a graph for Graphviz."""
        if self._text is not None:
            raise XlaRuntimeError("UNIMPLEMENTED: as_hlo_dot_graph is not supported for a computation that was created from text")
        names = _names(self._instructions)
        nodes = [f'  "{name}" [label="{name}: {inst.shape}"];\n' for name, inst in zip(names, self._instructions)]
        edges = [f'  "{names[i]}" -> "{name}";\n' for name, inst in zip(names, self._instructions) for i in inst.operands]
        return f'digraph "{self._name}" {{\n{"".join(nodes + edges)}}}\n'

    GetHloDotGraph = as_hlo_dot_graph

    def get_hlo_module(self) -> "HloModule":
        """Returns the computation as a module."""
        return HloModule(self)

    as_hlo_module = get_hlo_module

    def as_serialized_hlo_module_proto(self) -> bytes:
        """Not supported.

        Raises:
          XlaRuntimeError: always; use `as_hlo_text` instead.
        """
        raise XlaRuntimeError("UNIMPLEMENTED: as_serialized_hlo_module_proto is not supported; use as_hlo_text()")

    GetSerializedProto = as_serialized_hlo_module_proto

    def __repr__(self) -> str:
        return f"<XlaComputation {self._name}: {self._shape}>"


class HloModule:
    """A computation, with the interface of jaxlib's HLO modules."""

    def __init__(self, computation: XlaComputation) -> None:
        self._computation = computation

    @property
    def name(self) -> str:
        """Name of the module."""
        return self._computation.name()

    def to_string(self, options: Any = None) -> str:
        """Returns the module as HLO text."""
        del options
        return self._computation.as_hlo_text()


def hlo_module_from_text(text: str) -> HloModule:
    """Parses a module in HLO text.

    Raises:
      ValueError: if the text is invalid.
    """
    return HloModule(XlaComputation(text))


class XlaBuilder:
    """Builds a computation: `ops` adds instructions, `build` finishes the computation.

    The methods have their names from all versions of jaxlib: `build` and `Build`, `get_shape` and `GetShape`,
    …
    """

    def __init__(self, name: str) -> None:
        self._name = decoded(name)
        self._instructions: list[Instruction] = []
        self._aliases: list[str] = []
        self._metadata: Any = None
        self._sharding: Any = None

    def build(self, root: XlaOp | None = None) -> XlaComputation:
        """Returns the computation.

        Args:
          root: the instruction whose result is the computation's result; defaults to the last instruction.

        Raises:
          XlaRuntimeError: if the builder is empty, parameter numbers are missing, or `root` belongs to
            another builder.
        """
        if not self._instructions:
            raise XlaRuntimeError(f"INVALID_ARGUMENT: {self._name}: no instruction was added")
        number = len(self._instructions) - 1 if root is None else self._own(root)
        return XlaComputation._built(self._name, self._instructions, number, self._aliases)

    Build = build

    def get_shape(self, op: XlaOp) -> Shape:
        """Returns the shape of an instruction's result."""
        return self._instructions[self._own(op)].shape

    GetShape = get_shape

    def get_program_shape(self, root: XlaOp | None = None) -> ProgramShape:
        """Returns the shapes of the parameters, and of an instruction's result (by default, of the last
        instruction's result)."""
        return self.build(root).program_shape()

    GetProgramShape = get_program_shape

    def is_constant(self, op: XlaOp) -> bool:
        """Returns true if an instruction depends neither on parameters nor on values that vary from run to
        run."""
        seen: set[int] = set()
        stack = [self._own(op)]
        while stack:
            number = stack.pop()
            instruction = self._instructions[number]
            if instruction.opcode == "parameter" or _varies(instruction):
                return False
            if number not in seen:
                seen.add(number)
                stack.extend(instruction.operands)
        return True

    IsConstant = is_constant

    def set_op_metadata(self, metadata: Any) -> None:
        """Sets the source of the following instructions: an `OpMetadata`."""
        self._metadata = metadata

    SetOpMetadata = set_op_metadata

    def clear_op_metadata(self) -> None:
        """Ends `set_op_metadata`: the following instructions have no source."""
        self._metadata = None

    ClearOpMetadata = clear_op_metadata

    def set_sharding(self, sharding: Any) -> None:
        """Sets the sharding of the following instructions: an `OpSharding`."""
        self._sharding = sharding

    SetSharding = set_sharding

    def clear_sharding(self) -> None:
        """Ends `set_sharding`: the following instructions have no sharding."""
        self._sharding = None

    ClearSharding = clear_sharding

    def setup_alias(self, output_index: Iterable[int], param_number: int, param_index: Iterable[int] = ()) -> None:
        """Allows a part of the result to share the memory of a part of a parameter."""
        self._aliases.append(f"{_braces(output_index)}: ({int(param_number)}, {_braces(param_index)}, may-alias)")

    SetUpAlias = setup_alias

    # --- for `ops`

    def _own(self, op: XlaOp) -> int:
        if not isinstance(op, XlaOp):
            raise TypeError(f"an operand is an XlaOp, not {op!r}")
        if op._builder is not self:
            raise XlaRuntimeError(f"INVALID_ARGUMENT: {op!r} was made by the builder {op._builder._name}, not by {self._name}")
        return op._number

    def _add(
        self,
        opcode: str,
        operands: Sequence[XlaOp] = (),
        shape: Shape | None = None,
        *,
        results: int = 1,
        argument: str = "",
        attributes: Iterable[tuple[str, Any]] = (),
        computations: Iterable[tuple[str, Sequence[XlaComputation]]] = (),
        name: str = "",
    ) -> XlaOp:
        """Adds an instruction. Without `shape`, the engine infers the instruction's shape from the operands.
        A given shape must fit the operands. `results` is the operation's number of results; several results
        form a tuple."""
        numbers = tuple(self._own(op) for op in operands)
        extra = [("sharding", str(self._sharding))] if self._sharding is not None else []
        extra += [("metadata", metadata_text(self._metadata))] if self._metadata is not None else []
        given = [(key, str(value)) for key, value in attributes] + extra
        called = tuple((key, tuple(map(_computation, applied))) for key, applied in computations)
        if shape is None:
            # The operands do not determine the element type of a product. It defaults to the operands' type.
            arrays = (op.shape for op in operands if op.shape.is_array())
            kind = next((shape.xla_element_type() for shape in arrays), PrimitiveType.PRED)
            guess = Shape.scalar_shape(kind) if results == 1 else Shape.tuple_shape([Shape.scalar_shape(kind)] * results)
            shape = self._infer(Instruction(opcode, guess, numbers, argument, tuple(given), called), results)
        elif opcode not in _ALWAYS_FIT:
            self._asked(verify_program, Instruction(opcode, shape, numbers, argument, tuple(given), called))
        self._instructions.append(Instruction(opcode, shape, numbers, argument, tuple(given), called, name))
        return XlaOp(self, len(self._instructions) - 1)

    def _infer(self, instruction: Instruction, results: int) -> Shape:
        """Returns the shape that the engine infers."""
        shapes = list(map(shape_of_type, self._asked(infer_root, instruction)))
        return shapes[0] if results == 1 and len(shapes) == 1 else Shape.tuple_shape(shapes)

    def _asked(self, question: Callable[[bytes], Any], instruction: Instruction) -> Any:
        """Asks the engine about a computation that contains only this instruction."""
        operands = [self._instructions[number].shape for number in instruction.operands]
        parameters = [Instruction("parameter", shape, (), str(i)) for i, shape in enumerate(operands)]
        alone = Instruction(
            instruction.opcode,
            instruction.shape,
            tuple(range(len(parameters))),
            instruction.argument,
            instruction.attributes,
            instruction.computations,
        )
        text = module_text(XlaComputation._built(self._name, [*parameters, alone], len(parameters), ()))
        try:
            return question(text.encode())
        except ValueError as error:
            given = ", ".join(map(str, operands))
            raise XlaRuntimeError(f"INVALID_ARGUMENT: {instruction.opcode}({given}): {error}") from error

    def _name_of(self, number: int) -> str:
        return _names(self._instructions)[number]

    def __repr__(self) -> str:
        return f"<XlaBuilder {self._name} of {len(self._instructions)} instructions>"


class OpMetadata:
    """Source of an instruction."""

    def __init__(self, op_type: str = "", op_name: str = "", source_file: str = "", source_line: int = 0) -> None:
        self.op_type, self.op_name, self.source_file, self.source_line = op_type, op_name, source_file, source_line


# --- text


def module_text(computation: XlaComputation, *, anonymous: bool = False) -> str:
    """Formats a computation, and the computations that it applies, as an HLO module; without names and
    metadata if `anonymous` is true."""
    order = list(_applied_first(computation))
    names: dict[int, str] = {}
    taken: set[str] = set()
    for one in order:
        base = "" if anonymous else _identifier(one._name)
        base = base or "computation"
        name = next(name for name in _candidates(base) if name not in taken)
        taken.add(name)
        names[id(one)] = name
    shape = computation._shape
    layout = f"({', '.join(map(str, shape.parameter_shapes()))})->{shape.result_shape()}"
    aliases = f", input_output_alias={{ {', '.join(computation._aliases)} }}" if computation._aliases else ""
    module = "" if anonymous else _identifier(computation._name)
    header = f"HloModule {module or 'module'}{aliases}, entry_computation_layout={{{layout}}}\n"
    return "\n".join([header, *(_computation_text(one, names, one is computation, anonymous) for one in order)])


def _applied_first(computation: XlaComputation) -> Iterator[XlaComputation]:
    """Iterates over all computations, each after the computations that it applies. The iteration is not
    recursive, because nesting may be deep."""
    done: set[int] = set()
    stack = [(computation, False)]
    while stack:
        one, ready = stack.pop()
        if id(one) in done:
            continue
        if ready:
            done.add(id(one))
            yield one
            continue
        stack.append((one, True))
        for instruction in reversed(one._instructions):
            for _, applied in instruction.computations:
                stack.extend((other, False) for other in applied)


def _computation_text(computation: XlaComputation, names: dict[int, str], is_entry: bool, anonymous: bool) -> str:
    instructions = _names(computation._instructions, anonymous=anonymous)
    lines = []
    for number, instruction in enumerate(computation._instructions):
        operands = instruction.argument or ", ".join(f"%{instructions[i]}" for i in instruction.operands)
        attributes = [f"{key}={value}" for key, value in instruction.attributes if not (anonymous and key == "metadata")]
        for key, applied in instruction.computations:
            called = ", ".join(f"%{names[id(one)]}" for one in applied)
            attributes.append(f"{key}={{{called}}}" if key.endswith("computations") else f"{key}={called}")
        root = "ROOT " if number == computation._root else ""
        text = ", ".join([f"{instruction.opcode}({operands})", *attributes])
        lines.append(f"  {root}%{instructions[number]} = {instruction.shape} {text}\n")
    shape = computation._shape
    numbered = {int(inst.argument): i for i, inst in enumerate(computation._instructions) if inst.opcode == "parameter"}
    parameters = [
        f"{instructions[numbered[i]]}: {parameter._text(layouts=False)}" for i, parameter in enumerate(shape.parameter_shapes())
    ]
    result = shape.result_shape()._text(layouts=False)
    head = f"%{names[id(computation)]} ({', '.join(parameters)}) -> {result}"
    return f"{'ENTRY ' if is_entry else ''}{head} {{\n{''.join(lines)}}}\n"


def _names(instructions: Sequence[Instruction], *, anonymous: bool = False) -> list[str]:
    """Returns a name for each instruction: its given name or its opcode, with a number."""
    names = (inst.opcode if anonymous else _identifier(inst.name) or inst.opcode for inst in instructions)
    return [f"{name}.{i + 1}" for i, name in enumerate(names)]


def _candidates(base: str) -> Iterator[str]:
    yield base
    yield from (f"{base}.{i}" for i in range(1, 1 << 62))


def _identifier(name: str) -> str:
    """Converts a name to a valid HLO name."""
    made = "".join(c if c.isascii() and (c.isalnum() or c in "_.-") else "_" for c in name)
    return f"_{made}" if made[:1].isdigit() or made[:1] in ("-", ".") else made


def metadata_text(metadata: Any) -> str:
    """Formats the source of an instruction as in HLO text."""
    texts = {key: getattr(metadata, key, "") or "" for key in ("op_type", "op_name", "source_file")}
    parts = [f"{key}={quoted(text)}" for key, text in texts.items() if text]
    line = int(getattr(metadata, "source_line", 0) or 0)
    return f"{{{' '.join(parts + ([f'source_line={line}'] if line else []))}}}"


def quoted(text: str | bytes) -> str:
    """Quotes a string as in HLO text."""
    escapes = {ord('"'): '\\"', ord("\\"): "\\\\", ord("\n"): "\\n", ord("\t"): "\\t", ord("\r"): "\\r"}
    content = text.encode() if isinstance(text, str) else text
    return '"' + "".join(escapes.get(b) or (chr(b) if 32 <= b < 127 else f"\\{b:03o}") for b in content) + '"'


def _braces(numbers: Iterable[int]) -> str:
    return f"{{{', '.join(str(int(i)) for i in numbers)}}}"


def _computation(given: Any) -> XlaComputation:
    """Unwraps a computation, which older builders wrap."""
    found = getattr(given, "computation", given)
    if not isinstance(found, XlaComputation):
        raise TypeError(f"a computation is returned by a builder's build(), but this is {given!r}")
    if found._text is not None:
        raise XlaRuntimeError("UNIMPLEMENTED: a computation that was created from text cannot be part of another one")
    return found


def _parameters(name: str, instructions: Sequence[Instruction]) -> list[Shape]:
    """Returns the shapes of the parameters, by number."""
    found = {int(inst.argument): inst.shape for inst in instructions if inst.opcode == "parameter"}
    if sorted(found) != list(range(len(found))):
        missing = next(i for i in range(len(found) + 1) if i not in found)
        raise XlaRuntimeError(f"INVALID_ARGUMENT: {name} has no parameter {missing}, but a later one")
    return [found[i] for i in range(len(found))]


def _program_shape_of(text: str) -> ProgramShape:
    """Returns the shapes of a program's inputs and results."""
    parameters, results = entry_types(text.encode(), "<computation>")
    outs = list(map(shape_of_type, results))
    return ProgramShape(list(map(shape_of_type, parameters)), outs[0] if len(outs) == 1 else Shape.tuple_shape(outs))


def constant_text(value: Any) -> tuple[Shape, str]:
    """Returns the shape of a NumPy array, and its elements as in HLO text.

    Raises:
      TypeError: if tensors cannot have its element type.
    """
    array = np.asarray(value)
    if dtype_name(array.dtype) is None:
        raise TypeError(f"a constant is an array of an element type that XLA has, not of {array.dtype}")
    return Shape.array_shape(primitive_type(array.dtype), array.shape), _elements(array)


def _elements(array: np.ndarray) -> str:
    if array.ndim:
        return f"{{{', '.join(map(_elements, array))}}}"
    value = array[()]
    kind = array.dtype.kind
    if kind == "b":
        return "true" if value else "false"
    if kind == "c":
        return f"({float(value.real)!r}, {float(value.imag)!r})"
    if "int" in array.dtype.name:
        return str(int(value))
    return repr(float(value))


#: Instructions whose shape is given when they are created, and therefore always fits.
_ALWAYS_FIT = {"parameter", "constant", "tuple", "get-tuple-element"}

#: Instructions whose results vary from run to run.
_VARYING = {"infeed", "rng", "rng-get-and-update-state", "custom-call", "replica-id", "partition-id", "recv"}


def _varies(instruction: Instruction) -> bool:
    """Returns true if the result may vary from run to run for the same operands, because of the instruction
    or because of an instruction in a computation that it applies."""
    if instruction.opcode in _VARYING:
        return True
    applied = (computation for _, computations in instruction.computations for computation in computations)
    return any(_varies(inner) for computation in applied for inner in computation._instructions)
