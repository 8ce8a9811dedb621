#!/usr/bin/env python3
"""Measures programs that are divided among the devices of one machine.

    python devices.py FOLDER [--sittings N]

- *collectives*: the bytes of the results of the collectives in the program of each device, on a mesh of 2 × 4 devices:
  for a transformer block and its gradient with data, tensor and sequence sharding, and for a stencil and the gradient
  of a convolutional network whose images are divided along both sides. XLA and farcall divide the same program.
- *step*: a training step of multilayer perceptrons with the batch on 8 devices, and on one device. The ratio is the
  time on 8 devices divided by the time on one; the devices share the same processors.

The tables are written to FOLDER/devices.md.
"""

import argparse
import math
import os
import pathlib
import re
import statistics
import time

# All sides count the processors when they start their threads.
THREADS = 2
os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:THREADS])
os.environ.setdefault("JAX_PLATFORMS", "cpu,farcall")
DEVICES = 8
os.environ["FARCALL_NUM_DEVICES"] = str(DEVICES)

import jax  # noqa: E402, once the processors are chosen
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from jax.sharding import AxisType, NamedSharding  # noqa: E402
from jax.sharding import PartitionSpec as P  # noqa: E402
from machine import processor  # noqa: E402

jax.config.update("jax_num_cpu_devices", DEVICES)
BACKENDS = {"XLA:CPU": "cpu", "farcall": "farcall"}

#: Sizes of the block: batch, sequence, model, heads, hidden.
BATCH, SEQUENCE, MODEL, HEADS, HIDDEN = 8, 256, 256, 8, 1024

#: Matches the types and the name of a collective in an HLO text.
COLLECTIVE = re.compile(r" = (.*?) (all-reduce|all-gather|reduce-scatter|all-to-all|collective-permute)\(")
ELEMENTS = re.compile(r"(?:[a-z]+(\d+)|pred)\[([\d,]*)\]")


