"""Limits of a map that hold the bulk of its points, so that a few outliers do not take the picture."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from driftmap.utils import Array

OUTLIERS = 0.01
"""Share of the points on each side of an axis that may be outliers."""
FEW_OUTLIERS, FEW = 2, 20
"""At least this many points on each side may be outliers, of at least this many points."""


class Limits(NamedTuple):
    """The corners of a box."""

    low: Array
    high: Array


def limits_of(points: Array, limits: str, landmarks: Array | None = None) -> Limits:
    """Return the limits of points of shape (n, k): "all" holds them all, "bulk" leaves outliers out.

    Outliers are few, and farther from the others than the map without them is long. Landmarks extend the limits unless
    they are as far.

    >>> points = np.random.default_rng(0).random((300, 2))
    >>> points[7] = -95.0
    >>> limits_of(points, "all").low.tolist(), bool((limits_of(points, "bulk").low > 0).all())
    ([-95.0, -95.0], True)
    """
    n = len(points)
    out = 0 if limits == "all" or n < FEW else max(FEW_OUTLIERS, int(OUTLIERS * n))
    ordered = np.sort(points, axis=0)
    low, high = ordered[out], ordered[n - 1 - out]
    far = (float((high - low).max()) or np.inf) if out else np.inf
    everything = points if landmarks is None else np.vstack([points, landmarks])
    inside = (everything >= low - far) & (everything <= high + far)
    return Limits(
        np.min(everything, axis=0, where=inside, initial=np.inf),
        np.max(everything, axis=0, where=inside, initial=-np.inf),
    )
