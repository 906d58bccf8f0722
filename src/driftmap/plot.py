"""Figures of maps, with matplotlib. They are plain Figure objects: nothing here touches pyplot or a display.

The extra ``plot`` installs matplotlib, which is imported when the first figure is made.
"""

from __future__ import annotations

import datetime
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["FORMATS", "comparison_figure", "map_figure", "require_matplotlib", "save_figure"]

Array = NDArray[np.float64]

FORMATS = (".png", ".svg", ".pdf")
COLORMAP = "viridis"
# Okabe and Ito's colours, which remain distinct to colour-blind readers, without yellow (pale on white) and black
# (kept for outlines), then three more.
PALETTE = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#7A5195", "#8C564B", "#66A61E", "#4D4D4D")
OTHER = "#C9CDD2"
INK = "#22262B"
GREY = "#9AA1A9"
FAINT = "#E4E7EB"
LONGEST_NAME = 28
MANY = 20_000
"""From this many points on, they are drawn as an image in vector files, which would be huge otherwise."""


def require_matplotlib() -> None:
    """Raise an ImportError that says what to install where matplotlib is missing."""
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError as error:
        raise ImportError('figures need matplotlib: pip install "driftmap[plot]"') from error


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
        What colours the points: numbers or dates, with a colour bar; text, or integers of few values, with a legend.
        By default the arrival.
    color_label : str, optional
        What ``color`` is.
    title : str, optional
    landmark_arrivals : array of length m, optional
        Arrival numbers of the landmarks, to draw them where they belong if k = 1; otherwise they stand at the margin.
    size : (width, height) in inches, optional
        By default made to fit the map.

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
    """Write a figure as PNG, SVG or PDF; the same figure always gives the same bytes.

    ``format`` is needed for an open file and otherwise taken from the suffix.
    """
    import matplotlib

    kind = format if format is not None else Path(os.fspath(file)).suffix[1:].lower()  # type: ignore[arg-type]
    if f".{kind}" not in FORMATS:
        raise ValueError(f"figures are written as {', '.join(FORMATS)}, not as {kind!r}")
    undated: dict[str, dict[str, Any]] = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}
    with matplotlib.rc_context({"svg.hashsalt": "driftmap", "pdf.fonttype": 42}):
        figure.savefig(file, format=kind, dpi=200, bbox_inches="tight", pad_inches=0.12, metadata=undated.get(kind))


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
    spans = spans_of(panels)
    figure = Figure(figsize=size or _size(spans, len(panels)), layout="constrained", facecolor="white")
    if title:
        figure.suptitle(title, fontsize=13, color=INK, parse_math=False)
    # By default the axes in space order what they show by depth, and points would hide landmarks.
    kind: dict[str, Any] = {"projection": "3d", "computed_zorder": False} if k == 3 else {}
    with rc_context({"grid.color": FAINT, "grid.linewidth": 0.7}):
        axes = [figure.add_subplot(1, len(panels), i + 1, **kind) for i in range(len(panels))]
    for ax, panel in zip(axes, panels, strict=True):
        _draw(ax, panel, coloring, scale=1.0 if len(panels) == 1 else 0.7)
        set_up(ax, panel, spans)
    explain(figure, axes, coloring, any(panel.landmarks is not None for panel in panels))
    return figure


def _positions(coordinates: ArrayLike) -> Array:
    array = np.asarray(coordinates, dtype=np.float64)
    array = array[:, None] if array.ndim == 1 else array
    if array.ndim != 2 or 0 in array.shape:
        raise ValueError(f"coordinates must be of shape (n, k) with at least one row and column, got {array.shape}")
    return array[:, :3]


# --- colours ---


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
        """What scatter takes as ``c``."""
        return np.asarray(self.colors)[self.values.astype(int)] if self.groups else self.values


def coloring_of(color: Any, label: str | None, n: int) -> Coloring:
    """How n points are coloured by what the user gave, as :func:`map_figure` describes it."""
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
    kept = np.sort(different[np.argsort(-counts, kind="stable")[: len(PALETTE) - 1]])
    rest = len(different) - len(kept)
    coloring = _groups(names, kept, [*kept.tolist(), f"{rest} others"], (*PALETTE[: len(kept)], OTHER), label)
    return coloring._replace(values=np.where(np.isin(names, kept), coloring.values, float(len(kept))))


def _groups(
    values: NDArray[Any], different: NDArray[Any], names: Sequence[str], colors: Sequence[Any], label: str | None
) -> Coloring:
    places = np.minimum(np.searchsorted(different, values), len(different) - 1)
    return Coloring(places.astype(np.float64), label or "", tuple(names), tuple(colors))


def _sampled(n: int) -> list[Any]:
    """Colours in order, for groups that have one; the palest end is left out."""
    import matplotlib

    return [matplotlib.colormaps[COLORMAP](x) for x in np.linspace(0.0, 0.92, n)]


# --- drawing ---


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
    """How scatter draws n points in k dimensions, but for their colours."""
    size = scale * float(np.clip(330 / np.sqrt(n), 1.5, 24.0))
    style: dict[str, Any] = {"s": size, "linewidths": 0, "rasterized": n > MANY}
    if not coloring.groups:
        style |= {"cmap": _colormap(), "norm": _norm(coloring), "plotnonfinite": True}
    return style | _in_space(k)


