"""Colours of points: a scale for numbers and dates, a palette for classes, grey for missing values."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from numbers import Real
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from driftmap.utils import Array

COLORMAP, DIVERGING = "viridis", "coolwarm"
MANY = 100
"""With at least this many values, the scale may exclude outliers."""
# Okabe and Ito's colours, which remain distinct for colour-blind readers, without yellow (pale on white) and black
# (used for outlines). Each further colour is as distinct as possible from those before it, for these readers, too.
PALETTE = (
    "#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#7A5195", "#8C564B", "#66A61E", "#4D4D4D",
    "#1F2BE0", "#D8C46A", "#5A5A00", "#B84DF0", "#F0506E", "#3FD0C9", "#3D0A78", "#0B5020", "#D3B8F0", "#F4A3A3",
)  # fmt: skip
OTHER_COLOR = "#9AA1A9"
"""Colour of the classes for which the palette has no colour left."""
MISSING_COLOR = "#C9CDD2"
"""Colour of points without a value."""


class Coloring(NamedTuple):
    """How points are coloured: by numbers on a scale, or by class."""

    values: Array
    """A number per point (for classes, the index of its class); NaN is missing."""
    label: str
    classes: tuple[str, ...] = ()
    """Names of the classes; empty for a scale."""
    colors: tuple[str, ...] = ()
    """Colours of the classes."""
    is_date: bool = False
    """True if the numbers are days since 1970, matplotlib's unit of dates."""
    is_explained: bool = True
    """True if the figure needs a legend or a colour bar."""
    is_diverging: bool = False
    """True if 0 is the middle of the scale."""

    @property
    def missing(self) -> NDArray[np.bool_]:
        """A mask of the points without a value."""
        return ~np.isfinite(self.values)

    def rgba(self) -> Array:
        """Return the colour of each point, as an array of shape (n, 4)."""
        from matplotlib.colors import to_rgba, to_rgba_array

        colors = np.empty((len(self.values), 4))
        known = ~self.missing
        colors[~known] = to_rgba(MISSING_COLOR)
        if self.classes:
            colors[known] = to_rgba_array(list(self.colors))[self.values[known].astype(int)]
        else:
            colors[known] = colormap(self)(normalization(self)(self.values[known]))
        return colors


def by_arrival(arrivals: NDArray[Any], label: str | None = None) -> Coloring:
    """Colour points by arrival number."""
    return Coloring(arrivals.astype(np.float64), label or "arrival")


def in_one_color(n: int) -> Coloring:
    """Give n points the same colour."""
    return Coloring(np.zeros(n), "", ("",), PALETTE[:1], is_explained=False)


def coloring_of(color: Any, label: str | None, n: int) -> Coloring:
    """Interpret the argument ``color`` of :func:`~driftmap.plot.map_figure` for n points."""
    if color is None:
        return by_arrival(np.arange(n), label)
    values = np.asarray(color)
    if values.shape != (n,):
        raise ValueError(f"color must have one entry for each of the {n} points, got shape {values.shape}")
    if values.dtype == object:
        values = _typed(values)
    if values.dtype.kind == "M":
        return Coloring(days(values), label or "date", is_date=True)
    if values.dtype.kind in "iuf":
        numbers = values.astype(np.float64)
        numbers[~np.isfinite(numbers)] = np.nan
        different = np.unique(numbers[~np.isnan(numbers)])
        if not 0 < len(different) <= len(PALETTE) or bool((different != np.floor(different)).any()):
            return Coloring(numbers, label or "value")
        return _classes(
            numbers,
            different,
            [f"{value:{',' if abs(value) >= 10_000 else ''}.0f}" for value in different],
            PALETTE,
            label,
        )
    names = np.array(["" if _is_missing(value) else str(value) for value in values.tolist()])
    different, counts = np.unique(names[names != ""], return_counts=True)
    if len(different) <= len(PALETTE):
        return _classes(names, different, different.tolist(), PALETTE, label)
    # The most frequent classes get a colour each; the others share grey.
    shown = np.sort(different[np.argsort(-counts, kind="stable")[: len(PALETTE) - 1]])
    others = f"{len(different) - len(shown)} others"
    coloring = _classes(names, shown, [*shown.tolist(), others], (*PALETTE[: len(shown)], OTHER_COLOR), label)
    is_other = (names != "") & ~np.isin(names, shown)
    return coloring._replace(values=np.where(is_other, float(len(shown)), coloring.values))


def days(dates: NDArray[Any]) -> Array:
    """Convert dates to days since 1970, matplotlib's unit; missing dates become NaN."""
    counted = dates.astype("datetime64[us]").astype(np.float64) / 86_400e6
    return np.where(np.isnat(dates), np.nan, counted)


def _typed(values: NDArray[Any]) -> NDArray[Any]:
    """Convert Python objects to dates or numbers if all values that are not missing have that type."""
    listed = values.tolist()
    known = [value for value in listed if not _is_missing(value)]
    if known and all(isinstance(value, datetime.date) for value in known):
        return np.array([None if _is_missing(value) else value for value in listed], dtype="datetime64[us]")
    if known and all(isinstance(value, Real) and not isinstance(value, bool) for value in known):
        return np.array([np.nan if _is_missing(value) else float(value) for value in listed])
    return values


def _is_missing(value: Any) -> bool:
    if isinstance(value, float):
        return bool(np.isnan(value))
    return value is None or value == "" or type(value).__name__ in ("NAType", "NaTType")


def _classes(
    values: NDArray[Any], different: NDArray[Any], names: Sequence[str], colors: Sequence[str], label: str | None
) -> Coloring:
    places = np.searchsorted(different, values)
    known = np.isin(values, different)
    numbers = np.where(known, places.astype(np.float64), np.nan)
    return Coloring(numbers, label or "", tuple(names), tuple(colors[: len(names)]))


def colormap(coloring: Coloring) -> Any:
    """Return the colour map of the scale."""
    import matplotlib

    return matplotlib.colormaps[DIVERGING if coloring.is_diverging else COLORMAP]


def normalization(coloring: Coloring) -> Any:
    """Return the range of the scale: the finite values, without the outer 1 % at an end where these are outliers."""
    from matplotlib.colors import Normalize

    known = coloring.values[~coloring.missing]
    if not len(known):
        return Normalize(0.0, 1.0)
    if coloring.is_diverging:
        largest = float(np.abs(known).max()) or 1.0
        return Normalize(-largest, largest)
    least, largest = known.min(), known.max()
    if len(known) < MANY:
        return Normalize(least, largest)
    low, high = np.quantile(known, 0.01, method="higher"), np.quantile(known, 0.99, method="lower")
    far = (high - low) / 2 or np.inf
    return Normalize(low if low - least > far else least, high if largest - high > far else largest)


def beyond(coloring: Coloring) -> Literal["neither", "min", "max", "both"]:
    """Return which ends of the scale have values beyond it, as matplotlib's ``extend`` option."""
    known, scale = coloring.values[~coloring.missing], normalization(coloring)
    below, above = bool((known < scale.vmin).any()), bool((known > scale.vmax).any())
    return "both" if below and above else "min" if below else "max" if above else "neither"
