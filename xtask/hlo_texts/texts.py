"""HLO texts in a checkout of XLA, and jaxlib's results for each.

A text is a raw string with a module's header in a C++ test, or a file of HLO.

    ab/ab34…/program.hlo    the text
    ab/ab34…/program.json   and other files of the program, if jaxlib ran it (`store.py` of the JAX suite)
    references.jsonl        the origin of each text, and jaxlib's verdict on it
"""

import hashlib
import json
import re
from pathlib import Path

_RAW_STRING = re.compile(r'R"([^()\\\s]{0,16})\((.*?)\)\1"', re.DOTALL)
_HEADER = re.compile(r"^\s*HloModule\b", re.MULTILINE)
# Separator of several modules in one file, for tools that split the file.
_SPLIT = re.compile(r"^// -----.*$", re.MULTILINE)
_SUFFIXES = {".hlo", ".hlotxt"}


def extract(checkout: Path) -> dict[str, tuple[str, str]]:
    """Returns the texts of a checkout by name: the text, and the first file that contains it."""
    found: dict[str, tuple[str, str]] = {}
    for path in sorted(checkout.rglob("*")):
        is_test = path.suffix == ".cc" and path.stem.endswith("_test")
        if not (is_test or path.suffix in _SUFFIXES) or not path.is_file():
            continue
        content = path.read_text(encoding="utf-8", errors="replace")
        parts = (match[2] for match in _RAW_STRING.finditer(content)) if is_test else _SPLIT.split(content)
        for text in parts:
            if _HEADER.search(text):
                found.setdefault(identity(text), (text, str(path.relative_to(checkout))))
    return found


def identity(text: str) -> str:
    """Returns the name of a text."""
    return hashlib.sha256(text.strip().encode()).hexdigest()[:24]


def path_of(root: Path, name: str) -> Path:
    """Returns the file with a text."""
    return root / name[:2] / name / "program.hlo"


def references(root: Path) -> dict[str, dict]:
    """Returns jaxlib's verdict on each text, by name."""
    path = root / "references.jsonl"
    if not path.is_file():
        raise SystemExit(f"error: {root} has no texts: name a checkout of XLA with --xla")
    lines = path.read_text(encoding="utf-8").splitlines()
    return {found["name"]: found for found in map(json.loads, lines)}
