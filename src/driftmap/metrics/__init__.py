"""Distances: where the points of a stream are stored and how far apart they are.

A *space* stores the arrivals and answers how far apart any two of them are. Distances between stored points are given
in a *comparison scale* that orders pairs as their distances do: the square for Euclidean points (no root, so one pair
always has one value to the bit), the distance itself elsewhere. A dissimilarity is taken as symmetric and evaluated as
``metric(later, earlier)``.
"""

from driftmap.metrics.choose import Metric, make_space
from driftmap.metrics.objects import ObjectSpace
from driftmap.metrics.points import EuclideanSpace, euclidean, squared_euclidean
from driftmap.metrics.precomputed import PrecomputedSpace
from driftmap.metrics.space import Space, Table

__all__ = [
    "EuclideanSpace",
    "Metric",
    "ObjectSpace",
    "PrecomputedSpace",
    "Space",
    "Table",
    "euclidean",
    "make_space",
    "squared_euclidean",
]
