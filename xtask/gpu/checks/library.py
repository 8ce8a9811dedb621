"""The library of ops: it loads, and the checks cover all of its ops."""

from checks import listing, samples
from checks.outcome import expect

#: Platforms of handlers by the names that JAX has for them.
HANDLERS = {"cuda": "CUDA", "cpu": "Host"}


def run(recorder, platform):
    library = listing.library()
    derivatives = {name for op in library for name in op.derivatives}
    for op in library:
        with recorder.case(op.__name__) as figures:
            figures["platforms"] = ", ".join(op.platforms)
            figures["derivatives"] = ", ".join(op.derivatives)
            figures["batching"] = op.batching
            for name in HANDLERS.values():
                expect(name in op.platforms, f"no handler for {name}")
            known = op.__name__ in samples.OPS or op.__name__ in derivatives
            expect(known, "no inputs for this op: add them to xtask/gpu/checks/samples.py")
