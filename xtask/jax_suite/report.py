"""Groups the verdicts, and writes each differing program so that one command reproduces it."""

import collections
import re
import shutil
import tomllib
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from store import Store, bits

_OP = re.compile(r'(?:^\s*|= )"?((?:stablehlo|chlo)\.\w+(?: @[\w.]+)?)', re.MULTILINE)
_NAMED_OP = re.compile(r"\b((?:stablehlo|chlo|sdy|mhlo)\.\w+)")
_KNOWN = Path(__file__).with_name("known.toml")


@dataclass
class Report:
    """The verdicts of all compared programs."""

    store: Store
    verdicts: list[dict]
    known: dict[str, str]

    @staticmethod
    def of(root: Path, verdicts: list[dict]) -> "Report":
        listed = tomllib.loads(_KNOWN.read_text(encoding="utf-8")) if _KNOWN.is_file() else {}
        known = {name: entry["reason"] for entry in listed.get("difference", []) for name in entry["programs"]}
        return Report(Store(root), verdicts, known)

    def write(self) -> bool:
        """Writes and prints the summary and the folder `differences`. Returns true if nothing unexpected was
        found."""
        differing = [v for v in self.verdicts if v["verdict"] != "agrees"]
        unexpected = [v for v in differing if v["name"] not in self.known]
        groups = self.groups(differing)
        folder = self.store.root / "differences"
        shutil.rmtree(folder, ignore_errors=True)
        lines = self.totals(differing)
        for number, (key, members) in enumerate(groups, 1):
            kind, op, words = key
            short = op.split(".", 1)[-1].replace(" @", "-")
            group = f"{number:02}-{kind.replace(' ', '-')}-{short}"
            for verdict in members:
                self.reproduce(folder / group / verdict["name"], verdict)
            listed = sum(v["name"] in self.known for v in members)
            lines.append(
                f"\n{len(members):5}  {kind}: {op}{f', {words}' if words else ''}"
                + (f" ({listed} known)" if listed else "")
            )
            for verdict in members[:3]:
                origin = self.store.origin(verdict["name"])
                lines.append(f"       {folder / group / verdict['name']}")
                lines.append(f"         {origin['file']} {origin['test']}")
                lines.append(f"         {verdict['detail'].strip().splitlines()[0][:200]}")
        passing = {v["name"] for v in self.verdicts if v["verdict"] == "agrees"} & self.known.keys()
        for name in sorted(passing):
            lines.append(f"\n{name} is listed in known.toml, but agrees now: {self.known[name]}")
        summary = "\n".join(lines) + "\n"
        (self.store.root / "summary.txt").write_text(summary, encoding="utf-8")
        print(summary)
        return not unexpected and not passing

    def totals(self, differing: list[dict]) -> list[str]:
        count = len(self.verdicts)
        by = collections.Counter(v["by"] for v in self.verdicts if v["verdict"] == "agrees")
        words = {
            "tolerance": "within JAX's default tolerance",
            "denormals": "within that tolerance once farcall does not flush subnormal numbers to zero",
            "literal": "once XLA takes no liberties (excess precision, fused multiply-add, order of equal keys)",
            "shadow": "at most twice as far from an f64 evaluation as XLA",
            "scaled error": "programs in f64, within XLA's error in f32, scaled to the precision of f64",
            "conditioning": "at most twice as far from XLA as XLA is from itself when inputs move by a unit in the last place",
        }
        lines = [
            f"{count - len(differing)} of {count} programs agree ({100 - 100 * len(differing) / max(count, 1):.2f} %)"
        ]
        lines += [f"{by[key]:7}  {text}" for key, text in words.items()]
        lines.append(f"{len(differing):7}  differ")
        lines += [f"{n:14}  {kind}" for kind, n in collections.Counter(v["verdict"] for v in differing).most_common()]
        slow = sorted((v for v in self.verdicts if v.get("seconds", 0) > 1), key=lambda v: -v["seconds"])
        lines += [f"{v['seconds']:7.1f}  s for {v['name']} {self.store.origin(v['name'])['test']}" for v in slow[:20]]
        return lines

    def groups(self, differing: list[dict]) -> list[tuple[tuple[str, str, str], list[dict]]]:
        """Groups differences by kind, largest group first."""
        suspects = self.suspects(differing)
        groups = collections.defaultdict(list)
        for verdict in differing:
            kind = verdict["verdict"]
            words = ""
            if kind in ("refused", "failed", "error in this tool"):
                words = normalized(verdict["detail"])
            found = _NAMED_OP.search(normalized(verdict["detail"])) if words else None
            op = found[1] if found else suspects(verdict["name"])
            groups[kind, op, words].append(verdict)
        return sorted(groups.items(), key=lambda item: -len(item[1]))

    def suspects(self, differing: list[dict]):
        """Returns a function that maps the name of a program to one of its operations: the operation whose
        programs differ most often."""
        bad = {v["name"] for v in differing}
        ops = {
            v["name"]: set(_OP.findall((self.store.folder(v["name"]) / "program.mlir").read_text()))
            for v in self.verdicts
        }
        seen, failed = collections.Counter(), collections.Counter()
        for name, used in ops.items():
            seen.update(used)
            if name in bad:
                failed.update(used)
        return lambda name: max(ops[name], key=lambda op: (failed[op] / seen[op], failed[op], op), default="none")

    def reproduce(self, folder: Path, verdict: dict) -> None:
        """Writes the program with its inputs, XLA's results, and the command that runs it."""
        program = self.store.load(verdict["name"])
        folder.mkdir(parents=True)
        (folder / "program.mlir").write_text(program.text, encoding="utf-8")
        for i, array in enumerate(program.inputs):
            np.save(folder / f"in{i}.npy", bits(array))
        for i, array in enumerate(program.outputs):
            np.save(folder / f"xla{i}.npy", bits(array))
        inputs = " ".join(f"-i {folder}/in{i}.npy" for i in range(len(program.inputs)))
        words = [
            f"{program.origin['file']} {program.origin['test']} {'x64' if program.origin['x64'] else 'x32'}",
            f"farcall run {folder}/program.mlir --denormals flush {inputs} -o {folder}",
            *(f"{key}: {value}" for key, value in verdict.items() if key != "name"),
        ]
        (folder / "README.txt").write_text("\n".join(words) + "\n", encoding="utf-8")


def normalized(message: str) -> str:
    """Returns the first line of an error without the parts that vary between programs."""
    line = message.strip().splitlines()[0]
    line = re.sub(r"%\w+", "%x", line)
    line = re.sub(r"tensor<[^>]*>+", "tensor<…>", line)
    line = re.sub(r"\b(?:f|s|u|bf|c)\d+\w*\[[^\]]*\]", "T[…]", line)
    return re.sub(r"\d+", "N", line)[:160]
