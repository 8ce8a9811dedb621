"""Programs that JAX has lowered, with the trees of the function's arguments and results."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from farcall._handlers import AddressedCallbacks, Callbacks, NumberedCallbacks
from farcall._trees import used


class Lowered:
    """The trees, result types and callbacks of a function, which JAX knows and the program does not contain.

    Args:
      program: a `jax.stages.Lowered`, or a `jax.export.Exported`.
    """

    def __init__(self, program: Any) -> None:
        self._in = program.in_tree
        self._out = program.out_tree
        results = program.out_info if hasattr(program, "out_info") else program.out_avals
        self._types = [result.dtype for result in jax.tree.leaves(results)]
        # These attributes of JAX are undocumented. They hold the arguments that the program takes if some are
        # unused, and the functions that the program calls back.
        lowering = getattr(program, "_lowering", None)
        kept = getattr(program, "module_kept_var_idx", getattr(lowering, "compile_args", {}).get("kept_var_idx"))
        self._kept = None if kept is None else sorted(kept)
        functions = getattr(lowering, "compile_args", {}).get("host_callbacks")
        #: The Python functions that the program calls, if any.
        self.callbacks = _callbacks(functions) if functions else None

    def leaves(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        """Returns the arguments as a flat list.

        Raises:
          TypeError: if the tree of the arguments differs from the function's tree.
        """
        leaves, tree = jax.tree.flatten((args, kwargs))
        if tree != self._in:
            raise TypeError(f"the function takes {_shown(self._in)}, but {_shown(tree)} were given")
        return [_bits(leaf) for leaf in leaves]

    def used(self, leaves: Sequence[Any]) -> Sequence[Any]:
        """Selects the arguments that the program takes.

        Raises:
          TypeError: if the number of leaves matches neither all arguments nor the used arguments.
        """
        return leaves if self._kept is None else used(leaves, self._in.num_leaves, self._kept)

    def results(self, arrays: list[np.ndarray]) -> Any:
        """Returns the tree of results."""
        if len(arrays) == len(self._types):
            arrays = [_of_type(array, dtype) for array, dtype in zip(arrays, self._types)]
        return jax.tree.unflatten(self._out, arrays)


def _callbacks(given: Sequence[Any]) -> Callbacks:
    """Returns the callbacks of a program, given as functions or as the owners of jaxlib's callback
    objects."""
    return NumberedCallbacks(given) if all(map(callable, given)) else AddressedCallbacks(given)


def flat(exported: Any) -> Any:
    """Returns a `jax.export.Exported` that takes its arguments one by one and returns its results as a list.
    Its trees can be serialized, unlike the original ones, which may have nodes of any type."""
    arguments, results = ([0] * tree.num_leaves for tree in (exported.in_tree, exported.out_tree))
    in_tree, out_tree = jax.tree.structure((tuple(arguments), {})), jax.tree.structure(results)
    return dataclasses.replace(exported, in_tree=in_tree, out_tree=out_tree)


def _shown(tree: Any) -> str:
    """Formats the number of arguments, and the arguments in call syntax: `2 arguments ((*, {'w': *}), x=*)`."""
    args, kwargs = jax.tree.unflatten(tree, [_Leaf()] * tree.num_leaves)
    shown = [*map(repr, args), *(f"{name}={value!r}" for name, value in kwargs.items())]
    if not shown:
        return "no arguments"
    return f"{len(shown)} argument{'s' if len(shown) > 1 else ''} ({', '.join(shown)})"


class _Leaf:
    def __repr__(self) -> str:
        return "*"


def _bits(leaf: Any) -> Any:
    """Converts a JAX random key to the array that a program takes."""
    is_key = isinstance(leaf, jax.Array) and jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.prng_key)
    return jax.random.key_data(leaf) if is_key else leaf


def _of_type(array: np.ndarray, dtype: Any) -> Any:
    """Converts an array to a type that only JAX has."""
    if dtype == jax.dtypes.float0:
        return np.zeros(array.shape, dtype)
    if jax.dtypes.issubdtype(dtype, jax.dtypes.prng_key):
        return jax.random.wrap_key_data(jax.numpy.asarray(array), impl=dtype._impl)
    return array
