"""Limits for untrusted programs."""

from farcall import _farcall


def set_memory_limit(bytes: int | None) -> None:
    """Limits the memory of the tensors, programs and scratch memory of all programs in this process together.
    Work that needs more raises `MemoryError`.

    >>> import farcall
    >>> farcall.set_memory_limit(4 << 30)
    >>> farcall.set_memory_limit(None)

    Args:
      bytes: the limit, or `None` for the memory that the machine has available, which is the default.

    Raises:
      ValueError: if the limit is negative.
    """
    _farcall.set_memory_limit(_checked(bytes))


def set_iteration_limit(iterations: int | None) -> None:
    """Limits the iterations that all loops of a run may take together, for all runs in this process. A run
    that takes more raises `RuntimeError`.

    Args:
      iterations: the limit, or `None` for no limit, which is the default.

    Raises:
      ValueError: if the limit is negative.
    """
    _farcall.set_iteration_limit(_checked(iterations))


def _checked(limit: int | None) -> int | None:
    if limit is not None and not 0 <= limit < 1 << 64:
        raise ValueError(f"{limit} is an invalid limit: give a number from 0 to 2**64 - 1, or None")
    return limit
