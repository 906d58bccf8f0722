"""Frames: the successive embeddings of a stream, each aligned to the one before (Procrustes).

Learning never makes a frame. When coordinates are asked for and the landmarks have changed, the new landmarks are
embedded and the result is turned, mirrored and shifted (never scaled) so that the stored points lie as near as possible
to where they lay on the map that was given out last.
"""

from __future__ import annotations

import copy
import warnings
from collections import deque
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from driftmap.embedding import (
    Embedding,
    LandmarkStress,
    RowPlacer,
    choose_anchors,
    move,
    procrustes,
)
from driftmap.embedding.factory import BY_NAME, EMBEDDING_TYPES
from driftmap.landmarks.online import LandmarkEngine
from driftmap.map.stored_cache import DistanceCache, StoredPointCache, common
from driftmap.metrics import Store, euclidean
from driftmap.quality import Displacement, displacement
from driftmap.storage.serialization import Arrays, flatten, rebuild
from driftmap.utils import Array, Ids, validation
from driftmap.utils.concurrency import in_parallel, one_thread
from driftmap.utils.errors import InputError

FRAMES_KEPT = 1000
COLD_FIT_SHARE = 0.5
"""The share of exchanged landmarks after which a cold fit replaces the warm start."""
SAMPLE = 200
"""Stored points by which frames are aligned and compared, evenly spread over time; all, if there are no more."""
FEWEST_KNOWN = 10
"""If an embedding needs stored points: those that had arrived by the last frame, as long as so many are left."""
FARTHEST, LEAST_SIZE = 1e140, 1e-140
"""How far out a point may be, relative to the map, and how small a map: squares neither overflow nor underflow."""
LEAST_MASS = 1e-6
"""The least share in the mass that a landmark or an anchor has: its cell may be empty, and yet it is embedded."""
PLACED_AT_ONCE = 4096
"""Rows mapped at a time, so that their landmark distances need little memory."""


class FrameChange(NamedTuple):
    """How one frame differs from the one before it."""

    frame: int
    """Number of the frame, from 1; the first one has no predecessor."""
    rotation: Array
    """The rotation or reflection that was applied to the embedding, (k, k)."""
    displacement: Displacement
    """How far stored points moved, relative to the diameter of the map."""


class Inputs(NamedTuple):
    """What an embedding is fitted to; from the same inputs follows the same embedding."""

    distances: Array
    """Between the landmarks, (m, m)."""
    masses: Array
    """(m,)"""
    anchors: Array | None = None
    """Distances of the anchors to the landmarks, (a, m)."""
    anchor_masses: Array | None = None
    """(a,)"""
    start: Array | None = None
    """Where the anchors, or the landmarks if there are none, lie on the last map, (a, k)."""
    reference: float | None = None
    """The stress of the last cold fit; None: it is out of date."""
    fixed: Ids | None = None
    """Arrival numbers of the anchors, or of the landmarks if there are none; None: not of stress, or of version 0.1."""

    def fit(self, embedding: Any) -> Any:
        """The embedding, fitted to these."""
        distances, masses, anchors, anchor_masses, start, reference, _ = self
        if type(embedding) is not LandmarkStress:
            return embedding.fit(distances, masses)
        return embedding.fit(
            distances, masses, anchors=anchors, anchor_masses=anchor_masses, start=start, reference=reference
        )


