"""All ops under compute-sanitizer.

A kernel with a planted mistake runs last. If compute-sanitizer does not report the mistake, it does not work
on this device, and the lack of reports about the ops means nothing.
"""

import json
import os
import re
import subprocess
import sys

from checks import environment, listing
from checks.outcome import Skip, expect

#: Line that the workload prints when all ops have run.
DONE = "all ops have run"

#: Start of the workload's line about an op that failed.
FAILED = "did not run: "

#: For each tool, the op of the probe with a mistake that the tool must find, and its kernel.
PLANTED = {
    "memcheck": ("probe_write_past_end", "write_past_end"),
    "racecheck": ("probe_race", "race_in_shared_memory"),
}


#: Reports as NVIDIA's documentation shows them.
EXAMPLE = """========= COMPUTE-SANITIZER
========= Invalid __global__ write of size 4 bytes
=========     at write_past_end+0x90
=========     by thread (0,0,0) in block (0,0,0)
ran probe_write_past_end
========= Program hit CUDA_ERROR_LAUNCH_FAILED (error 719) due to "unspecified launch failure"
=========     Saved host backtrace up to driver entry point at error
========= Error: Race reported between Write access at race_in_shared_memory+0x70 and Read access at
=========     race_in_shared_memory+0xa0 [128 hazards]
========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)
========= ERROR SUMMARY: 2 errors
"""


def run(recorder, platform, tool):
    with recorder.case("reports are recognized"):
        kernels = [kernel for _, kernel in PLANTED.values()]
        found = findings(EXAMPLE)
        expect(
            len(found) == 2 and all(k in f for k, f in zip(kernels, found)),
            f"the example has other reports: {found}",
        )
    op, kernel = PLANTED[tool]
    command = [sys.executable, "-m", "checks.workload", platform]
    if platform == "cpu":
        with recorder.case(f"{tool} of all ops"):
            if tool == "memcheck":
                text, status = output(command, listing.seconds_of_step(100))
                expect(status == 0 and DONE in text, f"not all ops ran: {last(text)}")
                expect_all_ran(text)
            raise Skip("needs a GPU; on the CPU, all ops run, without compute-sanitizer")
        return
    state, own = {}, json.loads((listing.HERE / "pack.json").read_text())["kernels"]
    with recorder.case(f"{tool} finds a planted mistake") as figures:
        path = environment.tool("compute-sanitizer")
        if path is None:
            raise Skip("compute-sanitizer is not installed")
        text, status = output([path, "--tool", tool, "--report-api-errors", "no", *command, op], listing.seconds_of_step(100))
        print(text)
        if refusal := next((line for line in text.splitlines() if "not supported" in line.lower()), None):
            if DONE not in text:
                raise Skip(f"compute-sanitizer does not support this device: {refusal.strip('= ')}")
        found = findings(text)
        first = next(iter(found), last(text))
        expect(DONE in text, f"not all ops ran ({end_of(status)}): {first}")
        state["findings"] = found
        planted = [finding for finding in state["findings"] if kernel in finding]
        figures["reported"] = planted[0] if planted else "nothing"
        if not planted:
            raise Skip(
                "compute-sanitizer does not report the planted mistake, so it does not work on this device"
            )
        state["works"] = True
    with recorder.case(f"all ops run under {tool}"):
        if "findings" not in state:
            raise Skip("compute-sanitizer does not work here; see the line above")
        expect_all_ran(text)
    with recorder.case(f"{tool} of all ops") as figures:
        if "works" not in state:
            raise Skip("compute-sanitizer does not work here; see the line above")
        found = [
            finding
            for finding in state["findings"]
            if any(re.search(rf"\b{name}\b", finding) for name in own)
        ]
        others = [finding for finding in state["findings"] if finding not in found and kernel not in finding]
        figures["in kernels of the ops"] = len(found)
        figures["elsewhere"] = f"{len(others)}: {others[0]}" if others else "0"
        expect(not found, next(iter(found), ""))


def output(command, seconds):
    """Runs a program. Returns its output and its exit status; the status is `None` if it took too long."""
    # Each buffer has a separate allocation, so that accesses past its end are noticed.
    env = {**os.environ, "XLA_PYTHON_CLIENT_ALLOCATOR": "platform"}
    try:
        done = subprocess.run(
            command, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=seconds
        )
    except subprocess.TimeoutExpired as over:
        return (over.stdout or b"").decode(errors="replace"), None
    return done.stdout, done.returncode


def findings(text):
    """Returns the reports of compute-sanitizer, each as one line."""
    blocks = []
    for line in text.splitlines():
        if not line.startswith("========= "):
            continue
        content = line.removeprefix("========= ")
        if content[:1].isspace():
            if blocks:
                blocks[-1].append(content.strip())
        else:
            blocks.append([content.strip()])
    harmless = re.compile(
        r"COMPUTE-SANITIZER|.* SUMMARY|Target application|Program hit|Warning: (?!Race)|Saved host|LEAK"
    )
    return ["; ".join(block)[:400] for block in blocks if not harmless.match(block[0])]


def expect_all_ran(text):
    """Raises an exception if an op has failed."""
    failed = [line.removeprefix(FAILED) for line in text.splitlines() if line.startswith(FAILED)]
    expect(not failed, f"{len(failed)} ops did not run: {'; '.join(failed)}")


def end_of(status):
    return "out of time" if status is None else f"status {status}"


def last(text):
    return next((line for line in reversed(text.splitlines()) if line.strip()), "no output")
