"""How many anchors are enough: the fewest that place other points as truly and as evenly as twice as many do.

Too few anchors are seen in two ways. The stress of points that were left out is larger. And these points gather in the
gaps between the anchors, since only distances to anchors drive them apart: islands that are not in the data. Where
points differ in many ways, the second remains long after the first has gone; it is seen best on all points, anchors
among them. On a line points gather however many anchors there are, so only stress counts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from driftmap.landmarks.online import LandmarkEngine
from driftmap.metrics import euclidean
from driftmap.quality import stress
from driftmap.utils import Array, Ids

ANCHOR_COUNTS = (128, 256, 512, 1024)
"""Numbers of anchors that are tried, each twice the one before."""
TOLERANCE = 0.02
"""The share by which the stress may be larger than by twice as many."""
EXACT = 1e-3
"""A stress below this counts as zero, so more anchors cannot improve it."""
EVENNESS = 0.965
"""How near points may be to their nearest others on the map, relative to the map by twice as many.

On sheets, where 128 anchors are enough, this ratio varies by some 2 % with the choice of anchors; in hundreds of
dimensions it is 0.75 to 0.95.
"""
FEWEST_LEFT_OUT = 100
"""With fewer points that are not among the anchors there is nothing to compare: all points are anchors."""
COMPARED, JUDGED = 500, 2000
"""The most points between which stress, and nearest distances, are measured."""
GROWTH = 2
"""How many times as many stored points ask for a new choice."""
EXCHANGED = 0.5
"""The share of landmarks whose exchange asks for a new choice."""


class AnchorCount(NamedTuple):
    """A number of anchors, and what was known when it was chosen."""

    n_anchors: int
    until: int
    """With as many stored points, it is chosen again."""
    landmarks: Ids

    def holds(self, n_stored: int, landmarks: Ids) -> bool:
        """Whether the choice still holds, for this many stored points and these landmarks."""
        exchanged = len(np.setdiff1d(landmarks, self.landmarks, assume_unique=True))
        return n_stored < self.until and exchanged < EXCHANGED * len(landmarks)


def count_anchors(
    engine: LandmarkEngine, place_by: Callable[[int], tuple[Ids, Callable[[Ids], Array]]], landmarks: Ids
) -> AnchorCount:
    """The number of anchors that is enough for the stored points; the largest one if these are few.

    ``place_by`` makes a map by a number of anchors: it returns their arrival numbers, and what places stored points.
    """
    stored, sampled = engine.stored_indices_, engine.sampled_rows(ANCHOR_COUNTS[-1])
    if sampled is not None and len(sampled) > len(stored):
        stored = sampled
    place, spread, until = None, _some(stored, JUDGED), GROWTH * len(stored)
    for n in (n for n in ANCHOR_COUNTS[:-1] if n > len(landmarks)):
        if len(stored) < (fewest := 2 * n + FEWEST_LEFT_OUT):
            until = min(until, fewest)
            break
        place = place or place_by(n)[1]
        anchors, place_by_more = place_by(2 * n)
        left_out = _some(np.setdiff1d(stored, anchors, assume_unique=True), COMPARED)
        is_true = _is_as_true(engine, left_out, place(left_out), place_by_more(left_out))
        if is_true and _is_as_even(place(spread), place_by_more(spread)):
            return AnchorCount(n, until, landmarks)
        place = place_by_more
    return AnchorCount(ANCHOR_COUNTS[-1], until, landmarks)


def _is_as_true(engine: LandmarkEngine, ids: Ids, few: Array, many: Array) -> bool:
    """Whether points that few anchors have placed have hardly more stress than where many have placed them."""
    distances = engine.stored_distances(ids, ids)
    by_few, by_many = (stress(distances, positions, metric="precomputed") for positions in (few, many))
    return by_few <= max((1 + TOLERANCE) * by_many, EXACT)


def _is_as_even(few: Array, many: Array) -> bool:
    """Whether points that few anchors have placed lie hardly nearer to each other than where many have placed them."""
    return few.shape[1] == 1 or nearest_distance(few) >= EVENNESS * nearest_distance(many)


def nearest_distance(positions: Array) -> float:
    """The distance of places to their nearest other one, as the square of the mean root: outliers count less.

    Equal points share a place.

    >>> nearest_distance(np.array([[0.0], [1.0], [1.0], [5.0]]))
    1.7777777777777777
    """
    places = np.unique(positions, axis=0)
    if len(places) == 1:
        return 0.0
    distances = euclidean(places, places)
    np.fill_diagonal(distances, np.inf)
    return float(np.sqrt(distances.min(axis=1)).mean() ** 2)


def _some(ids: Ids, most: int) -> Ids:
    return ids[np.unique(np.linspace(0, len(ids) - 1, most).astype(np.int64))]
