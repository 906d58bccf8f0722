"""Frames: the maps that were given out, one after the other, each laid on the last.

Learning never makes a frame. When coordinates are asked for and the landmarks have changed, the new landmarks are
embedded and the result is turned, mirrored and shifted (never scaled) so that the stored points lie as near as possible
to where they lay on the map that was given out last.
"""

from __future__ import annotations

import copy
import warnings
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from driftmap.embedding import Embedding, LandmarkMDS, LandmarkStress, RowPlacer, align, choose_anchors, move
from driftmap.embedding.anchors import Inference
from driftmap.embedding.fixed import FixedPoints, StressRows
from driftmap.embedding.lmds import LinearRows
from driftmap.landmarks.online import OnlineSelector
from driftmap.metrics import EuclideanSpace, PrecomputedSpace, Space
from driftmap.packing import Arrays, flatten, rebuild
from driftmap.quality import Displacement, displacement

Array = NDArray[np.float64]
Ids = NDArray[np.int64]

FRAMES_KEPT = 1000
SAMPLE = 1000
"""Stored points by which frames are aligned and compared, evenly spread over time; all, if there are no more."""
FAINT = 1e-6
"""The least share in the mass that a landmark has."""
ROWS = 4096
"""Rows mapped at a time, so that their landmark distances need little memory."""


class FrameChange(NamedTuple):
    """How one frame differs from the one before it."""

    frame: int
    """Number of the frame, from 1; the first one has no predecessor."""
    rotation: Array
    """The rotation or reflection that was applied to the embedding, (k, k)."""
    displacement: Displacement
    """How far stored points moved, relative to the diameter of the map."""


class Frame(NamedTuple):
    """The embedding of some landmarks, and how it is laid on the frame before."""

    embedding: Embedding
    landmarks: Ids
    rotation: Array
    translation: Array
    rows: RowPlacer | None
    """Places rows of numbers on this frame, where that needs no distances."""
    points: Any
    """The landmarks themselves, which may not be stored any more; None: only their distances are known."""

    def place(self, distances: Array) -> Array:
        """Positions of points from their distances to the landmarks."""
        return move(self.embedding.place(distances), self.rotation, self.translation)

    def place_queries(self, space: Space, queries: Any, n_jobs: int = 1) -> Array:
        """Positions of checked points that are not stored; each by itself, so threads change nothing."""
        parts = [queries[i : i + ROWS] for i in range(0, len(queries), ROWS)]
        if n_jobs > 1 and len(parts) > 1:
            with ThreadPoolExecutor(n_jobs) as pool:
                return np.concatenate(list(pool.map(lambda part: self._place_part(space, part), parts)))
        if self.rows is not None and queries.dtype == np.float64:
            return self.rows.place(queries)
        return np.concatenate([self._place_part(space, part) for part in parts])

    def _place_part(self, space: Space, queries: Any) -> Array:
        if self.rows is not None:  # single precision is converted part by part, never as a whole
            return self.rows.place(np.asarray(queries, dtype=np.float64))
        return self.place(self.distances(space, queries))

    def distances(self, space: Space, queries: Any) -> Array:
        """Distances of checked points to the landmarks."""
        if self.points is None:
            return space.to_stored(queries, self.landmarks)
        return space.to_points(queries, self.points)

    def place_stored(self, selector: OnlineSelector, ids: Ids) -> Array:
        """Positions of stored points."""
        if self.points is None:
            return self.place(selector.stored_distances(ids, self.landmarks))
        return self.place_queries(selector._fitted_space(), selector.stored_points(ids))

    def landmark_positions(self) -> Array:
        """Positions of the landmarks."""
        return move(self.embedding.coordinates_, self.rotation, self.translation)

    def laid(self, rotation: Array, translation: Array) -> Frame:
        """The same, turned and shifted; it has been neither before."""
        rows = None if self.rows is None else self.rows.moved(rotation, translation)
        return self._replace(rotation=rotation, translation=translation, rows=rows)


KNOWN = (
    Frame, LandmarkMDS, LandmarkStress, Inference, FixedPoints, StressRows, LinearRows
)  # fmt: skip
"""What a frame is made of."""


