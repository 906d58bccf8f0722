"""A frozen map, which places and scores points as the map did when it was frozen, but does not learn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from driftmap.embedding.factory import EMBEDDING_TYPES
from driftmap.map.frame import Frame
from driftmap.map.frames import Frames
from driftmap.map.registration import Side
from driftmap.map.stream_map import Novelty, StreamMap, score
from driftmap.metrics import Store, make_store
from driftmap.metrics.callables import check_function
from driftmap.storage import checkpoint, serialization
from driftmap.storage.serialization import Arrays, flatten, pack_params, rebuild, unpack_params
from driftmap.utils import Array, Ids, PathLike, validation
from driftmap.utils.concurrency import n_threads
from driftmap.utils.data_frames import materialized
from driftmap.utils.errors import InputError

PARAMS = ("n_components", "embedding", "n_anchors", "align", "metric", "metric_params")
"""The parameters of the map that affect placement."""
FACTS = ("radius_", "covering_radius_", "coverage_bound_", "n_samples_seen_")


@dataclass(frozen=True, eq=False)
class FrozenMap:
    """One frame of a map, returned by :meth:`driftmap.DriftMap.freeze`, small enough to send to other processes.

    It is immutable, so threads and processes may share it. Use :meth:`save` and :meth:`load` for files: loading
    executes no code. It can be pickled for copies between processes; never unpickle a file that you do not trust.

    >>> import numpy as np
    >>> from driftmap import DriftMap
    >>> stream = np.cumsum(np.random.default_rng(0).standard_normal((500, 5)), axis=0)
    >>> mapper = DriftMap(n_landmarks=20).fit(stream)
    >>> frozen = mapper.freeze()
    >>> bool((frozen.transform(stream) == mapper.transform(stream)).all())
    True
    """

    kind: ClassVar[str] = "FrozenMap"

    params: Mapping[str, Any]
    """The parameters of the map that affect placement."""
    frame: Frame
    store: Store
    frame_: int
    """Number of the frame."""
    landmark_mass_: Ids | Array
    """For each landmark, the number of points nearest to it."""
    radius_: float
    """The radius of the landmarks, the unit of reach."""
    covering_radius_: float
    """The largest distance of a stored point to its landmark; after certification, of any point."""
    coverage_bound_: float | None
    """Every point seen lies within this distance of its nearest landmark; None if the metric gives no bound."""
    n_samples_seen_: int
    feature_names: tuple[str, ...] = ()
    certified: bool = False
    """True if covering radius and masses are exact, from a pass over all points."""

    @property
    def landmark_indices_(self) -> Ids:
        """Arrival numbers of the landmarks, ascending."""
        return self.frame.landmarks

    @property
    def landmarks_(self) -> Any:
        """The landmarks themselves; None if only their distances are known."""
        return self.frame.points

    @property
    def landmark_embedding_(self) -> Array:
        """Positions of the landmarks on the map."""
        return self.frame.landmark_positions()

    @property
    def n_anchors_(self) -> int:
        """Number of points by distances to which the frame places others."""
        return len(self.frame.placing)

    @property
    def n_features_in_(self) -> int:
        """Number of features of the points; absent if they are objects."""
        if self.store.n_features is None:
            raise AttributeError("the points have no features")
        return self.store.n_features

    def transform(self, X: Any, n_jobs: int | None = None) -> Array:
        """Return the positions of points on the map."""
        return self.frame.place_queries(self.store, self._check(X), n_threads(n_jobs))

    def novelty(self, X: Any) -> Novelty:
        """Measure how poorly the map represents points."""
        return score(self.frame, self.store, self._check(X), self.radius_)

    def distances(self, X: Any) -> Array:
        """Return true distances to the landmarks, (n, m)."""
        return self.frame.distances(self.store, self._check(X))

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Return the names of the coordinates, as :class:`driftmap.DriftMap` does."""
        return np.array([f"driftmap{i}" for i in range(self.params["n_components"])], dtype=object)

    def _check(self, X: Any) -> Any:
        X = materialized(X)
        names = validation.column_names(X)
        if self.feature_names and names and names != self.feature_names:
            problem = f"has the columns {list(names)}, but the map was learnt from {list(self.feature_names)}"
            raise InputError(problem, parameter="X")
        return self.store.check_queries(X)

    def side(self) -> Side:
        """Return what a registration needs of this map: its frame, and its fixed points."""
        fixed = self.frame.fixed
        return Side(self.frame, self.store, fixed.points, fixed.masses, self.radius_, self.feature_names)

    # --- files ---

    def save(self, path: PathLike) -> None:
        """Write the map to a file atomically, without pickle."""
        checkpoint.write(path, *self.pack())

    def to_bytes(self) -> bytes:
        """Return the bytes that :meth:`save` writes."""
        return checkpoint.to_bytes(*self.pack())

    @classmethod
    def load(cls, path: PathLike, *, metric: Any = None, embedding: Any = None) -> Self:
        """Read a saved map; pass a user-defined metric or embedding again."""
        return serialization.load(path, cls, metric=metric, embedding=embedding)

    @classmethod
    def from_bytes(cls, blob: bytes, *, metric: Any = None, embedding: Any = None) -> Self:
        """Return the map in the bytes of :meth:`to_bytes` or of a file; see :meth:`load`."""
        return serialization.from_bytes(blob, cls, metric=metric, embedding=embedding)

    def pack(self) -> tuple[dict[str, Any], Arrays]:
        """Return a JSON header and arrays from which :meth:`unpack` rebuilds the map."""
        arrays: Arrays = {}
        frames = _frames(self.params)
        frames.current, frames.count = self.frame, self.frame_
        return {
            "kind": self.kind,
            "params": pack_params(self.params, arrays, EMBEDDING_TYPES),
            "frames": frames.pack(arrays, self.store),
            "facts": {name: flatten(getattr(self, name), name, arrays) for name in FACTS},
            "landmark_mass": flatten(np.asarray(self.landmark_mass_), "landmark_mass", arrays),
            "n_features": self.store.n_features,
            "feature_names": [*self.feature_names],
            "certified": self.certified,
        }, arrays

    @classmethod
    def unpack(cls, header: dict[str, Any], arrays: Arrays, given: Mapping[str, Any]) -> Self:
        """Rebuild the map from the result of :meth:`pack`."""
        params = unpack_params(header["params"], arrays, EMBEDDING_TYPES, given)
        facts = {name: rebuild(header["facts"][name], arrays) for name in FACTS}
        seen = validation.integer_at_least(facts["n_samples_seen_"], "n_samples_seen_", 1)
        for name in FACTS[:3]:
            if facts[name] is not None:
                validation.positive_number(facts[name], name, or_zero=True)
        frame = rebuild(header["frames"]["frame"], arrays)
        if frame is None or "cover" not in frame:  # the latter of version 0.2
            raise ValueError("it holds no frame")
        points = frame["cover"]["points"]
        store = make_store(params["metric"], params["metric_params"], points)
        frames = _frames(params)
        if points is not None:
            store.check(points)
        frames.unpack(header["frames"], arrays, store.emptied(seen), seen)
        masses = rebuild(header["landmark_mass"], arrays)
        if frames.current is None or masses.shape != (len(frames.current.landmarks),):
            raise ValueError("it holds no frame of this embedding, or masses of other landmarks")
        if callable(params["metric"]):
            fixed, stated = frames.current.fixed.points, frames.current.between[1:, 0]
            check_function(store.metric, fixed[1:], [fixed[0]] * (len(fixed) - 1), stated)
        names = tuple(map(str, header["feature_names"]))
        return cls(
            params, frames.current, store.emptied(seen), frames.count, masses, **facts, feature_names=names,
            certified=bool(header["certified"]),
        )  # fmt: skip


def freeze(mapper: StreamMap) -> FrozenMap:
    """Return the current frame of a map as a frozen map."""
    with mapper.lock:
        landmarks = mapper._landmark_engine()
        return FrozenMap(
            {name: getattr(mapper, name) for name in PARAMS},
            mapper.frames.present(landmarks),
            landmarks.store.emptied(landmarks.n_samples_seen_),
            mapper.frames.count,
            landmarks.landmark_mass_,
            landmarks.radius_,
            landmarks.covering_radius_,
            landmarks.coverage_bound_ if landmarks.obeys_triangle else None,
            landmarks.n_samples_seen_,
            mapper.feature_names,
        )


def _frames(params: Mapping[str, Any]) -> Frames:
    return Frames(params["embedding"], params["n_components"], params["n_anchors"], params["align"])
