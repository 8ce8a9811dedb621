"""The native module. Use the package `farcall`."""

import os
from collections.abc import Sequence
from typing import Any, final

import numpy as np
from typing_extensions import Buffer

__version__: str

@final
class Elements:
    """The elements of a result: a writable buffer of bytes, row-major."""

    def __len__(self) -> int: ...
    def __buffer__(self, flags: int, /) -> memoryview: ...

@final
class Executable:
    @property
    def inputs(self) -> list[tuple[str, list[int]]]: ...
    @property
    def outputs(self) -> list[tuple[str, list[int]]]: ...
    @property
    def plan(self) -> str: ...
    def run(self, inputs: Sequence[tuple[str, Sequence[int], Buffer | np.ndarray[Any, Any]]]) -> list[Elements]: ...

@final
class Target:
    """A function that custom calls can name."""

    @property
    def name(self) -> str:
        """The name that programs call."""

    @property
    def platform(self) -> str:
        """Where it runs, by the platform's canonical name: `Host`, `CUDA`."""

    @property
    def typed(self) -> bool:
        """True for XLA's FFI, false for the older C functions."""

    @property
    def api_version(self) -> tuple[int, int] | None:
        """Version of XLA's FFI that its handlers were built for, as (major, minor); `None` if untyped."""

    @property
    def stages(self) -> list[str]:
        """The stages that it has a handler for."""

    @property
    def traits(self) -> list[str]:
        """Names of its traits."""

    @property
    def origin(self) -> str:
        """Where it came from."""

    @property
    def docs(self) -> str:
        """A description for people; may be empty."""

@final
class Registry:
    def __new__(cls) -> Registry: ...
    @staticmethod
    def process() -> Registry: ...
    def register(
        self, name: str, fn: Any, /, *, platform: str, api_version: int, traits: int, replace: bool
    ) -> Target: ...
    def load(self, path: str | os.PathLike[str], *, targets: list[str]) -> list[Target]: ...
    def targets(self) -> list[Target]: ...

def compile(
    text: str, *, registry: Registry, name: str, entry: str | None, denormals: str
) -> Executable: ...
def register_type(name: str, type_id: Any, type_info: Any | None, /) -> int: ...
