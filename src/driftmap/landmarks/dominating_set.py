"""Dominating sets of the graph that joins points within a radius: Algorithm 1 and the paper's section 3."""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftmap.metrics import MetricLike, Store
from driftmap.metrics.factory import stored
from driftmap.utils import Ids, validation
from driftmap.utils.errors import InputError

BAND_ROWS = 1024
"""Rows of the distance matrix measured in one call."""


def greedy_dominating_set(
    X: Any, radius: float, *, metric: MetricLike = "euclidean", metric_params: dict[str, Any] | None = None
) -> Ids:
    """Algorithm 1: repeatedly take the point that covers most uncovered points, until all are covered.

    Points within ``radius`` of each other are neighbours; ties go to the first point. Returns the numbers of the points
    in the order in which they were taken.

    >>> greedy_dominating_set([[0.0], [1.0], [2.0], [7.0]], radius=1.0)
    array([1, 3])
    """
    neighbours = _neighbourhoods(stored(X, metric, metric_params), radius)
    uncovered = np.ones(len(neighbours), dtype=bool)
    # Lazy evaluation: gains only shrink, so an entry whose gain is up to date is the best.
    heap = [(-len(covers), point) for point, covers in enumerate(neighbours)]
    heapq.heapify(heap)
    chosen: list[int] = []
    left = len(neighbours)
    while left:
        gain, point = heapq.heappop(heap)
        now = int(uncovered[neighbours[point]].sum())
        if now < -gain:
            heapq.heappush(heap, (-now, point))
            continue
        chosen.append(point)
        uncovered[neighbours[point]] = False
        left -= now
    return np.array(chosen, dtype=np.int64)


def greedy_size_bound(n_points: int, n_edges: int) -> float:
    """Return the upper bound on the size of Algorithm 1's result (theorem): ``n + 1 - sqrt(2 |E| + 1)``.

    >>> greedy_size_bound(n_points=5, n_edges=4)  # a star; one point suffices
    3.0
    """
    return n_points + 1 - math.sqrt(2 * n_edges + 1)


def radius_for_budget(
    X: Any, n_landmarks: int, *, metric: MetricLike = "euclidean", metric_params: dict[str, Any] | None = None
) -> float:
    """Return a radius at which Algorithm 1 is guaranteed to need at most ``n_landmarks`` points (corollary).

    It is the smallest distance that ceil(((n - m + 1)^2 - 1) / 2) pairs do not exceed, or all pairs if there are fewer,
    in which case any single point dominates. Stores all n (n - 1) / 2 distances.

    >>> radius_for_budget([[0.0], [1.0], [3.0], [7.0]], n_landmarks=3)
    2.0
    """
    validation.integer_at_least(n_landmarks, "n_landmarks", 1)
    store = stored(X, metric, metric_params)
    n = len(store)
    edges = min(math.ceil(((n - n_landmarks + 1) ** 2 - 1) / 2), n * (n - 1) // 2)
    if n_landmarks >= n or edges <= 0:
        return 0.0
    everyone = np.arange(n)
    lengths = np.concatenate(
        [
            np.concatenate(
                [row[:r] for r, row in enumerate(store.pairs(everyone[a : a + BAND_ROWS], everyone), start=a)]
            )
            for a in range(0, n, BAND_ROWS)
        ]
    )
    return float(np.partition(lengths, edges - 1)[edges - 1])


def is_dominating(
    X: Any,
    landmarks: Iterable[int],
    radius: float,
    *,
    metric: MetricLike = "euclidean",
    metric_params: dict[str, Any] | None = None,
) -> bool:
    """Return True if every point is within ``radius`` of a landmark.

    >>> is_dominating([[0.0], [1.0], [2.0]], landmarks=[1], radius=1.0)
    True
    """
    covered = _covered_by(X, landmarks, radius, metric, metric_params)
    return bool(covered.any(axis=1).all())


def private_points(
    X: Any,
    landmarks: Iterable[int],
    radius: float,
    *,
    metric: MetricLike = "euclidean",
    metric_params: dict[str, Any] | None = None,
) -> dict[int, Ids]:
    """Return, for each landmark, the points (including itself) that only it covers: the paper's OnlyBy.

    >>> private_points([[0.0], [1.0], [2.0]], landmarks=[0, 2], radius=1.0)
    {0: array([0]), 2: array([2])}
    """
    ids = list(landmarks)
    covered = _covered_by(X, ids, radius, metric, metric_params)
    alone = covered.sum(axis=1) == 1
    return {int(z): np.flatnonzero(alone & covered[:, j]) for j, z in enumerate(ids)}


def _within(store: Store, rows: Ids, columns: Ids, radius: float) -> NDArray[np.bool_]:
    """Return a mask of the pairs of stored points within the radius."""
    if not (isinstance(radius, Real) and radius >= 0):
        raise InputError(f"must be a number and not negative, got {radius!r}", parameter="radius")
    return store.pairs(rows, columns) <= radius


def _neighbourhoods(store: Store, radius: float) -> list[Ids]:
    """Return, for each point, the points within the radius, including itself."""
    everyone = np.arange(len(store))
    found: list[Ids] = []
    for first in range(0, len(store), BAND_ROWS):
        found += [np.flatnonzero(row) for row in _within(store, everyone[first : first + BAND_ROWS], everyone, radius)]
    return found


def _covered_by(
    X: Any, landmarks: Iterable[int], radius: float, metric: MetricLike, metric_params: dict[str, Any] | None
) -> NDArray[np.bool_]:
    store = stored(X, metric, metric_params)
    ids = np.array(list(landmarks), dtype=np.int64)
    if len(ids) and not (ids.min() >= 0 and ids.max() < len(store)):
        problem = f"must be numbers of points, 0 to {len(store) - 1}; got {ids.tolist()}"
        raise InputError(problem, parameter="landmarks")
    return _within(store, np.arange(len(store)), ids, radius)
