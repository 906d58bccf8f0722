"""Maps of dask collections: learn where the data lies, merge small states, map everywhere (extra ``dask``).

Consecutive partitions form leaves. Each leaf is learnt by a chain of tasks, one per partition, from an empty state;
leaves merge in a tree, in the order of the partitions. So the result is a function of the rows, the leaves, the fan-in
and the parameters, never of workers or timing, and a task that runs twice gives the same bits.
"""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np

try:
    from dask.base import compute, is_dask_collection
    from dask.delayed import Delayed, delayed
except ImportError as error:  # pragma: no cover
    raise ImportError('driftmap.dask needs dask: pip install "driftmap[dask]"') from error

LEAF_ROWS = 10**6
"""Rows of a leaf, at least: every fresh state has to fill its memory first, which takes time."""

Mapper = TypeVar("Mapper")
Frozen = TypeVar("Frozen")


class PartitionError(ValueError):
    """What is wrong with a partition; the message names it, and the row in it."""


class Partition(NamedTuple):
    """A block of rows that is computed when it is needed."""

    block: Delayed
    rows: int | None
    """How many there are; None: not known yet."""
    name: str
    """What messages call it: its number, or the file it comes from."""


class Part(NamedTuple):
    """What a pass over some partitions has found: exact facts about their rows."""

    covering_radius: float
    masses: np.ndarray
    rows: int


def fit(mapper: Mapper, X: Any, *, partitions_per_leaf: int | None = None, fan_in: int = 2) -> Mapper:
    """Learn a collection; returns a fitted copy of the estimator, a ``DriftMap`` or ``OnlineLandmarks``.

    Parameters
    ----------
    X : dask array, dask dataframe, list of delayed blocks, or folder of Parquet files
        Its partitions, in their order, are the stream.
    partitions_per_leaf : int, optional
        None: as many as have a million rows. To count rows, a collection of unknown lengths is read once more.
    fan_in : int
        How many states merge at a time.
    """
    if fan_in < 2 or (partitions_per_leaf is not None and partitions_per_leaf < 1):
        raise ValueError("fan_in must be at least 2, and partitions_per_leaf at least 1")
    blank: Any = _unfitted(mapper)
    blank.check_mergeable()
    states: list[Delayed] = []
    for leaf in leaves(partitions(X), partitions_per_leaf):
        state: Any = None
        for partition in leaf:
            state = delayed(_learn)(blank, state, partition.block, partition.name)
        states.append(state)
    while len(states) > 1:
        states = [_merge_delayed(states[i : i + fan_in]) for i in range(0, len(states), fan_in)]
    fitted = _compute(states[0])
    if fitted is None:
        raise ValueError("the collection has no rows")
    result: Mapper = fitted
    return result


def transform(mapper: Any, X: Any) -> Any:
    """Place a collection, lazily: an array gives an array, a dataframe a dataframe with its index.

    ``mapper`` is a fitted ``DriftMap`` or what its ``freeze`` returned; each task gets the frozen map.
    """
    frozen = mapper.freeze() if hasattr(mapper, "freeze") else mapper
    shared, names = delayed(frozen, pure=True), list(frozen.get_feature_names_out())
    if _is_array(X):
        return _rows_only(X).map_blocks(
            _place_array, shared, dtype=np.float64, chunks=(X.chunks[0], (len(names),)), meta=np.empty((0, 0))
        )
    if _is_dataframe(X):
        meta = dict.fromkeys(names, np.float64)
        return X.map_partitions(_place_frame, shared, names, meta=meta)
    return [delayed(_place_block)(shared, part.block, part.name) for part in partitions(X)]


def fit_transform(mapper: Any, X: Any, **options: Any) -> Any:
    """Learn a collection, then place it, lazily."""
    return transform(fit(mapper, X, **options), X)


def certify(frozen: Frozen, X: Any) -> Frozen:
    """The same map with the exact covering radius and masses of all rows of X, found by another pass over them."""
    parts = [delayed(_measure)(frozen, part.block, part.name) for part in partitions(X)]
    while len(parts) > 1:
        parts = [delayed(_add)(parts[i : i + 16]) for i in range(0, len(parts), 16)]
    radius, masses, rows = _compute(parts[0])
    map_: Any = frozen
    certified: Frozen = dataclasses.replace(
        map_, covering_radius_=radius, coverage_bound_=radius, landmark_mass_=masses, n_samples_seen_=rows,
        certified=True,
    )  # fmt: skip
    return certified


def blocks(X: Any) -> Iterator[Any]:
    """The rows of the partitions, one after the other, computed one at a time; empty ones are passed over."""
    for part in partitions(X):
        block = _compute(part.block)
        if len(block):
            yield block


# --- partitions and leaves ---


def partitions(X: Any) -> list[Partition]:
    """The partitions of a collection, in order."""
    if isinstance(X, str | Path):
        return _parquet_partitions(Path(X))
    if _is_array(X):
        blocks = _rows_only(X).to_delayed()[:, 0]
        sizes = [None if np.isnan(size) else int(size) for size in X.chunks[0]]
        return [Partition(b, size, f"partition {i}") for i, (b, size) in enumerate(zip(blocks, sizes, strict=True))]
    if _is_dataframe(X):
        return [Partition(block, None, f"partition {i}") for i, block in enumerate(X.to_delayed())]
    if isinstance(X, Sequence) and X and all(isinstance(block, Delayed) for block in X):
        return [Partition(block, None, f"partition {i}") for i, block in enumerate(X)]
    raise TypeError(
        "X must be a dask array or dataframe, a list of delayed blocks or a folder of Parquet files, "
        f"got {type(X).__name__}"
    )


