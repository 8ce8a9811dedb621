"""equinox: a recurrent network that tells the sense of rotation of noisy spirals."""

from jax_users.record import Record

record = Record()

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

record.imported()

LENGTH, HIDDEN, BATCH, STEPS = 24, 32, 64, 300


def spirals(key: jax.Array, count: int) -> tuple[jax.Array, jax.Array]:
    """Returns points on spirals, of shape `[count, LENGTH, 2]`, and 1.0 for each counterclockwise spiral."""
    for_sense, for_phase, for_noise = jax.random.split(key, 3)
    labels = jax.random.bernoulli(for_sense, shape=(count,))
    phase = jax.random.uniform(for_phase, (count, 1), maxval=2 * jnp.pi)
    time = jnp.linspace(0.0, 1.0, LENGTH)
    angle = phase + jnp.where(labels, 1, -1)[:, None] * 4 * jnp.pi * time
    points = (0.2 + time)[:, None] * jnp.stack([jnp.cos(angle), jnp.sin(angle)], axis=-1)
    return points + 0.3 * jax.random.normal(for_noise, points.shape), labels.astype(jnp.float32)


class Recurrent(eqx.Module):
    """A GRU whose last state is classified."""

    cell: eqx.nn.GRUCell
    head: eqx.nn.MLP

    def __init__(self, *, key: jax.Array):
        for_cell, for_head = jax.random.split(key)
        self.cell = eqx.nn.GRUCell(2, HIDDEN, key=for_cell)
        self.head = eqx.nn.MLP(HIDDEN, "scalar", width_size=16, depth=1, activation=jnp.tanh, key=for_head)

    def __call__(self, points: jax.Array) -> jax.Array:
        def advance(state: jax.Array, point: jax.Array) -> tuple[jax.Array, None]:
            return self.cell(point, state), None

        state, _ = jax.lax.scan(advance, jnp.zeros(HIDDEN), points)
        return self.head(state)


@eqx.filter_value_and_grad
def loss_of(model: Recurrent, points: jax.Array, labels: jax.Array) -> jax.Array:
    return optax.sigmoid_binary_cross_entropy(jax.vmap(model)(points), labels).mean()


@eqx.filter_jit
def train_step(
    model: Recurrent,
    state: optax.OptState,
    optimizer: optax.GradientTransformation,
    points: jax.Array,
    labels: jax.Array,
) -> tuple[Recurrent, optax.OptState, jax.Array]:
    loss, gradients = loss_of(model, points, labels)
    updates, state = optimizer.update(gradients, state, eqx.filter(model, eqx.is_inexact_array))
    return eqx.apply_updates(model, updates), state, loss


@eqx.filter_jit
def accuracy(model: Recurrent, points: jax.Array, labels: jax.Array) -> jax.Array:
    return jnp.mean((jax.vmap(model)(points) > 0) == labels)


def main() -> None:
    for_train, for_test, for_model = jax.random.split(jax.random.key(0), 3)
    points, labels = spirals(for_train, 2048)
    model = Recurrent(key=for_model)
    optimizer = optax.rmsprop(3e-3, momentum=0.5)
    state = optimizer.init(eqx.filter(model, eqx.is_inexact_array))
    rng = np.random.default_rng(0)
    losses = []
    for _ in range(STEPS):
        chosen = rng.integers(len(points), size=BATCH)
        model, state, loss = train_step(model, state, optimizer, points[chosen], labels[chosen])
        losses.append(float(loss))
        record.first_step()
    record.numbers("losses of steps 1 to 5", losses[:5], rtol=1e-5)
    # Training amplifies differences of rounding.
    record.numbers("mean losses of 50 steps", np.reshape(losses, (-1, 50)).mean(axis=1), rtol=0.01, atol=1e-3)
    record.numbers(
        "accuracy on other spirals", [accuracy(model, *spirals(for_test, 1024))], rtol=0.0, atol=0.02
    )
    record.finish()


main()
