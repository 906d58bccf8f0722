"""Which points of a stream are landmarks; usable without any embedding."""

from driftmap.landmarks.base import LandmarkSelector
from driftmap.landmarks.baselines import (
    FarthestFirstLandmarks,
    InitialLandmarks,
    RandomLandmarks,
    RandomOnlineLandmarks,
)
from driftmap.landmarks.detectors import Detector, RatioShift
from driftmap.landmarks.dominating import (
    greedy_dominating_set,
    greedy_size_bound,
    is_dominating,
    private_points,
    radius_for_budget,
)
from driftmap.landmarks.online import OnlineLandmarks
from driftmap.state import Event

__all__ = [
    "Detector",
    "Event",
    "FarthestFirstLandmarks",
    "InitialLandmarks",
    "LandmarkSelector",
    "OnlineLandmarks",
    "RandomLandmarks",
    "RandomOnlineLandmarks",
    "RatioShift",
    "greedy_dominating_set",
    "greedy_size_bound",
    "is_dominating",
    "private_points",
    "radius_for_budget",
]
