"""Ctrl-C while the engine runs or compiles a program: a `KeyboardInterrupt` follows soon, and later runs
work."""

import os
import signal
import threading
import time

import numpy as np
import pytest

import farcall

# Maximum delay in seconds. The engine promises to react within a fifth of a second, but unoptimized code on a
# busy machine may take longer.
GRACE = 1.5
DELAY = 0.3


def interrupted(work):
    """Interrupts `work`. Returns the seconds between the signal and the exception that `work` raises."""
    sent = []

    def send():
        sent.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(DELAY, send)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        work()
    timer.join()
    return time.monotonic() - sent[0]


def product(n):
    ty = f"tensor<{n}x{n}xf32>"
    return (
        f"func.func @main(%x: {ty}) -> {ty} {{\n"
        f"  %0 = stablehlo.dot_general %x, %x, contracting_dims = [1] x [0] : ({ty}, {ty}) -> {ty}\n"
        f"  return %0 : {ty}\n}}"
    ), [np.full((n, n), 0.5, "f4")]


def transform(n):
    ty = f"tensor<{n}xcomplex<f32>>"
    return (
        f"func.func @main(%x: {ty}) -> {ty} {{\n"
        f"  %0 = stablehlo.fft %x, type = FFT, length = [{n}] : ({ty}) -> {ty}\n"
        f"  return %0 : {ty}\n}}"
    ), [np.ones(n, "c8")]


def sort(n):
    ty = f"tensor<{n}xi32>"
    x = np.random.default_rng(3).integers(-(2**31), 2**31 - 1, n, dtype="i4")
    return (
        f"""func.func @main(%a: {ty}) -> {ty} {{
  %0 = "stablehlo.sort"(%a) <{{dimension = 0 : i64, is_stable = true}}> ({{
  ^bb0(%x: tensor<i32>, %y: tensor<i32>):
    %c = stablehlo.constant dense<1000> : tensor<i32>
    %u = stablehlo.remainder %x, %c : tensor<i32>
    %v = stablehlo.remainder %y, %c : tensor<i32>
    %p = stablehlo.compare LT, %u, %v : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }}) : ({ty}) -> {ty}
  return %0 : {ty}
}}"""
    ), [x]


def reduction(n):
    return (
        f"""func.func @main(%x: tensor<{n}xf32>) -> tensor<f32> {{
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.reduce(%x init: %z) across dimensions = [0] : (tensor<{n}xf32>, tensor<f32>) -> tensor<f32>
   reducer(%a: tensor<f32>, %b: tensor<f32>) {{
    %s = stablehlo.sine %b : tensor<f32>
    %c = stablehlo.atan2 %a, %s : tensor<f32>
    stablehlo.return %c : tensor<f32>
  }}
  return %0 : tensor<f32>
}}"""
    ), [np.ones(n, "f4")]


@pytest.mark.parametrize(
    ("make", "large", "small"),
    [(product, 8000, 4), (transform, 1 << 25, 8), (sort, 20_000_000, 10), (reduction, 50_000_000, 3)],
)
def test_a_run(make, large, small):
    program, inputs = make(large)
    executable = farcall.compile(program)
    for _ in range(2):
        assert interrupted(lambda: executable(*inputs)) < GRACE
    program, inputs = make(small)
    farcall.compile(program)(*inputs)


def test_a_compilation():
    n = 1_000_000
    lines = [f"  %{i + 1} = stablehlo.add %{i}, %{i} : tensor<4xf32>" for i in range(n)]
    program = "\n".join(
        ["func.func @main(%0: tensor<4xf32>) -> tensor<4xf32> {", *lines, f"  return %{n} : tensor<4xf32>", "}"]
    )
    for work in (lambda: farcall.compile(program), lambda: farcall.convert(program, to="hlo")):
        assert interrupted(work) < 2 * GRACE


def test_a_handler_of_the_signal_that_raises_nothing():
    seen = []
    before = signal.signal(signal.SIGINT, lambda *_: seen.append(1))
    try:
        program, inputs = product(1000)
        expected = farcall.compile(program)(*inputs)
        executable = farcall.compile(program)
        timer = threading.Timer(0.05, lambda: os.kill(os.getpid(), signal.SIGINT))
        timer.start()
        while not seen:
            assert np.array_equal(executable(*inputs), expected)
        timer.join()
    finally:
        signal.signal(signal.SIGINT, before)
