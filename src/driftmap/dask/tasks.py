"""The functions that tasks call. They do not change their inputs, which are shared, and are deterministic."""

from __future__ import annotations

import contextlib
import copy
import sys
import time
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from driftmap.dask.blocks import pieces
from driftmap.utils import Array, Ids
from driftmap.utils.errors import InputError

TOPIC = "driftmap"
"""The topic under which workers report progress to the client: (stage, partition, rows so far)."""
REPORT_INTERVAL = 0.5
"""Seconds between reports about a partition."""
MEASURED_ROWS = 4096
"""Rows whose distances to the landmarks are in memory together."""


class PartitionError(InputError):
    """An error in a partition; the message names the partition and the row in it."""


class Found(NamedTuple):
    """Exact facts about some rows, found by a pass over them."""

    covering_radius: float
    masses: Ids
    rows: int


def learn(blank: Any, state: Any, source: Any, name: str, rows: int | None = None) -> Any:
    """Return the estimator after one more partition; None if there have been no rows yet."""
    estimator: Any = None
    for first, block, _ in counted("learning", source, name, rows):
        if estimator is None:
            estimator = copy.deepcopy(blank if state is None else state)
        with naming(name, first):
            estimator.partial_fit(block)
    return state if estimator is None else estimator


def rows(source: Any, name: str) -> Any:
    """Return the rows of a partition, of the collection's type."""
    return next((block for _, block, _ in _named_pieces(source, name)), ())


def is_empty(state: Any) -> bool:
    """Return True if a leaf has no rows."""
    return state is None


def later_part(state: Any, before: Sequence[bool]) -> Any:
    """Return what a merge needs of a part: its core-set, or the whole state if all parts ``before`` are empty."""
    if state is None or all(before):
        return state
    return state.coreset()._replace(origin=None)  # an unpickled function does not equal the original


def merge(parts: Sequence[Any]) -> Any:
    """Merge the parts that have rows."""
    full = [part for part in parts if part is not None]
    return full[0].merge(*full[1:]) if full else None


def place_array(block: Any, frozen: Any, block_info: Any = None) -> Array:
    """Return the coordinates of a block of an array."""
    number = block_info[0]["chunk-location"][0] if block_info else "?"
    return place(frozen, block, f"partition {number}")


def place_frame(frame: Any, frozen: Any, names: list[str], partition_info: Any = None) -> Any:
    """Return the coordinates of a partition of a dataframe, with its index."""
    name = f"partition {partition_info['number']}" if partition_info else "a partition"
    return type(frame)(place(frozen, frame, name), index=frame.index, columns=names)


def place(frozen: Any, source: Any, name: str) -> Array:
    """Return the coordinates of a partition's rows."""
    places = [np.empty((0, frozen.params["n_components"]))]
    for first, block, _ in _named_pieces(source, name):
        with naming(name, first):
            places.append(frozen.transform(block))
    return np.concatenate(places)


def measure(frozen: Any, source: Any, name: str, rows: int | None = None) -> Found:
    """Return the exact covering radius and masses of a partition's rows."""
    found = nothing(frozen)
    for first, block, _ in counted("certifying", source, name, rows):
        with naming(name, first):
            found = add([found, facts_of(frozen, block)])
    return found


def nothing(frozen: Any) -> Found:
    """Return the facts about zero rows."""
    return Found(0.0, np.zeros(len(frozen.landmark_indices_), np.int64), 0)


def facts_of(frozen: Any, block: Any) -> Found:
    """Return the exact covering radius and masses of a block of rows."""
    found = nothing(frozen)
    for first in range(0, len(block), MEASURED_ROWS):
        rows = block[first : first + MEASURED_ROWS]
        with shifting(first):
            distances = frozen.distances(rows)
        masses = np.bincount(distances.argmin(axis=1), minlength=len(found.masses))
        found = add([found, Found(float(distances.min(axis=1).max()), masses, len(rows))])
    return found


def add(parts: Sequence[Found]) -> Found:
    """Return the facts about the rows of several parts together."""
    radii, masses, rows = zip(*parts, strict=True)
    return Found(max(radii), np.sum(masses, axis=0), sum(rows))


# --- errors and progress ---


@contextlib.contextmanager
def naming(name: str, first: int = 0) -> Iterator[None]:
    """Make errors name the partition and its row; the block works on rows from number ``first`` on."""
    try:
        with shifting(first):
            yield
    except PartitionError:
        raise
    except InputError as error:
        if error.parameter is not None:
            raise PartitionError(f": {error}", source=name) from None
        where = {key: getattr(error, key) for key in ("source", "line", "row", "column", "column_name", "advice")}
        where["source"] = where["source"] or name
        raise PartitionError(error.problem, **where) from None
    except (ValueError, TypeError, OSError) as error:
        raise PartitionError(f": {error}", source=name) from None


@contextlib.contextmanager
def shifting(first: int) -> Iterator[None]:
    """Shift row numbers in errors by ``first``, except in errors of files, which number their rows themselves."""
    try:
        yield
    except InputError as error:
        if error.row is not None and error.source is None:
            error.row += first
        raise


def _named_pieces(source: Any, name: str) -> Iterator[tuple[int, Any, Any]]:
    with naming(name):
        yield from pieces(source)


def counted(stage: str, source: Any, name: str, rows: int | None = None) -> Iterator[tuple[int, Any, Any]]:
    """Yield the pieces of a partition; report progress to the client periodically and at the end.

    Raises an error if the partition does not have ``rows`` rows, since it has changed after they were counted.
    """
    done, last = 0, time.monotonic()
    for first, block, labels in _named_pieces(source, name):
        yield first, block, labels
        done = first + len(block)
        if time.monotonic() > last + REPORT_INTERVAL:
            last = time.monotonic()
            report_progress(stage, name, done)
    if rows is not None and done != rows:
        raise PartitionError(f"has {done:,} rows, but had {rows:,} when they were counted", source=name)
    report_progress(stage, name, done)


def report_progress(stage: str, name: str, rows: int) -> None:
    """Report the progress of this partition to the client, if this process is a worker of a cluster."""
    distributed = sys.modules.get("distributed")
    if distributed is not None:
        with contextlib.suppress(ValueError):  # raised if this process is not a worker
            distributed.get_worker().log_event(TOPIC, (stage, name, rows))
