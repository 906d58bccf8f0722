"""Writes maps as single HTML files that work without a server or network."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from driftmap.plot.limits import limits_of
from driftmap.utils import Array, validation
from driftmap.web.columns import column_of
from driftmap.web.page import standalone

ASPECT = 2.0
"""Ratio of width to height for a map with one dimension."""


def html(
    coordinates: ArrayLike,
    landmark_coordinates: ArrayLike | None = None,
    *,
    columns: Mapping[str, Any] | None = None,
    color: str | None = None,
    title: str = "",
    landmark_arrivals: ArrayLike | None = None,
    landmark_mass: ArrayLike | None = None,
    note: str = "",
    limits: str = "bulk",
) -> str:
    """Return a map as the text of an HTML file with zoom, hover, lasso, a time slider and colours by any column.

    The file opens offline in any current browser. About 100,000 points with a dozen columns take less than 2.5 MB:
    larger maps round positions to 65,535 steps in each direction, and columns to 65,535 or 254 steps.

    Parameters
    ----------
    coordinates : array of shape (n, k)
        Positions of the points in order of arrival. One dimension is drawn against arrival; with more than two, the
        first two are drawn.
    landmark_coordinates : array of shape (m, k), optional
        Positions of the landmarks.
    columns : dict, optional
        Further values of the points by column name: numbers, dates or text.
    color : str, optional
        The column that colours the points initially; by default the arrival number.
    title : str
    landmark_arrivals, landmark_mass : arrays of length m, optional
        Arrival numbers and masses of the landmarks.
    note : str
        A remark that is shown beside the number of rows, such as the stress of the map.
    limits : "bulk" or "all"
        "bulk" shows all points but outliers at first, which a button brings into view.

    Examples
    --------
    >>> import numpy as np
    >>> points = np.random.default_rng(0).standard_normal((100, 2))
    >>> text = html(points, points[:5], columns={"kind": ["a", "b"] * 50}, title="A map")
    >>> "<title>A map</title>" in text
    True
    """
    validation.one_of(limits, "limits", validation.LIMITS)
    points = _positions(coordinates)
    n, k = points.shape
    shown = [column_of(str(name), values) for name, values in (columns or {}).items()]
    for column in shown:
        if column.values.shape != (n,):
            raise ValueError(f"column {column.name!r} must have one entry for each of the {n} points")
    if color is not None and color not in {column.name for column in shown}:
        raise ValueError(f"color must name one of the columns, got {color!r}")
    landmarks = None
    bulk = limits_of(points, limits)
    unit = ASPECT * (float((bulk.high - bulk.low)[0]) or 1.0) / n
    if landmark_coordinates is not None:
        marks = _positions(landmark_coordinates)
        if marks.shape[1] != k:
            raise ValueError(f"landmark_coordinates has {marks.shape[1]} columns, but coordinates has {k}")
        arrivals = np.full(len(marks), n) if landmark_arrivals is None else np.asarray(landmark_arrivals)
        mass = np.ones(len(marks)) if landmark_mass is None else np.asarray(landmark_mass, dtype=np.float64)
        landmarks = arrivals, _plane(marks, unit * arrivals), mass
    axes = (None, "x1") if k == 1 else ("x1", "x2")
    return standalone(_plane(points, unit * np.arange(n)), shown, landmarks, title, color, note, limits, axes)


def _positions(coordinates: ArrayLike) -> Array:
    array = np.asarray(coordinates, dtype=np.float64)
    array = array[:, None] if array.ndim == 1 else array
    if array.ndim != 2 or 0 in array.shape or not np.isfinite(array).all():
        raise ValueError(f"coordinates must be finite and of shape (n, k), got {array.shape}")
    return array


def _plane(positions: Array, times: Array) -> Array:
    """Return the first two coordinates, or the times and the coordinate of a map with one dimension."""
    return np.column_stack([times, positions]) if positions.shape[1] == 1 else positions[:, :2]
