"""The ops of examples/gallery at symbolic sizes: exported once by `jax.export`, they run at several sizes, in
jaxlib and in farcall's engine. Each op has a row in `OPEN`; `test_gallery.py` has the reference functions in
`jax.numpy`.
"""

import dataclasses
import functools
from typing import Any

import numpy as np
import pytest

jax = pytest.importorskip("jax")
jnp = jax.numpy

# Imported after the tests have been skipped if JAX is missing. `gallery` and `x64` are fixtures, which are
# used by name.
import farcall  # noqa: E402
from test_gallery import CASES, Random, every_case, gallery, of_moved, same, x64  # noqa: E402, F401


@dataclasses.dataclass
class Open:
    """An op at symbolic sizes, with the shapes of its operands in terms of `sizes`. The operands hold real
    numbers, except for those with another kind in `kinds`."""

    shapes: list[str]
    sizes: list[dict[str, int]]
    attributes: dict[str, Any] = dataclasses.field(default_factory=dict)
    #: `integers`, `complex` or `mask` for some operands, by operand index.
    kinds: dict[int, str] = dataclasses.field(default_factory=dict)
    constraints: tuple[str, ...] = ()

    def types(self):
        """Returns the operands' types, with symbolic sizes."""
        scope = jax.export.SymbolicScope(self.constraints)
        dtypes = {"array": np.float64, "integers": np.int32, "complex": np.complex128, "mask": np.bool_}
        return [
            jax.ShapeDtypeStruct(jax.export.symbolic_shape(shape, scope=scope), dtypes[self.kinds.get(i, "array")])
            for i, shape in enumerate(self.shapes)
        ]

    def operands(self, random, sizes):
        """Returns operands of these sizes."""
        shapes = [eval(f"[{shape}]", {}, sizes) for shape in self.shapes]
        return [getattr(random, self.kinds.get(i, "array"))(*shape) for i, shape in enumerate(shapes)]


TWO = [{"b": 2, "n": 3}, {"b": 1, "n": 5}]
OPEN = {
    "scaled_rms_norm": Open(["b, 4*n", "4*n"], TWO),
    "normalize": Open(["b, n + 1"], TWO),
    "gemm": Open(["b, n, 2*n", "b, 2*n, m"], [{"b": 1, "n": 2, "m": 3}, {"b": 3, "n": 3, "m": 1}]),
    "top_k": Open(["b, n"], TWO, {"k": 2}, constraints=("n >= 2",)),
    "diagonal": Open(["b, n, 3"], [{"b": 2, "n": 2}, {"b": 1, "n": 4}]),
    "polar": Open(["b", "b"], TWO),
    "axpy": Open(["", "b, n", "b, n"], TWO),
    "column_sums": Open(["b, n"], TWO),
    "concat": Open(["b, 2, n", "b, m, n"], [{"b": 1, "n": 2, "m": 3}, {"b": 2, "n": 1, "m": 1}]),
    "soft_shrink": Open(["b, n"], TWO),
    "hard_shrink": Open(["b, n", ""], TWO),
    "softmax": Open(["b, n", "b, n"], TWO, kinds={1: "mask"}),
    "log_sum_exp": Open(["b, n"], TWO),
    "softplus": Open(["b, n"], TWO),
    "rotary": Open(["b, n, 4"], TWO),
    "square_block": Open(["b, n, n"], TWO, {"k": 2}, constraints=("n >= 2",)),
    "segment_sum": Open(["b, n, 2", "b, n"], TWO, {"segments": 3}, {1: "integers"}),
    "segment_take": Open(["b, 3, m", "b, n"], [{"b": 1, "n": 2, "m": 3}, {"b": 2, "n": 4, "m": 1}], {"segments": 3}, {1: "integers"}),
    "pad": Open(["b, n"], TWO, {"low": 1, "high": 2, "mode": "edge"}),
    "recurrence": Open(["b, n", "b, n"], TWO),
    "cross_entropy": Open(["b, n", "b"], TWO, kinds={1: "integers"}),
    "csr_matmul": Open(
        ["b, e", "e", "s", "b, 4, n"],
        [{"b": 1, "e": 3, "s": 3, "n": 2}, {"b": 2, "e": 5, "s": 2, "n": 1}],
        kinds={1: "integers", 2: "integers"},
    ),
    "complex_filter": Open(["b, n", "b, 2"], TWO, kinds={0: "complex", 1: "complex"}),
    "conv1d": Open(["b, 2, 4*n", "3, 2, 3"], TWO, {"stride": 2, "dilation": 1, "pad": 1}),
    "mix": Open(["2", "b, n", "b, n"], TWO),
    "sgd_step": Open(["b, n"] * 3, TWO, {"rate": 0.25}),
    "flash_attention": Open(["b, 2*n, m, 4", "b, n, m, 4", "b, n, m, 4"], [{"b": 2, "n": 1, "m": 3}, {"b": 1, "n": 2, "m": 2}]),
    "median": Open(["b, n"], TWO),
}


def restored(gallery, function, types):
    """Returns the exported function, and the function restored from its serialized form."""
    exported = jax.export.export(jax.jit(function), disabled_checks=gallery.disabled_checks)(*types)
    return exported, jax.export.deserialize(exported.serialize())