class Frames:
    """Makes frames when they are asked for."""

    def __init__(self, embedding: str | Embedding, n_components: int, n_anchors: int | None, align: bool) -> None:
        self.embedding, self.n_components, self.n_anchors, self.align = embedding, n_components, n_anchors, align
        self.current: Frame | None = None
        self.count = 0
        self.changes: deque[FrameChange] = deque(maxlen=FRAMES_KEPT)
        self.warned = False
        self.slots: tuple[bytes, int] = (b"", 0)

    def pack(self, arrays: Arrays) -> dict[str, Any]:
        """As values that a checkpoint can hold; a frame of the user's own embedding is made anew later."""
        frame = self.current if isinstance(self.embedding, str) else None
        return {
            "frame": flatten(frame, "frame", arrays, KNOWN),
            "count": self.count,
            "changes": {
                "frames": flatten(np.array([change.frame for change in self.changes]), "changes.frames", arrays),
                "rotations": flatten(np.array([change.rotation for change in self.changes]), "rotations", arrays),
                "moved": flatten(np.array([change.displacement for change in self.changes]), "moved", arrays),
            },
            "warned": self.warned,
        }

    def unpack(self, packed: dict[str, Any], arrays: Arrays) -> None:
        """Go back to what was packed."""
        self.current = rebuild(packed["frame"], arrays, KNOWN)
        self.count, self.warned = packed["count"], packed["warned"]
        changes = (rebuild(packed["changes"][name], arrays) for name in ("frames", "rotations", "moved"))
        for number, rotation, moved in zip(*changes, strict=True):
            self.changes.append(FrameChange(int(number), rotation, Displacement(*moved.tolist())))

    def present(self, selector: OnlineSelector) -> Frame:
        """The frame of the present landmarks."""
        state = selector._fitted_state()
        slots = state.cells["landmark"].tobytes(), state.renumbered  # to sort them by arrival takes much longer
        if self.current is None or slots != self.slots:
            landmarks = selector.landmark_indices_
            if self.current is None or not np.array_equal(self.current.landmarks, landmarks):
                self._refresh(selector, landmarks)
            self.slots = slots
        assert self.current is not None
        return self.current

    def _refresh(self, selector: OnlineSelector, landmarks: Ids) -> None:
        old, masses = self.current, _positive(selector.landmark_mass_.astype(np.float64))
        embedding = self._embed(selector, landmarks, masses)
        k = self.n_components
        points = None if isinstance(selector._fitted_space(), PrecomputedSpace) else selector.landmarks_
        frame = Frame(embedding, landmarks, np.eye(k), np.zeros(k), self._row_placer(embedding, selector), points)
        if old is not None:
            stored = selector.stored_indices_
            sample = stored[np.unique(np.linspace(0, len(stored) - 1, SAMPLE).astype(np.int64))]
            before, after = (f.place_stored(selector, sample) for f in (old, frame))
            if self.align:
                real = min(old.embedding.n_dimensions_, embedding.n_dimensions_)  # the others are 0 and stay so
                rotation, translation = np.eye(k), np.zeros(k)
                rotation[:real, :real], translation[:real] = align(after[:, :real], before[:, :real])
                frame, after = frame.laid(rotation, translation), move(after, rotation, translation)
            if old.embedding.n_dimensions_:  # a map that was one place has no diameter to compare with
                self.changes.append(FrameChange(self.count + 1, frame.rotation, displacement(before, after)))
        self.current = frame
        self.count += 1
        if embedding.n_dimensions_ < k and not self.warned:
            self.warned = True
            warnings.warn(
                f"the landmarks so far span {embedding.n_dimensions_} of n_components={k} dimensions; "
                "the missing coordinates are 0",
                UserWarning,
                stacklevel=5,
            )

    def _embed(self, selector: OnlineSelector, landmarks: Ids, masses: Array) -> Embedding:
        """Embed the landmarks; stress starts from where they lie on the last map."""
        distances = selector.landmark_distances()
        if not isinstance(self.embedding, str):
            return copy.deepcopy(self.embedding).fit(distances, masses)
        if self.embedding != "stress":
            return LandmarkMDS(self.n_components, weighted=self.embedding == "weighted-lmds").fit(distances, masses)
        points, arguments = landmarks, {}
        if self.n_anchors is not None and self.n_anchors > len(landmarks):
            cells, weights = selector.cells()
            points, shares = choose_anchors(landmarks, cells, self.n_anchors, weights)
            arguments = {"anchors": selector.stored_distances(points, landmarks), "anchor_masses": _positive(shares)}
        start: Any = None
        if self.current is not None and self.align:
            start = self.current.place_stored(selector, points)
        return LandmarkStress(self.n_components).fit(distances, masses, start=start, **arguments)

    def _row_placer(self, embedding: Embedding, selector: OnlineSelector) -> RowPlacer | None:
        """What places rows without distances, if there is such a thing; an embedding of the user's own is asked."""
        if isinstance(self.embedding, str) and isinstance(selector._fitted_space(), EuclideanSpace):
            assert isinstance(embedding, LandmarkMDS | LandmarkStress)
            return embedding.for_rows(selector.landmarks_)
        return None


def _positive(masses: Array) -> Array:
    """Nothing that is remembered may be nearest to a landmark; it still has its place on the map."""
    return np.maximum(masses, FAINT * masses.sum())
