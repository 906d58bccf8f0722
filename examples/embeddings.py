"""Show strengths and limits of each embedding: python examples/embeddings.py [FOLDER]

One figure per embedding has a generated stream, a recorded one, and one for which it is unsuitable. Streams arrive in
order: along the sheet, by date, class by class. The recorded data are read from the folder DRIFTMAP_DATA or downloaded.
"""

import sys
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from sklearn.datasets import load_digits

from driftmap import DriftMap
from driftmap.datasets import load_hospital, load_stocks
from driftmap.quality import stress, trustworthiness
from driftmap.utils import Array

IMAGES = Path(__file__).parent.parent / "docs" / "images"
DRAWN = 1500
"""Most points in a panel, evenly spread over the stream."""


class Stream(NamedTuple):
    """Points in order of arrival, with their colours."""

    points: Array
    color: Array
    classes: bool = False
    """True if colours are classes; -1 is grey."""


def plane() -> Stream:
    """Return a rectangle in 16 dimensions, with noise."""
    rng = np.random.default_rng(0)
    sheet = np.column_stack([np.sort(rng.uniform(0, 3, 2000)), rng.random(2000)])
    axes = np.linalg.qr(rng.standard_normal((16, 2)))[0]
    return Stream(sheet @ axes.T + 0.03 * rng.standard_normal((2000, 16)), sheet[:, 0])


def s_curve() -> Stream:
    """Return a sheet bent to an S."""
    rng = np.random.default_rng(0)
    angle = np.sort(3 * np.pi * (rng.random(3000) - 0.5))
    return Stream(np.column_stack([np.sin(angle), 2 * rng.random(3000), np.sign(angle) * (np.cos(angle) - 1)]), angle)


def swiss_roll() -> Stream:
    """Return a sheet rolled up one and a half times."""
    rng = np.random.default_rng(0)
    angle = np.sort(1.5 * np.pi * (1 + 2 * rng.random(4000)))
    return Stream(np.column_stack([angle * np.cos(angle), 21 * rng.random(4000), angle * np.sin(angle)]), angle)


def knot() -> Stream:
    """Return a trefoil knot, with noise."""
    rng = np.random.default_rng(0)
    angle = np.sort(2 * np.pi * rng.random(3000))
    points = np.column_stack(
        [np.sin(angle) + 2 * np.sin(2 * angle), np.cos(angle) - 2 * np.cos(2 * angle), -np.sin(3 * angle)]
    )
    return Stream(points + 0.05 * rng.standard_normal(points.shape), angle)


def clusters(share: float) -> Stream:
    """Return twelve clusters in 16 dimensions, one after the other, with a share of outliers."""
    rng = np.random.default_rng(0)
    label = np.sort(rng.integers(12, size=4000))
    points = 4 * rng.standard_normal((12, 16))[label] + rng.standard_normal((4000, 16))
    outlier = rng.random(4000) < share
    points[outlier] = rng.uniform(-12, 12, (int(outlier.sum()), 16))
    return Stream(points, np.where(outlier, -1, label), True)


@cache
def spy() -> Stream:
    """Return prices of ten stocks, by date."""
    stocks = load_stocks()
    return Stream(stocks.normalized, np.linspace(2013, 2023, len(stocks.dates)))


@cache
def hospital() -> Stream:
    """Return spectra of the contact network in a hospital, by time, coloured by the rank of their sum."""
    points = load_hospital().spectra()
    return Stream(points, np.argsort(np.argsort(points.sum(axis=1))))


@cache
def digits() -> Stream:
    """Return handwritten digits, class by class."""
    points, labels = load_digits(return_X_y=True)
    order = np.argsort(labels, kind="stable")
    return Stream(points[order], labels[order], True)


class Panel(NamedTuple):
    """A map of a stream."""

    title: str
    stream: Callable[[], Stream]
    embedding: Any
    n_landmarks: int = 100
    memory: Any = "auto"


