"""Libraries that the tests load: examples, and crates that a test builds."""

import os
import pathlib
import shutil
import subprocess

import pytest


def example(name: str) -> pathlib.Path:
    """Returns the path of an example's library, in the folder that FARCALL_EXAMPLES names."""
    folder = os.environ.get("FARCALL_EXAMPLES")
    if folder is None:
        pytest.skip("FARCALL_EXAMPLES is not set; it names the folder of the built examples")
    return pathlib.Path(folder) / f"lib{name}.so"


def built(folder: pathlib.Path, name: str, source: str) -> pathlib.Path:
    """Builds a crate whose `lib.rs` is `source`, and returns the path of its library."""
    examples = os.environ.get("FARCALL_EXAMPLES")
    if examples is None:
        pytest.skip("FARCALL_EXAMPLES is not set; it names the folder of the built examples")
    root = pathlib.Path(__file__).resolve().parents[2]
    if shutil.which("cargo") is None or not (root / "Cargo.lock").exists():
        pytest.skip("Cargo is not installed, or the tests are not in a checkout")
    # The target folder outlives the tests, so that dependencies are built only once.
    target = pathlib.Path(examples).parent / "tmp" / "new-python"
    (folder / "src").mkdir(parents=True, exist_ok=True)
    (folder / "Cargo.toml").write_text(
        f'[package]\nname = "{name}"\nversion = "0.1.0"\nedition = "2024"\n\n'
        f'[lib]\ncrate-type = ["cdylib"]\n\n[workspace]\n\n'
        f'[dependencies]\nfarcall-ffi = {{ path = "{root / "crates" / "farcall-ffi"}" }}\n'
    )
    shutil.copy(root / "Cargo.lock", folder)
    (folder / "src" / "lib.rs").write_text(source)
    environment = os.environ | {"CARGO_TARGET_DIR": str(target), "CARGO_NET_OFFLINE": "true"}
    subprocess.run(["cargo", "build", "--quiet"], cwd=folder, env=environment, check=True)
    return target / "debug" / f"lib{name}.so"
