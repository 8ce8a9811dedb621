"""The checks in the order in which they run, quickest first, and the paths of the folder."""

import dataclasses
import functools
import glob
import importlib.util
import os
from pathlib import Path

HERE = Path(__file__).resolve().parent.parent
LIBRARY = HERE / "libcuda_ops.so"
HANDLER_TESTS = HERE / "handler_tests"
PROBE = HERE / "libgpu_probe.so"
PROBE_PTX = HERE / "gpu_probe.ptx"
COMMAND = HERE / "farcall"
#: farcall as a PJRT plugin, if this folder has debug builds.
OWN_PLUGIN = HERE / "libfarcall_pjrt.so"

#: Environment variable with the time limit of a check's process, in seconds.
LIMIT_VARIABLE = "CHECK_SECONDS"

#: Time that is reserved for each of the later checks, in seconds.
RESERVED_SECONDS = 12

#: XLA's flag that keeps calls out of CUDA graphs.
NO_GRAPHS = ("--xla_gpu_enable_command_buffer=",)

#: Flags of XLA under which a custom call alone becomes a CUDA graph. (By default, a graph has at least five
#: steps.)
GRAPHS = ("--xla_gpu_enable_command_buffer=+CUSTOM_CALL", "--xla_gpu_graph_min_graph_size=1")


@dataclasses.dataclass(frozen=True)
class Check:
    name: str
    about: str
    #: Maximum time limit in seconds.
    seconds: int
    #: Module of this package, whose `run(recorder, platform, *arguments)` does the work.
    module: str
    arguments: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    #: True if XLA writes its programs to a folder.
    dumps: bool = False

    def xla_flags(self, logs):
        """Returns the flags of XLA for the check's process."""
        dump = [f"--xla_dump_to={self.dump_folder(logs)}", "--xla_dump_hlo_as_text"] if self.dumps else []
        return [*self.flags, *dump]

    def dump_folder(self, logs):
        return Path(logs).resolve() / f"{self.name}.xla"


ENVIRONMENT = Check(
    "environment", "the machine, the versions of CUDA and JAX, and what is missing", 60, "environment"
)


def limit(check, checks, left):
    """Returns the time limit of a check in seconds.

    A check gets its maximum, unless the later checks would have less than `RESERVED_SECONDS` each. Then the
    reserve is kept; if the time that is left does not suffice for it, this check and the later ones get equal
    shares. So the limits never add up to more than the time that is left.

    Args:
      check: the next check.
      checks: all checks of the run, in their order.
      left: time that is left for the run, in seconds.
    """
    places = [i for i, other in enumerate(checks) if other.name == check.name]
    later = len(checks) - places[0] - 1 if places else len(checks)
    return min(check.seconds, max(left - RESERVED_SECONDS * later, left / (later + 1)))


def seconds_of_step(most):
    """Returns a time limit for a step of a running check, in seconds: `most`, or less if the check's own
    limit requires it. At least five seconds of that limit are left to record the outcome."""
    return max(1.0, min(most, float(os.environ.get(LIMIT_VARIABLE, most + 5)) - 5))


@functools.cache
def checks():
    """Returns all checks. The library determines the ops."""
    ops = [
        Check(
            f"op-{name}",
            f"the op {name} compared with its handler for the CPU and jax.numpy: jit, grad, vmap, shard_map",
            75,
            "ops",
            (name,),
        )
        for name in op_names()
    ]
    speeds = [
        Check(
            "speed-rms_norm",
            "time of rms_norm and its gradient, compared with XLA's compilation of the formula",
            90,
            "speed",
            ("rms_norm",),
        ),
        Check(
            "speed-flash_attention",
            "time of attention, compared with XLA's compilation of the formula",
            90,
            "speed",
            ("flash_attention",),
        ),
    ]
    names = set(op_names())
    about = "the op nccl_allreduce compared with jax.lax.psum, in a group of one and of two processes"
    collective = [Check("collective", about, 60, "collective")]
    return [
        ENVIRONMENT,
        Check(
            "library",
            "the library loads; every op has a handler for each platform, and inputs in checks/samples.py",
            30,
            "library",
        ),
        Check("errors", "mistakes raise exceptions in Python, with the driver's message", 40, "errors"),
        Check("handlers", "the Rust tests of the handlers, without JAX", 60, "handlers"),
        Check("compare", "`farcall op --check` compares the handlers, without JAX", 40, "compare"),
        Check(
            "launch",
            "time of a launch, compared with the same handler in C++",
            70,
            "launch",
            flags=NO_GRAPHS,
        ),
        *ops,
        Check("plugin", "`farcall run` on JAX's CUDA plugin: a program, and a custom call", 60, "plugin"),
        Check("graph", "each op in a CUDA graph", 60, "graph", flags=GRAPHS, dumps=True),
        *(collective if "nccl_allreduce" in names else []),
        *(speed for speed in speeds if speed.arguments[0] in names),
        Check(
            "memcheck",
            "the tests of the handlers under compute-sanitizer, which looks for invalid accesses",
            110,
            "sanitizer",
            ("memcheck",),
        ),
        Check(
            "racecheck",
            "the tests of the handlers under compute-sanitizer, which looks for races in shared memory",
            110,
            "sanitizer",
            ("racecheck",),
        ),
    ]


def op_names():
    """Returns the names in the table of inputs whose ops are in the library; all names in the table if the
    library cannot be loaded."""
    from checks import samples

    try:
        names = {op.__name__ for op in library()}
    except (ImportError, OSError, ValueError):
        return samples.OPS
    return [name for name in samples.OPS if name in names]


def library():
    """Loads the library of ops."""
    import sys

    if str(HERE / "python") not in sys.path:
        sys.path.insert(0, str(HERE / "python"))
    import farcall

    return farcall.load(LIBRARY)


def nvidia_folders():
    """Returns the folders of libraries in NVIDIA's Python packages, wherever these are installed."""
    package = importlib.util.find_spec("nvidia")
    roots = list(package.submodule_search_locations or []) if package is not None else []
    return [Path(folder) for root in roots for folder in sorted(glob.glob(f"{root}/*/lib"))]
