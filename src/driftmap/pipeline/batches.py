"""Batches in any form (arrays, Arrow data, data frames, lists of dicts) as chunks of numbers with labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from driftmap.tables.table import Chunk, Labels
from driftmap.utils import validation
from driftmap.utils.data_frames import is_frame, materialized
from driftmap.utils.errors import InputError


class Layout(NamedTuple):
    """Which columns of a batch are the features, and which is the label."""

    columns: tuple[str, ...] = ()
    """Names of the features, in order; empty until the first batch, or where batches have no names."""
    width: int | None = None
    """Number of the features; None until the first batch."""
    label: str | None = None
    missing: bool = False
    """Whether numbers may be missing (NaN)."""


def as_chunk(batch: Any, layout: Layout) -> tuple[Chunk, tuple[str, ...]]:
    """Return a batch as a chunk, and the names of its features (none for an array).

    An :class:`InputError` names the row, the column or the type that cannot be used.
    """
    if isinstance(batch, Chunk):
        return batch, layout.columns
    batch = materialized(batch)
    if isinstance(batch, Mapping):
        raise InputError("must be a list of dicts, got one dict: put it in a list", parameter="batch")
    if isinstance(batch, list | tuple) and len(batch) and isinstance(batch[0], Mapping):
        return _of_dicts(batch, layout)
    if is_frame(batch):
        return _of_frame(_with_numbers(batch, layout), layout)
    if not (isinstance(batch, list | tuple) or hasattr(batch, "__array__") or hasattr(batch, "__dlpack__")):
        forms = "an array, an Arrow batch or table, a data frame or a list of dicts"
        raise InputError(f"must be {forms}, got {type(batch).__name__}", parameter="batch")
    features = _numbers(batch, layout)
    if layout.label is not None and len(features):
        raise InputError(f"has no names, so no column {layout.label!r} for the label", parameter="batch")
    return Chunk(features), ()


def _of_dicts(rows: Sequence[Mapping[Any, Any]], layout: Layout) -> tuple[Chunk, tuple[str, ...]]:
    for i, row in enumerate(rows):
        if not isinstance(row, Mapping):
            raise InputError(f"must be a dict, got {type(row).__name__}", row=i)
    named = [{str(name): value for name, value in row.items()} for row in rows]
    names = layout.columns or tuple(name for name in named[0] if name != layout.label)
    wanted = {*names, *([] if layout.label is None else [layout.label])}
    for i, row in enumerate(named):
        if row.keys() != wanted:
            missing, new = sorted(wanted - row.keys()), sorted(row.keys() - wanted)
            raise InputError(f"must have the features of the first one; missing: {missing}, new: {new}", row=i)
    values = [[row[name] for name in names] for row in named]
    labels = None if layout.label is None else _labels([row[layout.label] for row in named])
    return Chunk(_numbers(_table_of(values), layout, names), labels), names


def _table_of(values: list[list[Any]]) -> Any:
    try:
        return np.array([[np.nan if value is None else value for value in row] for row in values], dtype=np.float64)
    except (TypeError, ValueError):
        return np.array(values, dtype=object)  # the check names the cell


def _with_numbers(frame: Any, layout: Layout) -> Any:
    """Return a frame; in an Arrow table, columns of lists become columns of numbers."""
    if not hasattr(frame, "to_batches"):
        return frame
    from driftmap.tables.vectors import flattened  # pyarrow takes long to import

    return flattened(frame, missing=layout.missing)


def _of_frame(frame: Any, layout: Layout) -> tuple[Chunk, tuple[str, ...]]:
    held = list(frame.column_names if hasattr(frame, "column_names") else frame.columns)
    places = {str(name): name for name in held}  # names of pandas may be numbers
    if len(places) < len(held):
        twice = next(name for name in places if [str(other) for other in held].count(name) > 1)
        raise InputError(f"has two columns of the name {twice!r}", parameter="batch")
    if layout.label is not None and layout.label not in places:
        raise InputError(f"has no column {layout.label!r} for the label", parameter="batch")
    names = layout.columns or tuple(name for name in places if name != layout.label)
    for name in names:
        if name not in places:
            raise InputError(f"has no column {name!r}, which the first batch had", parameter="batch")
    for name in places:
        if name not in names and name != layout.label:
            raise InputError(f"has a column {name!r}, which the first batch did not have", parameter="batch")
    chosen = [places[name] for name in names]
    features = frame.select(chosen) if hasattr(frame, "column_names") else frame[chosen]
    labels = None
    if layout.label is not None:
        column = frame[places[layout.label]]
        labels = _labels(column.to_pylist() if hasattr(column, "to_pylist") else list(column))
    return Chunk(_numbers(features, layout), labels), names


def _numbers(rows: Any, layout: Layout, names: Sequence[str] = ()) -> Any:
    width = len(layout.columns) or None
    try:
        if len(rows) == 0:
            shape = np.shape(rows)
            columns = shape[1] if len(shape) == 2 else width or 0  # an empty list has no width
            return np.empty((0, columns))
        features = validation.points(rows, width, missing=layout.missing)
    except InputError as error:
        if names and isinstance(error.column, int):
            error.column = names[error.column]
        raise
    return features


def _labels(values: list[Any]) -> Labels:
    numbers = all(isinstance(value, int | float | np.number) and not isinstance(value, bool) for value in values)
    return np.array(values, dtype=np.float64) if numbers else ["" if value is None else str(value) for value in values]
