"""Maps of dask collections: workers learn partitions, merge their core-sets, and place rows (extra ``dask``).

Consecutive partitions form leaves. A chain of tasks, one per partition, learns each leaf from an empty state; leaves
merge in a tree, in the order of the partitions. The result depends on the rows, the leaves, the fan-in and the
parameters, but not on workers or timing, and a task that runs twice gives the same bits.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from concurrent.futures import CancelledError
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np

try:
    from dask.base import compute
    from dask.delayed import Delayed, delayed
except ImportError as error:  # pragma: no cover
    from driftmap.utils.errors import MissingDependencyError

    raise MissingDependencyError("driftmap.dask needs dask", extra="dask") from error

from driftmap.dask import files, tasks
from driftmap.dask.blocks import Partition, is_array, is_dataframe, leaves, partitions, rows_only
from driftmap.dask.tasks import PartitionError
from driftmap.storage import atomic
from driftmap.utils.errors import InputError
from driftmap.utils.rounding import rounded_up
from driftmap.utils.validation import integer_at_least

__all__ = ["ClusterLostError", "PartitionError", "certify", "fit", "fit_transform", "transform"]

Mapper = TypeVar("Mapper")
ADDED_TOGETHER = 16
"""Partitions whose results one task adds."""


class ClusterLostError(RuntimeError):
    """Raised when the scheduler was lost or restarted, and the work with it."""


def fit(mapper: Mapper, X: Any, *, partitions_per_leaf: int | None = None, fan_in: int = 8) -> Mapper:
    """Learn a collection; return a fitted copy of the estimator, a ``DriftMap`` or ``OnlineLandmarks``.

    Parameters
    ----------
    X : dask array, dask dataframe, list of delayed blocks, or Parquet files (a folder, a file, a list of files)
        Its partitions, in their order, are the stream.
    partitions_per_leaf : int, optional
        None: enough partitions for a million rows, or for a 4,096th of all rows if that is more. A collection of
        unknown lengths is read once more to count its rows.
    fan_in : int
        How many states merge at a time. A larger fan-in thins points fewer times on their way to the root.

    Examples
    --------
    >>> import dask.array as da
    >>> from driftmap import OnlineLandmarks
    >>> walk = da.random.default_rng(0).standard_normal((4000, 3), chunks=(500, 3)).cumsum(axis=0)
    >>> landmarks = fit(OnlineLandmarks(10, memory=160), walk, partitions_per_leaf=2)
    >>> landmarks.n_samples_seen_, len(landmarks.landmark_indices_)
    (4000, 10)
    """
    integer_at_least(fan_in, "fan_in", 2)
    if partitions_per_leaf is not None:
        integer_at_least(partitions_per_leaf, "partitions_per_leaf", 1)
    blank = delayed(_unfitted(mapper), traverse=False)
    parts: list[_Part] = []
    for leaf in leaves(partitions(X), partitions_per_leaf):
        state = None
        for partition in leaf:
            state = delayed(tasks.learn)(blank, state, partition.source, partition.name, partition.rows)
        parts.append(_Part(state, any(partition.rows for partition in leaf)))
    while len(parts) > 1:
        parts = [_merge(parts[i : i + fan_in]) for i in range(0, len(parts), fan_in)]
    fitted = _computed(parts[0].state)
    if fitted is None:
        raise ValueError("the collection has no rows")
    result: Mapper = fitted
    return result


class _Part(NamedTuple):
    """The state of a leaf or of several merged leaves."""

    state: Any
    has_rows: bool
    """True if it is known to have rows; otherwise its task will tell."""


def _merge(parts: list[_Part]) -> _Part:
    """Merge the parts into the first one that has rows. The others transfer only their core-sets."""
    if len(parts) == 1:
        return parts[0]
    needed = [parts[0].state]
    for i, part in enumerate(parts[1:], start=1):
        known = any(before.has_rows for before in parts[:i])
        before = [False] if known else [delayed(tasks.is_empty)(before.state) for before in parts[:i]]
        needed.append(delayed(tasks.later_part)(part.state, before))
    return _Part(delayed(tasks.merge)(needed), any(part.has_rows for part in parts))


def transform(mapper: Any, X: Any) -> Any:
    """Place a collection lazily.

    An array gives an array, a dataframe gives a dataframe with the same index, and other collections give delayed
    arrays. ``mapper`` is a fitted ``DriftMap`` or the result of its ``freeze``; each task gets the frozen map.
    """
    frozen = _frozen(mapper)
    shared, names = delayed(frozen, traverse=False), list(frozen.get_feature_names_out())
    if is_array(X):
        return rows_only(X).map_blocks(
            tasks.place_array, shared, dtype=np.float64, chunks=(X.chunks[0], (len(names),)), meta=np.empty((0, 0))
        )
    if is_dataframe(X):
        return X.map_partitions(tasks.place_frame, shared, names, meta=dict.fromkeys(names, np.float64))
    return [delayed(tasks.place)(shared, part.source, part.name) for part in partitions(X)]


def fit_transform(mapper: Any, X: Any, **options: Any) -> Any:
    """Learn a collection, then place it lazily; the options are those of :func:`fit`."""
    return transform(fit(mapper, X, **options), X)


def certify(mapper: Any, X: Any) -> Any:
    """Return the frozen map with the exact covering radius and masses of all rows of X, found by another pass.

    The exact radius replaces the bound. ``mapper`` is a frozen map, or a ``DriftMap``, which is frozen first. Raises an
    :class:`~driftmap.utils.errors.InputError` if the number of rows of X differs from that of the learnt rows.
    """
    frozen = _frozen(mapper)
    shared = delayed(frozen, traverse=False)
    found = [delayed(tasks.measure)(shared, part.source, part.name, part.rows) for part in partitions(X)]
    return _certified(frozen, _sum(found))


def embed(mapper: Any, parts: list[Partition], folder: Path, names: Sequence[str], *, certify: bool) -> Any:
    """Place Parquet files; return the frozen map.

    The coordinates of each file go to a file of the same name in a folder that all workers share. With ``certify`` the
    same pass finds the exact covering radius and masses.
    """
    frozen = _frozen(mapper)
    shared, write = delayed(frozen, traverse=False), delayed(files.write)
    targets = [str(folder.absolute() / Path(part.name).name) for part in parts]
    pairs = zip(parts, targets, strict=True)
    found = _sum([write(shared, part, target, list(names), certify) for part, target in pairs])
    atomic.remove_leftovers(folder)
    return _certified(frozen, found) if certify else frozen


def _sum(found: list[Delayed]) -> tasks.Found:
    """Compute the sum of the facts about several partitions."""
    while len(found) > 1:
        found = [delayed(tasks.add)(found[i : i + ADDED_TOGETHER]) for i in range(0, len(found), ADDED_TOGETHER)]
    total: tasks.Found = _computed(found[0])
    return total


def _certified(frozen: Any, found: tasks.Found) -> Any:
    if found.rows != frozen.n_samples_seen_:
        problem = (
            f"has {found.rows:,} rows, but the map has learnt {frozen.n_samples_seen_:,}: it must be the same data"
        )
        raise InputError(problem, parameter="X")
    return dataclasses.replace(
        frozen,
        covering_radius_=found.covering_radius,
        coverage_bound_=rounded_up(found.covering_radius, frozen.store.metric.least),
        landmark_mass_=found.masses,
        n_samples_seen_=found.rows,
        certified=True,
    )


def learn_here(estimator: Any, X: Any) -> None:
    """Learn the partitions in this process, one after the other; each is computed just before it is learnt."""
    for part in partitions(X):
        block = _computed(delayed(tasks.rows)(part.source, part.name))
        if len(block):
            with tasks.naming(part.name):
                estimator.partial_fit(block)


def _frozen(mapper: Any) -> Any:
    return mapper.freeze() if hasattr(mapper, "freeze") else mapper


def _unfitted(mapper: Any) -> Any:
    from sklearn.base import clone

    if not hasattr(mapper, "check_mergeable"):
        raise TypeError(f"mapper must be a DriftMap or OnlineLandmarks, got {type(mapper).__name__}")
    mapper.check_mergeable()
    return clone(mapper)


def _computed(task: Delayed) -> Any:
    try:
        return compute(task)[0]  # type: ignore[no-untyped-call]
    except CancelledError as error:
        raise ClusterLostError(
            "the scheduler of the cluster was lost or restarted, and the work with it: start again; the result does "
            "not depend on the workers"
        ) from error
