"""Measure alarms on streams that do not change, and delays where they do: ``python -m benchmarks.drift [--quick]``.

- False alarms: 200 streams of 10,000 rows (``--quick``: 10 of 3,000) of different shapes, in random order. The monitor
  follows each with fixed landmarks, since neither rows need to be placed nor landmarks exchanged for its checks.
- Generated streams, each of 4,000 rows with a change at row 2,000, by several methods (``benchmarks.drift_methods``).
- Recorded streams, in the folder ``DRIFTMAP_DATA``: rows of all classes but one, and those of all classes from the
  middle on; rows of some classes, and then those of the others; and streams in the order of time, whose changes nobody
  knows. The sets are small, so the monitor's window is 100 rows.

Delay: rows from a change to the first alarm within the deadline of 1,000 rows, median of the streams in which there is
one. False: alarms per 1,000 rows outside of the deadlines. Shuffled: the same in the same streams, shuffled. F1: of all
alarms, where those after the first within a deadline do not count. Methods by name: ``--only DriftMonitor,ADWIN``;
parts by name: ``--part false-alarms``, ``generated`` or ``recorded``.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.drift_methods import METHODS
from benchmarks.shapes import SHAPES, stream
from driftmap.map.drift import DriftMonitor
from driftmap.metrics import make_store

N, CHANGE, DEADLINE = 4000, 2000, 1000
RETURN, SPELL = 3000, 300
"""First row of the second spell of a recurring change, and the length of each."""
N_LANDMARKS = 50
KINDS = ("abrupt", "gradual", "recurring", "new cluster inside", "variance only", "correlation only")
CLASSES = {"cnae9": 9, "har": 6, "bank": 2, "sms": 2}
"""Recorded sets with classes, and how many."""


class Stream(NamedTuple):
    """A stream with known changes."""

    rows: np.ndarray
    changes: tuple[int, ...]
    window: int = 200


# --- false alarms ---


def follow(monitor: DriftMonitor, X: np.ndarray, m: int = N_LANDMARKS) -> DriftMonitor:
    """Let a monitor follow rows with the first m of them as landmarks, and after an alarm the m rows before it."""
    store, seen = make_store("euclidean", None, X), 0
    X = store.check(X)
    monitor.begin(store, 0, (0.0, 0))
    while seen < len(X):
        rows = X[seen : seen + monitor.rows_to_stop(m)]
        measured = monitor.measure(store, rows)
        seen += len(rows)
        last = np.arange(max(0, seen - m), seen)
        monitor.follow(store, rows, measured, (0.0, 0), m, lambda last=last: (last, X[last]))
    return monitor


def false_alarms(n_streams: int, n: int) -> None:
    """Print the alarms per check on streams that do not change."""
    checks = alarms = 0
    start = time.process_time()
    for seed in range(n_streams):
        monitor = follow(DriftMonitor(), stream(SHAPES[seed % len(SHAPES)], n, seed))
        checks, alarms = checks + monitor.n_checks, alarms + monitor.n_drifts
    print(
        f"{alarms} alarms in {checks:,} checks of {n_streams} streams; alpha allows {1e-4 * checks:.1f} "
        f"({time.process_time() - start:.0f} s)"
    )


# --- streams that change ---


def changed(kind: str, seed: int) -> Stream:
    """Return a stream that changes at row 2,000."""
    rng = np.random.default_rng([7, seed])
    X = stream("clusters", N, seed)
    place = 3 * rng.standard_normal(X.shape[1])
    if kind == "abrupt":
        X[CHANGE:] += place
    elif kind == "gradual":
        X += np.clip((np.arange(N) - CHANGE) / DEADLINE, 0, 1)[:, None] * place
    elif kind == "recurring":
        for first in (CHANGE, RETURN):
            X[first : first + SPELL] += place
        return Stream(X, (CHANGE, CHANGE + SPELL, RETURN, RETURN + SPELL))
    elif kind == "new cluster inside":
        inside = CHANGE + np.flatnonzero(rng.random(N - CHANGE) < 0.3)
        X[inside] = X[:CHANGE].mean(axis=0) + 0.3 * rng.standard_normal((len(inside), X.shape[1]))
    elif kind == "variance only":
        mean = X.mean(axis=0)
        X[CHANGE:] = mean + 1.2 * (X[CHANGE:] - mean)
    else:
        X = rng.standard_normal((N, 8))
        X[CHANGE:, 1] = 0.8 * X[CHANGE:, 0] + 0.6 * X[CHANGE:, 1]
    return Stream(X, (CHANGE,))


def recorded(name: str, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows of a recorded set in random order, and the ranks of their classes, the rarest last."""
    found = np.load(Path(os.environ["DRIFTMAP_DATA"], "quality", f"{name}.npz"))
    order = np.random.default_rng(seed).permutation(len(found["X"]))
    _, classes, counts = np.unique(found["y"], return_inverse=True, return_counts=True)
    return found["X"].astype(float)[order], np.argsort(np.argsort(-counts, kind="stable"))[classes][order]


