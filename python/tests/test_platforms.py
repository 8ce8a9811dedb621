"""Tests ops with handlers for several platforms, on a machine without a GPU."""

import jax
import jaxlib.xla_client
import numpy as np
import pytest
from jax import export
from libraries import built

import farcall

X = np.arange(6, dtype="f").reshape(2, 3)

#: A library of an op with handlers for two platforms, and of two ops with handlers for one platform each.
SOURCE = """
use farcall_ffi::prelude::*;

#[handler(name = "twice")]
#[signature((x: f32[*]) -> (y: f32[*]))]
#[vjp(backward = twice_bwd)]
fn twice(x: &Buffer<f32>, y: &mut Buffer<f32>) -> Result<()> {
    y.iter_mut().zip(x.iter()).for_each(|(y, x)| *y = 2.0 * x);
    Ok(())
}

#[handler(name = "twice", platform = "CUDA")]
fn twice_cuda(x: &GpuBuffer<f32>, y: &mut GpuBuffer<f32>) -> Result<()> {
    ensure!(x.dims() == y.dims(), "x is {x:?}, but y is {y:?}");
    Err(Error::unimplemented("there is no GPU here"))
}

#[handler(name = "twice_bwd")]
#[signature((dy: f32[*]) -> (dx: f32[*]))]
fn twice_bwd(dy: &Buffer<f32>, dx: &mut Buffer<f32>) -> Result<()> {
    twice(dy, dx)
}

#[handler(name = "half")]
#[signature((x: f32[*]) -> (y: f32[*]))]
fn half(x: &Buffer<f32>, y: &mut Buffer<f32>) -> Result<()> {
    y.iter_mut().zip(x.iter()).for_each(|(y, x)| *y = 0.5 * x);
    Ok(())
}

#[handler(name = "only_cuda", platform = "CUDA")]
#[signature((x: f32[*]) -> (y: f32[*]))]
fn only_cuda(x: &GpuBuffer<f32>, y: &mut GpuBuffer<f32>) -> Result<()> {
    twice_cuda(x, y)
}

farcall_ffi::library!("platforms", [twice, twice_cuda, twice_bwd, half, only_cuda]);
"""

#: A library that adds a platform to an op of the other one, and a library that declares the op differently.
ADDED = """
use farcall_ffi::prelude::*;

#[handler(name = "half", platform = "CUDA")]
#[signature((x: TYPE) -> (y: TYPE))]
fn half() -> Result<()> {
    ensure!(x.dims() == y.dims(), "x is {x:?}, but y is {y:?}");
    Err(Error::unimplemented("there is no GPU here"))
}

farcall_ffi::library!("added", [half]);
"""


@pytest.fixture(scope="module")
def ops(tmp_path_factory) -> farcall.Library:
    return farcall.load(built(tmp_path_factory.mktemp("platforms"), "platforms", SOURCE))


def exported(function, ops, platforms) -> str:
    """Returns the text of a function, lowered for platforms that this machine need not have."""
    return export.export(jax.jit(function), platforms=platforms, disabled_checks=ops.disabled_checks)(X).mlir_module()


def test_one_op_has_handlers_for_two_platforms(ops):
    assert ops.twice.platforms == ["Host", "CUDA"]
    np.testing.assert_array_equal(jax.jit(ops.twice)(X), 2 * X)
    np.testing.assert_array_equal(jax.grad(lambda x: ops.twice(x).sum())(X), np.full_like(X, 2))


def test_handlers_wait_for_the_plugin_under_its_platform(ops):
    jax.jit(ops.twice)(X)
    assert "twice" in [name for name, *_ in jaxlib.xla_client._custom_callback["CUDA"]]


def test_programs_for_a_gpu_are_lowered_without_one(ops):
    text = exported(ops.twice, ops, ["cuda"])
    assert "stablehlo.custom_call @twice(" in text and "operand_layouts = [dense<[1, 0]>" in text


def test_a_program_for_two_platforms_has_one_call(ops):
    text = exported(ops.twice, ops, ["cpu", "cuda"])
    assert text.count("stablehlo.custom_call @twice(") == 1 and "stablehlo.case" not in text


def test_a_missing_platform_is_named(ops):
    declaration = r"a library with `#\[handler\(name = \"%s\", platform = \"%s\"\)\]` adds one"
    cuda = "half has no handler for cuda, only for Host: " + declaration % ("half", "CUDA")
    with pytest.raises(NotImplementedError, match=cuda):
        exported(ops.half, ops, ["cpu", "cuda"])
    derivative = "twice_bwd has no handler for cuda, only for Host"
    with pytest.raises(NotImplementedError, match=derivative):
        exported(lambda x: jax.grad(lambda x: ops.twice(x).sum())(x), ops, ["cuda"])
    host = "only_cuda has no handler for cpu, only for CUDA: " + declaration % ("only_cuda", "Host")
    with pytest.raises(NotImplementedError, match=host):
        jax.jit(ops.only_cuda)(X)
    with pytest.raises(RuntimeError, match="only_cuda has no handler for the CPU, only for CUDA"):
        ops.only_cuda(X)


def test_branches_are_lowered_for_their_platform_only(ops):
    def f(x):
        return jax.lax.platform_dependent(x, cpu=ops.half, cuda=ops.only_cuda)

    text = exported(f, ops, ["cpu", "cuda"])
    assert "@half(" in text and "@only_cuda(" in text
    np.testing.assert_array_equal(jax.jit(f)(X), X / 2)


def test_a_second_library_adds_a_platform(ops, tmp_path):
    assert ops.half.platforms == ["Host"]
    np.testing.assert_array_equal(jax.jit(ops.half)(X), X / 2)
    other = built(tmp_path / "other", "other", ADDED.replace("TYPE", "f64[*]"))
    with pytest.raises(ValueError, match="but their signatures differ"):
        farcall.load(other)
    # The library that was refused has left nothing behind: the next one replaces no handlers.
    assert ops.half.platforms == ["Host"]
    assert ("half", "CUDA") not in [(t.name, t.platform) for t in farcall.Registry.process().targets()]
    added = farcall.load(built(tmp_path / "added", "added", ADDED.replace("TYPE", "f32[*]")))
    assert added.half is ops.half and sorted(ops.half.platforms) == ["CUDA", "Host"]
    assert "@half(" in exported(ops.half, ops, ["cuda"])
    np.testing.assert_array_equal(ops.half(X), X / 2)


def test_a_library_adds_platforms_only_to_ops_of_its_registry(tmp_path):
    registry = farcall.Registry()
    host = farcall.load(built(tmp_path / "host", "host", SOURCE), registry, namespace="host")
    added = built(tmp_path / "cuda", "cuda", ADDED.replace("TYPE", "f32[*]"))
    elsewhere = farcall.load(added, farcall.Registry(), namespace="host")
    assert elsewhere.half.platforms == ["CUDA"] and host.half.platforms == ["Host"]
    assert farcall.load(added, registry, namespace="host").half is host.half
    assert sorted(host.half.platforms) == ["CUDA", "Host"]
