"""Debugging aids: `jax_debug_nans`, `jax_disable_jit`, source lines of operations and errors, messages."""

import functools
import inspect
import re
from typing import Any

import numpy as np
import pytest
from libraries import example

jax = pytest.importorskip("jax")
jnp = jax.numpy

import farcall  # noqa: E402
from jax.sharding import NamedSharding, PartitionSpec as P  # noqa: E402


@pytest.fixture(scope="module")
def gallery() -> farcall.Library:
    return farcall.load(example("gallery_ops"))


#: Input whose second row cannot be normalized.
X = jnp.asarray([[1.0, 2.0], [0.0, 0.0]])


def loss(op):
    return lambda x: op(x).sum()


#: Functions that call an op under a transformation. The op returns NaN for a row of zeros.
CALLS = {
    "eager": lambda ops: ops.normalize,
    "jit": lambda ops: jax.jit(ops.normalize),
    "nested jit": lambda ops: jax.jit(lambda x: jax.jit(ops.normalize)(jnp.abs(x)) + 1),
    "grad": lambda ops: jax.grad(loss(ops.normalize)),
    "jit of grad": lambda ops: jax.jit(jax.grad(loss(ops.normalize))),
    "vmap": lambda ops: jax.vmap(ops.normalize),
    "loop of vmap": lambda ops: lambda x: jax.vmap(functools.partial(ops.scaled_rms_norm, eps=0.0))(x, x),
}


@pytest.mark.parametrize("name", CALLS)
def test_debug_nans(gallery, name):
    function = CALLS[name](gallery)
    jax.block_until_ready(function(jnp.ones((2, 2))))
    with jax.debug_nans(True):
        jax.block_until_ready(function(jnp.ones((2, 2))))
        with pytest.raises(FloatingPointError, match=r"invalid value \(nan\) encountered in (normalize|scaled_rms_norm)"):
            jax.block_until_ready(function(X))


def test_debug_nans_on_numpy_arrays(gallery):
    x = np.asarray(X)
    gallery.normalize(x)
    with jax.debug_nans(True):
        gallery.normalize(x[:1])
        # Neither call is an error: the results have no NaN, and the indices of `top_k` are integers.
        gallery.top_k(x[:1], k=1)
        with pytest.raises(FloatingPointError, match=r"invalid value \(nan\) encountered in normalize"):
            gallery.normalize(x)
        with pytest.raises(FloatingPointError, match=r"invalid value \(nan\) encountered in softplus"):
            gallery.softplus(np.full(2, np.nan, jnp.bfloat16))
        with pytest.raises(FloatingPointError, match=r"invalid value \(nan\) encountered in normalize"):
            jax.jit(lambda: gallery.normalize(x))()
    with jax.debug_infs(True):
        with pytest.raises(FloatingPointError, match=r"invalid value \(inf\) encountered in axpy"):
            gallery.axpy(np.float32(np.inf), x[0], x[0])


def test_debug_nans_of_a_target_that_is_called_by_name(gallery):
    def nothing(x, y):
        y[...] = np.nan

    farcall.handler(name="debugging_nothing")(nothing)
    call = farcall.ffi.ffi_call("debugging_nothing", jax.ShapeDtypeStruct((2,), np.float32))
    with jax.debug_nans(True), pytest.raises(FloatingPointError, match=r"\(nan\) encountered in debugging_nothing"):
        call(np.ones(2, "f"))


def test_without_jit(gallery):
    x = jnp.asarray([[3.0, 4.0]])
    with jax.disable_jit():
        np.testing.assert_allclose(jax.jit(gallery.normalize)(x), [[0.6, 0.8]], rtol=1e-6)
        assert jax.grad(lambda x: gallery.normalize(x).sum())(x).shape == x.shape
        assert jax.vmap(lambda a, x: gallery.axpy(a, x, x))(x[0], x.T).shape == (2, 1)


def here() -> int:
    """Returns the line of the caller."""
    return inspect.currentframe().f_back.f_lineno


