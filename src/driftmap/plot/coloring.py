"""Colours of points: a scale for numbers and dates, a palette for groups."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from driftmap.utils import Array

COLORMAP = "viridis"
# Okabe and Ito's colours, which remain distinct to colour-blind readers, without yellow (pale on white) and black
# (used for outlines), then three more.
PALETTE = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#7A5195", "#8C564B", "#66A61E", "#4D4D4D")
OTHER_COLOR = "#C9CDD2"
"""Missing values, and groups beyond those of the palette."""


class Coloring(NamedTuple):
    """How points are coloured: by numbers on a scale, or by group."""

    values: Array
    """A number per point; for groups, the number of its group."""
    label: str
    groups: tuple[str, ...] = ()
    """Names of the groups; none for a scale."""
    colors: tuple[Any, ...] = ()
    """Colours of the groups."""
    dates: bool = False

    def of_points(self) -> Any:
        """The argument ``c`` of scatter."""
        return np.asarray(self.colors)[self.values.astype(int)] if self.groups else self.values


def coloring_of(color: Any, label: str | None, n: int) -> Coloring:
    """The colouring of n points by the argument ``color`` of :func:`~driftmap.plot.map_figure`."""
    if color is None:
        return Coloring(np.arange(n, dtype=np.float64), label or "arrival")
    values = np.asarray(color)
    if values.shape != (n,):
        raise ValueError(f"color must have one entry for each of the {n} points, got shape {values.shape}")
    if values.dtype == object and isinstance(values[0], datetime.date):
        values = values.astype("datetime64[us]")
    if values.dtype.kind == "M":
        days = values.astype("datetime64[us]").astype(np.float64) / 86_400e6  # matplotlib's unit
        return Coloring(np.where(np.isnat(values), np.nan, days), label or "date", dates=True)
    if values.dtype.kind in "iuf":
        numbers = values.astype(np.float64)
        different = np.unique(numbers)
        whole = np.isfinite(different).all() and bool((different == np.floor(different)).all())
        if not whole or len(different) > len(PALETTE):
            return Coloring(numbers, label or "value")
        return _groups(numbers, different, [f"{value:.0f}" for value in different], _sampled(len(different)), label)
    return _categories(np.array([str(value) or "(none)" for value in values.tolist()]), label)


def _categories(names: NDArray[np.str_], label: str | None) -> Coloring:
    """Text: a colour for each of the most frequent entries, grey for the others."""
    different, counts = np.unique(names, return_counts=True)
    if len(different) <= len(PALETTE):
        return _groups(names, different, different.tolist(), PALETTE[: len(different)], label)
    shown = np.sort(different[np.argsort(-counts, kind="stable")[: len(PALETTE) - 1]])
    rest = len(different) - len(shown)
    coloring = _groups(names, shown, [*shown.tolist(), f"{rest} others"], (*PALETTE[: len(shown)], OTHER_COLOR), label)
    return coloring._replace(values=np.where(np.isin(names, shown), coloring.values, float(len(shown))))


def _groups(
    values: NDArray[Any], different: NDArray[Any], names: Sequence[str], colors: Sequence[Any], label: str | None
) -> Coloring:
    places = np.minimum(np.searchsorted(different, values), len(different) - 1)
    return Coloring(places.astype(np.float64), label or "", tuple(names), tuple(colors))


def _sampled(n: int) -> list[Any]:
    """Colours for ordered groups; the palest end of the scale is left out."""
    import matplotlib

    return [matplotlib.colormaps[COLORMAP](x) for x in np.linspace(0.0, 0.92, n)]


def colormap() -> Any:
    """The scale of colours, with grey for missing values."""
    import matplotlib

    return matplotlib.colormaps[COLORMAP].with_extremes(bad=OTHER_COLOR)


def normalization(coloring: Coloring) -> Any:
    """The range of the scale, from the finite values."""
    from matplotlib.colors import Normalize

    known = coloring.values[np.isfinite(coloring.values)]
    return Normalize(known.min(), known.max()) if len(known) else Normalize(0.0, 1.0)
