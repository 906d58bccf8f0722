"""What an embedding needs beyond the distances and masses of the landmarks, gathered from a map."""

from __future__ import annotations

from typing import Any

import numpy as np

from driftmap.embedding import NeighbourLists, StoredPoints
from driftmap.embedding.base import NEEDS
from driftmap.landmarks.online import LandmarkEngine
from driftmap.map.distances import MeasuredDistances
from driftmap.utils import Ids, validation


class Needs:
    """The needs of one embedding. What is measured is kept for the next frame; only new points are measured then."""

    def __init__(self, embedding: Any) -> None:
        self.names = frozenset(getattr(embedding, "needs", ()))
        for name in self.names:
            validation.one_of(name, "needs", NEEDS)
        k = embedding.n_neighbors if "neighbours" in self.names else 1
        self._neighbours = NeighbourLists.empty(validation.integer_at_least(k, "n_neighbors", 1))
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
        if "neighbours" in self.names:
            self._neighbours = self._neighbours.updated(ids, engine.stored_distances)
            neighbours, lengths = self._neighbours.nearest()
            stored = stored._replace(neighbours=neighbours, lengths=lengths)
        return stored
