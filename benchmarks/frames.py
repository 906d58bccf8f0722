"""Measure the time of a new frame after one of m landmarks was replaced: python -m benchmarks.frames [--quick]

A stream is learnt until a landmark has been replaced, then the frame is requested. The table has the median time over
many such frames, compared with the first frame of the same map (a cold start) and with NumPy's eigendecomposition of an
m x m matrix. Maps have 128 anchors (500 landmarks: none). "sigma" is that of the last map; "two fits each" adds a cold
fit to every frame as a reference; "cold" is a map of the same landmarks from a cold start. A warm fit is kept while its
stress is at most 1.01 times that of a cold fit. Times are CPU time on one thread.
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
from driftmap.map.frames import Frames
from driftmap.quality import stress_estimate

CASES = ((stream.walk, 16, 100, 3.75), (stream.topics, 384, 100, 6.5), (stream.topics, 384, 500, 29.25))
"""Stream, features, landmarks, and the goal for a frame in ms."""


def seconds(work: Callable[[], object]) -> float:
    """Return the CPU time of a call."""
    start = time.process_time()
    work()
    return time.process_time() - start


def follow(X: np.ndarray, m: int, n: int, look: Callable[[DriftMap], object]) -> DriftMap:
    """Fit a map; call ``look`` after half of the stream, and then after each of n replacements."""
    half = len(X) // 2
    mapper = DriftMap(n_landmarks=m, n_anchors=128, frame_tolerance=0).fit(X[:half])
    look(mapper)
    for x in X[half:]:
        before = mapper.n_replacements_
        if mapper.partial_fit(x[None]).n_replacements_ == before + 1:
            look(mapper)
            n -= 1
        if n == 0:
            break
    return mapper


def run(quick: bool) -> list[Limit]:
    """Print the table; return the limits."""
    columns = ("stream", "d", "m", "first frame (ms)", "eigh (ms)", "new frame (ms)", "to the first", "to eigh")
    print(f"| {' | '.join(columns)} | sigma | two fits each | cold |\n{'|---' * 11}|")
    limits = []
    for make, d, m, goal in CASES:
        X, n = make(8_000 if quick else 20_000, d).astype(np.float64), 20 if quick else 60
        times: list[float] = []
        with threadpool_limits(1), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            mapper = follow(X, m, n, lambda mapper, times=times: times.append(seconds(lambda: mapper.frame_)))
            D = mapper.landmark_distances()
            eigh = float(np.median([seconds(lambda D=D: np.linalg.eigh(D)) for _ in range(5)]))
            thorough, fresh = (mapper._engine._begin()[1] for _ in range(2))

            def fit_twice(mapper: DriftMap, frames: Frames = thorough, m: int = m) -> None:
                if frames.current is not None:
                    frames.current.embedding._n_exchanged = m  # forces a cold fit
                frames.present(mapper._engine.landmarks)

            follow(X, m, n, fit_twice)
            seen = X[: mapper.n_samples_seen_]
            sample = seen[:: len(seen) // 1000]
            frames = [frames.present(mapper._engine.landmarks) for frames in (mapper._engine.frames, thorough, fresh)]
            sigmas = [stress_estimate(sample, frame.rows.place(sample)).value for frame in frames]
        first, frame = times[0], float(np.median(times[1:]))
        print(
            f"| {make.__name__} | {d} | {m} | {first * 1e3:.1f} | {eigh * 1e3:.1f} | {frame * 1e3:.2f} | "
            f"{frame / first:.3f} | {frame / eigh:.2f} | {' | '.join(f'{sigma:.4f}' for sigma in sigmas)} |",
            flush=True,
        )
        limits.append(at_most(f"a new frame, d={d}, m={m}, ms", goal, [frame * 1e3]))
        limits.append(at_most(f"sigma to that of two fits each, d={d}, m={m}", 1.005, [sigmas[0] / sigmas[1]]))
    return limits


if __name__ == "__main__":
    command(__doc__, run)
