"""Baselines: the paper's other landmark selectors and offline farthest-first, with the interface of OnlineLandmarks.

They store all points; masses and covering radius, which depend on all of them, are computed on access.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.utils import check_random_state

from driftmap.landmarks.estimators import LandmarkSelector
from driftmap.landmarks.events import Event
from driftmap.landmarks.farthest_first import MEASURED_POINTS, farthest_first
from driftmap.metrics import MetricLike, find_metric
from driftmap.metrics.factory import source_store
from driftmap.metrics.stores import SourceStore
from driftmap.utils import Array, Ids, validation


class Baseline(LandmarkSelector):
    """Base of selectors that store all points; ``radius_`` is the covering radius."""

    _store: SourceStore
    _ids: list[int]
    _events: list[Event]

    def __init__(
        self, n_landmarks: int, *, metric: MetricLike = "euclidean", metric_params: dict[str, Any] | None = None
    ) -> None:
        self.n_landmarks = n_landmarks
        self.metric = metric
        self.metric_params = metric_params

    def fit(self, X: Any, y: Any = None) -> Self:
        """Forget everything, then learn from X."""
        fresh = type(self)(**self.get_params(deep=False)).partial_fit(X)
        self.__dict__.update(fresh.__dict__)
        return self

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Learn from further points, in their order. Bad input raises an error and changes nothing."""
        if self.__sklearn_is_fitted__():
            self._learn(self._store.check(X))
            return self
        validation.integer_at_least(self.n_landmarks, "n_landmarks", 1)
        store = source_store(find_metric(self.metric, self.metric_params, X))
        batch = store.check(X)
        self._start()
        self._store = store
        self._learn(batch)
        return self

    def _start(self) -> None:
        self._m = self.n_landmarks  # later changes of the parameter apply to the next fit
        self._ids, self._events = [], []

    def _learn(self, batch: Any) -> None:
        seen = len(self._store)
        self._store.extend(batch)
        for arrival in range(seen, len(self._store)):
            left = self._consider(arrival)
            if left is not None:
                kind = "added" if left < 0 else "replaced"
                self._events.append(Event(arrival, kind, arrival, None if left < 0 else left, np.nan, np.nan))

    def _consider(self, arrival: int) -> int | None:
        """Decide on an arrival; return None if it is rejected, the landmark it replaces, or -1 if it replaces none."""
        raise NotImplementedError

    def _take_in(self, arrival: int, place: int | None = None) -> int:
        if place is None:
            self._ids.append(arrival)
            return -1
        left = self._ids[place]
        self._ids[place] = arrival
        return left

    @property
    def landmark_indices_(self) -> Ids:
        """Arrival numbers of the landmarks, ascending."""
        self._fitted_store()
        return np.sort(np.array(self._ids, dtype=np.int64))

    @property
    def landmarks_(self) -> Any:
        """The landmarks themselves: rows of an array, or a list of objects."""
        return self._fitted_store().take(self.landmark_indices_)

    @property
    def n_samples_seen_(self) -> int:
        """Number of points seen."""
        return len(self._fitted_store())

    @property
    def landmark_mass_(self) -> Ids:
        """For each landmark, the number of points seen that are nearest to it."""
        nearest, _ = self._nearest()
        return np.bincount(nearest, minlength=len(self._ids)).astype(np.int64)

    @property
    def covering_radius_(self) -> float:
        """The largest distance of a point seen to its nearest landmark."""
        _, distances = self._nearest()
        return float(distances.max())

    @property
    def radius_(self) -> float:
        """The covering radius: the smallest one at which the landmarks dominate all points seen."""
        return self.covering_radius_

    @property
    def n_replacements_(self) -> int:
        """Number of replacements of a landmark by another point."""
        self._fitted_store()
        return sum(event.kind == "replaced" for event in self._events)

    @property
    def events_(self) -> list[Event]:
        """All changes of the landmarks; their radii are NaN."""
        self._fitted_store()
        return list(self._events)

    def landmark_distances(self) -> Array:
        """Return true distances between the landmarks, (m, m)."""
        return self._fitted_store().pairs(self.landmark_indices_, self.landmark_indices_)

    def distances(self, X: Any) -> Array:
        """Return true distances of the rows of X to the landmarks, (n, m)."""
        store = self._fitted_store()
        return store.to_stored(store.check_queries(X), self.landmark_indices_)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_store")

    def _fitted_store(self) -> SourceStore:
        if not self.__sklearn_is_fitted__():
            raise validation.not_fitted(type(self).__name__)
        return self._store

    def _measurable_store(self) -> SourceStore:
        """Return the points, or raise if their distances are too small to be measured."""
        store = self._fitted_store()
        if store.metric.least:
            store.metric.check_spread(store.dump())
        return store

    def _nearest(self) -> tuple[Ids, Array]:
        store, ids = self._measurable_store(), self.landmark_indices_
        places, distances = [], []
        for first in range(0, len(store), MEASURED_POINTS):
            block = store.pairs(np.arange(first, min(first + MEASURED_POINTS, len(store))), ids)
            places.append(block.argmin(axis=1))
            distances.append(block.min(axis=1))
        return np.concatenate(places), np.concatenate(distances)


