"""Validation of a saved state before the core continues from it: every fact that the core relies on."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np

from driftmap.landmarks.memory import Memory
from driftmap.utils import Array, Ids
from driftmap.utils.validation import LARGEST_NUMBER

STATE_TYPES: dict[type, tuple[str, ...]] = {
    int: ("seen", "n_replacements", "held", "n_points"),
    float: ("total", "radius", "base", "resolution", "now"),
    np.int64: ("landmarks", "arrivals", "order", "cells", "seconds", "event_numbers"),
    np.float64: ("weights", "spreads", "times", "distances", "second_distances", "event_radii"),
}


def check_state(state: dict[str, Any], n_landmarks: int, memory: Memory) -> None:
    """Raise an error that says what is wrong, unless a stream with these parameters can have this state."""
    for kind, names in STATE_TYPES.items():
        for name in names:
            value = state[name]
            is_column = isinstance(value, np.ndarray) and value.ndim == 1 and value.dtype == kind
            if not (is_column if issubclass(kind, np.generic) else type(value) is kind):
                raise TypeError(f"its {name} must be of type {kind.__name__}, a number or a column of them as saved")
    for holds, what in _facts(SimpleNamespace(**state), n_landmarks, memory):
        if not holds:
            raise ValueError(f"its {what}")


def _facts(s: SimpleNamespace, n_landmarks: int, memory: Memory) -> Iterator[tuple[Any, str]]:
    """What must hold, each fact given those before it."""
    n, m = s.n_points, len(s.landmarks)
    yield 0 < n <= s.seen < 2**62 and n < 2**31 - 1, "number of points contradicts its number of arrivals"
    yield (
        0 <= s.n_replacements <= s.seen and 0 <= s.held < 32,
        "number of replacements or of uncovered arrivals is out of range",
    )
    yield 0 <= s.base <= s.radius < np.inf, "radius is not a valid radius"
    has_resolution = memory.limit is not None and _in_range(s.resolution)
    yield s.resolution == -1 or has_resolution, "resolution is not a valid distance"
    yield abs(s.now) < np.inf if memory.expires else s.now == -np.inf, "last time is not a valid time"
    if hasattr(s, "points"):
        yield np.shape(s.points)[:1] == (n,) and np.ndim(s.points) == 2, "points are not a matrix with a row for each"
        yield np.all(np.abs(s.points) <= LARGEST_NUMBER), "points are not finite, or their squares overflow"
    # the stored points, and which of them are landmarks
    weighted = memory.limit is not None or memory.expires
    lengths = {len(column) for column in (s.arrivals, s.weights, s.spreads, s.times)}
    yield lengths == {n if weighted else 0}, "columns have different lengths"
    yield 0 < m <= n_landmarks and _ascend(s.landmarks, n), "landmarks are not among its points"
    yield _ascend(s.arrivals, s.seen) and (weighted or n == s.seen), "arrivals are not in order"
    yield _in_range(s.weights) and _in_range(s.spreads), "weights or spreads are negative or too large"
    yield memory.limit is None or np.count_nonzero(s.weights) <= memory.limit, "points are more than its memory"
    yield np.isin(np.flatnonzero(s.weights == 0), s.landmarks).all(), "forgotten points are stored"
    if memory.expires:
        yield np.all((s.times > -np.inf) & (s.times <= s.now)), "times are later than the last time, or not finite"
        yield memory.half_life < np.inf or np.all(np.diff(s.times) >= 0), "times are not in order"
        yield s.weights.sum() <= s.total, "weights do not add up"
    elif weighted:
        yield np.all(s.times == 0) and s.weights.sum() == s.total, "weights do not add up"
    # the Voronoi cells: how every point that is not forgotten lies to the landmarks
    live = np.flatnonzero(s.weights) if weighted else np.arange(n)
    lengths = {len(column) for column in (s.order, s.cells, s.seconds, s.distances, s.second_distances)}
    yield lengths == {len(live)} and np.array_equal(np.sort(s.order), live), "cells do not hold all points"
    exist = (s.cells >= 0) & (s.cells < m) & (s.seconds >= -1) & (s.seconds < m)
    yield np.all(exist), "cells name landmarks that do not exist"
    yield np.all(s.seconds != s.cells), "second-nearest landmarks equal the nearest ones"
    known = (s.second_distances < np.inf) | ((m == 1) & (s.seconds < 0))
    in_order = (s.distances >= 0) & (s.distances <= s.second_distances)
    yield np.all(in_order & known), "distances are negative, or the second-nearest landmark is nearer"
    yield np.all(s.distances < np.inf), "distances are not finite"
    yield np.all(s.distances[s.landmarks[s.cells] == s.order] == 0), "landmarks are not in their cells"
    yield s.held > 0 or s.distances.max(initial=0) <= s.radius, "radius does not cover its points"
    # the events
    k = len(s.event_radii) // 2
    yield k <= 10_000 and len(s.event_radii) == 2 * k and len(s.event_numbers) == 3 * k, "events have different lengths"
    arrivals, came, left = s.event_numbers.reshape(-1, 3).T
    arrived = (arrivals >= 0) & (arrivals <= s.seen) & (came < s.seen) & (left < s.seen)
    yield np.all(arrived), "events name points that have not arrived"
    yield np.all((came >= -1) & (left >= -1) & (came + left > -2)), "events name no landmark"
    yield np.all((s.event_radii >= 0) & (s.event_radii < np.inf)), "events have radii that are not valid"


def _in_range(values: Array | float) -> bool:
    return bool(np.all((values >= 0) & (values < 1e300)))  # not if one is NaN


def _ascend(values: Ids, below: int) -> bool:
    """Whether these are rising numbers from 0 on; differences could overflow."""
    inside = (values >= 0) & (values < below)
    return bool(inside.all() and (values[1:] > values[:-1]).all())
