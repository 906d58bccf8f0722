"""Draws two figures: rate against sigma, and sigma of recent points over time."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.transforms import Bbox

from benchmarks.peers.report import SIGMA

OURS, OTHER, GRID = "#c2410c", "#33658a", "#dddddd"
IN_EVERY_PANEL = {"driftmap": ("-", 2.2), "driftmap-window": ((0, (2, 1)), 1.6)}
Labelled = list[tuple[float, float, dict[str, Any]]]


def _colour(row: dict[str, Any]) -> str:
    return OURS if row["label"].startswith("Driftmap") else OTHER


def _label_style(row: dict[str, Any]) -> dict[str, Any]:
    ours = _colour(row) == OURS
    return {"fontsize": 8.5, "color": _colour(row), "fontweight": "bold" if ours else "normal"}


def _plain(axes: Axes) -> None:
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(color=GRID, linewidth=0.6)
    axes.set_axisbelow(True)


def _sigma(row: dict[str, Any]) -> tuple[float, bool] | None:
    """Return the sigma to show (unscaled if the method has a scale), and True if it is that of the final map."""
    kind = "sigma" if row["has_scale"] else "sigma_scaled"
    for stage, final in (("final", True), ("placed", False)):
        if not isinstance(row[f"{stage}_{kind}"], dict):
            return row[f"{stage}_{kind}"], final
    return None


def rate_against_sigma(streams: list[dict[str, Any]], path: Path) -> None:
    """Draw one panel per stream; up and to the left is better."""
    columns = min(2, len(streams))
    lines = -(-len(streams) // columns)
    figure = Figure(figsize=(5.6 * columns, 4.3 * lines), layout="constrained")
    canvas = FigureCanvasAgg(figure)
    panels = figure.subplots(lines, columns, squeeze=False).ravel()
    for axes in panels[len(streams) :]:
        axes.set_visible(False)
    shown = [(axes, _panel(axes, stream)) for axes, stream in zip(panels, streams, strict=False)]
    figure.suptitle("New points placed per second, and stress of the map: up and to the left is better", fontsize=12)
    canvas.draw()  # the layout must be final before labels are placed
    figure.set_layout_engine("none")
    for axes, points in shown:
        _label_points(axes, points, canvas.get_renderer())
    figure.savefig(path, dpi=110)


def _panel(axes: Axes, stream: dict[str, Any]) -> Labelled:
    """Draw the points of one stream, and return them."""
    rows = [(_sigma(row), row) for row in stream["rows"]]
    shown = [(sigma, row) for sigma, row in rows if sigma and not isinstance(row["place_rate"], dict)]
    absent = [row["label"] for row in stream["rows"] if not any(row is seen for _, seen in shown)]
    for (sigma, final), row in shown:
        face = _colour(row) if final else "white"
        axes.plot(sigma, row["place_rate"], "o", color=_colour(row), markerfacecolor=face, markersize=7)
    axes.set_yscale("log")
    axes.set_xlim(0, 1.15 * max((sigma for (sigma, _), _ in shown), default=1.0))
    axes.margins(y=0.12)
    _plain(axes)
    axes.set_title(stream["name"], loc="left", fontsize=11)
    notes = textwrap.wrap(f"not shown, cannot place or gave no map: {', '.join(absent)}", 70) if absent else []
    if not all(final for (_, final), _ in shown):
        notes.append("open: the second half was only placed, since there is no map of all points")
    axes.set_xlabel("\n".join([f"stress {SIGMA} of all points", *notes]), fontsize=9)
    axes.set_ylabel("new points per second", fontsize=9)
    return [(sigma, row["place_rate"], row) for (sigma, _), row in shown]


def _label_points(axes: Axes, points: Labelled, renderer: Any) -> None:
    """Write names at the nearest free position, with a line to points that are not adjacent."""
    inside = axes.get_window_extent(renderer)
    spots = [axes.transData.transform((x, y)) for x, y, _ in points]
    taken = [Bbox.from_bounds(x - 6, y - 6, 12, 12) for x, y in spots]
    places = [
        (reach * np.cos(turn), reach * np.sin(turn))
        for reach in (8, 14, 22, 30, 40, 52, 66, 90)
        for turn in np.radians([0, 180, 90, 270, 30, -30, 150, 210, 60, -60, 120, 240])
    ]
    for x, y, row in points:
        for dx, dy in places:
            side = "center" if abs(dx) < 0.3 * abs(dy) else "left" if dx > 0 else "right"
            where = {"xytext": (dx, dy), "textcoords": "offset points", "ha": side, "va": "center"}
            text = axes.annotate(row["label"], (x, y), **where, **_label_style(row))
            box = text.get_window_extent(renderer)
            free = not box.count_overlaps(taken) and box.y0 > inside.y0 and box.y1 < inside.y1
            if free and box.x0 > inside.x0 and box.x1 < inside.x1:
                break
            text.remove()
        else:  # too crowded: overlap is better than no label
            dx, dy = 8, 0
            text = axes.annotate(row["label"], (x, y), xytext=(dx, dy), textcoords="offset points", **_label_style(row))
            box = text.get_window_extent(renderer)
        taken.append(box)
        if np.hypot(dx, dy) > 12:
            tie = {"arrowstyle": "-", "color": _colour(row), "linewidth": 0.6, "shrinkA": 7, "shrinkB": 4}
            axes.annotate("", (x, y), xytext=(dx, dy), textcoords="offset points", arrowprops=tie)


def _followed(row: dict[str, Any]) -> list[float]:
    return row["sigma" if row["has_scale"] else "sigma_scaled"]


def recent_sigma(rows: list[dict[str, Any]], path: Path) -> None:
    """Draw one panel per peer, each with Driftmap and its window, since ten lines in one panel are unreadable."""
    ours = [(row, IN_EVERY_PANEL[row["method"]]) for row in rows if row["method"] in IN_EVERY_PANEL]
    peers = [row for row in rows if row["method"] not in IN_EVERY_PANEL]
    columns = min(4, max(1, len(peers)))
    lines = max(1, -(-len(peers) // columns))
    figure = Figure(figsize=(2.9 * columns + 0.4, 2.5 * lines + 0.9), layout="constrained")
    panels = figure.subplots(lines, columns, squeeze=False, sharex=True, sharey=True).ravel()
    for axes in panels[len(peers) :]:
        axes.set_visible(False)
    for axes, row in zip(panels, peers, strict=False):
        _plain(axes)
        for line, colour, style, width in [(row, OTHER, "-", 1.5), *((line, OURS, *style) for line, style in ours)]:
            axes.plot(np.array(line["seen"]) / 1e3, _followed(line), color=colour, linestyle=style, linewidth=width)
        kind = "learns on" if row["learns"] else "fitted once" if row["method"] != "river" else "nothing to learn"
        axes.set_title(f"{row['label']} ({kind})", loc="left", fontsize=9.5, color=OTHER)
    panels[0].set_ylim(bottom=0)  # for all panels, and after drawing, so that it does not fix the upper limit
    for axes in panels[max(0, len(peers) - columns) : len(peers)]:
        axes.set_xlabel("thousand points arrived", fontsize=9)
    keys = [Line2D([], [], color=OURS, linestyle=style, linewidth=width) for _, (style, width) in ours]
    names = [row["label"] for row, _ in ours]
    keys, names = [*keys, Line2D([], [], color=OTHER, linewidth=1.5)], [*names, "the method named above the panel"]
    figure.legend(keys, names, loc="outside lower center", ncols=len(keys), frameon=False, fontsize=9)
    figure.suptitle("A drifting stream: stress of the latest 2,000 points", fontsize=12)
    figure.supylabel(f"stress {SIGMA} of the latest 2,000 points", fontsize=9)
    FigureCanvasAgg(figure)
    figure.savefig(path, dpi=130)