class InitialLandmarks(Baseline):
    """The first ``n_landmarks`` points, which never change (the paper's "initial").

    >>> InitialLandmarks(2).fit([[0.0], [1.0], [5.0]]).landmark_indices_
    array([0, 1])
    """

    def _consider(self, arrival: int) -> int | None:
        return self._take_in(arrival) if arrival < self._m else None


class RandomBaseline(Baseline):
    """A baseline with a random number generator, seeded when the first point arrives."""

    def __init__(
        self,
        n_landmarks: int,
        *,
        metric: MetricLike = "euclidean",
        metric_params: dict[str, Any] | None = None,
        random_state: Any = None,
    ) -> None:
        super().__init__(n_landmarks, metric=metric, metric_params=metric_params)
        self.random_state = random_state

    def _start(self) -> None:
        super()._start()
        self._random: np.random.RandomState = check_random_state(self.random_state)


class RandomLandmarks(RandomBaseline):
    """A uniform sample of all points seen (the paper's "random"), drawn in one pass by reservoir sampling.

    >>> RandomLandmarks(3, random_state=0).fit([[float(i)] for i in range(100)]).landmark_indices_.shape
    (3,)
    """

    def _consider(self, arrival: int) -> int | None:
        if arrival < self._m:
            return self._take_in(arrival)
        place = int(self._random.randint(arrival + 1))
        return self._take_in(arrival, place) if place < self._m else None


class RandomOnlineLandmarks(RandomBaseline):
    """Each point replaces a random landmark with probability 0.5 (the supplement's "random online").

    >>> recent = RandomOnlineLandmarks(3, random_state=0).fit([[float(i)] for i in range(100)])
    >>> bool(recent.landmark_indices_.min() > 80)
    True
    """

    def _consider(self, arrival: int) -> int | None:
        if arrival < self._m:
            return self._take_in(arrival)
        if self._random.random_sample() >= 0.5:
            return None
        return self._take_in(arrival, int(self._random.randint(self._m)))


class FarthestFirstLandmarks(Baseline):
    """Farthest-first traversal (Gonzalez) of all points seen: the offline reference for covering radii.

    It starts with the first point and repeatedly takes the point farthest from those taken. The covering radius is at
    most twice the smallest possible one. The traversal runs on access.

    >>> FarthestFirstLandmarks(2).fit([[0.0], [1.0], [5.0]]).landmark_indices_
    array([0, 2])
    """

    def _learn(self, batch: Any) -> None:
        self._store.extend(batch)
        self._ids = []

    @property
    def landmark_indices_(self) -> Ids:
        """Arrival numbers of the landmarks, ascending."""
        store = self._measurable_store()
        if not self._ids:
            self._ids = farthest_first(store.pairs, np.arange(len(store)), self._m, store.n_features)[0].tolist()
        return super().landmark_indices_
