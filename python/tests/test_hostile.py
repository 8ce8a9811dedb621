"""Signals, panics, forks, invalid attributes and derivatives, and file names that are not UTF-8."""

import os
import pathlib
import shutil
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest
from libraries import example

import farcall
from farcall import xla_client
from farcall import _farcall

#: A program that counts down from its input to zero.
COUNT_DOWN = """\
func.func @main(%n: tensor<i64>) -> tensor<i64> {
  %0 = stablehlo.constant dense<0> : tensor<i64>
  %1 = stablehlo.constant dense<1> : tensor<i64>
  %end = stablehlo.while(%i = %n) : tensor<i64>
  cond {
    %p = stablehlo.compare GT, %i, %0 : (tensor<i64>, tensor<i64>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %j = stablehlo.subtract %i, %1 : tensor<i64>
    stablehlo.return %j : tensor<i64>
  }
  return %end : tensor<i64>
}"""


def test_ctrl_c_ends_a_run():
    count_down = farcall.compile(COUNT_DOWN)
    for _ in range(2):
        timer = threading.Timer(0.3, signal.raise_signal, [signal.SIGINT])
        timer.start()
        start = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            count_down(2**62)
        assert time.monotonic() - start < 5
        timer.join()
        assert count_down(3)[0] == 0


def test_ctrl_c_after_an_exception_of_the_same_run():
    """Ctrl-C ends the run with a `KeyboardInterrupt`; the handler's exception is discarded at the end of the
    run."""

    def fails(out, ins):
        raise KeyError("before")

    xla_client.register_custom_call_target("hostile_fails", fails)
    call = '  "stablehlo.custom_call"() {call_target_name = "hostile_fails", has_side_effect = true} : () -> ()\n'
    head, brace, body = COUNT_DOWN.partition("{\n")
    count_down = farcall.compile(head + brace + call + body)
    timer = threading.Timer(0.3, signal.raise_signal, [signal.SIGINT])
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        count_down(2**62)
    timer.join()
    assert farcall.compile(COUNT_DOWN)(3)[0] == 0
    with pytest.raises(RuntimeError, match="hostile_fails"):
        count_down(3)


def test_what_a_signal_s_handler_raises():
    def handler(number, frame):
        raise LookupError("by the handler")

    before = signal.signal(signal.SIGALRM, handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        with pytest.raises(LookupError, match="by the handler"):
            farcall.compile(COUNT_DOWN)(2**62)
    finally:
        signal.signal(signal.SIGALRM, before)


def test_a_panic_is_an_exception():
    if not hasattr(_farcall, "panics"):
        pytest.skip("this is a release build, which has no function that panics")
    with pytest.raises(RuntimeError, match=r"this is a bug in farcall \(out of luck\); please report it"):
        _farcall.panics("out of luck")


def test_attributes_and_derivatives_that_cannot_be():
    op = next(t.op() for t in farcall.Registry().load(example("rms_norm_ops")) if t.name == "rms_norm")
    endless: dict = {}
    endless["again"] = endless
    with pytest.raises(TypeError, match="attribute eps has dictionaries more than 64 deep"):
        op.bind([0, 0], [("eps", endless)], {})
    types = [("f32", [1, 2]), ("f32", [2])]
    _, none = op.bind([0, 0], [], {})
    for moving in [99], [1, 0], [0, 0]:
        with pytest.raises(TypeError, match="the operands to differentiate must be distinct indices below 2,"):
            op.linear(types, none, moving)
    with pytest.raises(ValueError, match="an axis cannot have size -4"):
        op.linear(types, none, [0]).batch([True], -4)


def test_the_pool_works_in_a_child():
    library = os.environ.get("FARCALL_JAX_FFI_LIB")
    if not library:
        pytest.skip("FARCALL_JAX_FFI_LIB is not set; it names the library of examples/jax-ffi")
    script = textwrap.dedent(
        """
        import os, sys
        import farcall, numpy as np
        registry = farcall.Registry()
        registry.load(sys.argv[1])
        later = farcall.compile('''func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
          %0 = stablehlo.custom_call @double_later(%x) {api_version = 4 : i32, backend_config = {}} : (tensor<4xf32>) -> tensor<4xf32>
          return %0 : tensor<4xf32>
        }''', registry)
        x = np.ones(4, np.float32)
        assert later(x)[0].tolist() == [2] * 4
        child = os.fork()
        if child == 0:
            os._exit(later(x)[0].tolist() != [2] * 4)
        assert os.waitpid(child, 0)[1] == 0
        """
    )
    subprocess.run([sys.executable, "-c", script, library], check=True, timeout=60)


@pytest.mark.parametrize("given_as", [os.fsdecode, os.fsencode, lambda path: pathlib.Path(os.fsdecode(path))])
def test_names_that_are_not_utf8(tmp_path, given_as):
    folder = os.fsencode(tmp_path)
    program, library = folder + b"/\xff.mlir", folder + b"/lib\xfe.so"
    with open(program, "w") as file:
        file.write(COUNT_DOWN)
    assert farcall.compile(given_as(program))(3)[0] == 0
    with open(program, "w") as file:
        file.write(COUNT_DOWN.replace("%end :", "%ende :"))
    with pytest.raises(ValueError, match="\ufffd.mlir:12:10"):
        farcall.compile(given_as(program))
    shutil.copy(example("rms_norm_ops"), library)
    ops = farcall.load(given_as(library), farcall.Registry())
    assert "lib\ufffd.so" in repr(ops)
    np.testing.assert_allclose(ops.rms_norm(np.ones((1, 2), "f"), [1, 1]), [[1, 1]], 1e-5)
