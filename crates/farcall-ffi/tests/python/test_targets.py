"""Tests the targets of examples/jax-ffi other than rms_norm in jaxlib: attributes, state, aliasing."""

import ctypes

import jax
import jax.numpy as jnp
import numpy as np
import pytest

SCALAR = jax.ShapeDtypeStruct((), np.int32)


def array_attr(n):
    return jax.ffi.ffi_call("array_attr", SCALAR)(array=np.arange(n, dtype=np.int32))


def dictionary_attr(**attrs):
    return jax.ffi.ffi_call("dictionary_attr", (SCALAR, SCALAR))(**attrs)


def counter(index):
    return jax.ffi.ffi_call("counter", SCALAR)(index=np.int64(index))


@pytest.mark.parametrize("n", [0, 1, 3, 5, 1000])
def test_array_attr(n):
    assert array_attr(n) == sum(range(n))


def test_array_attr_is_a_constant_of_the_program():
    traces = []

    def traced(n):
        traces.append(n)
        return array_attr(n)

    jitted = jax.jit(traced, static_argnums=0)
    assert jitted(5) == 10 and jitted(5) == 10 and jitted(4) == 6
    assert traces == [5, 4]


def test_array_attr_without_jit():
    with jax.disable_jit():
        assert array_attr(5) == 10


def test_array_attr_of_another_type():
    with pytest.raises(Exception, match=r"array_attr: attribute array: expected \[s32\], found \[f32\]"):
        jax.ffi.ffi_call("array_attr", SCALAR)(array=np.arange(3, dtype=np.float32)).block_until_ready()


def test_dictionary_attr():
    assert [int(x) for x in dictionary_attr(secret=np.int64(5))] == [5, 1]
    assert [int(x) for x in dictionary_attr(secret=np.int64(3), a_string="hello")] == [3, 2]
    nested = {"deep": np.float32(1.0)}
    assert [int(x) for x in dictionary_attr(secret=np.int64(4), z=True, nested=nested)] == [4, 3]


def test_dictionary_attr_errors():
    with pytest.raises(Exception, match=r"missing attribute secret \(s64\)"):
        jax.block_until_ready(dictionary_attr())
    with pytest.raises(Exception, match="attribute secret: expected s64, found string"):
        jax.block_until_ready(dictionary_attr(secret="invalid"))
    with pytest.raises(Exception, match="out of range integral type conversion"):
        jax.block_until_ready(dictionary_attr(secret=np.int64(2**40)))


def test_counter():
    assert [int(counter(0)) for _ in range(3)] == [0, 1, 2]
    assert counter(1) == 0
    assert counter(0) == 3


def test_counter_under_jit():
    @jax.jit
    def count(x):
        return x, counter(2)

    assert count(0)[1] == 0
    assert count(0)[1] == 1
    assert count(1)[1] == 2  # a cached program
    count.clear_cache()
    assert count(0)[1] == 3  # the state outlives the cached program


def test_aliasing():
    x = jnp.arange(12.0, dtype=np.float32)

    def alias(x, **options):
        return jax.ffi.ffi_call("aliasing", jax.ShapeDtypeStruct(x.shape, x.dtype), **options)(x, strict=True)

    shared = jax.jit(lambda x: alias(x, input_output_aliases={0: 0}))
    np.testing.assert_array_equal(shared(x), np.arange(12.0))
    np.testing.assert_array_equal(x, np.arange(12.0))
    with pytest.raises(Exception, match="operand and result do not share memory"):
        jax.jit(alias)(x).block_until_ready()


def test_operand_is_copied_where_nothing_is_aliased():
    x = jnp.arange(12, dtype=np.int8)
    y = jax.jit(lambda x: jax.ffi.ffi_call("aliasing", jax.ShapeDtypeStruct(x.shape, x.dtype))(x))(x)
    np.testing.assert_array_equal(y, np.arange(12))


def test_state_belongs_to_a_call_site():
    def count(start):
        return jax.ffi.ffi_call("call_count", SCALAR, has_side_effect=True)(start=np.int32(start))

    two = jax.jit(lambda: (count(10), count(100)))
    assert [int(x) for x in two()] == [10, 100]
    assert [int(x) for x in two()] == [11, 101]
    again = jax.jit(lambda: count(10))
    assert again() == 10  # a different program has its own state
    assert [int(x) for x in two()] == [12, 102]


def test_instantiate_error():
    with pytest.raises(Exception, match="start is -1, which is negative"):
        jax.jit(lambda: jax.ffi.ffi_call("call_count", SCALAR)(start=np.int32(-1)))().block_until_ready()


def test_registrations(library):
    registrations = library.farcall_registrations_v1(b"cpu")
    assert sorted(registrations) == [
        "aliasing",
        "array_attr",
        "call_count",
        "counter",
        "dictionary_attr",
        "double_later",
        "rms_norm",
        "rms_norm_bwd",
        "rms_norm_fwd",
        "sort_rows",
    ]
    assert list(registrations["rms_norm"]) == ["execute"]
    assert list(registrations["call_count"]) == ["instantiate", "execute"]
    assert library.farcall_registrations_v1(b"CUDA") == {}
    for _ in range(1000):  # a wrong reference count would crash the process
        library.farcall_registrations_v1(None)


def test_symbols_are_handlers(library):
    jax.ffi.register_ffi_target("by_symbol", jax.ffi.pycapsule(library.array_attr), platform="cpu")
    assert jax.ffi.ffi_call("by_symbol", SCALAR)(array=np.arange(4, dtype=np.int32)) == 6
    stages = {
        "instantiate": jax.ffi.pycapsule(library.call_count_new),
        "execute": jax.ffi.pycapsule(library.call_count),
    }
    jax.ffi.register_ffi_target("stages_by_symbol", stages, platform="cpu")
    assert jax.ffi.ffi_call("stages_by_symbol", SCALAR)(start=np.int32(3)) == 3


def test_a_library_registers_twice(library):
    library.farcall_register_v1.restype = ctypes.c_size_t
    before = library.farcall_register_v1()
    assert library.farcall_register_v1() == before
    assert array_attr(3) == 3