FIGURES: dict[str, tuple[Panel, Panel, Panel]] = {
    "stress": (
        Panel("S-curve", s_curve, "stress"),
        Panel("SPY, 2013-2022", spy, "stress", 50),
        Panel("limit: classes of digits overlap", digits, "stress", 200),
    ),
    "lmds": (
        Panel("rectangle in 16 dimensions", plane, "lmds"),
        Panel("SPY, 2013-2022", spy, "lmds", 50),
        Panel("limit: a swiss roll stays rolled", swiss_roll, "lmds"),
    ),
    "isomap": (
        Panel("swiss roll", swiss_roll, "isomap", 100, 1600),
        Panel("hospital contacts", hospital, "isomap", 100, 1600),
        Panel("limit: SPY falls apart", spy, "isomap"),
    ),
    "diffusion": (
        Panel("trefoil knot", knot, "diffusion"),
        Panel("SPY, 2013-2022", spy, "diffusion"),
        Panel("limit: classes of digits overlap", digits, "diffusion", 200),
    ),
    "tsne": (
        Panel("clusters, 5 % outliers (grey)", lambda: clusters(0.05), "tsne", 100),
        Panel("digits", digits, "tsne", 200),
        Panel("limit: a swiss roll breaks into clumps", swiss_roll, "tsne", 200),
    ),
    "kernel-tsne": (
        Panel("clusters", lambda: clusters(0.0), "kernel-tsne", 200),
        Panel("digits", digits, "kernel-tsne", 200),
        Panel("limit: 5 % outliers (grey)", lambda: clusters(0.05), "kernel-tsne", 200),
    ),
    "bikernel-tsne": (
        Panel("clusters", lambda: clusters(0.0), "bikernel-tsne", 400),
        Panel("digits, 600 landmarks", digits, "bikernel-tsne", 600),
        Panel("limit: digits, 100 landmarks", digits, "bikernel-tsne", 100),
    ),
}


def draw(axes: Any, panel: Panel) -> None:
    """Learn and map a stream, and draw some of its points."""
    stream = panel.stream()
    mapper = DriftMap(n_landmarks=panel.n_landmarks, memory=panel.memory, embedding=panel.embedding)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="the graph of")  # "... is in parts", as the panel shows
        Y = mapper.fit(stream.points).transform(stream.points)
    shown = np.unique(np.linspace(0, len(Y) - 1, DRAWN).astype(np.int64))
    points, color = stream.points[shown], stream.color[shown]
    sigma, trust = stress(points, Y[shown]), trustworthiness(points, Y[shown], n_neighbors=12)
    print(f"  {panel.title}: sigma {sigma:.3f}, trustworthiness {trust:.3f}", flush=True)
    parts = getattr(mapper.fitted_embedding_, "n_parts_", 1)
    note = f", {parts} parts" if parts > 1 else ""
    inside = color >= 0 if stream.classes else np.ones(len(shown), dtype=bool)
    axes.scatter(*Y[shown][~inside].T, s=4, color="#bbbbbb", linewidths=0)
    axes.scatter(*Y[shown][inside].T, s=5, c=color[inside], cmap="tab20" if stream.classes else "viridis", linewidths=0)
    axes.set_title(f"{panel.title}\n{panel.n_landmarks} landmarks{note}, trustworthiness {trust:.3f}", fontsize=9)
    axes.set_aspect("equal", adjustable="datalim")
    axes.set_xticks([])
    axes.set_yticks([])


def main() -> None:
    """Write the figures to the given folder, by default docs/images."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else IMAGES
    for name, panels in FIGURES.items():
        print(name, flush=True)
        figure = Figure(figsize=(9.6, 3.5), layout="constrained")
        FigureCanvasAgg(figure)
        for axes, panel in zip(figure.subplots(1, len(panels)), panels, strict=True):
            draw(axes, panel)
        figure.savefig(folder / f"embedding-{name}.png", dpi=90)


if __name__ == "__main__":
    main()
