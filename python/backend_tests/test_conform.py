"""The checks of pypjrt, a client of PJRT plugins that is independent of jaxlib: `python -m pypjrt.conform`."""

import json
import subprocess
import sys

import pytest
from farcall import _farcall

pytest.importorskip("pypjrt")


def test_nothing_is_broken(tmp_path):
    report = tmp_path / "report.json"
    command = [sys.executable, "-m", "pypjrt.conform", _farcall.__file__, "--json", str(report)]
    process = subprocess.run(command, capture_output=True, text=True)
    assert process.returncode == 0, process.stdout + process.stderr
    results = {check["id"]: check["result"] for check in json.loads(report.read_text())["checks"]}
    assert list(results.values()).count("pass") >= 55 and "fail" not in results.values()
    # Names of topologies belong to a vendor, and pypjrt asks for one of TPUs.
    assert [check for check, result in results.items() if result == "unsupported"] == ["topology.create_by_name"]
