"""`python xtask/hlo_texts reference|compare`: see `cargo xtask hlo-texts --help`."""

import argparse
import sys
from pathlib import Path

HERE = Path(__file__).parent
# The modules of the JAX suite that this suite also uses: workers, stores, and the comparison of results.
sys.path.append(str(HERE.parent / "jax_suite"))


def main() -> None:
    parser = argparse.ArgumentParser(prog="hlo_texts", description="The HLO texts of XLA's tests as a suite for farcall.")
    parser.add_argument("--store", type=Path, required=True, help="folder of texts and verdicts")
    phases = parser.add_subparsers(dest="phase", required=True)
    reference = phases.add_parser("reference", help="extract the texts from a checkout and run them in jaxlib")
    reference.add_argument("--xla", type=Path, required=True, help="checkout of XLA")
    compare = phases.add_parser("compare", help="run the texts in farcall and report")
    compare.add_argument("--pending", action="store_true", help="only texts that did not agree, or were not compared yet")
    compare.add_argument("names", nargs="*", help="texts by name; all if none is given")
    for phase in (reference, compare):
        phase.add_argument("--jobs", type=int, default=1)
        phase.add_argument("--timeout", type=float, default=60, help="time limit in seconds for one stage of one program")
        phase.add_argument("--memory", type=int, default=8, help="limit of the address space of one worker, in GiB")
    args = parser.parse_args()
    root = args.store.resolve()
    if args.phase == "reference":
        from reference_phase import run

        run(root, args.xla.resolve(), args.jobs, args.timeout, args.memory << 30)
        return
    from compare import Options, compare, verdicts
    from summary import Summary
    from texts import references

    known_texts = references(root)
    names = args.names or [name for name, found in known_texts.items() if found["verdict"] in ("ran", "read")]
    known = verdicts(root) if args.pending else {}
    pending = [name for name in names if known.get(name, {}).get("verdict") != "agrees"]
    options = Options(root, pending, args.jobs, args.timeout, args.memory << 30)
    known |= compare(options, HERE / "farcall_worker.py")
    if not Summary(root, known_texts, {name: known[name] for name in names}).write():
        raise SystemExit(1)


if __name__ == "__main__":
    main()
