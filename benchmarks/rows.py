"""Compare single rows, metrics, callables and start-up with minimal references: python -m benchmarks.rows [--quick]

- Learning and mapping one row, or its novelty, against one row of distances in NumPy (16 features, 100 landmarks).
- Learning digits (1,797 x 64, 100 landmarks) with each native metric, against the Euclidean distance.
- Learning rows with a callable metric, against the time inside the callable.
- ``driftmap embed`` of 1,000 rows against ``python -c "import numpy"``, both as processes.

Ratios are those of CPU times in one run.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.stream import seasonal, slow
from benchmarks.timing import Limit, at_most, command, in_turn
from driftmap import DriftMap
from driftmap._core import METRICS
from driftmap.landmarks import OnlineLandmarks

ROWS = 500


def single_rows(times: int) -> list[Limit]:
    """Compare one row at a time with NumPy; return the limits."""
    X = seasonal(20_000, 16)
    mapper = DriftMap(n_landmarks=100).fit(X)
    landmarks, rows = mapper.landmarks_, [X[i : i + 1] for i in range(ROWS)]
    mapper.transform(rows[0])
    runs = [
        lambda: [np.sqrt(((row - landmarks) ** 2).sum(axis=1)) for row in rows],
        lambda: [mapper.partial_fit(row).transform(row) for row in rows],
        lambda: [mapper.novelty(row) for row in rows],
    ]
    reference, learnt, novelty = in_turn(runs, times)
    print(f"one row: {reference / ROWS * 1e6:.1f} us in numpy, {learnt / ROWS * 1e6:.1f} learnt and mapped")
    return [
        at_most("one row, partial_fit + transform / numpy", 2, [learnt / reference]),
        at_most("one row, novelty / numpy", 2, [novelty / reference]),
    ]


def named_metrics(times: int) -> list[Limit]:
    """Compare all native metrics on digits; return the limits."""
    from sklearn.datasets import load_digits

    X = load_digits().data
    params = {"minkowski": {"p": 3}}
    runs = [
        lambda name=name: OnlineLandmarks(100, metric=name, metric_params=params.get(name)).partial_fit(X)
        for name in METRICS
    ]
    seconds = dict(zip(METRICS, in_turn(runs, times), strict=True))
    ratios = {name: taken / seconds["euclidean"] for name, taken in seconds.items()}
    print("digits: " + ", ".join(f"{name} {ratio:.1f}" for name, ratio in ratios.items()))
    return [at_most("digits, native metric / Euclidean", 5, ratios.values())]


def callables(times: int) -> list[Limit]:
    """Compare learning with a callable with the time inside the callable; return the limits."""
    X, ratios = seasonal(2000, 16), []
    for _ in range(times):
        calls = 0.0

        def distance(x: np.ndarray, y: np.ndarray) -> float:
            nonlocal calls
            start = time.perf_counter()
            found = float(np.abs(x - y).max())
            calls += time.perf_counter() - start
            return found

        start = time.perf_counter()
        OnlineLandmarks(20, metric=distance).partial_fit(X)
        ratios.append((time.perf_counter() - start) / calls)
    return [at_most("a callable / its own calls", 1.3, [min(ratios)])]


def start_up(times: int) -> list[Limit]:
    """Compare processes by CPU time, with cached bytecode as in an installed program; return the limits."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}

    def seconds(*arguments: str) -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, *arguments], check=True, capture_output=True, env=environment)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    with tempfile.TemporaryDirectory() as folder:
        environment["PYTHONPYCACHEPREFIX"] = folder
        source, out = Path(folder, "small.csv"), str(Path(folder, "out.csv"))
        np.savetxt(source, slow(1000, 5), delimiter=",", header="a,b,c,d,e", comments="")
        pairs = [
            (seconds("-c", "import numpy"), seconds("-m", "driftmap", "embed", str(source), "-o", out))
            for _ in range(times + 1)
        ]
    reference, ours = np.min(pairs[1:], axis=0)
    print(f"1,000 rows: {ours:.2f} s, import numpy {reference:.2f} s")
    return [at_most("embed of 1,000 rows / import numpy", 1.5, [ours / reference])]


def run(quick: bool) -> list[Limit]:
    """Print the ratios; return the limits."""
    times = 3 if quick else 10
    with threadpool_limits(1):
        return [*single_rows(times), *named_metrics(times), *callables(min(times, 5)), *start_up(times)]


if __name__ == "__main__":
    command(__doc__, run)
