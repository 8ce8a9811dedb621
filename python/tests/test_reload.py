"""Libraries that are rebuilt while they are loaded, as in a long notebook session, in one process."""

import os
import pathlib
import shutil

import numpy as np
import pytest

import farcall
from libraries import built

jax = pytest.importorskip("jax")

KERNEL = """
use farcall_ffi::prelude::*;

/// Multiplies by a number, and adds another.
#[handler(name = "NAME")]
#[signature((x: f32[*]) -> (y: f32[*]))]
#[vjp(backward = shifted_bwd)]
fn shifted(x: &Buffer<f32>, y: &mut Buffer<f32>) -> Result<()> {
    y.iter_mut().zip(x.iter()).for_each(|(y, x)| *y = STEP * x + LETTERS.len() as f32);
    Ok(())
}

/// Data that the code reads. It is large enough to lie on another page than the code.
static LETTERS: &str = "PADDING";

#[handler(name = "NAME_bwd")]
#[signature((dy: f32[*]) -> (dx: f32[*]))]
fn shifted_bwd(dy: &Buffer<f32>, dx: &mut Buffer<f32>) -> Result<()> {
    dx.iter_mut().zip(dy.iter()).for_each(|(dx, dy)| *dx = STEP * dy);
    Ok(())
}

/// State of a call site: the number of its calls.
#[derive(Debug)]
struct Count(std::sync::atomic::AtomicI32);

#[stage(instantiate)]
fn count_new() -> Result<Count> {
    Ok(Count(0.into()))
}

#[handler(name = "NAME_count", instantiate = count_new)]
#[signature(() -> (n: s32[]) where side_effect)]
fn count(state: &State<Count>, n: &mut Buffer<i32, 0>) -> Result<()> {
    n[0] = STEP as i32 * (1 + state.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed));
    Ok(())
}

OTHER

farcall_ffi::library!("reloaded", [shifted, shifted_bwd, count OTHERS]);
"""

OTHER = """
#[handler(name = "NAME_other")]
#[signature(() -> (y: f32[]))]
fn other(y: &mut Buffer<f32, 0>) -> Result<()> {
    y[0] = 1.0;
    Ok(())
}
"""


class Crate:
    """A crate that can be built repeatedly."""

    def __init__(self, folder: pathlib.Path, name: str) -> None:
        self.folder, self.name = folder, name

    def build(self, step: int, other: bool = False, padding: int = 0) -> pathlib.Path:
        text = KERNEL.replace("OTHERS", ", other" if other else "").replace("OTHER", OTHER if other else "")
        text = text.replace("NAME", self.name).replace("STEP", f"{step}f32").replace("PADDING", "x" * padding)
        return built(self.folder, self.name, text)


def renamed(new: pathlib.Path, path: pathlib.Path) -> None:
    """Replaces a file by renaming, like linkers and cargo."""
    shutil.copy(new, path.with_suffix(".new"))
    os.replace(path.with_suffix(".new"), path)


@pytest.mark.parametrize("put", [renamed, shutil.copy])
def test_ten_versions(tmp_path, put):
    name = f"shifted_{put.__name__}"
    crate, path = Crate(tmp_path / "crate", name), tmp_path / "libshifted.so"
    x = np.arange(3, dtype="f")
    old = []
    for step in range(1, 11):
        put(crate.build(step, padding=3000 * step), path)
        expected = step * x + 3000 * step
        ops = farcall.load(path)
        op = ops[name]
        np.testing.assert_array_equal(op(x), expected)
        # A program as text, in the registry of the process.
        text = (
            f'func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {{\n  %y = stablehlo.custom_call @{name}(%x) '
            "{api_version = 4 : i32, backend_config = {}} : (tensor<3xf32>) -> tensor<3xf32>\n  return %y : tensor<3xf32>\n}"
        )
        program = farcall.compile(text)
        np.testing.assert_array_equal(program(x)[0], expected)
        jitted = jax.jit(lambda x, op=op: op(x))
        np.testing.assert_array_equal(jitted(x), expected)
        gradient = jax.jit(jax.grad(lambda x, op=op: op(x).sum()))
        np.testing.assert_array_equal(gradient(x), np.full(3, step, "f"))
        np.testing.assert_array_equal(jax.vmap(op)(np.stack([x, x])), [expected, expected])
        # JAX's program in the engine.
        lowered = farcall.compile(jitted.lower(x))
        np.testing.assert_array_equal(np.squeeze(lowered(x)), expected)
        count = ops[f"{name}_count"]
        assert count() == step
        counted = jax.jit(lambda count=count: count())
        assert [int(counted()), int(counted())] in ([step, 2 * step], [step, step])
        old.append((expected, [op, program, jitted, lowered]))
        for expected, functions in old:
            for function in functions:
                np.testing.assert_array_equal(np.squeeze(function(x)), expected)


