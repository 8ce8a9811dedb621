"""Devices, random arrays, and comparisons."""

import jax
import jax.numpy as jnp
import numpy as np

from checks.outcome import expect


def device(platform):
    """Returns the device that the checks test."""
    return jax.devices(platform)[0]


def cpu():
    return jax.devices("cpu")[0]


def on(where, values):
    """Returns arrays that stay on a device."""
    return [jax.device_put(value, where) for value in values]


def exact(values):
    """Returns arrays on the CPU, with floats converted to float64."""
    widened = [
        np.asarray(x, np.float64) if jnp.issubdtype(np.asarray(x).dtype, jnp.floating) else np.asarray(x)
        for x in values
    ]
    return on(cpu(), widened)


def error(got, wanted):
    """Returns the norm of the difference divided by the norm of `wanted`.

    Raises:
      AssertionError: if the shapes differ, or NaN and infinities are at different positions.
    """
    got, wanted = (np.asarray(value).astype(np.float64) for value in (got, wanted))
    expect(got.shape == wanted.shape, f"the shape is {got.shape} instead of {wanted.shape}")
    known = np.isfinite(wanted)
    special = np.array_equal(got[~known], wanted[~known], equal_nan=True) and np.isfinite(got[known]).all()
    expect(special, "NaN or infinity is at different positions")
    difference, norm = np.linalg.norm(got[known] - wanted[known]), np.linalg.norm(wanted[known])
    return float(difference / norm) if norm else float(difference)


def compare(figures, label, got, wanted, sample):
    """Compares results with the wanted ones, and adds the largest error to the figures.

    Raises:
      AssertionError: if an error is larger than the sample allows.
    """
    expect(len(got) == len(wanted), f"{len(got)} results instead of {len(wanted)}")
    errors = [error(g, w) for g, w in zip(got, wanted)]
    figures[label] = max(errors, default=0.0)
    for i, (g, value) in enumerate(zip(got, errors)):
        limit = sample.tolerance(g.dtype)
        expect(value <= limit, f"result {i}: {label} is {value:.2e}, more than {limit:.0e}")
