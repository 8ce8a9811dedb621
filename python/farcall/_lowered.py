"""Programs that JAX has lowered: the trees of arguments and results of the function."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from farcall._handlers import AddressedCallbacks, Callbacks, NumberedCallbacks
from farcall._trees import used


class Lowered:
    """What JAX knows about a function, but its program does not contain.

    Args:
      program: a `jax.stages.Lowered`, or a `jax.export.Exported`.
    """

    def __init__(self, program: Any) -> None:
        self._in = program.in_tree
        self._out = program.out_tree
        results = program.out_info if hasattr(program, "out_info") else program.out_avals
        self._types = [result.dtype for result in jax.tree.leaves(results)]
        # Not in JAX's documented interface: which arguments the program takes, where some are not used, and which functions
        # it calls back.
        lowering = getattr(program, "_lowering", None)
        kept = getattr(program, "module_kept_var_idx", getattr(lowering, "compile_args", {}).get("kept_var_idx"))
        self._kept = None if kept is None else sorted(kept)
        functions = getattr(lowering, "compile_args", {}).get("host_callbacks")
        #: The Python functions that the program calls, if any.
        self.callbacks = _callbacks(functions) if functions else None

    def leaves(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        """The arguments as a flat list.

        Raises:
          TypeError: if they are not a tree that the function takes.
        """
        leaves, tree = jax.tree.flatten((args, kwargs))
        if tree != self._in:
            raise TypeError(f"the function takes arguments {_shown(self._in)}, but {_shown(tree)} were given")
        return [_bits(leaf) for leaf in leaves]

    def used(self, leaves: Sequence[Any]) -> Sequence[Any]:
        """The arguments that the program takes, of all.

        Raises:
          TypeError: if they are neither all nor these.
        """
        return leaves if self._kept is None else used(leaves, self._in.num_leaves, self._kept)

    def results(self, arrays: list[np.ndarray]) -> Any:
        """The tree of results."""
        if len(arrays) == len(self._types):
            arrays = [_of_type(array, dtype) for array, dtype in zip(arrays, self._types)]
        return jax.tree.unflatten(self._out, arrays)


def _callbacks(given: Sequence[Any]) -> Callbacks:
    """The callbacks of a program: functions, or what owns jaxlib's objects with these functions."""
    return NumberedCallbacks(given) if all(map(callable, given)) else AddressedCallbacks(given)


def flat(exported: Any) -> Any:
    """A `jax.export.Exported` whose arguments are given one by one and whose results are a list. Unlike its trees, which may
    have nodes of any type, it can be serialized."""
    arguments, results = ([0] * tree.num_leaves for tree in (exported.in_tree, exported.out_tree))
    in_tree, out_tree = jax.tree.structure((tuple(arguments), {})), jax.tree.structure(results)
    return dataclasses.replace(exported, in_tree=in_tree, out_tree=out_tree)


def _shown(tree: Any) -> str:
    """The arguments as one would write them: `(*, {'w': *}), x=*`."""
    args, kwargs = jax.tree.unflatten(tree, [_Leaf()] * tree.num_leaves)
    return ", ".join([*map(repr, args), *(f"{name}={value!r}" for name, value in kwargs.items())]) or "none"


class _Leaf:
    def __repr__(self) -> str:
        return "*"


def _bits(leaf: Any) -> Any:
    """A JAX random key as the array that a program takes."""
    is_key = isinstance(leaf, jax.Array) and jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.prng_key)
    return jax.random.key_data(leaf) if is_key else leaf


def _of_type(array: np.ndarray, dtype: Any) -> Any:
    """The array as a type that only JAX has."""
    if dtype == jax.dtypes.float0:
        return np.zeros(array.shape, dtype)
    if jax.dtypes.issubdtype(dtype, jax.dtypes.prng_key):
        return jax.random.wrap_key_data(jax.numpy.asarray(array), impl=dtype._impl)
    return array
