"""Errors in the form of jaxlib's."""

import contextlib
import re
from collections.abc import Callable, Iterator, Sequence

from farcall import MissingTargetError


class XlaRuntimeError(RuntimeError):
    """Error that XLA would report. The message begins with a status code, like XLA's messages
    (`INVALID_ARGUMENT: …`). If the engine raised the error, its exception is the `__cause__`."""


@contextlib.contextmanager
def as_xla_errors(program: str = "", elsewhere: Callable[[str], Sequence[str]] = lambda target: ()) -> Iterator[None]:
    """Raises the engine's exceptions as `XlaRuntimeError`s. The program's text provides the Python line of
    each call, and `elsewhere` returns the other platforms for which a target was registered."""
    try:
        yield
    except XlaRuntimeError:
        raise
    except MissingTargetError as error:
        raise XlaRuntimeError(f"UNIMPLEMENTED: {_with_notes(str(error), program, elsewhere)}") from error
    except (ValueError, TypeError) as error:
        raise XlaRuntimeError(f"INVALID_ARGUMENT: {error}") from error
    except MemoryError as error:
        raise XlaRuntimeError(f"RESOURCE_EXHAUSTED: {error}") from error
    except RuntimeError as error:
        raise XlaRuntimeError(f"INTERNAL: {error}") from (error.__cause__ or error)


def _with_notes(message: str, program: str, elsewhere: Callable[[str], Sequence[str]]) -> str:
    """Replaces the engine's last note about missing targets by notes of this module, once for each target."""
    told: set[str] = set()

    def advised(error: str) -> str:
        target = re.match(r"error: .*?no target `(.*?)` is registered", error)
        note = re.search(r"^ *= note: ", error, re.MULTILINE)
        if target is None:
            return error
        name = target[1]
        lines = [] if name in told else list(_notes(name, program, elsewhere(name)))
        told.add(name)
        if note is None:
            # The engine's advice is part of the first error to which the advice applies.
            margin = re.search(r"^( *)\|", error, re.MULTILINE)
            body = error.rstrip("\n")
            ours = [f"\n{margin[1] if margin else ' '}= note: {line}" for line in lines]
            return body + "".join(ours) + error[len(body) :]
        ours = [f"{note[0]}{line}\n" for line in lines]
        rest = re.sub(r"^ *= note: load the library that has it: .*\n?", "", error[note.start() :], flags=re.MULTILINE)
        return error[: note.start()] + "".join(ours) + rest

    return "".join(map(advised, re.split(r"^(?=error: )", message, flags=re.MULTILINE))).rstrip("\n")


def _notes(target: str, program: str, elsewhere: Sequence[str]) -> Iterator[str]:
    """Returns the notes for a target: other platforms with a registration, the lines that call the target,
    and how to register it."""
    for platform in elsewhere:
        yield f"`{target}` is registered for the platform {platform!r}, which has no handler; this program runs on 'cpu'"
    place = re.compile(r'source_file="(.*?)" source_line=(\d+)')
    calls = (line for line in program.splitlines() if f'custom_call_target="{target}"' in line)
    places = dict.fromkeys(":".join(found.groups()) for found in map(place.search, calls) if found)
    if places:
        yield f"`{target}` is called at {', '.join(places)}"
    yield (
        f"register it: farcall.xla_client.register_custom_call_target({target!r}, fn, platform='cpu', api_version=0), "
        "or api_version=1 if fn is a handler of the typed FFI"
    )
