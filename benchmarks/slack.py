"""Measure costs and savings of slack: python -m benchmarks.slack [--quick]

An arrival is covered up to (1 + slack) times the covering radius after the last replacement. For each stream and slack,
the table has the number of replacements; the final radius and the coverage bound, relative to slack 0; sigma and
trustworthiness of a sample; the median displacement of stored points at a replacement, in per cent of the map; and the
time of learning, relative to slack 0. Set ``DRIFTMAP_DATA`` to a folder with the paper's data.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.learning import LONGEST, STREAMS
from benchmarks.timing import Limit, command
from driftmap import DriftMap
from driftmap.datasets import load_hospital, load_stocks, s_curve_stream
from driftmap.landmarks import OnlineLandmarks
from driftmap.quality import stress_estimate, trustworthiness

SLACKS = (0.0, 0.01, 0.02, 0.05)
SAMPLE = 1500
FRAMES = 60
"""Number of times at which a frame is requested, to measure displacements."""


def paper_streams() -> Iterator[tuple[str, np.ndarray, int]]:
    """Yield the paper's streams for which data is available."""
    yield "S-curve", s_curve_stream(), 100
    for name, load, m in (("SPY", load_stocks, 10), ("Hospital", load_hospital, 20)):
        try:
            data = load()
        except Exception as error:  # no data, no network
            print(f"{name} is left out: {error}")
            continue
        yield name, data.normalized if name == "SPY" else data.spectra(), m


def streams(quick: bool) -> Iterator[tuple[str, np.ndarray, int]]:
    """Yield name, points and number of landmarks of every stream."""
    yield from paper_streams()
    for make, shapes, _ in STREAMS:
        for d, m, n in shapes:
            if d < 768:
                yield f"{make.__name__}, d={d}, m={m}", make(20_000 if quick else min(n, LONGEST), d), m


def measure(X: np.ndarray, m: int, slack: float) -> tuple[float, ...]:
    """Return replacements, radius, bound, sigma, trustworthiness, displacement and seconds."""
    start = time.process_time()
    OnlineLandmarks(m, slack=slack).partial_fit(X)
    seconds = time.process_time() - start
    mapper = DriftMap(n_landmarks=m, slack=slack)
    for part in np.array_split(X, FRAMES):
        mapper.partial_fit(part).transform(part[:1])
    sample = X[np.linspace(0, len(X) - 1, min(SAMPLE, len(X))).astype(int)].astype(np.float64)
    Y = mapper.transform(sample)
    moved = [change.displacement.median for change in mapper.frames_]
    return (
        mapper.n_replacements_, mapper.radius_, mapper.coverage_bound_, stress_estimate(sample, Y).value,
        trustworthiness(sample, Y, n_neighbors=10), 100 * float(np.median(moved or [0.0])), seconds,
    )  # fmt: skip


def run(quick: bool) -> list[Limit]:
    """Print the table."""
    print("| stream | slack | replacements | radius | bound | sigma | trustworthiness | moved (%) | time |")
    print("|---|---|---|---|---|---|---|---|---|")
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, X, m in streams(quick):
            results = [measure(X, m, slack) for slack in SLACKS]
            for slack, found in zip(SLACKS, results, strict=True):
                count, radius, bound, sigma, trust, moved, seconds = found
                _, first_radius, first_bound, *_, first_seconds = results[0]
                print(
                    f"| {name} | {slack:g} | {count:,.0f} | {radius / first_radius:.3f} | {bound / first_bound:.3f} | "
                    f"{sigma:.4f} | {trust:.3f} | {moved:.2f} | {seconds / first_seconds:.2f} |",
                    flush=True,
                )
    return []


if __name__ == "__main__":
    command(__doc__, run)
