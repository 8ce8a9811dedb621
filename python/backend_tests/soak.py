"""Random programs on both backends for a long time: results agree, and the memory hardly grows.

    JAX_PLATFORMS=cpu,farcall PYTHONPATH=target/python python python/backend_tests/soak.py --minutes 60

Prints a line every minute: programs, resident memory, and the memory of farcall's device. JAX and XLA keep
some kilobytes for each new program. A program whose results differ is printed with its seed, for
FARCALL_FUZZ_ONLY of `test_random_programs.py`. Some results of XLA are wrong, such as atan2(0, 0) in f16.

A worker process runs the programs. If a program crashes or hangs the worker, the script prints the seed and the
backend at work, and a new worker continues with the next program. XLA crashes on some programs, which is no
failure of farcall. Exits with 1 if a worker ended in any way other than a crash of XLA, if more than one program
in a thousand failed or differed, or if a worker's memory grew by more than 20 kB a program after its first ten
minutes.
"""

import argparse
import contextlib
import ctypes
import gc
import multiprocessing
import pathlib
import signal
import sys
import time
from collections.abc import Iterator

import jax
import numpy as np

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "tests"))

from test_random_programs import Program, compare  # noqa: E402, once its folder is known

BACKENDS = ["farcall", "XLA"]
CRASHES = [-signal.SIGSEGV, -signal.SIGABRT, -signal.SIGBUS, -signal.SIGILL, -signal.SIGFPE]
MAX_PROGRAM_SECONDS = 300
WARM_UP_MINUTES = 10
MAX_GROWTH_BYTES = 20_000


def resident_megabytes() -> float:
    for line in pathlib.Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    raise RuntimeError("/proc/self/status has no VmRSS")


class Shared:
    """State shared by the worker and the process that watches it."""

    def __init__(self, processes: multiprocessing.context.BaseContext, first: int) -> None:
        #: Seed of the current program.
        self.seed = processes.Value("q", first, lock=False)
        #: Index of the backend at work.
        self.at_work = processes.Value("q", 0, lock=False)
        #: Number of programs that failed or differed.
        self.differing = processes.Value("q", 0, lock=False)
        #: 1 if the memory of the latest worker grew too fast.
        self.grew = processes.Value("q", 0, lock=False)

    @contextlib.contextmanager
    def xla(self) -> Iterator[None]:
        """Notes that XLA is at work."""
        self.at_work.value = BACKENDS.index("XLA")
        try:
            yield
        finally:
            self.at_work.value = BACKENDS.index("farcall")


def check(shared: Shared, ours: jax.Device, theirs: jax.Device) -> None:
    """Runs the current program on both backends and compares the results."""
    seed = shared.seed.value
    program = Program(seed)
    names = {"jax": jax, "jnp": jax.numpy, "lax": jax.lax, "np": np}
    exec(program.text, names)

    def results(device: jax.Device, options: dict[str, str] | None = None) -> list[np.ndarray]:
        arguments = [jax.device_put(argument, device) for argument in program.arguments]
        try:
            lowered = jax.jit(names["run"]).lower(*arguments)
        except (TypeError, ValueError, NotImplementedError):  # JAX cannot differentiate or batch the program
            lowered = jax.jit(names["f"]).lower(*arguments)
        return [np.asarray(result) for result in jax.tree.leaves(lowered.compile(options)(*arguments))]

    def compare_all(found: list[np.ndarray], expected: list[np.ndarray]) -> None:
        for index, (a, b) in enumerate(zip(found, expected, strict=True)):
            compare(a, b, program.tolerance, f"program {seed}, result {index}")

    with jax.enable_x64(False), np.errstate(all="ignore"):
        found = results(ours)
        with shared.xla():
            expected = results(theirs)
        try:
            compare_all(found, expected)
        except AssertionError:
            # XLA's algebraic simplifier replaces `x * indicator` by a select, which loses NaNs of `x`.
            with shared.xla():
                expected = results(theirs, {"xla_disable_hlo_passes": "algsimp"})
            compare_all(found, expected)


def run(minutes: float, first: int, shared: Shared) -> None:
    """Runs programs, starting at `shared.seed`. `first` is the seed at which the whole run began."""
    ours, theirs = jax.devices("farcall")[0], jax.devices("cpu")[0]
    # Memory that the allocator keeps for reuse is no leak; it is released before each measurement.
    release_memory = ctypes.CDLL(None).malloc_trim
    started, minute = time.monotonic(), 0
    #: Resident megabytes and seed at the end of the warm-up.
    warm: tuple[float, int] | None = None
    while (passed := (time.monotonic() - started) / 60) < minutes:
        try:
            check(shared, ours, theirs)
        except Exception as error:
            shared.differing.value += 1
            print(f"program {shared.seed.value}: {error!s}".strip(), flush=True)
        shared.seed.value += 1
        if passed < minute + 1:
            continue
        minute = int(passed)
        jax.clear_caches()
        gc.collect()
        release_memory(0)
        used, seed = resident_megabytes(), shared.seed.value
        on_device = ours.memory_stats()["bytes_in_use"]
        print(f"{minute} min: {seed - first} programs, {used:.0f} MB resident, {on_device} bytes on farcall", flush=True)
        if warm is None and passed >= WARM_UP_MINUTES:
            warm = used, seed
        elif warm and seed > warm[1] + 1000:
            growth = (used - warm[0]) * 2**20 / (seed - warm[1])
            shared.grew.value = int(growth > MAX_GROWTH_BYTES)
            print(f"  {growth / 1000:.1f} kB more for each program since minute {WARM_UP_MINUTES}", flush=True)


def ended_at(process: multiprocessing.process.BaseProcess, shared: Shared) -> int:
    """Waits for a process, and returns its exit code. Kills a process that spends more
    than `MAX_PROGRAM_SECONDS` on one program."""
    seed, since = shared.seed.value, time.monotonic()
    while process.is_alive():
        process.join(5)
        if seed != shared.seed.value:
            seed, since = shared.seed.value, time.monotonic()
        elif time.monotonic() - since > MAX_PROGRAM_SECONDS:
            print(f"program {seed} took more than {MAX_PROGRAM_SECONDS} s; its process was killed", flush=True)
            process.kill()
            process.join()
    return process.exitcode or 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1, help="the first program's seed, in millions")
    options = parser.parse_args()
    first = options.seed * 1_000_000
    processes = multiprocessing.get_context("spawn")
    shared = Shared(processes, first)
    started, failed = time.monotonic(), False
    while (minutes := options.minutes - (time.monotonic() - started) / 60) > 0:
        shared.at_work.value = BACKENDS.index("farcall")
        process = processes.Process(target=run, args=(minutes, first, shared))
        process.start()
        code = ended_at(process, shared)
        if code == 0:
            break
        culprit = BACKENDS[shared.at_work.value]
        print(f"program {shared.seed.value}: exit code {code} while {culprit} was at work", flush=True)
        failed |= culprit != "XLA" or code not in CRASHES
        shared.seed.value += 1
    count = shared.seed.value - first
    print(f"{count} programs, {shared.differing.value} failed or differed")
    return int(failed or shared.grew.value or shared.differing.value > count / 1000)


if __name__ == "__main__":
    sys.exit(main())
