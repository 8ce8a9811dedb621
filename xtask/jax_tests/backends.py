"""The backends that JAX's tests run on, and the environment of each backend."""

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

XTASK = Path(__file__).resolve().parents[1]

# Inherited settings that would make the results depend on the shell.
_FOREIGN = ("JAX_", "XLA_", "PYTEST_", "HYPOTHESIS_")


@dataclass(frozen=True)
class Backend:
    """A JAX backend."""

    name: str
    """Name of the folder of its results."""
    label: str
    """Name in reports."""
    selection: dict[str, str]
    """Environment variables that select the backend. `{devices}` is the number of devices."""
    packaged: bool
    """True if the folder of the package under test is on `PYTHONPATH`."""

    def build(self, package: Path) -> str:
        """Returns a hash of the files under test; empty for a backend without a package."""
        if not self.packaged or not package.is_dir():
            return ""
        digest = hashlib.blake2b(digest_size=8)
        for path in sorted(p for p in package.rglob("*") if p.is_file() and "__pycache__" not in p.parts):
            digest.update(str(path.relative_to(package)).encode())
            digest.update(path.read_bytes())
        return digest.hexdigest()

    def variables(self, package: Path, devices: int | None) -> dict[str, str]:
        """Returns the environment variables with which a process uses the backend."""
        path = [str(XTASK), *([str(package)] if self.packaged else [])]
        chosen = {name: value.format(devices=devices or 1) for name, value in self.selection.items()}
        return {"PYTHONPATH": os.pathsep.join(path), **chosen}


def clean_environment() -> dict[str, str]:
    """Returns the inherited environment without settings that change results."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(_FOREIGN)}
    return {**kept, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONHASHSEED": "0"}


#: The backend whose results the others must match.
REFERENCE = Backend("cpu", "XLA:CPU", {"JAX_PLATFORMS": "cpu"}, packaged=False)

#: All backends that can be compared with the reference.
BACKENDS = {
    backend.name: backend
    for backend in (
        Backend("farcall", "farcall", {"JAX_PLATFORMS": "farcall", "FARCALL_NUM_DEVICES": "{devices}"}, packaged=True),
        # XLA:CPU a second time shows which tests of JAX do not repeat their own results.
        Backend("cpu-again", "XLA:CPU again", {"JAX_PLATFORMS": "cpu"}, packaged=True),
    )
}
