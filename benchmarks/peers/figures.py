"""Two figures: rate against sigma, and sigma of recent points over time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.transforms import Bbox

from benchmarks.peers.report import SIGMA

OURS, OTHER, GRID = "#c2410c", "#33658a", "#dddddd"
Labelled = list[tuple[float, float, dict[str, Any]]]


def spread(wanted: list[float], gap: float, low: float, high: float) -> np.ndarray:
    """Positions at least `gap` apart and within bounds, near the wanted ones: labels that do not overlap."""
    order = np.argsort(wanted, kind="stable")
    places = np.array(wanted, dtype=float)[order]
    gap = min(gap, (high - low) / max(len(places) - 1, 1))
    for _ in range(500):
        for i in range(len(places) - 1):
            short = gap - (places[i + 1] - places[i])
            if short > 0:
                places[i] -= short / 2
                places[i + 1] += short / 2
        places = np.clip(places, low, high)
    out = np.empty_like(places)
    out[order] = places
    return out


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
    """Sigma to show (own scale where there is one), and whether it is that of the final map."""
    kind = "sigma" if row["has_scale"] else "sigma_scaled"
    for stage, final in (("final", True), ("placed", False)):
        if not isinstance(row[f"{stage}_{kind}"], dict):
            return row[f"{stage}_{kind}"], final
    return None


def rate_against_sigma(streams: list[dict[str, Any]], path: Path) -> None:
    """One panel per stream; up and to the left is better."""
    columns = min(2, len(streams))
    lines = -(-len(streams) // columns)
    figure = Figure(figsize=(5.6 * columns, 4.3 * lines), layout="constrained")
    canvas = FigureCanvasAgg(figure)
    panels = figure.subplots(lines, columns, squeeze=False).ravel()
    for axes in panels[len(streams) :]:
        axes.set_visible(False)
    shown = [(axes, _panel(axes, stream)) for axes, stream in zip(panels, streams, strict=False)]
    figure.suptitle("New points placed per second, and how true the map is: up and to the left is better", fontsize=12)
    canvas.draw()  # the layout must be final before labels can avoid each other
    figure.set_layout_engine("none")
    for axes, points in shown:
        _label_points(axes, points, canvas.get_renderer())
    figure.savefig(path, dpi=130)


def _panel(axes: Axes, stream: dict[str, Any]) -> Labelled:
    """Draw one stream's points and return them."""
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
    notes = [f"not shown, cannot place or gave no map: {', '.join(absent)}"] if absent else []
    if not all(final for (_, final), _ in shown):
        notes.append("open: the second half was only placed, for want of a map of all points")
    axes.set_xlabel("\n".join([f"stress {SIGMA} of all points", *notes]), fontsize=9)
    axes.set_ylabel("new points per second", fontsize=9)
    return [(sigma, row["place_rate"], row) for (sigma, _), row in shown]


def _label_points(axes: Axes, points: Labelled, renderer: Any) -> None:
    """Names beside their points: the nearest free place, tied to the point if that is not next to it."""
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
        else:  # a crowd; better on top of something than not at all
            dx, dy = 8, 0
            text = axes.annotate(row["label"], (x, y), xytext=(dx, dy), textcoords="offset points", **_label_style(row))
            box = text.get_window_extent(renderer)
        taken.append(box)
        if np.hypot(dx, dy) > 12:
            tie = {"arrowstyle": "-", "color": _colour(row), "linewidth": 0.6, "shrinkA": 0, "shrinkB": 4}
            axes.annotate("", (x, y), xytext=(dx, dy), textcoords="offset points", arrowprops=tie)


def recent_sigma(rows: list[dict[str, Any]], path: Path) -> None:
    """A line per method, named at its end."""
    figure = Figure(figsize=(9.5, 5.6), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    ends = []
    for row in rows:
        if row["seen"]:
            sigma = row["sigma" if row["has_scale"] else "sigma_scaled"]
            width = 2.4 if _colour(row) == OURS else 1.3
            style = "-" if row["learns"] else (0, (4, 2))
            axes.plot(row["seen"], sigma, color=_colour(row), linewidth=width, linestyle=style)
            ends.append((row["seen"][-1], sigma[-1], row))
    axes.set_ylim(bottom=0)
    axes.set_xlim(0, max((end for end, _, _ in ends), default=1))
    _plain(axes)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes.set_xlabel("points arrived")
    axes.set_ylabel(f"stress {SIGMA} of the latest 2,000 points")
    axes.set_title("A stream that drifts: solid lines learn on, dashed ones do not", loc="left", fontsize=12)
    figure.draw_without_rendering()
    _label_ends(axes, ends)
    figure.savefig(path, dpi=130)


def _label_ends(axes: Axes, ends: Labelled) -> None:
    """Names in a column to the right of the axes, each tied to the end of its line."""
    to_axes = axes.transData + axes.transAxes.inverted()
    heights = [float(to_axes.transform((x, y))[1]) for x, y, _ in ends]
    for (x, y, row), height in zip(ends, spread(heights, 0.045, 0.02, 0.98), strict=True):
        tie = {"arrowstyle": "-", "color": _colour(row), "linewidth": 0.6, "shrinkA": 1, "shrinkB": 2}
        place = {"xytext": (1.04, height), "textcoords": "axes fraction", "va": "center", "annotation_clip": False}
        axes.annotate(row["label"], (x, y), arrowprops=tie, **place, **_label_style(row))
