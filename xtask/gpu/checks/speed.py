"""Time on the device, compared with XLA's own compilation of the formula.

A program repeats the computation, each time on the previous result, with a barrier in between so that XLA
does not fuse two repetitions. The two programs run alternately. The ratio is the median of the ratios of
neighboring runs: XLA's time divided by the op's time. If it is above 1, the op is faster. XLA's program also
runs against a second copy of itself, in the same turns: the distance of that ratio from 1 is the noise.
"""

import statistics
import time

import jax
import jax.numpy as jnp
import numpy as np

from checks import arrays, listing
from checks.library import HANDLERS
from checks.outcome import expect

#: Minimum ratio at which the op counts as equally fast, if there is no noise.
BAR = 1.0

#: Maximum noise that the ratio may be below `BAR`.
MAX_NOISE = 0.02


def run(recorder, platform, name):
    {"rms_norm": rms_norms, "flash_attention": attentions}[name](recorder, platform, listing.library()[name])


def rms_norms(recorder, platform, op):
    def formula(x, scale):
        wide = x.astype(jnp.float32)
        inverse = jax.lax.rsqrt(jnp.mean(wide * wide, axis=-1, keepdims=True) + 1e-6)
        return (wide * inverse * scale.astype(jnp.float32)).astype(x.dtype)

    def gradients(function):
        def step(x, scale, dy):
            dx, dscale = jax.vjp(function, x, scale)[1](dy)
            # The gradient of the scale is used, so that neither program omits it.
            return dx + dscale.astype(dx.dtype)

        return step

    cases = [((8192, 8192), "bfloat16"), ((8192, 4096), "float32"), ((65536, 1024), "bfloat16")]
    for (rows, columns), dtype in cases if platform == "cuda" else [((4, 64), "bfloat16")]:
        x, scale, dy = random(platform, dtype, (rows, columns), (columns,), (rows, columns))
        size = x.nbytes
        label = f"{rows} × {columns}, {dtype}"
        with recorder.case(f"rms_norm, {label}") as figures:
            expect(HANDLERS[platform] in op.platforms, f"no handler for {HANDLERS[platform]}")
            steps = 20 if platform == "cuda" else 2
            compare(figures, platform, op, formula, x, [scale], steps, bytes_moved=2 * size)
        with recorder.case(f"gradient of rms_norm, {label}") as figures:
            # The forward pass of a step computes the root mean squares: x is read by both passes. Then dy is
            # read, and dx written.
            ours, theirs = gradients(op), gradients(formula)
            compare(
                figures,
                platform,
                ours,
                theirs,
                x,
                [scale, dy],
                8 if platform == "cuda" else 2,
                bytes_moved=4 * size,
            )


def attentions(recorder, platform, op):
    def formula(q, k, v, causal):
        scores = jnp.einsum("...nd,...md->...nm", q, k, preferred_element_type=jnp.float32) / np.sqrt(
            q.shape[-1]
        ).astype(np.float32)
        if causal:
            scores = jnp.where(jnp.tri(*scores.shape[-2:], dtype=bool), scores, -jnp.inf)
        return jnp.einsum("...nm,...md->...nd", jax.nn.softmax(scores, axis=-1).astype(q.dtype), v)

    cases = [(2, 16, 4096, 128, True), (2, 16, 4096, 128, False), (4, 16, 2048, 64, True)]
    for batch, heads, length, size, causal in cases if platform == "cuda" else [(1, 2, 16, 8, True)]:
        q, k, v = random(platform, "bfloat16", *[(batch, heads, length, size)] * 3)
        flops = 4 * batch * heads * length * length * size / (2 if causal else 1)
        kind = "causal" if causal else "full"
        with recorder.case(
            f"attention, {batch} × {heads} heads, length {length}, {size} wide, {kind}"
        ) as figures:
            expect(HANDLERS[platform] in op.platforms, f"no handler for {HANDLERS[platform]}")
            ours = lambda q, k, v: op(q, k, v, causal=causal)[0]
            theirs = lambda q, k, v: formula(q, k, v, causal)
            compare(figures, platform, ours, theirs, q, [k, v], 4 if platform == "cuda" else 2, flops=flops)


def random(platform, dtype, *shapes):
    """Returns random arrays on the device."""

    def make():
        keys = jax.random.split(jax.random.key(3), len(shapes))
        return [jax.random.normal(key, shape, jnp.dtype(dtype)) for key, shape in zip(keys, shapes)]

    with jax.default_device(arrays.device(platform)):
        return jax.block_until_ready(jax.jit(make)())


def repeated(step, count):
    """Returns a program that applies a step to its first operand again and again."""

    def program(x, *others):
        for _ in range(count):
            x = jax.lax.optimization_barrier(step(x, *others))
        return x

    return jax.jit(program)


def compare(figures, platform, ours, theirs, x, others, steps, *, bytes_moved=None, flops=None):
    """Times both sides, and adds times, rates and the ratio to the figures.

    Raises:
      AssertionError: if the results differ, or the ratio is below the limit.
    """
    results = [np.asarray(jax.jit(step)(x, *others).astype(jnp.float32)) for step in (ours, theirs)]
    figures["difference"] = apart = arrays.error(*results)
    expect(apart <= 0.02, f"the results differ by {apart:.2e}")
    sides, times = [repeated(step, steps) for step in (ours, theirs, theirs)], [[], [], []]
    for side in sides:
        jax.block_until_ready([side(x, *others) for _ in range(2)])
    begin = time.perf_counter()
    fewest, seconds = (11, 1.5) if platform == "cuda" else (2, 0)
    while len(times[0]) < fewest or time.perf_counter() - begin < seconds:
        for side, of in zip(sides, times):
            start = time.perf_counter()
            jax.block_until_ready(side(x, *others))
            of.append((time.perf_counter() - start) / steps)
    for name, of in zip(("op", "XLA"), times):
        median = statistics.median(of)
        figures[f"{name}, µs"] = median * 1e6
        if bytes_moved is not None:
            figures[f"{name}, GB/s"] = bytes_moved / median / 1e9
        if flops is not None:
            figures[f"{name}, TFLOP/s"] = flops / median / 1e12
    op, first, second = times
    figures["ratio"] = ratio = statistics.median(b / a for a, b in zip(op, first))
    figures["noise"] = noise = abs(statistics.median(b / a for a, b in zip(first, second)) - 1)
    expect(
        platform == "cpu" or ratio >= BAR - min(noise, MAX_NOISE),
        f"the op takes {1 / ratio:.2f} times as long as XLA's program",
    )
