"""The files with the results: `results.json` for programs, and `results.md` as a page."""

import json
import time


class Report:
    def __init__(self, folder, platform, pack):
        self._folder = folder
        self._data = {
            "when": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
            "platform": platform,
            "pack": pack,
            "machine": {},
            "checks": [],
        }

    def add(self, check, entries, seconds):
        """Adds the results of a check, and writes the files."""
        for entry in entries:
            # The facts about the machine are in a separate table.
            self._data["machine"].update(entry["figures"].pop("machine", {}))
        self._data["checks"].append(
            {"name": check.name, "about": check.about, "seconds": seconds, "results": entries}
        )
        for name, text in [("results.json", json.dumps(self._data, indent=1)), ("results.md", self.page())]:
            fresh = self._folder / f"{name}.new"
            fresh.write_text(text + "\n", encoding="utf-8")
            fresh.replace(self._folder / name)

    def names(self):
        """Returns the names of the checks that have run."""
        return [check["name"] for check in self._data["checks"]]

    def count(self, outcome):
        return sum(e["outcome"] == outcome for check in self._data["checks"] for e in check["results"])

    def summary(self):
        skipped = f"{self.count('SKIP')} skipped\n" if self.count("SKIP") else ""
        return f"{skipped}{self.count('PASS')} passed, {self.count('FAIL')} failed"

    def page(self):
        data = self._data
        pack = data["pack"]
        title = "# Ops for CUDA on a GPU" if data["platform"] == "cuda" else "# Ops for CUDA, on a CPU"
        lines = [title, "", f"Written by `run --platform {data['platform']}` on {data['when']}.", ""]
        if data["platform"] == "cpu":
            lines += [
                "These results test the checks themselves, with small inputs. Nothing here ran on a GPU.",
                "",
            ]
        lines += ["| machine | |", "|---|---|"]
        lines += [f"| {key} | {_cell(value)} |" for key, value in data["machine"].items()]
        lines += [f"| farcall | {pack['version']}, {pack['commit']}, {pack['profile']} build |", ""]
        lines += [" · ".join(self.summary().splitlines()), ""]
        for check in data["checks"]:
            lines += [
                f"## {check['name']}",
                "",
                f"{check['about'][0].upper()}{check['about'][1:]}. {check['seconds']:.1f} s.",
                "",
            ]
            lines += _table(check["results"])
        return "\n".join(lines)


def _table(entries):
    columns = list(dict.fromkeys(key for entry in entries for key in entry["figures"]))
    has_reasons = any(entry["reason"] for entry in entries)
    header = ["", "result", *columns, *(["reason"] if has_reasons else [])]
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    for entry in entries:
        cells = [entry["name"], entry["outcome"], *(entry["figures"].get(column, "") for column in columns)]
        cells += [entry["reason"]] if has_reasons else []
        lines.append("| " + " | ".join(map(_cell, cells)) + " |")
    return [*lines, ""]


def _cell(value):
    text = f"{value:.3g}" if isinstance(value, float) else str(value)
    return text.replace("|", "\\|").replace("\n", " ")
