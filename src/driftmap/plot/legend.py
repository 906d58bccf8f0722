"""Legends, colour bars and axis labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from driftmap.plot.coloring import Coloring, beyond, colormap, normalization
from driftmap.plot.panels import shortened
from driftmap.plot.points import INK, LEAST_OPACITY, MOST_DIAMONDS
from driftmap.web.palette import MISSING_COLOR

if TYPE_CHECKING:
    from matplotlib.figure import Figure

GREY = "#9AA1A9"
MOST_LETTERS = 28
"""Most letters of a name in the legend."""
ROWS_OF_CLASSES = 12
"""Classes in a column of the legend."""
BELOW_LABELS = 40
"""Height of the labels of the horizontal axis, in points (1/72 inch)."""
SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def label_axis(axis: Any, name: str, *, is_date: bool = False) -> None:
    """Label an axis whose limits are set: numbers or dates, and its name with the power of ten of the numbers."""
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

    from driftmap.plot.artists import PlainNumbers

    if is_date:
        locator = AutoDateLocator()  # type: ignore[no-untyped-call]
        axis.set_major_locator(locator)
        # matplotlib would print the year, month or day that all ticks share at the end of the axis, over other labels.
        axis.set_major_formatter(ConciseDateFormatter(locator, show_offset=False))  # type: ignore[no-untyped-call]
        shared = _shared_date(*axis.get_view_interval())
        name = f"{name} ({shared})" if shared and name else name
    else:
        largest = float(np.abs(axis.get_view_interval()).max())
        power = int(np.floor(np.log10(largest))) if 0 < largest < np.inf else 0
        is_plain = -4 <= power < 7
        axis.set_major_formatter(PlainNumbers(None if is_plain else power))
        name = name if is_plain else f"{name} (10{str(power).translate(SUPERSCRIPTS)})"
    # parse_math=False, here and below: a dollar sign in a name does not start a formula.
    axis.set_label_text(shortened(name, 3 * MOST_LETTERS), fontsize=10, color=INK, parse_math=False)
    axis.set_tick_params(labelsize=9, color=GREY, labelcolor=INK, length=3)


def _shared_date(first: float, last: float) -> str:
    """Return the year, month or day that two times (in days since 1970) share and that ticks between them omit."""
    first_time, last_time = (np.datetime64(round(day * 86_400e6), "us").astype(object) for day in (first, last))
    if first_time.date() == last_time.date():
        return f"{first_time:%Y-%m-%d}"
    if (first_time.year, first_time.month) == (last_time.year, last_time.month):
        return f"{first_time:%Y-%m}"
    return f"{first_time:%Y}" if first_time.year == last_time.year else ""


def add_legend(ax: Any, coloring: Coloring, *, landmarks: int, most: int = 0) -> None:
    """Add a legend outside the axes: to the right for classes, below for a scale.

    ``landmarks`` is their number, of which not all may be drawn; ``most`` is the number of points in the fullest cell
    of a density.
    """
    from matplotlib.transforms import ScaledTranslation

    handles = []
    if coloring.is_explained:
        handles += [_handle(name, "o", c, c) for name, c in zip(coloring.classes, coloring.colors, strict=True)]
    if coloring.missing.any():
        handles.append(_handle("no value", "o", MISSING_COLOR, MISSING_COLOR))
    if landmarks:
        name = "landmark" if landmarks <= MOST_DIAMONDS else f"{MOST_DIAMONDS} of {landmarks:,} landmarks"
        handles.append(_handle(name, "D", "none", INK))
    if most > 1:
        handles += [_handle("1 point", "s", INK, "none", LEAST_OPACITY), _handle(f"{most:,} points", "s", INK, "none")]
    if not handles:
        return
    place: dict[str, Any]
    in_space = hasattr(ax, "zaxis")
    if coloring.classes and coloring.is_explained:
        place = {"loc": "upper left", "bbox_to_anchor": (1.15 if in_space else 1.02, 1.0), "borderaxespad": 0.0}
        title = shortened(coloring.label, MOST_LETTERS)
        place |= {"title": title, "alignment": "left", "ncols": _columns(coloring)}
    else:
        below = ScaledTranslation(0, 0 if in_space else -BELOW_LABELS / 72, ax.figure.dpi_scale_trans)
        place = {"loc": "upper right", "bbox_to_anchor": (1.0, 0.0), "bbox_transform": ax.transAxes + below}
        place |= {"ncols": len(handles), "columnspacing": 1.2, "borderaxespad": 0.0, "borderpad": 0.0}
    legend = ax.legend(handles=handles, frameon=False, fontsize=9, labelcolor=INK, handletextpad=0.3, **place)
    legend.get_title().set(fontsize=10, color=INK)
    for text in [legend.get_title(), *legend.get_texts()]:
        text.set_parse_math(False)


def legend_width(coloring: Coloring) -> float:
    """Return the approximate width of the class names in inches."""
    longest = max(map(len, coloring.classes), default=0)
    return 0.08 * min(longest, MOST_LETTERS) * _columns(coloring)


def _columns(coloring: Coloring) -> int:
    return -(-len(coloring.classes) // ROWS_OF_CLASSES)


def add_colorbar(figure: Figure, axes: Sequence[Any], coloring: Coloring) -> None:
    """Add a colour bar to the right of the last axes, of the same height."""
    from matplotlib.cm import ScalarMappable

    if coloring.classes:
        return
    scale, last = ScalarMappable(normalization(coloring), colormap(coloring)), axes[-1]
    if hasattr(last, "zaxis"):
        bar = figure.colorbar(scale, ax=list(axes), shrink=0.6, aspect=22, pad=0.09, extend=beyond(coloring))
    else:
        bar = figure.colorbar(scale, cax=last.inset_axes((1.03, 0.0, 0.03, 1.0)), extend=beyond(coloring))
    bar.outline.set_visible(False)
    label_axis(bar.ax.yaxis, coloring.label, is_date=coloring.is_date)


def _handle(name: str, marker: str, face: Any, edge: Any, opacity: float = 1.0) -> Any:
    from matplotlib.lines import Line2D

    # matplotlib omits labels that start with an underscore.
    name = f" {name}" if name.startswith("_") else name
    style: dict[str, Any] = {"markerfacecolor": face, "markeredgecolor": edge, "markeredgewidth": 0.9}
    label = shortened(name, MOST_LETTERS)
    return Line2D([], [], linestyle="none", marker=marker, markersize=5, label=label, alpha=opacity, **style)


def outside_note(count: int) -> str:
    """Return the remark on points beyond the limits."""
    return f"{count:,} {'point' if count == 1 else 'points'} outside"


def add_note(ax: Any, note: str, *, at_top: bool = False) -> Any:
    """Add a remark in the lower or upper right corner, over the points."""
    up = int(at_top)
    return ax.annotate(
        note, (1, up), (-4, 4 - 8 * up), xycoords="axes fraction", textcoords="offset points",
        ha="right", va="top" if at_top else "bottom",
        fontsize=7.5, color=INK, parse_math=False, zorder=10,
        bbox={"boxstyle": "round,pad=0.25", "facecolor": "white", "edgecolor": "none", "alpha": 0.8},
    )  # fmt: skip
