"""`python xtask/jax_shardings FOLDER`: see `cargo xtask help`, task `jax-shardings`."""

import argparse
import collections
import json
import sys
from pathlib import Path

HERE = Path(__file__).parent
# The worker processes of the JAX suite.
sys.path.append(str(HERE.parent / "jax_suite"))

from workers import Workers

#: Verdicts that are faults of farcall.
FAULTS = ("refused", "differs", "crash", "timeout", "error in this tool")


def main() -> None:
    parser = argparse.ArgumentParser(prog="jax_shardings")
    parser.add_argument("folder", type=Path, help="folder of programs")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--timeout", type=float, default=60, help="time limit in seconds for one stage of one program")
    parser.add_argument("--memory", type=int, default=16, help="limit of the address space of one worker, in GiB")
    parser.add_argument("--only", nargs="*", metavar="PROGRAM", help="numbers of programs; all if none is given")
    args = parser.parse_args()
    folder = args.folder.resolve()
    names = args.only or sorted((p.stem for p in folder.glob("*.mlir") if p.stem.isdigit()), key=int)
    command = [sys.executable, str(HERE / "sharded_worker.py"), str(folder), str(args.memory << 30)]
    verdicts = Workers(command, folder / "workers.log", args.jobs, args.timeout).judge(names)
    faults = 0
    for name in names:
        found = verdicts[name]
        if found["verdict"] in ("crash", "timeout") and found.get("detail", "").endswith("in stage XLA:CPU"):
            found["verdict"] = "not run by XLA"
        if found["verdict"] in FAULTS:
            faults += 1
            print(f"program {name}: {found['verdict']}: {found.get('detail', '')[:400]}")
    (folder / "verdicts.json").write_text(json.dumps(verdicts, indent=1))
    counts = collections.Counter(found["verdict"] for found in verdicts.values())
    print(", ".join(f"{count} {verdict}" for verdict, count in counts.most_common()))
    raise SystemExit(faults > 0)


if __name__ == "__main__":
    main()
