"""Compiling and running programs: conversion of arrays, and all kinds of errors."""

import doctest
import gc
import pathlib
import pickle
import sys
import threading

import numpy as np
import pytest

import farcall

ADD = """\
func.func @main(%x: tensor<2x3xf32> {jax.arg_info = "x"}, %y: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = stablehlo.add %x, %y : tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}
"""


def identity(mlir_type: str) -> farcall.Executable:
    return farcall.compile(f"func.func @main(%x: {mlir_type}) -> {mlir_type} {{ return %x : {mlir_type} }}")


def twice(mlir_type: str) -> farcall.Executable:
    return farcall.compile(
        f"func.func @main(%x: {mlir_type}) -> {mlir_type} {{\n"
        f"  %0 = stablehlo.add %x, %x : {mlir_type}\n  return %0 : {mlir_type} }}"
    )


def test_the_package_s_example():
    assert doctest.testmod(farcall) == (0, 4)


def test_runs_and_describes_itself():
    add = farcall.compile(ADD)
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    [z] = add(x, x)
    np.testing.assert_array_equal(z, 2 * x, strict=True)
    assert [tuple(t) for t in add.inputs] == [("f32", np.float32, (2, 3))] * 2
    assert repr(add) == "<farcall.Executable (f32[2, 3], f32[2, 3]) -> (f32[2, 3])>"
    assert "add" in add.plan


def test_any_memory_layout_and_byte_order():
    add = farcall.compile(ADD)
    x = np.arange(6, dtype=np.float32).reshape(3, 2).T
    y = np.arange(12, dtype=">f4").reshape(2, 6)[:, ::-2]
    [z] = add(x, y)
    np.testing.assert_array_equal(z, x + y.astype(np.float32))


@pytest.mark.parametrize("rows", [2, 4096])
def test_what_is_like_an_array(rows: int):
    add = farcall.compile(ADD.replace("2x3", f"{rows}x3"))
    x = np.arange(3 * rows, dtype=np.float32).reshape(rows, 3)
    odd = np.frombuffer(b"." + x.tobytes(), np.float32, offset=1).reshape(rows, 3)
    fixed = x.copy()
    fixed.flags.writeable = False
    for y in (x.view(np.recarray), pickle.loads(pickle.dumps(x)), memoryview(x), odd, fixed, x.tolist()):
        for inputs in ([x, y], (y, x)):
            before = sys.getrefcount(y)
            [z] = add.run(inputs)
            assert sys.getrefcount(y) == before
            assert type(z) is np.ndarray
            np.testing.assert_array_equal(z, 2 * x, strict=True)


def test_scalars_are_arrays_without_dimensions():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    for dtype, mlir in (np.float32, "f32"), (np.bool_, "i1"), (ml_dtypes.bfloat16, "bf16"):
        f = identity(f"tensor<{mlir}>")
        for x in dtype(1), np.array(1, dtype):
            [y] = f.run([x])
            np.testing.assert_array_equal(y, np.array(1, dtype), strict=True)
    with pytest.raises(TypeError, match="tensor<f64>"):
        identity("tensor<f32>").run([np.float64(1)])


def test_more_dimensions_than_numpy_has():
    with pytest.raises(ValueError, match="dim"):
        make = f"stablehlo.constant dense<1.0> : tensor<{'1x' * 65}f32>"
        farcall.compile(f"func.func @main() -> tensor<{'1x' * 65}f32> {{ %0 = {make}\n return %0 : tensor<{'1x' * 65}f32> }}")()


def test_results_are_arrays_like_any_other():
    [z] = farcall.compile(ADD)(np.ones((2, 3), np.float32), np.ones((2, 3), np.float32))
    z += 1  # writable
    z.flags.writeable = False
    z.flags.writeable = True
    row = z[1]  # keeps the memory
    del z
    gc.collect()
    np.testing.assert_array_equal(row, [3, 3, 3])


def test_an_input_that_is_returned_is_a_copy():
    x = np.ones(3, np.float32)
    [a] = identity("tensor<3xf32>")(x)
    a[0] = 5
    assert x[0] == 1


@pytest.mark.parametrize(
    "mlir, numpy",
    [("i8", "i1"), ("i16", "i2"), ("i32", "i4"), ("i64", "i8"), ("ui8", "u1"), ("ui16", "u2"), ("ui32", "u4")]
    + [("ui64", "u8"), ("f16", "f2"), ("f32", "f4"), ("f64", "f8"), ("complex<f32>", "c8"), ("complex<f64>", "c16")],
)
def test_numpy_s_element_types(mlir, numpy):
    x = np.arange(4).astype(numpy)
    [y] = twice(f"tensor<4x{mlir}>")(x)
    np.testing.assert_array_equal(y, 2 * x, strict=True)


