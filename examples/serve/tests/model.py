"""Creates `model.hex`: `python model.py`, with JAX and flatbuffers installed."""

import textwrap
from pathlib import Path

import jax
import jax.numpy as jnp
from jax import export

# Removes the folders of this machine from locations.
jax.config.update("jax_hlo_source_file_canonicalization_regex", ".*/")


def model(x):
    return jax.nn.relu(x @ jnp.arange(12, dtype=jnp.float32).reshape(4, 3) + 1)


shape = export.symbolic_shape("b, 4", constraints=["b <= 64"])
exported = export.export(jax.jit(model))(jax.ShapeDtypeStruct(shape, jnp.float32))
text = exported.serialize().hex()
(Path(__file__).parent / "model.hex").write_text("\n".join(textwrap.wrap(text, 120)) + "\n")