def lines(text: str, callers: bool = False) -> set[tuple[str, int]]:
    """Returns the files and lines of the custom calls in a compiled program, from XLA's tables of files,
    positions and frames. With `callers`, the lines of all calling frames are included."""

    def table(name: str, entry: str) -> dict[str, Any]:
        return dict(re.findall(rf"^(\d+) {entry}", text.split(f"\n{name}\n")[1].split("\n\n")[0], re.M))

    files, places = table("FileNames", '"(.*)"$'), table("FileLocations", "(.*)$")
    frames = table("StackFrames", r"\{file_location_id=(\d+)")
    ids = re.findall(r" custom-call\(.*?stack_frame_id=(\d+)", text)
    assert ids, "no custom call has a stack frame"
    if callers:
        # XLA prints the number of a parent frame plus one; 1 means that there is no parent.
        parents = table("StackFrames", r"\{.*parent_frame_id=(\d+)")
        for i in ids:
            if parents[i] != "1" and (parent := str(int(parents[i]) - 1)) not in ids:
                ids.append(parent)
    at = [re.match(r"\{file_name_id=(\d+) .*?\bline=(\d+)", places[frames[i]]) for i in ids]
    return {(files[file].rsplit("/")[-1], int(line)) for file, line in (match.groups() for match in at)}


def test_metadata_has_lines_of_the_user(gallery):
    x = jnp.ones((8, 2))
    one = lambda x: gallery.normalize(x) + 1; at = here()  # fmt: skip  # noqa: E702
    looped = lambda x: jax.vmap(lambda a, x: gallery.scaled_rms_norm(x, a))(x, x); looped_at = here()  # fmt: skip  # noqa: E702
    functions = [
        (one, at),
        (jax.vmap(one), at),
        (jax.grad(lambda x: one(x).sum()), at),
        (looped, looped_at),
        (jax.grad(lambda x: looped(x).sum()), looped_at),
        (lambda x: jax.lax.scan(lambda c, x: (c, one(x)), 0.0, x)[1], at),
    ]
    mesh = jax.make_mesh((8,), ("d",), axis_types=(jax.sharding.AxisType.Auto,))
    for function, line in functions:
        for on in x, jax.device_put(x, NamedSharding(mesh, P("d"))):
            compiled = jax.jit(function).lower(on).compile()
            # From jaxlib 0.12 on, JAX gives the operations of a device's part the frames of `.compile()`, and
            # XLA puts these below the frames of the call. The numbers of these frames belong to the tables of
            # the part, but XLA looks them up in the tables of the whole program. In a loop, the innermost
            # frames are therefore arbitrary.
            is_looped_part = line == looped_at and on is not x
            if is_looped_part and jax.__version_info__ >= (0, 12):
                assert ("test_debugging.py", line) in lines(compiled.as_text(), callers=True)
                continue
            found = lines(compiled.as_text())
            assert found == {("test_debugging.py", line)}, f"found {found}, expected line {line}"


def test_errors_have_lines_of_the_user(gallery):
    """The last frame that JAX shows for an error in a traced function is in the user's file."""

    def function(x):
        return gallery.axpy(x, x[:2], x)

    with pytest.raises(ValueError, match="axpy") as caught:
        jax.jit(function)(jnp.ones(3))
    frames = [entry for entry in caught.traceback]
    assert str(frames[-1].path).endswith("test_debugging.py"), frames[-1].path


def test_out_and_traced_attributes(gallery):
    x = jnp.ones((2, 3))
    for value in x, np.asarray(x):
        with pytest.raises(TypeError, match=r"normalize has no out=: its results are new arrays; y\[...\] = normalize"):
            gallery.normalize(value, out=value)
    traced = r"soft_shrink: attribute lambda_? is traced, .*static_argnames.* an operand of the op"
    for function in (
        jax.jit(lambda l: gallery.soft_shrink(x, lambda_=l)),
        jax.grad(lambda l: gallery.soft_shrink(x, lambda_=l).sum()),
    ):
        with pytest.raises(TypeError, match=traced):
            function(0.5)


def test_exports_without_disabled_checks(gallery):
    function = jax.jit(lambda x: gallery.normalize(x))
    with pytest.raises(ValueError, match=r"normalize: .*disabled_checks=ops.disabled_checks.*farcall.load\(.*gallery_ops"):
        jax.export.export(function)(X)
    jax.export.export(function, disabled_checks=gallery.disabled_checks)(X)
    only = [jax.export.DisabledSafetyCheck.custom_call("normalize")]
    jax.export.export(function, disabled_checks=only)(X)