@dataclass(frozen=True, eq=False)
class Frame:
    """The embedding of some landmarks, and how it is aligned with the frame before."""

    embedding: Any
    inputs: Inputs
    landmarks: Ids
    rotation: Array
    translation: Array
    rows: RowPlacer | None
    """Places rows of numbers on this frame, where that needs no distances."""
    points: Any
    """The landmarks themselves, which may not be stored any more; None: only their distances are known."""
    farthest: float
    """The largest number in a row that can be placed; infinity: the map is one place."""

    def place(self, distances: Array) -> Array:
        """Positions of points from their distances to the landmarks."""
        return move(self.embedding.place(distances), self.rotation, self.translation)

    def place_queries(self, store: Store, queries: Any, n_jobs: int = 1) -> Array:
        """Positions of checked points that are not stored; each by itself, so threads change nothing."""
        if isinstance(queries, np.ndarray) and not float(np.vdot(queries, queries)) <= self.farthest**2:
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
        return self.place(self.distances(store, queries))

    def distances(self, store: Store, queries: Any) -> Array:
        """Distances of checked points to the landmarks."""
        if self.points is None:
            return store.to_stored(queries, self.landmarks)
        return store.to_points(queries, self.points)

    def place_stored(self, engine: LandmarkEngine, ids: Ids) -> Array:
        """Positions of stored points."""
        if self.points is None:
            return self.place(engine.stored_distances(ids, self.landmarks))
        store = engine.store
        return self._place_part(store, store.check_queries(engine.stored_points(ids)))

    def start(self, engine: LandmarkEngine, ids: Ids) -> Array:
        """The warm start of the next frame: points that this one was fitted to stay in place, others are placed."""
        fixed = np.empty(0, np.int64) if self.inputs.fixed is None else self.inputs.fixed
        old, known, others = common(fixed, ids)
        positions = np.empty((len(ids), len(self.translation)))
        if len(known):
            positions[known] = move(self.embedding.anchor_coordinates_[old], self.rotation, self.translation)
        if len(others):
            positions[others] = self.place_stored(engine, ids[others])
        return positions

    def landmark_positions(self) -> Array:
        """Positions of the landmarks."""
        return self._landmark_positions.copy()

    @cached_property
    def _landmark_positions(self) -> Array:
        return move(self.embedding.coordinates_, self.rotation, self.translation)

    def residuals(self, distances: Array, positions: Array) -> Array:
        """Per point, the root of the mean squared error of its landmark distances on the map, weighted by mass."""
        gaps = distances - euclidean(positions, self._landmark_positions)
        return np.sqrt((gaps**2 * (self.inputs.masses / self.inputs.masses.sum())).sum(axis=1))

    def laid(self, rotation: Array, translation: Array) -> Frame:
        """The same after alignment, of a frame that has not been aligned yet."""
        rows = None if self.rows is None else self.rows.moved(rotation, translation)
        return replace(self, rotation=rotation, translation=translation, rows=rows)


