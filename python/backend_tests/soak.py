"""Random programs on both backends for a long time: results agree, and the memory of the process stays flat.

    JAX_PLATFORMS=cpu,farcall PYTHONPATH=target/python python python/backend_tests/soak.py --minutes 60

Prints a line every minute: programs, resident memory, and the memory of farcall's device. A program whose
results differ is printed with its seed, for FARCALL_FUZZ_ONLY of `test_random_programs.py`. Ends with 1 if more
than one program of a thousand differs, or if the memory at the end exceeds the memory after a quarter of the
time by 10 %. (Some results of XLA are wrong, such as atan2(0, 0) in f16.)
"""

import argparse
import gc
import pathlib
import sys
import time

import jax
import numpy as np

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "tests"))

from test_random_programs import Program, compare  # noqa: E402, once its folder is known


def resident_megabytes() -> float:
    for line in pathlib.Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    raise RuntimeError("/proc/self/status has no VmRSS")


def check(seed: int, ours: jax.Device, theirs: jax.Device) -> None:
    """Runs a program on both backends and compares the results."""
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
        program_here, arguments = lowered(ours)
        found = program_here.compile()(*arguments)
        program_there, arguments = lowered(theirs)
        try:
            matches(found, program_there.compile()(*arguments))
        except AssertionError:
            # XLA's algebraic simplifier replaces `x * indicator` by a select, which loses NaNs of `x`.
            matches(found, program_there.compile({"xla_disable_hlo_passes": "algsimp"})(*arguments))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1, help="the first program's seed")
    options = parser.parse_args()
    ours, theirs = jax.devices("farcall")[0], jax.devices("cpu")[0]
    started = time.monotonic()
    minute, seed, early, differing = 0, options.seed * 1_000_000, None, 0
    while (passed := (time.monotonic() - started) / 60) < options.minutes:
        try:
            check(seed, ours, theirs)
        except AssertionError as error:
            differing += 1
            print(str(error).strip(), flush=True)
        seed += 1
        if passed >= minute + 1:
            minute = int(passed)
            jax.clear_caches()
            gc.collect()
            used = resident_megabytes()
            on_device = ours.memory_stats()["bytes_in_use"]
            count = seed - options.seed * 1_000_000
            print(f"{minute} min: {count} programs, {used:.0f} MB resident, {on_device} bytes on farcall", flush=True)
            if early is None and passed >= options.minutes / 4:
                early = used
    count = seed - options.seed * 1_000_000
    print(f"{count} programs, {differing} with other results")
    used = resident_megabytes()
    if early is not None and used > 1.1 * early:
        print(f"the memory grew from {early:.0f} to {used:.0f} MB")
        return 1
    return int(differing > count / 1000)


if __name__ == "__main__":
    sys.exit(main())
