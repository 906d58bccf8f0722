"""The map of a stream, from landmarks and their embedding: the engine of :class:`driftmap.DriftMap`."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from driftmap.embedding.factory import EMBEDDING_TYPES
from driftmap.landmarks.core_set import CoreSet, Origin
from driftmap.landmarks.engine_estimator import HasLandmarks
from driftmap.landmarks.follower import Follower
from driftmap.landmarks.merging import coreset, merge
from driftmap.landmarks.online import LandmarkEngine
from driftmap.landmarks.params import LandmarkParams
from driftmap.landmarks.serialization import KNOWN
from driftmap.map.arrivals import Arrivals, alerts_of, learnt
from driftmap.map.changes import Drift, Found
from driftmap.map.drift import DriftMonitor
from driftmap.map.frame import PLACED_AT_ONCE, Frame, FrameChange
from driftmap.map.frame_loss import sampled
from driftmap.map.frames import LEAST_SIZE, Frames
from driftmap.map.isolation import Followers, Isolation
from driftmap.map.novelty import NoveltyDetector, RecentReaches, reaches
from driftmap.map.params import MapParams
from driftmap.map.registration import MOST_COMPARED, Reference, Side, registration
from driftmap.metrics import Store
from driftmap.metrics.factory import find_metric
from driftmap.quality import Displacement, stress
from driftmap.storage.serialization import Arrays, flatten, pack_params, rebuild, unpack_params
from driftmap.utils import SMALLEST_NORMAL, Array, Ids, validation
from driftmap.utils.concurrency import Lock, n_threads, new_lock
from driftmap.utils.errors import InputError

COMPARED = 2000
"""Most points whose pairwise stress is measured."""


class Novelty(NamedTuple):
    """How well a map represents points; one entry per row."""

    reach: Array
    """Distance to the nearest landmark divided by the radius: above 1, farther out than all points seen."""
    residual: Array
    """Root mean squared error of the point's distances to the landmarks on the map, weighted by mass.

    It is meaningful for stress, lmds and weighted-lmds, which preserve distances. With other embeddings it is large for
    all points.
    """


@dataclass(eq=False)
class StreamMap(MapParams, HasLandmarks):
    """A map with the parameters of :class:`driftmap.DriftMap`, without scikit-learn, which is slow to import.

    All methods acquire ``lock``, but points are placed without it, in an immutable frame.
    """

    kind: ClassVar[str] = "DriftMap"

    def __post_init__(self) -> None:
        self.lock: Lock = new_lock()
        self.landmarks: LandmarkEngine | None = None
        """None before the first point."""
        self._isolation: Isolation | None = None
        self.frames: Frames
        self.feature_names: tuple[str, ...] = ()
        """Column names of the first points, if they were a data frame."""
        self.dict_names: tuple[str, ...] = ()
        """Feature names of points given as dicts."""
        self.landmark_count: Any = None
        """The :class:`~driftmap.map.landmark_count.LandmarkCount` that chose the number of landmarks, if any."""
        self.recent = RecentReaches()
        """Reaches of recently scored arrivals."""

    @property
    def fitted(self) -> bool:
        """True once a point has been seen."""
        return self.landmarks is not None

    def validate(self) -> None:
        """Raise an error that names the first invalid parameter."""
        self._begin()[0].validate()

    # --- learning ---

    def partial_fit(self, X: Any, times: Any = None) -> Self:
        """Learn from further points, in their order. Bad input raises an error and changes nothing."""
        with self.lock, self._learning() as landmarks:
            landmarks.partial_fit(X, times)
        return self

    def learn(
        self, X: Any, times: Any = None, detector: NoveltyDetector | None = None, *, isolation: bool = False
    ) -> Arrivals:
        """Score each further point, then learn it, without placing any."""
        with self.lock:
            arrivals = self._learn(X, times, detector, isolation=isolation)
        if detector is not None:
            detector.notify(arrivals.alerts)
        return arrivals

    def update(
        self,
        X: Any,
        times: Any = None,
        detector: NoveltyDetector | None = None,
        n_jobs: int | None = None,
        *,
        monitor: DriftMonitor | None = None,
        isolation: bool = False,
    ) -> Arrivals:
        """Score and learn further points, as :meth:`learn` does; then place them on the map after the last one."""
        with self.lock:
            before = self.frames.count if self.fitted else 0
            arrivals = self._learn(X, times, detector, monitor, isolation)
            engine = self._landmark_engine()
            frame, store = self.frames.present(engine), engine.store
            count, seen = self.frames.count, engine.n_samples_seen_
            placeable = store.metric.form != "distances"  # rows of distances cover only earlier arrivals
            if placeable:
                queries = store.check_queries(X)
            else:
                coordinates = frame.place_stored(engine, np.arange(seen - len(arrivals.reach), seen))
        if placeable:
            coordinates = frame.place_queries(store, queries, n_threads(n_jobs))
        found, checks = ([], []) if monitor is None else monitor.found()
        drifts = self._drifts(found, frame, store, times, seen - len(arrivals.reach))
        if detector is not None:
            detector.notify(arrivals.alerts)
        arrivals = arrivals._replace(coordinates=coordinates, frame=count, landmarks_changed=count != before)
        return arrivals._replace(drifts=drifts, checks=checks)

    def _drifts(self, found: Sequence[Found], frame: Frame, store: Store, times: Any, first: int) -> list[Drift]:
        """Return what a monitor found, on the map; ``first``: arrival number of the first of these times."""
        names, moments = self.feature_names or self.dict_names, None if times is None else list(times)
        drifts = []
        for one in found:
            time = None if moments is None else moments[one.arrival - first]
            positions = frame.place_queries(store, store.check_queries(one.points))
            drifts.append(one.named(names, positions)._replace(time=time))
        return drifts

    def _learn(
        self,
        X: Any,
        times: Any,
        detector: NoveltyDetector | None,
        monitor: DriftMonitor | None = None,
        isolation: bool = False,
    ) -> Arrivals:
        with self._learning() as landmarks:
            scorer = self._isolation_of(landmarks) if isolation else None
            followers: list[Follower] = [one for one in (scorer, monitor) if one is not None]
            follower = Followers(followers) if len(followers) > 1 else next(iter(followers), None)
            before = landmarks.learn_with_nearest(X, times, points=detector is not None, follower=follower)
        reach = reaches(before.distances, before.radii, landmarks.initial_radius)
        quantiles, estimates = self.recent.add_with_tails(reach)
        arrivals = learnt(reach, quantiles, before.landmarks, self.n_components)
        if scorer is not None:
            arrivals = arrivals._replace(isolation=scorer.scores())
        novel = [] if detector is None else detector.update(reach, estimates)
        if novel:
            rows = None if before.points is None else landmarks.store.check(X)
            first = landmarks.n_samples_seen_ - len(reach)
            names = self.feature_names or self.dict_names
            judged = arrivals._replace(quantile=estimates)
            arrivals.alerts.extend(alerts_of(novel, judged, first, times, names, rows, before.points))
        return arrivals

    def _isolation_of(self, landmarks: LandmarkEngine) -> Isolation:
        """Return what scores the isolation of rows; it keeps what it knows of the stored points of one engine."""
        if self._isolation is None or not self._isolation.is_of(landmarks):
            self._isolation = Isolation(landmarks)
        return self._isolation

    @contextlib.contextmanager
    def _learning(self) -> Iterator[LandmarkEngine]:
        """Yield the landmark engine for learning. A new engine becomes part of the map once it has learnt a row."""
        if self.landmarks is None:
            landmarks, frames = self._begin()
            try:
                yield landmarks
            finally:
                if landmarks.stream is not None:  # also after an interrupt that left some rows learnt
                    self.landmarks, self.frames = landmarks, frames
            return
        try:
            yield self.landmarks
        except BaseException:
            self.frames.version = -1  # after a rollback the engine reuses version numbers
            raise

    def coreset(self) -> CoreSet:
        """Return the stored points with their weights and spreads."""
        return coreset(self._landmark_engine())._replace(origin=self._origin(), recent=self.recent.values)

    def _origin(self) -> Origin:
        params = {name: value for name, value in self.params().items() if name != "n_jobs"}
        return Origin(self.kind, params, self.feature_names or self.dict_names)

    def merge(self, later: Sequence[CoreSet]) -> Self:
        """Return a new map of several consecutive streams; the parts do not change."""
        merged = type(self)(**self.params())
        merged.frames = self.frames.copy()
        merged.frames.version = -1
        merged.landmarks = merge(self._landmark_engine(), later, self._origin())
        merged.landmarks.lock = merged.lock
        merged.feature_names, merged.dict_names = self.feature_names, self.dict_names
        merged.recent = RecentReaches.joined([self.recent.values, *(part.recent for part in later)])
        return merged

    def _begin(self) -> tuple[LandmarkEngine, Frames]:
        """Check the parameters; return an empty landmark engine and its frames."""
        fewest = validation.integer_at_least(self.n_components, "n_components", 1) + 1
        if isinstance(self.n_anchors, str):
            validation.one_of(self.n_anchors, "n_anchors", ("auto",))
        elif self.n_anchors is not None:
            validation.integer_at_least(self.n_anchors, "n_anchors", 1)
        if not isinstance(self.align, bool | np.bool_):
            raise InputError(f"must be True or False, got {self.align!r}", parameter="align")
        if self.frame_tolerance is not None:
            validation.positive_number(self.frame_tolerance, "frame_tolerance", or_zero=True)
        n_threads(self.n_jobs)
        frames = Frames(self.embedding, self.n_components, self.n_anchors, self.align, self.frame_tolerance)
        if hasattr(frames.embedding, "check"):
            frames.embedding.check(self.n_landmarks)
        least = max(LEAST_SIZE, find_metric(self.metric, self.metric_params).least)
        landmarks = LandmarkEngine(**LandmarkParams.params_of(self), initial_radius=least)
        by_mass = "anchors" in frames.needs and not hasattr(frames.embedding, "anchors_for")
        landmarks.samples_rows = by_mass and self.n_anchors is not None
        landmarks.lock, landmarks.fewest_landmarks = self.lock, (fewest, f" for {self.n_components} dimensions")
        return landmarks, frames

    # --- mapping ---

    def transform(self, X: Any, n_jobs: int | None = None) -> Array:
        """Place points in the current frame."""
        with self.lock:
            engine = self._landmark_engine()
            store, queries = engine.store, engine.store.check_queries(X)
            frame = self.frames.present(engine)
        return frame.place_queries(store, queries, n_threads(n_jobs))

    def novelty(self, X: Any) -> Novelty:
        """Measure how poorly the map represents points: their distance from landmarks, and their placement error."""
        with self.lock:
            engine = self._landmark_engine()
            store, queries = engine.store, engine.store.check_queries(X)
            frame, radius = self.frames.present(engine), engine.radius_
        return score(frame, store, queries, radius)

    def stress_of(self, X: Any) -> float:
        """Return the normalised stress of points on the map; at most ``COMPARED``, evenly spread, are compared."""
        with self.lock:
            engine = self._landmark_engine()
            store, frame = engine.store, self.frames.present(engine)
            if store.metric.form == "distances":
                problem = "='precomputed' does not know the distances between the rows of X, which the stress compares"
                raise InputError(problem, parameter="metric")
            queries = store.check_queries(X)
        step = -(-len(queries) // COMPARED)
        some = queries[::step]
        return stress(store.to_points(some, some), frame.place_queries(store, some), metric="precomputed")

    def stored_positions(self) -> tuple[Ids, Array]:
        """Return the arrival numbers of the stored points, and their positions on the map."""
        with self.lock:
            engine = self._landmark_engine()
            return engine.stored_indices_, self.frames.present(engine).place_stored(engine, engine.stored_indices_)

    def side(self) -> Side:
        """Return what a registration needs of this map: its last frame, and stored points by mass."""
        with self.lock:
            engine, given = self._landmark_engine(), self.given_frame()
            frame = self.unobserved_frame() if given is None else given[1]
            return self._side(engine, frame)

    def _side(self, engine: LandmarkEngine, frame: Frame) -> Side:
        names = self.feature_names or self.dict_names
        if engine.store.metric.quick:
            ids, masses = sampled(engine.stored_indices_, engine.stored_masses(), MOST_COMPARED)
            points = engine.stored_points(ids) if engine.store.metric.form != "distances" else None
        else:
            points, masses = frame.points, frame.cover.masses
        return Side(frame, engine.store, points, masses, engine.radius_, names)

    def register(self, reference: Reference, *, scale: bool = False) -> Displacement:
        """Lay the map on an older one; see :meth:`driftmap.DriftMap.register`."""
        old = reference.side()
        with self.lock:
            engine = self._landmark_engine()
            frame = self.frames.present(engine)
            if scale and getattr(frame.embedding, "keeps_distances", False):
                raise InputError(
                    "is for embeddings that do not keep distances: this map has the scale of the data",
                    parameter="scale",
                )
            laid = registration(self._side(engine, frame), old, scale=scale)
            self.frames.register(engine, laid)
        return laid.residual

    def unobserved_frame(self) -> Frame:
        """Return the current frame without recording its use, so that later frames do not depend on this call."""
        with self.lock:
            frames = self.frames.copy()
            frames.warned = True
            return frames.present(self._landmark_engine())

    def given_frame(self) -> tuple[int, Frame] | None:
        """The last frame in which coordinates were given out, and its number; None before. It makes no frame."""
        with self.lock:
            current = self.frames.current if self.fitted else None
            return None if current is None else (self.frames.count, current)

    # --- attributes ---

    @property
    def landmark_embedding_(self) -> Array:
        """Positions of the landmarks on the map; those that came after the frame was made are placed on it.

        With stress they fit the distances between landmarks; ``transform`` fits a point's distances to all landmarks,
        weighted by mass, so it may place a landmark slightly off this position.
        """
        with self.lock:
            return self.frames.present(self._landmark_engine()).landmark_positions()

    @property
    def n_dimensions_(self) -> int:
        """Number of coordinates that the data supports; the others are 0."""
        with self.lock:
            return self.frames.present(self._landmark_engine()).embedding.n_dimensions_

    @property
    def fitted_embedding_(self) -> Any:
        """The embedding of the current frame. Treat it as read-only: the map places points with it.

        Its ``coordinates_`` are from before the alignment of the frame.
        """
        with self.lock:
            return self.frames.present(self._landmark_engine()).embedding

    @property
    def n_anchors_(self) -> int:
        """Number of points by distances to which the present frame places others."""
        with self.lock:
            return len(self.frames.present(self._landmark_engine()).placing)

    @property
    def anchor_indices_(self) -> Ids:
        """Arrival numbers of these points, ascending: stored points by mass, rows of a sample, or the landmarks."""
        with self.lock:
            return self.frames.present(self._landmark_engine()).placing.copy()

    @property
    def frame_(self) -> int:
        """Number of the current frame, from 1. Coordinates with the same number are exactly comparable."""
        with self.lock:
            self.frames.present(self._landmark_engine())
            return self.frames.count

    @property
    def frames_(self) -> list[FrameChange]:
        """How each frame differs from the one before; the last 1,000 frames that were used."""
        with self.lock:
            self._landmark_engine()
            return list(self.frames.changes)

    def _landmark_engine(self) -> LandmarkEngine:
        if self.landmarks is None:
            raise validation.not_fitted(self.kind)
        return self.landmarks

    # --- serialisation ---

    def pack(self) -> tuple[dict[str, Any], Arrays]:
        """Return a JSON header and arrays from which :meth:`unpack` restores the map."""
        arrays: Arrays = {}
        with self.lock:
            header = {
                "kind": self.kind,
                "params": self.packed_params(arrays),
                "landmarks": self._landmark_engine().pack_state(arrays),
                "frames": self.frames.pack(arrays, self._landmark_engine().store),
                "feature_names": [str(name) for name in self.feature_names],
                "dict_names": [*self.dict_names],
                "recent": flatten(self.recent.values, "recent", arrays),
            }
            return header, arrays

    def packed_params(self, arrays: Arrays) -> dict[str, Any]:
        """Return the parameters as JSON, and add their arrays to ``arrays``."""
        return pack_params(self.params(), arrays, KNOWN + EMBEDDING_TYPES)

    @classmethod
    def of_params(cls, packed: Mapping[str, Any], arrays: Arrays, given: Mapping[str, Any]) -> Self:
        """Return a new map with packed parameters; ``given`` are those that are not stored."""
        return cls(**unpack_params(packed, arrays, KNOWN + EMBEDDING_TYPES, given))

    @classmethod
    def unpack(cls, header: dict[str, Any], arrays: Arrays, given: Mapping[str, Any]) -> Self:
        """Restore the map from the result of :meth:`pack`."""
        mapper = cls.of_params(header["params"], arrays, given)
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
            values = {name: value for name, value in vars(self).items() if name not in ("lock", "_isolation")}
            if self.landmarks is not None:
                values["landmarks"], values["frames"] = self.landmarks.__getstate__(), self.frames.copy()
                values["recent"] = self.recent.copy()
            return values

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """Return a copy; no other thread learns until it is complete."""
        with self.lock:
            twin = type(self).__new__(type(self))
            twin.__setstate__(copy.deepcopy(self.__getstate__(), memo))
            return twin

    def __setstate__(self, values: dict[str, Any]) -> None:
        vars(self).update(values, lock=new_lock(), _isolation=None)
        if values["landmarks"] is not None:
            self.landmarks = LandmarkEngine.__new__(LandmarkEngine)
            self.landmarks.__setstate__(values["landmarks"])
            self.landmarks.lock, self.frames.version = self.lock, -1


def score(frame: Frame, store: Store, queries: Any, radius: float) -> Novelty:
    """Return the novelty of validated points, each independent of the others."""
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