def landmark_style(m: int, k: int, scale: float = 1.0) -> dict[str, Any]:
    """How scatter draws m landmarks in k dimensions."""
    size = scale * float(np.clip(160 / np.sqrt(m), 10.0, 24.0))
    style = {"marker": "D", "s": size, "facecolors": "white", "edgecolors": INK, "linewidths": 0.8, "zorder": 3}
    return style | _in_space(k)


def _in_space(k: int) -> dict[str, Any]:
    """Axes in space would otherwise fade what is far away, landmarks and colours alike."""
    return {"depthshade": False} if k == 3 else {}


def set_up(ax: Any, panel: Panel, spans: Array) -> None:
    """Title, grid and limits; all panels show equally long stretches, each around the middle of its own points."""
    k = panel.points.shape[1]
    # A dollar sign in a name is no mathematics, here and below.
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
        ax.spines[:].set_color(FAINT)
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


def spans_of(panels: Sequence[Panel]) -> Array:
    """Length of each axis: the longest that any panel needs, and no axis too short to be read."""
    needed = np.max([high - low for low, high in map(_box, panels)], axis=0)
    longest = needed.max() if needed.max() > 0 else 1.0
    return np.asarray(np.maximum(needed, 0.3 * longest))


def _size(spans: Array, n_panels: int) -> tuple[float, float]:
    """Inches for axes of the shape that the map has, with room for labels and colour bar."""
    if len(spans) == 1:
        return 1.6 + 5.4 * n_panels, 4.2
    if len(spans) == 3:
        return 1.4 + 5.2 * n_panels, 5.4
    width = (5.4 if n_panels == 1 else 3.6) * min(1.0, np.sqrt(spans[0] / spans[1]))
    return float(1.6 + width * n_panels + 0.4 * (n_panels - 1)), float(1.4 + width * spans[1] / spans[0])


def _colormap() -> Any:
    import matplotlib

    return matplotlib.colormaps[COLORMAP].with_extremes(bad=OTHER)


def _norm(coloring: Coloring) -> Any:
    from matplotlib.colors import Normalize

    known = coloring.values[np.isfinite(coloring.values)]
    return Normalize(known.min(), known.max()) if len(known) else Normalize(0.0, 1.0)


def explain(figure: Figure, axes: Sequence[Any], coloring: Coloring, landmarks: bool) -> None:
    """Colour bar and legend, outside the axes so that they hide no point."""
    from matplotlib.cm import ScalarMappable
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter
    from matplotlib.lines import Line2D

    def handle(name: str, marker: str, size: float, face: Any, edge: Any) -> Line2D:
        name = name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 3]}..."
        # matplotlib leaves out what starts with an underscore
        name = f" {name}" if name.startswith("_") else name
        style: dict[str, Any] = {"markerfacecolor": face, "markeredgecolor": edge, "markeredgewidth": 0.9}
        return Line2D([], [], linestyle="none", marker=marker, markersize=size, label=name, **style)

    handles = [handle(name, "o", 5, c, c) for name, c in zip(coloring.groups, coloring.colors, strict=True)]
    handles += [handle("landmark", "D", 5, "white", INK)] * landmarks
    beside = axes[-1]
    if handles:
        place: dict[str, Any]
        if coloring.groups:
            place = {"loc": "upper left", "bbox_to_anchor": (1.02, 1.0), "title": coloring.label, "borderaxespad": 0.0}
        else:  # above the axes, across from the title
            place = {"loc": "lower right", "bbox_to_anchor": (1.0, 1.0), "borderaxespad": 0.2, "borderpad": 0.2}
            letters = 10 * (figure.get_figwidth() - 1.6) / len(axes) - 14  # that fit beside it
            title = beside.get_title(loc="left")
            if len(title) > letters:
                beside.set_title(title, loc="left", pad=22)
        legend = beside.legend(handles=handles, frameon=False, fontsize=9, labelcolor=INK, handletextpad=0.3, **place)
        for text in [legend.get_title(), *legend.get_texts()]:
            text.set_parse_math(False)
    if coloring.groups:
        return
    scale = ScalarMappable(_norm(coloring), _colormap())
    if hasattr(beside, "zaxis"):
        # Without a layout engine nothing keeps the bar clear of the third axis' name.
        pad = 0.06 if figure.get_layout_engine() is not None else 0.14
        bar = figure.colorbar(scale, ax=list(axes), shrink=0.6, aspect=22, pad=pad)
    else:  # as high as the axes, whatever shape the map gives them
        bar = figure.colorbar(scale, cax=beside.inset_axes((1.03, 0.0, 0.03, 1.0)))
    bar.outline.set_visible(False)
    bar.set_label(coloring.label, fontsize=10, color=INK, parse_math=False)
    bar.ax.tick_params(labelsize=9, colors=GREY, labelcolor=INK, length=3)
    if coloring.dates:
        locator = AutoDateLocator()  # type: ignore[no-untyped-call]
        bar.ax.yaxis.set_major_locator(locator)
        bar.ax.yaxis.set_major_formatter(ConciseDateFormatter(locator))  # type: ignore[no-untyped-call]