@every_case
def test_symbolic_sizes(gallery, name):
    """A call, its derivatives and a batch are exported once, and run at several sizes, in jaxlib and in the
    engine."""
    given = OPEN[name]
    op = functools.partial(gallery[name], **given.attributes)
    random = Random(list(CASES).index(name), np.float64)

    def all_of_it(*operands):
        moved, values = of_moved(op, operands)
        found = [op(*operands), jax.vmap(op)(*(jnp.stack([x, x]) for x in operands))]
        if CASES[name].vjp:
            results, back = jax.vjp(moved, *values)
            found.append(back([jnp.cos(y) for y in results]))
        if CASES[name].jvp:
            found.append(jax.jvp(moved, values, [jnp.sin(x) for x in values]))
        return found

    exported, again = restored(gallery, all_of_it, given.types())
    in_engine = farcall.compile(exported.serialize())
    for sizes in given.sizes:
        operands = given.operands(random, sizes)
        expected = jax.jit(all_of_it)(*operands)
        same(expected[0], gallery[name](*operands, **given.attributes))
        same(again.call(*operands), expected)
        same(jax.tree.leaves(in_engine(*operands)), jax.tree.leaves(expected))


def test_symbolic_axes_and_exported_gradients(gallery):
    """`vmap` works over an axis of symbolic size, as one call and as a loop. An artifact can contain the
    derivative."""
    scope = jax.export.SymbolicScope()
    dims = lambda text: jax.ShapeDtypeStruct(jax.export.symbolic_shape(text, scope=scope), np.float64)
    norm = gallery.scaled_rms_norm
    functions = [jax.vmap(norm, (0, None)), jax.vmap(norm), jax.vmap(jax.grad(lambda x, scale: norm(x, scale).sum(), (0, 1)))]
    scales = ["n", "b, n", "b, n"]
    random = Random(0, np.float64)
    for function, scale in zip(functions, scales):
        exported, again = restored(gallery, function, [dims("b, m, n"), dims(scale)])
        engine = farcall.compile(exported.serialize())
        for b, m, n in (2, 1, 3), (3, 4, 2):
            x, scale = random.array(b, m, n), random.array(*[b, n][-len(exported.in_avals[1].shape) :])
            expected = jax.jit(function)(x, scale)
            same(again.call(x, scale), expected)
            same(jax.tree.leaves(engine(x, scale)), jax.tree.leaves(expected))
    exported = jax.export.export(jax.jit(norm), disabled_checks=gallery.disabled_checks)(dims("b, n"), dims("n"))
    again = jax.export.deserialize(exported.serialize(vjp_order=1))
    for b, n in (2, 3), (1, 4):
        operands = random.array(b, n), random.array(n)
        of = lambda f: jax.jit(jax.grad(lambda *given: jnp.sin(f(*given)).sum(), (0, 1)))(*operands)
        same(of(again.call), of(norm))


def test_what_symbolic_sizes_do_not_decide(gallery):
    def export(name, *shapes, constraints=(), **attributes):
        given = Open(list(shapes), [], constraints=constraints).types()
        return restored(gallery, functools.partial(gallery[name], **attributes), given)

    hint = r": export for known sizes, or declare constraints on the symbolic sizes that decide it \(jax.export.symbolic_shape\(…, constraints=\[…\]\)\)"
    with pytest.raises(NotImplementedError, match=r"top_k: k <= n may not hold \(k = 2, n = n\)" + hint):
        export("top_k", "b, n", k=2)
    export("top_k", "b, n", k=2, constraints=["n >= 2"])
    size = r"conv1d: y would have the size \(n\+2\*pad-dilation\*\(k-1\)-1\)/stride\+1 = n - 2 \(.*\), which may be negative"
    with pytest.raises(NotImplementedError, match=size + hint):
        export("conv1d", "b, 2, n", "3, 2, 3")
    with pytest.raises(NotImplementedError, match="flash_attention: h%g == 0 may not hold"):
        export("flash_attention", "h, m, 4", "g, m, 4", "g, m, 4")
    with pytest.raises(ValueError, match="gemm: b has k = m but a has k = n"):
        export("gemm", "b, n", "m, 3")
    with pytest.raises(NotImplementedError, match="transpose: the shape of y is computed by a function of the op's library, which takes"):
        export("transpose", "b, n", perm=[1, 0])
    exported, _ = export("transpose", "2, 3", perm=[1, 0])
    assert exported.out_avals[0].shape == (3, 2)


def test_symbolic_sizes_are_exported_for_several_devices(gallery):
    mesh = jax.sharding.Mesh(jax.devices()[:2], ("d",))
    split = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("d"))
    (b,) = jax.export.symbolic_shape("b")
    for op, dims in (gallery.softplus, (2 * b, 3)), (gallery.normalize, (2 * b, 3)), (gallery.median, (2 * b, 3)):
        function = jax.jit(op, in_shardings=split)
        _, again = restored(gallery, function, [jax.ShapeDtypeStruct(dims, np.float64)])
        for rows in 2, 6:
            x = jax.device_put(Random(rows, np.float64).array(rows, 3), split)
            same(jax.jit(again.call)(x), op(np.asarray(x)))


def test_a_profile_at_the_sizes_of_the_arguments():
    [size] = jax.export.symbolic_shape("n")
    program = farcall.compile(jax.export.export(jax.jit(lambda x: jnp.sin(x) + 1))(jax.ShapeDtypeStruct((size,), "float32")))
    for n in (3, 5):
        profile = program.profile(np.zeros(n, np.float32), runs=2)
        assert len(profile.run_seconds) == 2 and [[ty.shape for ty in step.results] for step in profile.steps] == [[(n,)]]
    with pytest.raises(ValueError, match="runs must be at least 1"):
        program.profile(np.zeros(3, np.float32), runs=0)
    with pytest.raises(TypeError):
        program.profile()
