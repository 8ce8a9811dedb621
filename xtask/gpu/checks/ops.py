"""An op on the device, compared with its handler for the CPU and with the formula in jax.numpy."""

import jax
import numpy as np
from jax.sharding import Mesh, PartitionSpec

from checks import arrays, listing, samples
from checks.library import HANDLERS
from checks.outcome import expect

TWIN, FORMULA = "error against the CPU's handler", "error against jax.numpy"

#: Size of the batches of `jax.vmap`.
BATCH = 2


def run(recorder, platform, name):
    op = listing.library()[name]
    for i, sample in enumerate(samples.of(name)):
        # On the CPU, where only the checks themselves are tested, one sample in all transformations is
        # enough.
        for dtype in sample.dtypes if platform == "cuda" else sample.dtypes[:1]:
            is_full = i == 0 or (platform == "cuda" and dtype == sample.dtypes[0])
            Trial(op, sample, dtype, platform).run(recorder, is_full)


class Trial:
    """A sample of an op with one element type."""

    def __init__(self, op, sample, dtype, platform):
        self.op, self.sample, self.dtype, self.platform = op, sample, dtype, platform
        self.device = arrays.device(platform)
        self.rng = np.random.default_rng(7)
        self.operands = list(sample.operands(self.rng, jax.numpy.dtype(dtype)))

    def run(self, recorder, is_full):
        """Records a result for each transformation that the op supports; only for `jit` and `grad` unless
        `is_full`."""
        sample = self.sample
        kinds = [
            ("jit", self.forward, True),
            ("grad", self.gradient, sample.moving),
            ("jvp", self.tangents, is_full and sample.has_tangents),
            ("vmap", self.batched, is_full and sample.mapped is not None),
            ("grad of vmap", self.batched_gradient, is_full and sample.mapped is not None and sample.moving),
            ("shard_map", self.split, is_full and sample.split is not None),
        ]
        for kind, method, applies in kinds:
            if not applies:
                continue
            with recorder.case(f"{kind} of {sample.name}, {self.dtype}") as figures:
                handler = HANDLERS[self.platform]
                expect(handler in self.op.platforms, f"no handler for {handler}")
                method(figures)

    def call(self, *operands):
        return samples.results(self.op(*operands, **self.sample.attributes))

    def reference(self, *operands):
        return samples.results(self.sample.reference(*operands))

    def compare(self, figures, function, formula, operands):
        """Compares a function of the op on the device with the function on the CPU and with the formula."""
        got = jax.jit(function)(*arrays.on(self.device, operands))
        expect(all(x.devices() == {self.device} for x in got), "a result is on another device")
        arrays.compare(figures, TWIN, got, jax.jit(function)(*arrays.on(arrays.cpu(), operands)), self.sample)
        arrays.compare(figures, FORMULA, got, jax.jit(formula)(*arrays.exact(operands)), self.sample)

    def forward(self, figures):
        got = jax.jit(self.call)(*arrays.on(self.device, self.operands))
        expect(all(x.devices() == {self.device} for x in got), "a result is on another device")
        # With NumPy arrays, the op runs in farcall's engine.
        arrays.compare(figures, TWIN, got, self.call(*self.operands), self.sample)
        arrays.compare(figures, FORMULA, got, self.reference(*arrays.exact(self.operands)), self.sample)

    def cotangents(self, operands, function):
        """Returns a random cotangent for each result of a function."""
        types = jax.eval_shape(function, *operands)
        return [self.rng.standard_normal(ty.shape).astype(ty.dtype) for ty in types]

    def pulled_back(self, function, count):
        """Returns a function of `count` operands and the cotangents, which returns the gradients."""

        def gradients(*values):
            partial, moving = self.sample.of_moving(function, values[:count])
            return jax.vjp(partial, *moving)[1](tuple(values[count:]))

        return gradients

    def gradient(self, figures):
        cotangents = self.cotangents(self.operands, self.call)
        pulled = [self.pulled_back(f, len(self.operands)) for f in (self.call, self.reference)]
        self.compare(figures, *pulled, [*self.operands, *cotangents])

    def tangents(self, figures):
        count = len(self.operands)
        moving = [self.operands[i] for i in self.sample.moving]
        tangents = [self.rng.standard_normal(x.shape).astype(x.dtype) for x in moving]

        def pushed(function):
            def both(*values):
                partial, own = self.sample.of_moving(function, values[:count])
                results, tangents = jax.jvp(partial, own, list(values[count:]))
                return (*results, *tangents)

            return both

        self.compare(figures, pushed(self.call), pushed(self.reference), [*self.operands, *tangents])

    def batch(self):
        """Returns operands with a batch dimension where the sample maps them."""
        more = [self.sample.operands(self.rng, jax.numpy.dtype(self.dtype)) for _ in range(BATCH)]
        return [
            own if axis is None else np.stack([entry[i] for entry in more], axis)
            for i, (own, axis) in enumerate(zip(self.operands, self.sample.mapped))
        ]

    def batched(self, figures):
        functions = [jax.vmap(f, in_axes=tuple(self.sample.mapped)) for f in (self.call, self.reference)]
        self.compare(figures, *functions, self.batch())

    def batched_gradient(self, figures):
        operands = self.batch()
        functions = [jax.vmap(f, in_axes=tuple(self.sample.mapped)) for f in (self.call, self.reference)]
        cotangents = self.cotangents(operands, functions[0])
        pulled = [self.pulled_back(f, len(operands)) for f in functions]
        self.compare(figures, *pulled, [*operands, *cotangents])

    def split(self, figures):
        devices = jax.devices(self.platform)
        # The number of devices is a power of two, so it divides the dimensions of the samples.
        devices = devices[: 1 << (min(len(devices), 2).bit_length() - 1)]
        mesh = Mesh(np.array(devices), ("d",))
        into, out = ([PartitionSpec(*spec) for spec in specs] for specs in self.sample.split)
        function = jax.jit(jax.shard_map(self.call, mesh=mesh, in_specs=tuple(into), out_specs=tuple(out)))
        placed = [jax.device_put(x, jax.NamedSharding(mesh, spec)) for x, spec in zip(self.operands, into)]
        got = function(*placed)
        figures["devices"] = len(devices)
        arrays.compare(figures, TWIN, got, self.call(*self.operands), self.sample)
        arrays.compare(figures, FORMULA, got, self.reference(*arrays.exact(self.operands)), self.sample)
