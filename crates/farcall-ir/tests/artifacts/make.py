"""Creates the artifacts of this folder, each with the text of its program: `python make.py`, with JAX and flatbuffers
installed.

`NAME.mlirbc` and `NAME.1_0_0.mlirbc` are `NAME.mlir` as portable artifacts of the current and of an old version of
StableHLO; `NAME.bin` is an exported function with the text of its program, `NAME.bin.mlir`.
"""

import functools
from pathlib import Path

import jax
import jax.numpy as jnp
from jax import export
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo
from jax._src.interpreters import mlir

here = Path(__file__).parent
# Removes the folders of this machine from the locations in the artifacts.
jax.config.update("jax_hlo_source_file_canonicalization_regex", ".*/")


def artifacts():
    for text in here.glob("*.mlir"):
        if text.name.endswith(".bin.mlir"):
            continue
        with mlir.make_ir_context():
            module = ir.Module.parse(text.read_text())
            for name, version in [("", stablehlo.get_current_version()), (".1_0_0", "1.0.0")]:
                try:
                    artifact = stablehlo.serialize_portable_artifact(module, version, True)
                except ValueError as error:
                    print(f"{text.name} is not a program of {version}: {error}")
                    continue
                (here / f"{text.stem}{name}.mlirbc").write_bytes(artifact)


def save(name, f, *args, vjp_order=0, **options):
    exported = export.export(jax.jit(f), **options)(*args)
    (here / f"{name}.bin").write_bytes(bytes(exported.serialize(vjp_order)))
    (here / f"{name}.bin.mlir").write_text(str(exported.mlir_module()))


def exports():
    b, = export.symbolic_shape("b")
    floats = functools.partial(jax.ShapeDtypeStruct, dtype=jnp.float32)

    def layer(params, x):
        return {"y": jnp.tanh(x @ params["w"] + params["b"]), "n": x.shape[0] * 2}

    save("symbolic", layer, {"w": floats((4, 3)), "b": floats((3,))}, floats((b, 4)), platforms=["cpu", "cuda"])

    def calls(x, unused, n):
        call = jax.ffi.ffi_call("my_target", jax.ShapeDtypeStruct(x.shape, x.dtype), has_side_effect=True)
        return (jax.lax.fori_loop(0, n, lambda i, x: x[::-1] + i, call(x, scale=2.0)), None)

    checks = [export.DisabledSafetyCheck.custom_call("my_target")]
    save("calls", calls, floats((3,)), [floats(())], jax.ShapeDtypeStruct((), jnp.int32), disabled_checks=checks)

    save("derivative", lambda x: jnp.sin(x) * x, floats((2,)), vjp_order=1)


artifacts()
exports()
