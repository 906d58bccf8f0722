"""What anchors cost, and how many "auto" takes: python -m benchmarks.anchors [--quick]

For each stream, k = 2: processor time of a first frame, of choosing the number of anchors, and of placing a row, by
each number of anchors that may be chosen. Sigma is relative to that by 1,024 anchors. The limit is on how the time of
placing grows: not faster than the number of anchors.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import pairwise

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.stream import changing, noise, walk
from benchmarks.timing import Limit, at_most, command
from driftmap import DriftMap
from driftmap.datasets import s_curve_stream
from driftmap.map.anchor_count import ANCHOR_COUNTS
from driftmap.utils import Array

REPEATS = 3
FASTER = 1.25
"""How much faster than the number of anchors the time may seem to grow, since it is measured."""


def seconds(call: Callable[[], object]) -> float:
    """Processor time of a call."""
    start = time.process_time()
    call()
    return time.process_time() - start


def first_frame(X: Array, n_anchors: int | str) -> tuple[DriftMap, float]:
    """A map, and the time that its first frame took."""
    mapper = DriftMap(n_anchors=n_anchors).fit(X)
    return mapper, seconds(lambda: mapper.frame_)


def measure(name: str, X: Array) -> list[float]:
    """Print the rows of a stream; returns how the time of a row grows, relative to the number of anchors."""
    chosen, with_choice = first_frame(X, "auto")
    found = [first_frame(X, n) for n in ANCHOR_COUNTS]
    rows = [min(seconds(lambda mapper=mapper: mapper.transform(X)) for _ in range(REPEATS)) for mapper, _ in found]
    sigmas = [-mapper.score(X) for mapper, _ in found]
    choice = with_choice - dict(zip(ANCHOR_COUNTS, (frame for _, frame in found), strict=True))[chosen.n_anchors_]
    for (mapper, frame), row, sigma in zip(found, rows, sigmas, strict=True):
        n = mapper.n_anchors_
        taken = f"auto: {1e3 * choice:.0f} ms" if n == chosen.n_anchors_ else ""
        print(f"| {name} | {n} | {1e3 * frame:.0f} | {1e6 * row / len(X):.2f} | {sigma / sigmas[-1]:.3f} | {taken} |")
    return [later / earlier / 2 for earlier, later in pairwise(rows)]


def run(quick: bool) -> list[Limit]:
    """Print the table; returns the limits."""
    n = 3000
    streams = {"S-curve, d=3": s_curve_stream(n), "walk, d=16": walk(n, 16), "noise, d=16": noise(n, 16)}
    if not quick:
        streams |= {"noise, d=200": noise(n, 200), "changing topics, d=384": changing(n, 384)}
    print("| stream | anchors | frame (ms) | row (us) | sigma | chosen, in |\n" + "|---" * 6 + "|")
    growth: list[float] = []
    with threadpool_limits(1):
        for name, X in streams.items():
            growth += measure(name, np.asarray(X, dtype=np.float64))
    return [at_most("time of placing a row by twice the anchors, to twice the time", FASTER, growth)]


if __name__ == "__main__":
    command(__doc__, run)
