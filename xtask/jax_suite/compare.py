"""Runs captured programs in farcall, in worker processes with limits of time and memory. Stores the verdicts.

The file `verdicts.jsonl` in the store has the latest verdict of each program.
"""

import json
import sys
from dataclasses import dataclass
from pathlib import Path

from workers import Workers

HERE = Path(__file__).parent


@dataclass
class Options:
    """Selection of the programs, and limits of the workers."""

    store: Path
    names: list[str]
    jobs: int
    timeout: float
    memory: int


def compare(options: Options, worker: Path = HERE / "worker.py") -> dict[str, dict]:
    """Judges programs. Returns their verdicts by name, and stores them together with the verdicts on other
    programs."""
    command = [sys.executable, str(worker), str(options.store), str(options.memory)]
    workers = Workers(command, options.store / "worker.log", options.jobs, options.timeout)
    judged = workers.judge(options.names)
    path = options.store / "verdicts.jsonl"
    lines = [json.dumps(verdict) + "\n" for verdict in {**verdicts(options.store), **judged}.values()]
    fresh = path.with_suffix(".fresh")
    fresh.write_text("".join(lines), encoding="utf-8")
    fresh.rename(path)
    return judged


def verdicts(store: Path) -> dict[str, dict]:
    """Returns all known verdicts by name."""
    path = store / "verdicts.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    return {verdict["name"]: verdict for verdict in map(json.loads, lines)}
