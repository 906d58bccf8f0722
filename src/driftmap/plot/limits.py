"""Limits of a map that hold the bulk of its points, so that a few outliers do not take the picture."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from driftmap.utils import Array

LIMITS = ("bulk", "all")
OUTLIERS = 0.01
"""Share of the points on each side of an axis that may be outliers."""
FEW_OUTLIERS, FEW = 2, 20
"""At least this many points on each side may be outliers, of at least this many points."""


class Limits(NamedTuple):
    """A box."""

    low: Array
    high: Array

    def outside(self, points: Array) -> Array:
        """Return a mask of the points outside of the box."""
        return np.asarray(((points < self.low) | (points > self.high)).any(axis=1))


def limits_of(points: Array, limits: str) -> Limits:
    """Return the limits of points of shape (n, k): "all" holds them all, "bulk" leaves outliers out.

    Outliers are few, and farther from the others than the map without them is long.

    >>> points = np.random.default_rng(0).random((300, 2))
    >>> points[7] = -95.0
    >>> limits_of(points, "all").low.tolist(), bool((limits_of(points, "bulk").low > 0).all())
    ([-95.0, -95.0], True)
    """
    n = len(points)
    out = 0 if limits == "all" or n < FEW else max(FEW_OUTLIERS, int(OUTLIERS * n))
    ordered = np.sort(points, axis=0)
    low, high = ordered[out], ordered[n - 1 - out]
    far = float((high - low).max()) or np.inf
    far = np.inf if out == 0 else far
    inside = (points >= low - far) & (points <= high + far)
    return Limits(
        np.min(points, axis=0, where=inside, initial=np.inf), np.max(points, axis=0, where=inside, initial=-np.inf)
    )
