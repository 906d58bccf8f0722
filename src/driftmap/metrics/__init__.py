"""Distances: points of a stream and how far apart they are.

A *space* checks points, stores them if asked to, and measures. The core knows some metrics by name
(:mod:`driftmap.metrics.native`); all others hand blocks of distances to it. A dissimilarity is taken as symmetric and
evaluated as ``metric(later, earlier)``.
"""

from driftmap.metrics.base import PythonSpace, Space
from driftmap.metrics.factory import Metric, make_space
from driftmap.metrics.native import NativeSpace, euclidean, squared_euclidean
from driftmap.metrics.precomputed import PrecomputedSpace

__all__ = [
    "Metric",
    "NativeSpace",
    "PrecomputedSpace",
    "PythonSpace",
    "Space",
    "euclidean",
    "make_space",
    "squared_euclidean",
]