def test_booleans_scalars_and_empty_arrays():
    x = np.array([True, False])
    [y] = identity("tensor<2xi1>")(x)
    np.testing.assert_array_equal(y, x, strict=True)
    [y] = twice("tensor<f64>")(np.float64(1.5))
    np.testing.assert_array_equal(y, np.array(3.0), strict=True)
    [y] = twice("tensor<0x3xf32>")(np.zeros((0, 3), np.float32))
    np.testing.assert_array_equal(y, np.zeros((0, 3), np.float32), strict=True)


@pytest.mark.parametrize(
    "mlir, name",
    [("bf16", "bfloat16"), ("f8E4M3FN", "float8_e4m3fn"), ("f8E5M2", "float8_e5m2"), ("f4E2M1FN", "float4_e2m1fn")],
)
def test_narrow_floats(mlir, name):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    dtype = np.dtype(getattr(ml_dtypes, name))
    x = np.array([0.5, -1, 1.5], dtype)
    program = twice(f"tensor<3x{mlir}>")
    [y] = program(x)
    assert y.dtype == dtype
    np.testing.assert_array_equal(y.astype(np.float32), [1, -2, 3])
    # The elements may also be given as raw bits.
    [z] = program(x.view(f"u{dtype.itemsize}"))
    np.testing.assert_array_equal(z.astype(np.float32), [1, -2, 3])


def test_narrow_integers():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    x = np.array([-4, 3, -1, 0], ml_dtypes.int4)
    [y] = twice("tensor<4xi4>")(x)
    assert y.dtype == ml_dtypes.int4
    np.testing.assert_array_equal(y.astype(np.int8), [-8, 6, -2, 0])
    [y] = twice("tensor<2xui4>")(np.array([7, 1], ml_dtypes.uint4))
    np.testing.assert_array_equal(y.astype(np.int8), [14, 2])


def test_numbers_take_the_program_s_type():
    [y] = twice("tensor<2xf32>")([1, 2.5])
    np.testing.assert_array_equal(y, np.array([2, 5], np.float32), strict=True)
    [y] = twice("tensor<i8>")(3)
    np.testing.assert_array_equal(y, np.array(6, np.int8), strict=True)
    with pytest.raises(TypeError, match=r"input 0 holds float64 numbers, but must be s8\[\]"):
        twice("tensor<i8>")(2.5)
    with pytest.raises(ValueError, match="input 0 holds 300, which is out of range for s8"):
        twice("tensor<i8>")(300)
    with pytest.raises(TypeError, match="input 0 holds <U3 values, which are not numbers"):
        twice("tensor<i8>")("two")


def test_a_number_is_a_scalar():
    for mlir_type, number in [("f32", 1.25), ("f64", -0.1), ("i32", -7), ("i64", 2**40), ("ui32", 2**31 - 1), ("f32", 3), ("f32", True)]:
        [y] = twice(f"tensor<{mlir_type}>")(number)
        assert y == 2 * number and y.shape == () and type(y) is np.ndarray
    assert identity("tensor<f32>")(0.1)[0] == np.float32(0.1) and np.isinf(identity("tensor<f32>")(float("-inf"))[0])
    assert identity("tensor<i1>")(True)[0].dtype == bool and identity("tensor<i32>")(True)[0] == 1
    for mlir_type, number in [("f32", 1e39), ("i32", 2**31), ("ui32", -1), ("i64", 2**63), ("ui32", 2**80)]:
        with pytest.raises(ValueError, match=r"input 0 holds .* out of range for"):
            identity(f"tensor<{mlir_type}>")(number)
    with pytest.raises(TypeError, match="input 0 holds float64 numbers"):
        identity("tensor<i32>")(1.0)


