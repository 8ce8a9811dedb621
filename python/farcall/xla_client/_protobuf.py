"""Encoding of fields of protocol buffers."""

from collections.abc import Iterable


def field(number: int, value: int) -> bytes:
    """Encodes a number."""
    return _varint(number << 3) + _varint(value)


def message(number: int, content: bytes) -> bytes:
    """Encodes a message, or another field with a length."""
    return _varint(number << 3 | 2) + _varint(len(content)) + content


def packed(number: int, values: Iterable[int]) -> bytes:
    """Encodes a list of numbers; an empty list is left out."""
    content = b"".join(map(_varint, values))
    return message(number, content) if content else b""


def _varint(value: int) -> bytes:
    value &= (1 << 64) - 1  # two's complement
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])
