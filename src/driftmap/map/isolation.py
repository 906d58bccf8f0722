"""Isolation: how far a row is from the nearest stored point, relative to how far stored points are from each other.

A local outlier factor on the core-set. A quarter of the scale is that of the stored points around the row, and the rest
that of all: by the first alone, rows of a sparse region would never stand out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from driftmap.landmarks.follower import Follower
from driftmap.landmarks.online import LandmarkEngine
from driftmap.metrics import Store
from driftmap.utils import Array, Ids
from driftmap.utils.errors import InputError

AROUND = 20
"""Stored points around a row whose own distances are its scale."""
LOCAL = 0.25
"""Their share of the scale."""
MEASURED_AT_ONCE = 256


class Isolation:
    """Scores each row just before it is learnt: a :class:`driftmap.landmarks.online.Follower`.

    It keeps the distance of each stored point to the nearest other one, which follows from the stored points alone. A
    row costs twice as many distances as there are stored points, and the first row the distances between all of them.
    """

    def __init__(self, engine: LandmarkEngine) -> None:
        self._engine = engine
        self._scores: list[float] = []
        self._forget()

    def _forget(self) -> None:
        self._arrivals = np.empty(0, np.int64)
        self._own = np.empty(0)  # distance of each stored point to the nearest other one
        self._nearest = np.empty(0, np.int64)  # arrival number of that one

    def is_of(self, engine: LandmarkEngine) -> bool:
        """Whether it scores rows of this engine."""
        return self._engine is engine

    def begin(self, store: Store, seen: int, mark: tuple[float, int]) -> None:
        """Raise an error if rows have no distances to stored points; forget earlier scores."""
        if store.metric.form == "distances":
            raise InputError('does not go with metric="precomputed"', parameter="isolation")
        self._scores = []

    def rows_to_stop(self, n_landmarks: int) -> int:
        """Return 1: each row is scored before it is learnt."""
        return 1

    def measure(self, store: Store, rows: Any) -> None:
        """Score one row."""
        stream = self._engine.stream
        assert stream is not None
        stored = np.flatnonzero(stream.masses() > 0) if stream.seen else np.empty(0, np.int64)
        if len(stored) < 2:
            self._scores.append(np.inf)
            return
        self._catch_up(store, stream.arrivals()[stored].view(np.int64), stored)
        distances = store.to_stored(rows, stored)[0]
        cut = np.partition(distances, AROUND - 1)[AROUND - 1] if len(stored) > AROUND else np.inf
        self._scores.append(isolation_of(distances.min(), self._own[distances <= cut], self._own))

    def _catch_up(self, store: Store, arrivals: Ids, rows: Ids) -> None:
        """Take over the stored points: find the nearest of new ones, and of those whose nearest one is gone."""
        if not np.array_equal(arrivals, self._arrivals):
            is_known, places = _found(arrivals, self._arrivals)
            own, nearest = np.full(len(arrivals), np.nan), np.full(len(arrivals), -1)
            own[is_known], nearest[is_known] = self._own[places], self._nearest[places]
            own[~_found(nearest, arrivals)[0]] = np.nan
            self._arrivals, self._own, self._nearest = arrivals, own, nearest
        unknown = np.flatnonzero(np.isnan(self._own))
        for start in range(0, len(unknown), MEASURED_AT_ONCE):
            part = unknown[start : start + MEASURED_AT_ONCE]
            distances = store.pairs(rows[part], rows)
            distances[np.arange(len(part)), part] = np.inf
            self._own[part], self._nearest[part] = distances.min(axis=1), arrivals[distances.argmin(axis=1)]
            others, which = distances.min(axis=0), arrivals[part[distances.argmin(axis=0)]]
            is_nearer = others < self._own  # False for those that are still unknown
            self._own[is_nearer], self._nearest[is_nearer] = others[is_nearer], which[is_nearer]

    def follow(
        self,
        store: Store,
        rows: Any,
        measured: Any,
        mark: tuple[float, int],
        n_landmarks: int,
        landmarks: Callable[[], tuple[Ids, Any]],
    ) -> None:
        """Do nothing: what was stored is found before the next row."""

    def mark(self) -> None:
        """Return nothing: all that is known follows from the stored points."""

    def back_to(self, mark: None) -> None:
        """Forget what was found."""
        self._forget()

    def scores(self) -> Array:
        """Return the scores since :meth:`begin`."""
        return np.array(self._scores)


class Followers:
    """Several followers of the same rows."""

    def __init__(self, parts: list[Follower]) -> None:
        self._parts = parts

    def begin(self, store: Store, seen: int, mark: tuple[float, int]) -> None:
        """Begin all."""
        for part in self._parts:
            part.begin(store, seen, mark)

    def rows_to_stop(self, n_landmarks: int) -> int:
        """Return the fewest rows after which one of them is to follow."""
        return min(part.rows_to_stop(n_landmarks) for part in self._parts)

    def measure(self, store: Store, rows: Any) -> list[Any]:
        """Return what each has measured."""
        return [part.measure(store, rows) for part in self._parts]

    def follow(
        self,
        store: Store,
        rows: Any,
        measured: list[Any],
        mark: tuple[float, int],
        n_landmarks: int,
        landmarks: Callable[[], tuple[Ids, Any]],
    ) -> None:
        """Let each take in the rows."""
        for part, own in zip(self._parts, measured, strict=True):
            part.follow(store, rows, own, mark, n_landmarks, landmarks)

    def mark(self) -> list[Any]:
        """Return the state of each."""
        return [part.mark() for part in self._parts]

    def back_to(self, mark: list[Any]) -> None:
        """Restore the state of each."""
        for part, own in zip(self._parts, mark, strict=True):
            part.back_to(own)


def isolation_of(distance: float, around: Array, every: Array) -> float:
    """Return a distance relative to those of stored points around it and of all; 0 for a stored point itself.

    >>> isolation_of(7.0, np.array([1.0, 3.0]), np.array([1.0, 3.0, 8.0]))
    2.0
    >>> isolation_of(1.0, np.zeros(2), np.zeros(3)), isolation_of(0.0, np.zeros(2), np.zeros(3))
    (inf, 0.0)
    """
    scale = LOCAL * float(around.mean()) + (1 - LOCAL) * float(every.mean())
    return float(distance) / scale if scale > 0 else np.inf if distance > 0 else 0.0


def _found(wanted: Ids, known: Ids) -> tuple[Any, Ids]:
    """Return which numbers are among ``known``, which is ascending, and the places of these."""
    if not len(known):
        return np.zeros(len(wanted), dtype=bool), np.empty(0, np.int64)
    places = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
    is_known = known[places] == wanted
    return is_known, places[is_known]
