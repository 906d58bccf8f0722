"""Farthest-first traversal (Gonzalez): the greedy 2-approximation of k-centre."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from driftmap.utils import Array, Ids

MEASURED_POINTS, MEASURED_CELLS = 2**12, 2**19
"""Points whose distances are measured in one call, and numbers in them, at most: a store copies what it measures."""


def farthest_first(
    distances: Callable[[Ids, Ids], Array], points: Ids, k: int, width: int | None = None
) -> tuple[Ids, float]:
    """Take the first point, then repeatedly the one farthest from those taken, up to k.

    ``distances(rows, columns)`` measures points, which are rows of ``width`` numbers where that is known. Returns the
    points taken, in order (fewer than k if these coincide with all others), and their covering radius, which is at most
    twice the smallest possible one for k centres.

    >>> line = np.array([0.0, 1.0, 5.0])
    >>> farthest_first(lambda rows, columns: abs(line[rows, None] - line[columns]), np.arange(3), k=2)
    (array([0, 2]), 1.0)
    """
    reach, farthest = np.full(len(points), np.inf), 0
    taken: list[int] = []
    size = max(1, min(MEASURED_POINTS, MEASURED_CELLS // (width or 1)))
    while len(taken) < k and reach[farthest] > 0:
        taken.append(int(points[farthest]))
        for i in range(0, len(points), size):
            column = distances(points[i : i + size], points[farthest : farthest + 1])[:, 0]
            reach[i : i + size] = np.minimum(reach[i : i + size], column)
        farthest = int(np.argmax(reach))
    return np.array(taken, dtype=np.int64), float(reach[farthest])
