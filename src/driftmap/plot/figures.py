"""Figures of maps, with matplotlib.

Figures are made without pyplot or a display, and a notebook displays them as the result of a cell. matplotlib (the
extra ``plot``) is imported when the first figure is made.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
from numpy.typing import ArrayLike

from driftmap.plot.coloring import Coloring, coloring_of, in_one_color
from driftmap.plot.legend import GREY, add_colorbar, add_legend, add_note, label_axis, outside_note
from driftmap.plot.panels import Panel, Time, axis_spans, box, positions_of, time_of
from driftmap.plot.points import INK, MOST_DOTS, draw_density, draw_landmarks, draw_outside, draw_points, is_outside
from driftmap.storage.atomic import replacing
from driftmap.utils import Array, validation
from driftmap.utils.errors import MissingDependencyError
from driftmap.utils.validation import FIGURE_FORMATS, LIMITS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

UNDRAWABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
"""Characters that fonts lack and that XML, and so SVG, forbids; figures show their escape sequences."""
GRID_COLOR = "#E4E7EB"


def require_matplotlib() -> None:
    """Raise an ImportError that names the extra to install if matplotlib is missing."""
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError as error:
        raise MissingDependencyError("figures need matplotlib", extra="plot") from error


def map_figure(
    coordinates: ArrayLike,
    landmark_coordinates: ArrayLike | None = None,
    *,
    color: Any = None,
    color_label: str | None = None,
    title: str | None = None,
    times: ArrayLike | None = None,
    time_label: str | None = None,
    landmark_times: ArrayLike | None = None,
    note: str | None = None,
    size: tuple[float, float] | None = None,
    limits: str = "bulk",
) -> Figure:
    """Draw a map: points as dots, landmarks as hollow diamonds.

    Dots are translucent and drawn in a random order, so that later arrivals do not hide earlier ones. More than 20,000
    points in the plane are shaded by density: a cell takes the colour of a random point in it, and cells with more
    points are more opaque.

    Parameters
    ----------
    coordinates : array of shape (n, k)
        Positions of the points in order of arrival. One dimension is drawn against time, three in space; with more
        dimensions, the first three are drawn.
    landmark_coordinates : array of shape (m, k), optional
        Positions of the landmarks.
    color : array of length n, optional
        Values that colour the points. Numbers and dates get a colour bar; text, and integers with up to 20 different
        values, are classes and get a legend. Points without a value (NaN, NaT, None, empty text) are grey. By default
        the time or the arrival number, or one colour if k = 1.
    color_label : str, optional
        Name of these values.
    title : str, optional
    times : array of length n, optional
        When the points arrived, as numbers or dates: the horizontal axis if k = 1. Default: the arrival number.
    time_label : str, optional
        Name of the times.
    landmark_times : array of length m, optional
        When the landmarks arrived, as numbers or dates. Default, if k = 1: landmarks are at the right margin.
    note : str, optional
        A remark in the lower right corner, such as the stress of the map.
    size : (width, height) in inches, optional
        Default: derived from the shape of the map.
    limits : "bulk" or "all"
        "bulk": the axes hold all points but outliers, at most 1 % on each side and farther from the others than the map
        without them is long. These are triangles at the border, and are counted. "all": the axes hold all points.

    Examples
    --------
    >>> import numpy as np
    >>> figure = map_figure(np.random.default_rng(0).standard_normal((100, 2)), title="A map")
    >>> figure.axes[0].get_title(loc="left")
    'A map'
    """
    marks = None if landmark_coordinates is None else positions_of(landmark_coordinates)
    points = positions_of(coordinates)
    time = Time() if times is None else time_of(times, time_label, len(points))
    if time.values is not None and color is None and points.shape[1] > 1:
        color = Coloring(time.values, color_label or time.label, is_date=time.is_date)
    if landmark_times is not None and marks is not None:
        time = time._replace(of_landmarks=time_of(landmark_times, None, len(marks), "landmark_times").values)
    panel = Panel(title or "", points, marks, time, limits)
    figure = _figure([panel], color, color_label, None, size)
    if note:
        add_note(figure.axes[0], note)
    return figure


def comparison_figure(
    maps: Mapping[str, tuple[ArrayLike, ArrayLike | None]],
    *,
    color: Any = None,
    color_label: str | None = None,
    title: str | None = None,
    limits: str = "bulk",
) -> Figure:
    """Draw several maps of the same points side by side, with the same scale and colours.

    Parameters
    ----------
    maps : dict
        Maps the title of each panel to its (coordinates, landmark coordinates).
    color, color_label, title, limits
        As in :func:`map_figure`.

    Examples
    --------
    >>> import numpy as np
    >>> points = np.random.default_rng(0).standard_normal((100, 2))
    >>> figure = comparison_figure({"one": (points, points[:5]), "two": (-points, None)})
    >>> [axes.get_title(loc="left") for axes in figure.axes[:2]]
    ['one', 'two']
    """
    if not maps:
        raise ValueError("maps is empty: at least one map is needed")
    panels = [
        Panel(name, positions_of(points), None if marks is None else positions_of(marks), limits=limits)
        for name, (points, marks) in maps.items()
    ]
    return _figure(panels, color, color_label, title, None)


def save_figure(figure: Figure, file: str | os.PathLike[str] | BinaryIO, format: str | None = None) -> None:
    """Write a figure as PNG, SVG or PDF; equal figures give equal bytes.

    A file given by name is written atomically. ``format`` defaults to the suffix of the name; an open file requires it.
    """
    import matplotlib.text

    kind = format if format is not None else Path(os.fspath(file)).suffix[1:].lower()  # type: ignore[arg-type]
    if f".{kind}" not in FIGURE_FORMATS:
        raise ValueError(f"figures are written as {', '.join(FIGURE_FORMATS)}, not as {kind!r}")
    for text in figure.findobj(matplotlib.text.Text):
        shown = text.get_text()
        if UNDRAWABLE.search(shown):
            text.set_text(UNDRAWABLE.sub(lambda found: repr(found[0])[1:-1], shown))
    undated: dict[str, dict[str, Any]] = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}
    named = isinstance(file, str | os.PathLike)
    opened: Any = replacing(Path(file)) if named else contextlib.nullcontext(file)  # type: ignore[arg-type]
    with opened as target, matplotlib.rc_context({"svg.hashsalt": "driftmap", "pdf.fonttype": 42}):
        figure.savefig(target, format=kind, dpi=200, bbox_inches="tight", pad_inches=0.12, metadata=undated.get(kind))


def _figure(
    panels: Sequence[Panel],
    color: Any,
    color_label: str | None,
    title: str | None,
    size: tuple[float, float] | None,
) -> Figure:
    require_matplotlib()
    from matplotlib import rc_context

    from driftmap.plot.artists import MapFigure

    n, k = panels[0].points.shape
    validation.one_of(panels[0].limits, "limits", LIMITS)
    for panel in panels:
        if panel.points.shape != (n, k):
            raise ValueError(f"the maps have different shapes: {(n, k)} and {panel.points.shape}")
        if panel.landmarks is not None and panel.landmarks.shape[1] != k:
            raise ValueError(f"landmark_coordinates has {panel.landmarks.shape[1]} columns, but coordinates has {k}")
    if k == 1 and color is None:
        color = in_one_color(n)
    coloring = color if isinstance(color, Coloring) else coloring_of(color, color_label, n)
    spans = axis_spans(panels)
    figure = MapFigure(figsize=size or _size(spans, len(panels)), layout="constrained", facecolor="white")
    if title:
        figure.suptitle(title, fontsize=13, color=INK, parse_math=False)
    # 3d axes order artists by depth by default, so that points would hide landmarks.
    kind: dict[str, Any] = {"projection": "3d", "computed_zorder": False} if k == 3 else {}
    with rc_context({"grid.color": GRID_COLOR, "grid.linewidth": 0.7}):
        axes = [figure.add_subplot(1, len(panels), i + 1, **kind) for i in range(len(panels))]
    most = 0
    for ax, panel in zip(axes, panels, strict=True):
        format_axes(ax, panel, spans)
        most = max(most, _draw(ax, panel, coloring, scale=1.0 if len(panels) == 1 else 0.7))
    add_colorbar(figure, axes, coloring)
    landmarks = max(0 if panel.landmarks is None else len(panel.landmarks) for panel in panels)
    add_legend(axes[-1], coloring, landmarks=landmarks, most=most)
    return figure


def _draw(ax: Any, panel: Panel, coloring: Coloring, scale: float) -> int:
    """Draw a map on axes whose limits are set; return the number of points in the fullest cell of a density, or 0."""
    n, k = panel.points.shape
    points, colors, most = panel.drawn_points(), coloring.rgba(), 0
    outside = is_outside(ax, points)
    inside = [axis[~outside] for axis in points]
    if n > MOST_DOTS and k < 3:
        most = draw_density(ax, np.column_stack(inside), colors[~outside], has_shape=k == 2)
    else:
        draw_points(ax, inside, colors[~outside], scale, most=n)
    if outside.any():
        draw_outside(ax, [axis[outside] for axis in points], colors[outside])
        add_note(ax, outside_note(int(outside.sum())), at_top=True)
    if panel.landmarks is not None:
        draw_landmarks(ax, panel.drawn_landmarks(), scale)
    return most


def format_axes(ax: Any, panel: Panel, spans: Array) -> None:
    """Set title, grid and limits. Axes have the same length in all panels and are centred on the panel's points."""
    k = panel.points.shape[1]
    ax.set_title(panel.name, fontsize=12, color=INK, loc="left", parse_math=False)
    ax.grid(visible=True)
    ax.set_axisbelow(True)
    low, high = box(panel)
    names = ["x1", "x2", "x3"][:k]
    for axis, name, middle, span in zip("y" if k == 1 else "xyz", names, (low + high) / 2, spans, strict=False):
        getattr(ax, f"set_{axis}lim")(middle - 0.54 * span, middle + 0.54 * span)
        label_axis(getattr(ax, f"{axis}axis"), name)
    if k == 1:
        times = (
            panel.drawn_points()[0]
            if panel.landmarks is None
            else np.concatenate([panel.drawn_points()[0], panel.drawn_landmarks()[0]])
        )
        set_time_axis(ax, float(times.min()), float(times.max()), panel.time.label, is_date=panel.time.is_date)
    if k == 2:
        ax.spines[:].set_color(GRID_COLOR)
        ax.set_aspect("equal")
    if k == 3:
        ax.set_box_aspect(tuple(spans), zoom=0.9)
        ax.locator_params(nbins=5)
        for axis in (ax.xaxis, ax.yaxis, ax.zaxis):
            axis.set_pane_color("white")
            axis.line.set_color(GREY)


def set_time_axis(ax: Any, first: float, last: float, label: str, *, is_date: bool = False) -> None:
    """Make the horizontal axis one of time, and remove the frame."""
    margin = 0.02 * ((last - first) or 1.0)
    ax.set_xlim(first - margin, last + margin)
    label_axis(ax.xaxis, label, is_date=is_date)
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color(GREY)


def _size(spans: Array, n_panels: int) -> tuple[float, float]:
    """Return the size in inches for axes of the shape of the map, with margins for labels, legend and colour bar."""
    if len(spans) == 1:
        return 1.6 + 6.4 * n_panels, 4.0
    if len(spans) == 3:
        return 1.4 + 5.2 * n_panels, 5.6
    width = (5.4 if n_panels == 1 else 3.6) * min(1.0, np.sqrt(spans[0] / spans[1]))
    # Labels along the vertical axis take half an inch of the width.
    height = 1.7 + (width - 0.5) * spans[1] / spans[0]
    return float(1.6 + width * n_panels + 0.4 * (n_panels - 1)), float(height)
