"""Programs of JAX that jaxlib compiles without LLVM's optimizations, which take longer than one run of a small
program. Calls of ops are the same with and without the optimizations."""

import jax

#: Options of jaxlib's compiler.
OPTIONS = {"xla_backend_optimization_level": 0}


def jitted(function):
    """Returns `jax.jit(function)` for a few runs."""
    return jax.jit(function, compiler_options=OPTIONS)
