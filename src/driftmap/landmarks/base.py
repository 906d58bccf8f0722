"""What all landmark selectors have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from driftmap import checks
from driftmap.metrics import Metric, Space, make_space
from driftmap.params import params_of
from driftmap.state import Event

Ids = NDArray[np.int64]


class Selector(ABC):
    """What :class:`~driftmap.landmarks.LandmarkSelector` does, without scikit-learn, which takes long to import."""

    n_landmarks: int
    metric: Metric
    metric_params: dict[str, Any] | None

    def fit(self, X: Any, y: Any = None, **how: Any) -> Self:
        """Forget everything, then learn from X."""
        fresh = type(self)(**params_of(self))
        fresh.partial_fit(X, **how)
        self.__dict__.update(fresh.__dict__)
        return self

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Learn from further points, in their order; a batch gives the same result as its rows one by one.

        Bad input raises an error and changes nothing.
        """
        return self._take_in_all(X)

    def _take_in_all(self, X: Any, *how: Any) -> Self:
        fresh = not self.__sklearn_is_fitted__()
        try:
            if fresh:
                self._start(X)
            prepared = self._space.check(X)
            self._learn(prepared, *how)
        except BaseException:
            if fresh:
                self._reset()
            raise
        return self

    def _start(self, X: Any) -> None:
        """Check the parameters and make the empty state."""
        checks.integer_at_least(self.n_landmarks, "n_landmarks", 1)
        self._space: Space = make_space(self.metric, self.metric_params, X)

    def _reset(self) -> None:
        for name in [name for name in vars(self) if name.startswith("_") and not name.startswith("__")]:
            delattr(self, name)

    @abstractmethod
    def _learn(self, prepared: Any, *how: Any) -> None:
        """Take in checked points; on any exception, leave the state as it was."""

    @property
    @abstractmethod
    def landmark_indices_(self) -> Ids:
        """Arrival numbers of the landmarks, ascending."""

    @property
    @abstractmethod
    def landmark_mass_(self) -> Ids:
        """For each landmark, the number of points seen that are nearest to it."""

    @property
    @abstractmethod
    def radius_(self) -> float:
        """The radius (the paper's rho) at which the landmarks dominate all points seen."""

    @property
    @abstractmethod
    def covering_radius_(self) -> float:
        """The largest distance of a point seen to its nearest landmark."""

    @property
    @abstractmethod
    def n_replacements_(self) -> int:
        """How often a landmark was exchanged for another."""

    @property
    @abstractmethod
    def events_(self) -> list[Event]:
        """What happened to the landmarks, arrival by arrival; the last 10,000 events."""

    @property
    def landmarks_(self) -> Any:
        """The landmarks themselves: rows of an array, or a list of objects."""
        return self.stored_points(self.landmark_indices_)

    @property
    def n_samples_seen_(self) -> int:
        """Number of points seen."""
        return len(self._fitted_space())

    def landmark_distances(self) -> NDArray[np.float64]:
        """True distances between the landmarks, (m, m)."""
        return self.stored_distances(self.landmark_indices_, self.landmark_indices_)

    def stored_distances(self, rows: Ids, columns: Ids) -> NDArray[np.float64]:
        """True distances between stored points, given by their arrival numbers."""
        space = self._fitted_space()
        return space.true_all(space.pairs(self._numbers(rows), self._numbers(columns)))

    def stored_points(self, arrivals: Ids) -> Any:
        """Stored points themselves, given by their arrival numbers: rows of an array, or a list of objects."""
        return self._fitted_space().take(self._numbers(arrivals))

    def distances(self, X: Any) -> NDArray[np.float64]:
        """True distances of the rows of X to the landmarks, (n, m)."""
        space = self._fitted_space()
        return space.to_stored(space.check_queries(X), self._numbers(self.landmark_indices_))

    def _numbers(self, arrivals: Ids) -> Ids:
        """Numbers of stored points in the space, given their arrival numbers."""
        return arrivals

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_space")

    def _fitted_space(self) -> Space:
        if not self.__sklearn_is_fitted__():
            raise checks.not_fitted(type(self).__name__)
        return self._space
