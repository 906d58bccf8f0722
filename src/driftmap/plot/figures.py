"""Figures of maps, with matplotlib.

They are plain Figure objects, made without pyplot or a display. matplotlib (the extra ``plot``) is imported when the
first figure is made.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from driftmap.io.atomic import replacing
from driftmap.plot.coloring import Coloring, coloring_of, colormap, normalization
from driftmap.utils import Array
from driftmap.utils.errors import MissingDependencyError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FIGURE_FORMATS = (".png", ".svg", ".pdf")
UNDRAWABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
"""Characters of labels and names that no font has and that XML, thus SVG, forbids; they are shown as escapes."""
ANIMATION_FORMATS = (".gif", ".mp4")
INK = "#22262B"
GREY = "#9AA1A9"
GRID_COLOR = "#E4E7EB"
LONGEST_NAME = 28
"""Letters of a group's name in the legend."""
RASTERIZED_POINTS = 20_000
"""More points than this are an image in vector files, which would be huge otherwise."""


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
    landmark_arrivals: ArrayLike | None = None,
    size: tuple[float, float] | None = None,
) -> Figure:
    """A map as a figure: points as dots, landmarks as diamonds.

    Parameters
    ----------
    coordinates : array of shape (n, k)
        Positions of the points in order of arrival. One dimension is drawn against arrival, three in space; of more
        dimensions, the first three are drawn.
    landmark_coordinates : array of shape (m, k), optional
        Positions of the landmarks.
    color : array of length n, optional
        Values that colour the points: numbers or dates, with a colour bar; text, or few distinct integers, with a
        legend. By default the arrival number.
    color_label : str, optional
        Name of these values.
    title : str, optional
    landmark_arrivals : array of length m, optional
        Arrival numbers of the landmarks: their horizontal positions if k = 1. Without, landmarks are at the margin.
    size : (width, height) in inches, optional
        By default derived from the shape of the map.

    Examples
    --------
    >>> import numpy as np
    >>> figure = map_figure(np.random.default_rng(0).standard_normal((100, 2)), title="A map")
    >>> figure.axes[0].get_title(loc="left")
    'A map'
    """
    marks = None if landmark_coordinates is None else _positions(landmark_coordinates)
    arrivals = None if landmark_arrivals is None else np.asarray(landmark_arrivals, dtype=np.float64)
    panel = Panel(title or "", _positions(coordinates), marks, arrivals)
    return _figure([panel], color, color_label, None, size)


def comparison_figure(
    maps: Mapping[str, tuple[ArrayLike, ArrayLike | None]],
    *,
    color: Any = None,
    color_label: str | None = None,
    title: str | None = None,
    size: tuple[float, float] | None = None,
) -> Figure:
    """Several maps of the same points side by side, on one scale and with one colouring.

    Parameters
    ----------
    maps : dict
        For each panel its title and (coordinates, landmark coordinates).
    color, color_label, title, size
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
        Panel(name, _positions(points), None if marks is None else _positions(marks), None)
        for name, (points, marks) in maps.items()
    ]
    return _figure(panels, color, color_label, title, size)


def save_figure(figure: Figure, file: str | os.PathLike[str] | BinaryIO, format: str | None = None) -> None:
    """Write a figure as PNG, SVG or PDF; equal figures give equal bytes.

    A file given by its name is written atomically. ``format`` is needed for an open file and otherwise taken from the
    suffix.
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


class Panel(NamedTuple):
    """One map of a figure."""

    name: str
    points: Array
    landmarks: Array | None
    arrivals: Array | None


