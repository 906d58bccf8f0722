"""Landmark selectors as estimators of scikit-learn."""

from __future__ import annotations

from typing import Any

from sklearn.base import BaseEstimator

from driftmap.landmarks.drift import Detector
from driftmap.landmarks.engine_estimator import EngineEstimator
from driftmap.landmarks.merging import CoreSet, coreset, merge
from driftmap.landmarks.online import LandmarkEngine
from driftmap.metrics import MetricLike
from driftmap.utils import Array, Ids


class LandmarkSelector(BaseEstimator):
    """Points come in through ``partial_fit``; some of them are landmarks.

    The attributes are there after the first point, in all selectors.
    """


class OnlineLandmarks(EngineEstimator, LandmarkSelector):
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
    slack : float
        With "tight": a point counts as covered while its distance is at most ``1 + slack`` times the covering radius
        after the last replacement. 0: every farther point is taken in, as in the paper; that may take several times
        the time in many dimensions.
    memory : int, "auto" or None
        The most points to store, at least 16 per landmark. Beyond, points near a stored one are merged into it, and
        ``resolution_`` says how far from it they can be. "auto": 10,000 (more for more than 625 landmarks), or all
        where the rule is the paper's or the metric is not known to obey the triangle inequality. None: all.
    window : number or timedelta, optional
        Remember points for this number of arrivals, or for this time if ``partial_fit`` is given times. Older ones need
        not be covered and have no mass, and the radius shrinks when the stream does.
    half_life : number or timedelta, optional
        Let masses decay to one half in this number of arrivals or this time; points that become too light are
        forgotten.
    replace_on : "uncovered" or Detector
        Whether every uncovered point brings a replacement, or only a change that the detector signals: an object with
        ``update(x)`` and ``drift_detected``, such as :class:`~driftmap.landmarks.RatioShift` or one of river's.

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
        """True distances of the rows of X to the landmarks, (n, m)."""
        return self._landmark_engine().distances(X)

    def coreset(self) -> CoreSet:
        """See :meth:`EngineEstimator.coreset`."""
        return coreset(self._landmark_engine())

    def _merged(self, engine: LandmarkEngine, later: list[CoreSet]) -> LandmarkEngine:
        return merge(engine, later)

    def stored_distances(self, rows: Ids, columns: Ids) -> Array:
        """True distances between stored points, given by their arrival numbers."""
        engine = self._landmark_engine()
        with engine.lock:
            return engine.stored_distances(rows, columns)

    def stored_points(self, arrivals: Ids) -> Any:
        """Stored points themselves, given by their arrival numbers: rows of an array, or a list of objects."""
        engine = self._landmark_engine()
        with engine.lock:
            return engine.stored_points(arrivals)

    def _landmark_engine(self) -> LandmarkEngine:
        engine: LandmarkEngine = self._fitted_engine()
        return engine
