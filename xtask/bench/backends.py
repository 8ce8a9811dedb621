#!/usr/bin/env python3
"""Compares farcall as a backend of JAX with XLA's CPU backend.

    python backends.py FOLDER [--seconds N] [--sittings N]

- *dispatch*: the time from a call of `jax.jit(f)` on ready arrays until its result is ready. Both backends run
  in one process, alternately, for N seconds. A time is the shortest mean of 200 calls.
- *training*: 1,000 steps of a multilayer perceptron (64-128-128-10, batches of 32, f32, stochastic gradient descent
  with momentum), from the first call to the end of the last step, without imports. Each run is a process of its own,
  and the backends alternate. A time is the median.

A ratio is XLA's time divided by farcall's: above 1, farcall is faster. The tables are written to FOLDER/backends.md.
"""

import argparse
import importlib
import os
import pathlib
import statistics
import subprocess
import sys
import time

# All sides count the processors when they start their threads.
THREADS = 2
os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:THREADS])
os.environ.setdefault("JAX_PLATFORMS", "cpu,farcall")

import jax  # noqa: E402, once the processors are chosen
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from machine import geometric_mean, processor  # noqa: E402

BACKENDS = {"XLA:CPU": "cpu", "farcall": "farcall"}

#: Functions by name, each with the shapes of its arguments.
CALLS = {
    "x + 1, f32": (lambda x: x + 1, [()]),
    "x + 1, f32[1000]": (lambda x: x + 1, [(1000,)]),
    "x + 1, f32[100000]": (lambda x: x + 1, [(100_000,)]),
    "tanh(x @ w + b), f32[32,64]": (lambda x, w, b: jnp.tanh(x @ w + b), [(32, 64), (64, 128), (128,)]),
    "20 arguments, f32[10]": (lambda *xs: sum(xs), [(10,)] * 20),
}
REPEATED = 200


def dispatch(seconds):
    """Yields the name of each call, and its time on each backend."""
    for name, (function, shapes) in CALLS.items():
        random = np.random.default_rng(0)
        inputs = [random.standard_normal(shape).astype(np.float32) for shape in shapes]
        sides = {}
        for backend, platform in BACKENDS.items():
            device = jax.devices(platform)[0]
            sides[backend] = (jax.jit(function), [jax.device_put(x, device) for x in inputs])
        best = dict.fromkeys(BACKENDS, float("inf"))
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            for backend, (compiled, arguments) in sides.items():
                compiled(*arguments).block_until_ready()
                start = time.perf_counter()
                for _ in range(REPEATED):
                    compiled(*arguments).block_until_ready()
                best[backend] = min(best[backend], (time.perf_counter() - start) / REPEATED)
        yield name, best


def train():
    """Trains the perceptron. Returns the seconds and the last loss."""
    random = np.random.default_rng(0)
    sizes = [64, 128, 128, 10]
    weights = [(random.standard_normal((m, n)) / np.sqrt(m)).astype(np.float32) for m, n in zip(sizes, sizes[1:])]
    biases = [np.zeros(n, np.float32) for n in sizes[1:]]
    data = random.standard_normal((1024, 64)).astype(np.float32)
    labels = np.argmax(data[:, :10] + 0.1 * random.standard_normal((1024, 10)), 1).astype(np.int32)

    def loss_of(parameters, x, y):
        weights, biases = parameters
        for weight, bias in zip(weights[:-1], biases[:-1]):
            x = jax.nn.relu(x @ weight + bias)
        scores = jax.nn.log_softmax(x @ weights[-1] + biases[-1])
        return -jnp.mean(jnp.take_along_axis(scores, y[:, None], 1))

    @jax.jit
    def step(parameters, momentum, x, y):
        loss, gradient = jax.value_and_grad(loss_of)(parameters, x, y)
        momentum = jax.tree.map(lambda m, g: 0.9 * m + g, momentum, gradient)
        return jax.tree.map(lambda p, m: p - 0.05 * m, parameters, momentum), momentum, loss

    if os.environ["JAX_PLATFORMS"] == "farcall":
        # Otherwise JAX would import the backend in the first call, which is timed.
        importlib.import_module("farcall._jax_backend")
    start = time.perf_counter()
    parameters = (weights, biases)
    momentum = jax.tree.map(np.zeros_like, parameters)
    loss = None
    for i in range(1000):
        rows = slice(i * 32 % 1024, i * 32 % 1024 + 32)
        parameters, momentum, loss = step(parameters, momentum, data[rows], labels[rows])
    loss = float(loss)
    return time.perf_counter() - start, loss


def training(sittings):
    """Returns the median times of the training for each backend, and the last losses."""
    times = {backend: [] for backend in BACKENDS}
    losses = {}
    for _ in range(sittings):
        for backend, platform in BACKENDS.items():
            command = [sys.executable, __file__, "--train"]
            process = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "JAX_PLATFORMS": platform})
            if process.returncode != 0:
                sys.exit(process.stderr)
            seconds, losses[backend] = map(float, process.stdout.split())
            times[backend].append(seconds)
    return {backend: statistics.median(found) for backend, found in times.items()}, losses


def main():
    if sys.argv[1:] == ["--train"]:
        print(*train())
        return
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--seconds", type=float, default=5, help="time for the runs of a call")
    parser.add_argument("--sittings", type=int, default=5, help="number of trainings on each backend")
    args = parser.parse_args()
    lines = [
        "# JAX on XLA's CPU backend and on farcall",
        "",
        f"{processor()}, {THREADS} threads, jaxlib {jax.lib.__version__}, farcall",
        f"{os.environ.get('FARCALL_COMMIT', '')}, {time.strftime('%Y-%m-%d %H:%M UTC', time.gmtime())}.",
        "",
        "| dispatch | XLA:CPU | farcall | ratio |",
        "| --- | ---: | ---: | ---: |",
    ]
    print("\n".join(lines))
    ratios = []
    for name, best in dispatch(args.seconds):
        theirs, ours = best["XLA:CPU"], best["farcall"]
        ratios.append(theirs / ours)
        lines.append(f"| {name} | {theirs * 1e6:.1f} µs | {ours * 1e6:.1f} µs | {ratios[-1]:.2f} |")
        print(lines[-1], flush=True)
    lines += ["", f"Geometric mean of the ratios: {geometric_mean(ratios):.2f}.", ""]
    times, losses = training(args.sittings)
    lines += [
        "| training | XLA:CPU | farcall | ratio |",
        "| --- | ---: | ---: | ---: |",
        f"| 1,000 steps | {times['XLA:CPU']:.2f} s | {times['farcall']:.2f} s | {times['XLA:CPU'] / times['farcall']:.2f} |",
        "",
        f"Losses after the last step: {losses['XLA:CPU']:.6f} and {losses['farcall']:.6f}.",
        "",
    ]
    print("\n".join(lines[-8:]))
    path = args.folder / "backends.md"
    path.write_text("\n".join(lines))
    print(f"wrote {path}")


if __name__ == "__main__":
    main()
