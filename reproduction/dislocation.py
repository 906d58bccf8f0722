"""Measured dislocation of the map at each replacement of a stream, against the bound of section 5."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.spatial.distance import cdist

from driftmap.embedding import dislocation_bound, measured_dislocation
from driftmap.utils import Array
from driftmap.utils.concurrency import one_thread
from reproduction.scenarios import SelectedLandmarks


class Dislocation(NamedTuple):
    """One replacement, and the point z with the largest ratio of measured movement to bound."""

    rule: str
    arrival: int
    left: int
    came: int
    epsilon: float
    """Distance from the dropped to the new landmark."""
    point: int
    """z."""
    measured: float
    """Distance between the positions of z before and after, with frames aligned by the best rotation."""
    bound: float
    """Theorem 5.5 for z, without its O(epsilon^2) term."""
    median_measured: float
    """Median movement of the points seen, without the landmarks."""

    @property
    def ratio(self) -> float:
        """Measured movement divided by its bound; below 1 for small epsilon, by the theorem."""
        return self.measured / self.bound


K = 2
"""Dimensions of the map."""


def dislocations(points: Array, m: int, rule: str, landmarks: SelectedLandmarks) -> list[Dislocation]:
    """Measure the movement at each replacement of a run that starts with the first m points, and bound it.

    A replacement is skipped while every point seen is a landmark.
    """
    distances = cdist(points, points)
    present = list(range(m))
    found = []
    for change in landmarks.changes:
        before, place = np.array(present), present.index(change.left)
        present[place] = change.came
        after = np.array(present)
        others = np.setdiff1d(np.arange(change.arrival + 1), np.append(before, change.came))
        if not len(others):
            continue
        sets = (
            distances[np.ix_(before, before)],
            distances[np.ix_(after, after)],
            distances[np.ix_(others, before)],
            distances[np.ix_(others, after)],
        )
        epsilon = float(distances[change.left, change.came])
        with one_thread():
            bound = dislocation_bound(*sets, epsilon, K, replaced=place).bound
            moved = measured_dislocation(*sets, K, match="rotation")
        worst = int(np.argmax(moved / bound))
        found.append(
            Dislocation(
                rule,
                change.arrival,
                change.left,
                change.came,
                epsilon,
                int(others[worst]),
                float(moved[worst]),
                float(bound[worst]),
                float(np.median(moved)),
            )
        )
    return found
