"""Calls `my_op` on NumPy arrays, where farcall's engine runs it, and on JAX arrays, where it is an operation
of JAX.

    cargo build --release
    python example.py
"""

import os
import pathlib

import farcall
import jax
import jax.numpy as jnp
import numpy as np

here = pathlib.Path(__file__).resolve().parent
target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", here / "target"))
ops = farcall.load(target / "release" / "libmy_ops.so")

x = np.linspace(-2, 2, 12, dtype=np.float32).reshape(3, 4)
scale = np.array([1, 2, 0.5, -1], dtype=np.float32)


def op(x, scale):
    return ops.my_op(x, scale, beta=1.5)


def formula(x, scale):
    """Computes the same values with JAX's own operations."""
    return x * jax.nn.sigmoid(1.5 * x) * scale


def gradient(f):
    return jax.grad(lambda x, scale: jnp.sum(f(x, scale) ** 2), argnums=(0, 1))


def same(what, found, expected):
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5), found, expected)
    print(f"{what}: as it should be")


# NumPy arrays: farcall's engine runs the kernel, without JAX.
y = op(x, scale)
print(y)
same("NumPy", y, formula(x, scale))

# JAX arrays under JAX's transformations: XLA runs the kernel.
same("jit", jax.jit(op)(x, scale), y)
same("grad", gradient(op)(x, scale), gradient(formula)(x, scale))
same("vmap", jax.vmap(op, in_axes=(0, None))(x, scale), y)
scales = np.stack([scale, 2 * scale, 3 * scale])
same("vmap, scale too", jax.vmap(op)(x, scales), jax.vmap(formula)(x, scales))
same("vmap of grad", jax.vmap(gradient(op))(x, scales), jax.vmap(gradient(formula))(x, scales))
