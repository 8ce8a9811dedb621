"""numpyro: hierarchical logistic regression, sampled with NUTS."""

from jax_users.record import Record

record = Record()

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from numpyro.diagnostics import effective_sample_size, split_gelman_rubin
from numpyro.infer import MCMC, NUTS, Predictive
from numpyro.infer.reparam import LocScaleReparam

record.imported()

GROUPS, FEATURES, ROWS, CHAINS = 10, 3, 400, 2


def model(group: jax.Array, x: jax.Array, y: jax.Array | None = None) -> None:
    """Each group has its own intercept; the intercepts share a normal distribution."""
    center = numpyro.sample("center", dist.Normal(0.0, 2.0))
    spread = numpyro.sample("spread", dist.HalfNormal(1.0))
    weights = numpyro.sample("weights", dist.Normal(0.0, 1.0).expand([FEATURES]).to_event(1))
    with numpyro.plate("groups", GROUPS):
        intercept = numpyro.sample("intercept", dist.Normal(center, spread))
    with numpyro.plate("rows", len(group)):
        numpyro.sample("y", dist.Bernoulli(logits=intercept[group] + x @ weights), obs=y)


def data(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    group = rng.integers(GROUPS, size=ROWS)
    x = rng.normal(size=(ROWS, FEATURES)).astype(np.float32)
    intercept = rng.normal(0.5, 0.8, size=GROUPS)
    chance = 1 / (1 + np.exp(-(intercept[group] + x @ np.array([1.0, -0.7, 0.2]))))
    return group, x, rng.binomial(1, chance)


def main() -> None:
    group, x, y = data(np.random.default_rng(0))
    # Without this reparametrization, the intercepts are hard to sample for a small spread.
    sampled = numpyro.handlers.reparam(model, config={"intercept": LocScaleReparam(0)})
    mcmc = MCMC(
        NUTS(sampled, target_accept_prob=0.9),
        num_warmup=300,
        num_samples=500,
        num_chains=CHAINS,
        chain_method="sequential",
        progress_bar=False,
    )
    fields = ("potential_energy", "num_steps")
    mcmc.warmup(jax.random.key(0), group, x, y, collect_warmup=True, extra_fields=fields)
    record.first_step()
    warmup = mcmc.get_extra_fields(group_by_chain=True)
    # A trajectory of NUTS amplifies differences of rounding, and its length and end depend on comparisons, so
    # only the first draws agree. Later ones are compared as samples.
    record.numbers("energies of draws 1 to 3", warmup["potential_energy"][:, :3].ravel(), rtol=1e-3)
    record.numbers("steps of draws 1 to 3", warmup["num_steps"][:, :3].ravel(), rtol=0.0)
    mcmc.run(jax.random.key(1), group, x, y)
    draws = mcmc.get_samples(group_by_chain=True)
    for name in ("center", "spread"):
        values = np.asarray(draws[name])
        record.mean(name, values, effective_sample_size(values))
    for i in range(FEATURES):
        values = np.asarray(draws["weights"][..., i])
        record.mean(f"weight {i}", values, effective_sample_size(values))
    worst = max(np.max(split_gelman_rubin(np.asarray(values))) for values in draws.values())
    record.numbers("all chains agree (1 if yes)", [worst < 1.05], rtol=0.0)
    predictive = Predictive(model, mcmc.get_samples())
    predicted = predictive(jax.random.key(2), group, x)["y"]
    record.numbers("predicted share of ones", [jnp.mean(predicted)], rtol=0.0, atol=0.01)
    record.finish()


main()
