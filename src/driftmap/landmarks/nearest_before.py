"""Each arrival's nearest landmark, distance and radius before the arrival is learnt."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from driftmap.utils import Array, Ids

MOST_EVENTS = 10_000
"""Number of events that the core stores; this number of arrivals causes at most as many events."""


class NearestBefore(NamedTuple):
    """One entry per arrival, as of just before it was learnt."""

    landmarks: Ids
    """Arrival number of the nearest landmark; -1 without landmarks."""
    distances: Array
    """Distance to that landmark; infinity without landmarks."""
    radii: Array
    """The radius."""
    points: Array | None = None
    """The nearest landmarks themselves, if requested and points are rows; NaN without landmarks."""


def concatenate(parts: Sequence[NearestBefore]) -> NearestBefore:
    """Concatenate tables of successive arrivals."""
    if len(parts) == 1:
        return parts[0]
    landmarks, distances, radii, points = zip(*parts, strict=True)
    rows = None if points[0] is None else np.concatenate(points)
    return NearestBefore(np.concatenate(landmarks), np.concatenate(distances), np.concatenate(radii), rows)


def radii_before(radius: float, distances: Array, first: int, events: Iterable[Any]) -> Array:
    """Return the radius before each arrival; the first arrival has the number ``first``.

    Each event sets the radius. Between two events all arrivals are covered; one that is covered only by the slack
    increases the radius to its distance. An event is (arrival, ..., radius after it).
    """
    n, start = len(distances), 0
    radii = np.empty(n)
    ends = [(event[0] - first + 1, event[-1]) for event in events if event[0] >= first]
    for stop, after in [*ends, (n, radius)]:
        if stop > start:
            np.maximum.accumulate(np.append(radius, distances[start : stop - 1]), out=radii[start:stop])
        start, radius = stop, after
    return radii


def batch_rows(arrivals: Ids, first: int, batch: Array) -> Array:
    """Return the rows of a batch with these arrival numbers; arrivals before the batch are NaN."""
    rows = np.full(batch.shape, np.nan)
    is_new = arrivals >= first
    rows[is_new] = batch[arrivals[is_new] - first]
    return rows


def fill_rows(rows: Array, arrivals: Ids, known: Ids, points: Array) -> None:
    """Fill in the rows of arrivals that are among ``known``, which is ascending.

    >>> rows = batch_rows(np.array([3, 10]), 10, np.array([[5.0], [6.0]]))
    >>> fill_rows(rows, np.array([3, 10]), np.array([0, 3]), np.array([[1.0], [2.0]]))
    >>> rows.tolist()
    [[2.0], [5.0]]
    """
    places = np.minimum(np.searchsorted(known, arrivals), len(known) - 1)
    found = known[places] == arrivals
    rows[found] = points[places[found]]
