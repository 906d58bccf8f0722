"""Distances between stored points, of which only those that are new are measured."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from driftmap.landmarks.online import LandmarkEngine
from driftmap.utils import Array, Ids

NONE: Ids = np.empty(0, np.int64)


@dataclass(frozen=True, eq=False)
class MeasuredDistances:
    """Distances of some stored points to others, both by arrival number; at first there are none.

    >>> from driftmap.landmarks import OnlineLandmarks
    >>> engine = OnlineLandmarks(3).fit([[0.0], [1.0], [4.0], [5.0]])
    >>> first = MeasuredDistances().to(engine, np.array([0, 1]), np.array([0, 1]))
    >>> first.to(engine, np.array([1, 2]), np.array([0, 1])).values  # the first row is known
    array([[1., 0.],
           [4., 3.]])
    """

    rows: Ids = field(default_factory=lambda: NONE)
    columns: Ids = field(default_factory=lambda: NONE)
    values: Array = field(default_factory=lambda: np.empty((0, 0)))

    def to(self, engine: LandmarkEngine, rows: Ids, columns: Ids) -> MeasuredDistances:
        """The distances of other points, among which some of these may be."""
        values = np.empty((len(rows), len(columns)))
        old_rows, known_rows = _common(self.rows, rows)
        old_columns, known_columns = _common(self.columns, columns)
        new_rows, new_columns = _others(known_rows, len(rows)), _others(known_columns, len(columns))
        values[np.ix_(known_rows, known_columns)] = self.values[np.ix_(old_rows, old_columns)]
        values[np.ix_(known_rows, new_columns)] = engine.stored_distances(rows[known_rows], columns[new_columns])
        values[new_rows] = engine.stored_distances(rows[new_rows], columns)
        return MeasuredDistances(rows, columns, values)


def _common(old: Ids, new: Ids) -> tuple[Ids, Ids]:
    """Where the arrivals that are in both are in either."""
    _, places, new_places = np.intersect1d(old, new, assume_unique=True, return_indices=True)
    return places, new_places


def _others(places: Ids, n: int) -> Ids:
    return np.setdiff1d(np.arange(n), places, assume_unique=True)
