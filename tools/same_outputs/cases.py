"""Reads the lists of cases, commands.txt and scripts.txt."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

FOLDER = Path(__file__).parent


class Case(NamedTuple):
    """A command line (a few lines of bash) or a script (a few lines of Python)."""

    kind: str
    name: str
    text: str

    @property
    def key(self) -> str:
        """Kind and name, which identify the case."""
        return f"{self.kind}/{self.name}"

    @property
    def needs_data(self) -> bool:
        """True if it needs the recorded data of the paper (DRIFTMAP_DATA)."""
        return "DRIFTMAP_DATA" in self.text


def commands() -> list[Case]:
    """Read the command lines: a name, spaces and a line of bash; indented lines continue the previous one."""
    entries = _entries("commands.txt", r"\n(?=\S)")
    return [Case("command", *re.sub(r"\n\s+", " ", entry).split(None, 1)) for entry in entries]


def scripts() -> list[Case]:
    """Read the scripts: a line with ``== name``, and Python up to the next such line."""
    return [Case("script", *entry.split("\n", 1)) for entry in _entries("scripts.txt", r"(?:\A|\n)== ")]


def _entries(file: str, separator: str) -> list[str]:
    text = "".join(line for line in (FOLDER / file).read_text().splitlines(True) if not re.match(r"#|\s*$", line))
    return [entry.strip() for entry in re.split(separator, text) if entry.strip()]


def all_cases() -> list[Case]:
    """Return the cases of both lists; raise if a name occurs twice."""
    cases = commands() + scripts()
    keys = [case.key for case in cases]
    if twice := {key for key in keys if keys.count(key) > 1}:
        raise ValueError(f"cases that occur twice: {', '.join(sorted(twice))}")
    return cases
