#!/usr/bin/env python3
"""Exports a decoder block of a small transformer from JAX, whose normalization is a custom call.

    pip install jax==0.10.2
    python demo/export.py

Writes beside this script `manifest.json`, which says how to compare, and in `transformer_block/` the
program (what `jax.jit(block).lower(...).as_text()` prints), `in*.npy` in argument order and `out0.npy`.

The exported program calls the target `rms_norm`. The expected output comes from the same block with
the normalization written in `jax.numpy`, compiled by XLA: it does not depend on any kernel of ours.
"""
import json
import pathlib

import jax
import jax.numpy as jnp
import numpy as np

HERE = pathlib.Path(__file__).parent
BATCH, SEQ, DIM, HEADS, HIDDEN = 2, 16, 64, 4, 128
EPS = 1e-5


def rms_norm_ffi(x, scale):
    call = jax.ffi.ffi_call("rms_norm", jax.ShapeDtypeStruct(x.shape, x.dtype))
    return call(x, scale, eps=np.float32(EPS))


def rms_norm_jnp(x, scale):
    return x * jax.lax.rsqrt(jnp.mean(x * x, axis=-1, keepdims=True) + EPS) * scale


def transformer_block(rms_norm, x, p):
    """Pre-norm causal self-attention, then a gated (SwiGLU) feed-forward layer."""
    b, t, d = x.shape
    h = rms_norm(x, p["attn_norm"])
    q, k, v = jnp.split(h @ p["qkv"], 3, axis=-1)
    heads = lambda a: a.reshape(b, t, HEADS, d // HEADS).transpose(0, 2, 1, 3)
    q, k, v = heads(q), heads(k), heads(v)
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(d // HEADS).astype(np.float32)
    scores = jnp.where(jnp.tril(jnp.ones((t, t), bool)), scores, -jnp.inf)
    mixed = jax.nn.softmax(scores, axis=-1) @ v
    x = x + mixed.transpose(0, 2, 1, 3).reshape(b, t, d) @ p["out"]
    h = rms_norm(x, p["ffn_norm"])
    return x + (jax.nn.silu(h @ p["gate"]) * (h @ p["up"])) @ p["down"]


def main():
    rng = np.random.default_rng(0)
    normal = lambda *shape: (rng.standard_normal(shape) / np.sqrt(shape[0])).astype(np.float32)
    params = {
        "attn_norm": (1 + 0.1 * rng.standard_normal(DIM)).astype(np.float32),
        "down": normal(HIDDEN, DIM),
        "ffn_norm": (1 + 0.1 * rng.standard_normal(DIM)).astype(np.float32),
        "gate": normal(DIM, HIDDEN),
        "out": normal(DIM, DIM),
        "qkv": normal(DIM, 3 * DIM),
        "up": normal(DIM, HIDDEN),
    }
    x = rng.standard_normal((BATCH, SEQ, DIM)).astype(np.float32)

    def block(x, params):
        return transformer_block(rms_norm_ffi, x, params)

    program = jax.jit(block).lower(x, params).as_text()
    expected = np.asarray(jax.jit(lambda x, p: transformer_block(rms_norm_jnp, x, p))(x, params))

    case = HERE / "transformer_block"
    case.mkdir(exist_ok=True)
    (case / "program.mlir").write_text(program)
    inputs = jax.tree.leaves((x, params))
    for i, a in enumerate(inputs):
        np.save(case / f"in{i}.npy", a)
    np.save(case / "out0.npy", expected)

    def describe(file, a):
        return {"file": file, "dtype": a.dtype.name, "shape": list(a.shape), "npy_dtype": a.dtype.name}

    rtol = 64 * float(np.finfo(np.float32).eps)
    tolerance = {"compare": "allclose", "rtol": rtol, "atol": rtol * float(np.abs(expected).max())}
    entry = {
        "name": "transformer_block",
        "category": "models",
        "program": "transformer_block/program.mlir",
        "inputs": [describe(f"in{i}.npy", a) for i, a in enumerate(inputs)],
        "outputs": [describe("out0.npy", expected) | tolerance],
    }
    manifest = {"format": 1, "jax": jax.__version__, "cases": [entry]}
    (HERE / "manifest.json").write_text(json.dumps(manifest, indent=1) + "\n")


if __name__ == "__main__":
    main()
