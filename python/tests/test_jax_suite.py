"""Tests of `cargo xtask jax-suite`: its rewriting of programs, its store, and the criteria by which it
decides that two results agree. A criterion that is too lenient hides errors."""

import pathlib
import sys

import ml_dtypes
import numpy as np
import pytest

import farcall

pytest.importorskip("jax")
sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "xtask/jax_suite"))

import agreement  # noqa: E402, once the path is set
import conditioning  # noqa: E402, once the path is set
import literal  # noqa: E402, once the path is set
import shadow  # noqa: E402, once the path is set
import store  # noqa: E402, once the path is set


def kind(got, want):
    difference = agreement.first_difference([np.asarray(got)], [np.asarray(want)])
    return difference.kind if difference else None


@pytest.mark.parametrize(
    "got, want, expected",
    [
        (np.int32([1, 2]), np.int32([1, 2]), None),
        (np.int32([1, 2]), np.int32([1, 3]), "integers"),
        (np.bool_([True]), np.bool_([False]), "integers"),
        (np.int32([1]), np.int64([1]), "type"),
        (np.float32([1.0]), np.float32([[1.0]]), "type"),
        (np.float32([1.0]), np.float32([1.000001]), None),
        (np.float32([1.0]), np.float32([1.00001]), "floats"),
        (np.float64([1.0]), np.float64([1.000001]), "floats"),
        (np.float32([np.nan, np.inf]), np.float32([-np.nan, np.inf]), None),
        (np.float32([np.nan]), np.float32([1.0]), "nan"),
        (np.float32([np.inf]), np.float32([-np.inf]), "floats"),
        (np.float32([np.inf]), np.float32([3e38]), "floats"),
        (np.complex64([complex(np.nan, 0)]), np.complex64([complex(1, np.nan)]), None),
        (np.complex64([complex(np.inf, 0)]), np.complex64([complex(0, np.inf)]), "floats"),
        (np.array([1.0], ml_dtypes.bfloat16), np.array([1.0078], ml_dtypes.bfloat16), None),
        (np.array([1.0], ml_dtypes.bfloat16), np.array([1.5], ml_dtypes.bfloat16), "floats"),
    ],
)
def test_results_agree_by_type(got, want, expected):
    assert kind(got, want) == expected


def test_twice_the_error_of_xla_is_as_close_and_more_is_not():
    def close(got, want, truth=1.0):
        return agreement.as_close_as_xla([np.float32([got])], [np.float32([want])], [np.float64([truth])])

    assert close(1.00019, 0.9999)
    assert not close(1.0003, 0.9999)
    assert not close(np.nan, 0.9999)
    assert close(1.0, np.nan), "a correct result is rejected because XLA returns NaN"
    assert close(np.inf, 3e38, truth=1e39), "infinity is rejected, although the exact result overflows"
    ints = [np.int32([1])], [np.int32([2])], [np.int32([1])]
    assert not agreement.as_close_as_xla(*ints), "an integer is accepted that differs from XLA's"


def test_results_may_be_as_far_from_xla_as_xla_is_from_itself():
    def near(function, given, got):
        want = function([given])
        tolerances = {np.dtype(np.float32): 1e-6}
        return conditioning.within_spread(function, [given], [np.float32(got)], want, tolerances)

    def cancels(inputs):
        return [(inputs[0] + np.float32(1e7)) - np.float32(1e7)]

    ill = np.full(100, 1.5, np.float32)
    assert near(cancels, ill, cancels([ill])[0] + np.float32(1)), "a difference of one ulp of 1e7 is rejected"
    assert not near(cancels, ill, cancels([ill])[0] + np.float32(3))
    assert not near(lambda inputs: [inputs[0] * 2], ill, ill * np.float32(2.001)), "doubling: the error is accepted"