def block(parameters, x):
    """A transformer block. Between its parts, the sequence is divided along the axis `model`."""
    constrain = jax.lax.with_sharding_constraint
    wide, narrow = P("data", None, None), P("data", "model", None)

    def normalized(x):
        return (x - x.mean(-1, keepdims=True)) * jax.lax.rsqrt(x.var(-1, keepdims=True) + 1e-5)

    x = constrain(x, narrow)
    h = constrain(normalized(x), wide)
    q, k, v = (jnp.einsum("bsm,mhd->bshd", h, parameters[name]) for name in ("q", "k", "v"))
    scores = jax.nn.softmax(jnp.einsum("bqhd,bkhd->bhqk", q, k) / math.sqrt(MODEL // HEADS))
    mixed = jnp.einsum("bhqk,bkhd->bqhd", scores, v)
    x = x + constrain(jnp.einsum("bshd,hdm->bsm", mixed, parameters["out"]), narrow)
    h = constrain(normalized(x), wide)
    h = jax.nn.gelu(h @ parameters["up"])
    return x + constrain(h @ parameters["down"], narrow)


SHAPES = {
    "q": (MODEL, HEADS, MODEL // HEADS),
    "k": (MODEL, HEADS, MODEL // HEADS),
    "v": (MODEL, HEADS, MODEL // HEADS),
    "out": (HEADS, MODEL // HEADS, MODEL),
    "up": (MODEL, HIDDEN),
    "down": (HIDDEN, MODEL),
}
SPECS = {
    "q": P(None, "model"),
    "k": P(None, "model"),
    "v": P(None, "model"),
    "out": P("model"),
    "up": P(None, "model"),
    "down": P("model"),
}


def gradient(parameters, x):
    return jax.value_and_grad(lambda parameters: (block(parameters, x) ** 2).mean())(parameters)


def sharded(mesh, shape, spec):
    return jax.ShapeDtypeStruct(shape, np.float32, sharding=NamedSharding(mesh, spec))


def transformer(mesh):
    """Returns the arguments of the block."""
    parameters = {name: sharded(mesh, shape, SPECS[name]) for name, shape in SHAPES.items()}
    return parameters, sharded(mesh, (BATCH, SEQUENCE, MODEL), P("data", "model"))


def stencil(u):
    """A step of the heat equation on a torus."""
    neighbors = (jnp.roll(u, shift, axis) for axis in (0, 1) for shift in (1, -1))
    return u + 0.1 * (sum(neighbors) - 4 * u)


def grid(mesh):
    return (sharded(mesh, (1024, 1024), P("data", "model")),)


def network(kernels, images):
    """The gradient of a network of convolutions, one with strides, and pooling."""
    layouts = ("NHWC", "HWIO", "NHWC")

    def loss(kernels):
        convolution = jax.lax.conv_general_dilated
        x = jax.nn.relu(convolution(images, kernels[0], (1, 1), "SAME", dimension_numbers=layouts))
        x = jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
        x = jax.nn.relu(convolution(x, kernels[1], (2, 2), "SAME", dimension_numbers=layouts))
        return (x.mean((1, 2)) ** 2).mean()

    return jax.grad(loss)(kernels)


def images(mesh):
    kernels = [sharded(mesh, shape, P()) for shape in [(3, 3, 4, 8), (3, 3, 8, 16)]]
    return kernels, sharded(mesh, (4, 64, 64, 4), P(None, "data", "model"))


#: Programs that are divided among the devices, each with the function that makes its arguments.
PROGRAMS = {
    "transformer block": (block, transformer),
    "its gradient": (gradient, transformer),
    "stencil": (stencil, grid),
    "gradient of a convolutional network": (network, images),
}


def result_bytes(text):
    """Yields the collectives of an HLO text, each with the bytes of its results."""
    for types, name in COLLECTIVE.findall(text):
        yield name, sum(
            math.prod(int(n) for n in sizes.split(",") if n) * int(bits or 8) // 8
            for bits, sizes in ELEMENTS.findall(types)
        )


def collectives(function, arguments):
    """Returns the bytes of each kind of collective, for each backend."""
    found = {}
    for backend, platform in BACKENDS.items():
        mesh = jax.make_mesh((2, 4), ("data", "model"), devices=jax.devices(platform), axis_types=(AxisType.Auto,) * 2)
        with jax.set_mesh(mesh):
            text = jax.jit(function).lower(*arguments(mesh)).compile().as_text()
        totals = {}
        for name, count in result_bytes(text):
            totals[name] = totals.get(name, 0) + count
        found[backend] = totals
    return found


#: Layers of the perceptrons, and sizes of their batches.
PERCEPTRONS = [([784, 512, 512, 10], 4096), ([512, 1024, 1024, 10], 1024)]


def step(devices, sizes, batch):
    """Returns a function that measures a training step on farcall: the median time of 20 steps."""
    random = np.random.default_rng(0)
    mesh = jax.make_mesh((devices,), ("data",), devices=jax.devices("farcall")[:devices], axis_types=(AxisType.Auto,))
    whole, divided = NamedSharding(mesh, P()), NamedSharding(mesh, P("data"))
    weights = [random.standard_normal((m, n)).astype(np.float32) / np.sqrt(m) for m, n in zip(sizes, sizes[1:])]
    weights = jax.device_put(weights, whole)
    x = jax.device_put(random.standard_normal((batch, sizes[0])).astype(np.float32), divided)
    y = jax.device_put(random.integers(0, sizes[-1], batch).astype(np.int32), divided)

    def loss_of(weights, x, y):
        for weight in weights[:-1]:
            x = jax.nn.relu(x @ weight)
        scores = jax.nn.log_softmax(x @ weights[-1])
        return -jnp.mean(jnp.take_along_axis(scores, y[:, None], 1))

    @jax.jit
    def train(weights, x, y):
        loss, gradient = jax.value_and_grad(loss_of)(weights, x, y)
        return jax.tree.map(lambda w, g: w - 0.05 * g, weights, gradient), loss

    def run():
        nonlocal weights
        start = time.perf_counter()
        weights, loss = train(weights, x, y)
        jax.block_until_ready((weights, loss))
        return time.perf_counter() - start

    for _ in range(5):
        run()
    return lambda: statistics.median(run() for _ in range(20))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--sittings", type=int, default=5, help="number of alternating rounds of 20 steps")
    args = parser.parse_args()
    lines = [
        "# Programs divided among devices",
        "",
        f"{processor()}, {THREADS} threads, jaxlib {jax.lib.__version__}, farcall",
        f"{os.environ.get('FARCALL_COMMIT', '')}, {time.strftime('%Y-%m-%d %H:%M UTC', time.gmtime())}.",
        "",
        "| program | collective | XLA, bytes | farcall, bytes |",
        "| --- | --- | ---: | ---: |",
    ]
    for name, (function, arguments) in PROGRAMS.items():
        found = collectives(function, arguments)
        for kind in sorted(set().union(*found.values())):
            lines.append(f"| {name} | {kind} | " + " | ".join(f"{found[b].get(kind, 0):,}" for b in BACKENDS) + " |")
        lines.append(f"| {name} | all | " + " | ".join(f"{sum(found[b].values()):,}" for b in BACKENDS) + " |")
    print("\n".join(lines), flush=True)
    lines += ["", "| training step | one device | 8 devices | ratio |", "| --- | ---: | ---: | ---: |"]
    for sizes, batch in PERCEPTRONS:
        one, all_devices = step(1, sizes, batch), step(DEVICES, sizes, batch)
        pairs = [(one(), all_devices()) for _ in range(args.sittings)]
        alone, divided = (statistics.median(times) for times in zip(*pairs))
        name = f"{'-'.join(map(str, sizes))}, batch {batch:,}"
        lines.append(f"| {name} | {alone * 1e3:.1f} ms | {divided * 1e3:.1f} ms | {divided / alone:.2f} |")
    lines.append("")
    print("\n".join(lines[-5:]))
    path = args.folder / "devices.md"
    path.write_text("\n".join(lines))
    print(f"wrote {path}")


if __name__ == "__main__":
    main()
