"""Landmarks that follow the stream: the paper's online replacement, and a tighter rule."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from driftmap import checks
from driftmap.landmarks.base import LandmarkSelector
from driftmap.metrics import EuclideanSpace, Metric
from driftmap.state import Event, StreamState

if TYPE_CHECKING:
    from driftmap.landmarks.cover import Cover
    from driftmap.landmarks.euclidean import EuclideanLearner

Ids = NDArray[np.int64]

RULES = ("tight", "paper")


class OnlineLandmarks(LandmarkSelector):
    """At most ``n_landmarks`` points of a stream such that every point seen is within ``radius_`` of one of them.

    A point that is covered changes nothing. An uncovered one becomes a landmark, and if there are too many then, one
    leaves:

    - ``rule="tight"``: the landmark that is cheapest to lose leaves, and the radius becomes the covering radius, so it
      can shrink as well as grow;
    - ``rule="paper"``: Algorithms 2 and 3 of Thongprayoon and Masuda, as printed.

    Parameters
    ----------
    n_landmarks : int
        The most landmarks to keep (the paper's m).
    rule : {"tight", "paper"}
    metric : str or callable
        "euclidean", any name that scipy's ``cdist`` knows, a function of two rows or of two arbitrary objects, or
        "precomputed": each arrival brings its distances to all earlier ones.
    metric_params : dict, optional
        Further arguments of the metric.
    initial_radius : float
        The radius (the paper's rho) before the first replacement.

    Examples
    --------
    >>> import numpy as np
    >>> walk = np.cumsum(np.random.default_rng(0).standard_normal((1000, 3)), axis=0)
    >>> landmarks = OnlineLandmarks(n_landmarks=10).partial_fit(walk)
    >>> len(landmarks.landmark_indices_), landmarks.n_samples_seen_
    (10, 1000)
    >>> int(landmarks.landmark_mass_.sum())
    1000
    """

    _state: StreamState

    def __init__(
        self,
        n_landmarks: int,
        *,
        rule: str = "tight",
        metric: Metric = "euclidean",
        metric_params: dict[str, Any] | None = None,
        initial_radius: float = 1e-20,
    ) -> None:
        self.n_landmarks = n_landmarks
        self.rule = rule
        self.metric = metric
        self.metric_params = metric_params
        self.initial_radius = initial_radius

    def _start(self, X: Any) -> None:
        super()._start(X)
        checks.one_of(self.rule, "rule", RULES)
        radius = checks.positive_number(self.initial_radius, "initial_radius")
        comparable = self._space.comparable(radius)
        if not comparable < np.inf:
            raise ValueError(f"initial_radius={radius:g} is too large: its square overflows")
        self._state = StreamState(self.n_landmarks, comparable)
        self._learner = self._make_learner()

    def _make_learner(self) -> EuclideanLearner | Cover:
        # compiled code is loaded with the first point
        if isinstance(self._space, EuclideanSpace):
            from driftmap.landmarks.euclidean import EuclideanLearner

            return EuclideanLearner(self._space, self._state, self.n_landmarks, self.rule)
        from driftmap.landmarks import rules
        from driftmap.landmarks.cover import Cover

        return Cover(self._space, self._state, self.n_landmarks, getattr(rules, self.rule))

    def _learn(self, prepared: Any) -> None:
        self._state.reserve(self._state.n + len(prepared))
        try:
            self._space.extend(prepared)
            self._learner.learn()
        except BaseException:
            self._learner.restore()
            self._space.truncate(self._state.n)
            raise

    def _fitted_state(self) -> StreamState:
        self._fitted_space()
        return self._state

    @property
    def landmark_indices_(self) -> Ids:
        """Arrival numbers of the landmarks, ascending."""
        return self._fitted_state().landmarks()

    @property
    def landmark_mass_(self) -> Ids:
        """For each landmark, the number of points seen that are nearest to it."""
        return self._fitted_state().masses()

    def cells(self) -> list[Ids]:
        """For each landmark, the arrival numbers of the points nearest to it, itself included, ascending."""
        from driftmap._kernels.cells import cell_rows

        state = self._fitted_state()
        return [np.sort(cell_rows(state.cells, slot, False)) for slot in state.slots()]

    @property
    def radius_(self) -> float:
        """The radius (the paper's rho) at which the landmarks dominate all points seen."""
        return self._fitted_space().true(self._state.radius)

    @property
    def covering_radius_(self) -> float:
        """The largest distance of a point seen to its nearest landmark."""
        return self._fitted_space().true(self._state.covering_radius())

    @property
    def n_replacements_(self) -> int:
        """How often a landmark was exchanged for another."""
        return self._fitted_state().n_replacements

    @property
    def events_(self) -> list[Event]:
        """What happened to the landmarks, arrival by arrival; the last 10,000 events."""
        true = self._fitted_space().true
        return [
            event._replace(radius_before=true(event.radius_before), radius_after=true(event.radius_after))
            for event in self._state.events
        ]
