"""A mistake raises a Python exception whose text describes it. Calls after the exception still work."""

import jax
import numpy as np

import farcall
from checks import arrays, listing, samples
from checks.outcome import Skip, expect


def run(recorder, platform):
    ops = listing.library()
    here = arrays.device(platform)
    x = jax.device_put(np.ones((4, 8), np.float32), here)

    def raised(what, *texts):
        """Returns the text of the exception that the function raises.

        Raises:
          AssertionError: if the function raises no exception, or its text lacks one of `texts`.
        """
        try:
            jax.block_until_ready(what())
        except Exception as error:
            text = str(error)
        else:
            raise AssertionError("no exception was raised")
        for part in texts:
            expect(part in text, f"the exception does not say {part!r}: {text}")
        return text

    def still_works():
        y = jax.block_until_ready(ops.custom_relu(-x))
        expect(not np.asarray(y).any(), "a correct call after the error has a wrong result")

    with recorder.case("shapes that the signature does not allow") as figures:
        figures["text"] = raised(lambda: ops.rms_norm(x, x[0, :5]), "rms_norm", "scale")
        still_works()
    with recorder.case("shapes that the handler does not allow") as figures:
        # A call by name is not checked against the signature.
        call = jax.jit(jax.ffi.ffi_call("custom_relu", jax.ShapeDtypeStruct((3,), np.float32)))
        still_works()
        figures["text"] = raised(lambda: call(x), "custom_relu", "[4, 8]", "[3]")
        still_works()
    with recorder.case("an element type without a handler") as figures:
        call = jax.jit(jax.ffi.ffi_call("custom_relu", jax.ShapeDtypeStruct((4,), np.int32)))
        figures["text"] = raised(lambda: call(jax.device_put(np.ones(4, np.int32), here)), "f32")
        still_works()
    probe = farcall.load(listing.PROBE)
    cases = [
        (
            "a launch that the driver refuses",
            probe.probe_bad_launch,
            ["cuLaunchKernel: CUDA_ERROR_INVALID_VALUE", "kernel `scale`", "4096"],
        ),
        (
            "a module that the driver refuses",
            probe.probe_bad_module,
            ["cuModuleLoadDataEx: CUDA_ERROR_INVALID_PTX"],
        ),
    ]
    for name, op, texts in cases:
        with recorder.case(name) as figures:
            call = jax.jit(op)
            if platform == "cpu":
                figures["text"] = raised(lambda: call(x), "no handler for cpu, only for CUDA")
                raise Skip("needs a GPU; on the CPU, the missing handler is the error")
            figures["text"] = raised(lambda: call(x), *texts)
            still_works()
    for sample in [samples.of(name)[0] for name in listing.op_names()]:
        if sample.mapped is None:
            continue
        with recorder.case(f"an empty batch: {sample.name}") as figures:
            # An empty batch is not a mistake. Nothing is launched for it.
            operands = sample.operands(np.random.default_rng(1), jax.numpy.dtype(sample.dtypes[0]))
            empty = [
                v if axis is None else np.empty((0, *v.shape), v.dtype)
                for v, axis in zip(operands, sample.mapped)
            ]
            call = jax.jit(
                jax.vmap(lambda *v: ops[sample.op](*v, **sample.attributes), in_axes=tuple(sample.mapped))
            )
            results = samples.results(call(*arrays.on(here, empty)))
            figures["shapes"] = ", ".join(str(r.shape) for r in jax.block_until_ready(results))
    with recorder.case("a call after all errors"):
        still_works()
