"""What differs between two samples of a stream: the shares of the landmarks' cells, and the means of the features."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from driftmap.utils import Array, Ids

__all__ = ["Check", "Drift", "FeatureShift", "LandmarkShare"]

RARE = 0.01
"""Added to shares whose ratio is shown, so that single rows in rare cells do not stand out."""
MOST_SURPRISE = 16.0
"""Largest negative decimal logarithm of a p-value that is shown."""
LISTED = 3
"""Most features and landmarks in a line of output."""


class Check(NamedTuple):
    """A comparison of a window with the reference."""

    arrival: int
    """The last row of the window."""
    p_value: float
    """Asymptotic p-value of both tests together."""


class LandmarkShare(NamedTuple):
    """The share of rows that are nearest to a landmark."""

    landmark: int
    """Arrival number of the landmark."""
    before: float
    now: float
    position: tuple[float, ...]
    """Its place on the map."""


class FeatureShift(NamedTuple):
    """How a feature differs between reference and window."""

    feature: int | str
    """Its name, or its number if features have no names."""
    difference: float
    """Difference of the means in standard deviations of both samples together."""
    before: float
    """Mean in the reference."""
    now: float
    """Mean in the window."""


class Drift(NamedTuple):
    """An alarm: the rows of the window do not come from the distribution of the reference."""

    arrival: int
    """The row after which the alarm was raised."""
    began: int
    """The most likely row of the change, within the window."""
    p_value: float
    """Asymptotic p-value of both tests together; a permutation test has confirmed that it is at most ``alpha``."""
    landmarks: list[LandmarkShare]
    """All landmarks of the monitor, in order of arrival."""
    features: list[FeatureShift]
    """All features, largest difference first; empty if points are not rows of a matrix of numbers."""
    time: Any = None
    """Time of ``arrival``, if known."""

    def log_ratios(self) -> list[float]:
        """Return for each landmark the binary logarithm of the ratio of its shares, now to before; see `damped`."""
        return [damped(one.before, one.now) for one in self.landmarks]

    def as_json(self) -> dict[str, Any]:
        """Return the three landmarks and features that changed most, and the rest, as JSON values."""
        changed = sorted(self.landmarks, key=lambda one: -abs(one.now - one.before))[:LISTED]
        return {
            "kind": "drift",
            "row": self.arrival,
            "time": self.time.item() if isinstance(self.time, np.generic) else self.time,
            "began": self.began,
            "p_value": self.p_value,
            "landmarks": [one._asdict() | {"position": list(one.position)} for one in changed],
            "features": [
                {"name": name, "difference": difference, "before": before, "now": now}
                for name, difference, before, now in self.features[:LISTED]
            ],
        }


class Found(NamedTuple):
    """A drift without names of features and places on the map."""

    arrival: int
    began: int
    p_value: float
    ids: Ids
    """Arrival numbers of the landmarks."""
    points: Any
    """The landmarks."""
    shares: Array
    """Share of each landmark before and now, (2, m)."""
    shifts: Array
    """Difference, mean before and mean now of each feature, (3, d)."""

    def named(self, names: Sequence[str], positions: Array) -> Drift:
        """Return the drift with names of features, if they have any, and places of landmarks."""
        shares = zip(self.ids.tolist(), *self.shares.tolist(), map(tuple, positions.tolist()), strict=True)
        features = named_shifts(self.shifts, names)
        return Drift(self.arrival, self.began, self.p_value, [LandmarkShare(*one) for one in shares], features)


def shares_of(distances: Array) -> Array:
    """Return the share of rows that are nearest to each landmark.

    >>> shares_of(np.array([[1.0, 2.0], [3.0, 0.0], [1.0, 0.5], [1.0, 1.0]]))
    array([0.5, 0.5])
    """
    return np.bincount(distances.argmin(axis=1), minlength=distances.shape[1]) / len(distances)


def moments_of(rows: Array) -> Array:
    """Return the number, the mean and the sum of squared deviations of the numbers in each column, without NaN.

    >>> moments_of(np.array([[1.0, np.nan], [3.0, 5.0]]))
    array([[2., 1.],
           [2., 5.],
           [2., 0.]])
    """
    known = ~np.isnan(rows)
    n = known.sum(axis=0)
    means = np.where(known, rows, 0.0).sum(axis=0) / np.maximum(n, 1)
    return np.array([n, means, (np.where(known, rows - means, 0.0) ** 2).sum(axis=0)])


def joined_moments(a: Array, b: Array) -> Array:
    """Return the moments of two samples together (Chan, Golub and LeVeque, 1983)."""
    n = a[0] + b[0]
    share = b[0] / np.maximum(n, 1)
    gap = b[1] - a[1]
    return np.array([n, a[1] + share * gap, a[2] + b[2] + gap**2 * a[0] * share])


def shifts_between(before: Array, now: Array) -> Array:
    """Return differences of means in deviations of both samples together, and the means; 0 for a constant feature."""
    n, _, squares = joined_moments(before, now)
    deviations = np.sqrt(squares / np.maximum(n, 1))
    differences = (now[1] - before[1]) / np.where(deviations > 0, deviations, np.inf)
    return np.array([differences, before[1], now[1]])


def damped(before: float, now: float) -> float:
    """Return the binary logarithm of the ratio of two shares, to each of which 0.01 is added.

    >>> damped(0.0, 0.07), round(damped(0.1, 0.05), 2)
    (3.0, -0.87)
    """
    return float(np.log2((now + RARE) / (before + RARE)))


def named_shifts(shifts: Array, names: Sequence[str]) -> list[FeatureShift]:
    """Return shifts of features, largest first, with their names if they have any."""
    order = np.argsort(-np.abs(shifts[0]), kind="stable").tolist()
    return [FeatureShift(names[j] if names else j, *shifts[:, j].tolist()) for j in order]


def surprise(p_values: Sequence[float]) -> Array:
    """Return negative decimal logarithms of p-values, at most 16.

    >>> surprise([1.0, 0.001, 0.0]).tolist()
    [0.0, 3.0, 16.0]
    """
    return np.minimum(-np.log10(np.maximum(p_values, 1e-300)), MOST_SURPRISE) + 0.0
