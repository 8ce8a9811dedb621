"""The trees of arguments and results of a function that `jax.export` serialized, without JAX."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np


class Trees:
    """What the file of an exported function says about its arguments and results.

    Args:
      arguments: the tree of the arguments, a pair of a tuple and a dictionary, with the numbers of arrays. Types that only
        their author's code can take apart are names.
      results: the same of the results.
      kept: numbers of the arguments that the program takes.
      count: number of arrays among the arguments, those in types of other code included.
    """

    def __init__(self, arguments: Any, results: Any, kept: list[int], count: int) -> None:
        self._in = arguments
        self._out = results
        self._kept = kept
        self._count = count

    def leaves(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        """The arguments as a flat list.

        Raises:
          TypeError: if they are not a tree that the function takes.
        """
        leaves: list[Any] = []
        positional, named = self._in
        if len(args) != len(positional):
            raise TypeError(f"the function takes {_shown(self._in)}, but {len(args)} were given by position")
        for i, (wanted, given) in enumerate(zip(positional, args)):
            _flatten(wanted, given, f"args[{i}]", leaves)
        _flatten(named, kwargs, "kwargs", leaves)
        return leaves

    def used(self, leaves: Sequence[Any]) -> Sequence[Any]:
        """The arguments that the program takes, of all.

        Raises:
          TypeError: if they are neither all nor these.
        """
        return used(leaves, self._count, self._kept)

    def results(self, arrays: list[np.ndarray]) -> Any:
        """The tree of results; a flat list if there are types in it that only their author's code can make."""
        if _any(self._out, str):
            return arrays
        return _mapped(self._out, lambda i: arrays[i])


def used(leaves: Sequence[Any], count: int, kept: Sequence[int]) -> Sequence[Any]:
    """The arguments that a program takes, given all `count` of its function or these alone.

    Raises:
      TypeError: if their number is neither.
    """
    if len(leaves) == count:
        return [leaves[i] for i in kept]
    if len(leaves) != len(kept):
        unused = f", or the {len(kept)} of them that its program uses" if len(kept) < count else ""
        raise TypeError(f"the function takes {count} arrays{unused}, but {len(leaves)} were given")
    return leaves


def _flatten(wanted: Any, given: Any, path: str, leaves: list[Any]) -> None:
    """Appends the arrays of a tree that is like another one.

    Raises:
      TypeError: if it is not.
    """
    if isinstance(wanted, int):
        leaves.append(given)
    elif isinstance(wanted, str):
        raise TypeError(f"{path} is a {wanted}, which only its author's code can take apart: give `run` an array per leaf")
    elif wanted is None:
        if given is not None:
            raise TypeError(f"{path} must be None")
    elif isinstance(wanted, dict):
        if not isinstance(given, dict) or set(given) != set(wanted):
            found = f"has the keys {sorted(map(str, given))}" if isinstance(given, dict) else f"is a {type(given).__name__}"
            raise TypeError(f"{path} must be a dictionary with the keys {sorted(wanted)}, but {found}")
        for key, child in wanted.items():
            _flatten(child, given[key], f"{path}[{key!r}]", leaves)
    else:
        if type(given) is not type(wanted) or len(given) != len(wanted):
            raise TypeError(f"{path} must be a {type(wanted).__name__} of {len(wanted)}, but is a {type(given).__name__}")
        for i, (child, value) in enumerate(zip(wanted, given)):
            _flatten(child, value, f"{path}[{i}]", leaves)


def _mapped(tree: Any, leaf: Callable[[int], Any]) -> Any:
    if isinstance(tree, dict):
        return {key: _mapped(child, leaf) for key, child in tree.items()}
    if isinstance(tree, (tuple, list)):
        return type(tree)(_mapped(child, leaf) for child in tree)
    return leaf(tree) if isinstance(tree, int) else tree


def _any(tree: Any, kind: type) -> bool:
    if isinstance(tree, dict):
        return any(_any(child, kind) for child in tree.values())
    if isinstance(tree, (tuple, list)):
        return any(_any(child, kind) for child in tree)
    return isinstance(tree, kind)


def _shown(tree: Any) -> str:
    """The arguments as one would write them: `(*, {'w': *}), x=*`."""
    args, kwargs = _mapped(tree, lambda _: _Leaf())
    return ", ".join([*map(repr, args), *(f"{name}={value!r}" for name, value in kwargs.items())]) or "nothing"


class _Leaf:
    def __repr__(self) -> str:
        return "*"