def test_wrong_inputs():
    add = farcall.compile(ADD)
    x = np.ones((2, 3), np.float32)
    with pytest.raises(TypeError, match="the program takes 2 inputs .*, but 1 were given"):
        add(x)
    with pytest.raises(TypeError, match="input 1 is tensor<2x3xf64>, but the program takes tensor<2x3xf32>"):
        add(x, x.astype(np.float64))
    with pytest.raises(ValueError, match=r"input 0 is tensor<3x2xf32>, .*tensor<2x3xf32> \(argument x\)"):
        add(x.T, x)
    with pytest.raises(TypeError, match="input 0 is an array of datetime64"):
        add(np.zeros((2, 3), "M8[s]"), x)
    of_bytes = farcall.compile("func.func @main(%x: tensor<3xui8>) -> tensor<3xui8> { return %x : tensor<3xui8> }")
    with pytest.raises(TypeError):
        of_bytes(b"abc")
    np.testing.assert_array_equal(add(x, x), [2 * x])


def test_a_program_may_be_encoded():
    x = np.ones((2, 3), np.float32)
    np.testing.assert_array_equal(farcall.compile(ADD.encode())(x, x), [2 * x])
    with pytest.raises(ValueError, match="<program> is not text: byte 6 is not valid UTF-8"):
        farcall.compile(memoryview(b"func {\xff}"))
    with pytest.raises(UnicodeEncodeError, match="surrogates not allowed"):
        farcall.compile("module {\n}\udc80")
    with pytest.raises(UnicodeEncodeError, match="surrogates not allowed"):
        farcall.convert("module {\n}\udc80", "hlo")
    with pytest.raises(FileNotFoundError, match="nowhere.mlir"):
        farcall.compile(b"nowhere.mlir")


def test_a_wrong_program_is_shown_with_its_place():
    with pytest.raises(ValueError) as e:
        farcall.compile(ADD.replace("%x, %y :", "%x, %z :"), name="add.mlir")
    assert "add.mlir:2:26" in str(e.value)
    assert "^^" in str(e.value)
    with pytest.raises(ValueError, match="rms_nrom"):
        farcall.compile(
            "func.func @main() -> tensor<f32> {\n"
            "  %0 = stablehlo.custom_call @rms_nrom() : () -> tensor<f32>\n  return %0 : tensor<f32>\n}",
            farcall.Registry(),
        )
    with pytest.raises(ValueError, match="no_such"):
        farcall.compile(ADD, entry="no_such")
    with pytest.raises(ValueError, match="there is no mode of denormals `maybe`; there is ieee, flush"):
        farcall.compile(ADD, denormals="maybe")
    with pytest.raises(TypeError, match="not int"):
        farcall.compile(3)


def test_denormals():
    tiny = np.array([1e-40], np.float32)
    program = "func.func @main(%x: tensor<1xf32>) -> tensor<1xf32> {\n  %0 = stablehlo.add %x, %x : tensor<1xf32>\n  return %0 : tensor<1xf32>\n}"
    assert farcall.compile(program)(tiny)[0] > 0
    assert farcall.compile(program, denormals="flush")(tiny)[0] == 0


def test_programs_from_files_and_from_jax(tmp_path: pathlib.Path):
    path = tmp_path / "add.mlir"
    path.write_text(ADD)
    x = np.ones((2, 3), np.float32)
    for given in path, str(path):
        np.testing.assert_array_equal(farcall.compile(given)(x, x), [2 * x])
    with pytest.raises(FileNotFoundError, match="no_such.mlir"):
        farcall.compile("no_such.mlir")
    path.write_text(ADD.replace("return", "retrun"))
    with pytest.raises(ValueError, match=f"{path}:3:3"):
        farcall.compile(path)

    jax = pytest.importorskip("jax")
    import jax.export

    f = jax.jit(lambda x: jax.nn.softmax(x) @ x.T)
    for program in (f.lower(x), jax.export.export(f)(x)):
        y = farcall.compile(program)(jax.numpy.asarray(x))
        np.testing.assert_allclose(y, f(x), rtol=1e-6)


def test_large_arguments_are_read_in_place():
    jax = pytest.importorskip("jax")
    # Arrays may have any alignment. A program that could write to an argument works on a copy.
    f = jax.jit(lambda x, y: (x + y, x), donate_argnums=0)
    step = farcall.compile(f.lower(*[jax.ShapeDtypeStruct((5000,), np.float32)] * 2))
    for offset in range(0, 68, 4):
        memory = np.zeros(5000 * 4 + 128, np.uint8)
        x = memory[offset : offset + 20000].view(np.float32)
        x[:] = np.arange(5000)
        y = np.ones(5000, np.float32)
        total, same = step(x, y)
        assert (x == np.arange(5000)).all() and (total == x + 1).all() and (same == x).all()
        # A result that equals an argument is a separate array.
        same[:] = 0
        assert x[7] == 7


