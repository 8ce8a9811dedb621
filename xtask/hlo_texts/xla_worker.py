"""Runs HLO texts in jaxlib, one after another, on random inputs, and stores inputs and outputs.

Verdicts:

- `invalid`: XLA cannot parse the text.
- `large`: the program is too large to be run here.
- `read`: XLA parses the text, but gives no outputs to compare with: jaxlib does not run the program on one
  CPU device, two runs differ, the collectives of the program have several participants, or the text was
  printed without the elements of constants.
- `ran`: the outputs are stored.

jaxlib runs only StableHLO, so jaxlib's own converter first converts the text.
"""

import json
import os
import re
import resource
import sys
from pathlib import Path

# As in the JAX suite, XLA must not fuse multiplications and additions.
os.environ["XLA_FLAGS"] = "--xla_cpu_max_isa=AVX"
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

sys.path.append(str(Path(__file__).parent.parent / "jax_suite"))

import jax
import numpy as np
from jaxlib import xla_client

from store import Program, Store
from texts import path_of

# Maximum number of elements of all inputs and outputs together. Larger programs take minutes and gigabytes.
MAX_ELEMENTS = 1 << 24
# Matches the types of operand and result of a collective. With a single participant, these types are equal.
GATHERED = re.compile(
    r"stablehlo\.(?:all_gather|reduce_scatter)\".*?[)>}] : \((.*?)\) -> \(?(.*?)\)?(?: loc\(.*\))?$",
    re.DOTALL | re.MULTILINE,
)
# Matches groups of replicas with several members, and communication partners other than device 0.
SEVERAL_DEVICES = re.compile(
    r"replica_groups=(\{\{\d+,|\[\d+,([2-9]|\d\d+)\]<=|mesh)|source_target_pairs=\{\{(\d+,[1-9]|[1-9])"
)
# Number of runs. If the runs of XLA disagree, the outputs are useless.
RUNS = 2


def judge(root: Path, name: str) -> dict:
    text = path_of(root, name).read_text(encoding="utf-8")
    say({"stage": "parse", "so far": {"verdict": "invalid", "detail": "no answer"}})
    try:
        module = xla_client.hlo.hlo_module_from_text(text)
    except Exception as error:
        return {"verdict": "invalid", "detail": str(error)}
    say({"stage": "convert", "so far": {"verdict": "read", "detail": "no answer"}})
    try:
        computation = xla_client.XlaComputation(module.as_serialized_hlo_module_proto())
        shapes = computation.program_shape()
        leaves = [leaf for shape in shapes.parameter_shapes() for leaf in flat(shape)]
        outputs = flat(shapes.result_shape())
        if "constant({...})" in text:
            return {"verdict": "read", "detail": "constants without their elements"}
        # XLA on one device returns only a part of such a program's result, or counts participants that do not
        # exist.
        if SEVERAL_DEVICES.search(text):
            return {"verdict": "read", "detail": "collectives of several devices"}
        if sum(elements(shape) for shape in leaves + outputs) > MAX_ELEMENTS:
            return {"verdict": "large", "detail": "too many elements"}
        program = xla_client._xla.mlir.xla_computation_to_mlir_module(computation)
        if any(operand != result for operand, result in GATHERED.findall(program)):
            return {"verdict": "read", "detail": "collectives of several devices"}
        inputs = random_inputs(leaves, name)
        options = xla_client.CompileOptions()
        # jaxlib takes the numbers of replicas and partitions from the caller, not from the text. It refuses a
        # text for several devices.
        options.num_replicas, options.num_partitions = device_counts(text)
        parameters = shapes.parameter_shapes()
        options.parameter_is_tupled_arguments = len(parameters) == 1 and parameters[0].is_tuple()
        device = jax.devices("cpu")[0]
        say({"stage": "compile", "so far": {"verdict": "read", "detail": "no answer"}})
        with jax.enable_x64(True):
            executable = device.client.compile_and_load(program, xla_client.DeviceList((device,)), options)
            say({"stage": "run", "so far": {"verdict": "read", "detail": "no answer"}})
            first, second = (run(executable, inputs, device) for _ in range(RUNS))
    except Exception as error:
        return {"verdict": "read", "detail": str(error)}
    same = all(a.tobytes() == b.tobytes() for a, b in zip(first, second, strict=True))
    if not same:
        return {"verdict": "read", "detail": "two runs in XLA have different results"}
    Store(root).save(Program(name, program, {"file": "", "test": "", "x64": True}, inputs, first))
    return {"verdict": "ran", "detail": ""}


def device_counts(text: str) -> tuple[int, int]:
    """Returns the numbers of replicas and partitions in the header of a text."""
    header = next(line for line in text.splitlines() if line.lstrip().startswith("HloModule"))
    counts = (re.search(rf"\b{name}=(\d+)", header) for name in ("replica_count", "num_partitions"))
    replicas, partitions = (int(count[1]) if count else 1 for count in counts)
    return replicas, partitions


def run(executable, inputs: list[np.ndarray], device) -> list[np.ndarray]:
    results = executable.execute_sharded([jax.device_put(a, device) for a in inputs])
    return [np.asarray(r[0]) for r in results.disassemble_into_single_device_arrays()]


def flat(shape) -> list:
    """Returns the shapes of the arrays in a shape."""
    if shape.is_tuple():
        return [leaf for part in shape.tuple_shapes() for leaf in flat(part)]
    return [shape]


def elements(shape) -> int:
    return int(np.prod(shape.dimensions(), dtype=object)) if shape.is_array() else 1


def random_inputs(shapes: list, name: str) -> list[np.ndarray]:
    """Returns the inputs for all runs of a text: small integers, which may be indices, and normally
    distributed floats."""
    random = np.random.default_rng(int(name, 16))
    return [array(random, shape.numpy_dtype(), shape.dimensions()) for shape in shapes]


def array(random: np.random.Generator, dtype: np.dtype, dims: tuple[int, ...]) -> np.ndarray:
    if dtype == np.bool_:
        return random.integers(0, 2, dims).astype(np.bool_)
    if dtype.kind == "c":
        return (random.standard_normal(dims) + 1j * random.standard_normal(dims)).astype(dtype)
    if dtype.kind == "f" or "float" in dtype.name:
        return np.asarray(random.standard_normal(dims)).astype(dtype)
    # The range also fits the narrowest types: `int2` holds -2 to 1.
    low, high = (0, 4) if dtype.name.startswith("uint") else (-2, 2)
    if dtype.name not in ("int2", "uint2"):
        low, high = (0, 8) if low == 0 else (-3, 6)
    return np.asarray(random.integers(low, high, dims)).astype(dtype)


def say(what: dict) -> None:
    os.write(REPLIES, (json.dumps(what) + "\n").encode())


REPLIES = os.dup(1)
os.dup2(2, 1)


def main() -> None:
    root, memory = Path(sys.argv[1]), int(sys.argv[2])
    jax.devices("cpu")
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    say({"ready": True})
    for line in sys.stdin:
        name = line.strip()
        say({"name": name, **judge(root, name)})


if __name__ == "__main__":
    main()
