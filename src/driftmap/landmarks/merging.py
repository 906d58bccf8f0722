"""Merging: the landmarks of several streams as those of one, in which they follow each other.

The stored points of the later stream arrive at the earlier one, each with its weight and spread; none joins another.
If they are then more than the memory holds, they are thinned once. As long as nothing has been merged away this is the
single pass over all points, to the bit. Else the bound per stored point still holds for every point of every part.
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from driftmap.landmarks.online import LandmarkEngine
from driftmap.metrics import NativeSpace, make_space
from driftmap.metrics.base import Source


def merge(first: LandmarkEngine, *later: LandmarkEngine) -> LandmarkEngine:
    """The landmarks of several streams, one after the other, as a new engine; its parts stay as they are."""
    check_settings(first)
    first._stream()
    merged = copy.deepcopy(first)
    for number, part in enumerate(later, start=1):
        _check_same(first, part, number)
        with part.lock:
            _absorb(merged, part)
    return merged


def _absorb(engine: LandmarkEngine, part: LandmarkEngine) -> None:
    """Let the stored points of another stream arrive."""
    stream, other, space = engine._stream(), part._stream(), engine.space
    rows = np.arange(other.n_stored)
    points, n_seen = part._points(rows), stream.seen
    native = isinstance(space, NativeSpace)
    if not native:
        space.batch, space.first = space.check(points), n_seen
    try:
        stream.learn(
            points if native else len(points),
            arrivals=n_seen + np.append(other.arrivals(), other.seen),
            weights=other.masses(),
            spreads=other.spreads(),
        )
    finally:
        space.batch = None
    if isinstance(space, Source):
        space.arrivals = stream.arrivals().tolist()


def check_settings(params: Any) -> None:
    """Refuse parameters with which nothing could be promised of a merge, and name the alternative."""
    instead = "learn the streams one after the other with partial_fit instead"
    for name, default in (("window", None), ("half_life", None), ("replace_on", "uncovered"), ("rule", "tight")):
        value = getattr(params, name)
        if value is not default and not (isinstance(value, str) and value == default):
            raise ValueError(f"{name}={value!r} cannot be merged: it depends on the order of all arrivals; {instead}")
    if isinstance(params.metric, str) and params.metric == "precomputed":
        raise ValueError(f"precomputed distances cannot be merged: none is known between the parts; {instead}")
    if not make_space(params.metric, params.metric_params, None).triangle:
        raise ValueError(
            f"metric={params.metric!r} cannot be merged: it is not known to obey the triangle inequality. "
            "For directions, normalise the rows and use the Euclidean distance"
        )
    if params.memory is None:
        raise ValueError(f"memory=None stores every point, which a merge cannot: give memory a number, or {instead}")


def _check_same(first: LandmarkEngine, part: LandmarkEngine, number: int) -> None:
    for name, value in first.params().items():
        other = getattr(part, name)
        if not _equal(value, other):
            raise ValueError(f"part {number} has {name}={other!r}, but the first one has {name}={value!r}")
    if first.n_features != part.n_features:
        raise ValueError(f"part {number} has {part.n_features} features, but the first one has {first.n_features}")


def _equal(value: Any, other: Any) -> bool:
    if isinstance(value, dict) and isinstance(other, dict):
        return value.keys() == other.keys() and all(np.array_equal(value[key], other[key]) for key in value)
    return bool(value == other)
