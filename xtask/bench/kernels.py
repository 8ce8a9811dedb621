#!/usr/bin/env python3
"""Compares kernels of `examples/gallery` with the same functions written in `jax.numpy`, which XLA:CPU
compiles. Both run under `jax.jit`, and are measured alternately in one session.

    python kernels.py LIBGALLERY_OPS [--seconds N]

Attention of 8 heads with 512 queries, keys and values of 64 numbers in f32: forward, and forward with the
gradients of queries, keys and values. Times are medians; a ratio is XLA's time divided by the kernel's time.
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
    """Returns a function that computes the result of `function`, and the gradients for a cotangent."""

    def both(q, k, v, cotangent):
        result, back = jax.vjp(function, q, k, v)
        return result, *back(cotangent)

    return both


def compare(ours, theirs, operands, seconds):
    """Returns the median times in seconds of two functions with the same operands, and true if their results
    agree."""
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
