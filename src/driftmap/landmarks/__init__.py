"""Landmark selection: an online k-centre of a stream, baselines and dominating sets; needs no embedding."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from driftmap.landmarks.dominating_set import (
    greedy_dominating_set,
    greedy_size_bound,
    is_dominating,
    private_points,
    radius_for_budget,
)
from driftmap.landmarks.drift import Detector, RatioShift
from driftmap.landmarks.events import Event
from driftmap.landmarks.merging import CoreSet

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

_MODULES = {
    "FarthestFirstLandmarks": "baselines",
    "InitialLandmarks": "baselines",
    "RandomLandmarks": "baselines",
    "RandomOnlineLandmarks": "baselines",
    "LandmarkSelector": "estimators",
    "OnlineLandmarks": "estimators",
}


def __getattr__(name: str) -> Any:
    """Import the estimators, and scikit-learn with them, on first use: the command line does without."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return globals().setdefault(name, getattr(import_module(f"{__name__}.{_MODULES[name]}"), name))


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