def test_donated_arguments_are_the_callers_again():
    jax = pytest.importorskip("jax")
    f = jax.jit(lambda x, y: (x + y, y * y), donate_argnums=0)
    x = np.arange(6, dtype=np.float32)
    step = farcall.compile(f.lower(x, x))
    assert "in0: tensor<6xf32>, donated" in step.plan
    assert step.memory_analysis().alias_size_in_bytes == 24
    for _ in range(2):
        given = x.copy()
        z, _ = step(given, x)
        np.testing.assert_array_equal(z, 2 * x)
        np.testing.assert_array_equal(given, x)
    # Two results with the same value are two arrays.
    a, b = farcall.compile(jax.jit(lambda x: (x, x)).lower(x))(x)
    a[0] = 99
    assert b[0] == x[0] == 0


def test_arguments_that_jax_leaves_out():
    jax = pytest.importorskip("jax")
    f = jax.jit(lambda unused, x, also_unused: x + x)
    arguments = [np.ones(n, np.float32) for n in (1, 2, 3)]
    exported = jax.export.export(f)(*arguments)
    for program in f.lower(*arguments), exported:
        double = farcall.compile(program)
        assert len(double.inputs) == 1
        np.testing.assert_array_equal(double(*arguments), [2, 2])
        for given in arguments, arguments[1:2]:
            np.testing.assert_array_equal(double.run(given), [[2, 2]])
        with pytest.raises(TypeError, match=r"the function takes 3 arguments \(\*, \*, \*\), but 2 arguments \(\*, \*\) were given"):
            double(*arguments[:2])


def test_trees_of_arguments_and_results():
    jax = pytest.importorskip("jax")
    jnp = jax.numpy

    @jax.jit
    def step(params, unused, *, batch, key, none=None):
        loss = ((batch["x"] @ params["w"] + params["b"]) ** 2).mean()
        return {"loss": loss, "sizes": (batch["x"].sum(), [params["b"]])}, jax.random.split(key)[0]

    args = {"w": jnp.ones((3, 2)), "b": 1.0}, [jnp.zeros(7)]
    kwargs = {"batch": {"x": jnp.arange(6.0).reshape(2, 3)}, "key": jax.random.key(1)}
    expected = step(*args, **kwargs)
    for program in step.lower(*args, **kwargs), jax.export.export(step)(*args, **kwargs):
        run = farcall.compile(program)
        found = run(*args, **kwargs)
        assert jax.tree.structure(found) == jax.tree.structure(expected)
        np.testing.assert_allclose(found[0]["loss"], expected[0]["loss"], rtol=1e-6)
        assert type(found[0]["sizes"][1][0]) is np.ndarray
        assert (jax.random.key_data(found[1]) == jax.random.key_data(expected[1])).all()
        wrong = r"takes 4 arguments \({'b': \*, 'w': \*}, \[\*\], .*\), but 4 arguments \({'b': \*}, \[\*\], .*\) were given"
        with pytest.raises(TypeError, match=wrong):
            run({"b": 1.0}, args[1], **kwargs)
    assert farcall.compile(jax.jit(lambda x: x * 2).lower(1.0))(3) == 6
    assert farcall.compile(jax.jit(lambda: ()).lower())() == ()
    gradient = jax.grad(lambda n, x: x * 2, (0, 1), allow_int=True)
    found = farcall.compile(jax.jit(gradient).lower(1, 2.0))(1, 2.0)
    assert (found[0].dtype, float(found[1])) == (jax.dtypes.float0, 2)
    with pytest.raises(TypeError, match="the program's inputs have no names, but x is given by name"):
        farcall.compile(ADD)(x=1)


