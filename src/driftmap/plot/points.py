"""Draws points and landmarks. Points are in random order so that later arrivals do not hide earlier ones."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from driftmap.utils import Array, Ids

INK = "#22262B"
MOST_DOTS = 20_000
"""More points than this are shaded by density in the plane and, in space, rasterized in vector files."""
CELLS = 320
"""Cells along the longer side of a density."""
MOST_DIAMONDS = 100
"""Landmarks drawn, at most."""
LEAST_OPACITY = 0.45
"""Opacity of a cell with one point."""


class Density(NamedTuple):
    """Points counted in the cells of a grid."""

    image: Array
    """Colour and opacity of each cell, of shape (rows, columns, 4), bottom row first."""
    most: int
    """Points in the fullest cell."""


def drawing_order(n: int) -> Ids:
    """Return a fixed random order of n points: in order of arrival, the last ones would hide the others.

    Later arrivals do not change the relative order of earlier ones, so that animations do not flicker.

    >>> order = drawing_order(100)
    >>> np.array_equal(order[order < 50], drawing_order(50))
    True
    """
    return np.argsort(np.random.default_rng(0).random(n), kind="stable")


def density(points: Array, colors: Array, low: Array, high: Array, shape: tuple[int, int]) -> Density:
    """Count points of shape (n, 2) in the cells of a box.

    A cell takes the colour of a random point in it: mixtures look mixed, and only colours of points appear. Its opacity
    grows with the logarithm of its number of points.

    >>> points, colors = np.array([[0.1, 0.1], [0.2, 0.2], [0.9, 0.1]]), np.ones((3, 4))
    >>> found = density(points, colors, np.zeros(2), np.ones(2), (1, 2))
    >>> found.image[..., 3], found.most
    (array([[1.  , 0.45]]), 2)
    """
    rows, columns = shape
    place = (points - low) / np.where(high > low, high - low, 1.0) * (columns, rows)
    column, row = np.clip(place.astype(np.int64), 0, (columns - 1, rows - 1)).T
    cells = row * columns + column
    counts = np.bincount(cells, minlength=rows * columns)
    image = np.zeros((rows * columns, 4))
    order = drawing_order(len(points))
    image[cells[order]] = colors[order]
    most = int(counts.max())
    shade = np.log(np.maximum(counts, 1)) / np.log(max(most, 2))
    image[:, 3] *= np.where(counts > 0, LEAST_OPACITY + (1 - LEAST_OPACITY) * shade, 0.0)
    if most == 1:
        image[:, 3] = counts
    return Density(image.reshape(rows, columns, 4), most)


def draw_points(ax: Any, points: list[Array], colors: Array, scale: float = 1.0, most: int | None = None) -> Any:
    """Draw points, given axis by axis, as translucent dots in a random order.

    ``most`` is the final number of points of an animation, which sets the size of the dots.
    """
    n, k, order = most or len(colors), len(points), drawing_order(len(colors))
    size = scale * float(np.clip(330 / np.sqrt(n), 1.5, 24.0))
    style: dict[str, Any] = {"s": size, "linewidths": 0, "rasterized": n > MOST_DOTS, **_in_space(k)}
    opacity = float(np.clip(60 / np.sqrt(n), 0.4, 0.85))
    return ax.scatter(*(axis[order] for axis in points), c=colors[order] * (1, 1, 1, opacity), **style)


def draw_density(ax: Any, points: Array, colors: Array, *, has_shape: bool) -> int:
    """Shade the axes by the density of points of shape (n, 2); return the number of points in the fullest cell."""
    (left, right), (bottom, top) = ax.get_xlim(), ax.get_ylim()
    spans = np.array([right - left, top - bottom]) if has_shape else np.array([1.0, 0.6])
    columns, rows = np.maximum(CELLS * spans / spans.max(), 1).astype(int).tolist()
    low, high = np.array([left, bottom]), np.array([right, top])
    found = density(points, colors, low, high, (rows, columns))
    extent = (left, right, bottom, top)
    ax.imshow(found.image, extent=extent, origin="lower", interpolation="nearest", aspect=ax.get_aspect(), zorder=1)
    return found.most


def draw_landmarks(ax: Any, positions: list[Array], scale: float = 1.0) -> Any:
    """Draw landmarks, given axis by axis, as small hollow diamonds with a white rim: at most 100, evenly over time."""
    from matplotlib.patheffects import Normal, Stroke

    m = len(positions[0])
    shown = np.unique(np.linspace(0, m - 1, min(m, MOST_DIAMONDS)).astype(np.int64))
    size = scale * float(np.clip(80 / np.sqrt(len(shown)), 7.0, 24.0))
    rim = [Stroke(linewidth=1.8, foreground="white", alpha=0.75), Normal()]
    style = {"marker": "D", "s": size, "facecolors": "none", "edgecolors": INK, "linewidths": 0.8, "zorder": 3}
    places = clamped(ax, [axis[shown] for axis in positions])
    return ax.scatter(*places, **style, path_effects=rim, clip_on=False, **_in_space(len(positions)))


def is_outside(ax: Any, points: list[Array]) -> NDArray[np.bool_]:
    """Return a mask of the points, given axis by axis, that are beyond the limits of the axes."""
    moved = zip(points, clamped(ax, points), strict=True)
    return np.any([axis != inside for axis, inside in moved], axis=0)


def clamped(ax: Any, points: list[Array]) -> list[Array]:
    """Return points, given axis by axis, with those beyond the limits of the axes moved to the border."""
    limits = [getattr(ax, f"get_{name}lim")() for name in "xyz"[: len(points)]]
    return [np.clip(axis, low, high) for axis, (low, high) in zip(points, limits, strict=True)]


def draw_outside(ax: Any, points: list[Array], colors: Array) -> list[Any]:
    """Draw points beyond the limits, given axis by axis, as triangles at the border that point to them."""
    places = clamped(ax, points)
    gaps = np.array([axis - inside for axis, inside in zip(points[:2], places[:2], strict=True)])
    side = 2 * np.abs(gaps).argmax(axis=0) + (gaps.sum(axis=0) > 0)
    style: dict[str, Any] = {"s": 26, "linewidths": 0, "zorder": 4, "clip_on": False, **_in_space(len(points))}
    drawn = []
    for number, marker in enumerate("<>v^"):
        chosen = side == number
        if chosen.any():
            drawn.append(ax.scatter(*(axis[chosen] for axis in places), c=colors[chosen], marker=marker, **style))
    return drawn


def _in_space(k: int) -> dict[str, Any]:
    """Options of scatter: 3d axes would otherwise fade distant points and landmarks, and so change their colours."""
    return {"depthshade": False} if k == 3 else {}
