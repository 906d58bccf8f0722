"""The map of a stream: landmarks and their embedding, in frames; :class:`driftmap.DriftMap` without scikit-learn."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from driftmap.embedding.factory import EMBEDDING_TYPES
from driftmap.landmarks.engine_estimator import HasLandmarks
from driftmap.landmarks.merging import CoreSet, Origin, coreset, merge
from driftmap.landmarks.online import LandmarkEngine
from driftmap.landmarks.params import LandmarkParams
from driftmap.landmarks.serialization import KNOWN
from driftmap.map.arrivals import Arrivals, alerts_of, learnt
from driftmap.map.frames import LEAST_SIZE, PLACED_AT_ONCE, Frame, FrameChange, Frames
from driftmap.map.novelty import NoveltyDetector, RecentReaches, reaches
from driftmap.map.params import MapParams
from driftmap.metrics import Store
from driftmap.quality import stress
from driftmap.storage.serialization import Arrays, flatten, pack_params, rebuild, unpack_params
from driftmap.utils import SMALLEST_NORMAL, Array, Ids, validation
from driftmap.utils.concurrency import Lock, n_threads, new_lock
from driftmap.utils.errors import InputError

COMPARED = 2000
"""The most points between which stress is measured."""


class Novelty(NamedTuple):
    """How well a map represents points; one entry per row."""

    reach: Array
    """Distance to the nearest landmark divided by the radius: above 1, farther out than all points seen."""
    residual: Array
    """Root of the mean squared error of the point's landmark distances on the map, weighted by mass.

    It is meaningful for stress, lmds and weighted-lmds, which keep distances. With the other embeddings every point has
    a large one.
    """


@dataclass(eq=False)
class StreamMap(MapParams, HasLandmarks):
    """A map by the parameters of :class:`driftmap.DriftMap`, without scikit-learn, which takes long to import.

    All methods take ``lock``; points are placed without it, on a frame that does not change.
    """

    kind: ClassVar[str] = "DriftMap"

    def __post_init__(self) -> None:
        self.lock: Lock = new_lock()
        self.landmarks: LandmarkEngine | None = None
        """None: no point has been seen."""
        self.frames: Frames
        self.feature_names: tuple[str, ...] = ()
        """Of the columns of the data frame that came first, if it was one."""
        self.dict_names: tuple[str, ...] = ()
        """Of the features of points that came as dicts."""
        self.landmark_count: Any = None
        """The :class:`~driftmap.map.landmark_count.LandmarkCount` that chose the number, if one did."""
        self.recent = RecentReaches()
        """Reaches of recent arrivals that were scored."""

    @property
    def fitted(self) -> bool:
        """Whether any point has been seen."""
        return self.landmarks is not None

    def validate(self) -> None:
        """Raise an error that names the first parameter that cannot be used."""
        self._begin()[0].validate()

    # --- learning ---

    def partial_fit(self, X: Any, times: Any = None) -> Self:
        """Learn from further points, in their order. Bad input raises an error and changes nothing."""
        with self.lock, self._learning() as landmarks:
            landmarks.partial_fit(X, times)
        return self

    def learn(self, X: Any, times: Any = None, detector: NoveltyDetector | None = None) -> Arrivals:
        """Score and learn further points, without placing them: row i after row i - 1 was learnt."""
        with self.lock:
            arrivals = self._learn(X, times, detector)
        if detector is not None:
            detector.notify(arrivals.alerts)
        return arrivals

    def update(
        self, X: Any, times: Any = None, detector: NoveltyDetector | None = None, n_jobs: int | None = None
    ) -> Arrivals:
        """Score, learn and place further points: :meth:`learn`, and positions on the map after the last of them."""
        with self.lock:
            before = self.frames.count if self.fitted else 0
            arrivals = self._learn(X, times, detector)
            engine = self._landmark_engine()
            frame, store = self.frames.present(engine), engine.store
            count, seen = self.frames.count, engine.n_samples_seen_
            placeable = store.metric.form != "distances"  # else the rows are distances to earlier arrivals only
            if placeable:
                queries = store.check_queries(X)
            else:
                coordinates = frame.place_stored(engine, np.arange(seen - len(arrivals.reach), seen))
        if placeable:
            coordinates = frame.place_queries(store, queries, n_threads(n_jobs))
        if detector is not None:
            detector.notify(arrivals.alerts)
        return arrivals._replace(coordinates=coordinates, frame=count, landmarks_changed=count != before)

    def _learn(self, X: Any, times: Any, detector: NoveltyDetector | None) -> Arrivals:
        with self._learning() as landmarks:
            before = landmarks.learn_with_nearest(X, times, points=detector is not None)
        reach = reaches(before.distances, before.radii, landmarks.initial_radius)
        arrivals = learnt(reach, self.recent.add(reach), before.landmarks, self.n_components)
        novel = [] if detector is None else detector.update(reach, arrivals.quantile)
        if novel:
            rows = None if before.points is None else landmarks.store.check(X)
            first = landmarks.n_samples_seen_ - len(reach)
            names = self.feature_names or self.dict_names
            arrivals.alerts.extend(alerts_of(novel, arrivals, first, times, names, rows, before.points))
        return arrivals

    @contextlib.contextmanager
    def _learning(self) -> Iterator[LandmarkEngine]:
        """The landmark engine, for learning. A new engine becomes part of the map once it has learnt a row."""
        if self.landmarks is None:
            landmarks, frames = self._begin()
            try:
                yield landmarks
            finally:
                if landmarks.stream is not None:  # what an interrupt leaves is learnt, too
                    self.landmarks, self.frames = landmarks, frames
            return
        try:
            yield self.landmarks
        except BaseException:
            self.frames.version = -1  # learning that is undone may repeat its version numbers
            raise

    def coreset(self) -> CoreSet:
        """The stored points with their weights and spreads."""
        return coreset(self._landmark_engine())._replace(origin=self._origin(), recent=self.recent.values)

    def _origin(self) -> Origin:
        params = {name: value for name, value in self.params().items() if name != "n_jobs"}
        return Origin(self.kind, params, self.feature_names or self.dict_names)

    def merge(self, later: Sequence[CoreSet]) -> Self:
        """The map of several streams that follow each other, as a new one; its parts stay as they are."""
        merged = type(self)(**self.params())
        _, merged.frames = merged._begin()
        merged.landmarks = merge(self._landmark_engine(), later, self._origin())
        merged.landmarks.lock = merged.lock
        merged.feature_names, merged.dict_names = self.feature_names, self.dict_names
        merged.recent = RecentReaches.joined([self.recent.values, *(part.recent for part in later)])
        return merged

    def _begin(self) -> tuple[LandmarkEngine, Frames]:
        """Landmarks that have seen nothing and frames of them, by the parameters; their own are checked here."""
        fewest = validation.integer_at_least(self.n_components, "n_components", 1) + 1
        if isinstance(self.n_anchors, str):
            validation.one_of(self.n_anchors, "n_anchors", ("auto",))
        elif self.n_anchors is not None:
            validation.integer_at_least(self.n_anchors, "n_anchors", 1)
        if not isinstance(self.align, bool | np.bool_):
            raise InputError(f"must be True or False, got {self.align!r}", parameter="align")
        n_threads(self.n_jobs)
        frames = Frames(self.embedding, self.n_components, self.n_anchors, self.align)
        if hasattr(frames.embedding, "check"):
            frames.embedding.check(self.n_landmarks)
        landmarks = LandmarkEngine(**LandmarkParams.params_of(self), initial_radius=LEAST_SIZE)
        landmarks.lock, landmarks.fewest_landmarks = self.lock, (fewest, f" for {self.n_components} dimensions")
        return landmarks, frames

    # --- mapping ---

    def transform(self, X: Any, n_jobs: int | None = None) -> Array:
        """Place points in the frame of the present landmarks."""
        with self.lock:
            engine = self._landmark_engine()
            store, queries = engine.store, engine.store.check_queries(X)
            frame = self.frames.present(engine)
        return frame.place_queries(store, queries, n_threads(n_jobs))

    def novelty(self, X: Any) -> Novelty:
        """Which points the map does not represent: far from all landmarks, or not placeable by their distances."""
        with self.lock:
            engine = self._landmark_engine()
            store, queries = engine.store, engine.store.check_queries(X)
            frame, radius = self.frames.present(engine), engine.radius_
        return score(frame, store, queries, radius)

    def stress_of(self, X: Any) -> float:
        """The normalised stress of points on the map; of many, up to ``COMPARED`` are compared, evenly spread."""
        with self.lock:
            engine = self._landmark_engine()
            store, frame = engine.store, self.frames.present(engine)
            if store.metric.form == "distances":
                problem = "='precomputed' knows no distances between the rows of X, which the stress is about"
                raise InputError(problem, parameter="metric")
            queries = store.check_queries(X)
        step = -(-len(queries) // COMPARED)
        some = queries[::step]
        return stress(store.to_points(some, some), frame.place_queries(store, some), metric="precomputed")

    def stored_positions(self) -> tuple[Ids, Array]:
        """The arrival numbers of the stored points, and where these lie on the map."""
        with self.lock:
            engine = self._landmark_engine()
            return engine.stored_indices_, self.frames.present(engine).place_stored(engine, engine.stored_indices_)

    def unobserved_frame(self) -> Frame:
        """The frame of the present landmarks, which does not count as given out: for a look that changes nothing."""
        with self.lock:
            frames = self.frames.copy()
            frames.warned = True
            return frames.present(self._landmark_engine())

    # --- what is known ---

    @property
    def landmark_embedding_(self) -> Array:
        """Positions of the landmarks on the map.

        With stress these fit the landmarks' distances to each other; ``transform`` fits a point's distances to all of
        them by mass, so a landmark given to it may be placed a little off its position.
        """
        with self.lock:
            return self.frames.present(self._landmark_engine()).landmark_positions()

    @property
    def n_dimensions_(self) -> int:
        """How many coordinates of the map are real; the others are 0."""
        with self.lock:
            return self.frames.present(self._landmark_engine()).embedding.n_dimensions_

    @property
    def fitted_embedding_(self) -> Any:
        """The embedding of the present frame, with what it knows of itself: to be read, since the map places by it.

        Its ``coordinates_`` are as they were before the frame was turned and shifted.
        """
        with self.lock:
            return self.frames.present(self._landmark_engine()).embedding

    @property
    def n_anchors_(self) -> int:
        """Number of points by distances to which the present frame places others."""
        with self.lock:
            frame = self.frames.present(self._landmark_engine())
            return len(frame.landmarks if frame.anchors is None else frame.anchors)

    @property
    def anchor_indices_(self) -> Ids:
        """Arrival numbers of these points, ascending: stored points by mass, or the landmarks."""
        with self.lock:
            frame = self.frames.present(self._landmark_engine())
            return (frame.landmarks if frame.anchors is None else frame.anchors).copy()

    @property
    def frame_(self) -> int:
        """Number of the frame in which coordinates are given now, from 1; a new one begins when landmarks change."""
        with self.lock:
            self.frames.present(self._landmark_engine())
            return self.frames.count

    @property
    def frames_(self) -> list[FrameChange]:
        """How each frame that was given out differs from the one before; the last 1,000."""
        with self.lock:
            self._landmark_engine()
            return list(self.frames.changes)

    def _landmark_engine(self) -> LandmarkEngine:
        if self.landmarks is None:
            raise validation.not_fitted(self.kind)
        return self.landmarks

    # --- serialisation ---

    def pack(self) -> tuple[dict[str, Any], Arrays]:
        """A header that JSON can hold, and arrays, from which :meth:`unpack` goes on."""
        arrays: Arrays = {}
        with self.lock:
            header = {
                "kind": self.kind,
                "params": pack_params(self.params(), arrays, KNOWN + EMBEDDING_TYPES),
                "landmarks": self._landmark_engine().pack_state(arrays),
                "frames": self.frames.pack(arrays),
                "feature_names": [str(name) for name in self.feature_names],
                "dict_names": [*self.dict_names],
                "recent": flatten(self.recent.values, "recent", arrays),
            }
            return header, arrays

    @classmethod
    def unpack(cls, header: dict[str, Any], arrays: Arrays, given: Mapping[str, Any]) -> Self:
        """Make the map again."""
        mapper = cls(**unpack_params(header["params"], arrays, KNOWN + EMBEDDING_TYPES, given))
        landmarks, mapper.frames = mapper._begin()
        landmarks.unpack_state(header["landmarks"], arrays)
        mapper.frames.unpack(header["frames"], arrays, landmarks.store, landmarks.n_samples_seen_)
        mapper.feature_names, mapper.dict_names = (
            tuple(map(_text, header[name])) for name in ("feature_names", "dict_names")
        )
        if len(mapper.feature_names) not in (0, landmarks.n_features):
            raise ValueError("the number of its feature names differs from that of its features")
        if "recent" in header:  # since version 0.2
            mapper.recent = RecentReaches.of(rebuild(header["recent"], arrays))
        mapper.landmarks = landmarks
        return mapper

    def __getstate__(self) -> dict[str, Any]:
        with self.lock:
            values = {name: value for name, value in vars(self).items() if name != "lock"}
            if self.landmarks is not None:
                values["landmarks"], values["frames"] = self.landmarks.__getstate__(), self.frames.copy()
                values["recent"] = self.recent.copy()
            return values

    def __setstate__(self, values: dict[str, Any]) -> None:
        vars(self).update(values, lock=new_lock())
        if values["landmarks"] is not None:
            self.landmarks = LandmarkEngine.__new__(LandmarkEngine)
            self.landmarks.__setstate__(values["landmarks"])
            self.landmarks.lock, self.frames.version = self.lock, -1


def score(frame: Frame, store: Store, queries: Any, radius: float) -> Novelty:
    """The novelty of checked points; each by itself."""
    reach, residual = np.empty(len(queries)), np.empty(len(queries))
    for i in range(0, len(queries), PLACED_AT_ONCE):
        part = queries[i : i + PLACED_AT_ONCE]
        distances = frame.distances(store, part)
        reach[i : i + PLACED_AT_ONCE] = distances.min(axis=1) / max(radius, SMALLEST_NORMAL)
        residual[i : i + PLACED_AT_ONCE] = frame.residuals(distances, frame.place_queries(store, part))
    return Novelty(reach, residual)


def _text(name: Any) -> str:
    if not isinstance(name, str):
        raise TypeError(f"the name of a feature is {name!r}")
    return name
