"""Random programs on both backends for a long time: results agree, and the memory of the process stays flat.

    JAX_PLATFORMS=cpu,farcall PYTHONPATH=target/python python python/backend_tests/soak.py --minutes 60

Prints a line every minute: programs, resident memory, and the memory of farcall's device. A program whose
results differ is printed with its seed, for FARCALL_FUZZ_ONLY of `test_random_programs.py`. Ends with 1 if more
than one program of a thousand differs, or if the memory at the end exceeds the memory after a quarter of the
time by 10 %. (Some results of XLA are wrong, such as atan2(0, 0) in f16.)

The programs run in a process of their own. If a program ends it, the seed and the backend at work are printed,
and another process goes on with the next program. That is no failure if XLA was at work: its compiler has
faults of its own.
"""

import argparse
import ctypes
import gc
import multiprocessing
import pathlib
import sys
import time

import jax
import numpy as np

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "tests"))

from test_random_programs import Program, compare  # noqa: E402, once its folder is known

BACKENDS = ["farcall", "XLA"]


def resident_megabytes() -> float:
    for line in pathlib.Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    raise RuntimeError("/proc/self/status has no VmRSS")


def check(seed: int, ours: jax.Device, theirs: jax.Device, at_work) -> None:
    """Runs a program on both backends and compares the results. Keeps the index of the backend in `at_work`."""
    program = Program(seed)
    names = {"jax": jax, "jnp": jax.numpy, "lax": jax.lax, "np": np}
    exec(program.text, names)

    def lowered(device: jax.Device):
        arguments = [jax.device_put(argument, device) for argument in program.arguments]
        try:
            return jax.jit(names["run"]).lower(*arguments), arguments
        except (TypeError, ValueError, NotImplementedError):  # JAX cannot differentiate or batch the program
            return jax.jit(names["f"]).lower(*arguments), arguments

    def matches(found, expected) -> None:
        for index, (a, b) in enumerate(zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True)):
            compare(np.asarray(a), np.asarray(b), program.tolerance, f"program {seed}, result {index}")

    with jax.enable_x64(False), np.errstate(all="ignore"):
        at_work.value = BACKENDS.index("farcall")
        program_here, arguments = lowered(ours)
        found = jax.block_until_ready(program_here.compile()(*arguments))
        at_work.value = BACKENDS.index("XLA")
        program_there, arguments = lowered(theirs)
        try:
            matches(found, program_there.compile()(*arguments))
        except AssertionError:
            # XLA's algebraic simplifier replaces `x * indicator` by a select, which loses NaNs of `x`.
            matches(found, program_there.compile({"xla_disable_hlo_passes": "algsimp"})(*arguments))


def run(first: int, minutes: float, current, at_work, differing) -> None:
    """Runs programs from seed `first` on, and ends the process with 1 if its memory grew."""
    ours, theirs = jax.devices("farcall")[0], jax.devices("cpu")[0]
    # What the allocator keeps for later is no leak.
    release_memory = ctypes.CDLL(None).malloc_trim
    started, minute, early, used = time.monotonic(), 0, None, 0.0
    current.value = first
    while (passed := (time.monotonic() - started) / 60) < minutes:
        try:
            check(current.value, ours, theirs, at_work)
        except AssertionError as error:
            differing.value += 1
            print(str(error).strip(), flush=True)
        current.value += 1
        if passed >= minute + 1:
            minute = int(passed)
            jax.clear_caches()
            gc.collect()
            release_memory(0)
            used = resident_megabytes()
            on_device = ours.memory_stats()["bytes_in_use"]
            count = current.value - first
            print(f"{minute} min: {count} programs, {used:.0f} MB resident, {on_device} bytes on farcall", flush=True)
            if early is None and passed >= minutes / 4:
                early = used
    if early is not None and used > 1.1 * early:
        print(f"the memory grew from {early:.0f} to {used:.0f} MB")
        sys.exit(1)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1, help="the first program's seed, in millions")
    options = parser.parse_args()
    first = options.seed * 1_000_000
    processes = multiprocessing.get_context("spawn")
    current, at_work, differing = (processes.Value("q", value, lock=False) for value in (first, 0, 0))
    started, failed = time.monotonic(), False
    while (minutes := options.minutes - (time.monotonic() - started) / 60) > 0:
        process = processes.Process(target=run, args=(current.value, minutes, current, at_work, differing))
        process.start()
        process.join()
        if process.exitcode >= 0:
            failed |= process.exitcode != 0
            break
        culprit = BACKENDS[at_work.value]
        print(f"program {current.value}: signal {-process.exitcode} while {culprit} was at work", flush=True)
        failed |= culprit != "XLA"
        current.value += 1
    count = current.value - first
    print(f"{count} programs, {differing.value} with other results")
    return int(failed or differing.value > count / 1000)


if __name__ == "__main__":
    sys.exit(main())