def _figure(
    panels: Sequence[Panel],
    color: Any,
    color_label: str | None,
    title: str | None,
    size: tuple[float, float] | None,
) -> Figure:
    require_matplotlib()
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    n, k = panels[0].points.shape
    for panel in panels:
        if panel.points.shape != (n, k):
            raise ValueError(f"the maps have different shapes: {(n, k)} and {panel.points.shape}")
        if panel.landmarks is not None and panel.landmarks.shape[1] != k:
            raise ValueError(f"landmark_coordinates has {panel.landmarks.shape[1]} columns, but coordinates has {k}")
    coloring = coloring_of(color, color_label, n)
    spans = axis_spans(panels)
    figure = Figure(figsize=size or _size(spans, len(panels)), layout="constrained", facecolor="white")
    if title:
        figure.suptitle(title, fontsize=13, color=INK, parse_math=False)
    # By default 3d axes order artists by depth, and points would hide landmarks.
    kind: dict[str, Any] = {"projection": "3d", "computed_zorder": False} if k == 3 else {}
    with rc_context({"grid.color": GRID_COLOR, "grid.linewidth": 0.7}):
        axes = [figure.add_subplot(1, len(panels), i + 1, **kind) for i in range(len(panels))]
    for ax, panel in zip(axes, panels, strict=True):
        _draw(ax, panel, coloring, scale=1.0 if len(panels) == 1 else 0.7)
        format_axes(ax, panel, spans)
    add_legend(figure, axes, coloring, any(panel.landmarks is not None for panel in panels))
    return figure


def _positions(coordinates: ArrayLike) -> Array:
    array = np.asarray(coordinates, dtype=np.float64)
    array = array[:, None] if array.ndim == 1 else array
    if array.ndim != 2 or 0 in array.shape:
        raise ValueError(f"coordinates must be of shape (n, k) with at least one row and column, got {array.shape}")
    return array[:, :3]


def _draw(ax: Any, panel: Panel, coloring: Coloring, scale: float) -> None:
    n, k = panel.points.shape
    points = [np.arange(n), panel.points[:, 0]] if k == 1 else list(panel.points.T)
    ax.scatter(*points, c=coloring.of_points(), **point_style(coloring, n, k, scale))
    if panel.landmarks is not None:
        m = len(panel.landmarks)
        arrivals = panel.arrivals if panel.arrivals is not None else np.full(m, 1.03 * n)
        marks = [arrivals, panel.landmarks[:, 0]] if k == 1 else list(panel.landmarks.T)
        ax.scatter(*marks, **landmark_style(m, k, scale))


def point_style(coloring: Coloring, n: int, k: int, scale: float = 1.0) -> dict[str, Any]:
    """Arguments of scatter for n points in k dimensions, except their colours."""
    size = scale * float(np.clip(330 / np.sqrt(n), 1.5, 24.0))
    style: dict[str, Any] = {"s": size, "linewidths": 0, "rasterized": n > RASTERIZED_POINTS}
    if not coloring.groups:
        style |= {"cmap": colormap(), "norm": normalization(coloring), "plotnonfinite": True}
    return style | _in_space(k)


def landmark_style(m: int, k: int, scale: float = 1.0) -> dict[str, Any]:
    """Arguments of scatter for m landmarks in k dimensions."""
    size = scale * float(np.clip(160 / np.sqrt(m), 10.0, 24.0))
    style = {"marker": "D", "s": size, "facecolors": "white", "edgecolors": INK, "linewidths": 0.8, "zorder": 3}
    return style | _in_space(k)


def _in_space(k: int) -> dict[str, Any]:
    """3d axes would otherwise fade distant points, landmarks and colours alike."""
    return {"depthshade": False} if k == 3 else {}


def format_axes(ax: Any, panel: Panel, spans: Array) -> None:
    """Title, grid and limits. All panels have axes of equal length, each centred at its own points."""
    k = panel.points.shape[1]
    # parse_math: a dollar sign in a name is no mathematics, here and below.
    ax.set_title(panel.name, fontsize=12, color=INK, loc="left", parse_math=False)
    ax.grid(visible=True)
    ax.set_axisbelow(True)
    ax.tick_params(labelsize=9, colors=GREY, labelcolor=INK, length=3)
    names = ["arrival", "x1"] if k == 1 else ["x1", "x2", "x3"][:k]
    for axis, name in zip("xyz", names, strict=False):
        getattr(ax, f"set_{axis}label")(name, fontsize=10, color=INK)
    if k == 1:
        ax.spines[["top", "right"]].set_visible(False)
        ax.spines[["left", "bottom"]].set_color(GREY)
    low, high = _box(panel)
    for axis, middle, span in zip("y" if k == 1 else "xyz", (low + high) / 2, spans, strict=False):
        getattr(ax, f"set_{axis}lim")(middle - 0.54 * span, middle + 0.54 * span)
    if k == 2:
        ax.spines[:].set_color(GRID_COLOR)
        ax.set_aspect("equal")
    if k == 3:
        ax.set_box_aspect(tuple(spans), zoom=0.9)
        ax.locator_params(nbins=5)
        for axis in (ax.xaxis, ax.yaxis, ax.zaxis):
            axis.set_pane_color("white")
            axis.line.set_color(GREY)


