"""Two figures: rate against sigma, and sigma of recent points over time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks.peers.report import SIGMA

matplotlib.use("Agg")

OURS, OTHER, INK, GRID = "#c2410c", "#33658a", "#222222", "#dddddd"


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


def _labels(axes: Axes, points: list[tuple[float, float, dict[str, Any]]], x: float, gap: float) -> None:
    """Names in a column at x (a fraction of the axes), each tied to its point."""
    to_axes = axes.transData + axes.transAxes.inverted()
    heights = [float(to_axes.transform((px, py))[1]) for px, py, _ in points]
    for (px, py, row), height in zip(points, spread(heights, gap, 0.02, 0.98), strict=True):
        axes.annotate(
            row["label"],
            (px, py),
            xytext=(x, height),
            textcoords="axes fraction",
            va="center",
            fontsize=8.5,
            color=_colour(row),
            fontweight="bold" if _colour(row) == OURS else "normal",
            arrowprops={"arrowstyle": "-", "color": _colour(row), "linewidth": 0.5, "alpha": 0.5, "shrinkB": 4},
            annotation_clip=False,
        )


def rate_against_sigma(streams: list[dict[str, Any]], path: Path) -> None:
    """One panel per stream; up and to the left is better."""
    columns = min(2, len(streams))
    lines = -(-len(streams) // columns)
    figure = Figure(figsize=(5.6 * columns, 4.1 * lines), layout="constrained")
    panels = figure.subplots(lines, columns, squeeze=False).ravel()
    for axes in panels[len(streams) :]:
        axes.set_visible(False)
    for axes, stream in zip(panels, streams, strict=False):
        _panel(axes, stream)
    figure.suptitle(
        "New points placed per second against the stress of the map (up and left is better)", fontsize=12, color=INK
    )
    figure.savefig(path, dpi=130)


def _panel(axes: Axes, stream: dict[str, Any]) -> None:
    rows = [(_sigma(row), row) for row in stream["rows"]]
    shown = [(sigma, row) for sigma, row in rows if sigma and not isinstance(row["place_rate"], dict)]
    absent = [row["label"] for sigma, row in rows if not any(row is seen for _, seen in shown)]
    points = []
    for (sigma, final), row in shown:
        face = _colour(row) if final else "white"
        axes.plot(sigma, row["place_rate"], "o", color=_colour(row), markerfacecolor=face, markersize=7)
        points.append((sigma, row["place_rate"], row))
    axes.set_yscale("log")
    axes.set_xlim(0, 1.06 * max([sigma for sigma, _, _ in points], default=1.0))
    axes.margins(y=0.12)
    _plain(axes)
    axes.set_title(stream["name"], loc="left", fontsize=11, color=INK)
    axes.set_xlabel(
        f"stress {SIGMA} of all points" + (f"\nnot shown: {', '.join(absent)}" if absent else ""), fontsize=9
    )
    axes.set_ylabel("new points per second", fontsize=9)
    axes.figure.draw_without_rendering()
    _labels(axes, points, 1.05, 0.075)


def recent_sigma(rows: list[dict[str, Any]], path: Path) -> None:
    """A line per method, named at its end."""
    figure = Figure(figsize=(9.5, 5.6), layout="constrained")
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
    axes.figure.draw_without_rendering()
    _labels(axes, ends, 1.03, 0.05)
    figure.savefig(path, dpi=130)
