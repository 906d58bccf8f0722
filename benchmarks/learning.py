"""Learning against the least that must be done: python -m benchmarks.learning [--quick]

``partial_fit`` is compared with "blocked X @ L.T plus row minimum" in numpy, of the same precision, on the seasonal
stream, in one run, for few and many features and landmarks; each stream is many times as long as the memory. One
thread: BLAS is limited to one, and processor time is compared. All threads: there is no limit, ``partial_fit`` has one
job per core if it takes ``n_jobs``, and the time on the wall is compared. Ratios are those of the rates, 1 being as
fast as the reference; "all stored" is with ``memory=None``.
"""

from __future__ import annotations

import os
import time
from itertools import product

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.stream import product_and_minimum, seasonal
from benchmarks.timing import TICK, Limit, at_least, command, in_turn
from driftmap.landmarks import OnlineLandmarks

LENGTHS = {3: 10**6, 16: 10**6, 128: 2 * 10**5, 768: 5 * 10**4}
"""Points, by the number of features."""
LANDMARKS = (20, 100, 500)
DTYPES = (np.float64, np.float32)
GOAL = 0.5
ENOUGH = 1.0
"""Seconds that a shape may take before it is measured again."""
THREADS = {"one thread": 1, "all threads": None}
MEMORIES = {"": "auto", ", all stored": None}


def selector(m: int, memory: str | None, threads: int | None) -> OnlineLandmarks:
    """Landmarks that are learnt on so many threads, as far as they can be."""
    landmarks = OnlineLandmarks(m, memory=memory)
    if threads is None and "n_jobs" in landmarks.get_params():
        landmarks.set_params(n_jobs=os.cpu_count())
    return landmarks


def ratios(X: np.ndarray, m: int, threads: int | None, times: int) -> tuple[float, list[float]]:
    """The reference's seconds, and how much of its rate each way to store points reaches."""
    L = X[:: len(X) // m][:m].copy()
    runs = [lambda: product_and_minimum(X, L)]
    runs += [lambda memory=memory: selector(m, memory, threads).partial_fit(X) for memory in MEMORIES.values()]
    clock = time.process_time if threads == 1 else time.perf_counter
    with threadpool_limits(threads):
        for memory in MEMORIES.values():
            selector(m, memory, threads).partial_fit(X[:20_000])  # compiles
        reference, *ours = in_turn(runs, times, clock, ENOUGH)
    return reference, [reference / seconds for seconds in ours]


def run(quick: bool) -> list[Limit]:
    """Print the table; returns the limits."""
    names = [f"ratio, {thread}{memory}" for thread, memory in product(THREADS, MEMORIES)]
    print("| d | m | numbers | n | reference, one thread (M rows/s) | " + " | ".join(names) + " |")
    print("|---|---|---|---|---|" + "---|" * len(names))
    found = []
    for d, length in LENGTHS.items():
        n = length // (5 if quick and length > 10**5 else 1)
        stream = seasonal(n, d)
        for dtype, m in product(DTYPES, LANDMARKS):
            X = stream.astype(dtype, copy=False)
            measured = [ratios(X, m, threads, 1 if quick else 2) for threads in THREADS.values()]
            found.append([ratio for _, both in measured for ratio in both])
            cells = " | ".join(f"{ratio:.2f} {TICK[ratio >= GOAL]}" for ratio in found[-1])
            print(f"| {d} | {m} | {dtype.__name__} | {n:,} | {n / measured[0][0] / 1e6:.2f} | {cells} |", flush=True)
    return [
        at_least(f"learning: {name[7:]}", GOAL, column) for name, column in zip(names, np.transpose(found), strict=True)
    ]


if __name__ == "__main__":
    command(__doc__, run)
