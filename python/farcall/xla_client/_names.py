"""Names, which jaxlib accepts as strings or as bytes."""


def decoded(name: str | bytes) -> str:
    """Converts a name to a string."""
    return name.decode() if isinstance(name, bytes) else str(name)
