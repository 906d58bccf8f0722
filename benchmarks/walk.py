"""How many functions in how many files one command passes: python -m benchmarks.walk [--list]

Counts the functions of the package that ``driftmap embed`` of 1,000 rows and one further row through ``partial_fit``
pass, each once, as ``sys.setprofile`` sees them: methods, properties, generators and functions within functions, too.
Code that runs on import, lambdas and comprehensions are left out, and what ``dataclass`` writes, which is in no file.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

import driftmap

ROOT = Path(driftmap.__file__).parent
OUTER = ("cli/", "pipeline/", "tables/", "sources/", "storage/")
"""Folders of the package around the algorithm."""


def walk(work: Callable[[], Any]) -> set[tuple[str, str]]:
    """The functions of the package that some work passes, each as (file, name), without code that runs on import."""
    seen: set[tuple[str, str]] = set()

    def note(frame: FrameType, event: str, argument: Any) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(str(ROOT)) and not code.co_name.startswith("<"):
            seen.add((str(Path(code.co_filename).relative_to(ROOT)), code.co_qualname))

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return {(file, name) for file, name in seen if not _is_class_body(name)}


def _is_class_body(name: str) -> bool:
    last = name.rpartition(".")[2]
    return last[:1].isupper() or last.lstrip("_")[:1].isupper()


def embed() -> None:
    """``driftmap embed`` of 1,000 rows of five numbers."""
    from driftmap.cli import main

    with tempfile.TemporaryDirectory() as name:
        source, target = Path(name) / "small.csv", Path(name) / "out.csv"
        rows = np.cumsum(np.random.default_rng(0).standard_normal((1000, 5)), axis=0)
        np.savetxt(source, rows, delimiter=",", header="a,b,c,d,e", comments="")
        assert main(["embed", str(source), "-o", str(target)]) == 0


def one_row() -> Callable[[], Any]:
    """One further row through ``partial_fit``."""
    from driftmap import DriftMap

    rows = np.cumsum(np.random.default_rng(0).standard_normal((1001, 5)), axis=0)
    mapper = DriftMap(n_landmarks=20).partial_fit(rows[:1000])
    return lambda: mapper.partial_fit(rows[1000:])


def main() -> None:
    """Print the counts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true", help="the functions, too")
    args = parser.parse_args()
    for title, work in (("driftmap embed, 1,000 rows", embed), ("partial_fit, one row", one_row())):
        seen = walk(work)
        files = Counter(file for file, _ in seen)
        in_cli = sum(file.startswith(OUTER) for file in files)
        print(
            f"{title}: {len(seen)} functions in {len(files)} files, {in_cli} of them in the command line, tables and storage"
        )
        if args.list:
            for file, name in sorted(seen):
                print(f"  {file}: {name}")


if __name__ == "__main__":
    main()
