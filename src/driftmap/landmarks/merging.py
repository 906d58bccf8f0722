"""Merging: the landmarks of several streams as those of one, in which they follow each other.

The core-sets of the later streams, their stored points, arrive at the first stream, each with its weight and spread;
none joins another. If they are then more than the memory holds, they are thinned once. As long as nothing has been
merged away this is the single pass over all points, to the bit. Else the bound per stored point still holds for every
point of every part.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from driftmap._core import Stream
from driftmap.landmarks.online import LandmarkEngine
from driftmap.metrics import Store, find_metric
from driftmap.utils import Array, Ids
from driftmap.utils.errors import InputError
from driftmap.utils.validation import is_sparse


class Origin(NamedTuple):
    """Which estimator has learnt a stream: parts that merge have the same."""

    kind: str
    params: Mapping[str, Any]
    names: tuple[str, ...] = ()
    """Of the features, where they have names."""


class CoreSet(NamedTuple):
    """The stored points of a stream and what each stands for: all that a merge needs of a later stream."""

    points: Any
    """Rows of an array, or a list of objects."""
    arrivals: Ids
    """Their arrival numbers, ascending."""
    weights: Array
    """How many points each stands for."""
    spreads: Array
    """Within which distance of it these lie."""
    n_samples_seen: int
    origin: Origin | None = None
    """None: it is known to be that of the first part."""
    recent: Array = np.empty(0)
    """Reaches of the last arrivals, where they were scored (:class:`driftmap.map.novelty.RecentReaches`)."""


def coreset(engine: LandmarkEngine) -> CoreSet:
    """The core-set of a stream."""
    with engine.lock:
        stream = engine.fitted_stream()
        points = engine.stored_points(stream.arrivals())
        columns = stream.arrivals(), stream.masses(), stream.spreads()
        return CoreSet(points, *columns, stream.seen, Origin(engine.kind, engine.params()))


def merge(first: LandmarkEngine, later: Sequence[CoreSet], origin: Origin | None = None) -> LandmarkEngine:
    """The landmarks of several streams, one after the other, as a new engine; its parts stay as they are.

    ``origin``: of the first part, if it is more than landmarks.
    """
    check_settings(first)
    for number, part in enumerate(later, start=1):
        _check_same(first, part, origin or Origin(first.kind, first.params()), number)
    merged = copy.deepcopy(first)
    if later:
        _absorb(merged.fitted_stream(), merged.store, later)
    return merged


def relearnt(engine: LandmarkEngine, part: CoreSet) -> LandmarkEngine:
    """An engine that has seen nothing, once the stored points of another one have arrived at it."""
    with engine.lock, engine._learning(part.points) as (stream, batch, _):
        if engine._memory.limit is None:  # each of them stands for itself
            engine._take_in(stream, batch, None)
        else:
            _absorb(stream, engine.store, [part])
    return engine


def _absorb(stream: Stream, store: Store, parts: Sequence[CoreSet]) -> None:
    """Let the stored points of later streams arrive, all of them before any merge: each merge adds to a spread."""
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
    """Points of several streams: rows, sparse ones too, or objects."""
    if isinstance(blocks[0], np.ndarray):
        return np.concatenate(blocks)
    if is_sparse(blocks[0]):
        from scipy.sparse import vstack

        return vstack(blocks, format="csr")
    return [point for block in blocks for point in block]


def check_settings(params: Any) -> None:
    """Refuse parameters with which nothing could be promised of a merge, and name the alternative."""
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
        problem = f"=None stores every point, which a merge cannot: give a number, or {instead}"
        raise InputError(problem, parameter="memory")


def _check_same(first: LandmarkEngine, part: CoreSet, origin: Origin, number: int) -> None:
    """Refuse a part that another estimator has learnt, or one with other parameters or features."""
    kind, params, names = part.origin or origin
    if kind != origin.kind:
        raise TypeError(f"part {number} is a {kind}, not a {origin.kind}")
    for name, value in origin.params.items():
        if not _equal(value, params[name]):
            raise ValueError(f"part {number} has {name}={params[name]!r}, but the first one has {name}={value!r}")
    if names != origin.names:
        raise ValueError(f"the features of part {number} have other names than those of the first one")
    if first.n_features is not None and first.n_features != part.points.shape[1]:
        width = part.points.shape[1]
        raise ValueError(f"part {number} has {width} features, but the first one has {first.n_features}")


def _equal(value: Any, other: Any) -> bool:
    if isinstance(value, dict) and isinstance(other, dict):
        return value.keys() == other.keys() and all(np.array_equal(value[key], other[key]) for key in value)
    return bool(value == other)
