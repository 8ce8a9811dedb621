"""The checks in the order in which they run, quickest first, and the paths of the folder."""

import dataclasses
import functools
import glob
import importlib.util
from pathlib import Path

HERE = Path(__file__).resolve().parent.parent
LIBRARY = HERE / "libcuda_ops.so"
HANDLER_TESTS = HERE / "handler_tests"
PROBE = HERE / "libgpu_probe.so"
PROBE_PTX = HERE / "gpu_probe.ptx"

#: XLA's flag that keeps calls out of CUDA graphs.
NO_GRAPHS = ("--xla_gpu_enable_command_buffer=",)

#: Flags of XLA under which a custom call alone becomes a CUDA graph. (By default, a graph has at least five
#: steps.)
GRAPHS = ("--xla_gpu_enable_command_buffer=+CUSTOM_CALL", "--xla_gpu_graph_min_graph_size=1")


@dataclasses.dataclass(frozen=True)
class Check:
    name: str
    about: str
    #: Time limit in seconds.
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


@functools.cache
def checks():
    """Returns all checks. The library decides which ops there are."""
    ops = [
        Check(
            f"op-{name}",
            f"the op {name} next to its handler for the CPU and to jax.numpy: jit, grad, vmap, shard_map",
            75,
            "ops",
            (name,),
        )
        for name in op_names()
    ]
    speeds = [
        Check(
            "speed-rms_norm",
            "time of rms_norm and its gradient next to XLA's compilation of the formula",
            90,
            "speed",
            ("rms_norm",),
        ),
        Check(
            "speed-flash_attention",
            "time of attention next to XLA's compilation of the formula",
            90,
            "speed",
            ("flash_attention",),
        ),
    ]
    names = set(op_names())
    about = "the op nccl_allreduce next to jax.lax.psum, in a group of one and of two processes"
    collective = [Check("collective", about, 60, "collective")]
    return [
        ENVIRONMENT,
        Check(
            "library",
            "the library loads; every op has a handler for each platform, and inputs in the table of checks",
            30,
            "library",
        ),
        Check("errors", "mistakes are exceptions in Python, with the driver's text", 40, "errors"),
        Check("handlers", "the Rust tests of the handlers, without JAX", 60, "handlers"),
        Check("launch", "time of a launch next to the same handler in C++", 70, "launch", flags=NO_GRAPHS),
        *ops,
        Check("graph", "each op in a CUDA graph", 60, "graph", flags=GRAPHS, dumps=True),
        *(collective if "nccl_allreduce" in names else []),
        *(speed for speed in speeds if speed.arguments[0] in names),
        Check(
            "memcheck",
            "all ops under compute-sanitizer, which looks for invalid accesses",
            110,
            "sanitizer",
            ("memcheck",),
        ),
        Check(
            "racecheck",
            "all ops under compute-sanitizer, which looks for races in shared memory",
            110,
            "sanitizer",
            ("racecheck",),
        ),
    ]


def op_names():
    """Returns the names of the ops in the table of inputs that the library has; all names in the table if the
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
