"""Landmark selectors as scikit-learn estimators."""

from __future__ import annotations

from typing import Any

from sklearn.base import BaseEstimator

from driftmap.landmarks.core_set import CoreSet
from driftmap.landmarks.drift import Detector
from driftmap.landmarks.engine_estimator import EngineEstimator
from driftmap.landmarks.merging import coreset, merge
from driftmap.landmarks.online import LandmarkEngine
from driftmap.metrics import MetricLike
from driftmap.utils import Array, Ids


class LandmarkSelector(BaseEstimator):
    """Base of estimators that select landmarks among the points given to ``partial_fit``.

    The fitted attributes exist after the first point.
    """


class OnlineLandmarks(EngineEstimator, LandmarkSelector):
    """At most ``n_landmarks`` points of a stream such that every point seen is within ``radius_`` of one of them.

    A covered point does not change the landmarks. An uncovered point becomes a landmark; if there are then too many,
    one is removed:

    - ``rule="tight"``: the landmark whose loss increases the radius least is removed, and the radius becomes the
      covering radius, so it can shrink as well as grow;
    - ``rule="paper"``: Algorithms 2 and 3 of Thongprayoon and Masuda, as printed.

    Parameters
    ----------
    n_landmarks : int
        Maximum number of landmarks (the paper's m).
    rule : {"tight", "paper"}
    metric : str or callable
        "euclidean", any metric name of scipy's ``cdist``, a function of two rows or of two arbitrary objects, or
        "precomputed": each arrival is a row of its distances to all earlier ones.
    metric_params : dict, optional
        Further arguments of the metric.
    initial_radius : float
        The radius (the paper's rho) before the first replacement. At least 1e-150, below which squares underflow; with
        "minkowski", 1e-300 ** (1 / p).
    slack : float
        With "tight": a point is covered if its distance is at most ``1 + slack`` times the covering radius after the
        last replacement. With 0, every farther point becomes a landmark, as in the paper; in many dimensions this may
        take several times as long.
    memory : int, "auto" or None
        Maximum number of stored points, at least 16 per landmark. Beyond it, points are merged into stored points
        nearby; ``resolution_`` bounds their distance. "auto": 10,000 (more for more than 625 landmarks), or all points
        if the rule is "paper" or the metric is not known to obey the triangle inequality. None: all points.
    window : number or timedelta, optional
        Remember points for this number of arrivals, or for this time if ``partial_fit`` is given times. Older points
        have no mass and need not be covered, so that the radius can shrink.
    half_life : number or timedelta, optional
        Halve masses in this number of arrivals, or in this time; points with very little mass are forgotten.
    replace_on : "uncovered" or Detector
        Replace a landmark for every uncovered point, or only when a detector signals a change: an object with
        ``update(x)`` and ``drift_detected``, such as :class:`~driftmap.landmarks.RatioShift` or a detector of river.

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

    _engine: LandmarkEngine
    _engine_type = LandmarkEngine

    def __init__(
        self,
        n_landmarks: int,
        *,
        rule: str = "tight",
        metric: MetricLike = "euclidean",
        metric_params: dict[str, Any] | None = None,
        initial_radius: float = 1e-20,
        slack: float = 0.02,
        memory: int | str | None = "auto",
        window: Any = None,
        half_life: Any = None,
        replace_on: str | Detector = "uncovered",
    ) -> None:
        self.n_landmarks = n_landmarks
        self.rule = rule
        self.metric = metric
        self.metric_params = metric_params
        self.initial_radius = initial_radius
        self.slack = slack
        self.memory = memory
        self.window = window
        self.half_life = half_life
        self.replace_on = replace_on

    def distances(self, X: Any) -> Array:
        """Return true distances of the rows of X to the landmarks, (n, m)."""
        return self._landmark_engine().distances(X)

    def coreset(self) -> CoreSet:
        """See :meth:`EngineEstimator.coreset`."""
        return coreset(self._landmark_engine())

    def _merged(self, engine: LandmarkEngine, later: list[CoreSet]) -> LandmarkEngine:
        return merge(engine, later)

    def stored_distances(self, rows: Ids, columns: Ids) -> Array:
        """Return true distances between stored points, given by arrival number."""
        engine = self._landmark_engine()
        with engine.lock:
            return engine.stored_distances(rows, columns)

    def stored_points(self, arrivals: Ids) -> Any:
        """Return stored points, given by arrival number: rows of an array, or a list of objects."""
        engine = self._landmark_engine()
        with engine.lock:
            return engine.stored_points(arrivals)

    def _landmark_engine(self) -> LandmarkEngine:
        engine: LandmarkEngine = self._fitted_engine()
        return engine
