"""Measure alarms on streams that do not change, and delays where they do: ``python -m benchmarks.drift [--quick]``.

False alarms: 200 streams of 10,000 rows (``--quick``: 10 of 3,000) of different shapes, in random order. The monitor
follows each with fixed landmarks, since neither rows need to be placed nor landmarks exchanged for its checks.
Delays: rows from a change to the first alarm, with a map that learns the stream; "missed" without an alarm within
1,000 rows, and alarms elsewhere.
"""

from __future__ import annotations

import sys
import time

import numpy as np

from benchmarks.shapes import SHAPES, stream
from driftmap import DriftMap
from driftmap.map.drift import DriftMonitor
from driftmap.metrics import make_store

N, CHANGE, DEADLINE = 4000, 2000, 1000
N_LANDMARKS = 50


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


def false_alarms(n_streams: int, n: int, windows: tuple[int, ...] = (200,)) -> None:
    """Print the alarms per check on streams that do not change."""
    for window in windows:
        checks = alarms = 0
        start = time.process_time()
        for seed in range(n_streams):
            monitor = follow(DriftMonitor(window), stream(SHAPES[seed % len(SHAPES)], n, seed))
            checks, alarms = checks + monitor.n_checks, alarms + monitor.n_drifts
        allowed = 1e-4 * checks
        print(
            f"window {window}: {alarms} alarms in {checks:,} checks of {n_streams} streams; alpha allows {allowed:.1f} "
            f"({time.process_time() - start:.0f} s)"
        )


def changed(kind: str, seed: int) -> np.ndarray:
    """Return a stream that changes at row 2,000."""
    rng = np.random.default_rng([7, seed])
    X = stream("clusters", N, seed)
    if kind == "abrupt":
        X[CHANGE:] += 3 * rng.standard_normal(X.shape[1])
    elif kind == "gradual":
        X += np.clip((np.arange(N) - CHANGE) / DEADLINE, 0, 1)[:, None] * 3 * rng.standard_normal(X.shape[1])
    elif kind == "new cluster inside":
        inside = CHANGE + np.flatnonzero(rng.random(N - CHANGE) < 0.3)
        X[inside] = X[:CHANGE].mean(axis=0) + 0.3 * rng.standard_normal((len(inside), X.shape[1]))
    elif kind == "variance only":
        mean = X.mean(axis=0)
        X[CHANGE:] = mean + 1.2 * (X[CHANGE:] - mean)
    else:
        X = rng.standard_normal((N, 8))
        X[CHANGE:, 1] = 0.8 * X[CHANGE:, 0] + 0.6 * X[CHANGE:, 1]
    return X


def delays(n_seeds: int) -> None:
    """Print the delays after changes of several kinds."""
    print(f"\n| change | delay, median of {n_seeds} | missed | error of began, median | alarms elsewhere |")
    print("|---|---|---|---|---|")
    for kind in ("abrupt", "gradual", "new cluster inside", "variance only", "correlation only"):
        found, elsewhere, errors = [], 0, []
        for seed in range(n_seeds):
            mapper = DriftMap(n_landmarks=N_LANDMARKS, embedding="lmds")
            drifts = mapper.update(changed(kind, seed), monitor=DriftMonitor()).drifts
            hits = [drift for drift in drifts if CHANGE <= drift.arrival < CHANGE + DEADLINE]
            found += [hits[0].arrival - CHANGE] if hits else []
            errors += [abs(hits[0].began - CHANGE)] if hits else []
            elsewhere += len(drifts) - len(hits)
        middle = [f"{np.median(values):.0f}" if values else "-" for values in (found, errors)]
        print(f"| {kind} | {middle[0]} | {n_seeds - len(found)} | {middle[1]} | {elsewhere} |")


if __name__ == "__main__":
    quick = "--quick" in sys.argv
    false_alarms(10 if quick else 200, 3000 if quick else 10_000)
    delays(2 if quick else 6)
