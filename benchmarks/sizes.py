"""Print the sizes of states as bytes: python -m benchmarks.sizes [--quick]

A map of 100 landmarks that has learnt as many rows of a walk as its memory holds, its largest state; and the largest
``memory`` whose bytes stay below 1,000,000, the limit of a record in many logs.
"""

from __future__ import annotations

import sys

import numpy as np

from driftmap import DriftMap

DIMENSIONS = (2, 8, 16, 64, 384)
MEMORY, LEAST = 10_000, 1600
"""The default, and the least for 100 landmarks."""
LIMIT = 10**6


def learnt(d: int, memory: int) -> DriftMap:
    """Return a map with a full memory, and a frame."""
    walk = np.cumsum(np.random.default_rng(0).standard_normal((memory, d)), axis=0)
    mapper = DriftMap(2, n_landmarks=100, memory=memory).fit(walk)
    mapper.transform(walk[:1])
    return mapper


def largest(d: int) -> int | None:
    """Return the largest memory, in hundreds, whose map stays below the limit; None: not even the smallest one does."""
    low, high = LEAST // 100, MEMORY // 100
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if len(learnt(d, 100 * middle).to_bytes()) < LIMIT else (low, middle - 1)
    return 100 * low if len(learnt(d, 100 * low).to_bytes()) < LIMIT else None


def main(quick: bool) -> None:
    """Print the table."""
    print("| features | map (MB) | core-set (MB) | frozen map (MB) | `memory=` below 1 MB | its map (MB) |")
    print("|---|---|---|---|---|---|")
    for d in DIMENSIONS[:3] if quick else DIMENSIONS:
        mapper = learnt(d, MEMORY)
        sizes = [len(one.to_bytes()) / 1e6 for one in (mapper, mapper.coreset(), mapper.freeze())]
        memory = largest(d)
        size = "" if memory is None else f"{len(learnt(d, memory).to_bytes()) / 1e6:.2f}"
        cells = [str(d), *(f"{size:.2f}" for size in sizes), "none" if memory is None else f"{memory:,}", size]
        print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main("--quick" in sys.argv)
