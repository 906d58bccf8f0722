"""Driftmap: a true, steady, low-dimensional map of a data stream."""

from typing import TYPE_CHECKING

from driftmap.ondemand import on_demand

if TYPE_CHECKING:
    from driftmap.estimator import DriftMap
    from driftmap.landmarks import OnlineLandmarks

__all__ = ["DriftMap", "OnlineLandmarks"]
__version__ = "0.1.0"

# The command line has other things to do before it imports these, or does without.
__getattr__, __dir__ = on_demand(
    __name__, {"driftmap.estimator": ("DriftMap",), "driftmap.landmarks": ("OnlineLandmarks",)}
)
