"""Distances: what a metric is, and the stores that keep the points of a stream for it.

A :class:`Metric` checks points and measures blocks of distances; it holds no points. A :class:`Store` keeps the points
that have arrived and hands blocks of them to its metric. A dissimilarity is taken as symmetric and evaluated as
``metric(later, earlier)``. :data:`METRICS` is the table of all names.
"""

from driftmap.metrics.base import Metric
from driftmap.metrics.factory import MetricLike, find_metric, make_store
from driftmap.metrics.native import euclidean
from driftmap.metrics.stores import Store
from driftmap.metrics.table import METRICS

__all__ = [
    "METRICS",
    "Metric",
    "MetricLike",
    "Store",
    "euclidean",
    "find_metric",
    "make_store",
]
