"""The Rust tests of the handlers, without JAX. They compare each with its handler for the CPU."""

import os
import re
import subprocess

from checks import listing
from checks.outcome import Skip, expect


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
    env = {**os.environ, "FARCALL_CUDA_TESTS": "device"}
    # One thread, because the tests share the device's default stream.
    done = subprocess.run([program, "--test-threads", "1"], env=env, capture_output=True, text=True)
    print(done.stdout, done.stderr)
    outcomes = re.findall(r"^test (\S+) \.\.\. (\w+)$", done.stdout, re.MULTILINE)
    for name, outcome in outcomes:
        with recorder.case(name):
            expect(outcome == "ok", f"{outcome}: {panic_of(name, done.stdout)}")
    with recorder.case("all tests ran"):
        expect(done.returncode in (0, 101), f"the program ended with status {done.returncode}")
        expect(len(outcomes) == count, f"{len(outcomes)} of {count} tests ran")


def panic_of(name, text):
    """Returns the output of a failed test as one line."""
    _, _, printed = text.partition(f"---- {name} stdout ----")
    return " ".join(printed.split("\n---- ")[0].split())[:400] or "no message"
