"""Ops as references: loaded twice, copied and pickled."""

import copy
import os
import pickle
import shutil
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from conftest import example

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