def test_the_same_content_is_not_loaded_again(tmp_path):
    crate, path = Crate(tmp_path / "crate", "shifted_same"), tmp_path / "libsame.so"
    shutil.copy(crate.build(1), path)
    first = farcall.load(path)
    os.utime(path, ns=(1, 1))
    assert farcall.load(path).shifted_same._native.edition == 1
    renamed(path, path)
    assert farcall.load(path).shifted_same._native.edition == 1
    new, old = crate.build(2), tmp_path / "old.so"
    shutil.copy(path, old)
    renamed(new, path)
    assert farcall.load(path).shifted_same._native.edition == 2
    renamed(old, path)
    back = farcall.load(path)
    assert back.shifted_same._native.edition == 1
    np.testing.assert_array_equal(back.shifted_same([1.0]), first.shifted_same([1.0]))
    assert "2.0" not in str(farcall.load(path).shifted_same([1.0]))


def test_what_a_new_version_lacks(tmp_path):
    crate, path = Crate(tmp_path / "crate", "shifted_less"), tmp_path / "libless.so"
    registry = farcall.Registry()
    renamed(crate.build(1, other=True), path)
    ops = farcall.load(path, registry)
    call = "func.func @main() -> tensor<f32> {\n  %y = stablehlo.custom_call @shifted_less_other() : () -> tensor<f32>\n  return %y : tensor<f32>\n}"
    program = farcall.compile(call, registry=registry)
    renamed(crate.build(2), path)
    with pytest.warns(farcall.StaleLibraryWarning, match="libless.so has changed and lacks `shifted_less_other`") as warned:
        new = farcall.load(path, registry)
    assert warned[0].filename == __file__
    with pytest.raises(AttributeError, match="declares no op shifted_less_other; did you mean"):
        new.shifted_less_other
    with pytest.raises(ValueError, match="no target `shifted_less_other` is registered"):
        farcall.compile(call, registry=registry)
    assert (program()[0], ops.shifted_less_other()) == (1, 1)
    # A file that is not a library leaves the loaded ops unchanged.
    path.write_text("a mistake")
    with pytest.raises(OSError, match="is not a shared library: it is a text file"):
        farcall.load(path, registry)
    assert new.shifted_less([1.0]) == [2.0]
    assert [t.name for t in registry.targets()] == ["shifted_less", "shifted_less_bwd", "shifted_less_count"]


def test_watching(tmp_path):
    crate, path = Crate(tmp_path / "crate", "shifted_watched"), tmp_path / "libwatched.so"
    renamed(crate.build(1), path)
    ops, once = farcall.load(path, watch=True), farcall.load(path)
    for step in range(2, 4):
        renamed(crate.build(step, other=step == 3), path)
        assert ops.shifted_watched([1.0]) == [step]
        assert jax.jit(ops.shifted_watched)(np.ones(1, "f"))[0] == step
    assert ops.shifted_watched_other() == 1 and "shifted_watched_other" in dir(ops)
    assert once.shifted_watched([1.0]) == [1]
    path.unlink()
    with pytest.raises(FileNotFoundError, match="libwatched.so"):
        ops.shifted_watched
    assert len(ops) == 4 and "shifted_watched" in repr(ops)


def test_exports_name_no_version_that_others_lack(tmp_path):
    crate, path = Crate(tmp_path / "crate", "shifted_exported"), tmp_path / "libexported.so"
    x = jax.ShapeDtypeStruct((3,), np.float32)
    for step in 1, 2:
        renamed(crate.build(step), path)
        ops = farcall.load(path)
        export = jax.export.export(jax.jit(ops.shifted_exported), disabled_checks=ops.disabled_checks)
        if step == 1:
            assert b"shifted_exported" in export(x).mlir_module_serialized
            continue
        with pytest.raises(NotImplementedError, match="has loaded 2 ops of this name, .* from a process that loads .*libexported.so alone"):
            export(x)
