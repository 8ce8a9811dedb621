"""Errors as jaxlib raises them."""

import contextlib
import re
from collections.abc import Iterator

from farcall import _farcall


class XlaRuntimeError(RuntimeError):
    """What XLA would refuse or fail at. The message begins with a status code, as XLA's do (`INVALID_ARGUMENT: …`); the engine's
    own exception, if it was one, is the `__cause__`."""


@contextlib.contextmanager
def as_xla_errors(program: str = "") -> Iterator[None]:
    """Raises the engine's exceptions as `XlaRuntimeError`s. The text of the program tells which line of Python made a call."""
    try:
        yield
    except XlaRuntimeError:
        raise
    except _farcall.MissingTargetError as error:
        names = dict.fromkeys(re.findall(r"no target `(.*?)` is registered", str(error)))
        notes = "".join(f"\n  = note: {note}" for name in names for note in _notes(name, program))
        raise XlaRuntimeError(f"UNIMPLEMENTED: {error}{notes}") from error
    except (ValueError, TypeError) as error:
        raise XlaRuntimeError(f"INVALID_ARGUMENT: {error}") from error
    except MemoryError as error:
        raise XlaRuntimeError(f"RESOURCE_EXHAUSTED: {error}") from error
    except RuntimeError as error:
        raise XlaRuntimeError(f"INTERNAL: {error}") from (error.__cause__ or error)


def _notes(target: str, program: str) -> Iterator[str]:
    """Where calls of a target were made, and how it is registered."""
    place = re.compile(r'source_file="(.*?)" source_line=(\d+)')
    calls = (line for line in program.splitlines() if f'custom_call_target="{target}"' in line)
    places = dict.fromkeys(":".join(found.groups()) for found in map(place.search, calls) if found)
    if places:
        yield f"`{target}` is called at {', '.join(places)}"
    yield (
        f"register it: farcall.xla_client.register_custom_call_target({target!r}, fn, platform='cpu', api_version=0), "
        "or api_version=1 if fn is a handler of the typed FFI"
    )
