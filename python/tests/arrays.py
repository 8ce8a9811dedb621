"""Arrays of numbers for tests."""

import numpy as np


def random(size, dtype=np.float64, seed=0):
    """Returns normally distributed numbers, which are the same in every run."""
    generator = np.random.default_rng(seed)
    x = generator.normal(size=size)
    if np.issubdtype(dtype, np.complexfloating):
        x = x + 1j * generator.normal(size=size)
    return x.astype(dtype)
