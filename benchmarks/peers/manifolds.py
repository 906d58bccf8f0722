"""Compare embeddings with peers on sheets, loops and classes: python -m benchmarks.peers.manifolds [--data ...]

Streams arrive along the sheet, around the loop or class by class. A method learns them, then places new points, by
which its map is judged. Needs `pip install ".[bench]"`. Writes manifolds.md and manifolds.json. With --update, rows of
an earlier run in the same folder are kept unless they are measured again.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks import sheets
from benchmarks.methods import r_squared
from benchmarks.peers import report, run
from benchmarks.peers.manifold_methods import MANIFOLD_METHODS
from driftmap import quality
from driftmap.metrics import euclidean

NEIGHBOURS = 12
"""Neighbours for trustworthiness."""


def sheet_error(truth: np.ndarray, Y: np.ndarray) -> float:
    """Return the residual after the best similarity transformation onto the true sheet."""
    return quality.procrustes_error(truth, Y)


def loop_error(truth: np.ndarray, Y: np.ndarray) -> float:
    """Return 1 - R^2 of the sine and cosine of the angle along the loop, regressed on the map."""
    angle = truth[:, 0]
    return 1.0 - r_squared(np.column_stack([np.cos(angle), np.sin(angle)]), Y)


def class_error(truth: np.ndarray, Y: np.ndarray) -> float:
    """Return the share of points whose nearest neighbour on the map is of another class."""
    apart = euclidean(Y, Y)
    np.fill_diagonal(apart, np.inf)
    return float(np.mean(truth[apart.argmin(axis=1)] != truth))


class Case(NamedTuple):
    """A stream, and the error by which its maps are judged."""

    name: str
    make: Callable[[int], sheets.Stream]
    error: Callable[[np.ndarray, np.ndarray], float]
    title: str
    """Title of the column of errors."""


CASES = {
    "swiss-roll": Case("Swiss roll", sheets.swiss_roll, sheet_error, "error on the sheet"),
    "s-curve": Case("S-curve", sheets.s_curve, sheet_error, "error on the sheet"),
    "helix": Case("Helix", sheets.helix, loop_error, "1 - R² of the angle"),
    "torus": Case("Torus", sheets.torus, loop_error, "1 - R² of the angle"),
    "digits": Case("Digits", sheets.digits, class_error, "1-NN error"),
    "sentences": Case("Sentence-like embeddings", sheets.sentences, class_error, "1-NN error"),
}


def measure(key: str, case: Case, limit: float, memory: float) -> dict[str, Any]:
    """Return a row of the table; every cell is a number or {"no": reason}."""
    stream = case.make(0)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        np.save(folder / "points.npy", np.concatenate([stream.points, stream.new]))
        job = {"kind": "once", "method": key, "points": str(folder / "points.npy"), "half": len(stream.points)}
        lines = run.child(job | {"limit": limit, "memory": memory}, folder, 1)
        file = folder / "place.npy"
        Y = np.load(file) if file.exists() else None
    stages = {line["stage"]: line for line in lines}
    fit, place = (run.outcome(stage, stages) for stage in ("fit", "place"))
    row: dict[str, Any] = {"method": key, "label": MANIFOLD_METHODS[key].label}
    row |= {"fit_seconds": fit.get("seconds", fit), "place_rate": place.get("rate", place)}
    row["memory_mb"] = place.get("megabytes", fit.get("megabytes", fit))
    if Y is None:
        return row | {"error": place, "trust": place}
    trust = quality.trustworthiness(stream.new, Y, n_neighbors=NEIGHBOURS)
    return row | {"error": case.error(stream.truth, Y), "trust": float(trust)}


def table(case: Case, rows: list[dict[str, Any]]) -> str:
    """Return the table of a stream with its notes."""
    columns = (
        ("fit, s", "fit_seconds", report.significant),
        ("place, points/s", "place_rate", report.significant),
        ("memory, MB", "memory_mb", report.megabytes),
        (case.title, "error", report.number(3)),
        ("trustworthiness", "trust", report.number(3)),
    )
    notes = report.Notes()
    lines = [f"| method | {' | '.join(title for title, _, _ in columns)} |", "|---" + "|---:" * len(columns) + "|"]
    for row in rows:
        cells = [notes.cell(row[key], show) for _, key, show in columns]
        lines.append(f"| {row['label']} | {' | '.join(cells)} |")
    return "\n".join([*lines, *(["", "  \n".join(notes.lines())] if notes.reasons else [])])


def markdown(results: dict[str, dict[str, Any]]) -> str:
    """Return all tables."""
    parts = []
    for key, case in CASES.items():
        if rows := [results[key][method] for method in MANIFOLD_METHODS if method in results.get(key, {})]:
            stream = case.make(0)
            (n, d), new = stream.points.shape, len(stream.new)
            parts += [f"### {case.name}: {n:,} points of {d} numbers, {new:,} new ones", table(case, rows)]
    return "\n\n".join(parts) + "\n"


def main(argv: list[str] | None = None) -> None:
    """Measure, and write and print the results."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers.manifolds", description=__doc__.splitlines()[0])
    parser.add_argument("--data", nargs="+", choices=CASES, default=list(CASES), help="which streams (all)")
    parser.add_argument("--methods", nargs="+", choices=MANIFOLD_METHODS, default=list(MANIFOLD_METHODS), help="(all)")
    parser.add_argument("--limit", type=float, default=100.0, help="seconds per method and stream (100)")
    parser.add_argument("--memory", type=float, default=8.0, help="GB per method and stream (8)")
    parser.add_argument("--update", action="store_true", help="keep the results of an earlier run in this folder")
    parser.add_argument("-o", "--output", type=Path, default=Path("benchmarks/results/peers"), help="folder")
    options = parser.parse_args(argv)
    options.output.mkdir(parents=True, exist_ok=True)
    file = options.output / "manifolds.json"
    results: dict[str, dict[str, Any]] = json.loads(file.read_text()) if options.update and file.exists() else {}
    for key in options.data:
        for method in options.methods:
            print(f"{CASES[key].name}: {MANIFOLD_METHODS[method].label}", file=sys.stderr, flush=True)
            row = measure(method, CASES[key], options.limit, options.memory)
            results.setdefault(key, {})[method] = row
            file.write_text(json.dumps(results, indent=1) + "\n")
    text = markdown(results)
    (options.output / "manifolds.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
