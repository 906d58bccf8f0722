"""A cache of stored-point distances and neighbour lists that is reused between frames."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from driftmap.embedding import NeighbourLists, StoredPoints
from driftmap.landmarks.online import LandmarkEngine
from driftmap.utils import Array, Ids, validation

NO_IDS: Ids = np.empty(0, np.int64)


@dataclass(frozen=True, eq=False)
class DistanceCache:
    """Distances of some stored points to others, both by arrival number; an empty cache at first.

    >>> from driftmap.landmarks import OnlineLandmarks
    >>> engine = OnlineLandmarks(3).fit([[0.0], [1.0], [4.0], [5.0]])
    >>> first = DistanceCache().updated(engine, np.array([0, 1]), np.array([0, 1]))
    >>> first.updated(engine, np.array([1, 2]), np.array([0, 1])).values  # the first row is known
    array([[1., 0.],
           [4., 3.]])
    """

    rows: Ids = field(default_factory=lambda: NO_IDS)
    columns: Ids = field(default_factory=lambda: NO_IDS)
    values: Array = field(default_factory=lambda: np.empty((0, 0)))

    def updated(self, engine: LandmarkEngine, rows: Ids, columns: Ids) -> DistanceCache:
        """The distances of other points; those of pairs in this cache are not measured again."""
        values = np.empty((len(rows), len(columns)))
        old_rows, known_rows, new_rows = common(self.rows, rows)
        old_columns, known_columns, new_columns = common(self.columns, columns)
        values[np.ix_(known_rows, known_columns)] = self.values[np.ix_(old_rows, old_columns)]
        values[np.ix_(known_rows, new_columns)] = engine.stored_distances(rows[known_rows], columns[new_columns])
        values[new_rows] = engine.stored_distances(rows[new_rows], columns)
        return DistanceCache(rows, columns, values)


def common(old: Ids, new: Ids) -> tuple[Ids, Ids, Ids]:
    """Of arrivals, both ascending: where those that are in both are in either, and where the others of the new are.

    >>> common(np.array([2, 5, 8]), np.array([5, 6, 8]))
    (array([1, 2]), array([0, 2]), array([1]))
    """
    places = np.searchsorted(old, new)
    known = np.append(old, -1)[places] == new
    return places[known], np.flatnonzero(known), np.flatnonzero(~known)


class StoredPointCache:
    """Stored points with the distances and neighbour lists that one embedding needs, reused between frames.

    Distances are measured once: the next frame measures those of new points only.
    """

    def __init__(self, embedding: Any) -> None:
        self.needs = frozenset(embedding.needs)
        self._neighbours: NeighbourLists | None = None
        if "neighbours" in self.needs:
            k = validation.integer_at_least(embedding.n_neighbors, "n_neighbors", 1)
            self._neighbours = NeighbourLists.empty(k)
        self._to_landmarks = DistanceCache()

    def stored(self, engine: LandmarkEngine, landmarks: Ids) -> StoredPoints:
        """The stored points, with what is needed of them."""
        remembered = engine.stored_indices_
        ids = np.union1d(remembered, landmarks)  # a landmark may be forgotten before it is replaced
        masses = np.zeros(len(ids))
        masses[np.searchsorted(ids, remembered)] = engine.stored_masses()
        stored = StoredPoints(ids, np.searchsorted(ids, landmarks), masses)
        if "to_landmarks" in self.needs:
            self._to_landmarks = self._to_landmarks.updated(engine, ids, landmarks)
            stored = stored._replace(to_landmarks=self._to_landmarks.values)
        if self._neighbours is not None:
            self._neighbours = self._neighbours.updated(ids, engine.stored_distances)
            neighbours, lengths = self._neighbours.nearest()
            stored = stored._replace(neighbours=neighbours, lengths=lengths)
        return stored
