"""Frames: the maps that were given out, one after the other, each laid on the last.

Learning never makes a frame. When coordinates are asked for and the landmarks have changed, the new landmarks are
embedded and the result is turned, mirrored and shifted (never scaled) so that the stored points lie as near as possible
to where they lay on the map that was given out last.
"""

from __future__ import annotations

import copy
import warnings
from collections import deque
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from driftmap.embedding import Embedding, LandmarkMDS, LandmarkStress, align, choose_anchors, move
from driftmap.landmarks import OnlineLandmarks
from driftmap.quality import Displacement, displacement

Array = NDArray[np.float64]
Ids = NDArray[np.int64]

EMBEDDINGS = ("stress", "weighted-lmds", "lmds")
FRAMES_KEPT = 1000
SAMPLE = 1000
"""Stored points by which frames are aligned and compared, evenly spread over time; all, if there are no more."""
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

    def place(self, distances: Array) -> Array:
        """Positions of points from their distances to the landmarks."""
        return move(self.embedding.place(distances), self.rotation, self.translation)

    def landmark_positions(self) -> Array:
        """Positions of the landmarks."""
        return move(self.embedding.coordinates_, self.rotation, self.translation)

    def residuals(self, distances: Array, masses: Array) -> Array:
        """Per row, the root of the mean squared error of its landmark distances on the map, weighted by mass."""
        gaps = distances - np.linalg.norm(self.place(distances)[:, None] - self.landmark_positions(), axis=2)
        return np.sqrt((gaps**2 * (masses / masses.sum())).sum(axis=1))


class Frames:
    """Makes frames when they are asked for."""

    def __init__(self, embedding: str | Embedding, n_components: int, n_anchors: int | None, align: bool) -> None:
        self.embedding, self.n_components, self.n_anchors, self.align = embedding, n_components, n_anchors, align
        self.current: Frame | None = None
        self.count = 0
        self.changes: deque[FrameChange] = deque(maxlen=FRAMES_KEPT)
        self.warned = False

    def present(self, selector: OnlineLandmarks) -> Frame:
        """The frame of the present landmarks."""
        landmarks = selector.landmark_indices_
        if self.current is None or not np.array_equal(self.current.landmarks, landmarks):
            self._refresh(selector, landmarks)
        assert self.current is not None
        return self.current

    def _refresh(self, selector: OnlineLandmarks, landmarks: Ids) -> None:
        old, masses = self.current, selector.landmark_mass_.astype(np.float64)
        embedding = self._embed(selector, landmarks, masses)
        k = self.n_components
        frame = Frame(embedding, landmarks, np.eye(k), np.zeros(k))
        if old is not None:
            sample = np.unique(np.linspace(0, selector.n_samples_seen_ - 1, SAMPLE).astype(np.int64))
            before, after = (f.place(selector.stored_distances(sample, f.landmarks)) for f in (old, frame))
            if self.align:
                real = min(old.embedding.n_dimensions_, embedding.n_dimensions_)  # the others are 0 and stay so
                rotation, translation = align(after[:, :real], before[:, :real])
                frame.rotation[:real, :real], frame.translation[:real] = rotation, translation
                after = move(after, frame.rotation, frame.translation)
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

    def _embed(self, selector: OnlineLandmarks, landmarks: Ids, masses: Array) -> Embedding:
        """Embed the landmarks; stress starts from where they lie on the last map."""
        distances = selector.landmark_distances()
        if not isinstance(self.embedding, str):
            return copy.deepcopy(self.embedding).fit(distances, masses)
        if self.embedding != "stress":
            return LandmarkMDS(self.n_components, weighted=self.embedding == "weighted-lmds").fit(distances, masses)
        points, arguments = landmarks, {}
        if self.n_anchors is not None and self.n_anchors > len(landmarks):
            points, weights = choose_anchors(landmarks, selector.cells(), self.n_anchors)
            arguments = {"anchors": selector.stored_distances(points, landmarks), "anchor_masses": weights}
        start: Any = None
        if self.current is not None and self.align:
            start = self.current.place(selector.stored_distances(points, self.current.landmarks))
        return LandmarkStress(self.n_components).fit(distances, masses, start=start, **arguments)
