"""The library created by `farcall new`: the printed commands are run unchanged, including the Python
example."""

import json
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

pytest.importorskip("jax")

ROOT = pathlib.Path(__file__).resolve().parents[2]


def test_the_commands_that_are_printed(tmp_path):
    built = os.environ.get("FARCALL_EXAMPLES")
    if built is None:
        pytest.skip("FARCALL_EXAMPLES is not set; it names the folder of the built programs")
    built = pathlib.Path(built)
    # The target folder outlives the test, so that dependencies are built only once. They have the versions of
    # this checkout.
    python = pathlib.Path(sys.executable).parent
    settings = {
        "CARGO_TARGET_DIR": str(built.parent / "tmp" / "new-python"),
        "CARGO_NET_OFFLINE": "true",
        "PATH": f"{built}:{python}:{os.environ['PATH']}",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    environment = os.environ | settings

    def run(*command: str) -> str:
        return subprocess.run(command, cwd=tmp_path, env=environment, check=True, text=True, capture_output=True).stdout

    steps = json.loads(run("farcall", "new", "my-gates", "--op", "swish", "--json"))["next"]
    shutil.copy(ROOT / "Cargo.lock", tmp_path / "my-gates")
    pip = [step for step in steps if step.startswith("pip install ")]
    assert len(pip) == 1 and str(ROOT) in pip[0]
    printed = run("sh", "-ec", "\n".join(step for step in steps if step not in pip))
    assert "2 passed" in printed
    assert "swish(x, scale, *, beta=1.0)" in printed
    for what in ["NumPy", "jit", "grad", "vmap", "vmap, scale too", "vmap of grad"]:
        assert f"\n{what}: as it should be\n" in printed
