"""A frame: the embedding of some landmarks, aligned with the frame before it, and the points that it owns."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from driftmap.embedding import RowPlacer, move
from driftmap.embedding.base import row_placer
from driftmap.landmarks.online import LandmarkEngine
from driftmap.map import frame_loss
from driftmap.map.stored_cache import NO_IDS, common
from driftmap.metrics import Store, euclidean
from driftmap.quality import Displacement
from driftmap.utils import Array, Ids
from driftmap.utils.concurrency import in_parallel, one_thread
from driftmap.utils.errors import InputError

FARTHEST = 1e140
"""How far out a point may be, relative to the map: squares do not overflow."""
PLACED_AT_ONCE = 4096
"""Rows mapped at a time, so that their landmark distances need little memory."""
REGISTERED = "registered"
"""The reason of a frame that was laid on another map."""

MANY_MORE = 1.5
"""Times the anchors of another frame."""


class FrameChange(NamedTuple):
    """How one frame differs from the one before it."""

    frame: int
    """Number of the frame, from 1; the first one has no predecessor."""
    rotation: Array
    """The rotation or reflection that was applied to the embedding, (k, k)."""
    displacement: Displacement
    """How far stored points moved, relative to the diameter of the map."""
    arrival: int
    """Arrival number of the last point before the frame was made."""
    reason: str
    """Why it was compared with the frame before: "stress", "recent points" or "a cell" had become worse, "growth", or
    "landmarks", whose every change makes a frame. "registered": the map was laid on another one."""
    stress: float
    """Of the frame before: the stress of a sample of stored points or, of maps that do not keep distances, the share of
    nearest neighbours that they lose."""
    candidate_stress: float
    """Of this frame."""


class Points(NamedTuple):
    """Points of a frame, which may not be stored any more."""

    ids: Ids
    """Arrival numbers, ascending."""
    points: Any
    """The points themselves; None: only their distances are known."""
    masses: Array
    """How many points each one stands for."""

    def distances(self, store: Store, queries: Any) -> Array:
        """Distances of checked points to these."""
        return store.to_stored(queries, self.ids) if self.points is None else store.to_points(queries, self.points)


@dataclass(frozen=True, eq=False)
class Frame:
    """The embedding of some landmarks, and how it is aligned with the frame before."""

    embedding: Any
    cover: Points
    """The landmarks."""
    fixed: Points
    """The points by distances to which the embedding places others: the anchors, or the landmarks."""
    between: Array
    """Distances between these."""
    anchors: Ids | None
    """Arrival numbers of the anchors; None: the embedding needs none."""
    rotation: Array
    translation: Array
    rows: RowPlacer | None
    """Places rows of numbers on this frame, where that needs no distances."""
    farthest: float
    """The largest number in a row that can be placed; infinity: the map is one place."""
    places: Array | None = None
    """Where the landmarks lie, if they are others than those of the fit; not turned and shifted any more."""
    scale: float = 1.0
    """By what the embedding is scaled: 1, except for maps that do not keep distances and were laid on another one."""

    @property
    def landmarks(self) -> Ids:
        """Arrival numbers of the landmarks, ascending."""
        return self.cover.ids

    @property
    def points(self) -> Any:
        """The landmarks themselves, which may not be stored any more; None: only their distances are known."""
        return self.cover.points

    @property
    def placing(self) -> Ids:
        """Arrival numbers of the points by distances to which others are placed, also if these are not measured."""
        return self.landmarks if self.anchors is None else self.anchors

    def has_many_more_anchors(self, other: Frame) -> bool:
        """Whether the other frame has few enough anchors that it may draw islands where this one does not."""
        return self.anchors is not None and len(self.anchors) >= MANY_MORE * len(other.placing)

    def place(self, distances: Array) -> Array:
        """Positions of points from their distances to the fixed points."""
        return self._laid(self.embedding.place(distances))

    def _laid(self, positions: Array) -> Array:
        """Positions on the map, given those in the embedding."""
        return move(positions, self.scale * self.rotation, self.translation)

    def place_queries(self, store: Store, queries: Any, n_jobs: int = 1) -> Array:
        """Positions of checked points that are not stored; each by itself, so threads change nothing."""
        if isinstance(queries, np.ndarray) and not float(np.vdot(queries, queries)) <= self.farthest * self.farthest:
            far = np.abs(queries).max(axis=1).astype(np.float64) > self.farthest
            if far.any():
                problem = f"lies more than {FARTHEST:g} times the size of the map away from it; leave it out"
                raise InputError(problem, row=int(np.argmax(far)))
        if len(queries) <= PLACED_AT_ONCE:
            return self._place_part(store, queries)
        parts = (queries[i : i + PLACED_AT_ONCE] for i in range(0, len(queries), PLACED_AT_ONCE))
        return np.concatenate(list(in_parallel(lambda part: self._place_part(store, part), parts, n_jobs)))

    def _place_part(self, store: Store, queries: Any) -> Array:
        if self.rows is not None:  # single precision is converted part by part, never as a whole
            return self.rows.place(np.asarray(queries, dtype=np.float64))
        return self.place(self.fixed.distances(store, queries))

    def distances(self, store: Store, queries: Any) -> Array:
        """Distances of checked points to the landmarks."""
        return self.cover.distances(store, queries)

    def place_stored(self, engine: LandmarkEngine, ids: Ids) -> Array:
        """Positions of stored points."""
        if self.points is None:
            return self.place(engine.stored_distances(ids, self.fixed.ids))
        store = engine.store
        return self._place_part(store, store.check_queries(engine.stored_points(ids)))

    def start(self, engine: LandmarkEngine, ids: Ids) -> Array:
        """The warm start of the next frame: anchors of this one stay in place, other points are placed."""
        old, known, others = common(NO_IDS if self.anchors is None else self.anchors, ids)
        positions = np.empty((len(ids), len(self.translation)))
        if len(known):
            positions[known] = self._laid(self.embedding.anchor_coordinates_[old])
        if len(others):
            positions[others] = self.place_stored(engine, ids[others])
        return positions / self.scale

    def landmark_positions(self) -> Array:
        """Positions of the landmarks."""
        return self._landmark_positions.copy()

    @cached_property
    def _landmark_positions(self) -> Array:
        if self.places is not None:
            return self.places
        return self._laid(self.embedding.coordinates_)

    def residuals(self, distances: Array, positions: Array) -> Array:
        """Per point, the root of the mean squared error of its landmark distances on the map, weighted by mass."""
        gaps = distances - euclidean(positions, self._landmark_positions)
        return np.sqrt((gaps**2 * (self.cover.masses / self.cover.masses.sum())).sum(axis=1))

    def covered_by(self, engine: LandmarkEngine, cover: Points) -> Frame:
        """The same map with other landmarks: those that stay keep their places, and the others are placed."""
        old, known, others = common(self.cover.ids, cover.ids)
        places = np.empty((len(cover.ids), len(self.translation)))
        places[known] = self._landmark_positions[old]
        if len(others):
            places[others] = self.place_stored(engine, cover.ids[others])
        return replace(self, cover=cover, places=places)

    def is_beyond(self, engine: LandmarkEngine) -> bool:
        """Whether a landmark lies far from all fixed points: an embedding that keeps neighbours has no place for it."""
        new = np.setdiff1d(self.cover.ids, self.fixed.ids, assume_unique=True)
        if not len(new):
            return False
        if self.points is None:
            distances = engine.stored_distances(new, self.fixed.ids)
        else:
            store = engine.store
            distances = self.fixed.distances(store, store.check_queries(engine.stored_points(new)))
        return bool(distances.min(axis=1).max() > frame_loss.BEYOND * engine.radius_)

    def laid(self, rotation: Array, translation: Array, scale: float = 1.0) -> Frame:
        """The same after alignment, of a frame that has not been aligned yet."""
        rows = None if self.rows is None else self.rows.moved(scale * rotation, translation)
        return replace(self, rotation=rotation, translation=translation, scale=scale, rows=rows)

    def moved(self, store: Store, rotation: Array, translation: Array, scale: float) -> Frame:
        """The same after a further alignment."""
        places = None if self.places is None else move(self.places, scale * rotation, translation)
        rows = row_placer_of(self.embedding, store, self.fixed.points)  # of the fit: as a checkpoint makes them again
        translation = move(self.translation[None], scale * rotation, translation)[0]
        return replace(self, places=places, rows=rows).laid(self.rotation @ rotation, translation, scale * self.scale)


def row_placer_of(embedding: Any, store: Store, points: Any) -> RowPlacer | None:
    """What places rows without their distances to these landmarks, if there is such a thing."""
    if not store.metric.is_euclidean:
        return None
    with one_thread():
        return row_placer(embedding, points)
