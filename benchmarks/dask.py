"""Compare merged leaves with one pass over the same rows: python -m benchmarks.dask [--quick] [--rows N]

Streams of three kinds and widths, in order or shuffled, are split into leaves. The table shows the true covering
radius, the stated bound and the stress of the map, each divided by that of one pass, and whether the bound holds for
every row. It starts with the cost of merging two full memories and the size of a leaf. With ``--rows N`` it instead
compares two local workers with one process, on N rows and a tenth of them in Parquet files (about 97 bytes per row,
deleted at the end), and extrapolates to 10^12 rows.
"""

from __future__ import annotations

import argparse
import itertools
import pickle
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import dask
import numpy as np
from dask.delayed import delayed
from threadpoolctl import threadpool_limits

from benchmarks import dask_files
from benchmarks.stream import clusters, walk
from benchmarks.timing import TICK, Limit, at_most, in_turn, machine, summary
from driftmap import DriftMap
from driftmap import dask as on_dask
from driftmap.datasets import s_curve_stream
from driftmap.quality import stress

DIMENSIONS, LEAVES = (3, 16, 128), (2, 8, 64)
M, SAMPLE = 100, 1500
RADIUS, BOUND, SIGMA, MERGE = 1.10, 1.4, 1.01, 0.15


class Facts(NamedTuple):
    """Covering radius, its bound and the stress of a map."""

    radius: float
    bound: float
    sigma: float


def s_curve(n: int, d: int) -> np.ndarray:
    """Return the S-curve in d dimensions, with a little noise."""
    rng = np.random.default_rng(0)
    axes, _ = np.linalg.qr(rng.standard_normal((d, 3)))
    return s_curve_stream(n) @ axes.T + 0.01 * rng.standard_normal((n, d))


STREAMS = {"walk": walk, "S-curve": s_curve, "clusters": clusters}


def facts(mapper: DriftMap, X: np.ndarray, sample: np.ndarray) -> Facts:
    """Return the covering radius of all rows, the stated bound, and the stress of a sample."""
    parts = [X[i : i + 8192] for i in range(0, len(X), 8192)]
    radius = max(mapper.freeze().distances(part).min(axis=1).max() for part in parts)
    return Facts(float(radius), mapper.coverage_bound_, stress(sample, mapper.transform(sample)))


def quality(quick: bool) -> list[Limit]:
    """Print the table of all streams; return the limits."""
    n = 10**5 if quick else 3 * 10**5
    print(f"{n:,} rows, {M} landmarks, 10,000 stored points, fan-in 8; covering radius, bound and sigma, each")
    print("divided by that of one pass over the same rows:\n")
    print("| stream | d | order | " + " | ".join(f"{n_leaves} leaves" for n_leaves in LEAVES) + " |")
    print("|---" * (3 + len(LEAVES)) + "|")
    ratios, truths = [], []
    for (name, make), d, order in itertools.product(STREAMS.items(), DIMENSIONS, ("in order", "shuffled")):
        X = make(n, d)
        if order == "shuffled":
            X = np.random.default_rng(1).permutation(X)
        sample = X[np.linspace(0, n - 1, SAMPLE).astype(int)]
        single = facts(DriftMap(n_landmarks=M).fit(X), X, sample)
        cells = []
        for n_leaves in LEAVES:
            parts = [delayed(part) for part in np.array_split(X, n_leaves)]
            merged = facts(on_dask.fit(DriftMap(n_landmarks=M), parts, partitions_per_leaf=1), X, sample)
            ratios.append(Facts(*np.divide(merged, single)))
            truths.append(merged.bound / merged.radius)
            limits = zip(ratios[-1], (RADIUS, BOUND, SIGMA), strict=True)
            cells.append(
                ", ".join(f"{value:.3f}{'' if value <= goal else ' ' + TICK[False]}" for value, goal in limits)
            )
        print(f"| {name} | {d} | {order} | {' | '.join(cells)} |", flush=True)
    radii, bounds, sigmas = (np.array(column) for column in zip(*ratios, strict=True))
    for what, column in (("radius", radii), ("bound", bounds), ("sigma", sigmas), ("bound / true radius", truths)):
        least, middle, most = np.quantile(column, (0, 0.5, 1))
        print(f"\n{what}: least {least:.3f}, median {middle:.3f}, most {most:.3f}", end="")
    print("\n")
    return [
        at_most("true covering radius, merged / one pass", RADIUS, radii),
        at_most("stated bound, merged / one pass", BOUND, bounds),
        at_most("sigma, merged / one pass", SIGMA, sigmas),
        at_most("true covering radius / stated bound", 1.0, [1 / truth for truth in truths]),
    ]


def costs(quick: bool) -> list[Limit]:
    """Print the time of a merge and the size of a leaf; return the limits."""
    print("| d | stored | merge (s) | bytes of a leaf per stored point | without its numbers | whole state |")
    print("|---" * 6 + "|")
    beside, seconds = [], {}
    for d in DIMENSIONS:
        first, second = (DriftMap(n_landmarks=M).fit(part) for part in np.split(walk(2 * 10**5, d), 2))
        part = second.coreset()._replace(origin=None)  # as it is transferred
        stored = len(part.arrivals)
        seconds[d] = in_turn([lambda a=first, b=part: a.merge(b)], 3 if quick else 10, time.process_time)[0]
        size, whole = len(pickle.dumps(part, protocol=5)) / stored, len(pickle.dumps(second, protocol=5)) / stored
        beside.append(size - 8 * d)
        print(f"| {d} | {stored:,} | {seconds[d]:.3f} | {size:.1f} | {beside[-1]:.1f} | {whole:.1f} |", flush=True)
    print()
    return [
        at_most("merge of two full memories at d=16, seconds", MERGE, [seconds[16]]),
        at_most("bytes of a leaf per stored point without its numbers", 32, beside),
    ]


def run(quick: bool) -> list[Limit]:
    """Print the tables; return the limits."""
    with threadpool_limits(1), dask.config.set(scheduler="synchronous"):
        return costs(quick) + quality(quick)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="shorter streams, fewer repetitions")
    parser.add_argument("--rows", type=int, help="number of rows for the run on files, a multiple of 10,000,000")
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()), help="folder for its files")
    args = parser.parse_args()
    print(f"{machine()}\n")
    print(f"\n{summary(run(args.quick) if args.rows is None else dask_files.run(args.rows, args.folder))}")
