"""Scores of a map with labels, as the survey of Espadoto et al. has them, and how evenly its points lie."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.spatial import ConvexHull, cKDTree

from driftmap import quality
from driftmap.utils import Array, Ids

NEIGHBOURS = 7


class Scores(NamedTuple):
    """How good a map is."""

    continuity: float
    """Whether neighbours in the data are neighbours on the map."""
    trustworthiness: float
    """Whether neighbours on the map are neighbours in the data."""
    neighborhood_hit: float
    evenness: float
    sigma: float


def score(X: Array, y: Ids, Y: Array, *, scaled: bool) -> Scores:
    """All scores of a map; ``scaled``: its distances have no scale, so sigma is that of the best one."""
    sigma = quality.scaled_stress(X, Y) if scaled else quality.stress(X, Y)
    return Scores(
        float(quality.trustworthiness(Y, X, n_neighbors=NEIGHBOURS)),
        float(quality.trustworthiness(X, Y, n_neighbors=NEIGHBOURS)),
        neighborhood_hit(y, Y),
        clark_evans(Y[np.unique(X, axis=0, return_index=True)[1]]),
        sigma,
    )


def neighborhood_hit(labels: Ids, Y: Array, n_neighbors: int = NEIGHBOURS) -> float:
    """The share of the points nearest to a place on the map that have the label of the point there.

    As in the survey, the point itself is the first of them.

    >>> import numpy as np
    >>> neighborhood_hit(np.array([0, 0, 1, 1]), np.array([[0.0], [1.0], [3.0], [4.0]]), n_neighbors=2)
    1.0
    """
    nearest = cKDTree(Y).query(Y, k=n_neighbors)[1]
    nearest[:, 0] = np.arange(len(Y))  # among points in one place, any of them may come first
    return float((labels[nearest] == labels[:, None]).mean())


def clark_evans(Y: Array) -> float:
    """The mean distance to the nearest other point, relative to evenly random points in the same convex hull.

    1: random, up to an edge effect of some per cent. Below: clumped. Up to 2.15: a triangular lattice.

    >>> import numpy as np
    >>> square = np.stack(np.meshgrid(np.arange(50.0), np.arange(50.0)), axis=-1).reshape(-1, 2)
    >>> round(clark_evans(square), 2)
    2.04
    """
    nearest = cKDTree(Y).query(Y, k=2)[0][:, 1]
    return float(2 * nearest.mean() * np.sqrt(len(Y) / ConvexHull(Y).volume))
