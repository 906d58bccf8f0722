"""Compare learning with a lower bound on its work: python -m benchmarks.learning [--quick]

The reference of ``partial_fit`` is "blocked X @ L.T plus row minimum" in NumPy, of the same precision, on the same
rows: the minimum for any method that considers all landmarks. Times are CPU time on one thread. Ratios are those of the
rates (1: as fast as the reference), with bounded memory (the default) and with every point stored. In streams whose
points are nearly equidistant (noise, topics), each replacement passes over all stored points, so the ratio with every
point stored depends mostly on the length. Goals are set for streams that were not used for tuning; heavy tails,
regimes, spectra and the spiral are shown, too. The last limit is that on the resolution of bounded memory: the largest
radius.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks import stream
from benchmarks.timing import TICK, Limit, at_least, at_most, command, in_turn
from driftmap.landmarks import OnlineLandmarks

SHAPES = ((3, 20, 10**6), (16, 100, 5 * 10**5), (128, 100, 10**5), (768, 100, 30_000))
TOPICS = ((384, 100, 60_000), (384, 500, 60_000))
STREAMS: tuple[tuple[Callable[..., np.ndarray], tuple[tuple[int, int, int], ...], bool], ...] = (
    (stream.curve, SHAPES, True),
    (stream.noise, SHAPES, True),
    (stream.walk, SHAPES, True),
    (stream.clusters, SHAPES, True),
    (stream.topics, TOPICS, True),
    (stream.seasonal, SHAPES[:3], False),
    (stream.restless, SHAPES[:3], False),
    (stream.heavy_tails, SHAPES[:3], False),
    (stream.regimes, SHAPES[:3], False),
    (stream.spectra, SHAPES[:3], False),
    (stream.spiral, SHAPES[:3], False),
)
"""Streams, their shapes (d, m, n), and True if goals are set for them."""
GOALS = {(3, 20): 0.45, (16, 100): 0.5, (128, 100): 0.5, (768, 100): 0.5, (384, 100): 0.5, (384, 500): 0.6}
HARD = {stream.heavy_tails: 0.2, stream.regimes: 0.4, stream.spiral: 0.15}
"""Goals of difficult streams."""
GOAL_ALL_STORED = 0.5
PASSES_OVER_ALL = (stream.noise, stream.topics)
"""Streams whose replacements pass over all points; they have no goal with every point stored."""
MEMORIES = {"": "auto", ", all stored": None}
BATCH = 20_000
LONGEST = 10**5
"""Number of rows learnt with every point stored."""


def learn(X: np.ndarray, m: int, memory: str | None) -> OnlineLandmarks:
    """Learn a stream in batches."""
    landmarks = OnlineLandmarks(m, memory=memory)
    for first in range(0, len(X), BATCH):
        landmarks.partial_fit(X[first : first + BATCH])
    return landmarks


def ratio(X: np.ndarray, m: int, memory: str | None, times: int) -> tuple[float, float]:
    """Return the seconds of the reference, and the rate of learning relative to its rate."""
    L = X[:: len(X) // m][:m].copy()
    reference, ours = in_turn([lambda: stream.product_and_minimum(X, L), lambda: learn(X, m, memory)], times)
    return reference, reference / ours


def run(quick: bool) -> list[Limit]:
    """Print the table; return the limits."""
    print("| stream | d | m | n | replacements | bound / radius | reference (M rows/s) | ratio | ratio, all stored |")
    print("|---|---|---|---|---|---|---|---|---|")
    reached: dict[str, tuple[float, list[float]]] = {}
    resolutions = []
    with threadpool_limits(1):
        for make, shapes, has_goal in STREAMS:
            for d, m, n in shapes:
                X = make(n // 5 if quick else n, d)
                reference, bounded = ratio(X, m, "auto", 1 if quick else 3)
                _, stored = ratio(X[:LONGEST], m, None, 1 if quick else 3)
                fitted = learn(X, m, "auto")
                radii = [max(event.radius_before, event.radius_after) for event in fitted.events_]
                resolutions.append(fitted.resolution_ / max(fitted.radius_, *radii))
                marks = ["", ""]
                if make in HARD:
                    reached.setdefault(f"learning, {make.__name__}", (HARD[make], []))[1].append(bounded)
                    marks[0] = f" {TICK[bounded >= HARD[make]]}"
                if has_goal:
                    goals = {f"learning, d = {d}, m = {m}": (GOALS[d, m], bounded)}
                    if make not in PASSES_OVER_ALL:
                        goals["learning, all stored"] = (GOAL_ALL_STORED, stored)
                    for name, (goal, value) in goals.items():
                        reached.setdefault(name, (goal, []))[1].append(value)
                    marks = [f" {TICK[value >= goal]}" for goal, value in goals.values()] + [""]
                print(
                    f"| {make.__name__} | {d} | {m} | {len(X):,} | {fitted.n_replacements_:,} | "
                    f"{fitted.coverage_bound_ / fitted.radius_:.2f} | {len(X) / reference / 1e6:.2f} | "
                    f"{bounded:.2f}{marks[0]} | {stored:.2f}{marks[1]} |",
                    flush=True,
                )
    limits = [at_least(name, goal, values) for name, (goal, values) in reached.items()]
    return [*limits, at_most("resolution, to the largest radius", 1.0, resolutions)]


if __name__ == "__main__":
    command(__doc__, run)
