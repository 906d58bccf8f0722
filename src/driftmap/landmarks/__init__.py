"""Landmark selection: an online k-centre of a stream, baselines and dominating sets, independent of embeddings."""

from typing import TYPE_CHECKING

from driftmap._lazy import lazily
from driftmap.landmarks.core_set import CoreSet
from driftmap.landmarks.dominating_set import (
    greedy_dominating_set,
    greedy_size_bound,
    is_dominating,
    private_points,
    radius_for_budget,
)
from driftmap.landmarks.drift import Detector, RatioShift
from driftmap.landmarks.events import Event

if TYPE_CHECKING:
    from driftmap.landmarks.baselines import (
        FarthestFirstLandmarks,
        InitialLandmarks,
        RandomLandmarks,
        RandomOnlineLandmarks,
    )
    from driftmap.landmarks.estimators import LandmarkSelector, OnlineLandmarks

__all__ = [
    "CoreSet",
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

# Lazy, so that the command line starts without importing scikit-learn.
__getattr__ = lazily(
    __name__,
    {
        **dict.fromkeys(
            ["FarthestFirstLandmarks", "InitialLandmarks", "RandomLandmarks", "RandomOnlineLandmarks"],
            "driftmap.landmarks.baselines",
        ),
        **dict.fromkeys(["LandmarkSelector", "OnlineLandmarks"], "driftmap.landmarks.estimators"),
    },
)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
