"""What a frame needs to know of stored points: their distances, of which only new ones are measured, and neighbours."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from driftmap.embedding import NeighbourLists, StoredPoints
from driftmap.embedding.base import NEEDS
from driftmap.landmarks.online import LandmarkEngine
from driftmap.utils import Array, Ids, validation

NO_IDS: Ids = np.empty(0, np.int64)


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

    rows: Ids = field(default_factory=lambda: NO_IDS)
    columns: Ids = field(default_factory=lambda: NO_IDS)
    values: Array = field(default_factory=lambda: np.empty((0, 0)))

    def to(self, engine: LandmarkEngine, rows: Ids, columns: Ids) -> MeasuredDistances:
        """The distances of other points, among which some of these may be."""
        values = np.empty((len(rows), len(columns)))
        old_rows, known_rows, new_rows = common(self.rows, rows)
        old_columns, known_columns, new_columns = common(self.columns, columns)
        values[np.ix_(known_rows, known_columns)] = self.values[np.ix_(old_rows, old_columns)]
        values[np.ix_(known_rows, new_columns)] = engine.stored_distances(rows[known_rows], columns[new_columns])
        values[new_rows] = engine.stored_distances(rows[new_rows], columns)
        return MeasuredDistances(rows, columns, values)


def common(old: Ids, new: Ids) -> tuple[Ids, Ids, Ids]:
    """Of arrivals, both ascending: where those that are in both are in either, and where the others of the new are.

    >>> common(np.array([2, 5, 8]), np.array([5, 6, 8]))
    (array([1, 2]), array([0, 2]), array([1]))
    """
    places = np.searchsorted(old, new)
    known = np.append(old, -1)[places] == new
    return places[known], np.flatnonzero(known), np.flatnonzero(~known)


class Needs:
    """The needs of one embedding. Distances are measured once: the next frame measures those of new points only."""

    def __init__(self, embedding: Any) -> None:
        self.names = frozenset(getattr(embedding, "needs", ()))
        for name in self.names:
            validation.one_of(name, "needs", NEEDS)
        self._neighbours: NeighbourLists | None = None
        if "neighbours" in self.names:
            k = validation.integer_at_least(embedding.n_neighbors, "n_neighbors", 1)
            self._neighbours = NeighbourLists.empty(k)
        self._to_landmarks = MeasuredDistances()

    def stored(self, engine: LandmarkEngine, landmarks: Ids) -> StoredPoints:
        """The stored points, with what is needed of them."""
        remembered = engine.stored_indices_
        ids = np.union1d(remembered, landmarks)  # a landmark may be forgotten before it is replaced
        masses = np.zeros(len(ids))
        masses[np.searchsorted(ids, remembered)] = engine.stored_masses()
        stored = StoredPoints(ids, np.searchsorted(ids, landmarks), masses)
        if "to_landmarks" in self.names:
            self._to_landmarks = self._to_landmarks.to(engine, ids, landmarks)
            stored = stored._replace(to_landmarks=self._to_landmarks.values)
        if self._neighbours is not None:
            self._neighbours = self._neighbours.updated(ids, engine.stored_distances)
            neighbours, lengths = self._neighbours.nearest()
            stored = stored._replace(neighbours=neighbours, lengths=lengths)
        return stored