def new_class(name: str, seed: int) -> Stream:
    """Return rows of all classes but one of the rarer ones, and rows of all classes from the middle on."""
    X, ranks = recorded(name, seed)
    n_classes = CLASSES[name]
    is_new = ranks == n_classes - 1 - seed % (n_classes // 2)
    old = X[~is_new]
    half = len(old) // 2
    late = np.concatenate([old[half:], X[is_new]])
    return Stream(np.concatenate([old[:half], late[np.random.default_rng(seed).permutation(len(late))]]), (half,), 100)


def other_classes(name: str, seed: int) -> Stream:
    """Return rows of some classes, and then those of the others."""
    X, ranks = recorded(name, seed)
    is_new = (ranks + seed) % CLASSES[name] >= CLASSES[name] // 2 if CLASSES[name] > 2 else ranks == 1
    return Stream(np.concatenate([X[~is_new], X[is_new]]), (int((~is_new).sum()),), 100)


def over_time(name: str) -> np.ndarray:
    """Return the rows of a recorded stream in the order of time."""
    folder = Path(os.environ["DRIFTMAP_DATA"])
    if name == "SPY":
        prices = np.genfromtxt(folder / "spy10_adjclose.csv", delimiter=",", skip_header=1)[:, 1:]
        return 100 * (prices[1:] / prices[:-1] - 1)
    rng, X = np.random.default_rng(0), np.load(folder / "dynamic" / f"{name}.npz")["X"].astype(float)
    return np.concatenate([moment[rng.permutation(len(moment))] for moment in X])


class Score(NamedTuple):
    """What a method did on some streams."""

    delays: list[int]
    n_changes: int
    n_false: int
    n_stable: int
    """Rows outside of the deadlines."""

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall."""
        return 2 * len(self.delays) / (len(self.delays) + self.n_false + self.n_changes)


def score(found: list[tuple[Stream, list[int]]]) -> Score:
    """Compare alarms with the changes of the streams."""
    delays, n_changes, n_false, n_stable = [], 0, 0, 0
    for case, alarms in found:
        n = len(case.rows)
        owner = np.full(n, -1)
        for i, change in enumerate(case.changes):
            owner[change : change + DEADLINE] = i
        owners = owner[np.array(alarms, dtype=int)]
        for i, change in enumerate(case.changes):
            hits = np.array(alarms)[owners == i]
            delays += [int(hits[0]) - change] if len(hits) else []
        n_changes += len(case.changes)
        n_false += int((owners < 0).sum())
        n_stable += int((owner < 0).sum())
    return Score(delays, n_changes, n_false, n_stable)


def compared(name: str, cases: list[Stream], methods: list[str]) -> Iterator[tuple[str, Score]]:
    """Print a row for each method, and yield its score."""
    for method in methods:
        found = score([(case, METHODS[method](case.rows, case.window)) for case in cases])
        mixed = [case.rows[np.random.default_rng(i).permutation(len(case.rows))] for i, case in enumerate(cases[:2])]
        shuffled = sum(len(METHODS[method](rows, cases[0].window)) for rows in mixed)
        delay = f"{np.median(found.delays):.0f}" if found.delays else "-"
        false = f"{1000 * found.n_false / found.n_stable:.2f}" if found.n_stable else "-"
        print(
            f"| {name} | {method} | {delay} | {len(found.delays)} of {found.n_changes} | {false} | "
            f"{1000 * shuffled / sum(map(len, mixed)):.2f} |",
            flush=True,
        )
        yield method, found


def table(subjects: dict[str, Callable[[], list[Stream]]], methods: list[str]) -> None:
    """Print delays and false alarms of all methods on all subjects, and F1 of each method."""
    print("\n| stream | method | delay | found | false per 1,000 | shuffled, per 1,000 |\n|---|---|---|---|---|---|")
    scores: dict[str, list[Score]] = {method: [] for method in methods}
    for name, cases in subjects.items():
        for method, found in compared(name, cases(), methods):
            scores[method].append(found)
    for method, parts in scores.items():
        delays = [delay for part in parts for delay in part.delays]
        every = Score(delays, *(sum(part[i] for part in parts) for i in (1, 2, 3)))
        print(f"F1 of {method}: {every.f1:.2f}")


def in_time(name: str, methods: list[str]) -> None:
    """Print how many alarms there are in a stream in the order of time, and in the same rows, shuffled."""
    X = over_time(name)
    mixed = X[np.random.default_rng(0).permutation(len(X))]
    counts = [f"{method} {len(METHODS[method](X, 200))} ({len(METHODS[method](mixed, 200))})" for method in methods]
    print(f"{name}, {len(X):,} rows: alarms in order (shuffled): {', '.join(counts)}", flush=True)


def main() -> None:
    """Print all tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", default=",".join(METHODS))
    parser.add_argument("--part", choices=("false-alarms", "generated", "recorded"))
    given = parser.parse_args()
    methods, seeds = given.only.split(","), range(1 if given.quick else 4)
    if given.part in (None, "false-alarms"):
        false_alarms(10 if given.quick else 200, 3000 if given.quick else 10_000)
    if given.part in (None, "generated"):
        table({kind: lambda kind=kind: [changed(kind, seed) for seed in seeds] for kind in KINDS}, methods)
    if given.part in (None, "recorded") and "DRIFTMAP_DATA" in os.environ:
        subjects = {}
        for name in CLASSES:
            subjects[f"{name}, one more class"] = lambda name=name: [new_class(name, seed) for seed in seeds]
            subjects[f"{name}, other classes"] = lambda name=name: [other_classes(name, seed) for seed in seeds]
        table(subjects, methods)
        for name in ("SPY", "cartolastd", "sorts"):
            in_time(name, methods)


if __name__ == "__main__":
    main()