def test_a_program_is_widened_constants_and_bits_included():
    text = """func.func @main(%arg0: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xi32>) {
  %cst = stablehlo.constant dense<[1.000000e-01, 0x7F800000]> : tensor<2xf32>
  %0 = stablehlo.add %arg0, %cst : tensor<2xf32>
  %1 = stablehlo.bitcast_convert %0 : (tensor<2xf32>) -> tensor<2xi32>
  %2 = stablehlo.convert %0 : (tensor<2xf32>) -> tensor<2xbf16>
  %3 = stablehlo.convert %2 : (tensor<2xbf16>) -> tensor<2xf32>
  return %3, %1 : tensor<2xf32>, tensor<2xi32>
}"""
    floats, bits = farcall.compile(shadow.widened(text)).run([np.float64([1 / 3, 0])])
    assert floats.dtype == np.float64
    assert floats.tolist() == [1 / 3 + float(np.float32(0.1)), np.inf]
    assert bits.tolist() == floats.astype(np.float32).view(np.int32).tolist()


def test_sorts_without_liberties_are_stable():
    unstable = '%0:2 = "stablehlo.sort"(%a, %b) <{dimension = 0 : i64, is_stable = false}> ({'
    assert literal.literal(unstable) == '%0:2 = "stablehlo.sort"(%a, %b) <{dimension = 0 : i64, is_stable = true}> ({'
    assert "is_stable = true" in literal.literal('"stablehlo.sort"(%a) <{dimension = 0 : i64}> ({')


def test_approx_top_k_without_liberties_is_the_first_of_a_stable_sort():
    text = """func.func @more(%a: tensor<f32>, %b: tensor<f32>, %i: tensor<i32>, %j: tensor<i32>) -> tensor<i1> {
  %0 = stablehlo.compare GT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
  stablehlo.return %0 : tensor<i1>
}
func.func @main(%arg0: tensor<4xf32>) -> (tensor<2xf32>, tensor<2xi32>) {
  %0 = stablehlo.iota dim = 0 : tensor<4xi32>
  %c = stablehlo.constant dense<-1> : tensor<i32>
  %cst = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %1:2 = stablehlo.custom_call @ApproxTopK(%arg0, %0, %cst, %c) {called_computations = [@more], mhlo.backend_config = {aggregate_to_topk = true, is_fallback = true, recall_target = 0.949999988 : f32, reduction_dim = 0 : i64, reduction_input_size_override = -1 : i64, top_k = 2 : i64}} : (tensor<4xf32>, tensor<4xi32>, tensor<f32>, tensor<i32>) -> (tensor<2xf32>, tensor<2xi32>)
  return %1#0, %1#1 : tensor<2xf32>, tensor<2xi32>
}"""
    exact = literal.literal(text)
    assert "ApproxTopK" not in exact
    values, indices = farcall.compile(exact).run([np.float32([1, 5, 5, 7])])
    assert values.tolist() == [7, 5]
    assert indices.tolist() == [3, 1]


def test_programs_are_kept_as_they_are(tmp_path):
    kept = store.Store(tmp_path)
    arrays = [np.array([1, -2], ml_dtypes.int4), np.array(3, ml_dtypes.bfloat16), np.zeros((0, 2), bool)]
    origin = {"file": "some_test.py", "test": "Some.test", "x64": False}
    kept.save(store.Program("abcd", "text", origin, arrays, arrays[:1]))
    assert kept.names(["some_test.py"]) == ["abcd"]
    assert kept.names(["other_test.py"]) == []
    program = kept.load("abcd")
    assert (program.text, program.origin) == ("text", origin)
    for one, other in zip([*program.inputs, *program.outputs], [*arrays, *arrays[:1]], strict=True):
        np.testing.assert_array_equal(one, other, strict=True)


def test_names_do_not_depend_on_what_jax_calls_a_program():
    one = 'module @jit_f {\nfunc.func @main() -> (tensor<f32> {jax.result_info = "result"})'
    other = 'module @jit_g {\nfunc.func @main() -> (tensor<f32> {jax.result_info = "result[\'a\']"})'
    assert store.identity(one) == store.identity(other)
    assert store.identity(one) != store.identity(one.replace("f32", "f64"))
