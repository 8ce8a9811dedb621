"""All ops once, for compute-sanitizer: python -m checks.workload PLATFORM [PLANTED].

PLANTED is the name of an op of the probe with a mistake. It runs last, because the GPU may be unusable then.
"""

import sys

import jax
import numpy as np

import farcall
from checks import arrays, listing, samples
from checks.sanitizer import DONE


def main():
    platform, *planted = sys.argv[1:]
    here, library = arrays.device(platform), listing.library()
    chosen = [(i, sample) for name in listing.op_names() for i, sample in enumerate(samples.of(name))]
    for i, sample in chosen:
        # Compiling takes long under compute-sanitizer.
        for dtype in sample.dtypes if platform == "cuda" and i == 0 else sample.dtypes[:1]:
            op, rng = library[sample.op], np.random.default_rng(2)
            operands = list(sample.operands(rng, jax.numpy.dtype(dtype)))

            def call(*moved):
                given = dict(zip(sample.moving, moved))
                return samples.results(
                    op(*(given.get(i, x) for i, x in enumerate(placed)), **sample.attributes)
                )

            placed = arrays.on(here, operands)
            if not sample.moving:
                jax.block_until_ready(jax.jit(call)())
                continue

            def both(*values):
                moved, cotangents = values[: len(sample.moving)], values[len(sample.moving) :]
                results, pull = jax.vjp(call, *moved)
                return results, pull(tuple(cotangents))

            moved = [placed[i] for i in sample.moving]
            cotangents = [np.ones(ty.shape, ty.dtype) for ty in jax.eval_shape(call, *moved)]
            jax.block_until_ready(jax.jit(both)(*moved, *arrays.on(here, cotangents)))
        print("ran", sample.name, flush=True)
    print(DONE, flush=True)
    for name in planted:
        x = jax.device_put(np.ones(64, np.uint32 if name == "probe_race" else np.float32), here)
        jax.block_until_ready(jax.jit(farcall.load(listing.PROBE)[name])(x))
        print("ran", name, flush=True)


main()
