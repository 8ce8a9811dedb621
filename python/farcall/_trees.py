"""Argument and result trees of a function serialized by `jax.export`, without JAX."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np


class Trees:
    """Argument and result trees from the file of an exported function.

    Args:
      arguments: the tree of the arguments, a pair of a tuple and a dictionary, with the indices of arrays.
        Types that only their author's code can take apart are represented by names.
      results: the tree of the results in the same form.
      kept: indices of the arguments that the program takes.
      count: number of arrays among the arguments, including those in values of types that are represented by
        names.
    """

    def __init__(self, arguments: Any, results: Any, kept: list[int], count: int) -> None:
        self._in = arguments
        self._out = results
        self._kept = kept
        self._count = count

    def leaves(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        """Returns the arguments as a flat list.

        Raises:
          TypeError: if the tree of the arguments differs from the function's tree.
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
        """Selects the arguments that the program takes.

        Raises:
          TypeError: if the number of leaves matches neither all arguments nor the used arguments.
        """
        return used(leaves, self._count, self._kept)

    def results(self, arrays: list[np.ndarray]) -> Any:
        """Returns the tree of results, or a flat list if the tree contains types that only their author's
        code can create."""
        if _any(self._out, str):
            return arrays
        return _mapped(self._out, lambda i: arrays[i])


def used(leaves: Sequence[Any], count: int, kept: Sequence[int]) -> Sequence[Any]:
    """Selects the arguments that a program takes, given all `count` arguments of its function or only the
    used ones.

    Raises:
      TypeError: if the number of leaves matches neither.
    """
    if len(leaves) == count:
        return [leaves[i] for i in kept]
    if len(leaves) != len(kept):
        unused = f", or the {len(kept)} of them that its program uses" if len(kept) < count else ""
        raise TypeError(f"the function takes {count} arrays{unused}, but {len(leaves)} were given")
    return leaves


def _flatten(wanted: Any, given: Any, path: str, leaves: list[Any]) -> None:
    """Appends the arrays in `given` to `leaves`, if the tree has the structure of `wanted`.

    Raises:
      TypeError: if the structures differ.
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
    """Formats the arguments in call syntax: `(*, {'w': *}), x=*`."""
    args, kwargs = _mapped(tree, lambda _: _Leaf())
    return ", ".join([*map(repr, args), *(f"{name}={value!r}" for name, value in kwargs.items())]) or "nothing"


class _Leaf:
    def __repr__(self) -> str:
        return "*"
