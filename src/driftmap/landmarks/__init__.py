"""Which points of a stream are landmarks; usable without any embedding."""

from typing import TYPE_CHECKING

from driftmap.landmarks.dominating_set import (
    greedy_dominating_set,
    greedy_size_bound,
    is_dominating,
    private_points,
    radius_for_budget,
)
from driftmap.landmarks.drift import Detector, RatioShift
from driftmap.landmarks.events import Event
from driftmap.ondemand import on_demand

if TYPE_CHECKING:
    from driftmap.landmarks.baselines import (
        FarthestFirstLandmarks,
        InitialLandmarks,
        RandomLandmarks,
        RandomOnlineLandmarks,
    )
    from driftmap.landmarks.estimators import LandmarkSelector, OnlineLandmarks

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

# These need scikit-learn, which takes long to import; the command line does without.
__getattr__, __dir__ = on_demand(
    __name__,
    {
        "driftmap.landmarks.baselines": (
            "FarthestFirstLandmarks",
            "InitialLandmarks",
            "RandomLandmarks",
            "RandomOnlineLandmarks",
        ),
        "driftmap.landmarks.estimators": ("LandmarkSelector", "OnlineLandmarks"),
    },
)
