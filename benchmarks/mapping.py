"""Measure the speed of mapping: python -m benchmarks.mapping [--quick]

The references of ``transform`` are the two matrix products of landmark MDS, distances from ``X @ L.T`` and positions
from ``D2 @ P``, in NumPy on the same data and of the same precision, on one thread: the minimum for any method that
considers all landmarks. The products are computed in blocks of rows that fit into the cache, which is faster than on
the whole batch. Single rows are timed with fixed landmarks. Times are CPU times, except for the gain of two jobs, which
is wall-clock time.
"""

from __future__ import annotations

import time

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.stream import seasonal
from benchmarks.timing import TICK, Limit, at_least, at_most, command, in_turn, plain_work

DIMENSIONS = (3, 16, 128)
GOALS = {"lmds": 0.5, "stress": 0.1}
ROW_GOALS = {"transform of a row": 25, "transform_one": np.inf, "partial_fit too": 50, "learn_one too": 100}
"""Microseconds, at d = 16."""
JOBS_GOAL = 1.6
LANDMARKS = 100
BLOCK_ROWS = 1024


def products(X: np.ndarray, L: np.ndarray, P: np.ndarray, block: int = BLOCK_ROWS) -> np.ndarray:
    """Compute the reference: the products of landmark MDS, in blocks of rows."""
    out = np.empty((len(X), P.shape[1]), X.dtype)
    for a in range(0, len(X), block):
        np.matmul(X[a : a + block] @ L.T, P, out=out[a : a + block])
    return out


def rates(n: int, times: int) -> list[Limit]:
    """Compare the transform of batches with the products; return the limits."""
    from driftmap import DriftMap

    print("| embedding | d | numbers | blocked products (M rows/s) | transform (M rows/s) | ratio |")
    print("|---|---|---|---|---|---|")
    limits = []
    for embedding, goal in GOALS.items():
        for d in DIMENSIONS:
            stream = seasonal(n, d)
            mapper = DriftMap(n_landmarks=LANDMARKS, embedding=embedding, n_anchors=128).fit(stream[:20_000])
            for dtype in (np.float64, np.float32):
                X, L = stream.astype(dtype), mapper.landmarks_.astype(dtype)
                P = np.ones((LANDMARKS, 2), dtype)
                mapper.transform(X[:10])  # warm up
                runs = [
                    lambda X=X, L=L, P=P: products(X, L, P),
                    lambda X=X, mapper=mapper: mapper.transform(X),
                ]
                reference, ours = in_turn(runs, times)
                tick = ""
                if (d, dtype) == (16, np.float64):
                    name = f"mapping, {embedding}: times the rate of the blocked products"
                    limits.append(at_least(name, goal, [reference / ours]))
                    tick = f" {TICK[limits[-1].ok]}"
                print(
                    f"| {embedding} | {d} | {dtype.__name__} | {n / reference / 1e6:.2f} | {n / ours / 1e6:.2f} | "
                    f"{reference / ours:.3f}{tick} |",
                    flush=True,
                )
    return limits


def single_rows(times: int) -> list[Limit]:
    """Measure one row at a time; return the limits."""
    from driftmap import DriftMap

    print("\n| embedding | d | " + " | ".join(f"{what} (us)" for what in ROW_GOALS) + " |")
    print("|---|---|---|---|---|---|")
    limits = []
    for embedding in GOALS:
        for d in DIMENSIONS:
            stream = seasonal(20_000, d)
            mapper = DriftMap(n_landmarks=LANDMARKS, embedding=embedding, n_anchors=128).fit(stream)
            rows = [stream[i : i + 1] for i in range(500)]
            dicts = [dict(enumerate(row[0])) for row in rows]
            mapper.transform(rows[0])
            runs = [
                lambda mapper=mapper, rows=rows: [mapper.transform(row) for row in rows],
                lambda mapper=mapper, dicts=dicts: [mapper.transform_one(x) for x in dicts],
                lambda mapper=mapper, rows=rows: [mapper.partial_fit(row).transform(row) for row in rows],
                lambda mapper=mapper, dicts=dicts: [mapper.learn_one(x).transform_one(x) for x in dicts],
            ]
            cells = []
            for (what, goal), seconds in zip(ROW_GOALS.items(), in_turn(runs, times), strict=True):
                cells.append(f"{seconds / 500 * 1e6:.1f}")
                if d == 16 and goal < np.inf:
                    limits.append(at_most(f"one row, {embedding}: {what}, us", goal, [seconds / 500 * 1e6]))
                    cells[-1] += f" {TICK[limits[-1].ok]}"
            print(f"| {embedding} | {d} | {' | '.join(cells)} |", flush=True)
    return limits


def threads(times: int) -> list[Limit]:
    """Compare two threads with one; return the limit."""
    from driftmap import DriftMap

    X = seasonal(100_000, 16)
    mappers = [DriftMap(n_landmarks=LANDMARKS, n_anchors=128, n_jobs=jobs).fit(X[:20_000]) for jobs in (1, 2)]
    for mapper in mappers:
        mapper.transform(X[:10])
    runs = [lambda mapper=mapper: mapper.transform(X) for mapper in mappers]
    one, two, plain, plain_two = in_turn([*runs, plain_work(1), plain_work(2)], times, time.perf_counter)
    limit = at_least("mapping 100,000 rows: speed with n_jobs=2 against 1", JOBS_GOAL, [one / two])
    print(f"\n100,000 rows, stress, n_jobs=2 against 1: {one / two:.2f} times as fast {TICK[limit.ok]}")
    print(f"(two threads of numpy.sin: {plain / plain_two:.2f} times as fast, the limit of the machine)")
    return [limit]


def run(quick: bool) -> list[Limit]:
    """Print the tables; return the limits."""
    print(f"m={LANDMARKS}, two dimensions, one thread\n")
    times = 3 if quick else 7
    with threadpool_limits(1):
        return rates(20_000 if quick else 100_000, times) + single_rows(times) + threads(times)


if __name__ == "__main__":
    command(__doc__, run)
