"""A small HTML map for notebooks: an SVG of stored points and landmarks, without matplotlib or scripts."""

from __future__ import annotations

import html

import numpy as np

from driftmap.map import StreamMap
from driftmap.map.explain import of_axis, stored_points
from driftmap.map.frame import Frame
from driftmap.plot.panels import shortened
from driftmap.utils import Array
from driftmap.utils.errors import InputError

WIDTH, HEIGHT, MARGIN = 320, 200, 8
SKETCHED_POINTS = 600
"""Most stored points drawn, evenly spread over time."""
COLORS = ("#440154", "#3b528b", "#21918c", "#5ec962", "#bfd430")
"""Colours of the points (viridis), from the first arrivals to the last."""
NAMED = 3
"""Features listed for each axis."""
LONGEST_NAME = 24


def html_map(mapper: StreamMap) -> str:
    """Return a picture of the map with a few facts, in about ten kilobytes, without counting as a use of the frame.

    >>> mapper = StreamMap(n_landmarks=5).partial_fit(np.random.default_rng(0).random((50, 3)))
    >>> "50 points seen, 5 landmarks" in html_map(mapper)
    True
    """
    try:
        with mapper.lock:
            frame = mapper.unobserved_frame()
            lines = [_facts(mapper), *_axes(mapper, frame)]
            picture = _svg(mapper, frame)
    except InputError:  # an embedding may need more points than have arrived
        return ""
    text = "".join(f"<div>{html.escape(line)}</div>" for line in lines)
    return f'<div style="font: 12px sans-serif; max-width: {WIDTH}px">{picture}{text}</div>'


def svg_map(mapper: StreamMap) -> str | None:
    """Return the picture of :func:`html_map` alone, as an SVG file; None if there is no map yet."""
    try:
        with mapper.lock:
            picture = _svg(mapper, mapper.unobserved_frame())
    except InputError:
        return None
    return picture.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" color="#22262b" ', 1)


def _facts(mapper: StreamMap) -> str:
    landmarks = mapper._landmark_engine()
    return (
        f"{landmarks.n_samples_seen_:,} points seen, {len(landmarks.landmark_indices_):,} landmarks, "
        f"radius {landmarks.radius_:.3g}"
    )


def _axes(mapper: StreamMap, frame: Frame) -> list[str]:
    """Return the features that correlate most with each axis of the picture."""
    try:
        points = stored_points(mapper, frame)
    except InputError:  # the points are not rows of features
        return []
    lines = []
    for axis in range(min(2, mapper.n_components)):
        features = of_axis(points, axis).features[:NAMED]
        named = (f"{shortened(str(found.feature), LONGEST_NAME)} {found[1]:+.2f}" for found in features)
        lines.append(f"x{axis + 1}: {', '.join(named)}")
    return lines


def _svg(mapper: StreamMap, frame: Frame) -> str:
    landmarks = mapper._landmark_engine()
    ids = landmarks.stored_indices_
    ids = ids[np.unique(np.linspace(0, len(ids) - 1, SKETCHED_POINTS).astype(np.int64))]
    points, marks = frame.place_stored(landmarks, ids), frame.landmark_positions()
    if mapper.n_components == 1:  # drawn against arrival, as in figures
        points, marks = np.column_stack([ids, points]), np.column_stack([frame.landmarks, marks])
    points, marks = _fit(points[:, :2], marks[:, :2], keep_shape=mapper.n_components > 1)
    parts = np.array_split(points, len(COLORS))
    dots = "".join(
        f'<path d="{_dots(part)}" stroke="{color}" stroke-width="3" stroke-linecap="round" stroke-opacity=".6"/>'
        for part, color in zip(parts, COLORS, strict=True)
        if len(part)
    )
    diamonds = "".join(f"M{x:.0f} {y - 3:.0f}l3 3-3 3-3-3z" for x, y in marks)
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" fill="none" role="img" '
        f'aria-label="map of the stored points; diamonds are landmarks">{dots}'
        f'<path d="{diamonds}" stroke="currentColor" stroke-width=".8"/></svg>'
    )


def _dots(points: Array) -> str:
    return "".join(f"M{x:.0f} {y:.0f}h0" for x, y in points)


def _fit(points: Array, marks: Array, *, keep_shape: bool) -> tuple[Array, Array]:
    """Scale points and landmarks to the picture, whose y axis points down; ``keep_shape``: scale both axes equally."""
    everything = np.vstack([points, marks])
    low, high = everything.min(axis=0), everything.max(axis=0)
    scale = (np.array([WIDTH, HEIGHT]) - 2 * MARGIN) / np.where(high > low, high - low, np.inf)
    if keep_shape and (scale > 0).any():
        scale = np.full(2, scale[scale > 0].min())
    centre, flip = np.array([WIDTH / 2, HEIGHT / 2]), np.array([1.0, -1.0])
    middle = (low + high) / 2
    return centre + (points - middle) * scale * flip, centre + (marks - middle) * scale * flip
