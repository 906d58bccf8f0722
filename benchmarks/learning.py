"""Learning against the least that must be done: python -m benchmarks.learning [--quick]

``partial_fit`` is compared with "blocked X @ L.T plus row minimum" in numpy, of the same precision, on the seasonal
stream, in one run, for few and many features and landmarks. Each stream is many times as long as the memory (10,000
points); where it would not fit into the machine it is a part of itself, a whole number of its weeks, again and again.
With every point stored ("all stored", ``memory=None``, for comparison) it is that part once. One thread: BLAS is
limited to one, and processor time is compared. All threads: there is no limit, ``n_jobs`` is -1, and the time on the
wall is compared. Ratios are those of the rates, 1 being as fast as the reference.
"""

from __future__ import annotations

import time
from itertools import product

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.stream import product_and_minimum, seasonal
from benchmarks.timing import TICK, Limit, at_least, command, in_turn
from driftmap.landmarks import OnlineLandmarks

WEEK = 7 * 1440
"""Points after which the seasonal stream begins again, but for its noise."""
LENGTHS = {3: (100 * WEEK, 1), 16: (100 * WEEK, 1), 128: (20 * WEEK, 5), 768: (5 * WEEK, 20)}
"""Points of a part of the stream, and how often it comes, by the number of features."""
LANDMARKS = (20, 100, 500)
DTYPES = (np.float64, np.float32)
GOAL = 0.5
ENOUGH = 1.0
"""Seconds that a shape may take before it is measured again."""
THREADS = {"one thread": 1, "all threads": None}
MEMORIES = {"": "auto", ", all stored": None}


def learn(X: np.ndarray, m: int, memory: str | None, repeats: int, jobs: int) -> None:
    """Learn a stream."""
    landmarks = OnlineLandmarks(m, memory=memory, n_jobs=jobs)
    for _ in range(repeats):
        landmarks.partial_fit(X)


def ratio(
    X: np.ndarray, m: int, memory: str | None, repeats: int, threads: int | None, times: int
) -> tuple[float, ...]:
    """The reference's seconds for X, and how much of its rate learning reaches."""
    L = X[:: len(X) // m][:m].copy()
    clock = time.process_time if threads == 1 else time.perf_counter
    jobs = threads or -1
    learn(X, m, memory, 1, jobs)  # compiles
    with threadpool_limits(threads):
        runs = [lambda: product_and_minimum(X, L), lambda: learn(X, m, memory, repeats, jobs)]
        reference, ours = in_turn(runs, times, clock, ENOUGH)
    return reference, repeats * reference / ours


def run(quick: bool) -> list[Limit]:
    """Print the table; returns the limits."""
    names = [f"ratio, {name}" for name in THREADS]
    print("| d | m | numbers | n | reference, one thread (M rows/s) | " + " | ".join(names) + " | all stored |")
    print("|---|---|---|---|---|" + "---|" * (len(names) + 1))
    found, times = [], 1 if quick else 2
    for d, (n, repeats) in LENGTHS.items():
        n, repeats = (n // 5, repeats) if quick and n > 10 * WEEK else (n, repeats)
        stream = seasonal(n, d)
        for dtype, m in product(DTYPES, LANDMARKS):
            X = stream.astype(dtype, copy=False)
            measured = [ratio(X, m, "auto", repeats, threads, times) for threads in THREADS.values()]
            found.append([ours for _, ours in measured])
            cells = " | ".join(f"{ours:.2f} {TICK[ours >= GOAL]}" for ours in found[-1])
            stored = ratio(X, m, None, 1, 1, 1)[1]
            rate = n / measured[0][0] / 1e6
            print(
                f"| {d} | {m} | {dtype.__name__} | {n * repeats:,} | {rate:.2f} | {cells} | {stored:.2f} |", flush=True
            )
    return [
        at_least(f"learning: {name}", GOAL, column) for name, column in zip(THREADS, np.transpose(found), strict=True)
    ]


if __name__ == "__main__":
    command(__doc__, run)
