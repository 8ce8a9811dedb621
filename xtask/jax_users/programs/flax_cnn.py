"""flax: a convolutional classifier with batch normalization and dropout, trained with Adam."""

from jax_users.record import Record

record = Record()

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx

record.imported()

CLASSES, SIZE, BATCH, STEPS = 4, 16, 32, 200


def images(rng: np.random.Generator, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Returns noisy images of a stripe in one of four directions, and the numbers of the directions."""
    labels = rng.integers(CLASSES, size=count)
    row, column = np.mgrid[:SIZE, :SIZE] - (SIZE - 1) / 2
    directions = np.stack([row, column, row - column, row + column])
    distance = directions[labels] - rng.uniform(-4, 4, size=(count, 1, 1))
    stripe = np.exp(-(distance**2) / 2)
    noisy = stripe + rng.normal(scale=0.6, size=stripe.shape)
    return noisy[..., None].astype(np.float32), labels.astype(np.int32)


class Block(nnx.Module):
    """Convolution, batch normalization and pooling."""

    def __init__(self, inputs: int, outputs: int, *, rngs: nnx.Rngs):
        self.conv = nnx.Conv(inputs, outputs, kernel_size=(3, 3), rngs=rngs)
        self.norm = nnx.BatchNorm(outputs, rngs=rngs)

    def __call__(self, x: jax.Array) -> jax.Array:
        x = nnx.relu(self.norm(self.conv(x)))
        return nnx.max_pool(x, window_shape=(2, 2), strides=(2, 2))


class Classifier(nnx.Module):
    def __init__(self, *, rngs: nnx.Rngs):
        self.first = Block(1, 8, rngs=rngs)
        self.second = Block(8, 16, rngs=rngs)
        self.hidden = nnx.Linear(16 * (SIZE // 4) ** 2, 64, rngs=rngs)
        self.dropout = nnx.Dropout(rate=0.2, rngs=rngs)
        self.logits = nnx.Linear(64, CLASSES, rngs=rngs)

    def __call__(self, x: jax.Array) -> jax.Array:
        x = self.second(self.first(x))
        x = nnx.relu(self.hidden(x.reshape(x.shape[0], -1)))
        return self.logits(self.dropout(x))


def loss_of(model: Classifier, x: jax.Array, y: jax.Array) -> jax.Array:
    return optax.softmax_cross_entropy_with_integer_labels(model(x), y).mean()


@nnx.jit
def train_step(model: Classifier, optimizer: nnx.Optimizer, x: jax.Array, y: jax.Array) -> jax.Array:
    loss, gradients = nnx.value_and_grad(loss_of)(model, x, y)
    optimizer.update(model, gradients)
    return loss


@nnx.jit
def accuracy(model: Classifier, x: jax.Array, y: jax.Array) -> jax.Array:
    return jnp.mean(model(x).argmax(axis=-1) == y)


def main() -> None:
    rng = np.random.default_rng(0)
    train_x, train_y = images(rng, 1024)
    test_x, test_y = images(rng, 512)
    model = Classifier(rngs=nnx.Rngs(0))
    optimizer = nnx.Optimizer(model, optax.adam(2e-3), wrt=nnx.Param)
    losses = []
    model.train()
    for _ in range(STEPS):
        chosen = rng.integers(len(train_x), size=BATCH)
        losses.append(float(train_step(model, optimizer, train_x[chosen], train_y[chosen])))
        record.first_step()
    model.eval()
    record.numbers("losses of steps 1 to 5", losses[:5], rtol=1e-5)
    # Training amplifies differences of rounding.
    record.numbers("mean losses of 50 steps", np.reshape(losses, (-1, 50)).mean(axis=1), rtol=0.01, atol=1e-3)
    record.numbers("accuracy on other images", [accuracy(model, test_x, test_y)], rtol=0.0, atol=0.02)
    record.finish()


main()
