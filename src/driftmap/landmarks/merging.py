"""Merging: combines the landmarks of consecutive streams into those of one stream.

The core-sets (stored points with weights and spreads) of the later streams arrive at the first stream without being
merged into other points. If they then exceed the memory, they are thinned once. While no points have been merged, the
result equals a single pass over all points to the bit. Otherwise the error bound of each stored point holds for every
point of every part.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np

from driftmap._core import Stream
from driftmap.landmarks.core_set import CoreSet, Origin
from driftmap.landmarks.online import LandmarkEngine
from driftmap.metrics import Store, find_metric
from driftmap.utils.errors import InputError
from driftmap.utils.validation import is_sparse


def coreset(engine: LandmarkEngine) -> CoreSet:
    """Return the core-set of a stream."""
    with engine.lock:
        stream = engine.fitted_stream()
        points = engine.stored_points(stream.arrivals())
        columns = stream.arrivals(), stream.masses(), stream.spreads()
        return CoreSet(points, *columns, stream.seen, Origin(engine.kind, engine.params()))


def merge(first: LandmarkEngine, later: Sequence[CoreSet], origin: Origin | None = None) -> LandmarkEngine:
    """Return a new engine with the landmarks of consecutive streams; the parts do not change.

    ``origin`` is that of the first part if it belongs to a map.
    """
    check_settings(first)
    for number, part in enumerate(later, start=1):
        _check_same(first, part, origin or Origin(first.kind, first.params()), number)
    merged = copy.deepcopy(first)
    if later:
        _absorb(merged.fitted_stream(), merged.store, later)
        merged.row_sample = None  # the rows of later parts that were merged are not known
    return merged


def relearnt(engine: LandmarkEngine, part: CoreSet) -> LandmarkEngine:
    """Let an empty engine learn the stored points of another one, and return it."""
    with engine.lock, engine._learning(part.points) as (stream, batch, _):
        if engine._memory.limit is None:  # each point represents itself
            engine._take_in(stream, batch, None)
        else:
            _absorb(stream, engine.store, [part])
            engine.row_sample = None
    return engine


def _absorb(stream: Stream, store: Store, parts: Sequence[CoreSet]) -> None:
    """Let the stored points of later streams arrive, all before any are merged, since merging adds to spreads."""
    n_seen = stream.seen
    starts = n_seen + np.cumsum([0, *(part.n_samples_seen for part in parts)])
    arrivals = [start + part.arrivals for start, part in zip(starts, parts, strict=False)]
    points = _concatenated([part.points for part in parts])
    try:
        stream.learn(
            store.open(store.check(points), n_seen),
            arrivals=np.concatenate([*arrivals, starts[-1:]]),
            weights=np.concatenate([part.weights for part in parts]),
            spreads=np.concatenate([part.spreads for part in parts]),
        )
    finally:
        store.close()
    store.settle(stream)


def _concatenated(blocks: Sequence[Any]) -> Any:
    """Concatenate the points of several streams: dense or sparse rows, or objects."""
    if isinstance(blocks[0], np.ndarray):
        return np.concatenate(blocks)
    if is_sparse(blocks[0]):
        from scipy.sparse import vstack

        return vstack(blocks, format="csr")
    return [point for block in blocks for point in block]


def check_settings(params: Any) -> None:
    """Raise an error that names an alternative if a merge would lose its guarantees with these parameters."""
    instead = "learn the streams one after the other with partial_fit instead"
    for name, default in (("window", None), ("half_life", None), ("replace_on", "uncovered"), ("rule", "tight")):
        value = getattr(params, name)
        if value is not default and not (isinstance(value, str) and value == default):
            problem = f"={value!r} cannot be merged: it depends on the order of all arrivals; {instead}"
            raise InputError(problem, parameter=name)
    if isinstance(params.metric, str) and params.metric == "precomputed":
        problem = f"='precomputed' cannot be merged: no distances are known between the parts; {instead}"
        raise InputError(problem, parameter="metric")
    if not find_metric(params.metric, params.metric_params).triangle:
        problem = (
            f"={params.metric!r} cannot be merged: it is not known to obey the triangle inequality. For directions, "
            "normalise the rows and use the Euclidean distance"
        )
        raise InputError(problem, parameter="metric")
    if params.memory is None:
        problem = f"=None stores every point, which a merge does not support: give a number, or {instead}"
        raise InputError(problem, parameter="memory")


def _check_same(first: LandmarkEngine, part: CoreSet, origin: Origin, number: int) -> None:
    """Raise an error if a part has another estimator, other parameters or other features."""
    kind, params, names = part.origin or origin
    if kind != origin.kind:
        raise TypeError(f"part {number} is a {kind}, not a {origin.kind}")
    for name, value in origin.params.items():
        if not _equal(value, params[name]):
            raise ValueError(f"part {number} has {name}={params[name]!r}, but the first one has {name}={value!r}")
    if names != origin.names:
        raise ValueError(f"part {number} and the first one have different feature names")
    if first.n_features is not None and first.n_features != part.points.shape[1]:
        width = part.points.shape[1]
        raise ValueError(f"part {number} has {width} features, but the first one has {first.n_features}")


def _equal(value: Any, other: Any) -> bool:
    if isinstance(value, dict) and isinstance(other, dict):
        return value.keys() == other.keys() and all(np.array_equal(value[key], other[key]) for key in value)
    return bool(value == other)