def test_threads_share_an_executable():
    add = farcall.compile(ADD)
    wrong = []

    def work(seed: int) -> None:
        rng = np.random.default_rng(seed)
        for _ in range(100):
            x, y = rng.standard_normal((2, 2, 3)).astype(np.float32)
            if not np.array_equal(add(x, y)[0], x + y):
                wrong.append(seed)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_profile_says_what_steps_take():
    program = farcall.compile(
        """
func.func @main(%x: tensor<64x32xf32>, %n: tensor<i32>) -> tensor<64x64xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %r:2 = stablehlo.while(%i = %zero, %y = %x) : tensor<i32>, tensor<64x32xf32>
  cond {
    %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %j = stablehlo.add %i, %one : tensor<i32>
    %z = stablehlo.tanh %y : tensor<64x32xf32>
    stablehlo.return %j, %z : tensor<i32>, tensor<64x32xf32>
  }
  %d = stablehlo.dot_general %r#1, %r#1, contracting_dims = [1] x [1] : (tensor<64x32xf32>, tensor<64x32xf32>) -> tensor<64x64xf32>
  return %d : tensor<64x64xf32>
}"""
    )
    profile = program.profile(np.ones((64, 32), np.float32), 3, runs=4)
    assert len(profile.run_seconds) == 4
    product = next(step for step in profile.steps if step.operation.startswith("dot "))
    assert (product.calls, product.flops, product.parent) == (1, 2 * 64 * 64 * 32, None)
    assert product.origin.startswith("%d at 14:") and list(map(str, product.results)) == ["f32[64, 64]"]
    tanh = next(step for step in profile.steps if "tanh" in step.operation)
    assert tanh.parent is not None
    loop = profile.steps[tanh.parent]
    assert tanh.calls == 3 and loop.operation == "while"
    assert loop.total_seconds >= loop.seconds + tanh.seconds and loop.total_seconds <= max(profile.run_seconds)
    head, columns, *rows = str(profile).splitlines()
    assert head.startswith("4 runs, mean ") and columns.split()[:4] == ["step", "time", "share", "calls"]
    assert any(" dot " in row and "%d at 14:" in row for row in rows) and "between steps" in rows[-1]
    with pytest.raises(ValueError, match="runs must be at least 1"):
        program.profile(np.ones((64, 32), np.float32), 3, runs=0)
    with pytest.raises(TypeError, match="no names"):
        program.profile(x=1)
    with pytest.raises(TypeError):
        program.profile(np.ones((64, 32), np.float32))


def test_a_profile_of_a_function_of_jax():
    jax = pytest.importorskip("jax")
    lowered = jax.jit(lambda x, *, y: {"sum": x + y["b"]}).lower(np.ones(3, np.float32), y={"b": np.ones(3, np.float32)})
    profile = farcall.compile(lowered).profile(np.ones(3, np.float32), y={"b": np.ones(3, np.float32)})
    assert len(profile.run_seconds) == 10 and len(profile.steps) == 1


def test_a_path_that_is_no_program(tmp_path):
    missing = str(tmp_path / "missing.mlir")
    with pytest.raises(FileNotFoundError) as e:
        farcall.compile(missing)
    assert str(e.value) == f"[Errno 2] No such file or directory: {missing!r}"
    plan = tmp_path / "x.plan"
    plan.write_bytes(b"\x89FCPLAN\n" + bytes(8))
    with pytest.raises(ValueError, match="x.plan is a compiled plan, not a program: .*`farcall run`"):
        farcall.compile(str(plan))
    with pytest.raises(FileNotFoundError):
        farcall.compile("missing.plan")


def test_limits():
    loop = """
    func.func @main(%n: tensor<i64>) -> tensor<i64> {
      %r = stablehlo.while(%i = %n) : tensor<i64>
      cond {
        %zero = stablehlo.constant dense<0> : tensor<i64>
        %more = stablehlo.compare GT, %i, %zero : (tensor<i64>, tensor<i64>) -> tensor<i1>
        stablehlo.return %more : tensor<i1>
      } do {
        %one = stablehlo.constant dense<1> : tensor<i64>
        %next = stablehlo.subtract %i, %one : tensor<i64>
        stablehlo.return %next : tensor<i64>
      }
      return %r : tensor<i64>
    }"""
    counted = farcall.compile(loop)
    large = "func.func @main(%x: tensor<f32>) -> tensor<4194304xf32> {\n"
    large += "  %0 = stablehlo.broadcast_in_dim %x, dims = [] : (tensor<f32>) -> tensor<4194304xf32>\n"
    large += "  return %0 : tensor<4194304xf32>\n}"
    try:
        farcall.set_iteration_limit(10)
        assert counted(10)[0] == 0
        with pytest.raises(RuntimeError, match="more than 10 iterations, which is the limit"):
            counted(11)
        farcall.set_memory_limit(1 << 20)
        with pytest.raises(MemoryError, match="limit"):
            farcall.compile(large)(1.0)
    finally:
        farcall.set_iteration_limit(None)
        farcall.set_memory_limit(None)
    assert counted(11)[0] == 0 and farcall.compile(large)(1.0)[0].size == 4194304
    for set_limit in (farcall.set_memory_limit, farcall.set_iteration_limit):
        with pytest.raises(ValueError, match="-1 is an invalid limit: give a number"):
            set_limit(-1)
