"""The sum over processes, each with one GPU, compared with `jax.lax.psum`. Needs two GPUs."""

import ctypes
import glob
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import jax
import numpy as np
from jax.sharding import Mesh, PartitionSpec

from checks import arrays, listing
from checks.outcome import Skip, expect

RANKS = 2

#: Size of a group's id in bytes.
ID_BYTES = 128


def operand(rank):
    return np.random.default_rng(rank).standard_normal((257, 33)).astype(np.float32)


def run(recorder, platform):
    with recorder.case("a group of one, compared with jax.lax.psum") as figures:
        mesh = Mesh(np.array(jax.devices(platform)[:1]), ("ranks",))
        split = lambda f: jax.jit(
            jax.shard_map(f, mesh=mesh, in_specs=PartitionSpec("ranks"), out_specs=PartitionSpec())
        )
        x = jax.device_put(operand(0), jax.NamedSharding(mesh, PartitionSpec("ranks")))
        wanted = split(lambda x: jax.lax.psum(x, "ranks"))(x)
        got = jax.jit(listing.library().nccl_allreduce)(jax.device_put(operand(0), arrays.device(platform)))
        figures["error"] = apart = arrays.error(got, wanted)
        expect(apart == 0, f"the sums differ by {apart:.2e}")
    with recorder.case("a group of two processes") as figures:
        if platform == "cpu" or len(jax.devices(platform)) < RANKS:
            raise Skip(f"needs {RANKS} GPUs")
        group = group_id()
        with tempfile.TemporaryDirectory() as folder:
            outputs = [f"{folder}/{rank}.npy" for rank in range(RANKS)]
            members = [member(rank, group, output) for rank, output in enumerate(outputs)]
            texts = [process.communicate(timeout=listing.seconds_of_step(50))[0] for process in members]
            for rank, (process, text) in enumerate(zip(members, texts)):
                expect(process.returncode == 0, f"rank {rank} ended with status {process.returncode}: {text}")
            sums = [np.load(output) for output in outputs]
        mesh = Mesh(np.array(jax.devices(platform)[:RANKS]), ("ranks",))
        split = jax.shard_map(
            lambda x: jax.lax.psum(x, "ranks"),
            mesh=mesh,
            in_specs=PartitionSpec("ranks"),
            out_specs=PartitionSpec(),
        )
        stacked = np.concatenate([operand(rank) for rank in range(RANKS)])
        wanted = jax.jit(split)(jax.device_put(stacked, jax.NamedSharding(mesh, PartitionSpec("ranks"))))
        figures["error"] = apart = max(arrays.error(own, wanted) for own in sums)
        expect(apart <= 1e-6, f"the sums differ by {apart:.2e}")


def group_id():
    """Returns a new id of a group in hexadecimal digits.

    Raises:
      AssertionError: if NCCL is not installed or fails.
    """
    known = [path for folder in listing.nvidia_folders() for path in glob.glob(f"{folder}/libnccl.so*")]
    for path in ["libnccl.so.2", *known]:
        try:
            library = ctypes.CDLL(path)
        except OSError:
            continue
        buffer = ctypes.create_string_buffer(ID_BYTES)
        expect(library.ncclGetUniqueId(buffer) == 0, "ncclGetUniqueId failed")
        return buffer.raw.hex()
    raise AssertionError("NCCL is not installed: no libnccl.so.2")


def member(rank, group, output):
    """Starts the process of a rank, which sees one GPU."""
    command = [sys.executable, "-m", "checks.collective", str(rank), group, output]
    env = {**os.environ, "CUDA_VISIBLE_DEVICES": str(rank)}
    return subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def main():
    rank, group, output = sys.argv[1:]
    here = arrays.device("cuda")
    sum_of = jax.jit(lambda x: listing.library().nccl_allreduce(x, ranks=RANKS, rank=int(rank), id=group))
    np.save(Path(output), np.asarray(sum_of(jax.device_put(operand(int(rank)), here))))


if __name__ == "__main__":
    main()
