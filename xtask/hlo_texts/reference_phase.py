"""Extracts the texts of a checkout and runs each in jaxlib.

jaxlib's results are stored, so later calls only run new texts.
"""

import json
import sys
from pathlib import Path

from texts import extract, path_of
from workers import Workers

HERE = Path(__file__).parent


def run(root: Path, checkout: Path, jobs: int, timeout: float, memory: int) -> None:
    """Stores the texts of a checkout, and runs the new ones in jaxlib."""
    texts = extract(checkout)
    if not texts:
        raise SystemExit(f"error: {checkout} has no HLO texts: is it a checkout of XLA?")
    root.mkdir(parents=True, exist_ok=True)
    for name, (text, _) in texts.items():
        path = path_of(root, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    path = root / "references.jsonl"
    known: dict[str, dict] = {}
    if path.is_file():
        known = {found["name"]: found for found in map(json.loads, path.read_text(encoding="utf-8").splitlines())}
    command = [sys.executable, str(HERE / "xla_worker.py"), str(root), str(memory)]
    workers = Workers(command, root / "reference.log", jobs, timeout)
    pending = [name for name in texts if name not in known]
    print(f"{len(texts)} texts, {len(pending)} of them new")
    # The results are saved at intervals, because a full run takes nearly an hour.
    for first in range(0, len(pending), 100):
        known |= workers.judge(pending[first : first + 100])
        lines = [json.dumps({**known[name], "file": texts[name][1]}) for name in texts if name in known]
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
