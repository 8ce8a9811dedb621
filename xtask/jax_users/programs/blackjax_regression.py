"""blackjax: linear regression with unknown noise, sampled with NUTS after window adaptation."""

from jax_users.record import Record

record = Record()

import blackjax
import jax
import jax.numpy as jnp
import jax.scipy.stats as stats
import numpy as np
from blackjax.diagnostics import effective_sample_size

record.imported()

ROWS, FEATURES, CHAINS, WARMUP, DRAWS = 200, 4, 2, 300, 500


def data(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    x = rng.normal(size=(ROWS, FEATURES))
    x[:, 1] += 0.7 * x[:, 0]
    y = x @ np.array([1.0, -2.0, 0.5, 0.0]) + rng.normal(scale=0.8, size=ROWS)
    return x.astype(np.float32), y.astype(np.float32)


def log_density_of(x: np.ndarray, y: np.ndarray):
    """Returns the logarithm of the posterior density, up to a constant."""

    def log_density(position: dict) -> jax.Array:
        scale = jnp.exp(position["log_scale"])
        prior = stats.norm.logpdf(position["weights"], scale=3.0).sum()
        prior += stats.norm.logpdf(position["log_scale"])
        return prior + stats.norm.logpdf(y, x @ position["weights"], scale).sum()

    return log_density


def chain(kernel, key: jax.Array, state, draws: int) -> tuple:
    """Returns the states of a chain, and NUTS' descriptions of its steps."""

    @jax.jit
    def advance(state, key: jax.Array) -> tuple:
        state, info = kernel(key, state)
        return state, (state, info)

    return jax.lax.scan(advance, state, jax.random.split(key, draws))[1]


def main() -> None:
    log_density = log_density_of(*data(np.random.default_rng(0)))
    start = {"weights": jnp.zeros(FEATURES), "log_scale": jnp.zeros(())}
    for_short, for_warmup, for_draws = jax.random.split(jax.random.key(0), 3)

    # A trajectory of NUTS amplifies differences of rounding, and its length and end depend on comparisons, so
    # only a short chain agrees. The long ones are compared as samples.
    nuts = blackjax.nuts(log_density, step_size=0.02, inverse_mass_matrix=jnp.ones(FEATURES + 1))
    states, info = chain(nuts.step, for_short, nuts.init(start), 4)
    record.first_step()
    record.numbers("log densities of a short chain", states.logdensity, rtol=1e-3)
    record.numbers("steps of a short chain", info.num_integration_steps, rtol=0.0)

    def sampled(keys: jax.Array) -> tuple:
        adaptation = blackjax.window_adaptation(blackjax.nuts, log_density)
        (state, parameters), _ = adaptation.run(keys[0], start, num_steps=WARMUP)
        return chain(blackjax.nuts(log_density, **parameters).step, keys[1], state, DRAWS)

    keys = jnp.stack([jax.random.split(for_warmup, CHAINS), jax.random.split(for_draws, CHAINS)], axis=1)
    states, info = jax.jit(jax.vmap(sampled))(keys)
    for i in range(FEATURES):
        draws = states.position["weights"][..., i]
        record.mean(f"weight {i}", draws, effective_sample_size(draws))
    draws = jnp.exp(states.position["log_scale"])
    record.mean("noise", draws, effective_sample_size(draws))
    record.numbers("share of divergent steps", [info.is_divergent.mean()], rtol=0.0, atol=0.01)
    record.numbers("mean acceptance rate", [info.acceptance_rate.mean()], rtol=0.0, atol=0.1)
    record.finish()


main()
