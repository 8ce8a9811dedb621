"""`farcall op --check`: the command calls the handlers for CUDA itself, without JAX, and compares their
results with the results of the handlers for the CPU."""

import json
import subprocess

from checks import listing
from checks.outcome import Skip, expect


def run(recorder, platform):
    with recorder.case("the command compares the handlers") as figures:
        command = [listing.COMMAND, "op", listing.LIBRARY, "--check", "--json"]
        limit = listing.seconds_of_step(60)
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit)
        print(done.stdout, done.stderr)
        expect(done.returncode == 0, " ".join(done.stderr.split()))
        result = json.loads(done.stdout)
        figures["gpu"] = result["gpu"] or "none"
        if platform == "cpu" and result["gpu"] is None:
            expect("CUDA" in result["unchecked_platforms"], "the handlers for CUDA are not reported")
            raise Skip("needs a GPU; without one, the command reports the handlers for CUDA as not checked")
        expect(result["gpu"] is not None, "the command found no GPU")
        promises = [promise for call in result["calls"] for promise in call["promises"]]
        rows = [promise for promise in promises if promise["promise"] == "CUDA"]
        figures["compared"] = len({row["op"] for row in rows})
        figures["error"] = max((row["difference"] or 0.0 for row in rows), default=0.0)
        unchecked = [f"{row['op']}: {row['why']}" for row in rows if row["outcome"] == "unchecked"]
        expect(not unchecked, "; ".join(unchecked))
        missing = sorted(set(listing.op_names()) - {row["op"] for row in rows})
        expect(not missing, f"not compared: {', '.join(missing)}")
