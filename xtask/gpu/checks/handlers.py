"""The Rust tests of the handlers, without JAX. They compare each with its handler for the CPU."""

import os
import re
import subprocess

from checks import listing
from checks.outcome import Skip, expect
from checks.program import Program, last

#: Line about the end of a test. Tests that only run by their names are ignored.
ENDED = re.compile(r"test (\S+) \.\.\. (ok|FAILED|ignored)\b")


def run(recorder, platform):
    program = listing.HANDLER_TESTS
    with recorder.case("the tests are in the pack") as figures:
        if not program.exists():
            raise Skip("only release builds of the pack have the tests; on the CPU, `cargo test` runs them")
        listed = subprocess.run([program, "--list"], capture_output=True, text=True, timeout=20, check=True)
        figures["tests"] = count = len(re.findall(r": test$", listed.stdout, re.MULTILINE))
        expect(count, "the program has no tests")
    if platform == "cpu" or not program.exists():
        return
    lines, outcomes = [], {}
    tests = on_gpu(listing.seconds_of_step(90))
    for line in tests:
        print(line, flush=True)
        lines.append(line)
        if ended := ENDED.match(line):
            name, outcomes[name] = ended[1], ended[2]
            if ended[2] == "ok":
                recorder.add("PASS", name)
    for name, outcome in outcomes.items():
        if outcome == "FAILED":
            recorder.add("FAIL", name, panic_of(name, "\n".join(lines)))
    with recorder.case("all tests ran"):
        expect(tests.status is not None, f"out of time after {tests.seconds:.0f} s, in: {last(lines)}")
        expect(tests.status in (0, 101), f"the program ended with status {tests.status}: {last(lines)}")
        expect(len(outcomes) == count, f"{len(outcomes)} of {count} tests ran")


def on_gpu(seconds, *arguments, before=()):
    """Returns a run of the tests on the GPU.

    Args:
      seconds: time after which the run is killed.
      arguments: the tests to run; without them, all tests run except ignored ones.
      before: a program that starts the tests, with its arguments.
    """
    # One thread, because the tests share the device's default stream.
    command = [*before, listing.HANDLER_TESTS, "--test-threads", "1", *arguments]
    return Program(command, seconds, env={**os.environ, "FARCALL_CUDA_TESTS": "device"})


def panic_of(name, text):
    """Returns the output of a failed test as one line."""
    _, _, printed = text.partition(f"---- {name} stdout ----")
    return " ".join(printed.split("\n---- ")[0].split())[:400] or "no message"