def _box(panel: Panel) -> tuple[Array, Array]:
    everything = panel.points if panel.landmarks is None else np.vstack([panel.points, panel.landmarks])
    return everything.min(axis=0), everything.max(axis=0)


def axis_spans(panels: Sequence[Panel]) -> Array:
    """Length of each axis: the largest that any panel needs, and at least 0.3 of the longest axis."""
    needed = np.max([high - low for low, high in map(_box, panels)], axis=0)
    longest = needed.max() if needed.max() > 0 else 1.0
    return np.asarray(np.maximum(needed, 0.3 * longest))


def _size(spans: Array, n_panels: int) -> tuple[float, float]:
    """Inches for axes of the shape of the map, with margins for labels and colour bar."""
    if len(spans) == 1:
        return 1.6 + 5.4 * n_panels, 4.2
    if len(spans) == 3:
        return 1.4 + 5.2 * n_panels, 5.4
    width = (5.4 if n_panels == 1 else 3.6) * min(1.0, np.sqrt(spans[0] / spans[1]))
    return float(1.6 + width * n_panels + 0.4 * (n_panels - 1)), float(1.4 + width * spans[1] / spans[0])


def add_legend(figure: Figure, axes: Sequence[Any], coloring: Coloring, landmarks: bool) -> None:
    """Colour bar and legend, outside the axes so that they hide no point."""
    from matplotlib.cm import ScalarMappable
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter
    from matplotlib.lines import Line2D

    def handle(name: str, marker: str, size: float, face: Any, edge: Any) -> Line2D:
        name = name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 3]}..."
        # matplotlib omits labels that start with an underscore
        name = f" {name}" if name.startswith("_") else name
        style: dict[str, Any] = {"markerfacecolor": face, "markeredgecolor": edge, "markeredgewidth": 0.9}
        return Line2D([], [], linestyle="none", marker=marker, markersize=size, label=name, **style)

    handles = [handle(name, "o", 5, c, c) for name, c in zip(coloring.groups, coloring.colors, strict=True)]
    handles += [handle("landmark", "D", 5, "white", INK)] * landmarks
    last = axes[-1]
    if handles:
        place: dict[str, Any]
        if coloring.groups:
            place = {"loc": "upper left", "bbox_to_anchor": (1.02, 1.0), "title": coloring.label, "borderaxespad": 0.0}
        else:  # above the axes, across from the title
            place = {"loc": "lower right", "bbox_to_anchor": (1.0, 1.0), "borderaxespad": 0.2, "borderpad": 0.2}
            letters = 10 * (figure.get_figwidth() - 1.6) / len(axes) - 14  # that fit next to the legend
            title = last.get_title(loc="left")
            if len(title) > letters:
                last.set_title(title, loc="left", pad=22)
        legend = last.legend(handles=handles, frameon=False, fontsize=9, labelcolor=INK, handletextpad=0.3, **place)
        for text in [legend.get_title(), *legend.get_texts()]:
            text.set_parse_math(False)
    if coloring.groups:
        return
    scale = ScalarMappable(normalization(coloring), colormap())
    if hasattr(last, "zaxis"):
        # Without a layout engine the bar would overlap the name of the third axis.
        pad = 0.06 if figure.get_layout_engine() is not None else 0.14
        bar = figure.colorbar(scale, ax=list(axes), shrink=0.6, aspect=22, pad=pad)
    else:  # as high as the axes, whatever shape the map gives them
        bar = figure.colorbar(scale, cax=last.inset_axes((1.03, 0.0, 0.03, 1.0)))
    bar.outline.set_visible(False)
    bar.set_label(coloring.label, fontsize=10, color=INK, parse_math=False)
    bar.ax.tick_params(labelsize=9, colors=GREY, labelcolor=INK, length=3)
    if coloring.dates:
        locator = AutoDateLocator()  # type: ignore[no-untyped-call]
        bar.ax.yaxis.set_major_locator(locator)
        bar.ax.yaxis.set_major_formatter(ConciseDateFormatter(locator))  # type: ignore[no-untyped-call]
