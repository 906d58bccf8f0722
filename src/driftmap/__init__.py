"""Driftmap: a true, steady, low-dimensional map of a data stream."""

from driftmap.landmarks import OnlineLandmarks
from driftmap.map import DriftMap

__all__ = ["DriftMap", "OnlineLandmarks"]
__version__ = "0.1.0"
