"""Runs all ops once, for compute-sanitizer: python -m checks.workload PLATFORM [PLANTED].

An op that fails does not end the process. PLANTED is the name of an op of the probe with a mistake. It runs
last, because the GPU may be unusable afterwards.
"""

import sys
import traceback

import jax
import numpy as np

import farcall
from checks import arrays, listing, samples
from checks.sanitizer import DONE, FAILED


def run_once(op, sample, dtype, here):
    """Runs an op on random operands, with the gradient if it has one."""
    operands = list(sample.operands(np.random.default_rng(2), jax.numpy.dtype(dtype)))

    def results_of(*values):
        return samples.results(op(*values, **sample.attributes))

    def with_gradients(operands, cotangents):
        def of_moving(*moved):
            given = dict(zip(sample.moving, moved))
            return results_of(*(given.get(i, x) for i, x in enumerate(operands)))

        results, pull = jax.vjp(of_moving, *(operands[i] for i in sample.moving))
        return results, pull(tuple(cotangents))

    placed = arrays.on(here, operands)
    if not sample.moving:
        jax.block_until_ready(jax.jit(results_of)(*placed))
        return
    types = jax.eval_shape(results_of, *operands)
    cotangents = arrays.on(here, [np.ones(ty.shape, ty.dtype) for ty in types])
    jax.block_until_ready(jax.jit(with_gradients)(placed, cotangents))


def main():
    platform, *planted = sys.argv[1:]
    here, library = arrays.device(platform), listing.library()
    for name in listing.op_names():
        for i, sample in enumerate(samples.of(name)):
            # Compiling takes long under compute-sanitizer, so most samples run with one element type.
            for dtype in sample.dtypes if platform == "cuda" and i == 0 else sample.dtypes[:1]:
                try:
                    run_once(library[name], sample, dtype, here)
                except Exception as error:
                    traceback.print_exc()
                    print(f"{FAILED}{sample.name}, {dtype}: {' '.join(str(error).split())[:300]}", flush=True)
                else:
                    print(f"ran {sample.name}, {dtype}", flush=True)
    print(DONE, flush=True)
    for name in planted:
        x = jax.device_put(np.ones(64, np.uint32 if name == "probe_race" else np.float32), here)
        jax.block_until_ready(jax.jit(farcall.load(listing.PROBE)[name])(x))
        print(f"ran {name}", flush=True)


if __name__ == "__main__":
    main()
