"""Ops as references: loaded twice, copied, pickled, and in programs that JAX keeps for other processes."""

import copy
import os
import pathlib
import pickle
import shutil
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from libraries import example

import farcall

jax = pytest.importorskip("jax")
jnp = jax.numpy


@pytest.fixture(scope="module")
def gallery() -> farcall.Library:
    return farcall.load(example("gallery_ops"))


def test_loading_twice_gives_equal_ops(gallery):
    again = farcall.load(os.fsencode(example("gallery_ops")))
    elsewhere = farcall.load(example("gallery_ops"), farcall.Registry())
    for other in again, elsewhere:
        assert [*other] == [*gallery]
        assert hash(other.normalize) == hash(gallery.normalize)
    assert gallery.normalize != gallery.gemm
    traced = []

    def function(op, x):
        traced.append(op)
        return op(x)

    compiled = jax.jit(function, static_argnums=0)
    for ops in gallery, again, elsewhere:
        np.testing.assert_allclose(compiled(ops.normalize, jnp.asarray([3.0, 4.0])), [0.6, 0.8], rtol=1e-6)
        jax.jit(ops.softplus)(jnp.ones(3))
    assert len(traced) == 1


def test_copies_are_the_op(gallery):
    settings = {"op": gallery.normalize, "eps": [1.0]}
    copied = copy.deepcopy(settings)
    assert copied["op"] is gallery.normalize and copied["eps"] is not settings["eps"]
    assert copy.copy(gallery.normalize) is gallery.normalize
    assert copy.deepcopy(gallery) is gallery


def run(code: str, *args: str, **environment: str) -> str:
    command = [sys.executable, "-c", textwrap.dedent(code), *args]
    result = subprocess.run(command, env=os.environ | environment, capture_output=True, text=True)
    assert not result.returncode, result.stderr
    return result.stdout


def test_pickled_ops_are_loaded_where_they_are_needed(gallery, tmp_path):
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        assert pickle.loads(pickle.dumps(gallery.normalize, protocol)) is gallery.normalize
    again = pickle.loads(pickle.dumps(gallery))
    assert again.normalize is gallery.normalize and repr(again) == repr(gallery)
    (tmp_path / "ops").write_bytes(pickle.dumps([gallery.normalize, gallery.soft_shrink]))
    code = """
        import pickle, sys, numpy as np
        normalize, shrink = pickle.load(open(sys.argv[1], "rb"))
        print(normalize.__name__, normalize(np.float32([3, 4])), shrink.derivatives)
    """
    assert run(code, str(tmp_path / "ops")) == "normalize [0.6 0.8] ['soft_shrink_bwd']\n"


def test_a_pickled_op_whose_library_is_gone(tmp_path):
    path = tmp_path / "libgone.so"
    shutil.copy(example("rms_norm_ops"), path)
    code = """
        import farcall, pickle, sys
        sys.stdout.buffer.write(pickle.dumps(farcall.load(sys.argv[1]).rms_norm))
    """
    result = subprocess.run([sys.executable, "-c", textwrap.dedent(code), str(path)], capture_output=True, check=True)
    path.unlink()
    with pytest.raises(FileNotFoundError, match="libgone.so does not exist"):
        pickle.loads(result.stdout)


#: Compiles programs that call ops, and prints the numbers of hits and misses in JAX's persistent cache.
CACHED = """
    import collections, sys
    import farcall, jax, jax.numpy as jnp, numpy as np
    from jax.sharding import AxisType, NamedSharding, PartitionSpec as P

    jax.config.update("jax_compilation_cache_dir", sys.argv[1])
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
    ops = farcall.load(sys.argv[2])
    # These objects make sure that the same calls have other numbers in each process.
    kept = [object() for _ in range(int(sys.argv[3]))]
    counts = collections.Counter()
    jax.monitoring.register_event_listener(lambda event, **_: counts.update([event]))
    x = jnp.arange(64.0).reshape(8, 8) + 1
    for kind in AxisType.Auto, AxisType.Explicit:
        mesh = jax.make_mesh((4, 2), ("x", "y"), axis_types=(kind, kind))
        for spec in P("x"), P(None, "y"), P(("x", "y")), P():
            split = jax.device_put(x, NamedSharding(mesh, spec))
            for function in [
                lambda x: ops.normalize(x) + 1,
                jax.grad(lambda x: (ops.softplus(x) ** 2).sum()),
                jax.vmap(lambda x: ops.scaled_rms_norm(x, x)),
            ]:
                np.testing.assert_allclose(jax.jit(function)(split), function(x), rtol=1e-6)
    jax.jit(lambda x: ops.normalize(x) + 1)(x)
    hits, misses = (counts[f"/jax/compilation_cache/cache_{what}"] for what in ("hits", "misses"))
    print(hits, misses)
"""


def test_partitioned_programs_are_in_the_cache_of_the_next_process(tmp_path):
    def counts(seed: int) -> tuple[int, int]:
        hits, misses = run(CACHED, str(tmp_path), str(example("gallery_ops")), str(seed)).split()
        return int(hits), int(misses)

    first_hits, first_misses = counts(0)
    assert first_misses
    hits, misses = counts(1000)
    assert misses == 0 and hits == first_hits + first_misses
    entries = len(list(pathlib.Path(tmp_path).iterdir()))
    assert counts(2000) == (hits, 0) and len(list(pathlib.Path(tmp_path).iterdir())) == entries
