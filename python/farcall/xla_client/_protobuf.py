"""Fields of protocol buffers, as bytes."""

from collections.abc import Iterable


def field(number: int, value: int) -> bytes:
    """A number."""
    return _varint(number << 3) + _varint(value)


def message(number: int, content: bytes) -> bytes:
    """A message, or anything else that has a length."""
    return _varint(number << 3 | 2) + _varint(len(content)) + content


def packed(number: int, values: Iterable[int]) -> bytes:
    """A list of numbers; nothing if there are none."""
    content = b"".join(map(_varint, values))
    return message(number, content) if content else b""


def _varint(value: int) -> bytes:
    value &= (1 << 64) - 1  # two's complement
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])
