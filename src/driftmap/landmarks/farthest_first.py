"""Farthest-first traversal (Gonzalez): the greedy 2-approximation of k-centre."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from driftmap.utils import Array, Ids

MEASURED_POINTS = 4096
"""Points measured in one call."""


def farthest_first(distances: Callable[[Ids, Ids], Array], points: Ids, k: int) -> tuple[Ids, float]:
    """Take the first point, then repeatedly the one farthest from those taken, up to k.

    ``distances(rows, columns)`` measures. Returns the points taken, in order (fewer than k if these coincide with all
    others), and their covering radius, which is at most twice the smallest possible one for k centres.

    >>> line = np.array([0.0, 1.0, 5.0])
    >>> farthest_first(lambda rows, columns: abs(line[rows, None] - line[columns]), np.arange(3), k=2)
    (array([0, 2]), 1.0)
    """
    reach, farthest = np.full(len(points), np.inf), 0
    taken: list[int] = []
    while len(taken) < k and reach[farthest] > 0:
        taken.append(int(points[farthest]))
        for i in range(0, len(points), MEASURED_POINTS):
            column = distances(points[i : i + MEASURED_POINTS], points[farthest : farthest + 1])[:, 0]
            reach[i : i + MEASURED_POINTS] = np.minimum(reach[i : i + MEASURED_POINTS], column)
        farthest = int(np.argmax(reach))
    return np.array(taken, dtype=np.int64), float(reach[farthest])
