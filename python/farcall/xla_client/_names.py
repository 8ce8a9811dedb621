"""Names, which jaxlib takes as strings or as bytes."""


def decoded(name: str | bytes) -> str:
    """A name as a string."""
    return name.decode() if isinstance(name, bytes) else str(name)
