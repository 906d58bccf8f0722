"""Figures of what has changed: cells that grew or shrank, features, and the p-value over time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from driftmap.map.changes import MOST_SURPRISE, Check, Drift, FeatureShift, damped, surprise
from driftmap.map.two_tables import Compared
from driftmap.plot.coloring import Coloring
from driftmap.plot.figures import GRID_COLOR, map_figure
from driftmap.plot.legend import GREY, label_axis
from driftmap.plot.panels import shortened
from driftmap.plot.points import INK
from driftmap.utils import Array
from driftmap.web.columns import Column, column_of
from driftmap.web.page import Changes, standalone

if TYPE_CHECKING:
    from matplotlib.figure import Figure

GREW, SHRANK = "#1B7837", "#762A83"
"""Colours of cells with more and with fewer rows than before: the ends of the diverging scale."""
ALARM = "#C8321F"
RATIO = "log2 of now / before, share of the cell"
FEWEST = 0.5
"""Cells whose binary log ratio is smaller are not marked."""
SHOWN_FEATURES = 8
PAGE_COLUMNS = 256
"""Columns in an HTML file, at most."""


def changes_figure(
    coordinates: Array, log_ratios: Array, landmarks: Array, features: Sequence[FeatureShift], title: str
) -> Figure:
    """Draw a map whose points are coloured by the log ratio of their cells, with the features that changed most."""
    coloring = Coloring(log_ratios, RATIO, is_diverging=True)
    figure = map_figure(coordinates, landmarks, color=coloring, title=title)
    if features and coordinates.shape[1] == 2:
        _add_features(figure.axes[0], features[:SHOWN_FEATURES])
    return figure


def _add_features(ax: Any, features: Sequence[FeatureShift]) -> None:
    """Bars of the differences, to the right of the colour bar."""
    bars = _beside(ax, width=2.0, height=0.3 * len(features) + 0.3, right=1.35)
    places = np.arange(len(features))[::-1]
    differences = np.array([one.difference for one in features])
    bars.barh(places, differences, height=0.36, color=[GREW if one > 0 else SHRANK for one in differences.tolist()])
    for place, one in zip(places.tolist(), features, strict=True):
        text = f"{shortened(str(one.feature), 20)}: {one.before:.3g} to {one.now:.3g}"
        style: dict[str, Any] = {"fontsize": 8, "color": INK, "parse_math": False}
        bars.text(0.0, place + 0.22, text, transform=bars.get_yaxis_transform(), **style)
    bars.axvline(0, color=GREY, linewidth=0.8)
    bars.set_ylim(-0.5, len(features) - 0.2)
    bars.set_yticks([])
    label_axis(bars.xaxis, "difference in standard deviations")
    bars.spines[["top", "right", "left"]].set_visible(False)


def _beside(ax: Any, width: float | str, height: float | str, *, right: float = 0.0, below: float = 0.0) -> Any:
    """Axes of a size in inches, to the right of others or below them."""
    from matplotlib.transforms import ScaledTranslation
    from mpl_toolkits.axes_grid1.inset_locator import inset_axes

    anchor = (1.0, 0.0, 1.0, 1.0) if right else (0.0, -1.0, 1.0, 1.0)
    place = ax.transAxes + ScaledTranslation(right, -below, ax.figure.dpi_scale_trans)
    options = {"bbox_to_anchor": anchor, "bbox_transform": place, "borderpad": 0.0}
    return inset_axes(ax, width, height, loc="upper left", **options)


def add_drifts(figure: Figure, checks: Sequence[Check], drifts: Sequence[Drift], n_rows: int) -> None:
    """Add to a figure of a stream which cells grew or shrank at the last drift, and a strip of p-values below it.

    The strip says how many rows ago the stream changed.
    """
    ax = figure.axes[0]
    if drifts and len(drifts[-1].landmarks[0].position) == 2:
        mark_cells(ax, drifts[-1])
    strip = _beside(ax, "100%", 0.9, below=0.85)
    arrivals = np.array([check.arrival for check in checks], dtype=float)
    strip.vlines(arrivals, 0, surprise([check.p_value for check in checks]), color=INK, linewidth=1.2)
    for drift in drifts:
        strip.axvspan(drift.began, drift.arrival, color=ALARM, alpha=0.3, linewidth=0)
        strip.axvline(drift.arrival, color=ALARM, linewidth=1.5)
    strip.set_xlim(0, n_rows)
    strip.set_ylim(0, MOST_SURPRISE)
    strip.grid(visible=True, color=GRID_COLOR, linewidth=0.7)
    if drifts:
        text = "rings above: cells that grew (green) or shrank (purple) at the last drift"
        strip.set_title(text, fontsize=8, color=INK, loc="left")
    since = f"; last change after row {drifts[-1].began:,}, {n_rows - drifts[-1].began:,} rows ago" if drifts else ""
    label_axis(strip.xaxis, f"row{since}")
    label_axis(strip.yaxis, "-log10 p")
    strip.spines[["top", "right"]].set_visible(False)


def mark_cells(ax: Any, drift: Drift) -> None:
    """Draw rings around landmarks whose cells grew or shrank."""
    for part, color, name in zip(grown_and_shrunk(drift), (GREW, SHRANK), ("grew", "shrank"), strict=True):
        if len(part):
            x, y, size = part.T
            ax.scatter(x, y, s=60 + 60 * np.minimum(size, 3), facecolors="none", edgecolors=color, label=name)


def grown_and_shrunk(drift: Drift) -> tuple[Array, Array]:
    """Return place and size of change of the cells that grew, and of those that shrank, (n, 3) each."""
    ratios = np.array(drift.log_ratios())
    table = np.column_stack([[one.position for one in drift.landmarks], np.abs(ratios)])
    return table[ratios >= FEWEST], table[ratios <= -FEWEST]


def comparison_page(report: Mapping[str, Any], found: Compared, rows: Sequence[Any]) -> str:
    """Return a comparison as an HTML file that a browser shows without a server or the network."""
    n, before, now = len(found.coordinates), report["reference"]["name"], report["now"]["name"]
    table = np.where(np.arange(n) < found.n_before, "reference", "now")
    ratios = np.array([cell.log_ratio for cell in found.cells])
    change = Column("change of the cell (log2)", "number", ratios[found.cell], diverging=True)
    columns = [change, column_of("table", table)]
    if isinstance(rows[0], np.ndarray):
        names = found.mapper.feature_names or [f"x{j}" for j in range(rows[0].shape[1])]
        shown = zip(names, np.concatenate(rows)[:, :PAGE_COLUMNS].T, strict=False)
        columns += [column_of(name, values) for name, values in shown if name not in {one.name for one in columns}]
    marked = np.array([damped(cell.before, cell.now) for cell in found.cells])
    places = np.array([cell.position for cell in found.cells])
    summary = {"p_value": report["p_value"], "reference": before, "now": now}
    features = [
        {
            "name": one.feature if isinstance(one.feature, str) else f"x{one.feature}",
            "before": one.before,
            "now": one.now,
            "difference": one.difference,
        }
        for one in found.features[:SHOWN_FEATURES]
    ]
    mapper, masses = found.mapper, np.asarray(found.mapper.landmark_mass_, dtype=np.float64)
    landmarks = mapper.landmark_indices_, _plane(mapper.landmark_embedding_), masses
    return standalone(
        _plane(found.coordinates),
        columns,
        landmarks,
        f"{now} against {before}",
        change.name,
        f"p = {report['p_value']:.2g}",
        "bulk",
        ("x1", "x2" if found.coordinates.shape[1] > 1 else None),
        Changes(summary | {"features": features}, _plane(places), marked),
    )


def _plane(positions: Array) -> Array:
    """The first two coordinates; the second one of a map with one dimension is 0."""
    return np.column_stack([positions, np.zeros(len(positions))])[:, :2]
