"""The map of a stream: joins landmarks and embedding."""

from __future__ import annotations

import os
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from driftmap import checkpoint, checks
from driftmap.choices import EMBEDDINGS
from driftmap.embedding import Embedding
from driftmap.frames import ROWS, Frame, FrameChange, Frames
from driftmap.landmarks import Detector
from driftmap.landmarks.online import OnlineSelector
from driftmap.landmarks.saving import pack_params, pack_selector, unpack_params, unpack_selector
from driftmap.metrics import Metric, euclidean
from driftmap.packing import Arrays, unpacked
from driftmap.parallel import n_threads
from driftmap.params import params_of
from driftmap.state import Event

Array = NDArray[np.float64]


class Trust(NamedTuple):
    """How well a map represents points; one entry per row."""

    reach: Array
    """Distance to the nearest landmark divided by the radius: above 1, farther out than all points seen."""
    residual: Array
    """Root of the weighted mean squared error of the point's landmark distances on the map."""


class StreamMap:
    """What :class:`driftmap.DriftMap` does, without scikit-learn, which takes long to import."""

    _kind = "DriftMap"
    """What a checkpoint says that it holds."""
    n_features_in_: int
    feature_names_in_: NDArray[Any]
    _dict_names: tuple[str, ...]

    def __init__(
        self,
        n_components: int = 2,
        *,
        n_landmarks: int = 100,
        rule: str = "tight",
        embedding: str | Embedding = "stress",
        n_anchors: int | None = 128,
        align: bool = True,
        metric: Metric = "euclidean",
        metric_params: dict[str, Any] | None = None,
        memory: int | str | None = "auto",
        window: Any = None,
        half_life: Any = None,
        replace_on: str | Detector = "uncovered",
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.n_landmarks = n_landmarks
        self.rule = rule
        self.embedding = embedding
        self.n_anchors = n_anchors
        self.align = align
        self.metric = metric
        self.metric_params = metric_params
        self.memory = memory
        self.window = window
        self.half_life = half_life
        self.replace_on = replace_on
        self.n_jobs = n_jobs
        self.random_state = random_state

    # --- learning ---

    def fit(self, X: Any, y: Any = None, *, times: Any = None) -> Self:
        """Forget everything, then learn from X."""
        self._learn(X, times, self._new_selector(), reset=True)
        return self

    def partial_fit(self, X: Any, y: Any = None, *, times: Any = None) -> Self:
        """Learn from further points, in their order. Bad input raises an error and changes nothing.

        ``times`` says when they arrived (numbers or dates, never going back), if ``window`` or ``half_life`` is a
        duration; else these count arrivals.
        """
        fresh = not self.__sklearn_is_fitted__()
        self._learn(X, times, self._new_selector() if fresh else self._selector, reset=fresh)
        return self

    def _new_selector(self) -> OnlineSelector:
        checks.integer_at_least(self.n_components, "n_components", 1)
        checks.integer_at_least(self.n_landmarks, "n_landmarks", 1)
        if self.n_landmarks < self.n_components + 1:
            raise ValueError(
                f"n_landmarks={self.n_landmarks} is too few for n_components={self.n_components}: "
                f"at least {self.n_components + 1} are needed"
            )
        if self.n_anchors is not None:
            checks.integer_at_least(self.n_anchors, "n_anchors", 1)
        if isinstance(self.embedding, str):
            checks.one_of(self.embedding, "embedding", EMBEDDINGS)
        elif isinstance(self.embedding, type) or not all(hasattr(self.embedding, name) for name in ("fit", "place")):
            raise TypeError(f"embedding must be a name or an object with fit and place, got {self.embedding!r}")
        elif (own := getattr(self.embedding, "n_components", self.n_components)) != self.n_components:
            raise ValueError(f"embedding has n_components={own}, but the map has {self.n_components}")
        names = ("rule", "metric", "metric_params", "memory", "window", "half_life", "replace_on", "n_jobs")
        return OnlineSelector(self.n_landmarks, **{name: getattr(self, name) for name in names})

    def _learn(self, X: Any, times: Any, selector: OnlineSelector, *, reset: bool) -> None:
        if not reset:
            self._check_features(X, reset=False)
        selector.partial_fit(X, times=times)
        if self.metric == "precomputed":
            self.n_features_in_ = selector.n_samples_seen_
        if reset:
            self._check_features(X, reset=True)
            self._selector, self._dict_names = selector, ()
            self._frames = Frames(self.embedding, self.n_components, self.n_anchors, self.align)

    def _check_features(self, X: Any, *, reset: bool) -> None:
        """Keep the number of features; the space says which later rows have another."""
        if reset and self.metric != "precomputed" and len(getattr(X, "shape", ())) == 2:
            self.n_features_in_ = X.shape[1]

    # --- mapping ---

    def transform(self, X: Any) -> Array:
        """Place points in the frame of the present landmarks."""
        self._check_fitted()
        return self._place(X, named=True)

    def _place(self, X: Any, named: bool = False) -> Array:
        """Place points; ``named`` ones may come with the names of their features, which are checked."""
        queries = self._queries(X, named)
        return self._present_frame().place_queries(self._selector._fitted_space(), queries, n_threads(self.n_jobs))

    def trust(self, X: Any) -> Trust:
        """Which points the map does not represent: far from all landmarks, or not placeable by their distances."""
        self._check_fitted()
        space, X = self._selector._fitted_space(), self._queries(X, named=True)
        frame, radius = self._present_frame(), max(self.radius_, np.finfo(float).tiny)
        shares = self.landmark_mass_ / self.landmark_mass_.sum()
        reach, residual = np.empty(len(X)), np.empty(len(X))
        for i in range(0, len(X), ROWS):
            part = X[i : i + ROWS]
            distances = frame.distances(space, part)
            gaps = distances - euclidean(frame.place_queries(space, part), frame.landmark_positions())
            reach[i : i + ROWS] = distances.min(axis=1) / radius
            residual[i : i + ROWS] = np.sqrt((gaps**2 * shares).sum(axis=1))
        return Trust(reach, residual)

    def _queries(self, X: Any, named: bool) -> Any:
        """Points that are to be placed, checked."""
        if named:
            self._check_features(X, reset=False)
        return self._selector._fitted_space().check_queries(X)

    def _present_frame(self) -> Frame:
        return self._frames.present(self._selector)

    # --- checkpoints ---

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to a checkpoint file, from which :meth:`load` goes on as if nothing had happened.

        The same points then give the same coordinates to the bit. The file is replaced as a whole or not at all. Its
        size is that of the stored points, 24 bytes for each (56 with bounded memory), up to 700 kB as for
        :meth:`OnlineLandmarks.save <driftmap.landmarks.OnlineLandmarks.save>`, and the present frame, mostly 8 bytes
        for each pair of a landmark and an anchor or another landmark.
        """
        checkpoint.write(path, *self._pack())

    @classmethod
    def load(
        cls, path: str | os.PathLike[str], *, metric: Any = None, replace_on: Any = None, embedding: Any = None
    ) -> Self:
        """Read a checkpoint; any damage is an error that says so.

        A metric, detector or embedding of your own cannot be stored: give it again. Such a detector begins from the
        beginning, and with such an embedding the present frame is made anew.
        """
        return unpacked(cls, path, metric=metric, replace_on=replace_on, embedding=embedding)

    def _pack(self) -> tuple[dict[str, Any], Arrays]:
        arrays: Arrays = {}
        selector = self._check_fitted()
        header = {
            "kind": self._kind,
            "params": pack_params(params_of(self), "params", arrays),
            "selector": pack_selector(selector, arrays),
            "frames": self._frames.pack(arrays),
            "n_features_in": getattr(self, "n_features_in_", None),
            "feature_names": [str(name) for name in getattr(self, "feature_names_in_", ())],
            "dict_names": [*self._dict_names],
        }
        return header, arrays

    @classmethod
    def _unpack(cls, header: dict[str, Any], arrays: Arrays, given: dict[str, Any]) -> Self:
        mapper = cls(**unpack_params(header["params"], arrays, given))
        selector = mapper._new_selector()
        unpack_selector(selector, header["selector"], arrays)
        frames = Frames(mapper.embedding, mapper.n_components, mapper.n_anchors, mapper.align)
        frames.unpack(header["frames"], arrays)
        if header["n_features_in"] is not None:
            mapper.n_features_in_ = header["n_features_in"]
        if header["feature_names"]:
            mapper.feature_names_in_ = np.array(header["feature_names"], dtype=object)
        mapper._selector, mapper._frames, mapper._dict_names = selector, frames, tuple(header["dict_names"])
        return mapper

    # --- what is known ---

    @property
    def landmark_indices_(self) -> NDArray[np.int64]:
        """Arrival numbers of the landmarks, ascending."""
        return self._check_fitted().landmark_indices_

    @property
    def landmarks_(self) -> Any:
        """The landmarks themselves: rows of an array, or a list of objects."""
        return self._check_fitted().landmarks_

    @property
    def landmark_mass_(self) -> NDArray[np.int64] | Array:
        """For each landmark, the number of points seen that are nearest to it (with a half-life, their weight)."""
        return self._check_fitted().landmark_mass_

    @property
    def landmark_embedding_(self) -> Array:
        """Positions of the landmarks on the map.

        With stress these fit the landmarks' distances to each other; ``transform`` fits a point's distances to all of
        them by mass, so a landmark given to it may come to lie a little beside its position.
        """
        self._check_fitted()
        return self._present_frame().landmark_positions()

    def landmark_distances(self) -> Array:
        """True distances between the landmarks, (m, m)."""
        return self._check_fitted().landmark_distances()

    @property
    def n_dimensions_(self) -> int:
        """How many coordinates of the map are real; the others are 0."""
        self._check_fitted()
        return self._present_frame().embedding.n_dimensions_

    @property
    def frame_(self) -> int:
        """Number of the frame in which coordinates are given now, from 1; a new one begins when landmarks change."""
        self._check_fitted()
        self._present_frame()
        return self._frames.count

    @property
    def frames_(self) -> list[FrameChange]:
        """How each frame that was given out differs from the one before; the last 1,000."""
        self._check_fitted()
        return list(self._frames.changes)

    @property
    def radius_(self) -> float:
        """The radius (the paper's rho) at which the landmarks dominate all points seen."""
        return self._check_fitted().radius_

    @property
    def covering_radius_(self) -> float:
        """The largest distance of a stored point to its nearest landmark; ``coverage_bound_`` holds for all points."""
        return self._check_fitted().covering_radius_

    @property
    def resolution_(self) -> float:
        """Every point seen lies within this distance of a stored one; 0 as long as all are stored."""
        return self._check_fitted().resolution_

    @property
    def coverage_bound_(self) -> float:
        """Every point ever seen (and not forgotten) lies within this distance of its nearest landmark."""
        return self._check_fitted().coverage_bound_

    @property
    def n_samples_seen_(self) -> int:
        """Number of points seen."""
        return self._check_fitted().n_samples_seen_

    @property
    def n_replacements_(self) -> int:
        """How often a landmark was exchanged for another."""
        return self._check_fitted().n_replacements_

    @property
    def events_(self) -> list[Event]:
        """What happened to the landmarks, arrival by arrival; the last 10,000 events."""
        return self._check_fitted().events_

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_selector")

    def _check_fitted(self) -> OnlineSelector:
        if not self.__sklearn_is_fitted__():
            raise checks.not_fitted(self._kind)
        return self._selector