def _parquet_partitions(folder: Path) -> list[Partition]:
    from pyarrow import parquet

    files = sorted(folder.glob("*.parquet")) if folder.is_dir() else [folder]
    if not files:
        raise ValueError(f"there are no *.parquet files in {folder}")
    sizes = [parquet.ParquetFile(file).metadata.num_rows for file in files]
    return [Partition(delayed(read_parquet)(str(f)), n, str(f)) for f, n in zip(files, sizes, strict=True)]


def read_parquet(file: str) -> np.ndarray:
    """All rows of a Parquet file."""
    from driftmap.io.readers import open_table
    from driftmap.io.tables import Wanted

    with open_table(file, Wanted(), once=True) as table:
        parts = [chunk.features for chunk in table.chunks(2**16)]
        return np.concatenate(parts) if parts else np.empty((0, len(table.columns)))


def leaves(parts: list[Partition], per_leaf: int | None) -> list[list[Partition]]:
    """Consecutive partitions, so many at a time, or until they have enough rows."""
    if not parts:
        raise ValueError("the collection has no partitions")
    if per_leaf is not None:
        return [parts[i : i + per_leaf] for i in range(0, len(parts), per_leaf)]
    if any(part.rows is None for part in parts):
        counts = _compute_all([delayed(len)(part.block) for part in parts])
        parts = [part._replace(rows=n) for part, n in zip(parts, counts, strict=True)]
    found: list[list[Partition]] = [[]]
    rows = 0
    for part in parts:
        if rows >= LEAF_ROWS:
            found.append([])
            rows = 0
        found[-1].append(part)
        rows += part.rows or 0
    return found


def _is_array(X: Any) -> bool:
    return is_dask_collection(X) and hasattr(X, "chunks")


def _is_dataframe(X: Any) -> bool:
    return is_dask_collection(X) and hasattr(X, "map_partitions")


def _rows_only(X: Any) -> Any:
    """The array in blocks of whole rows."""
    if X.ndim != 2:
        raise ValueError(f"X must have two dimensions, got {X.ndim}")
    return X if X.numblocks[1] == 1 else X.rechunk({1: -1})


# --- what tasks do; their inputs are shared and stay as they are ---


def _learn(blank: Any, state: Any, block: Any, name: str) -> Any:
    if not len(block):
        return state
    estimator = copy.deepcopy(blank if state is None else state)
    return _named(name, estimator.partial_fit, block)


def _merge(states: list[Any]) -> Any:
    full = [state for state in states if state is not None]
    return full[0].merge(*full[1:]) if full else None


def _merge_delayed(states: list[Delayed]) -> Delayed:
    return states[0] if len(states) == 1 else delayed(_merge)(states)


def _place_array(block: Any, frozen: Any, block_info: Any = None) -> np.ndarray:
    number = block_info[0]["chunk-location"][0] if block_info else "?"
    return _place_block(frozen, block, f"partition {number}")


def _place_frame(frame: Any, frozen: Any, names: list[str], partition_info: Any = None) -> Any:
    name = f"partition {partition_info['number']}" if partition_info else "a partition"
    return type(frame)(_place_block(frozen, frame, name), index=frame.index, columns=names)


def _place_block(frozen: Any, block: Any, name: str) -> np.ndarray:
    if not len(block):
        return np.empty((0, frozen.params["n_components"]))
    return _named(name, frozen.transform, block)


def _measure(frozen: Any, block: Any, name: str) -> Part:
    m = len(frozen.landmark_indices_)
    found = Part(0.0, np.zeros(m, np.int64), 0)
    for first in range(0, len(block), 4096):
        rows = block[first : first + 4096]
        distances = _named(name, frozen.distances, rows)
        nearest = distances.argmin(axis=1)
        masses = np.bincount(nearest, minlength=m)
        found = _add([found, Part(float(distances.min(axis=1).max()), masses, len(rows))])
    return found


def _add(parts: list[Part]) -> Part:
    radii, masses, rows = zip(*parts, strict=True)
    return Part(max(radii), np.sum(masses, axis=0), sum(rows))


def _named(name: str, work: Callable[[Any], Any], block: Any) -> Any:
    """The result of the work on a block, or its error with the name of the partition."""
    try:
        return work(block)
    except (ValueError, TypeError) as error:
        raise PartitionError(f"{name}: {error}") from None


def _unfitted(mapper: Any) -> Any:
    from sklearn.base import clone

    if not hasattr(mapper, "check_mergeable"):
        raise TypeError(f"mapper must be a DriftMap or OnlineLandmarks, got {type(mapper).__name__}")
    return clone(mapper)


def _compute(task: Any) -> Any:
    return _compute_all([task])[0]


def _compute_all(tasks: list[Any]) -> Any:
    return compute(*tasks)  # type: ignore[no-untyped-call]
