"""Worker processes, which judge programs one after another within limits of time and memory. A worker that
ends is started again.

A worker reads one program name per line. For each name it answers with one line of JSON per stage, and one
line with the verdict.
"""

import collections
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


@dataclass
class Workers:
    """The command that starts workers, and their limits."""

    command: list[str]
    log: Path
    """File for the workers' standard error."""
    jobs: int
    timeout: float
    """Time limit in seconds for one stage of one program."""

    def judge(self, names: list[str]) -> dict[str, dict]:
        """Judges programs. Returns the verdicts by program name."""
        todo: queue.SimpleQueue[str] = queue.SimpleQueue()
        for name in names:
            todo.put(name)
        judged: dict[str, dict] = {}
        threads = [threading.Thread(target=self._work, args=(todo, judged, len(names))) for _ in range(self.jobs)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if len(judged) < len(names):
            raise SystemExit(f"error: a worker does not start; see {self.log}")
        return judged

    def _work(self, todo: queue.SimpleQueue, judged: dict[str, dict], total: int) -> None:
        """Judges programs with one worker process until no program is left."""
        process = Process(self)
        while True:
            try:
                name = todo.get_nowait()
            except queue.Empty:
                break
            judged[name] = process.judge(name)
            done = len(judged)
            if done % 100 == 0 or done == total:
                counts = collections.Counter(v["verdict"] for v in list(judged.values()))
                found = ", ".join(f"{count} {verdict}" for verdict, count in counts.most_common())
                end = "\r" if sys.stdout.isatty() and done < total else "\n"
                print(f"{done} of {total}: {found}", end=end, flush=True)
        if process.process:
            process.process.stdin.close()
            process.process.wait()


class Process:
    """A worker process that is restarted whenever it ends."""

    def __init__(self, workers: Workers) -> None:
        self.workers = workers
        self.process: subprocess.Popen | None = None
        self.unread = b""

    def judge(self, name: str) -> dict:
        """Returns the verdict on one program, even if the process ends or exceeds the time limit."""
        if self.process is None:
            self.start()
        self.process.stdin.write(f"{name}\n".encode())
        self.process.stdin.flush()
        deadline = time.monotonic() + self.workers.timeout
        stage, so_far = "load", None
        while True:
            try:
                reply = self.reply(deadline)
            except TimeoutError:
                self.stop()
                late = f"over {self.workers.timeout:g} s in stage {stage}"
                return {"name": name, **(so_far or {"verdict": "timeout", "detail": late}), "late": late}
            if reply is None:
                code = self.stop()
                return {"name": name, "verdict": "crash", "detail": f"exit code {code} in stage {stage}"}
            if "verdict" in reply:
                return reply
            stage, so_far = reply["stage"], reply["so far"]
            deadline = time.monotonic() + self.workers.timeout

    def start(self) -> None:
        environment = {**os.environ, "JAX_PLATFORMS": "cpu"}
        with open(self.workers.log, "ab") as log:
            self.process = subprocess.Popen(
                self.workers.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, env=environment
            )
        self.unread = b""
        if self.reply(time.monotonic() + 120) is None:
            raise RuntimeError("a worker does not start")

    def stop(self) -> int:
        """Ends the process and returns its exit code."""
        self.process.kill()
        code = self.process.wait()
        self.process = None
        return code

    def reply(self, deadline: float) -> dict | None:
        """Returns the next line of the worker; `None` if the process has ended."""
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
