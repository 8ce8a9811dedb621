#!/usr/bin/env python3
"""Kernels of `examples/gallery` beside the same in `jax.numpy`, compiled by XLA:CPU: both under `jax.jit`, in turn, in one
sitting.

    python kernels.py LIBGALLERY_OPS [--seconds N]

Attention of 8 heads of 512 queries, keys and values of 64 numbers in f32: forward, and forward with the gradients of all
three. Times are medians; a ratio is XLA's time over the kernel's.
"""

import argparse
import statistics
import time

import jax
import jax.numpy as jnp
import numpy as np

import farcall
from sides import difference, timed

HEADS, QUERIES, WIDTH = 8, 512, 64


def attention(q, k, v):
    scores = jnp.einsum("hnd,hmd->hnm", q, k) * q.shape[-1] ** -0.5
    return jnp.einsum("hnm,hmd->hnd", jax.nn.softmax(scores, -1), v)


def with_gradients(function):
    """The function's result, and the gradients that belong to a cotangent of it."""

    def both(q, k, v, cotangent):
        result, back = jax.vjp(function, q, k, v)
        return result, *back(cotangent)

    return both


def compare(ours, theirs, operands, seconds):
    """Median times of two functions that take the same, in seconds, and whether they return the same."""
    sides = [jax.jit(ours), jax.jit(theirs)]
    first = [jax.tree.leaves(side(*operands)) for side in sides]
    _, agree = difference(*first)
    times = [[], []]
    begin = time.perf_counter()
    while time.perf_counter() - begin < seconds or len(times[0]) < 5:
        for side, taken in zip(sides, times):
            taken.append(timed(lambda side=side: jax.block_until_ready(side(*operands)))[0])
    return *map(statistics.median, times), agree


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("library")
    parser.add_argument("--seconds", type=float, default=6)
    args = parser.parse_args()
    gallery = farcall.load(args.library)
    flash = lambda q, k, v: gallery.flash_attention(q, k, v)[0]
    random = np.random.default_rng(0)
    operands = [jnp.asarray(random.normal(size=(HEADS, QUERIES, WIDTH)), jnp.float32) for _ in range(4)]
    cases = {
        "attention, 8x512x64 f32": (flash, attention, operands[:3]),
        "attention with gradients, 8x512x64 f32": (with_gradients(flash), with_gradients(attention), operands),
    }
    print(f"{'milliseconds':42}{'gallery':>9}{'XLA':>9}{'ratio':>8}")
    for name, (ours, theirs, given) in cases.items():
        own, other, agree = compare(ours, theirs, given, args.seconds)
        note = "" if agree else "   results differ"
        print(f"{name:42}{own * 1e3:9.2f}{other * 1e3:9.2f}{other / own:7.2f}x{note}", flush=True)


if __name__ == "__main__":
    main()
