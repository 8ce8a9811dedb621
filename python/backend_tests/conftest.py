"""Runs these tests on JAX's backend `farcall` with four devices. They are a folder of their own, because a
process has one default backend."""

import os
import pathlib
import sys

os.environ.setdefault("JAX_PLATFORMS", "farcall")
os.environ.setdefault("FARCALL_NUM_DEVICES", "4")

# `libraries` has the paths of the examples.
sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "tests"))
