"""Illustrate a tree of merges: python examples/merge_tree.py [FILE]

A random walk in the plane is split into nine leaves, which merge three at a time. Each panel shows the transferred
core-set: the stored points, with discs as large as their spread, and the landmarks.
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib
import numpy as np

from driftmap import OnlineLandmarks

matplotlib.use("agg")
import matplotlib.pyplot as plt
from matplotlib.collections import EllipseCollection
from matplotlib.figure import Figure

N_LEAVES, FAN_IN, ROWS, M, MEMORY = 9, 3, 20_000, 20, 320
GREY, BLUE, RED = "0.75", "#4477aa", "#cc3311"


def walk() -> np.ndarray:
    """Return a random walk that is pulled back to the origin."""
    rng, x, rows = np.random.default_rng(4), np.zeros(2), []
    for step in rng.standard_normal((N_LEAVES * ROWS, 2)):
        x = 0.9998 * x + step
        rows.append(x)
    return np.array(rows)


def levels(X: np.ndarray) -> list[list[OnlineLandmarks]]:
    """Return the estimators of each level, from the leaves to the root."""
    found = [[OnlineLandmarks(M, memory=MEMORY).fit(part) for part in np.split(X, N_LEAVES)]]
    while len(found[-1]) > 1:
        parts = found[-1]
        found.append([parts[i].merge(*parts[i + 1 : i + FAN_IN]) for i in range(0, len(parts), FAN_IN)])
    return found


def panel(axes: plt.Axes, one: OnlineLandmarks, rows: np.ndarray) -> None:
    """Draw rows, the core-set that represents them, and the landmarks."""
    core = one.coreset()
    axes.plot(*rows[::20].T, ",", color=GREY, zorder=0)
    sizes = 2 * core.spreads
    discs = EllipseCollection(sizes, sizes, 0 * sizes, units="xy", offsets=core.points, offset_transform=axes.transData)
    discs.set(facecolor=BLUE, alpha=0.12, linewidth=0)
    axes.add_collection(discs)
    axes.plot(*core.points.T, ".", color=BLUE, markersize=1.5)
    axes.plot(*np.asarray(one.landmarks_).T, "o", color=RED, markersize=3)
    axes.set(xticks=[], yticks=[], aspect="equal")


def draw(X: np.ndarray) -> Figure:
    """Draw the tree with its root at the top."""
    tree = levels(X)
    figure = plt.figure(figsize=(11, 6.2))
    low, high = X.min(axis=0) - 10, X.max(axis=0) + 10
    heights = (0.2, 0.27, 0.36)
    bottoms = (0.045, 0.305, 0.62)
    tops: list[tuple[float, float]] = []
    for level, parts in enumerate(tree):
        width, centres = 0.96 / len(parts), []
        for i, one in enumerate(parts):
            side = min(heights[level] * 6.2 / 11, 0.95 * width)
            x = 0.02 + (i + 0.5) * width
            axes = figure.add_axes((x - side / 2, bottoms[level], side, heights[level]))
            size = len(X) // len(parts)
            panel(axes, one, X[i * size : (i + 1) * size])
            axes.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))
            rows = f"{one.n_samples_seen_:,} rows, " if level else ""
            axes.set_xlabel(f"{rows}{len(one.stored_indices_)} stored", fontsize=7, labelpad=2)
            centres.append((x, bottoms[level] + heights[level]))
            for below in tops[i * FAN_IN : (i + 1) * FAN_IN] if level else []:
                line = plt.Line2D([below[0], x], [below[1], bottoms[level] - 0.035], color="0.5", linewidth=0.8)
                figure.add_artist(line)
        tops = centres
    notes = (
        (0.02, 0.88, "root: the landmarks of all rows;\nthe bound holds for each of them"),
        (0.28, 0.5, "merge: stored points\narrive in the order of\nthe leaves, then are\nthinned once"),
        (0.70, 0.88, "grey: rows, which never travel\nblue: stored points, and within which\n"
         "distance lies what each stands for\nred: landmarks"),
    )  # fmt: skip
    for x, y, text in notes:
        figure.text(x, y, text, fontsize=9, va="top")
    figure.text(0.02, 0.005, f"leaves: consecutive partitions, {ROWS:,} rows each, learnt where they lie", fontsize=9)
    return figure


if __name__ == "__main__":
    file = Path(sys.argv[1] if len(sys.argv) > 1 else "docs/images/merge-tree.png")
    draw(walk()).savefig(file, dpi=100)
    print(f"wrote {file}")
