"""One library serves two hosts in one process, farcall and jaxlib, in either order. Registrations, types and
state of the hosts are separate."""

import pathlib
import subprocess
import sys

import pytest

from libraries import example


@pytest.mark.parametrize("order", [("ours", "jaxlib"), ("jaxlib", "ours")], ids=" first, then ".join)
def test_two_hosts(order):
    pytest.importorskip("jax.ffi")
    script = pathlib.Path(__file__).with_name("two_hosts.py")
    ran = subprocess.run(
        [sys.executable, script, example("jax_ffi_ops"), *order], capture_output=True, text=True, timeout=300
    )
    assert ran.returncode == 0, ran.stderr
    assert "numbers of the same type" in ran.stdout
