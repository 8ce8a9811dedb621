"""Counts of the results, and the differing texts grouped by kind of failure."""

import collections
import tomllib
from dataclasses import dataclass
from pathlib import Path

from report import normalized
from texts import path_of

_KNOWN = Path(__file__).with_name("known.toml")
# farcall must return the same values as jaxlib for at least this fraction of the texts that jaxlib runs.
GOAL = 0.99


@dataclass
class Summary:
    """The results of all compared texts."""

    root: Path
    references: dict[str, dict]
    verdicts: dict[str, dict]

    def write(self) -> bool:
        """Writes and prints the summary. Returns true if the goal is met."""
        known = self.known()
        ran = [name for name in self.verdicts if self.references[name]["verdict"] == "ran"]
        read = [name for name in self.verdicts if self.references[name]["verdict"] == "read"]
        lines = []
        for title, names in (("read by XLA, not run by jaxlib on one CPU device", read), ("run by jaxlib", ran)):
            differing = [name for name in names if self.verdicts[name]["verdict"] != "agrees"]
            lines += [line for group in self.groups(differing) for line in self.group(title, group, known)]
        slow = sorted(ran, key=lambda name: -self.verdicts[name].get("seconds", 0))[:10]
        lines += [
            f"{self.verdicts[name]['seconds']:7.1f}  s for {path_of(self.root, name)}"
            for name in slow
            if self.verdicts[name].get("seconds", 0) > 1
        ]
        counts = collections.Counter(found["verdict"] for found in self.references.values())
        agree = [name for name in ran if self.verdicts[name]["verdict"] == "agrees"]
        explained = [name for name in ran if name not in agree and name in known]
        readable = [name for name in read if self.verdicts[name]["verdict"] == "agrees"]
        share = len(agree) / max(len(ran), 1)
        lines += [
            "",
            f"{len(self.references)} texts, of which XLA reads {len(self.references) - counts['invalid']}",
            f"farcall reads {len(readable)} of the {len(read)} texts that jaxlib reads, but does not run",
            f"farcall returns jaxlib's values for {len(agree)} of the {len(ran)} texts that jaxlib runs ({100 * share:.2f} %); "
            f"known.toml explains {len(explained)} of the other texts",
        ]
        summary = "\n".join(lines) + "\n"
        (self.root / "summary.txt").write_text(summary, encoding="utf-8")
        print(summary)
        return share >= GOAL

    def known(self) -> dict[str, str]:
        """Returns the reasons of texts that are known to differ, by name."""
        listed = tomllib.loads(_KNOWN.read_text(encoding="utf-8")) if _KNOWN.is_file() else {}
        return {name: entry["reason"] for entry in listed.get("difference", []) for name in entry["texts"]}

    def groups(self, names: list[str]) -> list[tuple[str, list[str]]]:
        """Groups texts by failure, largest group last."""
        groups = collections.defaultdict(list)
        for name in names:
            verdict = self.verdicts[name]
            kind = verdict["verdict"]
            words = normalized(verdict["detail"]) if kind in ("refused", "failed", "not read", "crash") else ""
            groups[f"{kind}: {words}" if words else kind].append(name)
        return sorted(groups.items(), key=lambda group: len(group[1]))

    def group(self, title: str, group: tuple[str, list[str]], known: dict[str, str]) -> list[str]:
        what, names = group
        lines = [f"{len(names):5}  {what}  ({title})"]
        for name in names[:3]:
            detail = self.verdicts[name].get("detail", "").strip().splitlines()
            lines.append(f"         {path_of(self.root, name)}  {self.references[name]['file']}")
            lines.append(f"           {detail[0][:200] if detail else ''}")
        reasons = {known[name] for name in names if name in known}
        lines += [f"         known: {reason.strip()}" for reason in sorted(reasons)]
        return lines
