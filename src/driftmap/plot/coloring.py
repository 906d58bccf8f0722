"""Colours of points: a scale for numbers and dates, a palette for classes, grey where there is no value."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from numbers import Real
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from driftmap.utils import Array

COLORMAP = "viridis"
MANY = 100
"""Values from which on a few may lie beyond the scale."""
# Okabe and Ito's colours, which remain distinct to colour-blind readers, without yellow (pale on white) and black
# (used for outlines). Those after them are as far as possible from the ones before, also to a colour-blind eye.
PALETTE = (
    "#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#7A5195", "#8C564B", "#66A61E", "#4D4D4D",
    "#1F2BE0", "#D8C46A", "#5A5A00", "#B84DF0", "#F0506E", "#3FD0C9", "#3D0A78", "#0B5020", "#D3B8F0", "#F4A3A3",
)  # fmt: skip
OTHER_COLOR = "#9AA1A9"
"""Classes beyond those of the palette."""
MISSING_COLOR = "#C9CDD2"
"""Points without a value."""


class Coloring(NamedTuple):
    """How points are coloured: by numbers on a scale, or by class."""

    values: Array
    """A number per point, NaN where there is none; for classes, the number of its class."""
    label: str
    classes: tuple[str, ...] = ()
    """Names of the classes; none for a scale."""
    colors: tuple[str, ...] = ()
    """Colours of the classes."""
    is_date: bool = False
    """Whether the numbers are days since 1970, as matplotlib counts dates."""
    is_explained: bool = True
    """Whether there is anything to explain: a legend or a colour bar."""

    @property
    def missing(self) -> NDArray[np.bool_]:
        """The points without a value."""
        return ~np.isfinite(self.values)

    def rgba(self) -> Array:
        """The colour of every point, (n, 4)."""
        from matplotlib.colors import to_rgba, to_rgba_array

        colors = np.empty((len(self.values), 4))
        known = ~self.missing
        colors[~known] = to_rgba(MISSING_COLOR)
        if self.classes:
            colors[known] = to_rgba_array(list(self.colors))[self.values[known].astype(int)]
        else:
            colors[known] = colormap()(normalization(self)(self.values[known]))
        return colors


def by_arrival(arrivals: NDArray[Any], label: str | None = None) -> Coloring:
    """The colouring by arrival number."""
    return Coloring(arrivals.astype(np.float64), label or "arrival")


def in_one_color(n: int) -> Coloring:
    """All points alike."""
    return Coloring(np.zeros(n), "", ("",), PALETTE[:1], is_explained=False)


def coloring_of(color: Any, label: str | None, n: int) -> Coloring:
    """The colouring of n points by the argument ``color`` of :func:`~driftmap.plot.map_figure`."""
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
    # A colour for each of the most frequent ones, grey for the others.
    shown = np.sort(different[np.argsort(-counts, kind="stable")[: len(PALETTE) - 1]])
    others = f"{len(different) - len(shown)} others"
    coloring = _classes(names, shown, [*shown.tolist(), others], (*PALETTE[: len(shown)], OTHER_COLOR), label)
    is_other = (names != "") & ~np.isin(names, shown)
    return coloring._replace(values=np.where(is_other, float(len(shown)), coloring.values))


def days(dates: NDArray[Any]) -> Array:
    """Dates as days since 1970, matplotlib's unit; NaN for those that are missing."""
    counted = dates.astype("datetime64[us]").astype(np.float64) / 86_400e6
    return np.where(np.isnat(dates), np.nan, counted)


def _typed(values: NDArray[Any]) -> NDArray[Any]:
    """Python objects as dates or as numbers, if all of them (but the missing ones) are such."""
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


def colormap() -> Any:
    """The scale of colours."""
    import matplotlib

    return matplotlib.colormaps[COLORMAP]


def normalization(coloring: Coloring) -> Any:
    """The range of the scale: of the finite values, but for the outer 1 % at an end where these lie far outside."""
    from matplotlib.colors import Normalize

    known = coloring.values[~coloring.missing]
    if not len(known):
        return Normalize(0.0, 1.0)
    least, largest = known.min(), known.max()
    if len(known) < MANY:
        return Normalize(least, largest)
    low, high = np.quantile(known, 0.01, method="higher"), np.quantile(known, 0.99, method="lower")
    far = (high - low) / 2 or np.inf
    return Normalize(low if low - least > far else least, high if largest - high > far else largest)


def beyond(coloring: Coloring) -> Literal["neither", "min", "max", "both"]:
    """At which ends of the scale there are values beyond it, in matplotlib's words."""
    known, scale = coloring.values[~coloring.missing], normalization(coloring)
    below, above = bool((known < scale.vmin).any()), bool((known > scale.vmax).any())
    return "both" if below and above else "min" if below else "max" if above else "neither"
