"""The Rust tests of the handlers under compute-sanitizer.

A kernel with a planted mistake runs first. If compute-sanitizer does not report the mistake, the lack of
reports about the ops means nothing.
"""

import json
import re
import tempfile
from pathlib import Path

from checks import environment, handlers, listing
from checks.outcome import Skip, expect
from checks.program import last

#: For each tool, the test whose kernel has a mistake that the tool must find, and the kernel.
PLANTED = {
    "memcheck": ("tests::planted::write_past_end", "write_past_end"),
    "racecheck": ("tests::planted::race_in_shared_memory", "race_in_shared_memory"),
}

#: Reports as NVIDIA's documentation shows them.
EXAMPLE = """========= COMPUTE-SANITIZER
========= Invalid __global__ write of size 4 bytes
=========     at write_past_end+0x90
=========     by thread (0,0,0) in block (0,0,0)
========= Program hit CUDA_ERROR_LAUNCH_FAILED (error 719) due to "unspecified launch failure"
=========     Saved host backtrace up to driver entry point at error
========= Error: Race reported between Write access at race_in_shared_memory+0x70 and Read access at
=========     race_in_shared_memory+0xa0 [128 hazards]
========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)
========= ERROR SUMMARY: 2 errors
"""


def run(recorder, platform, tool):
    with recorder.case("reports are recognized"):
        found, kernels = findings(EXAMPLE), [kernel for _, kernel in PLANTED.values()]
        expect(
            len(found) == 2 and all(k in f for k, f in zip(kernels, found)),
            f"the example has other reports: {found}",
        )
    if platform == "cpu":
        return
    path = environment.tool("compute-sanitizer")
    is_working = False
    with recorder.case(f"{tool} finds a planted mistake") as figures:
        if path is None:
            raise Skip("compute-sanitizer is not installed")
        test, kernel = PLANTED[tool]
        _, lines, found = under(path, tool, 40, "--ignored", "--exact", test)
        if refusal := next((line for line in lines if "not supported" in line.lower()), None):
            raise Skip(f"compute-sanitizer does not support this device: {refusal.strip('= ')}")
        planted = next((finding for finding in found if kernel in finding), None)
        figures["reported"] = planted or "nothing"
        expect(planted is not None, f"the planted mistake is not reported; last line: {last(lines)}")
        is_working = True
    with recorder.case(f"{tool} of all ops") as figures:
        if not is_working:
            raise Skip("compute-sanitizer does not work here; see the line above")
        tests, lines, found = under(path, tool, 100)
        own = json.loads((listing.HERE / "pack.json").read_text())["kernels"]
        inside = [f for f in found if any(re.search(rf"\b{name}\b", f) for name in own)]
        others = [f for f in found if f not in inside]
        ended = [handlers.ENDED.match(line) for line in lines]
        figures["tests"] = len([end for end in ended if end and end[2] == "ok"])
        figures["in kernels of the ops"] = len(inside)
        figures["elsewhere"] = f"{len(others)}: {others[0]}" if others else "0"
        expect(not inside, next(iter(inside), ""))
        expect(tests.status is not None, f"out of time after {tests.seconds:.0f} s: {last(lines)}")
        passed = any(line.startswith("test result: ok") for line in lines)
        expect(passed, f"not all tests pass: {last(lines)}")


def under(path, tool, most_seconds, *arguments):
    """Runs tests of the handlers under a tool of compute-sanitizer, for at most `most_seconds`.

    Args:
      path: path of compute-sanitizer.
      tool: name of the tool.
      arguments: the tests to run, as for `handlers.on_gpu`.

    Returns:
      The run, the lines of the tool and of the tests, and the tool's reports.
    """
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        # In a separate file, reports do not split the lines of the program.
        before = [path, "--tool", tool, "--report-api-errors", "no", "--log-file", log]
        tests = handlers.on_gpu(listing.seconds_of_step(most_seconds), *arguments, before=before)
        lines = list(tests)
        reports = log.read_text(errors="replace") if log.exists() else ""
    print("\n".join(lines), reports, sep="\n", flush=True)
    return tests, [*reports.splitlines(), *lines], findings(reports)


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
