"""Custom calls: from the registration of a C function to the results of a program."""

import subprocess
import sys

import numpy as np
import pytest
from hosts import F32, SCALAR, Shape, in_jaxlib, run

import farcall
from farcall import xla_client
from farcall.xla_client import ops


def subtraction():
    c = xla_client.ComputationBuilder("comp_builder")
    c.CustomCall(
        b"test_subtract_f32",
        operands=(c.ConstantF32Scalar(1.25), c.ConstantF32Scalar(0.5)),
        shape_with_layout=xla_client.Shape.array_shape(np.dtype(np.float32), (), ()),
        operand_shapes_with_layout=(
            xla_client.Shape.array_shape(np.dtype(np.float32), (), ()),
            xla_client.Shape.array_shape(np.dtype(np.float32), (), ()),
        ),
    )
    return c


def test_the_flow_of_cython(cython):
    """Compiling a program fails without its target. It succeeds after functions in a Cython module are
    registered in a loop, and the program returns the right result."""
    script = f"""
import importlib.util, sys
sys.path[:0] = {sys.path!r}
from test_custom_calls import subtraction, xla_client
try:
    subtraction().Build().Compile()
except xla_client.XlaRuntimeError as error:
    print(error)
spec = importlib.util.spec_from_file_location("custom_call_for_test", {cython.__file__!r})
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
for name, fn in module.cpu_custom_call_targets.items():
    xla_client.register_cpu_custom_call_target(name, fn)
compiled = subtraction().Build().Compile()
result = xla_client.execute_with_python_values(compiled, ())
assert result == 0.75 and result.dtype == "float32", result
assert "jaxlib" not in sys.modules
"""
    ran = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    assert "no target `test_subtract_f32` is registered for the platform Host" in ran.stdout
    assert "custom-call.3 = f32[] custom-call(" in ran.stdout  # the call in the program
    line = subtraction.__code__.co_firstlineno + 2
    assert f"`test_subtract_f32` is called at {__file__}:{line}" in ran.stdout
    assert "farcall.xla_client.register_custom_call_target('test_subtract_f32', fn, platform='cpu', api_version=0)" in ran.stdout


def test_custom_calls_in_both_hosts(targets):
    versions = ops.CustomCallApiVersion
    c = xla_client.XlaBuilder("calls")
    x = ops.Parameter(c, 0, SCALAR)
    y = ops.CustomCallWithLayout(c, b"test_subtract_f32", [x, ops.Constant(c, np.float32(0.5))], SCALAR, [SCALAR, SCALAR])
    y = ops.CustomCallWithLayout(
        c,
        b"test_subtract_with_status",
        operands=[y, ops.Constant(c, np.float32(2))],
        shape_with_layout=SCALAR,
        operand_shapes_with_layout=[SCALAR, SCALAR],
        api_version=versions.API_VERSION_STATUS_RETURNING,
    )
    ops.CustomCall(
        c,
        "test_add_input_and_opaque_len",
        [y],
        SCALAR,
        opaque=b'an opaque "string"\n\x01\xff',
        api_version=versions.API_VERSION_STATUS_RETURNING_UNIFIED,
    )
    [result] = run(c, np.float32(3))
    assert result == 3 - 0.5 - 2 + 21
    assert in_jaxlib(c.build().as_hlo_text(), [np.float32(3)]) == [result]


def test_several_results_in_both_hosts(targets):
    c = xla_client.XlaBuilder("several")
    row = Shape.array_shape(F32, (3,), (0,))
    x, y = (ops.Parameter(c, i, row) for i in range(2))
    n = ops.ConstantLiteral(c, np.int64(3))
    both = ops.CustomCallWithLayout(
        c,
        b"test_sum_and_product",
        operands=(n, x, y),
        shape_with_layout=Shape.tuple_shape((row, row)),
        operand_shapes_with_layout=(Shape.array_shape(np.dtype(np.int64), (), ()), row, row),
    )
    ops.Tuple(c, [ops.Add(ops.GetTupleElement(both, 0), x), ops.GetTupleElement(both, 1)])
    a, b = np.array([1, 2, 3], F32), np.array([4, 5, 6], F32)
    results = run(c, a, b)
    np.testing.assert_array_equal(results, [a + b + a, a * b])
    np.testing.assert_array_equal(in_jaxlib(c.build().as_hlo_text(), [a, b]), results)


def test_a_typed_target_gets_attributes_and_layouts(capsule):
    xla_client.register_custom_call_target("xla_client_scale", capsule("Scale"), api_version=1)
    c = xla_client.XlaBuilder("typed")
    shape = Shape.array_shape(F32, (2, 3), (0, 1))
    x = ops.Parameter(c, 0, Shape.array_shape(F32, (2, 3)))
    ops.CustomCallWithLayout(
        c,
        "xla_client_scale",
        [x],
        shape,
        [shape],
        opaque="{factor = 2.0 : f32}",
        api_version=ops.CustomCallApiVersion.API_VERSION_TYPED_FFI,
    )
    given = np.arange(6, dtype=F32).reshape(2, 3)
    np.testing.assert_array_equal(run(c, given), [2 * given])
    assert xla_client.custom_call_targets("cpu")["xla_client_scale"].keys() == {"execute"}


def test_a_call_that_no_builder_would_make(targets):
    c = xla_client.XlaBuilder("wrong")
    x = ops.Constant(c, np.float32(1))
    with pytest.raises(xla_client.XlaRuntimeError, match="a shape with layout for each operand"):
        ops.CustomCallWithLayout(c, b"test_subtract_f32", [x, x], SCALAR, [SCALAR])
    with pytest.raises(xla_client.XlaRuntimeError, match=r"operand 1 is f32\[\], but its shape with layout is s32\[\]"):
        ops.CustomCallWithLayout(c, b"f", [x, x], SCALAR, [SCALAR, Shape("s32[]")])
    other = ops.Constant(xla_client.XlaBuilder("other"), np.float32(1))
    with pytest.raises(xla_client.XlaRuntimeError, match="made by the builder other, not by wrong"):
        ops.Add(x, other)


def test_programs_of_jax_call_what_is_registered_here(targets):
    jax = pytest.importorskip("jax")
    like = jax.ShapeDtypeStruct((), np.float32)
    call = jax.ffi.ffi_call("test_subtract_with_status", like, custom_call_api_version=2)
    f = jax.jit(lambda x, y: 2 * call(x, y))
    x, y = np.float32(5), np.float32(3)
    assert farcall.compile(f.lower(x, y))(x, y) == f(x, y) == 4
    executable = xla_client.make_cpu_client().compile(f.lower(x, y).as_text())
    assert xla_client.execute_with_python_values(executable, (x, y)) == [4]
    executable = xla_client.make_cpu_client().compile(f.lower(x, y).compiler_ir())
    assert xla_client.execute_with_python_values(executable, (x, y)) == [4]
