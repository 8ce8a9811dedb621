"""Compiles JAX programs in jaxlib without LLVM's optimizations: optimizing a small program takes longer than
running it once. Calls of ops are the same with and without the optimizations."""

import jax

#: Options of jaxlib's compiler.
OPTIONS = {"xla_backend_optimization_level": 0}


def jitted(function):
    """Returns `jax.jit(function)` without optimizations, for functions that run only a few times."""
    return jax.jit(function, compiler_options=OPTIONS)
