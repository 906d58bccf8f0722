"""Landmark selectors as estimators of scikit-learn."""

from __future__ import annotations

from sklearn.base import BaseEstimator

from driftmap.landmarks.base import Selector
from driftmap.landmarks.online import OnlineSelector


class LandmarkSelector(BaseEstimator, Selector):
    """Points come in through ``partial_fit``; some of them are landmarks.

    The attributes are there after the first point, in all selectors.
    """


class OnlineLandmarks(LandmarkSelector, OnlineSelector):
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
    memory : int, "auto" or None
        The most points to store, at least 16 per landmark. Beyond, points near a stored one are merged into it, and
        ``resolution_`` says how far from it they can be. "auto": 10,000 (more for more than 625 landmarks), or all
        where the rule is the paper's or the metric is not known to obey the triangle inequality. None: all.
    window : number or timedelta, optional
        Remember points for so many arrivals only, or so long if ``partial_fit`` is given times: older ones need not be
        covered and have no mass, and the radius shrinks when the stream does.
    half_life : number or timedelta, optional
        Let masses decay to one half in so many arrivals or so much time; what has become too light is forgotten.
    replace_on : "uncovered" or Detector
        Whether every uncovered point brings a replacement, or only a change that the detector signals: an object with
        ``update(x)`` and ``drift_detected``, such as :class:`~driftmap.landmarks.RatioShift` or one of river's.
    n_jobs : int or None
        Threads that look ahead in large batches; None: one, -1: one per core. They change no result.

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
