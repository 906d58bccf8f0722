"""Colours of points: a scale for numbers and dates, a palette for classes, grey for missing values."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from numbers import Real
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from driftmap.utils import Array
from driftmap.web.palette import GROUP_COLORS, MISSING_COLOR, OTHER_COLOR, few_whole_numbers, palette_slots

COLORMAP = "viridis"
DIVERGING = ("#762A83", "#AF8DC3", "#C0C5CD", "#7FBF7B", "#1B7837")
"""Colours from fewer to more; grey, not white, in the middle, so that points can be seen."""
MANY = 100
"""With at least this many values, the scale may exclude outliers."""


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
    return Coloring(np.zeros(n), "", ("",), GROUP_COLORS[:1], is_explained=False)


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
        whole = few_whole_numbers(numbers)
        if whole is None:
            return Coloring(numbers, label or "value")
        texts = {value: f"{value:.0f}" for value in whole}
        names = np.array([texts.get(value, "") for value in numbers.tolist()])
        return _classes(names, list(texts.values()), label)
    names = np.array(["" if _is_missing(value) else str(value) for value in values.tolist()])
    different, counts = np.unique(names[names != ""], return_counts=True)
    if len(different) <= len(GROUP_COLORS):
        return _classes(names, different.tolist(), label)
    # The largest classes get a colour each; the others share grey.
    shown = np.sort(different[np.argsort(-counts, kind="stable")[: len(GROUP_COLORS)]]).tolist()
    coloring, others = _classes(names, shown, label), f"{len(different) - len(shown)} others"
    is_other = (names != "") & ~np.isin(names, shown)
    return coloring._replace(
        values=np.where(is_other, float(len(shown)), coloring.values),
        classes=(*coloring.classes, others),
        colors=(*coloring.colors, OTHER_COLOR),
    )


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


def _classes(names: NDArray[Any], different: Sequence[str], label: str | None) -> Coloring:
    places, slots = {name: i for i, name in enumerate(different)}, palette_slots(different)
    numbers = np.array([places.get(name, np.nan) for name in names.tolist()], dtype=np.float64)
    return Coloring(numbers, label or "", tuple(different), tuple(GROUP_COLORS[slots[name]] for name in different))


def colormap(coloring: Coloring) -> Any:
    """Return the colour map of the scale."""
    import matplotlib
    from matplotlib.colors import LinearSegmentedColormap

    if coloring.is_diverging:
        return LinearSegmentedColormap.from_list("change", DIVERGING)
    return matplotlib.colormaps[COLORMAP]


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
