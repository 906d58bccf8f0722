"""The time of a new frame after one landmark of m was replaced: python -m benchmarks.frames [--quick]

A stream is learnt until one more landmark has been replaced, then the map is asked for: the median over many such
frames, against the first frame of the same map (nothing known) and an eigendecomposition of an m x m matrix in numpy,
measured next to it. Sigma is that of the last map, against a map of the same landmarks made from nothing: a warm fit
stays near the last map as long as its stress is at most 1.13 times that of the last cold fit. Processor
time, one thread.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks import stream
from benchmarks.timing import Limit, at_most, command
from driftmap import DriftMap
from driftmap.quality import stress_estimate

CASES = ((stream.walk, 16, 100, 3.75), (stream.topics, 384, 100, 6.5), (stream.topics, 384, 500, 29.25))
"""Stream, features, landmarks, and a quarter of what a frame took before (ms)."""


def seconds(work: Callable[[], object]) -> float:
    """Processor time of a call."""
    start = time.process_time()
    work()
    return time.process_time() - start


def run(quick: bool) -> list[Limit]:
    """Print the table; returns the limits."""
    print("| stream | d | m | first frame (ms) | eigh (ms) | new frame (ms) | to the first | to eigh | sigma | cold |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    limits = []
    for make, d, m, goal in CASES:
        X = make(8_000 if quick else 20_000, d).astype(np.float64)
        mapper, times, products = DriftMap(n_landmarks=m), [], []
        with threadpool_limits(1), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            half = len(X) // 2
            mapper.fit(X[:half])
            first = seconds(lambda mapper=mapper: mapper.frame_)
            for x in X[half:]:
                before = mapper.n_replacements_
                if mapper.partial_fit(x[None]).n_replacements_ == before + 1:
                    times.append(seconds(lambda mapper=mapper: mapper.frame_))
                    if len(products) < 5:
                        D = mapper.landmark_distances()
                        products.append(seconds(lambda D=D: np.linalg.eigh(D)))
                    if len(times) == (20 if quick else 60):
                        break
            seen = X[: mapper.n_samples_seen_]
            sample = seen[:: len(seen) // 1000]
            sigmas = [stress_estimate(sample, mapper.transform(sample)).value, fresh_sigma(mapper, sample)]
        frame, eigh = float(np.median(times)), float(np.median(products))
        print(
            f"| {make.__name__} | {d} | {m} | {first * 1e3:.1f} | {eigh * 1e3:.1f} | {frame * 1e3:.2f} | "
            f"{frame / first:.3f} | {frame / eigh:.2f} | {sigmas[0]:.4f} | {sigmas[1]:.4f} |",
            flush=True,
        )
        limits.append(at_most(f"a new frame, d={d}, m={m}, ms", goal, [frame * 1e3]))
        limits.append(at_most(f"sigma to that of a cold fit, d={d}, m={m}", 1.005, [sigmas[0] / sigmas[1]]))
    return limits


def fresh_sigma(mapper: DriftMap, sample: np.ndarray) -> float:
    """Sigma of a first frame of the present landmarks."""
    _, frames = mapper._engine._begin()
    engine = mapper._engine.landmarks
    frame = frames.present(engine)
    return stress_estimate(sample, frame.place_queries(engine.space, sample)).value


if __name__ == "__main__":
    command(__doc__, run)