class Frames:
    """Makes frames when they are asked for. An embedding that does not fit is refused."""

    def __init__(self, embedding: str | Embedding, n_components: int, n_anchors: int | None, align: bool) -> None:
        if isinstance(embedding, str):
            embedding = BY_NAME[validation.one_of(embedding, "embedding", validation.EMBEDDINGS)](n_components)
        elif isinstance(embedding, type) or not all(hasattr(embedding, name) for name in ("fit", "place")):
            problem = f"must be a name or an object with fit and place, got {embedding!r}"
            raise InputError(problem, parameter="embedding")
        elif (own := getattr(embedding, "n_components", n_components)) != n_components:
            raise InputError(f"has n_components={own}, but the map has {n_components}", parameter="embedding")
        self.embedding: Any = embedding
        self.n_components, self.n_anchors, self.align = n_components, n_anchors, align
        self.current: Frame | None = None
        self.count = 0
        self.changes: deque[FrameChange] = deque(maxlen=FRAMES_KEPT)
        self.warned = False
        self.version = -1  # of the landmarks when the current frame was last looked at
        self.seen = 0  # arrivals when the current frame was made
        self.exchanged = 0  # landmarks since the last cold fit
        self.between, self.to_anchors = DistanceCache(), DistanceCache()
        self.stored_cache = StoredPointCache(self.embedding) if getattr(self.embedding, "needs", ()) else None

    @property
    def _is_stored(self) -> bool:
        """Whether a checkpoint can hold a frame."""
        return type(self.embedding) in EMBEDDING_TYPES or hasattr(self.embedding, "restore")

    def copy(self) -> Frames:
        """An independent copy; frames themselves do not change."""
        other = copy.copy(self)
        other.changes, other.stored_cache = self.changes.copy(), copy.copy(self.stored_cache)
        return other

    def pack(self, arrays: Arrays) -> dict[str, Any]:
        """As values that a checkpoint can hold: of a frame, its inputs."""
        frame = self.current
        values: dict[str, Any] = {
            "frames": np.array([change.frame for change in self.changes], dtype=np.int64),
            "rotations": np.array([change.rotation for change in self.changes], dtype=np.float64),
            "displacements": np.array([change.displacement for change in self.changes], dtype=np.float64),
            "frame": None,
        }
        if frame is not None and self._is_stored:
            names = ("landmarks", "rotation", "translation", "points")
            values["frame"] = frame.inputs._asdict() | {name: getattr(frame, name) for name in names}
            values["frame"]["state"] = frame.embedding.state() if hasattr(frame.embedding, "state") else None
        packed = {name: flatten(value, f"frames.{name}", arrays) for name, value in values.items()}
        numbers = {"count": self.count, "seen": self.seen, "warned": self.warned, "exchanged": self.exchanged}
        return numbers | packed

    def unpack(self, packed: dict[str, Any], arrays: Arrays, store: Store, n_seen: int) -> None:
        """Go back to what was packed, or raise an error that says why it cannot be a frame of this map."""
        self.count, self.warned = validation.integer_at_least(packed["count"], "count", 0), bool(packed["warned"])
        self.exchanged = validation.integer_at_least(packed["exchanged"], "exchanged", 0)
        self.seen = min(validation.integer_at_least(packed["seen"], "seen", 0), n_seen)
        frame, frames, rotations, displacements = (
            rebuild(packed[name], arrays) for name in ("frame", "frames", "rotations", "displacements")
        )
        n, k = len(frames), self.n_components
        if n and (rotations.shape, displacements.shape) != ((n, k, k), (n, 2)):
            raise ValueError("its changes of frames have the wrong shape")
        if self.count > n_seen or not (np.diff(frames, prepend=0, append=self.count + 1) > 0).all():
            raise ValueError("its frames are not in order")
        for number, rotation, moved in zip(frames.tolist(), rotations, displacements.tolist(), strict=True):
            self.changes.append(FrameChange(int(number), rotation, Displacement(*moved)))
        if frame is not None and self._is_stored:
            with np.errstate(all="ignore"):
                self.current = self._restored(store, n_seen, **frame)

    def _restored(
        self,
        store: Store,
        n_seen: int,
        *,
        landmarks: Ids,
        rotation: Array,
        translation: Array,
        points: Any,
        state: dict[str, Any] | None,
        **values: Any,
    ) -> Frame:
        """A frame from what was packed, once that has been checked."""
        inputs, m, k = Inputs(**values), len(landmarks), self.n_components
        if not (inputs.reference is None or 0 <= inputs.reference < np.inf):
            raise ValueError("the reference stress of its frame must be finite and not negative")
        a = m if inputs.anchor_masses is None else len(inputs.anchor_masses)
        arrays = [(rotation, (k, k)), (translation, (k,)), (inputs.distances, (m, m)), (inputs.masses, (m,))]
        optional = [(inputs.anchors, (a, m)), (inputs.anchor_masses, (a,)), (inputs.start, (a, k))]
        for array, shape in arrays + [(array, shape) for array, shape in optional if array is not None]:
            if not (np.shape(array) == shape and array.dtype == np.float64 and _squarable(array)):
                raise ValueError("an array of its frame has the wrong shape, type or range")
        for masses in (inputs.masses, inputs.anchor_masses):
            if masses is not None and not (masses > 0.1 * LEAST_MASS * masses.sum()).all():
                raise ValueError("the masses of its frame must be positive")
        if np.abs(rotation @ rotation.T - np.eye(k)).max() > 1e-6:
            raise ValueError("the rotation of its frame is not orthogonal")
        if (inputs.anchors is None) != (inputs.anchor_masses is None) or (inputs.distances < 0).any():
            raise ValueError("its frame lacks anchors or their masses, or has negative distances")
        for ids in (landmarks, landmarks if inputs.fixed is None else inputs.fixed):
            if ids.dtype != np.int64 or not (np.diff(ids, prepend=-1, append=n_seen) > 0).all():
                raise ValueError("the landmarks or anchors of its frame have not arrived, or are not in order")
        if inputs.fixed is not None and len(inputs.fixed) != a:
            raise ValueError("its frame has a wrong number of anchors")
        if (points is None) != (store.metric.form == "distances"):
            raise ValueError("its frame lacks landmarks, or has some although distances are precomputed")
        if points is not None and len(points := store.check(points)) != m:
            raise ValueError("its frame has a wrong number of landmarks")
        embedding = copy.deepcopy(self.embedding)
        if hasattr(embedding, "restore"):
            embedding.restore(inputs.distances, inputs.masses, state)
        else:
            inputs.fit(embedding)
        if not _squarable(embedding.coordinates_):
            raise ValueError("the positions of its frame are not finite")
        return _frame(embedding, inputs, landmarks, store, points, k).laid(rotation, translation)

    def present(self, engine: LandmarkEngine) -> Frame:
        """The frame of the present landmarks."""
        stream = engine.fitted_stream()
        if self.current is None or stream.version != self.version:
            landmarks, points = engine.landmarks_of(stream)
            if self.current is None or not np.array_equal(self.current.landmarks, landmarks):
                self._refresh(engine, landmarks, None if engine.store.metric.form == "distances" else points)
            self.version = stream.version
        assert self.current is not None
        return self.current

    def _refresh(self, engine: LandmarkEngine, landmarks: Ids, points: Any) -> None:
        old, k, stream = self.current, self.n_components, engine.fitted_stream()
        embedding, inputs = self._embed(engine, landmarks, stream.landmark_masses())
        frame = _frame(embedding, inputs, landmarks, engine.store, points, k)
        if old is not None:
            stored = engine.stored_indices_
            if self.stored_cache is not None and len(known := stored[stored < self.seen]) >= FEWEST_KNOWN:
                stored = known  # such an embedding does not extrapolate: on the last map, newer points lay anywhere
            sample = stored[np.unique(np.linspace(0, len(stored) - 1, SAMPLE).astype(np.int64))]
            before, after = (f.place_stored(engine, sample) for f in (old, frame))
            if self.align:
                real = min(old.embedding.n_dimensions_, embedding.n_dimensions_)  # the others are 0 and stay so
                rotation, translation = np.eye(k), np.zeros(k)
                rotation[:real, :real], translation[:real] = procrustes(after[:, :real], before[:, :real])
                frame, after = frame.laid(rotation, translation), move(after, rotation, translation)
            if old.embedding.n_dimensions_:  # a map that was one place has no diameter to compare with
                self.changes.append(FrameChange(self.count + 1, frame.rotation, displacement(before, after)))
        self.current, self.seen = frame, stream.seen
        self.count += 1
        if embedding.n_dimensions_ < k < self.seen and not self.warned:  # k points never span k dimensions
            self.warned = True
            warnings.warn(
                f"the landmarks so far span {embedding.n_dimensions_} of n_components={k} dimensions; "
                "the missing coordinates are 0",
                UserWarning,
                stacklevel=4,
            )

    def _embed(self, engine: LandmarkEngine, landmarks: Ids, masses: Array) -> tuple[Embedding, Inputs]:
        """Embed the landmarks; stress starts from where they lie on the last map."""
        if len(landmarks) == 1 and engine.store.metric.native and engine.obeys_triangle:
            points = engine.stored_points(engine.stored_indices_)
            if (points != points[0]).any():
                problem = f"all points lie within {LEAST_SIZE:g} of each other, where distances cannot be distinguished"
                raise InputError(f"{problem}; rescale the data")
        self.between = self.between.updated(engine, landmarks, landmarks)
        inputs = Inputs(self.between.values, np.maximum(masses, LEAST_MASS * masses.sum()))
        if self.stored_cache is not None:
            return self._fit_with_stored(self.stored_cache, engine, landmarks, inputs), inputs
        if type(self.embedding) is LandmarkStress:
            points = landmarks
            if self.n_anchors is not None and self.n_anchors > len(landmarks):
                cells, weights = engine.cells()
                with np.errstate(over="ignore"):  # masses that have decayed to almost nothing
                    points, shares = choose_anchors(landmarks, cells, self.n_anchors, weights)
                self.to_anchors = self.to_anchors.updated(engine, points, landmarks)
                shares = np.maximum(shares, LEAST_MASS * shares.sum())
                inputs = inputs._replace(anchors=self.to_anchors.values, anchor_masses=shares)
            inputs = inputs._replace(fixed=points)
            if self.current is not None and self.align:
                self.exchanged += len(np.setdiff1d(landmarks, self.current.landmarks, assume_unique=True))
                is_recent = self.exchanged < COLD_FIT_SHARE * len(landmarks)
                reference = getattr(self.current.embedding, "cold_stress_", None) if is_recent else None
                inputs = inputs._replace(start=self.current.start(engine, points), reference=reference)
        embedding = inputs.fit(copy.deepcopy(self.embedding))
        if inputs.reference is None or getattr(embedding, "cold_stress_", None) != inputs.reference:
            self.exchanged = 0
        return embedding, inputs

    def _fit_with_stored(self, cache: StoredPointCache, engine: LandmarkEngine, landmarks: Ids, inputs: Inputs) -> Any:
        """A copy of the embedding that was fitted last, fitted to the present landmarks and what it needs."""
        given: dict[str, Any] = {}
        if cache.needs - {"start"}:
            given["stored"] = cache.stored(engine, landmarks)
        if "start" in cache.needs:
            last = self.current if self.align else None
            given["start"] = None if last is None else last.place_stored(engine, landmarks)
        embedding = copy.deepcopy(self.embedding if self.current is None else self.current.embedding)
        return embedding.fit(inputs.distances, inputs.masses, **given)


def _frame(embedding: Any, inputs: Inputs, landmarks: Ids, store: Store, points: Any, k: int) -> Frame:
    """The frame of an embedding, neither turned nor shifted."""
    # a class that is derived from one of these may place points in another way
    with one_thread():
        rows = embedding.for_rows(points) if store.metric.is_euclidean and type(embedding) in EMBEDDING_TYPES else None
    diameter = max(array.max(initial=0.0) for array in (inputs.distances, inputs.anchors) if array is not None)
    farthest = min(FARTHEST * float(diameter), float(validation.LARGEST_NUMBER)) or np.inf
    return Frame(embedding, inputs, landmarks, np.eye(k), np.zeros(k), rows, points, farthest)


def _squarable(array: Array) -> bool:
    """Whether all numbers are finite, and so are sums of their squares."""
    return bool((np.abs(array) < validation.LARGEST_SQUARABLE).all())
