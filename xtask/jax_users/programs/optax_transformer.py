"""optax: a character transformer without a neural network library. Its optimizer clips gradients, and its
learning rate rises and then falls."""

from jax_users.record import Record

record = Record()

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import optax

record.imported()

ALPHABET = "0123456789+=;"
LENGTH, WIDTH, HEADS, BLOCKS, BATCH, STEPS = 32, 64, 4, 2, 16, 300


def text(rng: np.random.Generator, sums: int) -> np.ndarray:
    """Returns the characters of correct sums, such as `27+5=32;`."""
    pairs = rng.integers(50, size=(sums, 2))
    characters = "".join(f"{a}+{b}={a + b};" for a, b in pairs)
    return np.array([ALPHABET.index(c) for c in characters], np.int32)


def initial(key: jax.Array) -> dict:
    """Returns random parameters."""
    keys = iter(jax.random.split(key, 2 + 4 * BLOCKS))

    def matrix(rows: int, columns: int) -> jax.Array:
        return jax.random.normal(next(keys), (rows, columns)) / np.sqrt(rows)

    def block() -> dict:
        return {
            "attention_scale": jnp.ones(WIDTH),
            "qkv": matrix(WIDTH, 3 * WIDTH),
            "out": matrix(WIDTH, WIDTH),
            "mlp_scale": jnp.ones(WIDTH),
            "up": matrix(WIDTH, 4 * WIDTH),
            "down": matrix(4 * WIDTH, WIDTH),
        }

    return {
        "characters": 0.1 * matrix(len(ALPHABET), WIDTH),
        "positions": 0.1 * matrix(LENGTH, WIDTH),
        "blocks": [block() for _ in range(BLOCKS)],
    }


def normalized(x: jax.Array, scale: jax.Array) -> jax.Array:
    return scale * x * jax.lax.rsqrt(jnp.mean(x * x, axis=-1, keepdims=True) + 1e-6)


def attention(x: jax.Array, block: dict) -> jax.Array:
    """Causal attention of one text, of shape `[LENGTH, WIDTH]`."""
    q, k, v = jnp.split((x @ block["qkv"]).reshape(LENGTH, HEADS, -1), 3, axis=-1)
    scores = jnp.einsum("qhd,khd->hqk", q, k) / np.sqrt(WIDTH // HEADS)
    causal = jnp.tril(jnp.ones((LENGTH, LENGTH), bool))
    weights = jax.nn.softmax(jnp.where(causal, scores, -jnp.inf))
    return jnp.einsum("hqk,khd->qhd", weights, v).reshape(LENGTH, WIDTH) @ block["out"]


def logits(parameters: dict, characters: jax.Array) -> jax.Array:
    x = parameters["characters"][characters] + parameters["positions"]
    for block in parameters["blocks"]:
        x = x + attention(normalized(x, block["attention_scale"]), block)
        x = x + jax.nn.gelu(normalized(x, block["mlp_scale"]) @ block["up"]) @ block["down"]
    return x @ parameters["characters"].T


def loss_of(parameters: dict, windows: jax.Array) -> jax.Array:
    predicted = jax.vmap(partial(logits, parameters))(windows[:, :-1])
    return optax.softmax_cross_entropy_with_integer_labels(predicted, windows[:, 1:]).mean()


SCHEDULE = optax.warmup_cosine_decay_schedule(0.0, 5e-3, warmup_steps=30, decay_steps=STEPS, end_value=1e-4)
OPTIMIZER = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(SCHEDULE, weight_decay=1e-3))


@partial(jax.jit, donate_argnums=(0, 1))
def train_step(parameters: dict, state: optax.OptState, windows: jax.Array) -> tuple:
    loss, gradients = jax.value_and_grad(loss_of)(parameters, windows)
    updates, state = OPTIMIZER.update(gradients, state, parameters)
    return optax.apply_updates(parameters, updates), state, loss, optax.global_norm(gradients)


def main() -> None:
    rng = np.random.default_rng(0)
    characters = text(rng, 4000)
    parameters = initial(jax.random.key(0))
    state = OPTIMIZER.init(parameters)
    losses, norms = [], []
    for _ in range(STEPS):
        starts = rng.integers(len(characters) - LENGTH, size=(BATCH, 1))
        windows = characters[starts + np.arange(LENGTH + 1)]
        parameters, state, loss, norm = train_step(parameters, state, windows)
        losses.append(float(loss))
        norms.append(float(norm))
        record.first_step()
    record.numbers("losses of steps 1 to 5", losses[:5], rtol=1e-5)
    record.numbers("gradient norms of steps 1 to 5", norms[:5], rtol=1e-4)
    # Training amplifies differences of rounding.
    record.numbers("mean losses of 50 steps", np.reshape(losses, (-1, 50)).mean(axis=1), rtol=0.01)
    record.finish()


main()
