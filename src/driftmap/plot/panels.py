"""Panels: the maps of a figure as arrays, with times and extents, independent of matplotlib."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from driftmap.plot.coloring import days
from driftmap.plot.limits import Limits, limits_of
from driftmap.utils import Array


class Time(NamedTuple):
    """When the points arrived: the horizontal axis of a map in one dimension."""

    values: Array | None = None
    """A number for each point; None: the arrival number."""
    label: str = "arrival"
    is_date: bool = False
    of_landmarks: Array | None = None
    """A number for each landmark."""


class Panel(NamedTuple):
    """One map of a figure."""

    name: str
    points: Array
    landmarks: Array | None
    time: Time = Time()
    limits: str = "bulk"
    """What the axes hold: see :func:`driftmap.plot.limits.limits_of`."""

    def drawn_points(self) -> list[Array]:
        """Return the points axis by axis; a map with one dimension has the times as its first axis."""
        n, k = self.points.shape
        return ([self._times(n)] if k == 1 else []) + list(self.points.T)

    def drawn_landmarks(self) -> list[Array]:
        """Return the landmarks axis by axis; with one dimension and unknown times, they are at the right margin."""
        assert self.landmarks is not None
        (n, k), when = self.points.shape, self.time.of_landmarks
        if k > 1:
            return list(self.landmarks.T)
        if when is None:
            times = self._times(n)
            when = np.full(len(self.landmarks), times.max() + 0.03 * (float(np.ptp(times)) or 1.0))
        return [when, self.landmarks[:, 0]]

    def _times(self, n: int) -> Array:
        return np.arange(n, dtype=np.float64) if self.time.values is None else self.time.values


def positions_of(coordinates: ArrayLike) -> Array:
    """Return the coordinates as an array of at most three columns."""
    array = np.asarray(coordinates, dtype=np.float64)
    array = array[:, None] if array.ndim == 1 else array
    if array.ndim != 2 or 0 in array.shape:
        raise ValueError(f"coordinates must be of shape (n, k) with at least one row and column, got {array.shape}")
    return array[:, :3]


def time_of(times: ArrayLike, label: str | None, n: int, parameter: str = "times") -> Time:
    """Return the times of n points, given as numbers or dates."""
    values = np.asarray(times)
    if values.shape != (n,):
        raise ValueError(f"{parameter} must have {n} entries, got shape {values.shape}")
    is_date = values.dtype.kind == "M"
    numbers = days(values) if is_date else values.astype(np.float64)
    if not np.isfinite(numbers).all():
        raise ValueError(f"{parameter} must be finite: at least one value is missing")
    return Time(numbers, label or ("date" if is_date else "time"), is_date)


def shortened(name: str, longest: int) -> str:
    """Shorten a name to at most ``longest`` letters, in the middle, since names of classes often differ at their ends.

    >>> shortened("sensor in the hall, number 12", 15)
    'sensor...ber 12'
    """
    head = (longest - 2) // 2
    return name if len(name) <= longest else f"{name[:head]}...{name[len(name) - (longest - 3 - head) :]}"


def box(panel: Panel) -> Limits:
    """Return the corners of the box that the axes hold."""
    return limits_of(panel.points, panel.limits, panel.landmarks)


def axis_spans(panels: Sequence[Panel]) -> Array:
    """Return the length of each axis: the largest that any panel needs, and at least 0.3 of the longest axis."""
    needed = np.max([high - low for low, high in map(box, panels)], axis=0)
    longest = needed.max() if needed.max() > 0 else 1.0
    return np.asarray(np.maximum(needed, 0.3 * longest))
