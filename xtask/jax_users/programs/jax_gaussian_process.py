"""jax.numpy alone: a Gaussian process in double precision, whose kernel is fitted by gradient descent."""

from jax_users.record import Record

record = Record()

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.linalg import cho_factor, cho_solve, solve_triangular

record.imported()

POINTS, STEPS = 150, 150

jax.config.update("jax_enable_x64", True)


def data(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    x = np.sort(rng.uniform(-3, 3, size=POINTS))
    return x, np.sin(2 * x) + 0.3 * x + rng.normal(scale=0.2, size=POINTS)


def kernel(parameters: dict, a: jax.Array, b: jax.Array) -> jax.Array:
    """Covariances of the function's values at `a` and `b`."""
    distance = (a[:, None] - b[None, :]) / jnp.exp(parameters["log_length"])
    return jnp.exp(2 * parameters["log_amplitude"] - distance**2 / 2)


def covariance(parameters: dict, x: jax.Array) -> jax.Array:
    """Covariances of observations at `x`."""
    return kernel(parameters, x, x) + jnp.exp(2 * parameters["log_noise"]) * jnp.eye(len(x))


def loss_of(parameters: dict, x: jax.Array, y: jax.Array) -> jax.Array:
    """The negative logarithm of the marginal likelihood, divided by the number of points."""
    factor = cho_factor(covariance(parameters, x), lower=True)
    fit = y @ cho_solve(factor, y) / 2
    return (fit + jnp.log(jnp.diag(factor[0])).sum()) / len(x) + jnp.log(2 * jnp.pi) / 2


@jax.jit
def train_step(parameters: dict, velocity: dict, x: jax.Array, y: jax.Array) -> tuple[dict, dict, jax.Array]:
    loss, gradients = jax.value_and_grad(loss_of)(parameters, x, y)
    velocity = jax.tree.map(lambda v, g: 0.9 * v - 0.02 * g, velocity, gradients)
    return jax.tree.map(jnp.add, parameters, velocity), velocity, loss


@jax.jit
def predict(parameters: dict, x: jax.Array, y: jax.Array, at: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Returns means and standard deviations of the function's values."""
    factor = cho_factor(covariance(parameters, x), lower=True)
    cross = kernel(parameters, x, at)
    explained = solve_triangular(factor[0], cross, lower=True)
    variance = jnp.exp(2 * parameters["log_amplitude"]) - jnp.sum(explained**2, axis=0)
    return cross.T @ cho_solve(factor, y), jnp.sqrt(variance)


def main() -> None:
    x, y = data(np.random.default_rng(0))
    parameters = {name: jnp.zeros(()) for name in ("log_length", "log_amplitude", "log_noise")}
    velocity = parameters
    losses = []
    for _ in range(STEPS):
        parameters, velocity, loss = train_step(parameters, velocity, x, y)
        losses.append(float(loss))
        record.first_step()
    mean, deviation = predict(parameters, x, y, jnp.linspace(-3, 3, 7))
    # In double precision, nothing here amplifies rounding enough to be visible.
    record.numbers("losses of every tenth step", losses[::10], rtol=1e-9)
    record.numbers("kernel parameters", parameters.values(), rtol=1e-7)
    record.numbers("predicted means", mean, rtol=1e-7)
    record.numbers("predicted deviations", deviation, rtol=1e-7)
    record.finish()


main()
