"""Runs every captured program in farcall, in worker processes with limits, and keeps the verdicts.

The verdicts go to `verdicts.jsonl` in the store, where each program has its latest.
"""

import json
import os
import queue
import select
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent


@dataclass
class Options:
    """What is compared, and under which limits."""

    store: Path
    names: list[str]
    jobs: int
    timeout: float
    memory: int


class Process:
    """A worker process, started again whenever it ends."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.process: subprocess.Popen | None = None
        self.unread = b""

    def judge(self, name: str) -> dict:
        """The verdict on one program, whatever happens to the process."""
        if self.process is None:
            self.start()
        self.process.stdin.write(f"{name}\n".encode())
        self.process.stdin.flush()
        deadline = time.monotonic() + self.options.timeout
        stage, so_far = "load", None
        while True:
            try:
                reply = self.reply(deadline)
            except TimeoutError:
                self.stop()
                late = f"over {self.options.timeout:g} s in stage {stage}"
                return {"name": name, **(so_far or {"verdict": "timeout", "detail": late}), "late": late}
            if reply is None:
                code = self.stop()
                return {"name": name, "verdict": "crash", "detail": f"exit code {code} in stage {stage}"}
            if "verdict" in reply:
                return reply
            stage, so_far = reply["stage"], reply["so far"]

    def start(self) -> None:
        command = [sys.executable, str(HERE / "worker.py"), str(self.options.store), str(self.options.memory)]
        environment = {**os.environ, "JAX_PLATFORMS": "cpu"}
        log = open(self.options.store / "worker.log", "ab")
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, env=environment
        )
        self.unread = b""
        if self.reply(time.monotonic() + 120) is None:
            raise RuntimeError("a worker does not start")

    def stop(self) -> int:
        """Ends the process and gives its exit code."""
        self.process.kill()
        code = self.process.wait()
        self.process = None
        return code

    def reply(self, deadline: float) -> dict | None:
        """The next line; nothing if the process has ended."""
        out = self.process.stdout.fileno()
        while b"\n" not in self.unread:
            ready, _, _ = select.select([out], [], [], max(0.0, deadline - time.monotonic()))
            if not ready:
                raise TimeoutError
            read = os.read(out, 1 << 16)
            if not read:
                self.process.wait()
                return None
            self.unread += read
        line, self.unread = self.unread.split(b"\n", 1)
        return json.loads(line)


def compare(options: Options) -> dict[str, dict]:
    """Judges programs; gives their verdicts by name, and keeps them with those of other programs."""
    todo: queue.SimpleQueue[str] = queue.SimpleQueue()
    for name in options.names:
        todo.put(name)
    judged: dict[str, dict] = {}
    threads = [threading.Thread(target=_work, args=(options, todo, judged)) for _ in range(options.jobs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if len(judged) < len(options.names):
        raise SystemExit(f"error: a worker does not start; see {options.store / 'worker.log'}")
    path = options.store / "verdicts.jsonl"
    lines = [json.dumps(verdict) + "\n" for verdict in {**verdicts(options.store), **judged}.values()]
    fresh = path.with_suffix(".fresh")
    fresh.write_text("".join(lines), encoding="utf-8")
    fresh.rename(path)
    return judged


def verdicts(store: Path) -> dict[str, dict]:
    """All verdicts that are known, by name."""
    path = store / "verdicts.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    return {verdict["name"]: verdict for verdict in map(json.loads, lines)}


def _work(options: Options, todo: queue.SimpleQueue, judged: dict[str, dict]) -> None:
    """What one thread does: programs, until there are none left."""
    process = Process(options)
    while True:
        try:
            name = todo.get_nowait()
        except queue.Empty:
            break
        judged[name] = process.judge(name)
        done, total = len(judged), len(options.names)
        if done % 100 == 0 or done == total:
            differ = sum(v["verdict"] != "agrees" for v in list(judged.values()))
            end = "\r" if sys.stdout.isatty() and done < total else "\n"
            print(f"{done} of {total} compared, {differ} differ", end=end, flush=True)
    if process.process:
        process.process.stdin.close()
        process.process.wait()
