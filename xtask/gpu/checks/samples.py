"""Inputs of the ops, and reference implementations in jax.numpy.

To check a new op, add it to `OPS` and `table`. Modules that only need `OPS` do not import JAX.
"""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

#: Ops with an entry in the table. Their derivative ops need no entry: the gradients of these ops call them.
OPS = ["custom_relu", "rms_norm", "flash_attention", "csr_matmul", "cublas_gemm", "nccl_allreduce"]


@dataclasses.dataclass(frozen=True)
class Sample:
    op: str
    #: Distinguishes this sample from other samples of the op.
    label: str
    dtypes: Sequence[str]
    #: Makes the operands: `(random generator, element type) -> arrays`.
    operands: Callable[[Any, Any], Sequence[Any]]
    #: Computes the results in jax.numpy. Its operands are the op's operands, with floats converted to
    #: float64. Operands of reduced precision have been rounded before.
    reference: Callable[..., Any]
    attributes: dict[str, Any] = dataclasses.field(default_factory=dict)
    #: Indices of the operands with a gradient.
    moving: Sequence[int] = ()
    #: True if XLA records the op of the gradient into a CUDA graph, too.
    records_gradient: bool = True
    #: True if the op also has tangents (`jax.jvp`).
    has_tangents: bool = False
    #: `in_axes` of `jax.vmap`; `None` if the op is not batched.
    mapped: Sequence[int | None] | None = None
    #: Partition specs of the operands and the results on the axis "d" of `jax.shard_map`; `None` if the op is
    #: not split. Each spec is a tuple of axis names and `None`.
    split: tuple[Sequence[tuple], Sequence[tuple]] | None = None
    #: Maximum error relative to the norm of the result, by the result's element type.
    tolerances: dict[str, float] = dataclasses.field(default_factory=dict)

    def of_moving(self, function, operands):
        """Returns `function` as a function of the operands with a gradient only, and these operands."""

        def partial(*moved):
            given = dict(zip(self.moving, moved))
            return function(*(given.get(i, x) for i, x in enumerate(operands)))

        return partial, [operands[i] for i in self.moving]

    @property
    def name(self):
        return f"{self.op}, {self.label}" if self.label else self.op

    def tolerance(self, dtype):
        defaults = {"float64": 1e-12, "float32": 1e-5, "float16": 2e-3, "bfloat16": 1.5e-2}
        return self.tolerances.get(str(dtype), defaults.get(str(dtype), 0.0))


def of(op):
    """Returns the samples of an op."""
    return [sample for sample in table() if sample.op == op]


def table():
    import jax
    import jax.numpy as jnp
    import numpy as np

    def normal(*shape):
        return lambda rng, dtype: rng.standard_normal(shape).astype(dtype)

    def each(*makers):
        return lambda rng, dtype: [make(rng, dtype) for make in makers]

    def relu(x):
        return jnp.where(x <= 0, 0, x)

    def special(rng, dtype):
        values = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-40, -1e-40, 3.0, -3.0]
        return np.array(values, dtype)

    def rms_norm(x, scale, eps=1e-6):
        return x / jnp.sqrt(jnp.mean(x * x, axis=-1, keepdims=True) + eps) * scale

    def rms_norms(label, *shape):
        return Sample(
            op="rms_norm",
            label=label,
            dtypes=["float32", "bfloat16", "float16"],
            operands=each(normal(*shape), normal(shape[-1])),
            reference=lambda x, scale: rms_norm(x, scale, 1e-5),
            attributes={"eps": 1e-5},
            moving=(0, 1),
            records_gradient=False,  # it uses scratch memory
            mapped=(0, None),
            split=([("d",), ()], [("d",)]),
        )

    def attention(q, k, v, causal):
        k, v = (jnp.repeat(x, q.shape[-3] // k.shape[-3], axis=-3) for x in (k, v))
        scores = q @ jnp.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])
        if causal:
            scores = jnp.where(jnp.tri(*scores.shape[-2:], dtype=bool), scores, -np.inf)
        lse = jax.scipy.special.logsumexp(scores, axis=-1)
        return jnp.exp(scores - lse[..., None]) @ v, lse

    def attentions(label, heads, key_heads, queries, keys, size, causal):
        return Sample(
            op="flash_attention",
            label=label,
            dtypes=["bfloat16", "float16"],
            operands=each(
                normal(2, heads, queries, size),
                normal(2, key_heads, keys, size),
                normal(2, key_heads, keys, size),
            ),
            reference=lambda q, k, v: attention(q, k, v, causal),
            attributes={"causal": causal},
            mapped=(0, 0, 0),
            split=([("d",)] * 3, [("d",)] * 2),
        )

    def csr(entries, rows, columns, n):
        def operands(rng, dtype):
            starts = np.sort(rng.integers(0, entries + 1, rows + 1)).astype(np.int32)
            starts[0], starts[-1] = 0, entries
            indices = rng.integers(0, columns, entries).astype(np.int32)
            return [normal(entries)(rng, dtype), indices, starts, normal(columns, n)(rng, dtype)]

        return operands

    def csr_matmul(a, columns, starts, b):
        rows = starts.shape[0] - 1
        row = jnp.searchsorted(starts, jnp.arange(a.shape[0]), side="right") - 1
        return jax.ops.segment_sum(a[:, None] * b[columns], row, rows)

    def sum_of_one(x):
        return jax.vmap(lambda x: jax.lax.psum(x, "ranks"), axis_name="ranks")(x[None])[0]

    return [
        Sample(
            "custom_relu",
            "",
            ["float32"],
            each(normal(8, 1001)),
            relu,
            moving=(0,),
            mapped=(0,),
            split=([("d",)], [("d",)]),
        ),
        Sample("custom_relu", "special values", ["float32"], each(special), relu),
        rms_norms("rows of 1000", 8, 6, 1000),
        rms_norms("rows of 4096", 16, 4096),
        rms_norms("rows of 7", 2, 7),
        rms_norms("3 rows of 501", 3, 501),
        attentions("40 wide", 2, 1, 33, 47, 40, False),
        attentions("64 wide", 1, 1, 130, 130, 64, False),
        attentions("64 wide, causal, shared keys", 4, 2, 70, 130, 64, True),
        attentions("128 wide, causal", 1, 1, 150, 150, 128, True),
        Sample(
            "csr_matmul",
            "",
            ["float32", "float64"],
            csr(entries=700, rows=150, columns=90, n=70),
            csr_matmul,
            moving=(0, 3),
            has_tangents=True,
            mapped=(0, None, None, 0),
            split=([(), (), (), (None, "d")], [(None, "d")]),
        ),
        Sample(
            "cublas_gemm",
            "",
            ["float32"],
            each(normal(2, 65, 130), normal(2, 130, 70)),
            lambda a, b: a @ b,
            moving=(0, 1),
            mapped=(0, 0),
            split=([("d",)] * 2, [("d",)]),
        ),
        # The sum over a group of one rank.
        Sample(
            "nccl_allreduce",
            "",
            ["float32"],
            each(normal(8, 33)),
            sum_of_one,
            moving=(0,),
            mapped=(0,),
            split=([("d",)], [("d",)]),
        ),
    ]


def results(values):
    """Returns the results of an op or a reference as a tuple."""
    return tuple(values) if isinstance(values, (tuple, list)) else (values,)
