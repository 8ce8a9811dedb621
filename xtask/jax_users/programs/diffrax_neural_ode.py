"""diffrax: a neural differential equation, fitted to trajectories of a damped pendulum."""

from jax_users.record import Record

record = Record()

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

record.imported()

TRAJECTORIES, TIMES, BATCH, STEPS = 64, 16, 16, 150


def pendulum(t: jax.Array, y: jax.Array, damping: float) -> jax.Array:
    angle, velocity = y
    return jnp.stack([velocity, -jnp.sin(angle) - damping * velocity])


def solved(field, y0: jax.Array, times: jax.Array, args=None) -> diffrax.Solution:
    """Solves an equation with adaptive steps."""
    return diffrax.diffeqsolve(
        diffrax.ODETerm(field),
        diffrax.Tsit5(),
        t0=times[0],
        t1=times[-1],
        dt0=0.1,
        y0=y0,
        args=args,
        saveat=diffrax.SaveAt(ts=times),
        stepsize_controller=diffrax.PIDController(rtol=1e-3, atol=1e-5),
    )


class Field(eqx.Module):
    """A time derivative given by a network."""

    mlp: eqx.nn.MLP

    def __init__(self, *, key: jax.Array):
        self.mlp = eqx.nn.MLP(2, 2, width_size=32, depth=2, activation=jax.nn.softplus, key=key)

    def __call__(self, t: jax.Array, y: jax.Array, args: None) -> jax.Array:
        return self.mlp(y)


@eqx.filter_value_and_grad
def loss_of(field: Field, times: jax.Array, truth: jax.Array) -> jax.Array:
    predicted = jax.vmap(lambda y0: solved(field, y0, times).ys)(truth[:, 0])
    return jnp.mean((predicted - truth) ** 2)


OPTIMIZER = optax.adabelief(5e-3)


@eqx.filter_jit
def train_step(field: Field, state: optax.OptState, times: jax.Array, truth: jax.Array) -> tuple:
    loss, gradients = loss_of(field, times, truth)
    updates, state = OPTIMIZER.update(gradients, state)
    return eqx.apply_updates(field, updates), state, loss


def main() -> None:
    for_data, for_field = jax.random.split(jax.random.key(0))
    times = jnp.linspace(0.0, 3.0, TIMES)
    starts = jax.random.uniform(for_data, (TRAJECTORIES, 2), minval=-1.5, maxval=1.5)
    solutions = jax.jit(jax.vmap(lambda y0: solved(pendulum, y0, times, 0.2)))(starts)
    record.numbers("angles at the end", solutions.ys[:8, -1, 0], rtol=1e-4, atol=1e-5)
    field = Field(key=for_field)
    state = OPTIMIZER.init(eqx.filter(field, eqx.is_inexact_array))
    rng = np.random.default_rng(0)
    losses = []
    for _ in range(STEPS):
        chosen = rng.integers(TRAJECTORIES, size=BATCH)
        field, state, loss = train_step(field, state, times, solutions.ys[chosen])
        losses.append(float(loss))
        record.first_step()
    record.numbers("losses of steps 1 to 5", losses[:5], rtol=1e-4)
    # Training and adaptive steps amplify differences of rounding.
    record.numbers("mean losses of 50 steps", np.reshape(losses, (-1, 50)).mean(axis=1), rtol=0.01)
    record.finish()


main()
