"""What follows the stream, landmarks or anchors: python -m benchmarks.following [--quick]

Landmarks follow coverage: they are replaced when an arrival is uncovered, which hardly happens where all distances are
alike. Anchors, to which the map is fitted, follow mass. The table has the share of each that comes from the second half
of a stream, also with a window of half of it and with a half-life of a quarter. ``changing`` has unit vectors of topics
that change throughout; sets of DRIFTMAP_DATA/quality are in the order of their files.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benchmarks.stream import changing, topics, walk
from benchmarks.survey import SETS, load
from benchmarks.timing import Limit, at_least, command
from driftmap import DriftMap

GOAL = 0.3
"""The least share of anchors from the second half of a stream that is not forgotten."""


def streams(quick: bool) -> Iterator[tuple[str, np.ndarray]]:
    """Name and points."""
    yield "changing, 3,000 rows", changing(3000, 384)
    if not quick:
        yield "changing, 20,000 rows", changing(20_000, 384)
        yield "topics, 20,000 rows", topics(20_000, 384).astype(np.float64)
    yield "walk, d=16", walk(10_000, 16)
    for name in SETS:
        try:
            yield name, load(name).distinct().X
        except FileNotFoundError as error:
            print(f"{name} is left out: {error}")


def shares(mapper: DriftMap) -> tuple[float, float]:
    """The shares of landmarks and of anchors that arrived in the second half."""
    middle = mapper.n_samples_seen_ / 2
    return float(np.mean(mapper.landmark_indices_ >= middle)), float(np.mean(mapper.anchor_indices_ >= middle))


def run(quick: bool) -> list[Limit]:
    """Print the table; returns the limits."""
    print(
        "| stream | landmarks | anchors | window: landmarks, anchors | half-life: landmarks, anchors |\n"
        + "|---" * 5
        + "|"
    )
    found = []
    for name, X in streams(quick):
        n = len(X)
        maps = [DriftMap(**forgetting).fit(X) for forgetting in ({}, {"window": n // 2}, {"half_life": n / 4})]
        (landmarks, anchors), *others = map(shares, maps)
        cells = [f"{landmarks:.2f} | {anchors:.2f}", *(f"{first:.2f}, {second:.2f}" for first, second in others)]
        print(f"| {name} | {' | '.join(cells)} |", flush=True)
        found.append(anchors)
    return [at_least("anchors from the second half", GOAL, found)]


if __name__ == "__main__":
    command(__doc__, run)
