"""Speed of mapping: python -m benchmarks.mapping [--quick]

``transform`` is compared with the two matrix products that landmark MDS needs, distances from ``X @ L.T`` and positions
from ``D2 @ P``, in numpy on the same data and of the same precision in the same run, one thread: the least that any
method must do which looks at all landmarks. The products are done once on the whole batch of 100,000 rows, as one would
write them, and once in blocks that stay in the cache. Single rows are timed with landmarks that do not change.
"""

from __future__ import annotations

import argparse
import platform

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.stream import TICK, best, seasonal

DIMENSIONS = (3, 16, 128)
GOALS = {"lmds": 0.5, "stress": 0.1}
LANDMARKS = 100


def products(X: np.ndarray, L: np.ndarray, P: np.ndarray, block: int) -> np.ndarray:
    """The reference."""
    out = np.empty((len(X), P.shape[1]), X.dtype)
    for a in range(0, len(X), block):
        np.matmul(X[a : a + block] @ L.T, P, out=out[a : a + block])
    return out


def rates(n: int, times: int) -> None:
    """Batches: transform against the products."""
    from driftmap import DriftMap

    print("| embedding | d | numbers | products (M rows/s) | in blocks | transform (M rows/s) | ratio | to blocks |")
    print("|---|---|---|---|---|---|---|---|")
    for embedding, goal in GOALS.items():
        for d in DIMENSIONS:
            stream = seasonal(n, d)
            mapper = DriftMap(n_landmarks=LANDMARKS, embedding=embedding).fit(stream[:20_000])
            for dtype in (np.float64, np.float32):
                X, L = stream.astype(dtype), mapper.landmarks_.astype(dtype)
                P = np.ones((LANDMARKS, 2), dtype)
                mapper.transform(X[:10])  # warm up
                whole = best(lambda X=X, L=L, P=P: products(X, L, P, len(X)), times)
                blocks = best(lambda X=X, L=L, P=P: products(X, L, P, 1024), times)
                ours = best(lambda X=X, mapper=mapper: mapper.transform(X), times)
                told = f" {TICK[whole / ours >= goal]}" if (d, dtype) == (16, np.float64) else ""
                print(
                    f"| {embedding} | {d} | {dtype.__name__} | {n / whole / 1e6:.2f} | {n / blocks / 1e6:.2f} | "
                    f"{n / ours / 1e6:.2f} | {whole / ours:.2f}{told} | {blocks / ours:.3f} |",
                    flush=True,
                )


def single_rows(times: int) -> None:
    """One row at a time."""
    from driftmap import DriftMap

    print("\n| embedding | d | transform of a row (us) | transform_one | partial_fit too | learn_one too |")
    print("|---|---|---|---|---|---|")
    for embedding in GOALS:
        for d in DIMENSIONS:
            stream = seasonal(20_000, d)
            mapper = DriftMap(n_landmarks=LANDMARKS, embedding=embedding).fit(stream)
            rows = [stream[i : i + 1] for i in range(500)]
            dicts = [dict(enumerate(row[0])) for row in rows]
            mapper.transform(rows[0])
            by_row = best(lambda mapper=mapper, rows=rows: [mapper.transform(row) for row in rows], times)
            by_dict = best(lambda mapper=mapper, dicts=dicts: [mapper.transform_one(x) for x in dicts], times)
            both = best(
                lambda mapper=mapper, rows=rows: [mapper.partial_fit(row).transform(row) for row in rows], times
            )
            both_dicts = best(
                lambda mapper=mapper, dicts=dicts: [mapper.learn_one(x).transform_one(x) for x in dicts], times
            )
            columns = [
                (by_row, 25e-6),
                (by_dict, np.inf),
                (both, 50e-6),
                (both_dicts, 100e-6),
            ]
            cells = [
                f"{seconds / 500 * 1e6:.1f}" + (f" {TICK[seconds / 500 < goal]}" if d == 16 and goal < np.inf else "")
                for seconds, goal in columns
            ]
            print(f"| {embedding} | {d} | {' | '.join(cells)} |", flush=True)


def threads(times: int) -> None:
    """Two threads against one."""
    from driftmap import DriftMap

    X = seasonal(100_000, 16)
    mapper = DriftMap(n_landmarks=LANDMARKS).fit(X[:20_000])
    mapper.transform(X[:10])
    one = best(lambda: mapper.transform(X), times)
    mapper.set_params(n_jobs=2)
    two = best(lambda: mapper.transform(X), times)
    print(f"\n100,000 rows, stress, n_jobs=2 against 1: {one / two:.2f} times as fast {TICK[one / two >= 1.6]}")


def main() -> None:
    """Print everything."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="smaller batches, fewer repetitions")
    quick = parser.parse_args().quick
    import numba

    print(f"{platform.processor() or platform.machine()}, Python {platform.python_version()}, ", end="")
    print(f"numpy {np.__version__}, numba {numba.__version__}, m={LANDMARKS}, two dimensions, one thread\n")
    with threadpool_limits(1):
        rates(20_000 if quick else 100_000, 3 if quick else 7)
        single_rows(3 if quick else 7)
        threads(3 if quick else 7)


if __name__ == "__main__":
    main()
